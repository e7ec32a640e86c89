"""``wattline live-demo``: the live half on one computer, without root, beside its simulation."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.cli.complaints import FAILED
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError, did_you_mean
from wattline.units import show_duration

if TYPE_CHECKING:
    from wattline.demo.beside import Beside, Side
    from wattline.demo.rmap import AskedRmap
    from wattline.demo.run import Asked, Ran


BY_ITSELF, ON_SLURM, RMAP = (15.0, 10.0), (3.0, 1.0), (2.0, 1.0)
"""Minutes of machine time, and machine seconds in a second, if nothing else is asked for."""
NODES = 32
"""Nodes, if nothing else is asked for; RMAP's trace is one of 64."""


OutFlag = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="DIR", help="Empty or new folder for all that it leaves.")
]
MinutesFlag = Annotated[
    float | None,
    typer.Option(
        "--minutes",
        min=1.0,
        max=1440.0,
        help="Minutes of machine time (default 15; with --slurm 3; with --rmap 2).",
    ),
]
SpeedFlag = Annotated[
    float | None,
    typer.Option(
        "--speed", min=1.0, max=60.0, help="Machine seconds in a second of the wall (default 10; with --slurm 1)."
    ),
]
SlurmFlag = Annotated[
    bool, typer.Option("--slurm", help="Let a real Slurm of its own run the jobs (Debian's slurmctld, slurmd).")
]
RestFlag = Annotated[
    bool, typer.Option("--rest", help="With --slurm: go by slurmrestd, as far as that goes (needs root).")
]
RmapFlag = Annotated[
    bool, typer.Option("--rmap", help="With --slurm: thirty moldable jobs, whose configurations RMAP chooses.")
]
NodesFlag = Annotated[
    int | None, typer.Option("--nodes", min=4, max=256, help="Emulated nodes (default 32; with --rmap 64).")
]
PolicyFlag = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="slackline, or gps (AQA); with --rmap rmap-traditional, rmap-naive, rmap-adaptive or surplus.",
    ),
]
SeedFlag = Annotated[int, typer.Option("--seed", help="Seed of jobs, signal and noise.")]
AgentsFlag = Annotated[int, typer.Option("--agents", min=1, max=256, help="Processes that the agents share.")]


