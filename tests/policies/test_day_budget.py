"""A day's budget: the reserve of every hour against a twin in plain Python, missing signal, leads and later days."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def twin(exceed_s: Sequence[float], missing: Sequence[int], given: dict[str, float]) -> list[float]:
    """Return the reserves of all hours, from the seconds beyond the margin in each: what the documentation says."""
    p = {"largest_w": math.inf, "begins": 0.0, **given}
    a_day = round(p["day"] * 3600 / HOUR_S)
    begins = round(p["begins"] * 3600 / HOUR_S)
    found = []
    for hour in range(len(exceed_s) + 1):
        day, place = divmod(hour - begins, a_day)
        today = [k for k in range(max(0, begins + day * a_day), hour) if k not in missing]
        lost = place - len(today)
        budget_s = p["aim"] * (a_day - lost) * HOUR_S - sum(exceed_s[k] for k in today)
        rate = max(0.0, min(p["most"] * p["aim"], budget_s / ((a_day - place) * HOUR_S)))
        part = max(p["least"], 1.0 + (rate / p["aim"] - 1.0) / p["growth"])
        found.append(min(p["reserve_w"] * part, p["largest_w"]))
    return found


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
    ],
)
def test_every_hour_is_that_of_the_twin(seed: int, more: dict[str, float], stuck: tuple[int, ...]) -> None:
    """R = what is left of the day's budget, evenly over its hours, by a line; missing hours do not count."""
    given = GIVEN | {"stale": 30.0} | more
    run = world(noisy(seed, stuck), given, seed)
    seen = [0.0]
    for hour in range(1, HOURS):
        run.run_until(hour * HOUR_S - 1e-6)
        seen.append(float(run.state.exceed_s[0]))
    run.run_until(HOURS * HOUR_S)
    missing = stuck if given["stale"] > 0 else ()
    wanted = twin(np.diff(seen).tolist(), missing, given)
    time_s, mean_w, reserve_w = run.simulation.bids()
    rows = np.searchsorted(time_s, HOUR_S * np.arange(HOURS), side="right") - 1
    np.testing.assert_array_equal(mean_w[rows], 1400.0)
    np.testing.assert_allclose(reserve_w[rows], wanted, rtol=1e-6)
    assert len(set(np.round(reserve_w[rows], 3))) > (1 if seed == 6 else 4)


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
