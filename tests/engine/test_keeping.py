"""A run that is cut off and carried on gives the bytes of one that never was, wherever it is cut, whatever is on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import capped, everything, late, responding
from engine.regulated import FILLER, FIRM, SMALL, WIDE, machine, options, signal, table_of
from engine.worlds import digest, policies
from wattline.errors import TraceError
from wattline.journal.unfinished import Writer, read_flush, was_kept
from wattline.model.kinds import Kind
from wattline.model.mechanism import policy
from wattline.model.regulation import Bid, Bidding
from wattline.model.state.record import FIELDS
from wattline.sim import keeping, simulate
from wattline.sim.keeping import PASSING, Keeper, cut_result, restore
from wattline.sim.simulate import Simulation
from wattline.wiring.logs import LOGS
from wattline.wiring.options import Options
from wattline.wiring.result import Result

KINDS = tuple(replace(kind, arrival_per_s=0.05) for kind in (SMALL, WIDE, FIRM, FILLER))
Make = Callable[[], Simulation]


def described() -> tuple[dict[str, Any], list[Any]]:
    """Return what a record of a run says of it."""
    return {"identity": {}, "hidden": "", "study": ""}, []


class Killed(Exception):  # noqa: N818
    """The process is gone."""


@policy("order", wake="arrival", memory=2)
def counting(s, arg, param, memory):
    """Count arrivals in its memory; every third job goes to the front."""
    memory[0] += 1
    for i in range(s.q_new[0], s.q_tail[0]):
        if s.queue[i] >= 0:
            s.key[s.queue[i]] = -memory[0] if memory[0] % 3 == 0 else memory[0]
    return 1


def everything_on(**more: Any) -> Simulation:
    """Return a run with limits, outages, sleep, levels, kills, timers, learned estimates, random numbers and memory."""
    how = replace(everything.OPTIONS, **more)
    return Simulation(everything.jobs(), everything.machine(), everything.chosen(), how, seed=3)


def with_bids(select: str, bidder: str = "adaptive", kinds: tuple[Kind, ...] = KINDS) -> Simulation:
    """Return a run that follows a target, with pauses, standby jobs and bids that are made during the run."""
    random = np.random.default_rng(5)
    rows = sorted((float(random.uniform(0, 900)), kinds[random.integers(0, 4)].name) for _ in range(150))
    how = options(kinds, signal(*random.uniform(-1, 1, 250)), (0.0, Bid(1500.0, 300.0)), bidding=Bidding(100.0, 170.0))
    chosen = policies({}, select=select, cap="match-target", bid=bidder)
    return Simulation(table_of(kinds, *rows), machine(), chosen, replace(how, until_s=1000.0))


def in_python() -> Simulation:
    """Return a run with a plain-Python policy that keeps what it knows in its memory."""
    return Simulation(everything.jobs(), everything.machine(), policies(order=counting), everything.OPTIONS)


RUNS: dict[str, Make] = {
    "everything": everything_on,
    "passes by event": lambda: everything_on(ties="event", until_s=1900.0),
    "spare rows": lambda: everything_on(spare_rows=11),
    "few logs": lambda: everything_on(placements=False, decisions=False, timeline=False),
    "conservative": lambda: Simulation(
        everything.jobs(), everything.machine(), policies(select="conservative", learn="recent"), everything.OPTIONS
    ),
    "slackline": lambda: with_bids("slackline"),
    "late, everything": lambda: late.simulation("everything"),
    "late, slackline": lambda: late.simulation("slackline"),
    "late, capped alone": lambda: late.simulation("alone"),
    "responses to caps": lambda: with_bids("slackline", kinds=tuple(map(responding.bent, KINDS))),
    "qoscap": lambda: with_bids("qoscap"),
    "gps": lambda: with_bids("gps", "fixed-heuristic"),
    "t-test": lambda: capped.simulation("t-test"),
    "pooled": lambda: capped.simulation("pooled"),
    "plain Python": in_python,
}


@pytest.fixture(autouse=True)
def _short_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "HOUR_S", 100.0)
    monkeypatch.setattr("wattline.journal.unfinished.os.fsync", lambda _: None)  # no power fails here


def keeper(folder: Path, **more: Any) -> Keeper:
    """Return a keeper that leaves no hour out."""
    return Keeper(folder, described, every_hour=True, **more)


def killed_after(run: Simulation, folder: Path, hours: int) -> None:
    """Carry out a run that is gone after so many hours were kept."""
    with keeper(folder) as kept:

        def look(_done: int, _total: int) -> None:
            if kept.kept is not None and kept.kept["flush"] >= hours:
                raise Killed

        with pytest.raises(Killed):
            run.run(look, kept)


def carried_on(run: Simulation, folder: Path, **more: Any) -> Result:
    """Carry on, in a run that has not begun, what lies in a folder."""
    with keeper(folder, since=read_flush(folder)) as kept:
        kept.carry_on(run)
        return run.run(keeper=kept, **more)


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_goes_on_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    """Killed after its first, its third and a late hour, a run gives every bit of what it gives undisturbed."""
    whole = RUNS[name]().run()
    for hours in (1, 3, 8):
        folder = tmp_path / str(hours)
        killed_after(RUNS[name](), folder, hours)
        again = carried_on(RUNS[name](), folder)
        assert digest(again) == digest(whole)
        assert again.stopped == whole.stopped


@pytest.mark.parametrize("name", ["everything", "slackline", "plain Python"])
def test_a_run_may_be_killed_again_and_again(name: str, tmp_path: Path) -> None:
    """Killed at every second hour, a run still comes to the same end."""
    whole = RUNS[name]().run()
    killed_after(RUNS[name](), tmp_path, 1)
    result = None
    for hours in range(3, 40, 2):
        run = RUNS[name]()
        with keeper(tmp_path, since=read_flush(tmp_path)) as kept:
            kept.carry_on(run)

            def look(_done: int, _total: int, kept: Keeper = kept, hours: int = hours) -> None:
                if kept.kept is not None and kept.kept["flush"] >= hours:
                    raise Killed

            try:
                result = run.run(look, kept)
                break
            except Killed:
                pass
    assert result is not None
    assert hours > 7
    assert digest(result) == digest(whole)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_kept_is_the_run_up_to_that_hour(name: str, tmp_path: Path) -> None:
    """What a flush leaves behind is, bit for bit, what a run leaves that ends at that very hour."""
    killed_after(RUNS[name](), tmp_path, 4)
    flush = read_flush(tmp_path)
    run = RUNS[name]()
    cut = cut_result(flush, run.jobs, run.cluster, run.policies, run.options, run.seed)
    run.options = replace(run.options, until_s=flush.record["cut_s"])
    hours = (flush.record["cut_s"] - flush.record["start_s"]) / 100.0
    assert hours == pytest.approx(round(hours))
    ended = run.run()
    assert ended.stopped == "until"
    assert digest(cut) == digest(ended)
    assert cut.stopped == "interrupted"


@pytest.mark.parametrize("looks", [1, 2, 5, 11])
def test_an_interrupted_run_ends_at_a_full_hour(looks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told to stop between two slices, a run goes on to the end of the hour, and from there to the same end."""
    monkeypatch.setattr(simulate, "FIRST_SLICE", 7)
    monkeypatch.setattr(simulate, "SLICE_INSTANTS", 50)
    whole = everything_on().run()
    left = iter(range(looks))

    def look(_done: int, _total: int) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    with Keeper(tmp_path, described) as kept:
        result = everything_on().run(look, kept)
    assert result.stopped == "interrupted"
    hours = (result.state.now[0] - result.state.start_s[0]) / 100.0
    assert hours == pytest.approx(round(hours))
    assert 0 < result.state.now[0] < whole.state.now[0]
    assert digest(carried_on(everything_on(), tmp_path)) == digest(whole)


