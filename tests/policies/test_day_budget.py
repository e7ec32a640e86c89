"""A day's budget: the reserve of every hour against a twin in plain Python, missing signal, leads and later days."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from engine.regulated import FIRM, SMALL, WIDE, machine, options, signal, table_of
from engine.worlds import policies
from wattline.control.catalog import find
from wattline.errors import PolicyError
from wattline.model.jobs import JobTable
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.sim.ensemble import World

KINDS = (SMALL, WIDE, FIRM)
HOUR_S, HOURS = 60.0, 12
"""The hour of these worlds is a minute: a day of six of them has a tenth of an hour."""

GIVEN = {"mean_w": 1400.0, "reserve_w": 300.0, "aim": 0.2, "growth": 1.2, "least": 0.3, "most": 1.5, "day": 0.1}


def jobs_of(seed: int) -> JobTable:
    """Return jobs that keep the machine busy for two days."""
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0, HOURS * HOUR_S, 160))
    names = random.choice([kind.name for kind in KINDS], times.size)
    return table_of(KINDS, *[(float(t), str(name)) for t, name in zip(times, names, strict=True)])


def noisy(seed: int, stuck: Sequence[int] = ()) -> Signal:
    """Return a signal of steps of two seconds that stands still in the middle of some hours."""
    values = np.random.default_rng(seed).uniform(-1, 1, 30 * (HOURS + 2))
    for hour in stuck:
        values[30 * hour + 5 : 30 * hour + 25] = 0.5
    return signal(*values, step_s=2.0)


def world(y: Signal, given: dict[str, float], seed: int = 1, **bidding: float) -> World:
    """Return a world whose bids follow a day's budget from its first hour on."""
    when = Bidding(**{"first_s": 0.0, "every_s": HOUR_S, **bidding})
    how = options(KINDS, y, (0.0, Bid(1400.0, 300.0)), start_s=0.0, bidding=when)
    chosen = policies({"bid": given}, select="slackline", cap="match-target", bid="day-budget")
    return World(jobs_of(seed), machine(), chosen, how)


def is_missing(y: Signal, from_s: float, until_s: float, stale_s: float) -> bool:
    """Tell whether the values that end within a time hold one within ±1 for longer than they may."""
    values = [v for k, v in enumerate(y.values, 1) if from_s + 1e-6 < k * y.step_s < until_s + 1e-6]
    alike = [len(list(same)) for value, same in itertools.groupby(values) if abs(value) < 1]
    return stale_s > 0 and max(alike, default=0) * y.step_s > stale_s and max(alike, default=0) > 1


def twin(
    exceed_s: Mapping[float, float], y: Signal, given: Mapping[str, float], every_s: float, lead_s: float, hours: int
) -> list[float]:
    """Return the reserves of all periods, from the seconds beyond the margin until their begins and until their bids
    are made: what the documentation says.
    """
    p = {"largest_w": math.inf, "begins": 0.0, "stale": 60.0, **given}

    def day_of(k: int) -> int:
        return math.floor((k * every_s - p["begins"] * 3600) / (p["day"] * 3600) + 1e-9)

    found: list[float] = []
    rate = 0.0
    for hour in range(hours):
        asked_s = max(0.0, hour * every_s - lead_s)
        today = [k for k in range(-1000, hour + 1000) if day_of(k) == day_of(hour)]
        used_s, counted = 0.0, len(today)
        for k in (k for k in today if k < hour):
            begin_s, end_s = k * every_s, min(asked_s, (k + 1) * every_s)
            if k < 0 or is_missing(y, begin_s, end_s, p["stale"]):
                counted -= 1
            else:
                used_s += exceed_s[end_s] - exceed_s[begin_s] + rate * ((k + 1) * every_s - end_s)
        left_s = sum(k >= hour for k in today) * every_s
        rate = max(0.0, min(p["most"] * p["aim"], (p["aim"] * counted * every_s - used_s) / left_s))
        part = max(p["least"], 1.0 + (rate / p["aim"] - 1.0) / p["growth"])
        found.append(min(p["reserve_w"] * part, p["largest_w"]))
    return found


