"""What goes wrong on Wattline's own side while a real Slurm is led: wires, agents, sensors, caps, the signal, clocks,
the disk, the controller. Each does its worst for some seconds, looks that its bound of docs/live/faults.md holds, and
mends itself; that no job is lost and the limit is kept is looked at in the end (``slurm_storm.ends_well``).
"""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from slurm_storm import Storm, some

from live.staff import SENSORS, longest_over_s
from wattline.control.facts import PAUSED, RESUMED
from wattline.demo.slurm_cluster import SlurmCluster
from wattline.live.controller.controller import BidStep
from wattline.live.controller.journal import facts_log
from wattline.live.machine.slurm.rest import RestCommands, Token
from wattline.live.signals.base import Sample
from wattline.live.signals.stale import Rules, Trusted
from wattline.model import codes

STATUS_S = 1.0
"""Agents tell how they are once a second."""
BUSY_S = 1.0
"""What a bound may be missed by on a busy computer."""
REACTS_S, SETTLES_S = 3.0, 8.0
"""Nodes that do not obey are made up for after so long: but for 2 % of the limit, and wholly."""


def press(run: Storm, seconds: float = 14.0) -> None:
    """Let all nodes be busy before the limit falls: from then on caps hold the machine there."""
    limit, run.limit = run.limit, 1.0
    excuse(run, 30.0)
    jobs = [job for _ in run.slurm.names for job in run.submit(seconds, 1)]
    run.go(lambda: sum(bool(run.lines(job, "begin")) for job in jobs) >= len(jobs) - 1)
    run.limit = limit
    run.pass_s(1.0)
    del run.loose_s[:]
    run.powers.clear()


def excuse(run: Storm, seconds: float) -> None:
    """Let the limit be broken from now on, for so long."""
    now_s = run.controller.clock.now_s()
    run.loose_s += [now_s + 4.0 * k for k in range(math.ceil(seconds / 4.0))]


def start_elsewhere(run: Storm, names: Sequence[str]) -> None:
    """Let jobs come while some nodes are silent: they are started on the others, if there are any."""
    run.pass_s(run.silent_s + STATUS_S)
    since = len(run.told)
    jobs = [run.submit(0.5, 1)[0] for _ in range(2)]

    def released() -> dict[str, set[str]]:
        return {one.job: set(one.note.split(",")) for one in run.told[since:] if one.what == "release"}

    if len(names) < len(run.slurm.names):
        run.go(lambda: released().keys() >= set(jobs))
    else:
        run.pass_s(STATUS_S)
        assert released() == {}
    assert [job for job, on in released().items() if on & set(names)] == []


def the_bus_is_cut(run: Storm, names: Sequence[str], seconds: float) -> None:
    """Safe caps within a lease and a period; nothing is started on silent nodes; afterwards all are led again."""
    assert run.hub is not None
    run.hub.cut(*names)
    began = time.monotonic()
    start_elsewhere(run, names)
    run.pass_s(max(0.0, max(seconds, run.lease_s + STATUS_S) - (time.monotonic() - began)))
    assert {run.staffed[name].lease.mode for name in names} == {"safe"}
    run.hub.heal()
    run.go(run.led, run.lease_s / 3.0 + STATUS_S + 2.0 * BUSY_S)


def agents_are_killed(run: Storm, names: Sequence[str], seconds: float) -> None:
    """Their nodes keep their caps, nothing is started there; new agents are safe at once and then led."""
    for name in names:
        run.staffed[name].alive = False
        run.staffed[name].bus.close()
    start_elsewhere(run, names)
    run.pass_s(seconds)
    for name in names:
        run.hire(name, run.controller.clock)
        assert run.staffed[name].lease.mode == "safe"
    run.go(run.led, 2.0 * STATUS_S + 2.0 * BUSY_S)


def sensors_fail(run: Storm, names: Sequence[str], fault: str, seconds: float) -> None:
    """A sensor says nothing, the same for ever, or what cannot be: it is counted where it cannot be, caps hold."""
    faults = run.controller.meters.faults
    before = faults.get("impossible-power", 0), faults.get("sensor-stuck", 0)
    for name in names:
        run.staffed[name].reads = SENSORS[fault]()
    run.pass_s(max(seconds, 2.0 * STATUS_S))
    for name in names:
        run.staffed[name].reads = lambda watts: watts
    if fault in ("wild", "far too low", "far too high"):
        assert faults.get("impossible-power", 0) > before[0]
    if fault == "nothing":
        assert faults.get("sensor-stuck", 0) > before[1]
    assert run.led()


