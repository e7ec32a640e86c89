"""Bids that searches choose, and certificates of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from wattline.bidding.certificate import certify
from wattline.bidding.hours.rates import rate_of
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import Trial
from wattline.bidding.searches import search
from wattline.bidding.searches.aqa import CAUTIOUS, CURVE, FLOOR, POINT, aqa_bid, load_weights, start_bid
from wattline.bidding.searches.choice import PAPER, STRICT, Choice, largest_reserve_w
from wattline.bidding.searches.grid import KEEPING, LEAST, TRACKING, grid_bid, grid_points, heuristic_bid, picked
from wattline.bidding.searches.qosg import qosg_bid
from wattline.bidding.searches.search import is_safe, mean_power_w, search_bid
from wattline.errors import InputError
from wattline.systems.followers import AQA, ENERGYQARE, SLACKLINE, Follower
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, kinds_of


def setting(policy: Follower = SLACKLINE, workload: str = "W14", *, paper: bool = False) -> Setting:
    """Return a published workload on its cluster."""
    protocol = Protocol(paper=paper)
    return Setting.alike(
        kinds_of(workload), NODES, IDLE_W, HIGHEST_W, policy.select, params=policy.params, protocol=protocol
    )


def test_a_rate_is_pooled_and_its_interval_clustered() -> None:
    """Violations over jobs are pooled; hours that differ widen the interval, equal hours do not."""
    jobs = np.full(20, 50.0)
    even, uneven = (rate_of(late, jobs, hours=20) for late in (np.full(20, 5.0), np.repeat([10.0, 0.0], 10)))
    assert even.share == uneven.share == pytest.approx(0.1)
    assert even.high == pytest.approx(0.1)
    assert uneven.high > 0.14


def test_intervals_cover() -> None:
    """About 95 of 100 intervals hold the true rate, though jobs of one hour share their luck."""
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        luck = random.beta(2.0, 18.0, 60)
        found = rate_of(random.binomial(40, luck).astype(float), np.full(60, 40.0), hours=60)
        hits += found.low <= 0.1 <= found.high
    assert 0.91 < hits / 400 < 0.98


def test_no_event_is_no_proof() -> None:
    """Without a single violation the interval still ends above zero, at what so many hours leave open."""
    for jobs in (1.0, 30.0):
        assert rate_of(np.zeros(200), np.full(200, jobs), hours=200).high == pytest.approx(1 - 0.05 ** (1 / 200))
    assert rate_of(np.zeros(10), np.zeros(10), hours=0).count == 0


@pytest.fixture(scope="module")
def searched() -> dict[str, Choice]:
    """What a search chooses for W9, by reach, on hours 100 to 103, proved on hours 200 to 239."""
    made = setting(workload="W9")
    trial, proof = Trial(made, range(100, 104)), Trial(made, range(200, 240))
    return {mode: search_bid(made, mode=mode, rounds=1, trial=trial, proof=proof) for mode in (STRICT, PAPER)}


def test_search_keeps_every_promise_and_its_reach(searched: dict[str, Choice]) -> None:
    """The searched bid keeps all constraints on the hours that prove it, and strict reach stays above idle power."""
    made = setting(workload="W9")
    strict, paper = searched[STRICT], searched[PAPER]
    for choice in (strict, paper):
        assert choice.feasible
        assert is_safe(choice.outcome)
        assert choice.limits
    assert strict.bid.mean_w - strict.bid.reserve_w >= made.idle_total_w - 1e-6
    assert paper.bid.reserve_w > strict.bid.reserve_w
    assert paper.outcome.cost < strict.outcome.cost


def test_mean_powers_lie_between_capped_and_uncapped_load() -> None:
    """Place 0 is the power that the jobs need at their lowest caps, place 1 what they draw without caps."""
    made = setting(workload="W4")
    assert mean_power_w(made, 1.0) == pytest.approx(9056.25)
    assert mean_power_w(made, 0.0) == pytest.approx(7808.48, abs=0.01)


def test_aqa_keeps_its_best_iterate_and_valid_weights() -> None:
    """AQA's weights sum to 1 and respect the floor at every step; what it returns is the best it saw."""
    made = setting(AQA, paper=True)
    choice = aqa_bid(Trial(made, [1]), iterations=12)
    weights = np.array([step["weights"] for step in choice.history])
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert weights.min() >= FLOOR - 1e-12
    assert np.ptp(weights, axis=0).max() > 0.01
    feasible = [step["cost"] for step in choice.history if step["excess"] == 0.0]
    if feasible:
        assert choice.outcome.cost == min(feasible)
    else:
        assert choice.outcome.excess() == min(step["excess"] for step in choice.history)


