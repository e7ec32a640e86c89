"""A day's budget chosen on recorded days: the line, the aim, what is tried and what is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wattline.bidding.budget import AIMS, Curve, _last, budget_bid, fitted, with_budget
from wattline.bidding.choose import choose, choose_on_records, untried
from wattline.bidding.evidence import LEFT_OUT, UNSEARCHED
from wattline.bidding.hours.laws import GaussianLaw
from wattline.bidding.hours.setting import Setting, following
from wattline.bidding.hours.trial import Trial, trial_day
from wattline.bidding.searches.aim import Aim
from wattline.control.catalog import find
from wattline.errors import InputError, PolicyError, ScenarioError
from wattline.market.bill import bill_flat, flat_book
from wattline.market.tracking import tracking
from wattline.model import codes
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Record
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, kinds_of
from wattline.units import HOUR_S

KIND = Kind("a", 2, 120.0, 300.0, 200.0, 1.5, limit=3.0, arrival_per_s=0.02)
BID = Bid(1600.0, 200.0)


def budgeted(select: str = "slackline") -> Setting:
    """Return a machine of eight nodes whose bids follow a day's budget of four hours."""
    made = Setting.alike((KIND,), 8, 100.0, 320.0)
    params = {"bid": {"mean_w": 1600.0, "reserve_w": 200.0, "day": 4.0}}
    return replace(made, policies=replace(following(select, params=params), bid=find("bid", "day-budget")))


def published() -> Setting:
    """Return a published machine and workload with the same."""
    made = Setting.alike(kinds_of("W14"), NODES, IDLE_W, HIGHEST_W)
    params = {"bid": {"mean_w": 1.0, "reserve_w": 1.0, "day": 4.0}}
    return replace(made, policies=replace(following("slackline", params=params), bid=find("bid", "day-budget")))


def record(number: int, hours: int = 4) -> Record:
    """Return a short recorded day, each of another law."""
    signal = GaussianLaw(0.25 + 0.02 * (number % 4), energy_neutral=False)(hours * HOUR_S, 50 + number)
    return Record(f"day-{number}", signal)


def test_a_line_is_fitted_where_the_rate_grows() -> None:
    """On exact lines the reserve at an aim and its growth are the line's own; the falling part at the left is not
    fitted.
    """
    reserves = np.array([500.0, 700.0, 1000.0, 1300.0, 1600.0])
    rates = 0.02 + 1e-4 * (reserves - 600.0)
    rates[0] = 0.08
    curve = fitted(reserves, rates, 1000.0)
    assert curve.least_w == 700.0
    reserve_w, growth = curve.at(0.06, 1e-3)
    assert reserve_w == pytest.approx(1000.0, abs=1e-3)
    assert growth == pytest.approx(round(1e-4 * 1000.0 / 0.06, 1))
    assert curve.at(0.01, 1e-3)[0] == pytest.approx(700.0, abs=1e-3)
    flat = fitted(reserves, np.full(5, 0.05), 1000.0)
    assert flat.slope_per_w > 0.0


def test_the_last_that_holds() -> None:
    """The largest aim is found of those that all hold from below."""
    for count in range(len(AIMS) + 1):
        kept = AIMS[:count]
        assert _last(AIMS, lambda aim, kept=kept: aim in kept) == (kept[-1] if kept else None)


def test_hours_are_tried_under_the_bids_that_the_policy_makes() -> None:
    """Every hour of a day is billed and judged by the bid of that hour; without its parameters the bid is fixed."""
    made = budgeted()
    stretch = trial_day(made, record(2), 0)
    params = {"bid": tuple(made.policies.bid.values(made.policies.params["bid"]))}
    hours = stretch.run(BID, None, params)
    rows = stretch.world.timeline()
    time_s, power_w = rows[:, codes.TL_TIME], rows[:, codes.TL_POWER]
    assert len({hour.reserve_w for hour in hours}) > 2
    assert hours[0].reserve_w == 200.0
    for k, hour in enumerate(hours):
        begin_s = stretch.begin_s + k * HOUR_S
        bid = Bid(1600.0, hour.reserve_w)
        followed = tracking(time_s, power_w, stretch.signal, bid, begin_s, begin_s + HOUR_S)
        assert hour.tracking.exceed_share == pytest.approx(followed.exceed_share, abs=1e-12)
        assert hour.bill.cost == pytest.approx(bill_flat(followed, bid, flat_book()).cost)
    fixed = stretch.run(BID)
    assert {hour.reserve_w for hour in fixed} == {200.0}
    plain = trial_day(replace(made, policies=following("slackline")), record(2), 0).run(BID)
    assert [hour.tracking for hour in fixed] == [hour.tracking for hour in plain]


def test_days_differ_less_than_under_a_fixed_bid() -> None:
    """With the same mean reserve, the rates of days lie closer together than those of a fixed bid."""
    made, bid = published(), Bid(8500.0, 3000.0)
    trial = Trial(made, records=[record(i, 24) for i in range(8)])
    fixed = trial.run(bid)
    rate = fixed.exceed.share
    assert 0.03 < rate < 0.3
    curve = Curve(rate, rate * 1.5 / bid.reserve_w, bid.reserve_w, 500.0)
    found = with_budget(trial, untried(made, "search", bid), curve, rate, "paper").outcome
    assert found.day_rates.std() < 0.7 * fixed.day_rates.std()
    assert found.reserve_w == pytest.approx(bid.reserve_w, rel=0.1)