@pytest.mark.parametrize("lead_s", [0.0, 8.0, 20.0, 45.0, 60.0])
@pytest.mark.parametrize(
    ("seed", "more", "stuck"),
    [
        (1, {}, ()),
        (2, {"most": 1.0, "growth": 2.5}, ()),
        (3, {"begins": 2 / 60}, ()),
        (4, {"stale": 30.0}, (1, 2, 8)),
        (5, {"stale": 0.0}, (1, 2, 8)),
        (6, {"largest_w": 290.0, "least": 0.8}, ()),
        (7, {"aim": 0.6}, (0, 6)),
        (8, {"day": 0.06, "begins": 0.013}, (3,)),
        (9, {"day": 0.01}, ()),
        (10, {"begins": 0.15}, ()),
    ],
)
def test_every_hour_is_that_of_the_twin(
    seed: int, more: dict[str, float], stuck: tuple[int, ...], lead_s: float
) -> None:
    """R = what is left of the day's budget, evenly over its hours, by a line; missing hours do not count.

    What happens between the making of a bid and its begin counts for the day in which it happens, also where that day
    ends then. Days that no whole number of hours makes have the hours that begin in them.
    """
    given = GIVEN | {"stale": 30.0} | more
    y = noisy(seed, stuck)
    run = world(y, given, seed, lead_s=lead_s)
    exceed_s = {0.0: 0.0}
    for at_s in sorted({max(0.0, HOUR_S * k - ahead_s) for k in range(HOURS + 1) for ahead_s in (0.0, lead_s)} - {0.0}):
        run.run_until(at_s - 1e-6)
        exceed_s[at_s] = float(run.state.exceed_s[0])
    run.run_until(HOURS * HOUR_S)
    wanted = twin(exceed_s, y, given, HOUR_S, lead_s, HOURS)
    time_s, mean_w, reserve_w = run.simulation.bids()
    rows = np.searchsorted(time_s, HOUR_S * np.arange(HOURS), side="right") - 1
    np.testing.assert_array_equal(mean_w[rows], 1400.0)
    np.testing.assert_allclose(reserve_w[rows], wanted, rtol=1e-6)
    assert len(set(np.round(reserve_w[rows], 3))) > {6: 1, 9: 0}.get(seed, 4)


def test_an_expensive_hour_is_made_up_for() -> None:
    """After an hour beyond its share the reserve falls; after a calm one it rises, up to what most allows."""
    restless, calm = (
        world(signal(*values, step_s=2.0), GIVEN | {"aim": 0.4})
        for values in (np.tile([-1.0, 1.0], 15 * (HOURS + 1)), np.zeros(30 * (HOURS + 1)) + 1e-3 * np.arange(30 * 13))
    )
    found = []
    for run in (restless, calm):
        run.run_until(2 * HOUR_S + 1.0)
        found.append((run.state.exceed_s[0] / 120.0, run.state.reserve_w[0]))
    (often, less_w), (seldom, more_w) = found
    assert often > 0.4 > seldom
    assert less_w < 300.0 < more_w <= 300.0 * (1 + 0.5 / 1.2) + 1e-9


def test_a_lead_counts_what_is_expected_until_the_bid_holds() -> None:
    """A bid made ahead of its hour sees the hours before, and the expected rate for the rest of the present one."""
    run = world(noisy(3), GIVEN, lead_s=20.0)
    run.run_until(HOUR_S - 20.0 - 1e-6)
    before_s = float(run.state.exceed_s[0])
    run.run_until(HOUR_S)
    time_s, _, reserve_w = run.simulation.bids()
    used_s = before_s + 0.2 * 20.0
    rate = max(0.0, min(0.3, (0.2 * 360.0 - used_s) / 300.0))
    assert time_s[-1] == HOUR_S
    assert reserve_w[-1] == pytest.approx(300.0 * max(0.3, 1 + (rate / 0.2 - 1) / 1.2), rel=1e-6)


def test_the_future_has_no_say() -> None:
    """Another signal and other jobs after a bidding time change no bid made until then."""
    first, second = noisy(1), noisy(2)
    cut = 5 * 30
    other = signal(*first.values[:cut], *second.values[cut:], step_s=2.0)
    made: list[Any] = []
    for y in (first, other):
        run = world(y, GIVEN)
        run.run_until(HOURS * HOUR_S)
        time_s, _, reserve_w = run.simulation.bids()
        made.append((reserve_w[time_s <= 5 * HOUR_S], reserve_w[time_s > 5 * HOUR_S]))
    np.testing.assert_array_equal(made[0][0], made[1][0])
    assert not np.array_equal(made[0][1], made[1][1])


def test_its_bid_must_be_given() -> None:
    """Without mean power and reserve the policy says what it needs, and who finds it."""
    with pytest.raises(PolicyError, match=r"needs parameter 'mean_w'.*wattline bid --write"):
        find("bid", "day-budget").values({})
