"""The demonstration: processes are started, jobs submitted as their trace says, everything ended and looked after."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.demo.ending import ended_at_hang_up, undisturbed
from wattline.demo.jobs import Jobs, LauncherJobs, SlurmJobs
from wattline.demo.layout import Layout, free_port, write_layout, write_site
from wattline.errors import InputError, RunError
from wattline.live.clock import Clock
from wattline.live.machine.base import JobSeen
from wattline.live.watch.socket import fetch

if TYPE_CHECKING:
    from wattline.scenario.study import Study

SCENARIO = """# The emulated machine of wattline live-demo: {nodes} servers, eight kinds of short jobs (workload W4).
name = "live-demo"
seed = {seed}
kinds = "W4"

[trace]
generator = "kinds"
duration = "{hours} h"

[cluster]
nodes = {nodes}
idle = "169 W"
max = "429 W"

[policy]
select = "{select}"
cap = "match-target"

[regulation]
signal = "gaussian"
mean = {mean_w:.0f}
reserve = {reserve_w:.0f}
warmup = "0 s"
hours = {hours}
"""
PER_NODE_MEAN_W, PER_NODE_RESERVE_W = 8450.0 / 36.0, 2800.0 / 36.0
"""The bid of examples/slackline-w4.toml, for a node."""
READY_S = 60.0
"""Seconds after which a process that is not up has failed."""
BEGINS_AFTER_S = (20.0, 60.0)
"""Seconds of the wall from the controller's start to the first job; the second try is for a busy machine."""