@pytest.mark.parametrize("workload", ["W2", "W3", "W5", "W7", "W8", "W9", "W10", "W11", "W12"])
def test_aqas_mean_power_stays_at_the_load(workload: str) -> None:
    """On workloads with kinds of which few jobs end in an hour, AQA's mean power does not run away: no step goes above
    the power of the jobs uncapped by a tenth.
    """
    made = setting(AQA, workload, paper=True)
    choice = aqa_bid(Trial(made, [30_000]), iterations=60)
    assert max(step["mean_w"] for step in choice.history) < 1.1 * (made.idle_total_w + made.load_w())


def test_few_jobs_are_no_violation_unless_asked_for() -> None:
    """With at least one late job in (n + 1) the mean power climbs towards the machine's maximum; without, it does
    not, whether α is fitted to the curve or at the promise.
    """
    made = setting(AQA, "W3", paper=True)
    last_w = {
        fit: aqa_bid(Trial(made, [30_000]), iterations=60, fit=fit).history[-1]["mean_w"]
        for fit in (CAUTIOUS, POINT, CURVE)
    }
    assert last_w[CAUTIOUS] > 0.9 * made.max_total_w
    assert max(last_w[POINT], last_w[CURVE]) < 0.65 * made.max_total_w
    with pytest.raises(InputError, match="fit: unknown 'line'; choose one of curve, point, cautious"):
        aqa_bid(Trial(made, [30_000]), iterations=1, fit="line")


def test_aqa_ends_when_it_has_long_found_nothing_cheaper() -> None:
    """The search ends so many steps after the cheapest solution that meets all constraints, and not without one."""
    made = setting(AQA, "W5", paper=True)
    choice = aqa_bid(Trial(made, [30_000]), patience=5)
    costs = [step["cost"] if step["excess"] == 0.0 else np.inf for step in choice.history]
    assert len(costs) - 1 - int(np.argmin(costs)) == 5
    assert len(aqa_bid(Trial(made, [30_000]), iterations=9, patience=9).history) == 9


def test_the_curve_of_degradation_holds_the_share_at_the_promise() -> None:
    """The curve falls from half of the limit to one and a half, and at the limit it is the share of late jobs."""
    outcome = Trial(setting(AQA, "W4"), [1, 2]).run(start_bid(setting(AQA, "W4"), PAPER))
    curve = outcome.curve()
    assert curve.shape == (11, 8)
    assert np.all(np.diff(curve, axis=0) <= 0.0)
    assert np.any(curve[0] > curve[-1])
    np.testing.assert_allclose(curve[5], outcome.shares())


def test_aqa_starts_where_decided() -> None:
    """AQA starts at the mean power of the jobs uncapped, half the way to idle, with weights in proportion to load."""
    made = setting(AQA, "W4")
    bid = start_bid(made, PAPER)
    assert bid.mean_w == pytest.approx(9056.25)
    assert bid.reserve_w == pytest.approx(0.5 * (9056.25 - 6084.0))
    np.testing.assert_allclose(load_weights(made.kinds), 1 / 8)


def test_grid_takes_the_cheapest_feasible_point_or_the_least_violation() -> None:
    """EnergyQARE's grid prefers feasible points, and without any the least total violation."""
    trial = Trial(setting(ENERGYQARE, paper=True), [1])
    choice = grid_bid(trial, step=0.25)
    again = trial.run(choice.bid)
    assert choice.outcome.cost == again.cost
    assert choice.feasible == (again.excess() == 0.0)


