"""Open-loop traffic at a given load: what a network accepts, and how long packets take.

Importing this imports numba.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.errors import InputError, did_you_mean
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.kernels import codes as c
from wattline.physics.packets.kernels.engine import begin_open
from wattline.physics.packets.layout import reset
from wattline.physics.packets.simulator import Simulator
from wattline.physics.packets.wiring import PS_PER_S, Buffers, Latencies, Protocol

TRAFFIC = ("uniform", "adversarial")


@dataclass(frozen=True, eq=False)
class Offered:
    """Open-loop traffic in the measured window.

    Loads are fractions of a host link's bandwidth, a mean over sending nodes.

    ``mean_latency_s`` counts from the time a packet was made; packets that had not arrived at the end are not in
    it, so it means little beyond saturation. ``mean_router_links`` counts links between routers. ``channel_load``
    is, for every port, the share of time its link was sending.
    """

    load: float
    accepted: float
    packets: int
    mean_latency_s: float
    mean_router_links: float
    channel_load: npt.NDArray[np.float64]
    injected_load: float


def offered(
    network: Dragonfly | Simulator,
    pattern: str = "uniform",
    load: float = 1.0,
    *,
    packet_bytes: int = 1024,
    warmup_s: float = 50e-6,
    measure_s: float = 100e-6,
    shift: int = 1,
    sources: npt.ArrayLike | None = None,
    seed: int = 0,
    routing: str = "minimal",
    crossbar: float = 1.0,
    buffers: Buffers | None = None,
    latencies: Latencies | None = None,
    inside: bool = True,
) -> Offered:
    """Let every node (or ``sources``) make packets at random (Poisson) times and measure after a warm-up.

    *uniform*: to any other node; *adversarial*: to the nodes of the group ``shift`` groups on. A ``Simulator`` in
    place of the network brings its own parameters.
    """
    simulator = (
        network
        if isinstance(network, Simulator)
        else Simulator(
            network,
            routing=routing,
            crossbar=crossbar,
            buffers=buffers,
            latencies=latencies,
            protocol=Protocol(packet_bytes=max(packet_bytes, 1)),
            inside=inside,
        )
    )
    _check(simulator.network, pattern, load, packet_bytes, shift)
    flits = -(-packet_bytes // c.FLIT_BYTES)
    sending = _prepare(simulator, pattern, flits / load, flits, shift, sources, seed)
    began, stop = round(warmup_s * PS_PER_S), round((warmup_s + measure_s) * PS_PER_S)
    simulator.state.option[c.O_FROM_PS] = began
    simulator.advance(began)
    before, sent = simulator.state.flits.copy(), int(simulator.state.sent_flits.sum())
    simulator.advance(stop)
    s = simulator.state
    flit_ps = simulator.setting.wiring.flit_ps
    capacity = (stop - began) / flit_ps
    seen = int(s.tally[c.S_SEEN])
    window = sending * capacity[-1]
    return Offered(
        load=load,
        accepted=float(s.tally[c.S_GOT_FLITS]) / window,
        packets=seen,
        mean_latency_s=float(s.tally[c.S_LATENCY]) / seen / PS_PER_S if seen else float("nan"),
        mean_router_links=float(s.tally[c.S_SEEN_HOPS]) / seen - 2 if seen else float("nan"),
        channel_load=(s.flits - before) / capacity,
        injected_load=(int(s.sent_flits.sum()) - sent) / window,
    )


def _check(network: Dragonfly, pattern: str, load: float, packet_bytes: int, shift: int) -> None:
    if pattern not in TRAFFIC:
        raise InputError(f"packets: unknown traffic {pattern!r}{did_you_mean(pattern, TRAFFIC)}")
    if not 0 < load <= 10:
        raise InputError(f"packets: the offered load is a fraction of the host link's bandwidth above 0, got {load:g}")
    if packet_bytes < 1:
        raise InputError(f"packets: a packet has at least 1 byte, got {packet_bytes}")
    if network.nodes < 2 or (pattern == "adversarial" and shift % network.groups == 0):
        raise InputError(
            f"packets: {pattern} traffic needs another {'node' if pattern == 'uniform' else 'group'} to go to"
        )


def _prepare(
    simulator: Simulator,
    pattern: str,
    gap_flits: float,
    flits: int,
    shift: int,
    sources: npt.ArrayLike | None,
    seed: int,
) -> int:
    """Empty the network and schedule the first packets; return how many nodes send."""
    s, network = simulator.state, simulator.network
    reset(s, simulator.setting, seed)
    s.tally[c.S_LEFT] = 1
    option = s.option
    option[c.O_OPEN], option[c.O_PATTERN], option[c.O_FLITS] = 1, TRAFFIC.index(pattern), flits
    option[c.O_GAP_PS] = round(gap_flits * int(simulator.setting.wiring.flit_ps[-1]))
    option[c.O_SHIFT] = ((shift % network.groups) << 32) | network.nodes_per_group
    if sources is not None:
        chosen = np.asarray(sources, dtype=np.int64)
        s.made_at[:] = -1
        s.made_at[chosen] = 0
    sending = int(np.count_nonzero(s.made_at >= 0))
    begin_open(s)
    return sending
