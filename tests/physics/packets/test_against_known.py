"""Against what is known: zero-load latency, published and computed bounds, SST, incast, M/D/1."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from packets.machines import ROUTINGS, SMALL, four_jobs, links_between, listed, simulator
from wattline.model.networks.dragonfly import ARRANGEMENTS, Dragonfly
from wattline.physics.packets.jobs import PacketJob
from wattline.physics.packets.kernels.codes import GLOBAL, LOCAL
from wattline.physics.packets.loads import channel_loads
from wattline.physics.packets.offered import offered
from wattline.physics.packets.simulator import Simulator, run
from wattline.physics.packets.wiring import Buffers, Latencies

PER_LINK_S = 40e-9 + 50e-9 + 50e-9 + 2e-9
"""Link, input, output and one cycle of a crossbar of four times 8 Gbit/s."""

# machine: uniform minimal local, global; mean router links; valiant local, global; adversarial minimal; adversarial
# valiant in the worst direction, absolute and circulant. Fractions of host bandwidth.
TABLE = {
    (2, 4, 9): (1.044, 1.109, 2.338, 0.679, 0.555, 1 / 8, 0.292, 0.438),
    (4, 4, 17): (0.513, 1.059, 2.406, 0.338, 0.529, 1 / 16, 0.156, 0.187),
    (4, 8, 17): (1.028, 0.530, 2.645, 0.678, 0.265, 1 / 32, 0.188, 0.234),
    (4, 4, 33): (0.507, 2.059, 2.452, 0.336, 1.029, 1 / 16, 0.161, 0.176),
    (4, 8, 33): (1.014, 1.030, 2.696, 0.673, 0.515, 1 / 32, 0.194, 0.242),
}


def _latencies(network: Dragonfly, pairs: list[tuple[int, int]]) -> tuple[list[float], list[int]]:
    """Send one small packet between each pair, long after the one before; return latencies and links crossed."""
    jobs = [listed([a, b], [(0, 1, 100)], start_s=2e-6 * i) for i, (a, b) in enumerate(pairs)]
    result = simulator(network, crossbar=4.0).run(jobs)
    return [job.latency_sum_s for job in result.jobs], [job.hops for job in result.jobs]


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_zero_load_latency_of_every_pair(arrangement: str) -> None:
    """In an empty network every pair's latency is the sum over its links of link, input, output and a crossbar
    cycle.
    """
    network = Dragonfly(2, 4, 9, arrangement)
    pairs = list(itertools.permutations(range(network.nodes), 2))
    latency_s, links = _latencies(network, pairs)
    expected = [links_between(network, a, b) for a, b in pairs]
    assert links == expected
    assert np.allclose(latency_s, PER_LINK_S * np.array(expected), rtol=1e-12)


@pytest.mark.parametrize("size", [(4, 4, 17), (4, 8, 17), (4, 4, 33), (4, 8, 33)])
def test_zero_load_latency_of_the_thesis_machines(size: tuple[int, int, int]) -> None:
    """The same holds from a node to all others on the machines of the text."""
    network = Dragonfly(*size)
    pairs = [(network.nodes // 3, b) for b in range(network.nodes) if b != network.nodes // 3]
    latency_s, links = _latencies(network, pairs)
    expected = [links_between(network, a, b) for a, b in pairs]
    assert links == expected
    assert np.allclose(latency_s, PER_LINK_S * np.array(expected), rtol=1e-12)


@pytest.mark.parametrize("size", TABLE)
def test_channel_loads_are_those_of_the_table(size: tuple[int, int, int]) -> None:
    """Loads per injected flit are within 2 % of the computed bounds, mean hops within 0.1 %."""
    network, known = Dragonfly(*size), TABLE[size]
    minimal, valiant = channel_loads(network), channel_loads(network, routing="valiant", inside=False)
    groups = range(1, network.groups)
    found = [
        minimal.saturation(LOCAL),
        minimal.saturation(GLOBAL),
        minimal.mean_router_links,
        valiant.saturation(LOCAL),
        valiant.saturation(GLOBAL),
        min(channel_loads(network, "adversarial", shift=shift).saturation() for shift in groups),
    ]
    for arrangement in ("absolute", "circulant"):
        machine = Dragonfly(*size, arrangement)
        found.append(
            min(channel_loads(machine, "adversarial", routing="valiant", shift=shift).saturation() for shift in groups)
        )
    assert found == pytest.approx(known, rel=0.02)
    assert found[2] == pytest.approx(known[2], rel=0.001)


@pytest.mark.parametrize("routing", ["minimal", "valiant"])
@pytest.mark.parametrize("pattern", ["uniform", "adversarial"])
def test_measured_loads_are_the_computed_ones(routing: str, pattern: str) -> None:
    """At a load that the network accepts, every channel carries what the routes say, and packets make as many hops."""
    load = 0.1 if pattern == "adversarial" else 0.4
    simulated = simulator(routing=routing, crossbar=4.0)
    got = offered(simulated, pattern, load, warmup_s=100e-6, measure_s=6000e-6, packet_bytes=256)
    want = channel_loads(SMALL, pattern, routing=routing)
    ports = want.load.size
    busy = want.load > 0.05
    measured = got.channel_load[:ports] / got.injected_load
    assert got.accepted == pytest.approx(load, rel=0.01)
    for kind in (LOCAL, GLOBAL):
        chosen = busy & (want.kind == kind)
        assert measured[chosen].mean() == pytest.approx(want.load[chosen].mean(), rel=0.02)
    assert np.abs(measured / np.maximum(want.load, 0.05) - 1)[busy].max() < 0.15
    assert not measured[want.load == 0].any()
    assert got.mean_router_links == pytest.approx(want.mean_router_links, rel=0.005)


@pytest.mark.parametrize(("size", "bound"), [((2, 4, 9), 1 / 8), ((4, 4, 17), 1 / 16), ((4, 8, 17), 1 / 32)])
@pytest.mark.parametrize("crossbar", [1.0, 4.0])
def test_adversarial_minimal_saturates_at_its_bound(size: tuple[int, int, int], bound: float, crossbar: float) -> None:
    """All nodes of a group sending to the next share one global link: within 2 % of its bandwidth gets through."""
    got = offered(simulator(Dragonfly(*size), crossbar=crossbar), "adversarial", 0.3, warmup_s=200e-6, measure_s=150e-6)
    assert got.accepted == pytest.approx(bound, rel=0.02)


@pytest.mark.parametrize("size", [(2, 4, 9), (4, 4, 17)])
@pytest.mark.parametrize("case", ["uniform minimal", "uniform valiant", "adversarial valiant"])
def test_other_traffic_reaches_most_of_its_bound(size: tuple[int, int, int], case: str) -> None:
    """With a crossbar four times as fast as links, at least 85 % of what the busiest channel allows gets through."""
    pattern, routing = case.split()
    network = Dragonfly(*size)
    bound = channel_loads(network, pattern, routing=routing).saturation()
    got = offered(simulator(network, routing=routing, crossbar=4.0), pattern, 1.0, warmup_s=100e-6, measure_s=60e-6)
    assert got.accepted >= 0.85 * bound
    if pattern == "uniform":
        assert got.accepted <= 1.01 * bound


def test_adaptive_routings_beat_minimal_under_adversarial_traffic() -> None:
    """Adaptive-local and UGAL find the detours that minimal routing does not take: at least three times its
    throughput.
    """
    for routing in ROUTINGS[2:]:
        got = offered(simulator(routing=routing, crossbar=4.0), "adversarial", 1.0, warmup_s=60e-6, measure_s=60e-6)
        assert got.accepted > 3 / 8


def test_sst_minimal() -> None:
    """Four all-to-alls of 1 KB on 272 nodes take what SST 11.1 says, 2710 to 2719 µs, within 2 %."""
    result = simulator(Dragonfly(4, 4, 17), crossbar=4.0).run(four_jobs())
    assert result.packets_delivered == 4 * 128 * 126 * 2
    assert result.communication_s.min() > 0.98 * 2710e-6
    assert result.communication_s.max() < 1.02 * 2719e-6


@pytest.mark.parametrize(("senders", "messages"), [(1, 40), (7, 20), (40, 5)])
def test_incast(senders: int, messages: int) -> None:
    """Senders, k of them, with m packets of size S each to one receiver take k·m·S/B, the bandwidth of one host link,
    and a latency.
    """
    rounds = [[(i + 1, 0, 1024 - 45) for i in range(senders)]] * messages
    result = simulator(crossbar=4.0).run([listed(list(range(senders + 1)), *rounds)])
    last_head_s = (senders * messages - 1) * 1024 / 1e9  # a packet counts when its head is there
    assert last_head_s < result.jobs[0].elapsed_s < last_head_s + 1e-6


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_one_link_is_an_md1_queue(load: float) -> None:
    """Poisson packets of one length before one link without limits wait ρS/(2(1 − ρ)) on average."""
    alone = Simulator(Dragonfly(2, 1, 1), crossbar=1.0, buffers=Buffers(10**9, 10**9), latencies=Latencies(0, 0, 0))
    got = offered(alone, "uniform", load, sources=[0], warmup_s=1e-3, measure_s=0.4, packet_bytes=1024)
    service_s = 1024 / 1e9
    crossbar_cycles_s = 2 * 8e-9
    assert got.mean_latency_s - crossbar_cycles_s == pytest.approx(load * service_s / 2 / (1 - load), rel=0.02)


def test_slower_global_links_take_their_time() -> None:
    """A stream over a global link of a quarter of the bandwidth takes four times as long."""
    times = []
    for global_bps in (8e9, 2e9):
        network = Dragonfly(2, 4, 9, global_bps=global_bps)
        other = next(n for n in range(8, 72) if network.gateway[0, n // 8] == 0)
        result = run(network, [listed([0, other], [(0, 1, 10_000)] * 50)], crossbar=4.0)
        times.append(result.jobs[0].elapsed_s)
    assert times[1] / times[0] == pytest.approx(4.0, rel=0.02)


def test_tasks_of_one_node_do_not_use_the_network() -> None:
    """Messages between tasks of a node take the memory's latency and cross no link."""
    job = PacketJob([5], "all-to-all", tasks_per_node=4)
    result = simulator().run([job])
    assert (result.hops, result.packets_made, result.local_messages) == (0, 0, 12)
    assert result.jobs[0].elapsed_s == pytest.approx(3 * 100e-9)