def test_the_rules_of_a_grid_differ_as_the_texts_do() -> None:
    """One rule takes the cheapest point that meets tracking, one the least of late jobs and error whatever it costs,
    one the cheapest that keeps all; an unknown one is refused by name.
    """
    made = setting(ENERGYQARE, "W2", paper=True)
    points = grid_points(Trial(made, [30_000]))
    tracked = [p for p in points if p.outcome.exceed.share < 0.1]
    assert tracked
    assert picked(points, TRACKING).outcome.cost == min(p.outcome.cost for p in tracked)

    def weight(choice: Choice) -> float:
        late = max(share / kind.share for kind, share in zip(made.kinds, choice.outcome.shares(), strict=True))
        return float(late + choice.outcome.exceed.share / 0.1)

    assert weight(picked(points, LEAST)) == min(map(weight, points))
    kept = [p.outcome.cost for p in points if p.feasible]
    keeping = picked(points, KEEPING).outcome
    assert keeping.cost == min(kept) if kept else keeping.excess() == min(p.outcome.excess() for p in points)
    short = grid_points(Trial(setting(ENERGYQARE, "W4", paper=True), [30_000]), step=0.1)
    assert len({picked(short, rule).bid for rule in (TRACKING, LEAST)}) == 2
    with pytest.raises(InputError, match="rule: unknown 'dearest'; choose one of keeping, tracking, least"):
        picked(points, "dearest")


def test_a_wide_search_looks_beyond_the_load() -> None:
    """Where something was found between the ends of the range, a wide search looks at the ends and beyond too."""
    made = setting(workload="W9")
    trial = Trial(made, [100, 101])
    plain, wide = (search_bid(made, rounds=1, trial=trial, safe=False, wide=x) for x in (False, True))
    assert plain.feasible
    assert wide.runs > plain.runs
    assert wide.outcome.cost <= plain.outcome.cost


def test_qosg_bids_within_strict_reach() -> None:
    """QoSG keeps the whole target between idle and maximum, with weights that sum to 1, or says that there are none."""
    made = setting(AQA, "W2", paper=True)
    choice = qosg_bid(Trial(made, [1]), points=12)
    assert choice.bid.mean_w - choice.bid.reserve_w >= made.idle_total_w - 1e-6
    assert choice.bid.mean_w + choice.bid.reserve_w <= made.max_total_w + 1e-6
    assert choice.weights is not None
    assert choice.weights.sum() == pytest.approx(1.0)


def test_the_rule_of_thumb_and_the_reach() -> None:
    """The heuristic offers what lies between mean and idle power; strict reach never offers more."""
    made = setting(workload="W4")
    bid = heuristic_bid(made)
    assert bid.reserve_w == pytest.approx(bid.mean_w - made.idle_total_w)
    assert largest_reserve_w(made, 7000.0, STRICT) == pytest.approx(916.0)
    assert largest_reserve_w(made, 7000.0, PAPER) == made.max_total_w


def test_a_certificate_is_made_of_hours_the_search_has_not_seen(searched: dict[str, Choice]) -> None:
    """A certificate names every constraint with limit, rate and interval, and is repeatable."""
    made = setting(workload="W9")
    one, two = (certify(made, searched[PAPER], range(6)) for _ in range(2))
    told = one.to_json()
    assert json.dumps(told) == json.dumps(two.to_json())
    assert [p["about"] for p in told["promises"]][1:] == [kind.name for kind in made.kinds]
    assert told["cost_low"] < told["cost"] < told["cost_high"]
    assert told["without_drawn"] > told["cost"]


def test_a_mean_power_that_no_reserve_makes_safe_gives_way_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next cheapest mean power is made safe in its place; where none is, the cheapest stays, as not feasible."""
    made = setting()
    trial = Trial(made, range(4))
    tried: list[float] = []

    def unsafe_at(first: int) -> Choice:
        def make(_: Setting, choice: Choice, proof: Trial | None) -> Choice:
            tried.append(choice.bid.mean_w)
            return replace(choice, feasible=len(tried) > first)

        tried.clear()
        monkeypatch.setattr(search, "make_safe", make)
        return search_bid(made, rounds=1, trial=trial)

    plain, moved, none = unsafe_at(0), unsafe_at(1), unsafe_at(99)
    assert (plain.feasible, moved.feasible, none.feasible) == (True, True, False)
    assert moved.bid.mean_w != plain.bid.mean_w == none.bid.mean_w
    assert len(set(tried)) == len(tried) > 1
    assert moved.outcome.cost >= plain.outcome.cost
