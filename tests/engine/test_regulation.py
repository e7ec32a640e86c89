"""A power target in the engine: what it is at every instant, how caps meet it, and what capped jobs then take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.regulated import (
    FILLER,
    FIRM,
    IDLE_W,
    SMALL,
    WIDE,
    follow,
    instants,
    machine,
    options,
    power_of,
    signal,
    simulation,
    span_of,
    table_of,
)
from engine.test_invariants import assert_sound
from engine.worlds import check_structure, cluster, examples
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass, Outage
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Signal
from wattline.model.state.record import State
from wattline.wiring.options import Options
from wattline.wiring.result import Result

BID = Bid(1200.0, 300.0)
KINDS = (SMALL, WIDE, FIRM, FILLER)
SELECTS = ("gps", "tracking-only", "energyqare", "slackline")


def targets(result: Result) -> list[tuple[float, float]]:
    """Return (time, target) of every row of the timeline."""
    rows = result.logs["timeline"]
    return [(float(row[codes.TL_TIME]), float(row[codes.TL_TARGET])) for row in rows]


# ------------------------------------------------------------------ the target


@pytest.mark.parametrize(("step_s", "start_s", "tick_s"), [(4.0, 0.0, 1.0), (0.7, -2.9, 1.0), (5.0, -12.0, 3.0)])
def test_the_target_is_the_bid_and_the_signal_at_every_instant(step_s: float, start_s: float, tick_s: float) -> None:
    """At every instant the target is P̄ + y R, with the value of the signal that holds then, whatever step and
    period.
    """
    values = np.round(np.sin(np.arange(60.0)), 3)
    y = Signal(start_s, step_s, values)
    jobs = table_of(KINDS, (0.0, "wide"), (2.5, "small"), (9.25, "small"))
    result = follow(jobs, machine(), options(KINDS, y, (start_s, BID), tick_s=tick_s))
    begins = [start_s + k * step_s for k in range(60)]
    seen = targets(result)
    for time_s, target_w in seen:
        k = max(i for i, begin in enumerate(begins) if begin <= time_s)
        assert target_w == 1200.0 + 300.0 * values[k]
    last = result.state.now[0]
    assert {begin for begin in begins if 0.0 <= begin < last} <= {time_s for time_s, _ in seen}


def test_there_is_a_target_only_while_a_bid_holds() -> None:
    """A bid may begin late, be replaced and end: before it and after it there is no target, and events say when."""
    jobs = table_of(KINDS, (0.0, "small"), (1.0, "wide"), (30.0, "small"))
    y = signal(0.5, -0.5, step_s=10.0)
    bids = ((20.0, None), (5.0, BID), (10.0, Bid(900.0, 100.0)))  # in any order
    result = follow(jobs, machine(), options(KINDS, y, *bids))
    for time_s, target_w in targets(result):
        if 5.0 <= time_s < 10.0:
            assert target_w == 1200.0 + 0.5 * 300.0
        elif 10.0 <= time_s < 20.0:
            assert target_w == 900.0 - 0.5 * 100.0
        else:
            assert np.isnan(target_w)
    told = result.logs["ev_kind"] == codes.EV_BID
    assert result.logs["ev_time_s"][told].tolist() == [5.0, 10.0, 20.0]
    np.testing.assert_array_equal(result.logs["ev_value"][told], [1200.0, 900.0, np.nan])


@pytest.mark.parametrize("select", SELECTS)
def test_without_a_bid_in_force_nothing_is_capped_and_all_that_fits_starts(select: str) -> None:
    """Where no bid holds, jobs start as they fit and run at full speed."""
    jobs = table_of(KINDS, *[(0.0, "small")] * 3, (0.0, "wide"))
    result = follow(jobs, machine(6), options(KINDS, signal(0.0), (0.0, None)), select)
    assert result.state.end_s.tolist() == [20.0, 20.0, 20.0, 30.0]
    assert result.state.energy_j.tolist() == [6000.0] * 3 + [3 * 260.0 * 30.0]


def test_a_signal_shorter_than_the_run_holds_its_last_value() -> None:
    """After its end the signal keeps its last value."""
    jobs = table_of(KINDS, (0.0, "small"), (60.0, "small"))
    result = follow(jobs, machine(), options(KINDS, signal(0.0, 1.0, -0.5, step_s=4.0), (0.0, BID)))
    seen = targets(result)
    assert {target for time_s, target in seen if time_s >= 8.0} == {1050.0}
    assert seen[-1][0] == result.state.end_s[-1] > 70.0


# ------------------------------------------------------------------ one ratio meets it


def assert_met(s: State, *, uncapped: bool) -> None:
    """Assert that power is the target where caps can make it so, and the nearest end of their span elsewhere."""
    low_w, high_w = span_of(s)
    target_w = s.target_w[0]
    if uncapped or not high_w > target_w:
        np.testing.assert_allclose(power_of(s), high_w, rtol=1e-12)
        assert all(
            s.c_rate[s.rate_class[j]] == 1.0 for j in s.running[: s.n_running[0]] if s.status[j] == codes.RUNNING
        )
    else:
        np.testing.assert_allclose(power_of(s), max(low_w, target_w), rtol=1e-12)


MIXES = st.lists(st.tuples(st.integers(0, 30), st.sampled_from([k.name for k in KINDS])), min_size=1, max_size=14)
SIGNALS = st.lists(st.sampled_from([-1.0, -0.6, -0.25, 0.0, 0.4, 1.0]), min_size=1, max_size=12)
OUTAGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 15), st.integers(0, 5), st.integers(1, 2), st.booleans()), max_size=3
)
PARAMS: dict[str, Any] = {
    "gps": {"carry": (0, 1), "preempt": (0, 1, 2), "standby": (0, 1)},
    "tracking-only": {},
    "energyqare": {"largest": (0, 1)},
    "slackline": {"stop": (0, 0.5, 1.5)},
}
EVER_AFTER = (60.0, Bid(8000.0, 0.0))
"""A bid under which all that waits can start."""


@st.composite
def choices(draw: st.DrawFn, select: str) -> dict[str, float]:
    """Draw the parameters of a policy."""
    return {name: float(draw(st.sampled_from(values))) for name, values in PARAMS[select].items()}


def jobs_from(mix: list[tuple[int, str]], **columns: Any) -> JobTable:
    """Return the jobs of a draw."""
    return table_of(KINDS, *[(float(t), name) for t, name in sorted(mix)], **columns)


@pytest.mark.parametrize("select", SELECTS)
@examples(10)
@given(data=st.data(), mix=MIXES, y=SIGNALS, mean_w=st.sampled_from([900.0, 1300.0, 1700.0]))
def test_caps_meet_the_target_exactly_when_they_can(
    select: str, data: st.DataObject, mix: list[tuple[int, str]], y: list[float], mean_w: float
) -> None:
    """γ matches the target exactly between lowest and uncapped power, is 0 above it, and nothing is capped below it."""
    how = options(KINDS, signal(*y, step_s=3.0), (0.0, Bid(mean_w, 400.0)), EVER_AFTER)
    params = data.draw(choices(select))
    for s, tick in instants(simulation(jobs_from(mix), machine(6), how, select, params)):
        urgent = s.a_n[0] > s.a_from[0] and s.a_why[s.a_from[0]] == codes.URGENT
        low_w, high_w = span_of(s)
        fast = all(s.c_power[s.rate_class[j]] == 1.0 for j in s.running[: s.n_running[0]])
        if tick:
            assert_met(s, uncapped=select == "energyqare" and (urgent or (fast and high_w > low_w)))


@pytest.mark.parametrize("ratio", [0.0, 0.37, 0.5, 1.0])
@pytest.mark.parametrize("kind", [SMALL, WIDE, FIRM])
def test_run_time_and_power_are_linear_in_the_ratio(kind: Kind, ratio: float) -> None:
    """A job held at a ratio γ draws floor + γ (draw - floor) a node and takes work · (1 + (1 - γ)(stretch - 1)):
    exactly.
    """
    node_w = kind.floor_w + ratio * (kind.draw_w - kind.floor_w)
    target_w = kind.nodes * node_w + (4 - kind.nodes) * IDLE_W
    how = options(KINDS, signal(0.0), (0.0, Bid(target_w, 50.0)), tick_s=0.5)
    result = follow(table_of(KINDS, (0.0, kind.name)), machine(4), how, select="easy")
    took_s = kind.work_s * (1.0 + (1.0 - ratio) * (kind.stretch - 1.0))
    np.testing.assert_allclose(result.state.end_s, [took_s], rtol=1e-12)
    np.testing.assert_allclose(result.state.energy_j, [kind.nodes * node_w * took_s], rtol=1e-12)
    np.testing.assert_allclose(result.logs["timeline"][:-1, codes.TL_POWER], target_w, rtol=1e-12)


def test_one_ratio_for_all_kinds() -> None:
    """All jobs have the same part of their own power range, whatever that range is."""
    jobs = table_of(KINDS, (0.0, "small"), (0.0, "wide"), (0.0, "firm"))
    how = options(KINDS, signal(0.0), (0.0, Bid(1480.0, 0.0)))
    seen = 0
    for s, _ in instants(simulation(jobs, machine(6), how, select="easy")):
        running = [int(j) for j in s.running[: s.n_running[0]]]
        if len(running) == 3:
            depth = {
                j: (s.draw_w[j] * s.c_power[s.rate_class[j]] - s.floor_w[j]) / (s.draw_w[j] - s.floor_w[j])
                for j in (0, 1)
            }
            assert depth[0] == pytest.approx(depth[1], rel=1e-12)
            assert 0.0 < depth[0] < 1.0
            seen += 1
    assert seen > 5


def test_the_lowest_cap_of_the_nodes_counts_too() -> None:
    """Caps reach down to the job's floor or the lowest cap of its nodes, whichever is higher; ratio 0 is there."""
    jobs = table_of(KINDS, (0.0, "small"))
    nodes = cluster(2, idle_w=IDLE_W, max_w=320.0, min_cap_w=200.0)
    result = follow(jobs, nodes, options(KINDS, signal(-1.0), (0.0, Bid(250.0, 100.0))), select="easy")
    assert result.state.end_s[0] == pytest.approx(20.0 * (1.0 + 100.0 / 150.0), rel=1e-12)
    assert result.state.energy_j[0] == pytest.approx(200.0 * result.state.end_s[0], rel=1e-12)
    caps = result.logs["a_kind"] == codes.ACT_CAP
    assert set(result.logs["a_verdict"][caps].tolist()) == {codes.OK}


