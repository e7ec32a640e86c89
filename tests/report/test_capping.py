"""How power kept to its limit, held against numbers worked out by hand and against a slow count."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import decisions_of, frames_of

import wattline as wl
from wattline.journal.journal import Coded, open_journal, write_journal
from wattline.model.codes import EXCEEDS, VERDICT_NAMES
from wattline.report.count.actions import Actions, read_actions
from wattline.report.count.capping import Capping, Grid, Kept, cut, inside, kept, measure, merge_spans
from wattline.report.count.metrics import summarize

NONE = math.inf


def steps(*rows: tuple[float, float, float], end_s: float) -> tuple[Any, Any, Any, Any]:
    """Return time, duration, power and limit of a step function given as (time, power, limit)."""
    time_s, power_w, limit_w = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    return time_s, np.diff(np.append(time_s, end_s)), power_w, limit_w


# Intervals of 10 s, samples every 20 s: above the limit from 12 to 18 s and from 35 to 60 s, where a limit of 100 W
# falls to 80 W.
HAND = steps((0, 90, 100), (12, 110, 100), (18, 95, 100), (35, 120, 100), (50, 90, 80), (60, 80, 80), end_s=100)


def test_by_hand() -> None:
    """Intervals, seconds and instants above the limit are counted each in its own way."""
    found = kept(*HAND, Grid(0.0, 10.0, 20.0))
    assert (found.intervals.total, found.intervals.above) == (10, 4)  # 10-20, 30-40, 40-50, 50-60
    assert (found.seconds.total, found.seconds.above) == (100, 6 + 25)
    assert (found.samples.total, found.samples.above) == (5, 1)  # at 40 s; at 60 s power has just fallen
    assert found.success == pytest.approx(0.6)
    assert found.seconds.success == pytest.approx(0.69)
    assert (found.worst_w, found.worst_share, found.longest_s) == (20, pytest.approx(0.2), 25)
    assert found.above_j == pytest.approx(6 * 10 + 15 * 20 + 10 * 10)


def test_without_deadlock_starts() -> None:
    """Apart from deadlock starts, the time while such a job ran does not exist; an interval counts by what is left of
    it.
    """
    found = measure(*HAND, Actions(np.array([[35.0, 50.0]]), 3, 2), quantum_s=10.0, sample_s=20.0)
    assert found.whole == kept(*HAND, Grid(0.0, 10.0, 20.0))
    apart = found.apart
    assert (apart.intervals.total, apart.intervals.above) == (9, 2)  # 40-50 is gone, of 30-40 a good part is left
    assert (apart.seconds.total, apart.seconds.above) == (85, 16)
    assert (apart.samples.total, apart.samples.above) == (4, 0)
    assert (apart.worst_w, apart.worst_share, apart.longest_s) == (10, pytest.approx(0.125), 10)
    assert (found.deadlock_starts, found.deadlock_s, found.caps_set, found.jobs_stopped) == (1, 15, 3, 2)


def test_deadlock_inside_a_row() -> None:
    """A span that begins and ends between rows cuts them; one that never ends reaches to the end of the run."""
    found = measure(*steps((0, 9, 5), end_s=100), Actions(np.array([[25.0, 35.0], [60.0, NONE]]), 0, 0), quantum_s=10.0)
    assert found.apart.seconds.total == 100 - 10 - 40
    assert found.apart.intervals.total == 6
    assert (found.apart.longest_s, found.deadlock_s) == (25, 50)


def test_no_limit_is_no_success() -> None:
    """Time without a limit is not counted: neither as success nor as failure, and it ends a time above the limit."""
    found = kept(*steps((0, 9, 5), (10, 9, NONE), (30, 9, 5), end_s=45), Grid(0.0, 10.0, 10.0))
    assert (found.intervals.total, found.intervals.above, found.seconds.total, found.samples.total) == (3, 3, 25, 3)
    assert found.longest_s == 15
    nothing = kept(*steps((0, 9, NONE), end_s=45), Grid(0.0))
    assert math.isnan(nothing.success)
    assert math.isnan(nothing.samples.success)


def test_rounding_is_no_breach() -> None:
    """Power above the limit by a rounding error of a sum is within it; a limit of nothing is broken infinitely."""
    assert kept(*steps((0, 100 * (1 + 1e-12), 100), end_s=10), Grid(0.0)).success == 1.0
    assert kept(*steps((0, 1, 0), end_s=10), Grid(0.0)).worst_share == math.inf


def test_rows_of_no_time_do_not_count() -> None:
    """A row that held for no time is neither a breach nor a break in one."""
    found = kept(*steps((0, 9, 5), (10, 1, 5), (10, 9, 5), (20, 1, 5), (20, 99, 5), (20, 1, 5), end_s=30), Grid(0.0))
    assert (found.longest_s, found.worst_w, found.seconds.above) == (20, 4, 20)


def test_grid_in_tenths() -> None:
    """Grids whose steps are no binary fractions are met all the same: rows between grid points fail their own interval
    only.
    """
    time_s = np.arange(1000) * 0.1
    power_w = np.where(np.arange(1000) % 2 == 0, 9.0, 1.0)
    found = kept(time_s, np.full(1000, 0.1), power_w, np.full(1000, 5.0), Grid(0.0, 0.1, 0.2))
    assert (found.intervals.total, found.intervals.above) == (1000, 500)
    assert (found.samples.total, found.samples.above) == (500, 500)


def test_unknown_actions() -> None:
    """Where decisions were not logged, deadlock starts are not known, and nothing is made up about them."""
    found = measure(*HAND, None)
    assert math.isnan(found.apart.success)
    assert math.isnan(found.deadlock_starts)


SECONDS = st.integers(1, 40)
ROWS = st.lists(
    st.tuples(st.integers(0, 25), st.integers(0, 6), st.sampled_from([2.0, 4.0, NONE])), min_size=1, max_size=25
)
SPANS = st.lists(st.tuples(st.integers(-5, 200), st.integers(0, 60)), max_size=5)


@settings(max_examples=300, deadline=None)
@given(ROWS, SPANS, SECONDS, SECONDS, st.integers(0, 3))
def test_against_a_slow_count(
    rows: list[tuple[int, int, float]], spans: list[tuple[int, int]], quantum: int, sample: int, offset: int
) -> None:
    """The fast count is that of every second one by one."""
    duration_s = np.array([row[0] for row in rows], dtype=np.float64)
    time_s = offset + np.concatenate([[0.0], np.cumsum(duration_s)[:-1]])
    power_w, limit_w = (np.array([row[i] for row in rows], dtype=np.float64) for i in (1, 2))
    deadlocks = np.array([(a, a + length) for a, length in spans], dtype=np.float64).reshape(-1, 2)
    found = measure(
        time_s, duration_s, power_w, limit_w, Actions(deadlocks, 0, 0), origin_s=0.0, quantum_s=quantum, sample_s=sample
    )
    second = [(t, r) for r in range(len(rows)) for t in range(int(time_s[r]), int(time_s[r] + duration_s[r]))]
    for part, left_out in ((found.whole, []), (found.apart, spans)):
        lived = [(t, r) for t, r in second if not any(a <= t < a + length for a, length in left_out)]
        assert_slow(part, [(t, power_w[r], limit_w[r]) for t, r in lived], quantum, sample)


def assert_slow(found: Kept, seconds: list[tuple[int, float, float]], quantum: int, sample: int) -> None:
    """Hold a count against seconds, each with its power and limit."""
    limited = [(t, p, limit) for t, p, limit in seconds if limit < NONE]
    above = [(t, p, limit) for t, p, limit in limited if p > limit]
    assert (found.seconds.total, found.seconds.above) == (len(limited), len(above))
    for which, rows in (("total", limited), ("above", above)):
        assert getattr(found.intervals, which) == len({t // quantum for t, _, _ in rows})
        assert getattr(found.samples, which) == sum(t % sample == 0 for t, _, _ in rows)
    assert found.above_j == pytest.approx(sum(p - limit for _, p, limit in above))
    assert found.worst_w == max((p - limit for _, p, limit in above), default=0)
    longest = run = 0
    last = None
    for t, _, _ in above:
        run = run + 1 if last == t - 1 else 1
        longest, last = max(longest, run), t
    assert found.longest_s == longest


@given(SPANS, st.lists(st.integers(0, 250), max_size=20))
def test_spans(spans: list[tuple[int, int]], at: list[int]) -> None:
    """Merged spans hold the same instants, and no two of them touch."""
    merged = merge_spans(np.array([(a, a + length) for a, length in spans], dtype=np.float64).reshape(-1, 2))
    found = inside(np.array(at, dtype=np.float64), merged)
    assert found.tolist() == [any(a <= t < a + length for a, length in spans) for t in at]
    assert (np.diff(merged.ravel()) > 0).all()


def test_cut_keeps_the_function() -> None:
    """Cutting adds rows and changes nothing; cuts at existing rows or outside add none."""
    row, time_s, duration_s = cut(
        np.array([0.0, 10.0]), np.array([10.0, 10.0]), np.array([-5.0, 0.0, 4.0, 10.0, 15.0, 20.0])
    )
    assert (row.tolist(), time_s.tolist(), duration_s.tolist()) == ([0, 0, 1, 1], [0, 4, 10, 15], [4, 6, 5, 5])


def test_a_million_rows_are_fast() -> None:
    """A million rows and a thousand deadlock starts take less than two seconds."""
    rng = np.random.default_rng(1)
    duration_s = rng.integers(1, 60, 1_000_000).astype(np.float64)
    time_s = np.concatenate([[0.0], np.cumsum(duration_s)[:-1]])
    begin_s = np.sort(rng.uniform(0, time_s[-1], 1000))
    actions = Actions(np.column_stack([begin_s, begin_s + 600]), 0, 0)
    began = time.process_time()
    found = measure(time_s, duration_s, rng.uniform(0, 110, time_s.size), np.full(time_s.size, 100.0), actions)
    assert time.process_time() - began < 2.0
    assert found.whole.seconds.success == pytest.approx(100 / 110, abs=0.005)


# Ten nodes, 100 W idle and 300 W busy; job 2 is let in over the limit of 2,500 W, all others are not.
JOBS = {
    "submit": [0, 0, 150],
    "start": [0, 100, 200],
    "end": [100, 200, 260],
    "nodes": [5, 9, 2],
    "first": [0, 0, 0],
    "total": 10,
}


def write_run(folder: Path, manifest: dict[str, Any], verdicts: list[int]) -> Capping:
    """Write the journal of the run above with these verdicts on its three starts, and count its capping."""
    frames, made = frames_of(**JOBS, limit_w=2500.0)
    frames["decisions"] = decisions_of(
        time_s=np.array([0.0, 100.0, 200.0, 210.0, 220.0, 230.0])[: len(verdicts)],
        slot=Coded(np.array([0, 0, 0, 1, 1, 2])[: len(verdicts)], ["select", "cap", "stop"]),
        job_id=np.array([1, 2, 3, 3, 3, 3])[: len(verdicts)],
        nodes=np.array([5, 9, 2, 2, 2, 2])[: len(verdicts)],
        cap_w=np.array([math.nan, math.nan, math.nan, 200.0, math.nan, math.nan])[: len(verdicts)],
        why=Coded(np.array([0, 1, 0, 2, 2, 3])[: len(verdicts)], ["window", "deadlock", "chosen", "shed"]),
        verdict=Coded(np.array(verdicts), VERDICT_NAMES),
    )
    write_journal(folder, frames, made | manifest)
    found = summarize(open_journal(folder)).capping
    assert found is not None
    return found


def test_from_a_journal(tmp_path: Path) -> None:
    """Deadlock starts, caps and stops are read from the decisions; the grids from the manifest."""
    found = write_run(tmp_path / "j", {"power": {"tick_s": 20.0, "sample_s": 60.0}}, [0, EXCEEDS, 0, 0, 0, 0])
    assert (found.quantum_s, found.sample_s) == (20, 60)
    assert (found.deadlock_starts, found.deadlock_s, found.caps_set, found.jobs_stopped) == (1, 100, 1, 1)
    assert (found.whole.intervals.total, found.whole.intervals.above) == (13, 5)
    assert (found.whole.samples.total, found.whole.samples.above) == (5, 2)  # at 120 and 180 s
    assert found.whole.worst_w == pytest.approx(10 * 100 + 9 * 200 - 2500)
    assert found.apart.success == 1.0
    assert found.apart.seconds.total == 160


def test_journals_without_decisions(tmp_path: Path) -> None:
    """A run that logged no decisions has no deadlock starts to tell of, whether its manifest says so or not."""
    for name, manifest in (("a", {}), ("b", {"power": {"decisions": False}})):
        found = write_run(tmp_path / name, manifest, [])
        assert math.isnan(found.deadlock_starts)
        assert found.whole.success < 1.0
        assert found.quantum_s == 10.0


def test_journals_without_a_limit(tmp_path: Path) -> None:
    """Without a limit there is nothing to keep to."""
    frames, made = frames_of(**JOBS)
    write_journal(tmp_path / "j", frames, made)
    assert summarize(open_journal(tmp_path / "j")).capping is None


def test_a_job_that_is_stopped_and_let_in_again_at_once_counts_on(tmp_path: Path) -> None:
    """Every stay above the limit lasts as long as its placement, though the stop before it is at the same instant."""
    rng, again = np.random.default_rng(5), 0
    machine = wl.Machine(nodes=4, idle=50, max=300)
    for world in range(60):
        jobs = wl.from_frame(
            {
                "submit_s": np.sort(rng.integers(0, 200, 12)),
                "work_s": rng.integers(0, 60, 12),
                "nodes": rng.integers(1, 5, 12),
            }
        )
        limit = {"limit.power": 700, "limit.deadlock": "exceed"}
        run = wl.simulate(jobs, machine, select="reselect", order="lcfs", settings=limit, progress=False)
        run.write(tmp_path / f"{world}")
        actions = read_actions(open_journal(tmp_path / f"{world}"))
        assert actions is not None
        stays = run.placements.group_by("job_id", "start_s").agg(pl.col("end_s").max())
        held = {(job, start_s): end_s for job, start_s, end_s in stays.iter_rows()}
        let_in = run.decisions.filter(pl.col("verdict") == VERDICT_NAMES[EXCEEDS]).select("job_id", "time_s").rows()
        again += len(let_in) - len({job for job, _ in let_in})
        if len(set(let_in)) == len(let_in):  # not stopped and let in twice at one instant
            expected = sorted((time_s, held[job, time_s]) for job, time_s in let_in)
            assert sorted(map(tuple, actions.deadlocks.tolist())) == expected
    assert again > 10
