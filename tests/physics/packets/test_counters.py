"""Counters: flits, packets, stalls of links and crossbars, bytes of nodes, in total and by interval."""

from __future__ import annotations

import numpy as np
import pytest

from packets.machines import SMALL, four_jobs, listed, simulator
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import PacketJob
from wattline.physics.packets.kernels.codes import GLOBAL, HOST, LOCAL
from wattline.physics.packets.wiring import Buffers, Latencies, wire


def test_intervals_add_up_to_the_whole() -> None:
    """The counters of all intervals, added, are those of the run; every interval has a row, the last one the rest."""
    jobs = [PacketJob(np.arange(72), "all-to-all"), PacketJob(np.arange(72), "halo3d26", message_bytes=20_000)]
    simulated = simulator(routing="ugal", buffers=Buffers(2048, 2048))
    whole, parts = simulated.run(jobs), simulated.run(jobs, interval=20e-6)
    assert parts.intervals is not None
    assert len(parts.intervals.flits) == int(np.ceil(whole.time_s / 20e-6))
    for name in ("flits", "packets", "stall_s", "crossbar_stall_s", "injected_bytes", "received_bytes"):
        total = getattr(whole.counters, name)
        assert getattr(parts.counters, name) == pytest.approx(total, abs=1e-15)
        assert getattr(parts.intervals, name).sum(axis=0) == pytest.approx(total, abs=1e-15)
    busy = parts.intervals.flits * parts.ports.flit_ps / 1e12 / 20e-6
    assert busy.max() < 1.06  # an interval can get the head of a packet whose tail belongs to the next one
    assert (parts.intervals.stall_s <= 20e-6 + 1e-12).all()


def test_what_goes_in_comes_out() -> None:
    """Flits that nodes inject are those on their links, those that nodes receive, and the sum over packets."""
    result = simulator(crossbar=4.0).run([PacketJob(np.arange(72), "all-to-all", message_bytes=3000)])
    counters, ports = result.counters, result.ports
    sent = counters.flits[ports.router_ports :] * 8
    got = counters.flits[: ports.router_ports][ports.kind[: ports.router_ports] == HOST] * 8
    assert np.array_equal(sent, counters.injected_bytes)
    assert np.array_equal(got, counters.received_bytes)
    assert counters.injected_bytes.sum() == counters.received_bytes.sum()
    assert result.hops == counters.packets.sum() == result.jobs[0].hops


def test_an_idle_network_does_not_stall() -> None:
    """One stream on its own stalls nowhere."""
    result = simulator(crossbar=4.0).run([listed([0, 71], [(0, 1, 1000)] * 20)])
    assert not result.counters.stall_s.any()
    assert not result.counters.crossbar_stall_s.any()


def test_stall_times_by_hand() -> None:
    """Two nodes of a router send two packets each to a third, into buffers of one packet: every stall is known."""
    network = Dragonfly(3, 1, 1)
    simulated = simulator(network, buffers=Buffers(1024, 1024), latencies=Latencies(0, 0, 0, 0))
    result = simulated.run([listed([0, 1, 2], [(0, 2, 979), (1, 2, 979)], [(0, 2, 979), (1, 2, 979)])])
    counters, first_node = result.counters, result.ports.router_ports
    # All packets are 128 flits of 8 ns, crossbar and link alike; latency is a crossbar cycle of 8 ns. At 0 both nodes
    # send,
    # at 8 ns node 0's packet moves on; the output takes node 1's at 1032, node 0's second at 2056, node 1's second at
    # 3080.
    assert counters.crossbar_stall_s[0] == pytest.approx((2056 - 1032) * 1e-9, abs=1e-12)
    assert counters.crossbar_stall_s[1] == pytest.approx((1032 - 8 + 3080 - 2056) * 1e-9, abs=1e-12)
    # node 0 had its credit back at 8 ns; node 1's link is free at 1024 ns, its credit is back at 1032 ns
    assert counters.stall_s[first_node] == pytest.approx(0.0)
    assert counters.stall_s[first_node + 1] == pytest.approx(8e-9, abs=1e-12)
    assert result.jobs[0].elapsed_s == pytest.approx(3088e-9, abs=1e-12)


def test_congestion_shows_where_it_is() -> None:
    """Four jobs in node order stall on the few local and global links that their groups share, not on idle groups'
    links.
    """
    network = Dragonfly(4, 4, 17)
    result = simulator(network, crossbar=4.0).run(four_jobs())
    ports = result.ports
    stall, group = result.counters.stall_s[: ports.router_ports], np.repeat(np.arange(17), 4 * 11)
    assert stall[group == 16].sum() == 0
    assert not result.counters.flits[: ports.router_ports][group == 16].any()
    local = stall[(ports.kind[: ports.router_ports] == LOCAL) & (group < 16)]
    assert local.max() > 10e-6
    assert result.counters.crossbar_stall_s.max() > 1e-3  # output buffers are full, so inputs wait


def test_wiring_is_symmetric() -> None:
    """Every port's peer has it as its own peer, of the same kind; routes lead along local links of the same group."""
    for network in (SMALL, Dragonfly(4, 4, 17, "circulant"), Dragonfly(3, 2, 5, "relative"), Dragonfly(2, 3, 1)):
        w = wire(network)
        assert np.array_equal(w.peer[w.peer], np.arange(w.ports))
        assert np.array_equal(w.kind[w.peer], w.kind)
        routers = np.arange(network.routers)
        for other in range(network.routers_per_group):
            port = w.beside[:, other]
            there = routers - routers % network.routers_per_group + other
            mine = port >= 0
            assert np.array_equal(w.router[w.peer[port[mine]]], there[mine])
            assert (w.kind[port[mine]] == LOCAL).all()
        for group in range(network.groups if network.groups > 1 else 0):
            port = w.toward[:, group]
            away = routers // network.routers_per_group != group
            assert (port[~away] == -1).all()
            direct = w.kind[port[away]] == GLOBAL
            reached = w.router[w.peer[port[away]]]
            assert (reached[direct] // network.routers_per_group == group).all()
            assert (w.kind[w.toward[reached[~direct], group]] == GLOBAL).all()
