"""Metrics of congestion from the counters of ports: stalls and flits of network and processor tiles, traffic of
routers.

A *stall* is a flit's time on the port's link during which a packet at the head of the port's input buffers waited
for the crossbar, as the counters of an Aries router's input queues have it; flits of a network tile are those that
came in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.physics.packets.kernels.codes import FLIT_BYTES, GLOBAL, HOST, LOCAL
from wattline.physics.packets.result import PacketResult
from wattline.physics.packets.wiring import PS_PER_S

NETWORK_KINDS = {"local": LOCAL, "global": GLOBAL}
"""Classes of links between routers: electrical and optical ones of the text."""


@dataclass(frozen=True, eq=False)
class TileSamples:
    """Rates of the network tiles of a machine: a row an interval, a column a port between routers."""

    stalls: Floats  # per second
    flits: Floats  # per second, incoming
    router: Ints  # of every column
    kind: Ints  # of every column


def tile_samples(result: PacketResult, since_s: float = 0.0) -> TileSamples:
    """Return the samples of a run from a time on; intervals that begin earlier are left out."""
    ports = result.ports
    columns = np.flatnonzero(ports.kind[: ports.router_ports] != HOST)
    rows, seconds = _rows(result, since_s)
    counters = result.intervals
    assert counters is not None  # noqa: S101  # _rows refuses a run without intervals
    flit_s = ports.flit_ps[columns] / PS_PER_S
    stalls = counters.crossbar_stall_s[rows][:, columns] / flit_s / seconds[:, None]
    flits = counters.flits[rows][:, ports.peer[columns]] / seconds[:, None]
    return TileSamples(stalls, flits, ports.router[columns], ports.kind[columns])


def _rows(result: PacketResult, since_s: float) -> tuple[slice, Floats]:
    """Return which intervals begin at a time or later, and how long each lasted."""
    if result.intervals is None or result.interval_s is None:
        raise InputError("packets: metrics need counters by interval; run with interval=")
    count = len(result.intervals.flits)
    first = int(np.ceil(since_s / result.interval_s - 1e-9))
    if first >= count:
        raise InputError(f"packets: no interval begins at {since_s:g} s or later, the run ended at {result.time_s:g} s")
    seconds = np.full(count, result.interval_s)
    seconds[-1] = max(result.time_s - (count - 1) * result.interval_s, 1 / PS_PER_S)
    return slice(first, count), seconds[first:]


def stall_thresholds(samples: Sequence[TileSamples]) -> dict[str, float]:
    """Return the median of the stalls per second of each class of links, over all ports and intervals given."""
    return {
        name: float(np.median(np.concatenate([s.stalls[:, s.kind == kind].ravel() for s in samples])))
        if any((s.kind == kind).any() for s in samples)
        else 0.0
        for name, kind in NETWORK_KINDS.items()
    }


def stall_flit_ratio(samples: TileSamples, thresholds: Mapping[str, float], routers: npt.ArrayLike) -> float:
    """Return the mean stall/flit ratio of the network tiles of some routers (the ntile stall/flit ratio).

    A sample with fewer stalls per second than its class's threshold says nothing and is left out, and so is one without
    flits; a port's ratio is the mean of its samples, the ratio of the routers the mean over their ports. A port
    without a sample left counts as 0: nothing worth counting stalled there.
    """
    limit = np.zeros(samples.kind.size)
    for name, kind in NETWORK_KINDS.items():
        limit[samples.kind == kind] = thresholds[name]
    here = np.isin(samples.router, np.asarray(routers))
    if not here.any():
        raise InputError("packets: none of these routers has a port to another router")
    stalls, flits = samples.stalls[:, here], samples.flits[:, here]
    kept = (stalls >= limit[here]) & (flits > 0)
    ratio = np.divide(stalls, flits, out=np.zeros_like(stalls), where=kept)
    return float((ratio.sum(axis=0) / np.maximum(kept.sum(axis=0), 1)).mean())


def tile_stalls(samples: TileSamples, routers: npt.ArrayLike) -> float:
    """Return the mean stalls per second of the network tiles of some routers (ntile stalls)."""
    return float(samples.stalls[:, np.isin(samples.router, np.asarray(routers))].mean())


@dataclass(frozen=True)
class HostRates:
    """Means over nodes: flits per second received, stalls per second of what a node sends at its router's port."""

    flits: float
    stalls: float


def host_rates(result: PacketResult, nodes: npt.ArrayLike, since_s: float = 0.0) -> HostRates:
    """Return the rates of the processor tiles of some nodes.

    A node takes whatever its link brings, so that a router's port toward it never stalls for credits. Stalls are
    those of the other direction: packets from the node that wait for the crossbar.
    """
    rows, seconds = _rows(result, since_s)
    counters, ports = result.intervals, result.ports
    assert counters is not None  # noqa: S101  # _rows refuses a run without intervals
    node = np.asarray(nodes)
    port = ports.peer[ports.router_ports + node]
    flit_s = ports.flit_ps[port] / PS_PER_S
    total_s = float(seconds.sum())
    stalls = counters.crossbar_stall_s[rows][:, port].sum(axis=0) / flit_s / total_s
    flits = counters.received_bytes[rows][:, node].sum(axis=0) / FLIT_BYTES / total_s
    return HostRates(float(flits.mean()), float(stalls.mean()))


def router_traffic(result: PacketResult, since_s: float = 0.0) -> Floats:
    """Return bytes per second of every router: what its nodes sent and received (NeDD's traffic)."""
    rows, seconds = _rows(result, since_s)
    counters = result.intervals
    assert counters is not None  # noqa: S101  # _rows refuses a run without intervals
    by_node = counters.injected_bytes[rows].sum(axis=0) + counters.received_bytes[rows].sum(axis=0)
    routers = int(result.ports.node_router.max()) + 1
    return np.bincount(result.ports.node_router, by_node, routers) / float(seconds.sum())


def router_stalls(result: PacketResult, since_s: float = 0.0) -> Floats:
    """Return stalls per second of every router, added over all its ports (Low-Stall's measure)."""
    rows, seconds = _rows(result, since_s)
    counters, ports = result.intervals, result.ports
    assert counters is not None  # noqa: S101  # _rows refuses a run without intervals
    own = slice(0, ports.router_ports)
    by_port = counters.crossbar_stall_s[rows][:, own].sum(axis=0) / (ports.flit_ps[own] / PS_PER_S)
    routers = int(ports.node_router.max()) + 1
    return np.bincount(ports.router[own], by_port, routers) / float(seconds.sum())


def correlation(metric: npt.ArrayLike, time_s: npt.ArrayLike) -> float:
    """Return Pearson's correlation of a metric with execution times; 0 where one of them does not vary.

    >>> round(correlation([1, 2, 3], [10, 20, 30]), 3), correlation([1, 1, 1], [1, 2, 3])
    (1.0, 0.0)
    """
    x, y = np.asarray(metric, dtype=float), np.asarray(time_s, dtype=float)
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else 0.0
