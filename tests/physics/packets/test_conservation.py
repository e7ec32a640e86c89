"""Nothing is lost, nothing is stuck: packets, space and credits at any stop, and buffers of a single packet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packets.machines import ROUTINGS, SMALL, simulator
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.audit import broken_laws
from wattline.physics.packets.jobs import PATTERNS, Communicate, Compute, PacketJob
from wattline.physics.packets.offered import offered
from wattline.physics.packets.wiring import Buffers

ONE_PACKET = Buffers(1024, 1024)
EVERYTHING = [
    ("all-to-all", 1024), ("halo3d26", 30_000), ("fft3d", 5000), ("random-ring", 20_000), ("rma-broadcast", 4096),
    ("allreduce", 8), ("barrier", 0), ("broadcast", 20_000), ("halo2d", 1024), ("halo3d", 13_000),
]  # fmt: skip


@pytest.mark.parametrize("network", [SMALL, Dragonfly(2, 4, 5, links_per_pair=3)])
@pytest.mark.parametrize("routing", ROUTINGS)
def test_buffers_of_one_packet_do_not_deadlock(routing: str, network: Dragonfly) -> None:
    """All patterns at once, from all nodes, get through buffers that hold a single packet, under every routing, with
    one link between two groups or several.
    """
    jobs = [
        PacketJob(np.arange(network.nodes), pattern, seed=i, message_bytes=size, tasks_per_node=1)
        for i, (pattern, size) in enumerate(EVERYTHING)
    ]
    simulated = simulator(network, routing=routing, buffers=ONE_PACKET)
    result = simulated.run(jobs)
    assert result.packets_delivered == result.packets_made
    assert broken_laws(simulated.state, simulated.setting) == []
    assert not simulated.state.packets[: simulated.setting.wiring.router_ports].min() < 0


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("pattern", ["uniform", "adversarial"])
def test_overload_with_one_packet_buffers_keeps_flowing(routing: str, pattern: str) -> None:
    """Offered all that hosts can send, a network with one-packet buffers goes on delivering and keeps its books."""
    simulated = simulator(routing=routing, buffers=ONE_PACKET)
    got = offered(simulated, pattern, 1.0, warmup_s=50e-6, measure_s=50e-6)
    assert got.accepted > (0.3 if (routing, pattern) != ("minimal", "adversarial") else 0.12)
    assert broken_laws(simulated.state, simulated.setting) == []


@settings(max_examples=30, deadline=None)
@given(
    machine=st.sampled_from([(1, 2, 3, 1), (2, 4, 9, 1), (3, 2, 5, 1), (2, 3, 1, 1), (1, 1, 4, 1), (2, 2, 4, 2)]),
    routing=st.sampled_from(ROUTINGS),
    crossbar=st.sampled_from([0.5, 1.0, 4.0]),
    buffer_bytes=st.sampled_from([1024, 2048, 14_000]),
    jobs=st.lists(
        st.tuples(st.sampled_from(PATTERNS), st.sampled_from([0, 8, 1024, 13_000]), st.integers(1, 3)),
        min_size=1,
        max_size=4,
    ),
    stop_us=st.floats(0.1, 60.0),
    seed=st.integers(0, 1000),
)
def test_books_balance_at_any_stop(
    machine: tuple[int, int, int, int],
    routing: str,
    crossbar: float,
    buffer_bytes: int,
    jobs: list[tuple[str, int, int]],
    stop_us: float,
    seed: int,
) -> None:
    """Whenever a run is stopped, packets made are delivered or on their way, and credits and space add up to the
    buffers.
    """
    network = Dragonfly(*machine[:3], links_per_pair=machine[3])
    simulated = simulator(network, routing=routing, crossbar=crossbar, buffers=Buffers(buffer_bytes, buffer_bytes))
    given_jobs = [
        PacketJob(
            np.arange(network.nodes), [Communicate(pattern, size), Compute(1e-7)], tasks_per_node=tasks, seed=seed + i
        )
        for i, (pattern, size, tasks) in enumerate(jobs)
    ]
    result = simulated.run(given_jobs, seed=seed, until=stop_us * 1e-6)
    assert broken_laws(simulated.state, simulated.setting) == []
    assert 0 <= result.packets_made - result.packets_delivered <= simulated.state.pk_next.size
    finished = simulated.run(given_jobs, seed=seed)
    assert finished.packets_delivered == finished.packets_made
    assert broken_laws(simulated.state, simulated.setting) == []
    assert (simulated.state.in_head < 0).all()


def test_pools_grow_when_they_must_and_no_further() -> None:
    """Packets are recycled: ten times as many messages need no more memory; unlimited buffers under overload need
    more.
    """
    simulated = simulator(SMALL, crossbar=2.0)
    short = simulated.run([PacketJob(np.arange(72), "all-to-all")])
    size = simulated.state.pk_next.size
    long = simulated.run([PacketJob(np.arange(72), "all-to-all", repeat=10)])
    assert long.packets_made == 10 * short.packets_made
    assert simulated.state.pk_next.size == size
    wide = simulator(SMALL, buffers=Buffers(10**8, 10**8))
    offered(wide, "adversarial", 1.0, warmup_s=100e-6, measure_s=100e-6)
    assert wide.state.pk_next.size > size
    assert broken_laws(wide.state, wide.setting) == []
