"""The stability criterion against values by hand, exact fractions, and queues that do or do not grow."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.batches import assert_agrees
from wattline.errors import InputError
from wattline.theory.recursion import fcfs_delays, fcfs_starts
from wattline.theory.stability import Stability, stability, stability_coefficient, width_law

LAWS = ([0.5, 0.5], [0.2, 0.5, 0.3], [0.6, 0.0, 0.1, 0.3], [0.4, 0.3, 0.0, 0.0, 0.2, 0.1])


@pytest.mark.parametrize(
    ("law", "expected"),
    [([1], 1), ([0.5, 0.5], 7 / 8), ([1, 0, 0], 1 / 3), ([0, 0, 1], 1), ([0, 1, 0, 0], 1 / 2), ([0, 0, 1, 0], 1)],
)
def test_values_by_hand(law: list[float], expected: float) -> None:
    """One server: 1. Half ones, half twos on two: 7/8. Ones on three: 1/3. Wider than half the machine: 1."""
    assert stability_coefficient(law) == pytest.approx(expected, rel=1e-15)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any))
def test_it_is_the_sum_over_all_saturated_lines(weights: list[int]) -> None:
    """C is E[1/j] over the number j of customers that fit at the front of an endless line, by enumeration."""
    servers = len(weights)
    law = [Fraction(w, sum(weights)) for w in weights]
    total = Fraction(0)
    for line in itertools.product(range(1, servers + 1), repeat=servers + 1):
        probability = Fraction(1)
        for width in line:
            probability *= law[width - 1]
        fitting = sum(s <= servers for s in itertools.accumulate(line))
        total += probability / fitting
    assert stability_coefficient([float(p) for p in law]) == pytest.approx(float(total), rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_a_saturated_machine_serves_one_customer_every_c_mean_services(law: list[float]) -> None:
    """With everyone there from the start, the time between starts is C/μ, within its 99.9 % interval."""
    n, servers = 100_000, len(law)
    rng = np.random.default_rng(servers)
    width = rng.choice(servers, n, p=law) + 1
    starts = fcfs_starts(np.zeros(n), rng.exponential(1.0, n), width, servers)
    assert_agrees(np.diff(starts), stability_coefficient(law), precision=0.03)


@pytest.mark.parametrize("law", LAWS)
def test_just_below_it_settles_and_just_above_it_grows(law: list[float]) -> None:
    """At load 0.95 the last delay has forgotten how long the trace is; at 1.05 it grows by (1 − 1/1.05)·C a
    customer.
    """
    n, servers, coefficient = 200_000, len(law), stability_coefficient(law)
    growth = {}
    for load in (0.95, 1.05):
        rng = np.random.default_rng(round(100 * load) + servers)
        arrival = np.cumsum(rng.exponential(coefficient / load, n))
        delay = fcfs_delays(arrival, rng.exponential(1.0, n), rng.choice(servers, n, p=law) + 1, servers)
        growth[load] = float(np.mean(delay[-n // 100 :])) / n / coefficient
    boundary = (1 - 1 / 1.05) / 2
    assert growth[0.95] < boundary / 10
    assert growth[1.05] == pytest.approx(2 * boundary, rel=0.3)


def test_from_a_trace() -> None:
    """Rates and widths are estimated from the columns; the amount is divided by the rate it is served at."""
    found = stability([0, 1, 2, 3, 4], [2, 4, 2, 4, 3], [1, 2, 1, 2, 1], servers=2, rate=6.0)
    assert found.arrival_rate_per_s == 1.0
    assert found.service_rate_per_s == 2.0
    assert found.coefficient == pytest.approx(stability_coefficient([0.6, 0.4]))
    assert found.stable
    assert found.critical_arrival_rate_per_s == pytest.approx(2.0 / found.coefficient)
    assert not Stability(found.critical_arrival_rate_per_s * 1.001, 2.0, found.coefficient).stable


def test_what_cannot_be_judged_is_refused() -> None:
    """Laws that are none, widths outside the machine and traces without a rate give one clear line."""
    for law in ([], [0.5], [1.5, -0.5]):
        with pytest.raises(InputError, match="law of widths"):
            stability_coefficient(law)
    with pytest.raises(InputError, match="1 to 4"):
        width_law([1, 5], 4)
    with pytest.raises(InputError, match="different times"):
        stability([3, 3], [1, 1], [1, 1], 2)
    with pytest.raises(InputError, match="above 0"):
        stability([0, 3], [0, 0], [1, 1], 2)
