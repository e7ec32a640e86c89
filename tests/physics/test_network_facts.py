"""Facts of networks: distances and bounds from closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.model.networks.base import Network
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.fat_tree_3 import FatTree3
from wattline.model.networks.flat import Flat
from wattline.physics.network_facts import mean_links, network_facts

KNOWN = [
    ((2, 4, 9), 1.044, 1.109, 2.338, 1 / 8),
    ((4, 4, 17), 0.513, 1.059, 2.406, 1 / 16),
    ((4, 8, 17), 1.028, 0.530, 2.645, 1 / 32),
    ((4, 4, 33), 0.507, 2.059, 2.452, 1 / 16),
    ((4, 8, 33), 1.014, 1.030, 2.696, 1 / 32),
]


def links(network: Network, a: int, b: int) -> float:
    """Return the links between the routers of two nodes, by walking."""
    x, y = network.router_of(a), network.router_of(b)
    if x == y:
        return 0
    if not isinstance(network, Dragonfly):
        return 2
    i, j = network.group_of_router(x), network.group_of_router(y)
    if i == j:
        return 1
    return 1 + float((network.gateways[i, j] != x).mean() + (network.gateways[j, i] != y).mean())


@pytest.mark.parametrize(("sizes", "local", "across", "hops", "adversarial"), KNOWN)
def test_published_bounds(
    sizes: tuple[int, int, int], local: float, across: float, hops: float, adversarial: float
) -> None:
    """Saturation bounds and mean distances of the studies' machines are the known ones, to the digits printed."""
    facts = network_facts(Dragonfly(*sizes))
    assert facts.uniform_local == pytest.approx(local, abs=6e-4)
    assert facts.uniform_global == pytest.approx(across, abs=6e-4)
    assert facts.mean_links == pytest.approx(hops, abs=6e-4)
    assert facts.adversarial == adversarial
    assert facts.uniform == min(facts.uniform_local or 9, facts.uniform_global or 9)


@pytest.mark.parametrize("seed", range(25))
def test_a_group_to_one_other_is_full_where_the_first_of_its_links_is(seed: int) -> None:
    """The bound is that of loads summed over all routes, for the worst number of groups on, also where links inside
    groups are slower than those between them.
    """
    from wattline.physics.packets.loads import channel_loads

    rng = np.random.default_rng(seed)
    nodes, routers, groups, several = (int(n) for n in rng.integers((1, 1, 2, 1), (5, 6, 7, 4)))
    fast = {f"{name}_bps": float(rng.choice([1e9, 2e9, 9e9, 30e9])) for name in ("local", "global", "host")}
    while several > routers or (groups - 1) * several % routers:
        routers, groups, several = (int(n) for n in rng.integers((1, 2, 1), (6, 10, 4)))
    paired = (groups - 1) * several // routers % 2 == 0
    arrangement = str(rng.choice(["absolute", "relative", *["circulant"] * paired]))
    network = Dragonfly(nodes, routers, groups, arrangement, links_per_pair=several, **fast)
    worst = min(channel_loads(network, "adversarial", shift=shift).saturation() for shift in range(1, groups))
    assert network_facts(network).adversarial == pytest.approx(min(1.0, worst), rel=1e-3)  # whole picoseconds there


@pytest.mark.parametrize(
    ("sizes", "links"),
    [((2, 4, 9), 1), ((4, 4, 17), 1), ((3, 1, 4), 1), ((2, 5, 1), 1), ((2, 4, 3), 2), ((1, 4, 5), 3)],
)
def test_bounds_are_those_of_the_routes(sizes: tuple[int, int, int], links: int) -> None:
    """The closed forms agree with loads summed over all routes, whatever the bandwidths."""
    from wattline.physics.packets.kernels.codes import GLOBAL, LOCAL
    from wattline.physics.packets.loads import channel_loads

    network = Dragonfly(*sizes, local_bps=4e9, global_bps=16e9, host_bps=8e9, links_per_pair=links)
    facts, loads = network_facts(network), channel_loads(network)
    assert loads.mean_router_links == pytest.approx(facts.mean_links)
    for bound, kind in ((facts.uniform_local, LOCAL), (facts.uniform_global, GLOBAL)):
        if bound is not None:
            assert loads.saturation(kind) == pytest.approx(bound)


@given(
    st.sampled_from(
        [
            Dragonfly(2, 3, 7),
            Dragonfly(3, 2, 5, "circulant"),
            Dragonfly(2, 4, 3, links_per_pair=2),
            FatTree(3, 5, 2),
            Flat(12),
        ]
    ),
    st.data(),
)
def test_mean_links_is_the_mean_over_pairs(network: Network, data: st.DataObject) -> None:
    """The mean distance of a job's nodes is that of walking between every pair of them."""
    nodes = sorted(data.draw(st.sets(st.integers(0, network.nodes - 1), min_size=1)))
    pairs = [links(network, a, b) for a in nodes for b in nodes if a != b]
    expected = sum(pairs) / len(pairs) if pairs else 0.0
    assert mean_links(network, np.array(nodes)) == pytest.approx(expected)


@pytest.mark.parametrize("network", [Dragonfly(2, 4, 9), Dragonfly(3, 2, 5, "circulant"), FatTree(3, 5, 2), Flat(9)])
def test_the_whole_machine_as_one_job(network: Network) -> None:
    """A job on all nodes has the mean distance of the machine."""
    assert mean_links(network, np.arange(network.nodes)) == pytest.approx(network_facts(network).mean_links)


def test_counts_and_bisection() -> None:
    """Links and bisection of a dragonfly and of a fat tree, counted by hand."""
    facts = network_facts(Dragonfly(4, 4, 17, global_bps=2e9))
    assert (facts.local_links, facts.global_links, facts.most_links) == (102, 136, 3)
    assert facts.bisection_bps == 8 * 9 * 2e9
    several = network_facts(Dragonfly(4, 16, 5, links_per_pair=8))
    assert (several.global_links, several.bisection_bps, several.adversarial) == (80, 2 * 3 * 8 * 8e9, 8 / 64)
    tree = network_facts(FatTree(16, 20, 8))
    assert (tree.routers, tree.global_links, tree.most_links) == (28, 160, 2)
    assert tree.bisection_bps == 10 * 8 * 8e9
    assert tree.adversarial == 0.5
    assert tree.uniform == pytest.approx(0.5 * 319 / 304)
    assert network_facts(Flat(5)).most_links == 0


def test_a_three_level_tree_counted_by_hand() -> None:
    """A 4-ary fat tree has 16 nodes, 20 switches and 32 links; ways lead over 0, 2 or 4 links at full bandwidth."""
    tree = FatTree3(4)
    facts = network_facts(tree)
    assert (tree.nodes, tree.routers, tree.groups) == (16, 8, 4)
    assert (facts.routers, facts.local_links + facts.global_links, facts.most_links) == (20, 32, 4)
    assert [mean_links(tree, np.array([0, other])) for other in (1, 2, 3, 4, 15)] == [0, 2, 2, 4, 4]
    assert facts.bisection_bps == 8 * 8e9
    assert facts.uniform_global == pytest.approx(15 / 12)
    assert (facts.adversarial, network_facts(FatTree3(4, spine_bps=2e9)).adversarial) == (1.0, 0.25)
    with pytest.raises(InputError, match="the number of pods must be even, got 5"):
        FatTree3(5)
