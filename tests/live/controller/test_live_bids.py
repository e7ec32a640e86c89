"""Bids that a policy makes on a real machine: asked when a period begins, told what was measured, kept and replayed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wattline as wl
from engine.regulated import machine
from engine.worlds import cluster, policies
from live.controller.emulated import EPOCH_S, World
from live.controller.test_controller import SMALL, WIDE
from policies.test_day_budget import GIVEN, HOUR_S, HOURS, KINDS, twin
from wattline.control.facts import PERIODS, SIGNAL, TIME
from wattline.live.controller.journal.folder import Keeping, LiveJournal
from wattline.live.controller.journal.replay import replay
from wattline.live.controller.ledger import Ledger
from wattline.model.jobs import JobTable
from wattline.model.regulation import Bidding, Signal
from wattline.wiring.bound import Bound
from wattline.wiring.options import Options

STEP_S = 2.0
ROOM = Signal(0.0, STEP_S, np.zeros(4 * round(HOUR_S / STEP_S)))


def bound(given: Mapping[str, float], **bidding: float) -> Bound:
    """Return the state of a machine without jobs whose bids follow a day's budget."""
    nobody = JobTable.build(submit_s=np.zeros(0), work_s=np.zeros(0), nodes=np.zeros(0, dtype=np.int64))
    when = Bidding(**{"first_s": 0.0, "every_s": HOUR_S, **bidding})
    how = Options(kinds=KINDS, spare_rows=8, start_s=0.0, outside=True, signal=ROOM, bidding=when, tick_s=1.0)
    chosen = policies({"bid": dict(given)}, select="slackline", cap="match-target", bid="day-budget")
    return Bound(nobody, machine(), chosen, how)


