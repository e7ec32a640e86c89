"""Numbers that would spoil a run without a word are refused in one line: seeds, parameters, times and powers."""

from __future__ import annotations

import math

import pytest

from engine.worlds import cluster, policies, run, table
from wattline.control.catalog import catalog, find
from wattline.errors import InputError, PolicyError
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Param, policy
from wattline.sim.simulate import Simulation

ONE = table({"submit": 0, "work": 1, "nodes": 1})


@pytest.mark.parametrize("seed", [-1, 2**53, 2**53 + 1, 2**70])
def test_seeds_that_floats_cannot_tell_apart_are_refused(seed: int) -> None:
    """Seeds reach policies as floats: outside 0 … 2^53 - 1 two of them could be one, so they are refused."""
    with pytest.raises(InputError, match=rf"a seed is a whole number from 0 to 9007199254740991 .* got {seed}"):
        Simulation(ONE, cluster(1), policies(), seed=seed)


def test_the_largest_seed_is_taken() -> None:
    """2^53 - 1 reaches the policies as it is."""
    assert Simulation(ONE, cluster(1), policies(), seed=2**53 - 1).param[0][-1] == 2**53 - 1


def test_built_in_parameters_that_count_have_bounds() -> None:
    """A switch of -1 or of a billion means nothing; only what counts jobs has no end."""
    free = [
        f"{slot} {name}: {key}"
        for slot, by_name in catalog().items()
        for name, one in by_name.items()
        for key, param in one.params.items()
        if param.whole and param.low == -math.inf
    ]
    assert free == []


NONSENSE = [
    ("select", "gps", {"carry": -1}, "'carry' must be between 0 and 1, got -1"),
    ("select", "gps", {"preempt": 3}, "'preempt' must be between 0 and 2, got 3"),
    ("select", "slackline", {"hold": -1}, "'hold' must be at least 0, got -1"),
    ("select", "easy", {"depth": -1}, "'depth' must be at least 0, got -1"),
    ("select", "easy", {"depth": float("nan")}, "'depth' must be a number, got NaN"),
    ("select", "easy", {"depth": 2.9}, "'depth' must be a whole number, got 2.9"),
    ("select", "conservative", {"depth": 0.5}, "'depth' must be a whole number, got 0.5"),
    ("select", "backfill-by-end", {"depth": 1.5}, "'depth' must be a whole number, got 1.5"),
    ("select", "window", {"window": 1.5}, "'window' must be a whole number, got 1.5"),
    ("select", "reselect", {"preempt": 0.5}, "'preempt' must be a whole number, got 0.5"),
    ("select", "conservative", {"depth": -5}, "'depth' must be at least 0, got -5"),
    ("select", "backfill-by-end", {"depth": -5}, "'depth' must be at least 0, got -5"),
    ("select", "reselect", {"drift": float("nan")}, "'drift' must be a number, got NaN"),
    (
        "select",
        "reselect",
        {"drift": float("inf")},
        "'drift' must be between -1,000,000,000 and 1,000,000,000, got inf",
    ),
    ("order", "shortest", {"truth": 2}, "'truth' must be between 0 and 1, got 2"),
    ("cap", "randomized", {"p_low": 0.5, "p_high": 1.5}, "'p_high' must be between 0 and 1, got 1.5"),
    ("cap", "randomized", {"p_low": -0.1, "p_high": 0.5}, "'p_low' must be between 0 and 1, got -0.1"),
    ("cap", "count-hysteresis", {"k_low": -1, "k_high": 3}, "'k_low' must be at least 0, got -1"),
    ("cap", "count-hysteresis", {"k_low": 5, "k_high": 3}, "'k_low' must not exceed 'k_high', got 5 and 3"),
    ("cap", "workload-hysteresis", {"k_low": 5, "k_high": 3}, "'k_low' must not exceed 'k_high', got 5 and 3"),
    ("cap", "workload-hysteresis", {"k_low": 5, "k_high": float("nan")}, "'k_high' must be a number, got NaN"),
]


@pytest.mark.parametrize(("slot", "name", "given", "meaning"), NONSENSE)
def test_senseless_parameters_are_refused(slot: str, name: str, given: dict[str, float], meaning: str) -> None:
    """A parameter outside its range is refused in one line that names slot, policy, parameter, range and value."""
    with pytest.raises(PolicyError) as caught:
        find(slot, name).values(given)
    assert str(caught.value) == f"{slot} policy {name!r}: parameter {meaning}"


def test_infinite_thresholds_mean_never() -> None:
    """A threshold of inf is a number like others: it is never exceeded."""
    assert find("cap", "count-hysteresis").values({"k_low": 2, "k_high": math.inf}) == [2.0, math.inf]


@policy("order", params={"share": Param(0.5, "a share", 0, 1)})
def by_share(s, arg, param, memory):
    """A user's policy whose parameter has a range."""
    return 0


def test_users_may_declare_ranges() -> None:
    """A user's policy may give a parameter a meaning and a range; the same line refuses what lies outside."""
    assert by_share.values({}) == [0.5]
    with pytest.raises(PolicyError, match="order policy 'by_share': parameter 'share' must be between 0 and 1, got 7"):
        by_share.values({"share": 7})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("submit_s", 1e15),
        ("work_s", 1e13),
        ("work_s", math.inf),
        ("request_s", 1e16),
        ("think_s", 2e12),
        ("draw_w", 1e300),
        ("floor_w", 2e9),
    ],
)
def test_times_and_powers_beyond_all_measure_are_refused(column: str, value: float) -> None:
    """Where sums of floats would lose seconds or watts, or overflow, the job and the number are named."""
    given = {"submit_s": [0.0, 1.0], "work_s": [1.0, 1.0], "nodes": [1, 1]} | {column: [0.0, value]}
    with pytest.raises(InputError, match=rf"job 2: {column} is .*, at most 1,000,000,000(,000)? makes sense"):
        JobTable.build(**given)


def test_numbers_up_to_the_bounds_are_taken() -> None:
    """The bounds themselves are allowed, and so is a request of inf, which is none."""
    jobs = JobTable.build(submit_s=[1e12], work_s=[10.0], nodes=[1], request_s=[math.inf], draw_w=[1e9])
    result = run(jobs, cluster(1))
    assert result.state.end_s[0] == 1e12 + 10.0
    assert result.state.energy_j[0] == 1e10


def test_a_node_class_beyond_all_measure_is_refused() -> None:
    """A node class whose nodes draw more than a gigawatt each is refused by name."""
    with pytest.raises(InputError, match=r"node class 'node': a node cannot draw 1,000,000,000,000 W"):
        cluster(1, max_w=1e12)
