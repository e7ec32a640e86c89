"""The rule of the contest: at which reserves two bids break their worst promises equally often."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from wattline.bidding.hours.outcome import Hour, Outcome
from wattline.bidding.hours.rates import Rate
from wattline.bidding.hours.trial import trial_hour
from wattline.model.regulation import Bid
from wattline.systems.aqa.study import setting_of
from wattline.systems.contest.equal import LEAST, MOST, NEAR, STEP, Equal, Side, Worst, alike, equal_reserves, worst
from wattline.systems.followers import SLACKLINE

Load = Callable[[float], float]


def twin(first: Side, second: Side) -> tuple[float, float]:
    """The rule in plain words: list what the scans look at, and pick."""
    a, b = first.load(first.reserve_w), second.load(second.reserve_w)
    if abs(a - b) <= NEAR:
        return first.reserve_w, second.reserve_w
    if b > a:
        return twin(second, first)[::-1]
    steps = [k for k in range(200) if STEP**k >= LEAST * (1 + 1e-12)]
    down = [(first.reserve_w * STEP**k, first.load(first.reserve_w * STEP**k)) for k in steps]
    low_enough = [watts for watts, load in down if load <= b + NEAR]
    if low_enough:
        return max(low_enough), second.reserve_w
    up = [second.reserve_w / STEP**k for k in range(200) if STEP**-k <= MOST]
    up = [watts for watts in up if watts < second.most_w]
    up += [second.most_w] if second.most_w <= MOST * second.reserve_w else []
    kept = second.reserve_w
    for watts in up:
        if second.load(watts) > a + NEAR:
            break
        kept = watts
    return first.reserve_w, kept


def wavy(rng: random.Random) -> Load:
    """A load that grows with the reserve, but neither steadily nor from 0 on."""
    floor, slope, wave, pitch = rng.uniform(0, 1.2), rng.uniform(0.1, 1.5), rng.uniform(0, 0.3), rng.uniform(200, 900)
    return lambda watts: floor + slope * watts / 3000.0 + wave * abs((watts / pitch) % 2.0 - 1.0)


def test_the_rule_is_its_plain_twin() -> None:
    """On loads that are not monotone the scans find what a list of everything they look at gives."""
    hows = set()
    for seed in range(400):
        rng = random.Random(seed)
        first, second = (Side(rng.uniform(800, 4000), rng.choice([4500.0, 1e9]), wavy(rng)) for _ in range(2))
        found = equal_reserves(first, second)
        assert (found.first_w, found.second_w) == pytest.approx(twin(first, second), rel=1e-9)
        hows.add(found.how)
    assert hows >= {"first tightened", "second tightened", "first loosened", "second loosened"}


def straight(watts: float) -> float:
    """A load that is 1 at 1 kW."""
    return watts / 1000.0


def late(watts: float) -> float:
    """A load that no reserve changes."""
    return 1.5 + 0.0 * watts


def test_the_looser_bid_gives_up_reserve() -> None:
    """The bid that breaks its worst promise more often gets less reserve, until it is as tight; the other stays."""
    assert equal_reserves(Side(1000.0, 9e9, straight), Side(1010.0, 9e9, straight)) == Equal(1000.0, 1010.0, "as found")
    found = equal_reserves(Side(2000.0, 9e9, straight), Side(1000.0, 9e9, straight))
    assert found.how == "first tightened"
    assert found.second_w == 1000.0
    assert STEP * 1020.0 < found.first_w <= 1020.0


def test_where_no_reserve_helps_the_other_bid_is_loosened() -> None:
    """A bid whose service is late at any reserve cannot be tightened: the other may then break as much, within its
    reach.
    """
    found = equal_reserves(Side(1000.0, 9e9, straight), Side(1000.0, 9e9, late))
    assert (found.how, found.second_w) == ("first loosened", 1000.0)
    assert STEP * 1520.0 < found.first_w <= 1520.0
    assert equal_reserves(Side(1000.0, 1200.0, straight), Side(1000.0, 9e9, late)).first_w == 1200.0


def test_the_worst_promise_is_the_one_nearest_to_its_limit_or_furthest_beyond() -> None:
    """Tracking and the service of every kind are compared by their rates over what is allowed."""
    setting = setting_of("W14", SLACKLINE)
    (hour,) = trial_hour(setting, 7).run(Bid(setting.idle_total_w + setting.load_w(), 2000.0))
    missed = 0 * hour.violations
    missed[1] = hour.jobs[1] // 2

    def outcome(one: Hour, share: float) -> Outcome:
        return Outcome(setting.kinds, [replace(one, tracking=replace(one.tracking, exceed_share=share))])

    assert worst(outcome(replace(hour, violations=missed), 0.2)).about == setting.kinds[1].name
    assert worst(outcome(replace(hour, violations=missed), 0.9)) == Worst(
        "tracking", Rate(0.9, 0.0, 1.0, 1, 0.0, 1.0, 1), 0.1
    )
    assert worst(outcome(replace(hour, violations=0 * missed), 0.07)).load == pytest.approx(0.7)


def test_rates_are_alike_if_each_lies_within_the_interval_of_the_other() -> None:
    """The hours that were simulated set the tolerance."""
    wide, narrow = Worst("a", Rate(0.10, 0.05, 0.15, 9), 0.1), Worst("b", Rate(0.06, 0.055, 0.07, 9), 0.05)
    assert not alike(wide, narrow)  # 1.0 times its limit is not within 1.1 … 1.4
    assert alike(wide, Worst("b", Rate(0.06, 0.04, 0.07, 9), 0.05))