def test_the_end_within_the_last_hour_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is told to stop in its last hour is carried through: it was not interrupted."""
    monkeypatch.setattr(simulate, "FIRST_SLICE", 200)
    monkeypatch.setattr(simulate, "SLICE_INSTANTS", 200)
    monkeypatch.setattr(simulate, "HOUR_S", 1e6)
    whole = everything_on().run()

    def look(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with Keeper(tmp_path, described) as kept:
        result = everything_on().run(look, kept)
    assert result.stopped == "done"
    assert digest(result) == digest(whole)


def test_an_hour_that_takes_too_long_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rest of the hour would take too long, the run stops where it is, and can be carried on from there."""
    monkeypatch.setattr(simulate, "HOUR_S", 1e6)
    monkeypatch.setattr(simulate, "LAST_HOUR_S", 0.0)
    monkeypatch.setattr(simulate, "FIRST_SLICE", 100)
    whole = everything_on().run()

    def look(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with Keeper(tmp_path, described) as kept:
        result = everything_on().run(look, kept)
    assert result.stopped == "interrupted"
    assert digest(carried_on(everything_on(), tmp_path)) == digest(whole)


def test_passing_time_changes_no_other_field() -> None:
    """When nothing happens but that time passes, only the clock and what is summed up over time change."""
    for make in RUNS.values():
        run = make()
        with run:
            cut_s = run.next_hour_s() + 0.37  # not where a control period begins
            while run.advance(1000, until_s=cut_s, short=True) != simulate.codes.UNTIL:
                pass
            run.empty_logs()
            before = {name: array.copy() for name, array in run.state.arrays().items()}
            run.settle(cut_s)
        logs = {name for _, arrays in LOGS.values() for name in arrays}
        changed = {n for n, a in run.state.arrays().items() if not np.array_equal(a, before[n], equal_nan=True)} - logs
        assert "now" in changed
        assert changed <= {*PASSING, "option"}


def test_all_that_changes_is_kept() -> None:
    """Every field that a run may change, but the logs, lies in the part of the state that a flush takes whole."""
    run = everything_on()
    start = run.state.changing.__array_interface__["data"][0]
    stop = start + run.state.changing.nbytes
    logs = {name for _, arrays in LOGS.values() for name in arrays}
    for name, (_, field) in FIELDS.items():
        inside = start <= getattr(run.state, name).__array_interface__["data"][0] < stop
        assert inside or field.fixed or name in logs or getattr(run.state, name).size == 0, name


# ------------------------------------------------------------------ when, and at what cost


def test_short_runs_keep_nothing(tmp_path: Path) -> None:
    """A run of well under a second leaves the disk alone."""
    with Keeper(tmp_path / "out", described) as kept:
        everything_on().run(keeper=kept)
    assert not (tmp_path / "out").exists()


def test_the_pause_grows_with_the_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a flush that held the run up for a second, the next one is due no earlier than twenty seconds later."""
    clock = [0.0]
    monkeypatch.setattr(keeping.time, "perf_counter", lambda: clock[0])
    run = everything_on()
    with run, Keeper(tmp_path, described) as kept:
        run.advance(50)
        assert not kept.due(run)
        clock[0] = 1.0
        assert kept.due(run)
        put = kept._writer.put

        def slowly(arrays: Any) -> None:
            clock[0] += 1.0
            put(arrays)

        monkeypatch.setattr(kept._writer, "put", slowly)
        kept.keep(run, float(run.state.now[0]))
        assert kept._writing is not None
        kept._writing.result()
        clock[0] = 21.9
        assert not kept.due(run)
        clock[0] = 22.0
        assert kept.due(run)


def test_a_run_that_is_over_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush that is still being written when the run ends is left off: no flush comes to count, nothing is said."""
    run = everything_on()
    append = Writer._append

    def slowly(self: Writer, logs: Any) -> Any:
        while not self.over:
            time.sleep(0.01)
        return append(self, logs)

    monkeypatch.setattr(Writer, "_append", slowly)
    with run, Keeper(tmp_path, described) as kept:
        run.advance(50)
        kept.keep(run, float(run.state.now[0]))
        kept.forget()
    assert kept.kept is None
    assert not was_kept(tmp_path)


def test_a_full_disk_is_warned_about_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be kept is said once, in one line; the run ends as it would have."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wattline.journal.unfinished.os.fsync", full)
    why = r"what is done cannot be kept \(No space left on device\)"
    with pytest.warns(UserWarning, match=why) as told, keeper(tmp_path / "out") as kept:
        result = everything_on().run(keeper=kept)
    assert len(told) == 1
    assert result.stopped == "done"
    assert digest(result) == digest(everything_on().run())


