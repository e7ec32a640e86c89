"""A bid that changes exactly at the hour holds from that hour on, whoever changes it; tracking as it is measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.regulated import FIRM, SMALL, WIDE, machine, options, signal, table_of
from engine.worlds import policies
from wattline.errors import InputError
from wattline.market.tracking import MARGIN, tracking
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.sim.ensemble import World
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options

KINDS = (SMALL, WIDE, FIRM)
HOUR_S = 60.0
"""The hour of these worlds, in which jobs take half a minute."""

FIRST, SECOND, OTHER = Bid(1300.0, 100.0), Bid(1500.0, 200.0), Bid(1700.0, 300.0)


def jobs_of(seed: int, count: int = 60) -> JobTable:
    """Return jobs that arrive over three hours."""
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0, 3 * HOUR_S, count))
    names = random.choice([kind.name for kind in KINDS], count)
    return table_of(KINDS, *[(float(t), str(name)) for t, name in zip(times, names, strict=True)])


def noisy(seed: int, step_s: float = 4.0) -> Signal:
    """Return a signal that moves all the time."""
    return signal(*np.random.default_rng(seed).uniform(-1, 1, 200), step_s=step_s)


def world(*bids: tuple[float, Bid | None], step_s: float = 4.0, **more: object) -> World:
    """Return a world with bids."""
    how = options(KINDS, noisy(1, step_s), *bids, start_s=0.0, **more)
    return World(jobs_of(1), machine(), policies(select="slackline", cap="match-target"), how)


def in_force(run: World | Simulation) -> list[tuple[float, float, float]]:
    """Return the bids that held for some time: from when, mean power, reserve."""
    steps = list(zip(*(run.simulation if isinstance(run, World) else run).bids(), strict=True))
    return [row for i, row in enumerate(steps) if i + 1 == len(steps) or steps[i + 1][0] > row[0]]


@pytest.mark.parametrize("early_s", [0.0, 1.0])
@pytest.mark.parametrize("step_s", [4.0, 7.0], ids=["signal steps at the hour", "signal steps beside it"])
def test_a_table_changed_at_the_hour_is_followed(early_s: float, step_s: float) -> None:
    """A run driven to the hour, whose bid of that hour is then changed, follows the changed bid from the hour on."""
    planned, changed = (world((0.0, FIRST), (HOUR_S, bid), step_s=step_s) for bid in (OTHER, SECOND))
    planned.run_until(3 * HOUR_S)
    changed.run_until(HOUR_S - early_s)
    changed.state.bid_mean_w[1], changed.state.bid_reserve_w[1] = OTHER.mean_w, OTHER.reserve_w
    changed.run_until(3 * HOUR_S)
    assert in_force(changed) == in_force(planned) == [(0.0, 1300.0, 100.0), (HOUR_S, 1700.0, 300.0)]
    after = changed.timeline()[changed.timeline()[:, codes.TL_TIME] >= HOUR_S]
    assert after[0, codes.TL_TIME] == HOUR_S
    np.testing.assert_array_equal(
        after[:, codes.TL_TARGET], OTHER.target_w(noisy(1, step_s).at(after[:, codes.TL_TIME]))
    )


def test_a_bid_changed_within_its_hour_holds_at_once() -> None:
    """A bid of the table that is already in force is replaced when the run goes on; one not touched is left alone."""
    run = world((0.0, FIRST), (HOUR_S, SECOND))
    run.run_until(30.0)
    run.state.bid_mean_w[0] = 1400.0
    run.run_until(45.0)
    run.run_until(2 * HOUR_S)
    assert in_force(run) == [(0.0, 1300.0, 100.0), (30.0, 1400.0, 100.0), (HOUR_S, 1500.0, 200.0)]
    run.start_over()
    run.run_until(2 * HOUR_S)
    assert in_force(run) == [(0.0, 1300.0, 100.0), (HOUR_S, 1500.0, 200.0)]


@pytest.mark.parametrize("when_s", [0.0, HOUR_S, HOUR_S + 1.3])
def test_a_pushed_bid_holds_from_now_on(when_s: float) -> None:
    """A bid that is pushed into a run has its target at once; what was planned still comes."""
    run = world((0.0, FIRST), (2 * HOUR_S, SECOND))
    run.run_until(when_s)
    run.push_bid(OTHER)
    s = run.state
    y = s.signal[int(when_s // 4.0)]
    assert (s.mean_w[0], s.reserve_w[0], s.target_w[0]) == (1700.0, 300.0, 1700.0 + 300.0 * y)
    row = run.timeline()[-1]
    assert (row[codes.TL_TIME], row[codes.TL_TARGET]) == (when_s, 1700.0 + 300.0 * y)
    run.run_until(3 * HOUR_S)
    assert in_force(run)[-2:] == [(when_s, 1700.0, 300.0), (2 * HOUR_S, 1500.0, 200.0)]
    run.push_bid(None)
    assert np.isnan(s.target_w[0])
    deaf = World(jobs_of(1), machine(), policies(), Options(kinds=KINDS, start_s=0.0))
    with pytest.raises(InputError, match="needs a regulation signal"):
        deaf.push_bid(OTHER)


@pytest.mark.parametrize("cuts", [(), (HOUR_S,), (HOUR_S, 2 * HOUR_S), (HOUR_S - 1.0, 2 * HOUR_S)])
@pytest.mark.parametrize("lead_s", [0.0, 10.0])
def test_bids_of_a_policy_hold_from_the_hour_on_however_the_run_is_cut(cuts: Sequence[float], lead_s: float) -> None:
    """A run that is stopped exactly at a bidding time and carried on makes the bids of one that is not."""

    def made(*stops: float) -> World:
        how = options(
            KINDS, noisy(2), (0.0, FIRST), start_s=0.0, bidding=Bidding(HOUR_S, HOUR_S, lead_s, until_s=3 * HOUR_S)
        )
        run = World(jobs_of(2), machine(), policies(select="slackline", cap="match-target", bid="adaptive"), how)
        for stop_s in (*stops, 3.5 * HOUR_S):
            run.run_until(stop_s)
        return run

    whole, cut = made(), made(*cuts)
    assert [row[0] for row in in_force(whole)] == [0.0, HOUR_S, 2 * HOUR_S, 3 * HOUR_S]
    np.testing.assert_array_equal(in_force(cut), in_force(whole))


@pytest.mark.parametrize("seed", range(6))
def test_measured_tracking_is_that_of_the_books(seed: int) -> None:
    """Seconds with a reserve, and those with too large an error, are what the timeline says when held against the
    target.
    """
    random = np.random.default_rng(seed)
    y = noisy(seed, float(random.choice([2.0, 3.7])))
    steps: list[tuple[float, Bid | None]] = [
        (
            float(t),
            None if random.random() < 0.2 else Bid(random.uniform(1000, 1900), random.choice([0.0, 150.0, 400.0])),
        )
        for t in np.cumsum(random.uniform(10, 60, 5))
    ]
    how = options(KINDS, y, *steps, start_s=0.0)
    run = World(jobs_of(seed), machine(), policies(select=["slackline", "gps"][seed % 2], cap="match-target"), how)
    run.run_until(3 * HOUR_S)
    rows, s = run.timeline(), run.state
    offered_s = exceed_s = 0.0
    ends = [min(t, 3 * HOUR_S) for t in [*(t for t, _ in steps[1:]), 3 * HOUR_S]]
    for (begin_s, bid), end_s in zip(steps, ends, strict=True):
        if bid is not None and bid.reserve_w > 0 and begin_s < end_s:
            found = tracking(rows[:, codes.TL_TIME], rows[:, codes.TL_POWER], y, bid, begin_s, end_s)
            offered_s += found.span_s
            exceed_s += found.exceed_share * found.span_s
    assert s.offered_s[0] == pytest.approx(offered_s, abs=1e-6)
    assert s.exceed_s[0] == pytest.approx(exceed_s, abs=1e-6)
    assert 0 < exceed_s < offered_s
    assert MARGIN == 0.3