# ------------------------------------------------------------------ whatever happens


@pytest.mark.parametrize("cap", ["match-target", "none"])
@pytest.mark.parametrize("select", SELECTS)
@examples(10)
@given(
    data=st.data(),
    mix=MIXES,
    y=SIGNALS,
    outages=OUTAGES,
    requeue=st.booleans(),
    keep=st.booleans(),
    ties=st.sampled_from(["instant", "event"]),
    tick_s=st.sampled_from([1.0, 2.5]),
    kill=st.booleans(),
    bid=st.sampled_from([Bid(700.0, 300.0), Bid(1200.0, 500.0), None]),
    cost_s=st.sampled_from([0.0, 1.5]),
    limited=st.booleans(),
)
def test_every_run_that_follows_a_target_is_sound(
    select: str,
    cap: str,
    data: st.DataObject,
    mix: list[tuple[int, str]],
    y: list[float],
    outages: list[Any],
    requeue: bool,
    keep: bool,
    ties: str,
    tick_s: float,
    kill: bool,
    bid: Bid | None,
    cost_s: float,
    limited: bool,
) -> None:
    """Energy is conserved, no node is held twice, no job is lost, no start exceeds the limit, after every single
    instant too.
    """
    lost = tuple(Outage(float(t), float(t + d), first, count, drain) for t, d, first, count, drain in outages)
    limit = [(0.0, 1900.0), (20.0, 1400.0), (60.0, 2500.0)] if limited else []
    how = options(
        KINDS,
        signal(*y, step_s=3.0),
        (0.0, bid),
        EVER_AFTER,
        requeue=requeue,
        keep_progress=keep,
        ties=ties,
        tick_s=tick_s,
        kill=kill,
        stop_cost_s=cost_s,
        limit_w=limit,
    )
    jobs = jobs_from(mix, request_s=[15.0 + 10.0 * (i % 3) for i in range(len(mix))])
    sim = simulation(jobs, machine(7, outages=lost), how, select, data.draw(choices(select)), cap)
    for s, _ in instants(sim):
        check_structure(s)
    sim.explain(codes.DONE if sim.state.n_ended[0] == len(jobs) else codes.STUCK)
    result = sim.result()
    assert_sound(result, limit)
    assert result.state.paused[0] == 0


