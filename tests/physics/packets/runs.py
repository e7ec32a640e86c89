"""A run with everything on, as a digest: the same again, in threads and without compilation; and the graph of
dependencies.
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np

from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import Communicate, Compute, PacketJob, Wait
from wattline.physics.packets.offered import offered
from wattline.physics.packets.simulator import Simulator
from wattline.physics.packets.wiring import Buffers

TINY = Dragonfly(2, 3, 4)
ROUTINGS = ("minimal", "valiant", "adaptive-local", "ugal")


def jobs(seed: int = 0) -> list[PacketJob]:
    """Return jobs that use every kind of phase and message."""
    overlap = [Communicate("halo3d26", 700, wait=False), Compute(2e-6), Wait(), Communicate("allreduce", 8)]
    return [
        PacketJob(np.arange(0, 24, 2), "all-to-all", seed=seed),
        PacketJob(np.arange(1, 24, 3), overlap, seed=seed, repeat=2),
        PacketJob([3, 23, 7], [Communicate("broadcast", 13_000), Communicate("random-ring", seed=seed)], start_s=1e-6),
        PacketJob([5, 6, 18], "rma-broadcast", message_bytes=2000, background=True),
    ]


def fingerprint(seed: int = 0) -> str:
    """Return a digest of all that runs with every routing say, jobs and open loop."""
    digest = hashlib.sha256()
    for routing in ROUTINGS:
        simulator = Simulator(TINY, routing=routing, crossbar=2.0, buffers=Buffers(2048, 2048))
        result = simulator.run(jobs(seed), seed=seed, interval=7e-6)
        assert result.intervals is not None
        for counters in (result.counters, result.intervals):
            for array in vars(counters).values():
                digest.update(array.tobytes())
        for job in result.jobs:
            digest.update(repr((job.end_s, job.packets, job.hops, job.latency_sum_s)).encode())
            digest.update(job.iteration_end_s.tobytes())
        got = offered(simulator, "uniform", 0.8, warmup_s=3e-6, measure_s=6e-6, seed=seed)
        digest.update(repr((got.accepted, got.packets, got.mean_latency_s, got.mean_router_links)).encode())
    return digest.hexdigest()


def dependencies(size: tuple[int, int, int], routing: str) -> dict[int, set[int]]:
    """Walk all routes with all detours by the engine's own ``route``; return which output lane waits for which.

    It calls kernels from Python, so it needs NUMBA_DISABLE_JIT=1.
    """
    from wattline.physics.packets.kernels import codes
    from wattline.physics.packets.kernels import routing as rules
    from wattline.physics.packets.layout import reset

    network = Dragonfly(*size)
    simulator = Simulator(network, routing=routing)
    s = simulator.state
    reset(s, simulator.setting, 0)
    s.pk_flits[0] = 1
    graph: dict[int, set[int]] = {}
    wanted = [-1]
    rules.choose_detour = lambda *_: wanted[0]  # type: ignore[assignment]
    detours = [-1] if routing == "minimal" else range(-1, network.groups + network.routers)
    for a in range(0, network.nodes, network.nodes_per_router):
        for b in range(0, network.nodes, network.nodes_per_router):
            for detour in detours:
                here, there = network.group_of(a), network.group_of(b)
                inside = detour - network.groups
                if detour >= network.groups and (
                    here != there
                    or network.group_of_router(inside) != here
                    or inside in (network.router_of(a), network.router_of(b))
                ):
                    continue
                if 0 <= detour < network.groups and detour in (here, there):
                    continue
                if here == there and 0 <= detour < network.groups:
                    continue
                wanted[0] = detour
                s.pk_dst[0], s.pk_mid[0] = b, -1
                lane = s.peer[s.option[codes.O_ROUTER_PORTS] + a] * 4
                before = -1
                while True:
                    out = int(rules.route(s, 0, int(lane), 0))
                    assert out % 4 < simulator.setting.lanes, "a channel that does not exist"
                    graph.setdefault(out, set())
                    if before >= 0:
                        graph[before].add(out)
                    before = out
                    other = int(s.peer[out // 4])
                    if other >= s.option[codes.O_ROUTER_PORTS]:
                        break
                    lane = other * 4 + out % 4
    return graph


if __name__ == "__main__":
    if sys.argv[1:] == ["graph"]:
        from graphlib import TopologicalSorter

        for machine in ((1, 4, 5), (1, 3, 7), (1, 2, 5)):
            for name in ("minimal", "valiant"):
                found = dependencies(machine, name)
                sys.stdout.write(f"{len(list(TopologicalSorter(found).static_order()))} {len(found)}\n")
    else:
        sys.stdout.write(fingerprint())