def test_days_are_left_out_in_turn() -> None:
    """Every day is tried with the budget of a search without it, whose interval ends below the limit."""
    made = published()
    days = [Record(f"d{i}", GaussianLaw()(4 * HOUR_S, 80 + i)) for i in range(5)]
    found, margin = choose_on_records(made, days, "search", mode="paper", quick=True)
    assert found.evidence.how == LEFT_OUT
    assert found.choice.params is not None
    values = dict(zip(made.policies.bid.params, found.choice.params["bid"], strict=True))
    assert (values["mean_w"], values["reserve_w"]) == (found.choice.bid.mean_w, found.choice.bid.reserve_w)
    assert (values["aim"] in AIMS, values["day"]) == (True, 4.0)
    assert found.choice.feasible
    assert Aim(0.95).met(found.choice.outcome)
    alone = budget_bid(Trial(made, records=days[:4]), mode="paper", confidence=0.95, quick=True)
    row = found.evidence.table[4]
    last = Trial(made, records=days).only([4]).run(alone.bid, alone.weights, alone.params)
    assert (row.mean_w, row.exceed, row.reserve_w) == (alone.bid.mean_w, last.exceed.share, last.reserve_w)
    assert margin is not None
    assert margin.plain_cost > 0


def test_given_parameters_are_tested_on_all_days() -> None:
    """No search has looked at parameters that the scenario gives; other methods are refused."""
    made = budgeted()
    found, margin = choose_on_records(made, [record(i) for i in range(3)], "given", mode="paper", given=BID)
    assert (found.evidence.how, margin, found.choice.bid) == (UNSEARCHED, None, BID)
    assert len({hour.reserve_w for hour in found.outcome.hours}) > 3
    for method, select in (("grid", "slackline"), ("heuristic", "slackline"), ("search", "gps")):
        with pytest.raises(InputError, match="a day's budget is chosen by a search of its own"):
            choose_on_records(budgeted(select), [record(0)], method, mode="paper")
    with pytest.raises(InputError, match="on recorded days"):
        choose(made, "search", mode="paper")


SCENARIO = """
name = "small"
kinds = "W14"
[trace]
generator = "kinds"
duration = "3 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
bid = "day-budget"
[regulation]
signal = ["d0.csv", "d1.csv", "d2.csv"]
"""


def test_what_is_written_runs(tmp_path: Path) -> None:
    """``--write`` puts the parameters into the policy, and a run follows them hour by hour."""
    import wattline as wl

    for i in range(3):
        values = record(i, 8).signal.values
        step_s = record(i).signal.step_s
        lines = [f"{k * step_s:g},{y:.6f}" for k, y in enumerate(values)]
        (tmp_path / f"d{i}.csv").write_text("time_s,signal\n" + "\n".join(lines) + "\n")
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO)
    found = wl.bid(file, quick=True, progress=False)
    target = found.write(tmp_path / "sold.toml")
    written = wl.load(target)
    pick = written.document.spec.policy.bid[0]
    assert pick.name == "day-budget"
    assert (pick.params["mean_w"], pick.params["reserve_w"]) == (found.mean_w, found.reserve_w)
    assert written.document.spec.regulation is not None
    assert written.document.spec.regulation.mean is None
    assert "by the hour" in repr(found)
    again = wl.bid(target, method="given", progress=False)
    assert (again.mean_w, again.reserve_w) == (found.mean_w, found.reserve_w)
    hours = written.simulate(progress=False).hours
    assert hours["mean_w"].to_list() == pytest.approx([found.mean_w] * 3)
    assert hours["reserve_w"][0] == pytest.approx(found.reserve_w)
    assert hours["reserve_w"].n_unique() > 1


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"regulation.signal": "gaussian"}, "a day's budget is chosen on recorded days"),
        ({"regulation.lead": "5 min"}, "leave lead out"),
        ({"regulation.every": "30 min"}, "leave every out"),
        ({"policy.bid": "adaptive"}, "--set policy.bid=day-budget looks for a day's budget"),
    ],
)
def test_what_a_budget_cannot_be_chosen_for(tmp_path: Path, keys: dict[str, str], told: str) -> None:
    """Drawn hours, other lengths of bids and other bid policies are refused in a line that says what to do."""
    import wattline as wl

    for i in range(3):
        (tmp_path / f"d{i}.csv").write_text(
            "time_s,signal\n" + "".join(f"{2 * k},0.{k % (7 + i)}\n" for k in range(1801))
        )
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO)
    with pytest.raises(ScenarioError, match=told):
        wl.bid(wl.load(file).set(keys), progress=False)
    with pytest.raises(PolicyError, match="needs parameter 'mean_w'"):
        wl.bid(file, method="given", progress=False)