def live_demo(
    *,
    out: OutFlag = None,
    minutes: MinutesFlag = None,
    speed: SpeedFlag = None,
    slurm: SlurmFlag = False,
    rest: RestFlag = False,
    rmap: RmapFlag = False,
    nodes: NodesFlag = None,
    policy: PolicyFlag = None,
    seed: SeedFlag = 1,
    agents: AgentsFlag = 8,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a whole machine on this computer: emulated nodes, real agents, jobs and controller, and a replayed signal.

    No root and no server are needed, but the extra live. Powercap trees are
    files, driven by the simulator's physics with noise and lag; agents and the
    controller talk over ZeroMQ with keys; jobs are processes. At the end the
    live run stands beside the simulated run of the same jobs. The exit code is
    1 if a process, a stopped job or a cap was left behind.

    For example:

      wattline live-demo

      wattline live-demo --minutes 60 --speed 20 --out demo

      wattline live-demo --slurm

      wattline live-demo --slurm --rmap --policy rmap-naive
    """
    from wattline.demo.run import Asked

    terminal = Terminal(as_json, quiet)
    usual = RMAP if rmap else ON_SLURM if slurm else BY_ITSELF
    minutes, speed = minutes or usual[0], speed or usual[1]
    if slurm and speed != 1.0:
        raise InputError(f"--speed {speed:g}: Slurm's clock is the wall's; leave --speed out")
    if rest and not slurm:
        raise InputError("--rest: is Slurm's interface; give --slurm, too")
    if rmap:
        asked_for = asked_rmap(minutes, nodes, policy, seed, agents, slurm=slurm)
        rmap_demo(terminal, out, replace(asked_for, rest=rest))
        return
    asked = Asked(
        minutes=minutes,
        speed=speed,
        nodes=nodes or NODES,
        select=policy or "slackline",
        seed=seed,
        agents=agents,
        slurm=slurm,
        rest=rest,
    )
    ran = played(terminal, out, asked)
    show_beside(terminal, ran, minutes)


def show_beside(terminal: Terminal, ran: Ran, minutes: float) -> None:
    """Show a run beside its simulation and what it left behind, and say what to look at next."""
    from wattline.demo.beside import compare, write_late

    found = compare(ran, warmup_s=min(300.0, 20.0 * minutes))
    (ran.base / "beside.json").write_text(json.dumps(found.data(), indent=1), encoding="utf-8")
    for line in lines(found):
        terminal.line(line)
    for what in ran.left:
        terminal.line(f"left behind: {what}")
    terminal.line(f"all of it is in {ran.base}")
    terminal.line(f"next: wattline replay-live {ran.base / 'journal'}")
    terminal.line(f"      wattline bid {write_late(ran, found)} --quick   # for a machine as late as this one")
    terminal.line(f"      wattline report {next((ran.base / 'journal' / 'journals').iterdir())}")
    terminal.data({**found.data(), "left_behind": ran.left, "out": str(ran.base)})
    if ran.left:
        raise typer.Exit(FAILED)


def played(terminal: Terminal, out: Path | None, asked: Asked) -> Ran:
    """Run a demonstration, and show how far it is."""
    from wattline.api.controlling import get_ready
    from wattline.api.site.plan import plan_site
    from wattline.demo.run import run_demo

    folder = out if out is not None else Path(tempfile.mkdtemp(prefix="wattline-demo-"))
    lasts_s, said = 60 * asked.minutes, list[str]()
    terminal.say(
        f"{asked.nodes} emulated nodes, {asked.minutes:g} minutes of machine time in {lasts_s / asked.speed:.0f} s and "
        f"some for the start; in {folder}"
    )
    # a second Ctrl-C does not wait for the step under way, and all processes are ended just the same
    with terminal.progress("machine seconds", ", and ending all processes", "begin with that at once") as bar:

        def progress(what: str, part: float) -> None:
            bar(round(asked.lasts_s * part), round(asked.lasts_s))
            if what not in said:
                said.append(what)
                terminal.say(what)

        return run_demo(asked, folder, progress, lambda file: get_ready(plan_site(file)))


def asked_rmap(
    minutes: float, nodes: int | None, policy: str | None, seed: int, agents: int, *, slurm: bool
) -> AskedRmap:
    """Return what is asked for; what does not fit is refused in a line."""
    from wattline.demo.rmap import POLICIES, AskedRmap

    if not slurm:
        raise InputError("--rmap: the demonstration is one of Slurm; give --slurm, too")
    made = AskedRmap(minutes=minutes, select=policy or "rmap-adaptive", seed=seed, agents=agents)
    if made.select not in POLICIES:
        known = ", ".join(POLICIES)
        raise InputError(f"--policy {policy}: with --rmap one of {known}{did_you_mean(made.select, POLICIES)}")
    if nodes is not None and nodes != made.nodes:
        raise InputError(f"--nodes {nodes}: the trace is one of {made.nodes} nodes; leave it out")
    return made


def rmap_demo(terminal: Terminal, out: Path | None, asked: AskedRmap) -> None:
    """Run RMAP inside Slurm, and show it beside its simulation."""
    from wattline.demo.rmap import beside
    from wattline.demo.rmap_page import lines as rows
    from wattline.demo.rmap_page import write_beside

    ran = played(terminal, out, asked)
    found = beside(ran)
    page = write_beside(found, ran.base)
    for line in rows(found):
        terminal.line(line)
    ran.left += [f"job {job} began twice" for job in found.doubled]
    for what in ran.left:
        terminal.line(f"left behind: {what}")
    terminal.line(f"all of it is in {ran.base}; the page: {page}")
    terminal.data({**found.data(), "left_behind": ran.left, "out": str(ran.base)})
    if ran.left or found.ran() < len(found.kinds):
        raise typer.Exit(FAILED)


def late(found: Beside) -> str:
    """Return in a line how long after its command a job is there, in seconds of the machine."""
    median_s, most_s = found.start_late_s
    return f"{'jobs are there after (median, 90 %)':<48}{median_s:.2f} s, {most_s:.2f} s"


def lines(found: Beside) -> list[str]:
    """Return both runs side by side, in lines of a table."""

    def row(what: str, *texts: str) -> str:
        return f"{what:34}" + "".join(f"{text:>16}" for text in texts)

    def share(value: float) -> str:
        return f"{100 * value:.1f} %"

    def kinds(side: Side) -> str:
        return ", ".join(side.broken) or "none"

    sides = (found.live, found.simulated, found.as_late)
    return [
        row(
            f"from {show_duration(found.from_s)} to {show_duration(found.to_s)}", "live", "simulated", "simulated late"
        ),
        row("mean tracking error (of reserve)", *(share(side.mean_error) for side in sides)),
        row("time beyond 30 %", *(share(side.exceeded) for side in sides)),
        row("mean power", *(f"{side.mean_w / 1e3:.2f} kW" for side in sides)),
        row("jobs started (from the begin)", *(f"{side.started}" for side in sides)),
        row("jobs ended (from the begin)", *(f"{side.ended}" for side in sides)),
        row("mean wait (from the begin)", *(f"{side.mean_wait_s:.1f} s" for side in sides)),
        row("promises broken (from the begin)", *(kinds(side) for side in sides)),
        late(found),
    ]