# ------------------------------------------------------------------ what is refused


def refused(how: Options, select: str = "gps", cluster: Cluster | None = None, rows: Any = ((0.0, "small"),)) -> str:
    """Return the line with which a run is refused."""
    with pytest.raises(InputError) as problem:
        follow(table_of(KINDS, *rows), cluster or machine(), how, select)
    line = str(problem.value)
    assert "\n" not in line
    return line


GOOD = options(KINDS, signal(0.0), (0.0, BID))


@pytest.mark.parametrize(
    ("how", "line"),
    [
        (
            replace(GOOD, kinds=(replace(SMALL, name="smal"), WIDE)),
            "kind 'small' of the jobs is not declared; did you mean 'smal'?",
        ),
        (replace(GOOD, kinds=(*KINDS, SMALL)), "kind 'small' is declared twice"),
        (replace(GOOD, signal=None), "select policy 'gps' follows a power target: give a regulation signal and a bid"),
        (replace(GOOD, bids=()), "select policy 'gps' follows a power target: give a regulation signal and a bid"),
        (replace(GOOD, kinds=()), "select policy 'gps' treats jobs by their kinds: declare them"),
        (replace(GOOD, tick_s=np.inf), "select policy 'gps' acts once a control period: give one (1 s is usual)"),
        (replace(GOOD, bids=((9.0, BID),)), "the bid begins at 9 s, the signal has values from 0 s to 4 s"),
    ],
)
def test_what_is_missing_or_doubled_is_said_in_a_line(how: Options, line: str) -> None:
    """Unknown and doubled kinds, a missing signal, bid, period or declaration, a bid outside its signal: one clear line
    each.
    """
    assert refused(how) == line


