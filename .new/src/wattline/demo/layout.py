"""The files of an emulated machine: keys, trees, and one file each for launcher, agents, controller and nature."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.demo.jobs import Jobs
from wattline.live.bus.keys import PUBLIC, SECRET, make_keys
from wattline.live.power.fakes.powercap import make_tree

if TYPE_CHECKING:
    from wattline.scenario.study import Study

SITE = "demo"
PROFILE, MEMORY_W = "gold-6132", 12.0
LAG_S, NOISE_W = 0.3, 2.0
"""Time constant with which emulated processors follow their limits, and the noise of a node."""


FORMS = "forms"
"""Folder in which moldable jobs say what a node of theirs draws: a file for each, of its number."""


@dataclass(frozen=True)
class Layout:
    """Where everything is, and how fast time goes."""

    base: Path
    names: tuple[str, ...]
    speed: float
    origin_s: float
    begin_s: float
    """Machine time at which the jobs and the signal begin."""
    agents: int
    """Processes that the agents share."""
    port: int
    jobs: Jobs
    """Who runs the jobs."""

    @property
    def agent_files(self) -> list[Path]:
        """Return the files of the agents' processes."""
        return [self.base / f"agents-{i:02d}.toml" for i in range(self.agents)]


def free_port() -> int:
    """Return a port of loopback that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def write_layout(layout: Layout, study: Study, scenario: str) -> None:
    """Write all files."""
    base, names = layout.base, layout.names
    for folder in ("trees", "speeds", "run", FORMS):
        (base / folder).mkdir(parents=True, exist_ok=True)
    make_keys(base / "keys", SITE, [("controller", "controller"), *(("agent", name) for name in names)])
    for name in names:
        make_tree(base / "trees" / name, package_max_w=250.0)
    clock = _clock(layout)
    (base / "launcher.toml").write_text(
        f'run_dir = "launcher-run"\ndurable = false\nkeep_ended = "1 d"\n\n{clock}\n'
        f'[[nodes]]\nnames = "{_pattern(names)}"\n',
        encoding="utf-8",
    )
    (base / "scenario.toml").write_text(scenario, encoding="utf-8")
    _write_signal(layout, study)
    _write_agents(layout, study, clock)
    write_site(layout, study)
    _write_nature(layout, study)


def _clock(layout: Layout) -> str:
    return f"[clock]\nspeed = {layout.speed!r}\norigin = {layout.origin_s!r}\n"


def _pattern(names: tuple[str, ...]) -> str:
    return ",".join(names)


def _write_signal(layout: Layout, study: Study) -> None:
    """Write the signal of the simulated run as the file that the controller replays."""
    found = study.options.signal
    if found is None:
        return
    lines = ["time_s,value"]
    first = max(0, round(-found.start_s / found.step_s))  # simulated time 0 is when the jobs begin
    lines += [f"{i * found.step_s:.3f},{y:.9g}" for i, y in enumerate(found.values[first:].tolist())]
    (layout.base / "signal.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_agents(layout: Layout, study: Study, clock: str) -> None:
    node = study.cluster.classes[0]
    lowest_w = min([kind.floor_w for kind in study.options.kinds] or [node.idle_w])
    for i, path in enumerate(layout.agent_files):
        mine = layout.names[i :: layout.agents]
        own = 'jobs = "launcher-run/jobs"\n' if layout.jobs.told()["kind"] == "launcher" else ""
        tables = "".join(
            f'[[node]]\nname = "{name}"\npowercap = "trees/{name}"\nsafe = {node.idle_w + 20.0}\n'
            f"min = {min(lowest_w, node.idle_w) - 20.0}\nmax = {node.max_w + 40.0}\n\n"
            for name in mine
        )
        path.write_text(
            f'site = "{SITE}"\nrun_dir = "run"\nlongest_lease = "120 s"\ncontrollers = ["controller"]\n'
            f'{own}\n{tables}[model]\nprofile = "{PROFILE}"\nmemory = {MEMORY_W}\n\n{clock}\n'
            f'[bus]\nkind = "zeromq"\ncontrollers = {{ controller = "tcp://127.0.0.1:{layout.port}" }}\n'
            f'key = "keys/{SECRET}/{{node}}.key"\nknown = "keys/{PUBLIC}"\n',
            encoding="utf-8",
        )


def write_site(layout: Layout, study: Study) -> None:
    """Write the controller's file."""
    clock = _clock(layout)
    bid = next((b for _, b in study.options.bids if b is not None), None)
    told = "" if bid is None else f"[bid]\nmean = {bid.mean_w}\nreserve = {bid.reserve_w}\n\n"
    signal = "" if bid is None else _signal_section(layout)
    (layout.base / "site.toml").write_text(
        f'site = "{SITE}"\nscenario = "scenario.toml"\nnodes = {json.dumps(list(layout.names))}\n\n'
        '[control]\nlease = "30 s"\nsilent = "10 s"\nmanager_silent = "60 s"\n\n'
        f'{told}{signal}[manager]\n{layout.jobs.section()}\n[journal]\ndir = "journal"\n\n'
        '[status]\nsocket = "status.sock"\n\n[logs]\nform = "json"\nfile = "controller.log"\n\n'
        f'{clock}\n[bus]\nlisten = "tcp://127.0.0.1:{layout.port}"\nkey = "keys/{SECRET}/controller.key"\n'
        f'known = "keys/{PUBLIC}"\n',
        encoding="utf-8",
    )


def _signal_section(layout: Layout) -> str:
    return (
        f'[signal]\ny = "file"\nfile = "signal.csv"\nstart = {layout.begin_s!r}\nstale = "30 s"\nback = "at once"\n\n'
    )


def _write_nature(layout: Layout, study: Study) -> None:
    node = study.cluster.classes[0]
    told = {
        "base": str(layout.base),
        "jobs": layout.jobs.told(),
        "nodes": list(layout.names),
        "speed": layout.speed,
        "origin": layout.origin_s,
        "idle_w": node.idle_w,
        "memory_w": MEMORY_W,
        "profile": PROFILE,
        "lag_s": LAG_S,
        "noise_w": NOISE_W,
        "held_at": 0.99,
        "seed": study.seed,
        "kinds": {kind.name: [kind.draw_w, kind.floor_w, kind.stretch] for kind in study.options.kinds},
        "forms": str(layout.base / FORMS),
    }
    (layout.base / "plant.json").write_text(json.dumps(told), encoding="utf-8")
