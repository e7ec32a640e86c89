"""Networks: what hangs on what, and which links there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.model.networks.dragonfly import ARRANGEMENTS, Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.flat import Flat

MACHINES = {72: (2, 4, 9, 2), 272: (4, 4, 17, 4), 544: (4, 8, 17, 2), 528: (4, 4, 33, 8), 1056: (4, 8, 33, 4)}


@st.composite
def dragonflies(draw: st.DrawFn) -> Dragonfly:
    """Draw a small dragonfly of any arrangement that fits, with one link or several between two groups."""
    a, g = draw(st.integers(1, 6)), draw(st.integers(1, 13))
    links = draw(st.sampled_from([n for n in range(1, a + 1) if (g - 1) * n % a == 0] if g > 1 else [1]))
    if g == 1:
        return Dragonfly(draw(st.integers(1, 5)), a, g)
    even = (g - 1) * links // a % 2 == 0 and g % 2 == 1
    fitting = [name for name in ARRANGEMENTS if name != "circulant" or even]
    return Dragonfly(draw(st.integers(1, 5)), a, g, draw(st.sampled_from(fitting)), links_per_pair=links)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("nodes", MACHINES)
def test_the_machines_of_the_studies_exist(nodes: int, arrangement: str) -> None:
    """The published machines have the nodes, routers and global links that their names say, in every arrangement."""
    p, a, g, h = MACHINES[nodes]
    machine = Dragonfly(p, a, g, arrangement)
    assert (machine.nodes, machine.routers, machine.links_per_router) == (nodes, a * g, h)
    assert machine.global_peer.shape == (a * g, h)
    assert machine.router_of(nodes - 1) == a * g - 1
    assert machine.group_of_router(machine.router_of(nodes - 1)) == machine.group_of(nodes - 1) == g - 1


@given(dragonflies())
def test_any_two_groups_share_as_many_links_as_was_said(machine: Dragonfly) -> None:
    """Following every global port, each ordered pair of different groups is met once for every link of theirs."""
    here = machine.group_of_router(np.arange(machine.routers))[:, None]
    there = machine.group_of_router(machine.global_peer)
    met = np.zeros((machine.groups, machine.groups), dtype=int)
    np.add.at(met, (np.broadcast_to(here, there.shape), there), 1)
    assert (met == machine.links_per_pair * (1 - np.eye(machine.groups, dtype=int))).all()


@given(dragonflies())
def test_links_lead_back(machine: Dragonfly) -> None:
    """The router at the other end of a port has a port that leads back, and the tables of ports and gateways agree."""
    for router in range(machine.routers):
        group = machine.group_of_router(router)
        for q, peer in enumerate(machine.global_peer[router].tolist()):
            other = machine.group_of_router(peer)
            assert machine.global_port[router, other] == q
            assert machine.global_peer[peer, machine.global_port[peer, group]] == router
            link = machine.gateways[group, other].tolist().index(router)
            assert machine.gateways[other, group, link] == peer
    held = (machine.global_port >= 0).sum()
    assert held == machine.links_per_pair * machine.groups * (machine.groups - 1)
    assert (np.diag(machine.gateway) == -1).all()


def test_arrangements_by_hand() -> None:
    """Three groups of one router with two ports: the ports of group 1, and of five groups of two routers, by hand."""
    assert Dragonfly(1, 1, 3, "absolute").group_peer.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert Dragonfly(1, 1, 3, "relative").group_peer.tolist() == [[1, 2], [2, 0], [0, 1]]
    assert Dragonfly(1, 1, 3, "circulant").group_peer.tolist() == [[1, 2], [2, 0], [0, 1]]
    assert Dragonfly(1, 2, 5, "absolute").group_peer[2].tolist() == [0, 1, 3, 4]
    assert Dragonfly(1, 2, 5, "relative").group_peer[2].tolist() == [3, 4, 0, 1]
    assert Dragonfly(1, 2, 5, "circulant").group_peer[2].tolist() == [3, 1, 4, 0]
    assert Dragonfly(1, 2, 5, "circulant").global_peer.tolist()[4:6] == [[6, 2], [9, 1]]


def test_several_links_by_hand() -> None:
    """Three groups of two routers with two links a pair: each router has one to every other group, and links join
    routers of the same number; with four routers the links of a pair hang on every second one.
    """
    small = Dragonfly(1, 2, 3, links_per_pair=2)
    assert (small.links_per_router, small.group_peer[1].tolist()) == (2, [0, 2, 0, 2])
    assert small.global_peer.tolist() == [[2, 4], [3, 5], [0, 4], [1, 5], [0, 2], [1, 3]]
    assert small.gateways[2].tolist() == [[4, 5], [4, 5], [-1, -1]]
    wide = Dragonfly(4, 4, 3, links_per_pair=2)
    assert (wide.links_per_router, wide.gateways[0, 1].tolist(), wide.gateways[0, 2].tolist()) == (1, [0, 2], [1, 3])
    assert (wide.gateways[1, 0].tolist(), wide.global_peer.ravel().tolist()[:4]) == ([4, 6], [4, 8, 6, 10])


def test_one_group_has_no_global_links() -> None:
    """A dragonfly of one group is its routers, linked all to all."""
    machine = Dragonfly(4, 16, 1)
    assert machine.links_per_router == 0
    assert machine.global_peer.shape == (16, 0)


def test_a_leaf_is_a_router_and_a_group() -> None:
    """A fat tree has no level between leaf and machine."""
    tree = FatTree(16, 20, 8)
    assert (tree.nodes, tree.routers, tree.groups, tree.nodes_per_group) == (320, 20, 20, 16)
    assert tree.router_of(17) == tree.group_of(17) == 1
    assert FatTree(16, 20, 16, spine_bps=4e9, host_bps=8e9).oversubscription == 2.0


def test_a_flat_machine_is_one_router() -> None:
    """Without a network, every node hangs on the same switch."""
    assert (Flat(100).nodes, Flat(100).routers, Flat(100).groups) == (100, 1, 1)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Dragonfly(4, 4, 16), "use 13 or 17 groups"),
        (lambda: Dragonfly(4, 4, 3), "use 5 groups"),
        (lambda: Dragonfly(4, 3, 4, "circulant"), "even number of global links a router, got 1"),
        (lambda: Dragonfly(4, 4, 17, "absolut"), "did you mean 'absolute'"),
        (lambda: Dragonfly(0, 4, 17), "nodes_per_router must be a whole number of at least 1, got 0"),
        (lambda: Dragonfly(4, 4, 17, global_bps=0.0), "global_bps must be a bandwidth above 0"),
        (lambda: Dragonfly(4, 4, 17, local_bps=float("nan")), "local_bps must be a bandwidth above 0"),
        (lambda: Dragonfly(1, 1, 5001), "at most 4096 groups"),
        (lambda: Dragonfly(4, 4, 3, links_per_pair=3), "6 global ports a group.*use 2, 4 links"),
        (lambda: Dragonfly(4, 4, 3, links_per_pair=5), "room for 4 at most, got 5"),
        (lambda: Dragonfly(4, 4, 1, links_per_pair=2), "one group has no other group to share 2 links with"),
        (lambda: Dragonfly(4, 4, 3, links_per_pair=0), "links_per_pair must be a whole number of at least 1"),
        (lambda: Dragonfly(1, 4, 4001, links_per_pair=4), "are too many; use 1"),
        (lambda: Dragonfly(10_000, 16, 129), "at most 10000000 make sense"),
        (lambda: FatTree(16, 0, 8), "leaves must be a whole number of at least 1"),
        (lambda: FatTree(16, 20, 8, host_bps=-1.0), "host_bps must be a bandwidth above 0"),
        (lambda: Flat(-3), "nodes_per_router must be a whole number"),
    ],
)
def test_impossible_machines_are_refused_in_one_line(build: object, said: str) -> None:
    """A machine that cannot be wired is an input error of one line that says what would fit."""
    with pytest.raises(InputError, match=said) as caught:
        build()  # type: ignore[operator]
    assert "\n" not in str(caught.value)
