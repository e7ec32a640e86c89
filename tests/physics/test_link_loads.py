"""Loads of links in closed form: against routes walked one by one, and against what packets do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.flat import Flat
from wattline.physics.link_loads import capacities, link_shares, share_table
from wattline.physics.network_facts import mean_links

SMALL = [
    Dragonfly(2, 2, 5),
    Dragonfly(2, 3, 7, "relative"),
    Dragonfly(3, 2, 5, "circulant"),
    Dragonfly(2, 4, 1),
    Dragonfly(3, 1, 2),
    Dragonfly(2, 4, 3, links_per_pair=2),
    Dragonfly(2, 2, 4, "relative", links_per_pair=2),
    Dragonfly(1, 4, 5, links_per_pair=3),
]


def walked(network: Dragonfly, nodes: list[int], *, valiant: bool) -> np.ndarray:
    """Return the shares by walking every route between every pair of nodes."""
    a, h, groups = network.routers_per_group, network.links_per_router, network.groups
    load = np.zeros((network.routers, a + h))

    def local(x: int, y: int, weight: float) -> None:
        if x != y:
            load[x, y % a] += weight

    links = range(network.links_per_pair)

    def across(x: int, i: int, k: int, weight: float, link: int) -> int:
        gate = int(network.gateways[i, k, link])
        local(x, gate, weight)
        load[gate, a + int(network.global_port[gate, k])] += weight
        return int(network.gateways[k, i, link])

    pairs = [(x, y) for x in nodes for y in nodes if x != y]
    for x, y in pairs:
        r, s = network.router_of(x), network.router_of(y)
        i, k = network.group_of_router(r), network.group_of_router(s)
        if i == k:
            local(r, s, 1.0)
            continue
        middles = [m for m in range(groups) if m not in (i, k)] if valiant else []
        for m in middles:
            for first in links:
                part = 1.0 / len(middles) / len(links)
                at = across(r, i, m, part, first)
                for second in links:
                    local(across(at, m, k, part / len(links), second), s, part / len(links))
        for link in links if not middles else ():
            local(across(r, i, k, 1.0 / len(links), link), s, 1.0 / len(links))
    return load / max(1, len(pairs))


@settings(deadline=None)
@given(st.sampled_from(SMALL), st.data())
def test_closed_forms_are_sums_over_routes(network: Dragonfly, data: st.DataObject) -> None:
    """For any nodes of a job, the share of every link is that of walking all routes between all pairs of them."""
    nodes = sorted(data.draw(st.sets(st.integers(0, network.nodes - 1), min_size=1)))
    shares = link_shares(network, np.array(nodes))
    np.testing.assert_allclose(shares.minimal, walked(network, nodes, valiant=False), atol=1e-12)
    np.testing.assert_allclose(shares.valiant, walked(network, nodes, valiant=True), atol=1e-12)
    assert shares.minimal.sum() == pytest.approx(mean_links(network, np.array(nodes)))


@pytest.mark.parametrize(("sizes", "links"), [((2, 4, 9), 1), ((4, 4, 17), 1), ((4, 8, 17), 1), ((2, 4, 5), 3)])
@pytest.mark.parametrize("routing", ["minimal", "valiant"])
def test_a_job_on_the_whole_machine_is_uniform_traffic(sizes: tuple[int, int, int], links: int, routing: str) -> None:
    """One job on all nodes loads links as uniform traffic does, which bounds of saturation are known for."""
    from wattline.physics.packets.kernels.codes import GLOBAL, LOCAL
    from wattline.physics.packets.loads import channel_loads

    network = Dragonfly(*sizes, links_per_pair=links)
    load = network.nodes * getattr(link_shares(network, np.arange(network.nodes)), routing)
    known = channel_loads(network, routing=routing, inside=False)
    assert 1 / load[:, : sizes[1]].max() == pytest.approx(known.saturation(LOCAL))
    assert 1 / load[:, sizes[1] :].max() == pytest.approx(known.saturation(GLOBAL))


@pytest.mark.parametrize("network", [Dragonfly(2, 4, 9), Dragonfly(3, 4, 5, links_per_pair=3)])
def test_shares_are_what_packets_do(network: Dragonfly) -> None:
    """Bytes that the packet engine moves over local and global links, per byte sent, are what the shares say."""
    from wattline.physics.packets.jobs import PacketJob
    from wattline.physics.packets.kernels.codes import GLOBAL, LOCAL
    from wattline.physics.packets.simulator import run

    nodes = np.random.default_rng(3).permutation(network.nodes)[:24]
    found = run(network, [PacketJob(nodes, "all-to-all", message_bytes=10_000, tasks_per_node=1)])
    shares = link_shares(network, nodes).minimal
    flits = found.counters.flits
    sent = flits[found.ports.kind[: flits.size] == 0].sum() / 2  # host links: in and out
    for kind, part in ((LOCAL, shares[:, :4]), (GLOBAL, shares[:, 4:])):
        assert flits[found.ports.kind[: flits.size] == kind].sum() / sent == pytest.approx(part.sum(), rel=0.01)


def test_fat_trees_and_flat_networks() -> None:
    """On a fat tree a leaf's ways up carry what leaves it; a flat network has no link to fill."""
    tree = FatTree(4, 3, 2, spine_bps=8e9)
    shares = link_shares(tree, np.array([0, 1, 4, 8]))
    assert shares.minimal[:, 0].tolist() == pytest.approx([4 / 12, 3 / 12, 3 / 12])
    assert capacities(tree)[0, 0] == 2e9
    assert share_table(Flat(5), [np.arange(3)]).shape == (1, 0)


def test_what_makes_no_sense_is_refused() -> None:
    """Nodes that do not exist and detours of more than all are refused in one line."""
    with pytest.raises(InputError, match="node 72 is none of the 72 nodes"):
        link_shares(Dragonfly(2, 4, 9), np.array([3, 72]))
    with pytest.raises(InputError, match="between 0 and 1, got 2"):
        share_table(Dragonfly(2, 4, 9), [], detour=2.0)
