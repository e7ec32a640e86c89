"""The compiled engine against the paper's recursion written out literally: every discipline, every switching rule."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from systems_cases import RATES, SERVERS, SWITCHING, customers

from reference import recursion as ref
from reference.engine import DISCIPLINES, assert_same, run
from reference.recursion import Constant, CountHysteresis, Randomized, Rates, WorkloadHysteresis

EXACT = Rates(low=1, high=2, busy_low=1, busy_high=4, idle_low=Fraction(1, 4), idle_high=Fraction(1, 2))


class AsPrinted(WorkloadHysteresis):
    """The switching epoch of the text, T + (W − k_L)/R, right only while one customer is served."""

    def switch_in(self, state: Any) -> Any:
        """Time from T_i to the switching event as printed."""
        right = super().switch_in(state)
        return right if right == math.inf else right * len(state.serving)


def rule(cap: str, params: dict[str, Any], n: int, seed: int = 0) -> Constant:
    """The recursion's rule for a cap policy, with the coins that the policy throws."""
    from wattline.physics.random import CAP_COINS, uniforms

    if cap == "randomized":
        return Randomized(params["p_low"], params["p_high"], uniforms(seed, CAP_COINS, 2 * n).tolist())
    if cap == "count-hysteresis":
        return CountHysteresis(params["k_low"], params["k_high"])
    if params.get("as_printed"):
        return AsPrinted(params["k_low"], params["k_high"])
    return WorkloadHysteresis(params["k_low"], params["k_high"], node_weighted=bool(params.get("node_weighted")))


def compare(
    columns: Any,
    discipline: str,
    cap: str,
    params: dict[str, Any],
    rates: Rates,
    servers: int,
    *,
    seed: int = 0,
    **tolerance: float,
) -> None:
    """Run both and hold one against the other."""
    switching = rule(cap, params, len(columns[0]), seed)
    expected = ref.simulate(*columns, servers, rates=rates, discipline=discipline, switching=switching)
    got = run(*columns, servers, rates=rates, discipline=discipline, cap=cap, cap_params=params, seed=seed)
    assert_same(got, expected, **tolerance)


@pytest.mark.parametrize("switching", SWITCHING)
@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_every_discipline_under_every_rule_is_the_recursion(discipline: str, switching: str) -> None:
    """Starts, departures, energy budgets, and rate, workload and power of every epoch are the recursion's."""
    cap, params = SWITCHING[switching]
    for seed in (1, 2):
        compare(customers(seed, 300, SERVERS), discipline, cap, params, RATES, SERVERS, seed=seed)


small = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 8), st.sampled_from([2, 2, 3, 4])), min_size=1, max_size=14
)
rules = st.one_of(
    st.builds(lambda a, b: ("count-hysteresis", {"k_low": a, "k_high": a + b}), st.integers(0, 4), st.integers(0, 3)),
    st.builds(
        lambda a, b: ("workload-hysteresis", {"k_low": a, "k_high": a + b}), st.integers(0, 12), st.integers(0, 12)
    ),
    st.builds(lambda a, b: ("randomized", {"p_low": a / 4, "p_high": b / 4}), st.integers(0, 4), st.integers(0, 4)),
)


@settings(max_examples=300, deadline=None)
@given(small, st.sampled_from(list(DISCIPLINES)), rules, st.integers(0, 3))
def test_ties_fall_as_in_exact_arithmetic(
    drawn: list[tuple[int, int, int]], discipline: str, chosen: tuple[str, dict[str, Any]], seed: int
) -> None:
    """With whole numbers, at most two in service and rates 1 and 2 nothing is rounded: ties are ties in both,
    exactly.
    """
    arrival = [Fraction(int(t)) for t in np.cumsum([gap for gap, _, _ in drawn])]
    columns = (arrival, [Fraction(amount) for _, amount, _ in drawn], [width for _, _, width in drawn])
    compare(columns, discipline, *chosen, EXACT, 4, seed=seed, rtol=0, atol=0)


@pytest.mark.parametrize("discipline", DISCIPLINES)
@pytest.mark.parametrize("switching", ["count", "work"])
def test_a_piece_of_the_krc_log_is_the_recursion(data_dir: Path, discipline: str, switching: str) -> None:
    """600 recorded customers on 80 servers, cleaned as the paper says, agree in every measure."""
    from wattline.formats.jobs.krc.read import CORES, read_krc

    jobs = read_krc(data_dir / "krc" / "HPC_KRC2.csv", amount_factor=2.66).jobs.take(np.arange(4200, 4800))
    columns = (jobs.submit_s.tolist(), jobs.work_s.tolist(), jobs.nodes.tolist())
    cap, params = {
        "count": ("count-hysteresis", {"k_low": 5, "k_high": 12}),
        "work": ("workload-hysteresis", {"k_low": 1e5, "k_high": 3e5}),
    }[switching]
    compare(columns, discipline, cap, params, RATES, CORES, rtol=1e-9, atol=1e-4)


@pytest.mark.parametrize("discipline", DISCIPLINES)
@pytest.mark.parametrize("cap", ["count-hysteresis", "workload-hysteresis"])
def test_thresholds_at_zero_and_infinity_are_constant_rates(discipline: str, cap: str) -> None:
    """K = 0 serves everybody at r_H and rests low when empty; k = ∞ is r_L in every measure."""
    columns = customers(3, 200, SERVERS)
    for k, high in ((0.0, True), (math.inf, False)):
        expected = ref.simulate(*columns, SERVERS, rates=RATES, discipline=discipline, switching=Constant(high=high))
        got = run(*columns, SERVERS, rates=RATES, discipline=discipline, cap=cap, cap_params={"k_low": k, "k_high": k})
        np.testing.assert_allclose(got.state.started_s, expected.start, rtol=1e-10)
        np.testing.assert_allclose(got.state.end_s, expected.departure, rtol=1e-10)
        np.testing.assert_allclose(got.state.energy_j, expected.energy_budget, rtol=1e-8)
        if not high:
            assert_same(got, expected)


def test_certain_coins_are_constant_rates() -> None:
    """p_H = 1 with p_L = 0 is r_H from the first arrival on; p_H = 0 is r_L."""
    columns = customers(4, 200, SERVERS)
    for p_high, p_low, high in ((1.0, 0.0, True), (0.0, 0.7, False)):
        expected = ref.simulate(*columns, SERVERS, rates=RATES, switching=Constant(high=high))
        got = run(*columns, SERVERS, rates=RATES, cap="randomized", cap_params={"p_low": p_low, "p_high": p_high})
        assert_same(got, expected)


def test_coins_belong_to_the_seed() -> None:
    """The same seed throws the same coins, another seed others."""
    columns = customers(5, 200, SERVERS)
    coins: dict[str, Any] = {"rates": RATES, "cap": "randomized", "cap_params": {"p_low": 0.5, "p_high": 0.5}}
    first, again, other = (run(*columns, SERVERS, seed=seed, **coins) for seed in (7, 7, 8))
    assert first.state.end_s.tobytes() == again.state.end_s.tobytes()
    assert first.state.end_s.tobytes() != other.state.end_s.tobytes()