@dataclass(frozen=True)
class Asked:
    """What the demonstration is to be."""

    minutes: float = 15.0
    speed: float = 10.0
    nodes: int = 32
    select: str = "slackline"
    seed: int = 1
    agents: int = 8
    slurm: bool = False
    """Whether a real Slurm runs the jobs, at the speed of the wall."""
    rest: bool = False
    """Whether the controller goes by its REST interface."""

    @property
    def lasts_s(self) -> float:
        """Return how long it takes, in machine seconds."""
        return 60.0 * self.minutes

    @property
    def ends_early(self) -> bool:
        """Tell whether it is over when all jobs have ended, though there is time left."""
        return False

    def manager(self, base: Path) -> Jobs:
        """Return who runs the jobs."""
        return SlurmJobs(base, self.nodes, rest=self.rest) if self.slurm else LauncherJobs(base, self.nodes)

    def scenario(self, base: Path | None = None) -> str:  # noqa: ARG002  (other demonstrations write files there)
        """Return the text of the scenario; the files that it names are written into the folder."""
        return SCENARIO.format(
            nodes=self.nodes,
            seed=self.seed,
            select=self.select,
            mean_w=PER_NODE_MEAN_W * self.nodes,
            reserve_w=PER_NODE_RESERVE_W * self.nodes,
            hours=max(1, -(-int(self.minutes) // 60)),
        )


@dataclass
class Ran:
    """What the live run left."""

    asked: Asked
    base: Path
    study: Study
    begin_s: float
    end_s: float
    jobs: list[tuple[int, JobSeen | None]] = field(default_factory=list)
    """Row of the trace, and how the job was seen last."""
    left: list[str] = field(default_factory=list)
    """What was left behind: processes, stopped jobs, caps. There should be nothing."""


Progress = Callable[[str, float], None]
"""Is told what goes on, and which part of the machine's time has passed."""


def run_demo(
    asked: Asked,
    base: Path,
    progress: Progress = lambda _text, _part: None,
    get_ready: Callable[[Path], None] = lambda _: None,
) -> Ran:
    """Run the demonstration in a folder; everything that it starts is ended, whatever happens.

    ``get_ready`` is called with the controller's file before any process is started: it compiles what a controller
    needs, which takes minutes on a busy machine, once.
    """
    from wattline.scenario.choices import variants
    from wattline.scenario.documents import read_scenario
    from wattline.scenario.study import wire

    base = base.resolve()
    with _empty_folder(base):
        text = asked.scenario(base)
        (base / "scenario.toml").write_text(text, encoding="utf-8")
        study = wire(variants(read_scenario(base / "scenario.toml"))[0])
        jobs = asked.manager(base)
        origin_s = time.time()
        count = min(asked.agents, asked.nodes)
        layout = Layout(base, jobs.names, asked.speed, origin_s, origin_s, count, free_port(), jobs)
        processes = Processes(base)
        ran = Ran(asked, base, study, 0.0, 0.0)
        write_layout(layout, study, text)
        progress("getting ready (what the controller needs is compiled once)", 0.0)
        get_ready(base / "site.toml")
    with ended_at_hang_up(), jobs.held(), processes.all_ended():
        progress(f"starting {'Slurm' if asked.slurm else 'the launcher'}, the nodes and their agents", 0.0)
        jobs.begin(processes.start)
        processes.wait_for(jobs.answers, "who runs the jobs")
        processes.start("plant", "-m", "wattline.demo.plant", str(base / "plant.json"))
        for path in layout.agent_files:
            processes.start(path.stem, "-m", "wattline", "agent", str(path))
        clock = Clock(asked.speed, origin_s)
        layout = _lead(layout, study, clock, processes, progress)
        ran.begin_s, ran.end_s = layout.begin_s, layout.begin_s + asked.lasts_s
        _play(ran, jobs, clock, processes, progress)
        _wind_down(ran, layout, processes, progress)
    ran.left += [*processes.left, *jobs.left()]
    ran.left += _caps_left(layout)
    return ran


@contextlib.contextmanager
def _empty_folder(base: Path) -> Iterator[None]:
    """Make a folder, or take an empty one; it is empty again if the demonstration cannot begin."""
    try:
        base.mkdir(parents=True, exist_ok=True)
        if any(base.iterdir()):
            raise InputError(f"{base}: is not empty; give a folder that is, or a new one (--out)")
    except OSError as problem:
        raise InputError(f"{base}: cannot be the folder of a demonstration ({problem.strerror or problem})") from None
    try:
        yield
    except BaseException:
        for one in base.iterdir():
            if one.is_dir():
                shutil.rmtree(one)
            else:
                one.unlink()
        raise


def _lead(layout: Layout, study: Study, clock: Clock, processes: Processes, progress: Progress) -> Layout:
    """Start the controller; return the layout with the time at which its signal and the jobs begin.

    The controller must lead all nodes by then. One that does not is started again, with more time.
    """
    base, nodes = layout.base, len(layout.names)

    def all_led() -> bool:
        return _led(base) == nodes

    for after_s in BEGINS_AFTER_S:
        progress("starting the controller", 0.0)
        layout = replace(layout, begin_s=clock.now_s() + after_s * clock.speed)
        write_site(layout, study)  # once more, now that it is known when things begin
        processes.start("controller", "-m", "wattline", "controller", str(base / "site.toml"))
        with contextlib.suppress(TooSlow):
            processes.wait_for(all_led, "the controller", after_s)
            return layout
        processes.stop("controller")
    raise RunError("the controller was not ready in time: the machine is too busy for a demonstration")


def _led(base: Path) -> int:
    """Return how many nodes follow the controller."""
    try:
        return int(fetch(base / "status.sock", timeout_s=0.5).nodes.get("led", 0))
    except (InputError, RunError, OSError):
        return 0


def _play(ran: Ran, manager: Jobs, clock: Clock, processes: Processes, progress: Progress) -> None:
    """Submit the jobs at their times and wait for the end."""
    jobs = ran.study.trace.jobs
    ids: list[str] = []
    at = 0
    while clock.now_s() < ran.end_s:
        while at < len(jobs) and ran.begin_s + float(jobs.submit_s[at]) <= clock.now_s():
            name = jobs.kinds[int(jobs.kind[at])]
            work_s, request_s = float(jobs.work_s[at]), float(jobs.request_s[at])
            ids.append(manager.submit(work_s, int(jobs.nodes[at]), name, clock.speed, request_s))
            at += 1
        processes.check()
        done = (clock.now_s() - ran.begin_s) / (ran.end_s - ran.begin_s)
        progress(f"it runs: wattline status {ran.base / 'site.toml'} shows it", min(1.0, max(0.0, done)))
        if ran.asked.ends_early and at == len(jobs) and all(job.phase == "ended" for job in manager.seen()):
            ran.end_s = clock.now_s()
        following_s = ran.begin_s + float(jobs.submit_s[at]) if at < len(jobs) else ran.end_s
        clock.wait_until(min(ran.end_s, following_s, clock.now_s() + 0.5 * clock.speed))
    seen = {job.id: job for job in manager.seen()}
    ran.jobs = [(row, seen.get(name)) for row, name in enumerate(ids)]


def _wind_down(ran: Ran, layout: Layout, processes: Processes, progress: Progress) -> None:
    """End the controller first: it lets jobs go on and agents restore; then jobs, their manager, agents, nature."""
    progress("ending", 1.0)
    jobs = layout.jobs
    processes.stop("controller")
    ran.left += [f"job {job.id} is stopped" for job in jobs.seen() if job.phase == "paused"]
    jobs.cancel_all()
    processes.wait_for(lambda: all(job.phase == "ended" for job in jobs.seen()), "the last jobs", 20.0)
    for path in layout.agent_files:
        processes.stop(path.stem)
    jobs.let_go(processes.stop)
    processes.stop("plant")


def _caps_left(layout: Layout) -> list[str]:
    """Return the nodes whose limits are not what they were."""
    from wattline.live.power.powercap import Powercap

    found = []
    for name in layout.names:
        limit_w = Powercap(str(layout.base / "trees" / name)).limits_w()
        if abs(limit_w - 500.0) > 1.0:
            found.append(f"node {name} has a limit of {limit_w:g} W left")
    return found


class TooSlow(RunError):  # noqa: N818  (it is what happened, not a mistake)
    """Something did not get ready in time."""


class Processes:
    """The processes of the demonstration, each with a log of its own."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.left: list[str] = []

    def start(self, name: str, *words: str) -> None:
        """Start a process of ours."""
        log = (self.base / f"{name}.out").open("wb")
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, *words]
        self.running[name] = subprocess.Popen(  # noqa: S603
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
        )
        log.close()

    def check(self) -> None:
        """Raise where one has ended by itself."""
        for name, process in self.running.items():
            code = process.poll()
            if code is not None:
                raise RunError(f"{name} has ended by itself (exit code {code}): {self.last_line(name)}")

    def last_line(self, name: str) -> str:
        """Return the last that a process said."""
        text = (self.base / f"{name}.out").read_text(encoding="utf-8", errors="replace").strip()
        return text.splitlines()[-1][:300] if text else "it said nothing"

    def wait_for(self, ready: Callable[[], bool], what: str, most_s: float = READY_S) -> None:
        """Wait until something is so."""
        until = time.monotonic() + most_s
        while not ready():
            self.check()
            if time.monotonic() > until:
                raise TooSlow(f"{what} did not get ready within {most_s:g} s (logs are in {self.base})")
            time.sleep(0.05)

    def stop(self, name: str, most_s: float = 20.0) -> None:
        """End a process in an orderly way; one that does not end is killed, and told."""
        process = self.running.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(most_s)
        except subprocess.TimeoutExpired:
            self.left.append(f"process {name} did not end and was killed")
            process.kill()
            process.wait()
            return
        if code not in (0, -signal.SIGTERM):
            self.left.append(f"process {name} ended with exit code {code}: {self.last_line(name)}")

    @contextlib.contextmanager
    def all_ended(self) -> Iterator[None]:
        """End all that still run at the end, jobs included."""
        try:
            yield
        finally:
            order = sorted(self.running, key=lambda name: (name != "controller", name == "launcher", name == "plant"))
            with undisturbed():
                for name in order:
                    self.stop(name, 10.0)
