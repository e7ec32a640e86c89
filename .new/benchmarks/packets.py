"""Speed of the packet engine: packet-hops per CPU-second, and CPU time of the runs that a study of placement makes.

A packet-hop is one packet that crosses one link, between two routers or between a router and a node. Buffers are
finite.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows import Rows, row
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import PacketJob
from wattline.physics.packets.simulator import Simulator
from wattline.policies.place.allocate import allocate_all

GOAL, LEAST = 5e6, 3.8e6
"""Packet-hops per CPU-second to aim at, and not to fall below; SST did 43 thousand on the first case."""
STUDY_RUNS, STUDY_S, CORES = 9000, 300.0, 2
"""1000 random workloads under nine policies in five minutes."""
POLICIES = ("simple", "slurm", "rdn", "rdr", "rdg", "rrn", "rrr", "jokanovic", "level-spread")
PATTERNS = ("all-to-all", "broadcast", "fft3d", "halo2d", "halo3d", "halo3d26")


def _quarters(network: Dragonfly, nodes: int) -> list[PacketJob]:
    """Four jobs of so many nodes each, side by side, ranks in node order, all-to-all of 1 KB."""
    return [PacketJob(np.arange(nodes * i, nodes * (i + 1)), "all-to-all", mapping="order") for i in range(4)]


def packet_hops(quick: bool) -> Rows:
    """Four all-to-alls at once, on 272 nodes (the case that SST was run on) and on 1056."""
    rows = []
    cases = [((4, 4, 17), 64, routing) for routing in ("minimal", "adaptive-local", "ugal")] + [
        ((4, 8, 33), 64, "minimal")
    ]
    for size, nodes, routing in cases:
        network = Dragonfly(*size)
        simulator = Simulator(network, routing=routing, crossbar=4.0)
        results = [simulator.run(_quarters(network, nodes)) for _ in range(5 if quick else 15)]
        rate = max(result.hops / result.cpu_s for result in results)
        told = f"packets: 4 × {nodes} nodes all-to-all 1 KB on {network.nodes} nodes, {routing}"
        shown = f"{rate / 1e6:.1f} M packet-hops a CPU-second ({rate / 43e3:,.0f} × SST)"
        rows.append(row(told, shown, "≥ 5 M (least 3.8 M)", met=rate >= GOAL, rate=rate, least=LEAST))
    return rows


def _workload(rng: np.random.Generator) -> list[tuple[int, str]]:
    """Draw a workload of the random study: small jobs first, (nodes, pattern) each."""
    large, small = int(rng.integers(17, 137)), int(rng.integers(2, 17))
    n_large = int(rng.integers(1, (272 - small) // large + 1))
    n_small = int(rng.integers(1, (272 - n_large * large) // small + 1))
    one, two = rng.choice(PATTERNS, 2)
    return [(small, str(one))] * n_small + [(large, str(two))] * n_large


def _placed(network: Dragonfly, workload: list[tuple[int, str]], policy: str, seed: int) -> list[PacketJob]:
    placed = allocate_all(policy, network, [size for size, _ in workload], seed)
    return [
        PacketJob(nodes, pattern, seed=seed + i)
        for i, (nodes, (_, pattern)) in enumerate(zip(placed, workload, strict=True))
    ]


def random_workloads(quick: bool) -> Rows:
    """A sample of the random workloads of the placement study, placed and simulated, and what all of them would
    take.
    """
    network = Dragonfly(4, 4, 17)
    simulator = Simulator(network, routing="adaptive-local", crossbar=4.0)
    rng = np.random.default_rng(1)
    simulator.run(_placed(network, _workload(rng), "simple", 0))
    count = 15 if quick else 60
    began = time.thread_time()
    for seed in range(count):
        workload = _workload(rng)
        for policy in POLICIES:
            simulator.run(_placed(network, workload, policy, seed), seed=seed)
    each_s = (time.thread_time() - began) / count / len(POLICIES)
    whole_s = each_s * STUDY_RUNS / CORES
    told = f"packets: a random workload placed and simulated on 272 nodes (mean of {count} × {len(POLICIES)})"
    shown = f"{each_s * 1e3:.0f} ms; {STUDY_RUNS:,} of them on {CORES} cores {whole_s:.0f} s"
    return [row(told, shown, "≤ 300 s", met=whole_s <= STUDY_S, s=each_s)]


CASES = [packet_hops, random_workloads]
