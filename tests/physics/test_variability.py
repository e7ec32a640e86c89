"""Jobs on nodes that are not alike: equal caps, caps of equal speed, and what the latter gain."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.model.configurations import Configurations
from wattline.model.variability import CAB, NodeFactors
from wattline.physics.cap_response import MeasuredResponse
from wattline.physics.responses.linear import Linear
from wattline.physics.variability import ANY, Hardware, equal_caps, equal_speed_caps, frugal, gain, under_caps

RULE = Linear(200.0, 100.0, 2.0)


def test_two_nodes_by_hand() -> None:
    """Factors 0.8 and 1.2 under 300 W: equal caps of 150 W let the second do 125 typical watts; 120 W and 180 W let
    both do 150.
    """
    nodes = NodeFactors(np.array([0.8, 1.2]))
    equal = equal_caps(RULE, nodes, 300.0)
    # time grows by 1 from 200 W to 100 W: at 125 typical watts it is 1.75, at 187.5 it is 1.125
    np.testing.assert_allclose(1.0 / equal.speeds, [1.125, 1.75])
    assert equal.speed == pytest.approx(1.0 / 1.75)
    better = equal_speed_caps(RULE, nodes, 300.0)
    np.testing.assert_allclose(better.caps_w, [120.0, 180.0])
    np.testing.assert_allclose(1.0 / better.speeds, [1.5, 1.5])
    assert better.power_w == pytest.approx(300.0)
    assert gain(RULE, nodes, 300.0) == pytest.approx(1.0 - 1.5 / 1.75)


def test_nodes_that_are_alike_gain_nothing() -> None:
    """Without variability both ways give the same caps."""
    nodes = NodeFactors.alike(5)
    np.testing.assert_allclose(equal_speed_caps(RULE, nodes, 700.0).caps_w, equal_caps(RULE, nodes, 700.0).caps_w)
    assert gain(RULE, nodes, 700.0) == pytest.approx(0.0, abs=1e-12)


def test_a_bound_that_suffices_leaves_all_at_full_speed() -> None:
    """With more than all nodes can draw, nobody is capped below what it draws, and the rest of the bound is not handed
    out.
    """
    nodes = NodeFactors(np.array([0.9, 1.1, 1.0]))
    found = equal_speed_caps(RULE, nodes, 900.0)
    assert found.speed == 1.0
    assert found.power_w == pytest.approx(200.0 * 3.0)
    np.testing.assert_allclose(found.caps_w, 200.0 * nodes.factors)


def test_what_is_fixed_does_not_vary() -> None:
    """Of 200 W, 50 W are the same in all nodes: a factor of 1.2 is 230 W at full speed."""
    nodes = NodeFactors(np.array([1.0, 1.2]))
    found = equal_speed_caps(RULE, nodes, 1000.0, Hardware(fixed_w=50.0))
    np.testing.assert_allclose(found.drawn_w, [200.0, 230.0])


def test_the_least_and_the_greatest_cap_of_the_hardware_are_kept() -> None:
    """A frugal node cannot be capped below the least cap: what it takes too much, the others lack; the greatest cap
    bounds the speed.
    """
    nodes = NodeFactors(np.array([0.5, 1.0, 1.0]))
    found = equal_speed_caps(RULE, nodes, 400.0, Hardware(least_w=110.0))
    np.testing.assert_allclose(found.caps_w, [110.0, 145.0, 145.0])
    capped = equal_speed_caps(RULE, nodes, 900.0, Hardware(most_w=150.0))
    np.testing.assert_allclose(capped.caps_w, [75.0, 150.0, 150.0])
    assert capped.speed == pytest.approx(float(RULE.speed(np.array(150.0))))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([0.8, 0.9, 1.0, 1.1, 1.25]), min_size=2, max_size=3),
    st.integers(300, 640),
    st.sampled_from([ANY, Hardware(least_w=110.0), Hardware(most_w=170.0, fixed_w=20.0)]),
)
def test_no_caps_of_whole_watts_are_better(factors: list[float], bound_w: int, hardware: Hardware) -> None:
    """All caps in steps of 5 W, tried one by one: none within the bound is faster; and the bound is kept."""
    nodes = NodeFactors(np.array(factors))
    try:
        found = equal_speed_caps(RULE, nodes, float(bound_w), hardware)
    except InputError:
        found = None
    low, high = max(hardware.least_w, 80.0), min(hardware.most_w, 250.0)
    caps = np.array(list(itertools.product(np.arange(low, high + 1.0, 5.0), repeat=len(factors))))
    own_w = hardware.fixed_w + (caps[caps.sum(axis=1) <= bound_w] - hardware.fixed_w) / nodes.factors
    own_w = own_w[own_w.min(axis=1) >= RULE.floor_w]
    best = float(RULE.speed(own_w).min(axis=1).max(initial=0.0))
    if found is None:
        assert best == 0.0
        return
    assert found.speed >= best - 1e-9
    assert found.caps_w.sum() <= bound_w * (1 + 1e-9)
    assert found.caps_w.min() >= hardware.least_w - 1e-9
    assert found.caps_w.max() <= hardware.most_w + 1e-9


def test_the_frugal_nodes_are_the_best_choice() -> None:
    """Of six nodes, no three are faster under a bound than the three that draw least (all twenty tried)."""
    nodes = NodeFactors.drawn(6, CAB, seed=3)
    speeds = {
        three: equal_speed_caps(RULE, NodeFactors(nodes.factors[list(three)]), 420.0).speed
        for three in itertools.combinations(range(6), 3)
    }
    assert max(speeds, key=lambda three: speeds[three]) == tuple(frugal(nodes, 3))


def test_drawn_factors_have_the_published_spread() -> None:
    """Among as many sockets as Cab has, the ends differ by nearly 23 %, never by more; the mean is 1; seeds repeat."""
    nodes = NodeFactors.drawn(2386, CAB, seed=1)
    assert 0.20 <= nodes.spread < 0.23
    assert nodes.factors.mean() == pytest.approx(1.0, abs=0.003)
    np.testing.assert_array_equal(nodes.factors, NodeFactors.drawn(2386, CAB, seed=1).factors)
    assert NodeFactors.drawn(100, 0.0, seed=1).spread == 0.0


def test_measured_powers_become_factors() -> None:
    """What nodes drew at the same work, over their mean."""
    nodes = NodeFactors.measured(np.array([90.0, 110.0, 100.0]))
    np.testing.assert_allclose(nodes.factors, [0.9, 1.1, 1.0])
    assert nodes.spread == pytest.approx(110.0 / 90.0 - 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: NodeFactors(np.array([1.0, 0.0])), "node 1: got 0"),
        (lambda: NodeFactors(np.array([])), "there is none"),
        (lambda: NodeFactors.drawn(4, -0.1, 1), "a spread of 0 or more, got 4 and -0.1"),
        (lambda: equal_speed_caps(RULE, NodeFactors.alike(2), 150.0), "150 W is too low: 2 nodes need 200 W"),
        (lambda: equal_caps(RULE, NodeFactors.alike(2), 150.0), "node 0: a cap of 75 W is below the 100 W it needs"),
        (lambda: equal_caps(RULE, NodeFactors.alike(2), 300.0, Hardware(least_w=160.0)), "leave 150 W a node"),
        (lambda: equal_speed_caps(RULE, NodeFactors.alike(2), 300.0, Hardware(most_w=90.0)), "a cap of 90 W is below"),
        (lambda: frugal(NodeFactors.alike(2), 3), "cannot take 3 of 2 nodes"),
        (lambda: Linear(100.0, 120.0, 2.0), "need 0 <= lowest power <= power"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, words: str) -> None:
    """One line says what is wrong, with the number."""
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]


def test_a_measured_response_joins_caps_that_do_not_bind() -> None:
    """Three caps with one power are one point; turbo is left out; between points speed follows a line."""
    table = Configurations(
        "x",
        np.full(5, 2),
        np.full(5, 8),
        np.array([51.0, 65.0, 80.0, 95.0, 115.0]),
        np.array([20.0, 12.5, 10.0, 10.01, 8.0]),
        np.array([200.0, 260.0, 300.0, 300.5, 400.0]),
        115.0,
    )
    found = MeasuredResponse.of(table, 2, 8)
    np.testing.assert_allclose(found.power_w, [100.0, 130.0, 150.0])
    np.testing.assert_allclose(found.speeds, [0.5, 0.8, 1.0])
    assert found.speed(np.array(140.0)) == pytest.approx(0.9)
    with pytest.raises(InputError, match="4 nodes × 8 cores was not measured; near it: 2 × 8"):
        MeasuredResponse.of(table, 4, 8)


def test_a_tenth_of_speed_is_lost_at_65_w_as_published(data_dir: Path) -> None:
    """EP on sockets that differ by 23 %, all capped at 65 W: 10 % between the fastest and the slowest were measured
    (§7.3.1); 2 points off.
    """
    from wattline.formats.tables.configurations import read_configurations

    table = read_configurations(data_dir / "powercap/rzmerl_powercap_configs.csv.gz").tables["nas-ep.mpi"]
    at = (table.nodes == 4) & (table.cores == 16) & (table.cap_w == 65.0)
    nodes = NodeFactors.drawn(2386, CAB, seed=1)
    caps_w = np.full(2386, float(table.power_w[at][0]) / 4)
    speeds = under_caps(MeasuredResponse.of(table, 4, 16), nodes, caps_w).speeds
    assert 1.0 - speeds.min() / speeds.max() == pytest.approx(0.10, abs=0.02)