def test_a_bid_needs_a_signal_whatever_the_policies() -> None:
    """A bid without a signal is refused also where no policy would look at it."""
    with pytest.raises(InputError, match=r"^a bid needs a regulation signal to follow$"):
        follow(table_of(KINDS, (0.0, "small")), machine(), replace(GOOD, signal=None), "easy", cap="none")


def test_a_job_without_a_kind_is_named() -> None:
    """Where kinds are declared every job has one."""
    jobs = table_of(KINDS, (0.0, "small"), (1.0, "small")).with_columns(kind=[0, -1], job_id=[7, 9])
    with pytest.raises(InputError, match=r"^job 9 has no kind; declared are small, wide, firm, filler$"):
        follow(jobs, machine(), GOOD)


@pytest.mark.parametrize("select", SELECTS)
def test_nodes_that_differ_are_refused(select: str) -> None:
    """Policies that count nodes want them all of one class."""
    two = Cluster((NodeClass("a", 4, 100.0, 300.0), NodeClass("b", 4, 90.0, 310.0)))
    line = f"select policy '{select}' takes all nodes for equal: give a cluster of one node class"
    assert refused(GOOD, select, two) == line


# ------------------------------------------------------------------ what is written down


def test_the_journal_tells_targets_bids_and_energy_by_kind(tmp_path: Any) -> None:
    """Targets, bids and stops are in the journal, and the energy of standby jobs can be told from the others' by
    kind.
    """
    from wattline.journal.journal import open_journal, write_journal
    from wattline.wiring.manifest import manifest
    from wattline.wiring.tables import frames

    jobs = table_of(KINDS, (0.0, "wide"), (0.0, "filler"), (0.0, "small"), (40.0, "small"))
    how = options(KINDS, signal(0.0, -1.0, 1.0, step_s=10.0), (2.0, BID), (100.0, None))
    result = follow(jobs, machine(), how, params={"preempt": 1.0})
    write_journal(tmp_path / "run", frames(result), manifest(result, name="x", source="y"))
    journal = open_journal(tmp_path / "run")
    by_kind = dict(journal.read("jobs", "kind", "energy_j").group_by("kind").sum().iter_rows())
    assert by_kind["filler"] == result.state.energy_j[1] > 0.0
    assert sum(by_kind.values()) == pytest.approx(result.state.node_j[0, 0], rel=1e-12)
    seen = journal.read("timeline", "time_s", "target_w").rows()
    assert dict(seen)[10.0] == 900.0
    assert dict(seen)[0.0] is None
    assert journal.read("events").filter(journal.read("events")["event"] == "bid")["time_s"].to_list()[0] == 2.0
