"""Window scheduling: the exact choice, its ties, deadlocks and who may not be passed for ever."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import cluster, examples, run, table
from wattline.errors import WattlineError
from wattline.kernel.compiled import library
from wattline.model import codes
from wattline.policies.select import knapsack
from wattline.wiring.options import Options
from wattline.wiring.result import Result

Floats = npt.NDArray[np.float64]


@library
def choose(width: Floats, watts: Floats, units: int, budget_w: float, room: Floats, taken: Floats) -> int:
    """Call the kernel from outside."""
    return knapsack.choose(width, watts, width.size, units, budget_w, room, taken)


def solved(width: list[int], watts: list[float], units: int, budget_w: float) -> tuple[int, list[int]]:
    """Return units filled and jobs taken by the compiled solution."""
    n = len(width)
    room, taken = np.zeros((n + 1) * (units + 1)), np.zeros(n)
    best = choose(np.array(width, dtype=float), np.array(watts, dtype=float), units, budget_w, room, taken)
    return int(best), [i for i in range(n) if taken[i]]


def brute(width: Floats, watts: Floats, units: int, budget_w: float) -> tuple[int, list[int]]:
    """Return the same by trying all subsets, the ones with earlier jobs first."""
    n = len(width)
    subsets = (np.arange(2**n)[::-1, None] >> np.arange(n - 1, -1, -1)) & 1  # 11…1 first, job 0 is the highest digit
    nodes, power = subsets @ width, subsets @ watts
    nodes[(nodes > units) | (power > budget_w)] = -1
    at = int(np.argmax(nodes))
    return int(nodes[at]), np.flatnonzero(subsets[at]).tolist()


def test_ten_thousand_windows_by_brute_force() -> None:
    """The choice fills as many nodes as any, and of equal choices it is the one with the earliest jobs."""
    rng = np.random.default_rng(7)
    for _ in range(10_000):
        n = int(rng.integers(1, 15 if rng.random() < 0.1 else 10))
        width = rng.integers(1, 9, n)
        watts = rng.integers(0, 30, n).astype(float)  # whole numbers: sums in any order are the same
        units, budget = int(rng.integers(0, 24)), float(rng.integers(0, 120))
        assert solved(width.tolist(), watts.tolist(), units, budget) == brute(width, watts, units, budget)


def test_the_published_recurrence_misses_this() -> None:
    """Three jobs of 3, 2 and 2 nodes at 1 W each on 4 nodes and 3 W: the two small ones fill all (decision 16)."""
    assert solved([3, 2, 2], [1.0, 1.0, 1.0], 4, 3.0) == (4, [1, 2])


def test_no_limit_of_power_is_no_limit() -> None:
    """Without a power limit only nodes count."""
    assert solved([3, 3, 2], [1e9, 1e9, 1e9], 5, np.inf) == (5, [0, 2])


def starts(result: Result) -> list[float]:
    """Return when each job started."""
    return result.state.started_s.tolist()


def test_the_four_jobs_of_the_paper() -> None:
    """On 6 racks and 230 kW the window starts J1 and J2 where first come, first served starts J0 and J1 (§IV-A)."""
    jobs = table(*({"submit": 0, "work": 10, "nodes": n, "draw": w} for n, w in ((3, 60), (1, 50), (5, 30), (4, 40))))
    racks = cluster(6, idle_w=0.0, max_w=100.0)
    options = Options(limit_w=[(0, 230.0)])
    assert starts(run(jobs, racks, select="window", options=options))[1:3] == [0.0, 0.0]
    assert starts(run(jobs, racks, select="in-order", options=options))[:2] == [0.0, 0.0]


def wide_job(limit_w: float, **options: object) -> Result:
    """Run a job that needs all four nodes at 300 W each, and one that needs one, which came later."""
    jobs = table({"submit": 0, "work": 10, "nodes": 4}, {"submit": 1, "work": 10, "nodes": 1})
    given: dict[str, object] = {"limit_w": [(0, limit_w)]} | options
    return run(jobs, cluster(4, idle_w=0.0), select="window", options=Options(**given))  # type: ignore[arg-type]


def test_a_deadlock_is_broken_only_if_allowed() -> None:
    """A job that exceeds the limit alone starts when nothing runs and nothing else fits, and the journal says so."""
    result = wide_job(600.0, exceed=True)
    assert starts(result) == [0.0, 10.0]
    verdicts = [codes.VERDICT_NAMES[v] for v in result.logs["a_verdict"]]
    assert verdicts[0].startswith("accepted over the power limit")
    assert codes.WHY_NAMES[result.logs["a_why"][0]] == "deadlock"
    # where it may not, it is rejected before the run: its power is known and no limit will ever allow it
    assert starts(wide_job(600.0))[1] == 1.0


def test_waiting_for_a_higher_limit() -> None:
    """Without that leave the job waits until the limit rises."""
    jobs = table({"submit": 0, "work": 10, "nodes": 4})
    options = Options(limit_w=[(0, 600.0), (50, 1200.0)])
    assert starts(run(jobs, cluster(4, idle_w=0.0), select="window", options=options)) == [50.0]


def test_a_wider_window_finds_what_fits() -> None:
    """When nothing runs and nothing in the window fits, ``widen`` looks behind it."""
    rows = [{"submit": 0, "work": 10, "nodes": 4}] * 2 + [{"submit": 0, "work": 10, "nodes": 1}]
    options = Options(limit_w=[(0, 600.0)], exceed=True)
    narrow = {"select": {"window": 1.0}}
    wide = {"select": {"window": 1.0, "widen": 1.0}}
    machine = cluster(4, idle_w=0.0)
    assert starts(run(table(*rows), machine, select="window", params=narrow, options=options)) == [0.0, 10.0, 20.0]
    assert starts(run(table(*rows), machine, select="window", params=wide, options=options)) == [10.0, 20.0, 0.0]


@pytest.mark.parametrize(("plugged", "start"), [(0.0, 100.0), (1.0, 1.0)])
def test_a_window_that_is_plugged(plugged: float, start: float) -> None:
    """Where each job of a full window would exceed the limit alone, ``plugged`` starts its first one beside those that
    run (§VIII-B); otherwise it waits until nothing runs.
    """
    long = {"submit": 0, "work": 100, "nodes": 1, "request": 100}
    jobs = table(long, *({"submit": 1, "work": 10, "nodes": 3} for _ in range(2)))
    options = Options(limit_w=[(0, 600.0)], exceed=True)
    params = {"select": {"window": 2.0, "plugged": plugged}}
    result = run(jobs, cluster(4, idle_w=0.0), select="window", params=params, options=options)
    assert starts(result)[1] == start
    alone = table(long, {"submit": 1, "work": 10, "nodes": 3})
    held = run(alone, cluster(4, idle_w=0.0), select="window", params=params, options=options)
    assert starts(held)[1] == 100.0  # a window that is not full is not plugged


@given(st.data())
@examples(60)
def test_nobody_waits_for_ever(data: st.DataObject) -> None:
    """With true estimates a job starts within the patience and, for each that is overdue before it, one longest run
    time.
    """
    n = data.draw(st.integers(2, 14))
    jobs = table(
        *(
            {
                "submit": data.draw(st.integers(0, 30)),
                "work": data.draw(st.integers(1, 20)),
                "nodes": data.draw(st.integers(1, 4)),
                "draw": data.draw(st.sampled_from([100.0, 200.0, 300.0])),
            }
            for _ in range(n)
        )
    )
    patience = float(data.draw(st.integers(0, 20)))
    params = {"select": {"window": float(data.draw(st.integers(1, 6))), "patience": patience}}
    options = Options(limit_w=[(0, 900.0)], exceed=True)
    order = data.draw(st.sampled_from(["fcfs", "wfp", "lcfs", "shortest"]))
    result = run(
        jobs, cluster(4, idle_w=0.0), order=order, select="window", params=params, options=options, learn="exact"
    )
    s = result.state
    longest = float(s.work.max())
    wait = s.started_s - s.eligible_s
    for j in range(n):
        before = int(
            np.sum((s.eligible_s < s.eligible_s[j]) | ((s.eligible_s == s.eligible_s[j]) & (s.seq < s.seq[j])))
        )
        assert wait[j] <= patience + (before + 1) * longest


def test_patience_with_a_job_that_never_fits() -> None:
    """Who never fits under the limit holds nobody up where the rule is to wait, and runs alone where it may exceed."""
    small = [{"submit": 10 * i, "work": 30, "nodes": 1, "draw": 100.0} for i in range(20)]
    wide = {"submit": 5, "work": 50, "nodes": 4, "draw": 300.0}
    params = {"select": {"window": 3.0, "patience": 40.0}}
    for order in ("fcfs", "shortest"):
        held = Options(limit_w=[(0, 900.0), (1000, 1300.0)])
        waits = run(
            table(*small, wide), cluster(4, idle_w=0.0), order=order, select="window", params=params, options=held
        ).state
        assert (waits.started_s - waits.submit_s)[waits.nodes == 1].max() <= 40.0
        assert waits.started_s[waits.nodes == 4].tolist() == [1000.0]
        free = Options(limit_w=[(0, 900.0)], exceed=True)
        result = run(
            table(*small, wide), cluster(4, idle_w=0.0), order=order, select="window", params=params, options=free
        )
        start_s = float(result.state.started_s[result.state.nodes == 4][0])
        assert 45.0 <= start_s <= 45.0 + 30.0
        assert result.logs["a_why"][result.logs["a_verdict"] == codes.EXCEEDS].tolist() == [codes.DEADLOCK]


@pytest.mark.parametrize(("name", "value"), [("window", 0.0), ("window", 5000.0), ("patience", -1.0)])
def test_windows_that_make_no_sense(name: str, value: float) -> None:
    """Parameters out of their range are refused by name."""
    with pytest.raises(WattlineError, match=name):
        run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1), select="window", params={"select": {name: value}})
