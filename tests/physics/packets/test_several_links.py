"""Several links between two groups: packets take all of them, by the routes that the tables name."""

from __future__ import annotations

import numpy as np
import pytest

from packets.machines import ROUTINGS, listed, simulator
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import PacketJob
from wattline.physics.packets.kernels.codes import GLOBAL, LOCAL
from wattline.physics.packets.offered import offered
from wattline.physics.packets.wiring import wire

TWO = Dragonfly(2, 4, 3, links_per_pair=2)
"""Routers 0 and 2 of group 0 are linked to routers 4 and 6 of group 1."""


def packets_between(network: Dragonfly, job: PacketJob) -> dict[tuple[int, int], int]:
    """Return the packets that crossed each link between routers, by the routers at its ends."""
    result = simulator(network).run([job])
    ports, count = result.ports, result.counters.packets
    between = np.flatnonzero(ports.kind[: ports.router_ports] != 0)
    ends = ((int(ports.router[x]), int(ports.router[ports.peer[x]]), int(count[x])) for x in between)
    return {(one, two): n for one, two, n in ends if n}


def test_routes_of_a_pair_by_hand() -> None:
    """From router 1 of group 0 to router 5, of group 1, half of the packets go over the routers of each link: 0 and 4,
    or 2 and 6.
    """
    rounds = [[(0, 1, 10 * 1024 - 45)] for _ in range(50)]
    got = packets_between(TWO, listed([2, 10], *rounds))
    assert set(got) == {(1, 0), (0, 4), (4, 5), (1, 2), (2, 6), (6, 5)}
    assert got[1, 0] == got[0, 4] == got[4, 5] == 500 - got[2, 6]
    assert got[1, 2] == got[2, 6] == got[6, 5]
    assert got[0, 4] == pytest.approx(250, abs=4 * np.sqrt(125))


def test_who_sits_at_a_link_uses_the_others_too() -> None:
    """From router 0, which has a link to group 1 itself, half of the packets still go by way of router 2."""
    rounds = [[(0, 1, 10 * 1024 - 45)] for _ in range(50)]
    got = packets_between(TWO, listed([0, 8], *rounds))
    assert set(got) == {(0, 4), (0, 2), (2, 6), (6, 4)}
    assert got[0, 2] == got[2, 6] == got[6, 4] == 500 - got[0, 4]
    assert got[0, 4] == pytest.approx(250, abs=4 * np.sqrt(125))


@pytest.mark.parametrize("routing", ROUTINGS)
def test_all_links_are_used(routing: str) -> None:
    """Under every routing, all-to-all messages of all nodes use every link, and none between groups more than one and
    a half times as much as another.
    """
    network = Dragonfly(2, 4, 5, links_per_pair=3)
    result = simulator(network, routing=routing, crossbar=4.0).run([PacketJob(np.arange(network.nodes), "all-to-all")])
    kind = result.ports.kind[: result.ports.router_ports]
    packets = result.counters.packets[: kind.size]
    assert packets[kind == LOCAL].min() > 0
    across = packets[kind == GLOBAL]
    assert across.size == 3 * 5 * 4
    assert across.max() < 1.5 * across.min()


@pytest.mark.parametrize("links", [1, 2, 4])
def test_links_carry_more_together(links: int) -> None:
    """Eight nodes of a group that all send to the next one get the bandwidth of all links between the two."""
    got = offered(Dragonfly(2, 4, 5, links_per_pair=links), "adversarial", 1.0, routing="minimal", crossbar=4.0)
    assert got.accepted == pytest.approx(links / 8, rel=0.06)


def test_tables_of_one_link() -> None:
    """With one link between two groups, a router's way to a group is its own port or the router that has the link."""
    network = Dragonfly(2, 2, 5)
    w = wire(network)
    for router in range(network.routers):
        for group in range(network.groups):
            gate = int(network.gateway[router // 2, group])
            if gate >= 0:
                near = router if gate == router else int(w.router[w.peer[w.toward[router, group]]])
                assert near == gate
                assert (w.own[router, group] >= 0) == (gate == router)