def caps_are_not_obeyed(run: Storm, names: Sequence[str], least_w: float, seconds: float) -> None:
    """Nodes refuse caps, or clamp them: the others make up for it within 3 s but for 2 %, and wholly within 8 s."""
    run.pass_s(0.5)
    now_s = run.controller.clock.now_s()
    excuse(run, SETTLES_S + BUSY_S)
    for name in names:
        run.staffed[name].obeys = lambda cap_w: max(cap_w, least_w)
    run.pass_s(seconds)
    drawn = [(t, watts) for t, watts in run.powers if t >= now_s]
    assert max(watts for _, watts in drawn) > 1.02 * run.limit_w, "caps did not matter"
    assert longest_over_s(drawn, 1.02 * run.limit_w) <= REACTS_S + BUSY_S, drawn[::10]
    assert longest_over_s(drawn, run.limit_w + 1.0) <= SETTLES_S + BUSY_S, drawn[::10]
    for name in names:
        run.staffed[name].obeys = lambda cap_w: cap_w


class Said:
    """Who hands on what the grid says, as it is now."""

    def __init__(self, run: Storm) -> None:
        self.run = run

    def last(self, now_s: float) -> Sample | None:
        """Return it."""
        return self.run.said_y(now_s)

    def problems(self) -> dict[str, int]:
        """Return nothing: all is judged behind us."""
        return {}

    def close(self) -> None:
        """Nothing is open."""


def the_signal_goes_wrong(run: Storm, patience_s: float) -> None:
    """It jumps, is no number, comes with a wrong clock, and stops: what is no good is counted and never followed, the
    last good value is held, then led to the baseline; a good one is taken up again.
    """
    rules = Rules(stale_s=patience_s, hold_s=patience_s, ramp_s=patience_s)
    run.y = Trusted(Said(run), rules)
    mean_w, reserve_w = 0.85 * run.limit_w, 0.1 * run.limit_w
    run.controller.bids = (BidStep(-math.inf, mean_w, reserve_w),)
    run.targets.clear()
    step_s = 3.0 * patience_s + 0.5
    jumps = iter(k % 2 * 2.0 - 1.0 for k in range(10**9))
    try:
        run.said_y = lambda now_s: Sample(next(jumps), now_s)
        run.pass_s(step_s)
        assert {mean_w - reserve_w, mean_w + reserve_w} <= {watts for _, watts in run.targets}
        run.said_y = lambda now_s: Sample(0.5, now_s)
        run.pass_s(step_s)
        assert math.isclose(run.targets[-1][1], mean_w + 0.5 * reserve_w)
        wrong = {
            "not-a-number": lambda now_s: Sample(math.nan, now_s),
            "out-of-range": lambda now_s: Sample(7.0, now_s),
            "of-the-future": lambda now_s: Sample(-1.0, now_s + 3600.0),
            "out-of-order": lambda now_s: Sample(-1.0, now_s - 3600.0),
        }
        kept = len(run.targets)
        for reason, says in wrong.items():
            run.said_y = says
            run.pass_s(step_s / 2.0)
            assert run.y.problems()[reason] > 0
        assert min(watts for _, watts in run.targets[kept:]) >= mean_w - 1e-6  # nothing of it was followed
        run.said_y = lambda _: None
        run.pass_s(step_s)
        assert math.isclose(run.targets[-1][1], mean_w)
        run.said_y = lambda now_s: Sample(0.5, now_s)
        run.go(lambda: math.isclose(run.targets[-1][1], mean_w + 0.5 * reserve_w), step_s + 2.0 * BUSY_S)
        assert all(mean_w - reserve_w - 1e-6 <= watts <= mean_w + reserve_w + 1e-6 for _, watts in run.targets)
    finally:
        run.y, run.controller.bids = None, ()


def the_clock_is_set(run: Storm, by_s: float, count: int = 3) -> None:
    """The wall's clock is set, Slurm's with it: machine time goes on, all are led, jobs that come run at once."""
    run.pass_s(1.0)
    run.go(lambda: not run.phases().keys() - {"gone", "running"})
    shown = run.slurm.command("squeue", "-h", "-t", "all", "-o", "%A").stdout
    run._old = set(shown.split())
    now_s, set_s = run.controller.clock.now_s(), run.set_s
    run.set_s += by_s
    before = set(run.jobs)
    some(run, count)
    new, times_s = set(run.jobs) - before, []

    def all_ran() -> bool:
        seen = [job for name, job in run.controller.mirror.seen.items() if name in new]
        times_s.extend(job.start_s if job.phase == "running" else job.submit_s for job in seen)
        return all(run.lines(job, "begin") for job in new)

    try:
        run.go(all_ran, 20.0)
        assert run.led()
        assert times_s
        assert all(abs(at_s - now_s) < 60.0 for at_s in times_s), times_s  # in machine time, whatever the wall says
        assert 0.0 <= run.controller.clock.now_s() - now_s < 60.0
    finally:
        run.set_s = set_s