def hours(seed: int, stuck: Sequence[int]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return random signals and seconds beyond the margin, a row an hour; the signal stands still in some hours."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(-1, 1, (HOURS, round(HOUR_S / STEP_S)))
    for hour in stuck:
        y[hour, 5:25] = 0.5
    beyond = STEP_S * (rng.random(y.shape) < rng.uniform(0, 0.5, (HOURS, 1)))
    return y, beyond


@pytest.mark.parametrize("lead_s", [0.0, 20.0, 60.0])
@pytest.mark.parametrize(("seed", "stuck"), [(1, ()), (2, (1, 2, 8)), (3, (0, 6))])
def test_every_bid_is_that_of_the_twin(seed: int, stuck: tuple[int, ...], lead_s: float) -> None:
    """The policy sees the signal and the measured seconds of every hour once, however long the run is: R is that of the
    documented rule, as in the simulator.
    """
    given = GIVEN | {"stale": 30.0}
    y, beyond = hours(seed, stuck)
    exceed_s = dict(enumerate(np.concatenate([[0.0], np.cumsum(beyond)]).tolist()))
    found = []
    with bound(given, lead_s=lead_s) as made:
        ledger = Ledger(made)
        for k, value in enumerate(y.flat):
            now_s = k * STEP_S
            ledger.tell(TIME, now_s)
            ledger.tell(SIGNAL, value, exceed_s[k] - exceed_s[max(0, k - 1)])
            bid = ledger.bid()
            assert (bid is not None) == (now_s % HOUR_S in (0.0, HOUR_S - lead_s))
            if now_s % HOUR_S == 0.0:
                assert made.state.mean_w[0] == 1400.0
                found.append(float(made.state.reserve_w[0]))
    known_s = {k * STEP_S: so_far_s for k, so_far_s in exceed_s.items()}
    wanted = twin(known_s, Signal(0.0, STEP_S, y.ravel()), given, HOUR_S, lead_s, HOURS)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert len(set(np.round(found, 3))) > 4


def test_periods_are_counted_from_midnight_and_those_that_were_slept_through_are_asked_for() -> None:
    """A run that begins in the middle of a day has its first bid at once, with what is left of that day; after a time
    in which nobody turned, the bid of the present period holds.
    """
    with bound(GIVEN | {"day": 0.1}) as made:  # a day of six periods
        ledger = Ledger(made)
        ledger.tell(TIME, 0.0)
        ledger.tell(PERIODS, -2.5 * HOUR_S)
        assert ledger.bid() is not None
        s = ledger.state
        assert (s.bidding_k[0], s.bidding_s[0]) == (3, 0.5 * HOUR_S)
        assert s.reserve_w[0] == 300.0  # the hours before do not count
        ledger.tell(TIME, 4.2 * HOUR_S)
        assert ledger.bid() is not None
        assert (s.bidding_k[0], s.bidding_s[0]) == (7, 4.5 * HOUR_S)
        assert ledger.bid() is None


def test_a_bid_that_is_made_ahead_holds_when_its_period_begins() -> None:
    """With a lead the bid in force stays until then."""
    with bound(GIVEN, lead_s=20.0) as made:
        ledger = Ledger(made)
        ledger.tell(TIME, 0.0)
        ledger.bid()
        ledger.tell(TIME, 30.0)
        ledger.tell(SIGNAL, 0.1, 25.0)
        ledger.flush()
        ledger.tell(TIME, HOUR_S - 20.0)
        made_then = ledger.bid()
        assert made_then is not None
        assert made_then[1] == 300.0 != made_then[3]
        ledger.tell(TIME, HOUR_S)
        holds = ledger.bid()
        assert holds is not None
        assert holds[:2] == made_then[2:4]


def build(start: Mapping[str, Any]) -> Bound:
    """Make the state again."""
    return bound(start["given"])


def test_bids_are_in_the_log_and_come_out_the_same_when_it_is_replayed(tmp_path: Path) -> None:
    """A run that is cut off goes on with the bid and the budget that it had; another policy's bids are found out."""
    start = {"name": "world", "site": "# a site", "seed": 0, "given": GIVEN}
    y, beyond = hours(5, ())
    keeping = Keeping(checkpoint_s=90.0, seal_s=1e6)

    def go(journal: LiveJournal, first: int, last: int) -> None:
        for i in range(first, last):
            journal.ledger.tell(TIME, i * STEP_S)
            journal.ledger.tell(SIGNAL, y.flat[i], beyond.flat[i])
            journal.ledger.bid()
            journal.ledger.control()
            journal.tick()

    journal = LiveJournal(tmp_path, start, build, keeping=keeping)
    go(journal, 0, 130)
    assert journal.log.flush()
    journal.checkpoints.close()
    reserve_w = float(journal.ledger.state.reserve_w[0])
    again = LiveJournal(tmp_path, start, build, keeping=keeping)
    assert again.recovered is not None
    assert float(again.ledger.state.reserve_w[0]) == reserve_w != 300.0
    go(again, 130, 250)
    again.close()
    found = replay(tmp_path, build)
    assert (found.difference, found.bids, found.ended) == ("", 9, True)
    other = replay(tmp_path, lambda said: bound({**said["given"], "growth": 2.0}))
    assert "a bid came out as" in other.difference


def test_a_controller_asks_its_policy_and_follows_the_new_bid() -> None:
    """Each period has a bid of its own, made of what was measured in those before; power follows it."""
    rng = np.random.default_rng(5)
    values = np.clip(np.cumsum(rng.normal(0, 0.3, 400)), -1, 1)
    given = {"mean_w": 3000.0, "reserve_w": 700.0, "aim": 0.4, "growth": 1.5, "day": 0.1}
    world = World(
        cluster(16, min_cap_w=150.0),
        policies({"bid": given}, select="slackline", cap="match-target", bid="day-budget"),
        options=Options(signal=ROOM, bidding=Bidding(0.0, HOUR_S)),
        kinds=(SMALL, WIDE),
        signal=tuple(values.tolist()),
        late_s=0.4,
    )
    said: list[str] = []
    world.controller.on_say = said.append
    for i in range(60):
        world.submit(f"{i:03d}", 1, 40.0, 5.0 * i, kind="small")
    reserves = []
    for _ in range(5):
        world.run(HOUR_S)
        bid = world.controller.bid_at(world.hand.clock.now_s())
        assert bid is not None
        assert bid.mean_w == 3000.0
        reserves.append(bid.reserve_w)
        assert world.controller.ledger.state.reserve_w[0] == bid.reserve_w
    assert len(set(reserves)) > 2
    assert sum(line.startswith("the bid of the next period is made") for line in said) == 5
    s = world.controller.ledger.state
    errors = [abs(w - target) for t, w, target in world.samples if t - EPOCH_S < HOUR_S and math.isfinite(target)]
    assert errors
    assert 0.0 < s.exceed_s[0] < 5 * HOUR_S


@pytest.mark.parametrize("compiled", [False, True])
def test_a_bid_policy_that_fails_costs_its_period_alone(compiled: bool) -> None:
    """The controller says so and drives on without a bid; the next period has one again."""

    @wl.policy("bid", compiled=compiled)
    def sometimes(s: Any, hour: int, param: Any, memory: Any) -> int:
        if hour % 2 == 1:
            raise ValueError("no price today")
        s.want_mean_w[0], s.want_reserve_w[0] = 3000.0, 500.0
        return 1

    world = World(
        cluster(16, min_cap_w=150.0),
        replace(policies(select="slackline", cap="match-target"), bid=sometimes),
        options=Options(signal=ROOM, bidding=Bidding(0.0, HOUR_S)),
        kinds=(SMALL, WIDE),
        signal=tuple(np.linspace(-1, 1, 400).tolist()),
    )
    said: list[str] = []
    world.controller.on_say = said.append
    for i in range(60):
        world.submit(f"{i:03d}", 1, 40.0, 5.0 * i, kind="small")
    found = []
    for _ in range(4):
        world.run(HOUR_S)
        found.append(world.controller.bid_at(world.hand.clock.now_s()))
    assert [bid is None for bid in found] == [False, True, False, True]
    told = [line for line in said if line.startswith("the bid policy failed")]
    assert len(told) == 2
    assert all("'sometimes'" in line and "no price today" in line for line in told)
    assert world.controller.ledger.state.n_ended[0] > 0