def test_a_folder_that_is_no_folder_is_warned_about(tmp_path: Path) -> None:
    """A place that cannot be written to does not end the run either."""
    (tmp_path / "out").write_text("a file")
    with pytest.warns(UserWarning, match="what is done cannot be kept"), keeper(tmp_path / "out") as kept:
        assert everything_on().run(keeper=kept).stopped == "done"


def test_the_flush_of_another_run_is_refused(tmp_path: Path) -> None:
    """Raw numbers of a state of another shape, or laid out in another way, are not taken over."""
    killed_after(everything_on(), tmp_path, 2)
    flush = read_flush(tmp_path)
    with pytest.raises(TraceError, match="another Wattline, or of another run"):
        restore(with_bids("gps"), flush)
    flush.record["layout_of_state"] = "0"
    with pytest.raises(TraceError, match="another Wattline, or of another run"):
        restore(everything_on(), flush)


def test_options_are_not_kept_by_accident() -> None:
    """The switch that stops a run short is put back: what is simulated afterwards ends where it is told to."""
    run = everything_on()
    with run:
        run.advance(10_000, until_s=150.0, short=True)
        assert run.state.now[0] < 150.0
        run.advance(10_000, until_s=150.0)
    assert run.state.now[0] == 150.0
    assert Options().until_s == np.inf