def the_disk_is_full(run: Storm, seconds: float) -> None:
    """No fact can be written for a while: control goes on, it is said, and the log tells how many ticks it misses."""
    assert run.journal is not None
    log, again_s = run.journal.log, facts_log.AGAIN_S
    real, room = log._write, log._waiting_bytes
    before = log.lost_ticks

    def write(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    facts_log.AGAIN_S = 0.05
    log._write = write
    try:
        run.go(lambda: bool(log.problem), 10.0)
        log._waiting_bytes = 0  # what waits for the disk has filled its room
        run.pass_s(seconds)
        assert run.led()
        assert log.lost_ticks > before
    finally:
        log._write, log._waiting_bytes = real, room
    assert log.flush(10.0)
    run.pass_s(1.0)
    facts_log.AGAIN_S = again_s
    assert any("facts cannot be written" in line for line in run.said)
    assert any("ticks are missing" in line for line in run.said)


def the_controller_is_killed(run: Storm, seconds: float, *, log_is_lost: bool = False) -> None:
    """Caps stay until their lease ends, then they are safe and stopped jobs go on; the next one, from its log or from
    Slurm alone, leads all of them within two periods, starts nothing twice, and has no job that is over: also none that
    Slurm has forgotten meanwhile.
    """
    job = run.running_one(9.0)
    (node,) = run.controller.mirror.seen[job].on
    over = run.running_one(2.0)  # it ends while nobody leads
    stopped = run.stop_one(job) == job
    killed = time.monotonic()
    abandon(run)
    while time.monotonic() - killed < seconds:
        modes = {agent.lease.mode for agent in run.staffed.values()}
        if time.monotonic() - killed > run.lease_s + STATUS_S + BUSY_S:
            assert modes == {"safe"}
            assert not stopped or run.lines(job, "end") or node in run.busy()
        time.sleep(0.1)
    if log_is_lost and run.folder is not None:
        shutil.rmtree(run.folder)
        run.folder.mkdir()
    if over in run.controller.ledger.row and run.slurm.shown(over, "State") == "COMPLETED":
        run.forgotten.add(over)
    run.controller = run.start()
    began = time.monotonic()
    run.go(run.led, 2.0 * STATUS_S + 2.0 * BUSY_S)
    assert time.monotonic() - began <= 2.0 * STATUS_S + 2.0 * BUSY_S
    assert not run.forgotten & run.controller.ledger.row.keys()


def a_stop_outlives_the_controller(run: Storm) -> None:
    """The next controller knows from the log that a job was to stand still, and by whose wish: it lets it stand, and
    lets it go on when that is wanted.
    """
    job = run.running_one(60.0)
    (node,) = run.controller.mirror.seen[job].on
    run.controller.ledger.tell_of(PAUSED, job)
    run.go(lambda: run.phase(job) == "paused" and node not in run.busy())
    run.pass_s(0.5)
    abandon(run)
    told = len(run.told)
    run.controller = run.start()
    run.pass_s(2.0 * STATUS_S)
    ledger = run.controller.ledger
    assert (run.phase(job), run.controller.mirror.seen[job].ours) == ("paused", True)
    assert int(ledger.state.status[ledger.row[job]]) == codes.PAUSED
    assert [one for one in run.told[told:] if one.job == job and one.what != "stop"] == []
    assert node not in run.busy()
    ledger.tell_of(RESUMED, job)
    run.go(lambda: run.phase(job) == "running" and node in run.busy(), 10.0)
    run.slurm.command("scancel", job)
    del run.jobs[job]


def abandon(run: Storm) -> None:
    """End the controller as a kill does: what it wrote is there, and nothing more."""
    run.controller.bus.close()
    if run.journal is not None:
        run.journal.abandon()
        run.journal = None


def the_token_expires(run: Storm, served: SlurmCluster, folder: Path) -> None:
    """By REST, with a token that has expired: it is said with what to do, nothing is started, caps go on; a new token
    in the file is taken by itself.
    """
    path = folder / "slurm.token"
    path.touch(mode=0o600)
    path.write_text(served.token(2))
    manager = run.controller.manager
    plain = manager.commands  # type: ignore[attr-defined]
    address = f"http://127.0.0.1:{served.rest_port}"
    manager.commands = RestCommands(served.conf, None, run.timeout_s, rest=address, token=Token(path))  # type: ignore[attr-defined]
    said = len(run.said)
    try:
        run.go(lambda: any("has expired" in line for line in run.said[said:]), 15.0)
        some(run, 2)
        told = len(run.told)
        run.pass_s(2.0)
        assert run.led()
        assert [one for one in run.told[told:] if one.what == "release"] == []
        assert re.search(r"token in \S+slurm.token has expired, on \d{4}-.* UTC; renew it: ", run.said[-1])
        path.write_text(served.token(600))
        run.go(lambda: any(one.what == "release" for one in run.told[told:]), 15.0)
    finally:
        manager.commands = plain  # type: ignore[attr-defined]
