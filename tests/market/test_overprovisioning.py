"""The cost model of overprovisioning by hand: the published example and its corrections, racks and life, break-even
points.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.market.break_even import break_even, sensitivities, speedup, sweep
from wattline.market.machine_cost import Life, Racks, affordable, bill, cost_by_rack
from wattline.market.overprovisioning import Application, Line, Measured, Prices, Question, fit_line, solve
from wattline.model.configurations import Configurations

EXAMPLE = Question(power_w=7000.0, node_max_w=380.0, node_min_w=180.0, faster=0.27, cost_ratio=1.7)
LINES = {
    "SPhot": Line(-1.114, 73.07, 48),
    "SP-MZ": Line(-0.112, 7.00, 48),
    "BT-MZ": Line(-0.069, 8.50, 48),
    "LU-MZ": Line(-0.542, 25.93, 48),
}


def one(name: str) -> list[Application]:
    """Return a published application alone."""
    return [Application(name, LINES[name])]


@pytest.mark.parametrize(
    ("name", "t_ovp", "t_wc", "s"),
    [
        ("SPhot", 39.65, 38.70, 0.98),
        ("SP-MZ", 3.64, 3.64, 1.00),
        ("BT-MZ", 6.43, 5.30, 0.82),
        ("LU-MZ", 9.67, 11.81, 1.22),
    ],
)
def test_the_published_example_as_it_computes(name: str, t_ovp: float, t_wc: float, s: float) -> None:
    """n_wc = 18, n_lim = 38 (printed 50), c_wc = 30.6, n_ovp = 30; times and ratios as equations 4.5 to 4.7 give
    them.
    """
    plan = solve(EXAMPLE, one(name))
    assert (plan.worst_case_nodes, plan.node_limit, plan.nodes) == (18, 38, 30)
    assert plan.cost_units == pytest.approx(30.6)
    outcome = plan.outcomes[0]
    assert round(outcome.overprovisioned_s, 2) == pytest.approx(t_ovp)
    assert round(outcome.worst_case_s, 2) == pytest.approx(t_wc)
    assert round(plan.speedup, 2) == pytest.approx(s)


def test_two_verdicts_turn_with_the_reading_of_faster() -> None:
    """27 % faster as 1/1.27 of the time instead of 0.73: SPhot and SP-MZ gain from more nodes then, BT-MZ and LU-MZ
    stay.
    """
    ways = [Question(7000.0, 380.0, 180.0, 0.27, 1.7, reading=reading) for reading in ("time", "speed")]
    wins = {name: [speedup(q, one(name)) > 1 for q in ways] for name in LINES}
    assert wins == {"SPhot": [False, True], "SP-MZ": [False, True], "BT-MZ": [False, False], "LU-MZ": [True, True]}


def test_a_full_rack_buys_eight_nodes_more() -> None:
    """§4.4.2: 16 × $3,300 + $12,000 = $64,800 buy 16 + 8 older nodes in two racks of $2,450 and $3,200 a node."""
    racks = Racks(16, 12_000.0)
    high = bill(16, 3300.0, racks, Life(), 0.0)
    assert (high.purchase, high.purchase / 16) == (64_800.0, 4050.0)
    bought = affordable(high.total, 1700.0, racks, Life(), 0.0)
    assert bought == 16 + 8
    assert bill(bought, 1700.0, racks, Life(), 0.0).total == 64_800.0
    by_rack = cost_by_rack(bought, 1700.0, racks)
    assert by_rack == [2450.0, 3200.0]
    assert pytest.approx(1.45, abs=0.005) == 4050 / 2800
    assert round(np.mean(by_rack), -2) == 2800


def test_prices_give_the_same_machine_as_the_question_they_come_from() -> None:
    """16 high-end nodes of 380 W at $3,300 against $1,700: 24 older ones, an effective ratio of 1.5."""
    question = Question(16 * 380.0, 380.0, 180.0, 0.27, prices=Prices(3300.0, 1700.0, Racks(16, 12_000.0)))
    plan = solve(question, one("LU-MZ"))
    assert (plan.worst_case_nodes, plan.affordable_nodes, plan.nodes, plan.effective_ratio) == (16, 24, 24, 1.5)
    assert plan.limited_by == "money"


def test_top_switches_cost_from_the_second_rack_on() -> None:
    """One rack needs none; 17 nodes need two racks and a switch above them."""
    racks = Racks(16, 12_000.0, top_racks=18, top_price=20_000.0)
    assert (racks.cost(16), racks.cost(17)) == (12_000.0, 44_000.0)
    assert affordable(64_800.0, 1700.0, racks, Life(), 0.0) == 16


def test_life_costs_by_hand() -> None:
    """Four years at 10 ct/kWh, PUE 1.5, 10 % maintenance: 10 kW cost $52,560, $50,000 of hardware another $20,000."""
    found = bill(10, 5000.0, Racks(), Life(4.0, 0.10, 1.5, 0.10), 10_000.0)
    assert found.energy == pytest.approx(10 * 8760 * 4 * 0.10 * 1.5)
    assert (found.purchase, found.maintenance) == (50_000.0, pytest.approx(20_000.0))
    assert found.total == pytest.approx(50_000 + 20_000 + 52_560)


def test_a_machine_that_uses_its_power_pays_for_it() -> None:
    """If high-end nodes draw two thirds on average and the older ones all the budget, electricity buys fewer of
    them.
    """
    dear = Life(4.0, 0.30, 1.5)
    even, thirsty = (
        solve(
            Question(16 * 380.0, 380.0, 180.0, 0.27, prices=Prices(3300.0, 1700.0, Racks(), dear, use, 1.0)),
            one("LU-MZ"),
        ).affordable_nodes
        for use in (1.0, 2 / 3)
    )
    assert even == math.floor(16 * 3300 / 1700)
    saved = 16 * 380 / 3 / 1e3 * 8760 * 4 * 0.30 * 1.5
    assert thirsty == math.floor((16 * 3300 - saved) / 1700) < even


def test_the_mix_is_weighted_by_time() -> None:
    """Half of the time an application twice as fast, half one as fast: 1/(0.5/2 + 0.5/1) = 4/3."""
    question = Question(1000.0, 100.0, 50.0, 0.0, 2.0)
    twice, same = Line(-1.0, 30.0), Line(0.0, 7.0)
    assert solve(question, [Application("a", twice), Application("b", same)]).speedup == pytest.approx(4 / 3)
    assert solve(question, [Application("a", twice, 3.0), Application("b", same, 0.0)]).speedup == pytest.approx(2.0)


def test_a_line_ends_where_it_is_said_to() -> None:
    """Beyond most_nodes time stays; a line that reaches zero is refused with what to do."""
    assert Line(-1.0, 10.0, 5).time_s(9, 0.0) == 5.0
    with pytest.raises(InputError, match="no time left at 10 nodes; say up to how many"):
        Line(-1.0, 10.0).time_s(10, 0.0)


def test_break_even_points_are_where_the_ratio_crosses_one() -> None:
    """LU-MZ: 27 nodes, r_c 1.5; a high-end node may be 40 % faster. BT-MZ: never by r_c, only below 11.4 %."""
    found = break_even(EXAMPLE, one("LU-MZ"))
    assert (found.nodes, found.cost_ratio) == (27, 1.5)
    assert speedup(EXAMPLE, one("LU-MZ"), found.nodes) >= 1 > speedup(EXAMPLE, one("LU-MZ"), found.nodes - 1)
    assert found.faster == pytest.approx(1 - 9.67 / 16.174)
    low = break_even(EXAMPLE, one("BT-MZ"))
    assert (low.nodes, low.cost_ratio, low.older_price) == (None, None, None)
    assert low.faster == pytest.approx(1 - 6.43 / 7.258)
    assert low.powers_w == ()


def test_the_break_even_price_buys_just_enough() -> None:
    """At that price the money buys the nodes needed, a dollar above it does not."""
    prices = Prices(3300.0, 2200.0, Racks(16, 12_000.0), Life(4.0, 0.10, 1.3, 0.1))
    question = Question(16 * 380.0, 380.0, 180.0, 0.27, prices=prices)
    found = break_even(question, one("LU-MZ"))
    assert found.older_price is not None
    for more, enough in ((-0.01, True), (1.0, False)):
        changed = Prices(3300.0, found.older_price + more, prices.racks, prices.life)
        bought = Question(16 * 380.0, 380.0, 180.0, 0.27, prices=changed).affordable_nodes
        assert (bought >= found.nodes) is enough


@given(st.floats(0.02, 0.6), st.floats(1.05, 3.0), st.sampled_from(sorted(LINES)), st.sampled_from(["time", "speed"]))
def test_at_its_break_even_advantage_both_machines_are_as_fast(
    faster: float, ratio: float, name: str, reading: str
) -> None:
    """Whatever the question: put the advantage found into it, and the ratio is 1."""
    question = Question(7000.0, 380.0, 180.0, faster, ratio, reading=reading)  # type: ignore[arg-type]
    found = break_even(question, one(name)).faster
    if found is None:
        assert speedup(Question(7000.0, 380.0, 180.0, 0.0, ratio, reading=reading), one(name)) < 1  # type: ignore[arg-type]
    else:
        assert speedup(Question(7000.0, 380.0, 180.0, found, ratio, reading=reading), one(name)) == pytest.approx(1.0)  # type: ignore[arg-type]


def test_winning_powers_are_those_of_the_sweep() -> None:
    """Inside an interval of budgets more nodes win, outside they do not."""
    found = break_even(EXAMPLE, one("SPhot")).powers_w
    grid = np.arange(400.0, 14_000.0, 37.0)
    wins = sweep(EXAMPLE, one("SPhot"), "power_w", grid) >= 1
    inside = np.array([any(a <= w < b for a, b in found) for w in grid])
    np.testing.assert_array_equal(inside, wins)


PRICED = Prices(3300.0, 1700.0, Racks(16, 12_000.0), Life(4.0, 0.10, 1.3, 0.1))


@pytest.mark.parametrize("power_w", [5000.0, 7000.0, 9000.0])
@pytest.mark.parametrize("use", [1.0, 0.6])
def test_winning_powers_are_told_to_the_watt(power_w: float, use: float) -> None:
    """Electricity takes older nodes away between whole high-end ones: windows of a few watts are found, too."""
    question = Question(power_w, 380.0, 180.0, 0.27, prices=replace(PRICED, older_use=use))
    apps = [Application(name, replace(law, most_nodes=47)) for name, law in LINES.items()]
    found = break_even(question, apps)
    assert found.powers_exact
    for watts in np.arange(380.25, 2 * power_w, 1.5):
        wins = speedup(replace(question, power_w=float(watts)), apps) >= 1
        assert wins == any(a <= watts < b for a, b in found.powers_w), watts


def test_the_example_has_a_window_in_which_more_nodes_lose() -> None:
    """From 8,350 to 8,359 W the money buys 32 older nodes against 21 high-end ones, one too few."""
    question = Question(7000.0, 380.0, 180.0, 0.27, prices=PRICED)
    apps = [Application(name, replace(law, most_nodes=47)) for name, law in LINES.items()]
    (first, gap), (again, end) = break_even(question, apps).powers_w
    assert (round(first), round(gap), round(again), round(end)) == (6460, 8349, 8360, 14_000)


def test_all_numbers_of_nodes_that_break_even_are_told() -> None:
    """Of a law that rises, falls, or both by its parts: the ranges hold exactly those numbers, also of very many."""
    rising, mixed = Line(5.0, 25.93, 47), [Application("down", Line(-2.0, 40.0, 12)), Application("up", Line(0.9, 1.0))]
    for question, apps in (
        (EXAMPLE, [Application("up", rising)]),
        (EXAMPLE, mixed),
        (EXAMPLE, one("LU-MZ")),
        (Question(4e5, 380.0, 180.0, 0.27, 1.7), [Application("up", Line(0.05, 30.0))]),
    ):
        ranges = break_even(question, apps).node_ranges
        for n in range(1, question.node_limit + 1):
            assert (speedup(question, apps, n) >= 1) == any(a <= n <= b for a, b in ranges), n


def test_sensitivities_name_what_matters_most_first() -> None:
    """A tenth more or less of each parameter, sorted by what it moves; without prices the ratio is among them."""
    found = sensitivities(EXAMPLE, one("LU-MZ"))
    assert set(found) == {"cost_ratio", "power_w", "faster", "node_max_w", "node_min_w"}
    swings = [abs(high - low) for low, high in found.values()]
    assert swings == sorted(swings, reverse=True)
    assert found["cost_ratio"][0] == pytest.approx(speedup(EXAMPLE.with_ratio(1.53), one("LU-MZ")))
    assert found["node_min_w"] == (pytest.approx(speedup(EXAMPLE, one("LU-MZ"))),) * 2


def space() -> Configurations:
    """Two caps on 4 to 16 nodes: 100 W a node at 1.25 times the time of 200 W."""
    nodes, cap_w = np.repeat([4, 8, 12, 16], 2), np.tile([50.0, 100.0], 4)
    return Configurations(
        "x", nodes, np.full(8, 16), cap_w, 960 / nodes * np.where(cap_w == 50, 1.25, 1.0), nodes * 2 * cap_w
    )


def test_measured_tables_answer_instead_of_a_line() -> None:
    """1,600 W feed 8 nodes of 200 W, or 16 at 100 W: 120 s become 75 s; 20 W a node beside the sensors make it 12
    nodes.
    """
    question = Question(1600.0, 200.0, 80.0, 0.0, 2.0)
    plan = solve(question, [Application("x", Measured(space()))])
    assert (plan.worst_case_nodes, plan.nodes) == (8, 16)
    times = (plan.outcomes[0].worst_case_s, plan.outcomes[0].overprovisioned_s)
    assert times == pytest.approx((120.0, 75.0))
    assert Measured(space(), 20.0).time_s(16, 1600.0) == pytest.approx(100.0)
    assert Measured(space()).time_s(10, math.inf) == pytest.approx(96.0)  # 960/n is a straight line in log n and log t
    assert Measured(space()).time_s(99, math.inf) == pytest.approx(60.0)
    with pytest.raises(InputError, match="no measured configuration on 3 nodes"):
        Measured(space()).time_s(3, 1600.0)


def test_a_line_fitted_through_the_best_by_nodes() -> None:
    """Under 1,600 W the best are 240, 120, 100 and 75 s on 4, 8, 12 and 16 nodes."""
    line, error = fit_line(space(), 1600.0)
    slope, intercept = np.polyfit([4, 8, 12, 16], [240, 120, 100, 75], 1)
    assert (line.slope_s, line.intercept_s, line.most_nodes) == (pytest.approx(slope), pytest.approx(intercept), 16)
    assert error == pytest.approx(
        np.mean(np.abs((slope * np.array([4, 8, 12, 16]) + intercept) / [240, 120, 100, 75] - 1))
    )
    with pytest.raises(InputError, match="needs two node counts under 900 W, found 1"):
        fit_line(space(), 900.0, least_nodes=8)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"power_w": 0.0}, "power_w must be a power above 0"),
        ({"faster": 1.2}, "faster must be a share"),
        ({"cost_ratio": None}, "either a cost ratio or the prices"),
        ({"power_w": 300.0}, "do not feed a single node of 380 W"),
        ({"cost_ratio": 0.01}, "neither money nor power"),
    ],
)
def test_questions_without_an_answer_are_refused(change: dict[str, float | None], said: str) -> None:
    """Each in one line."""
    values = {"power_w": 7000.0, "node_max_w": 380.0, "node_min_w": 180.0, "faster": 0.27, "cost_ratio": 1.7} | change
    with pytest.raises(InputError, match=said):
        solve(Question(**values), one("LU-MZ"))  # type: ignore[arg-type]
