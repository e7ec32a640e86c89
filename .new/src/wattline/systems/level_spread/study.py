"""The Level-Spread study: place every workload by every policy, let all jobs communicate at once, packet by packet."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats
from wattline.model.networks.dragonfly import Dragonfly
from wattline.systems.level_spread.cases import (
    BEYOND,
    HASTY,
    LARGE,
    LEVEL_SPREAD,
    POLICIES,
    SMALL,
    Job,
    Scale,
    Setting,
    jobs_of,
    settings,
)
from wattline.systems.work import Work

if TYPE_CHECKING:
    from wattline.arrays import Ints
    from wattline.physics.packets.result import PacketResult
    from wattline.physics.packets.simulator import Simulator

ROUTING = "adaptive-local"
AT_ONCE, FEW = 25, 20
"""Seeds that a process takes at once; so few tasks are not worth a second process."""

PORTS = ("host", "local", "global")
"""Ports of routers by what they lead to; packets and stalls are told of each kind apart."""
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Task:
    """Some seeds of a setting, under all policies."""

    setting: Setting
    seeds: range

    def __str__(self) -> str:
        return f"{self.setting}, seeds {self.seeds.start} to {self.seeds.stop - 1}"


@dataclass(frozen=True)
class Found:
    """What came of a setting.

    ``time_s[policy, seed, size]`` is the mean communication time of the small and the large jobs (NaN: there are none).
    The others, ``[policy, seed, host, local or global]``, hold mean and quantiles over ports of routers: packets sent
    over the link, time that it lacked credits, time that packets which had come over it waited for the crossbar.
    """

    time_s: Floats
    packets: Floats
    stall_s: Floats
    held_s: Floats
    cpu_s: float
    runs: int
    hops: int

    def joined(self, other: Found) -> Found:
        """Return these seeds and those of another together."""
        time_s, packets, stall_s, held_s = (
            np.concatenate([getattr(self, name), getattr(other, name)], axis=1)
            for name in ("time_s", "packets", "stall_s", "held_s")
        )
        cpu_s, runs, hops = self.cpu_s + other.cpu_s, self.runs + other.runs, self.hops + other.hops
        return Found(time_s, packets, stall_s, held_s, cpu_s, runs, hops)

    def of(self, policy: str, size: int) -> Floats:
        """Return the communication times with a policy, a number a seed."""
        return self.time_s[list(POLICIES).index(policy), :, size]

    def over(self, policy: str, size: int, base: str = LEVEL_SPREAD) -> Floats:
        """Return the communication times with a policy over those with another, a number a seed."""
        return self.of(policy, size) / self.of(base, size)

    def mean_over(self, policy: str, size: int, base: str = LEVEL_SPREAD) -> float:
        """Return mean time over mean time, as figures of repeated workloads have it."""
        return float(self.of(policy, size).mean() / self.of(base, size).mean())


@dataclass
class Study:
    """Everything that was found, by setting."""

    scale: Scale
    found: dict[Setting, Found] = field(default_factory=dict)


@functools.lru_cache(maxsize=3)
def simulator_of(network: Dragonfly, crossbar: float) -> Simulator:
    """Return this process's simulator of a machine."""
    from wattline.physics.packets.simulator import Simulator

    return Simulator(network, routing=ROUTING, crossbar=crossbar)


@functools.lru_cache(maxsize=4096)
def bytes_per_s(network: Dragonfly, nodes: int, pattern: str) -> float:
    """Return what a node of a job sends a second with nobody and no link in the way, as somebody who measured it would
    know.
    """
    from wattline.physics.packets.jobs import PacketJob

    ideal = replace(network, local_bps=1000 * network.local_bps, global_bps=1000 * network.local_bps)
    alone = simulator_of(ideal, 1.0).run([PacketJob(np.arange(nodes), pattern)])
    return float(alone.jobs[0].bytes / nodes / alone.communication_s[0])


def place(policy: str, network: Dragonfly, jobs: Sequence[Job], seed: int) -> list[Ints]:
    """Place jobs one after another on an empty machine by a policy of the study; return the nodes of each."""
    from wattline.policies.place.allocate import allocate_all

    sent = [bytes_per_s(network, job.nodes, job.pattern) for job in jobs] if policy in (BEYOND, HASTY) else None
    sizes = [job.nodes for job in jobs]
    return allocate_all(POLICIES[policy], network, sizes, seed, bytes_per_s=sent, ahead=policy != HASTY)


def communicate(setting: Setting, jobs: Sequence[Job], placed: Sequence[Ints], seed: int) -> PacketResult:
    """Let all jobs run at once. Task mappings depend on the seed and the job's number, not on the policy."""
    from wattline.physics.packets.jobs import PacketJob

    work = [
        PacketJob(nodes, job.pattern, 1024 * job.kib, seed=1000 * seed + i)
        for i, (job, nodes) in enumerate(zip(jobs, placed, strict=True))
    ]
    return simulator_of(setting.network(), setting.crossbar).run(work, seed=seed)


def carry_out(task: Task) -> Found:
    """Run every policy on every seed; what policies place alike is run once."""
    began, setting = time.process_time(), task.setting
    shape = (len(POLICIES), len(task.seeds))
    ran = setting.policies()
    time_s = np.zeros((*shape, 2))
    time_s[[p for p, policy in enumerate(POLICIES) if policy not in ran]] = np.nan
    packets, stall_s, held_s = np.zeros((3, *shape, len(PORTS), 1 + len(QUANTILES)))
    runs = hops = 0
    for k, workload in enumerate(task.seeds):
        jobs = jobs_of(setting, workload)
        for repeat in range(setting.repeats):
            seed = 100 * workload + repeat
            known: dict[bytes, list[Floats]] = {}
            for policy in ran:
                p = list(POLICIES).index(policy)
                placed = place(policy, setting.network(), jobs, seed)
                key = np.concatenate(placed).tobytes()
                if key not in known:
                    result = communicate(setting, jobs, placed, seed)
                    known[key] = [_times(jobs, result), *_ports(result)]
                    runs, hops = runs + 1, hops + result.hops
                for array, values in zip((time_s, packets, stall_s, held_s), known[key], strict=True):
                    array[p, k] += values / setting.repeats
    return Found(time_s, packets, stall_s, held_s, time.process_time() - began, runs, hops)


def _times(jobs: Sequence[Job], result: PacketResult) -> Floats:
    size = np.array([job.size for job in jobs])
    return np.array([result.communication_s[size == s].mean() if (size == s).any() else np.nan for s in (SMALL, LARGE)])


def _ports(result: PacketResult) -> list[Floats]:
    """Return mean and quantiles of packets and stalls over the ports of routers, by kind."""
    count, counters = result.ports.router_ports, result.counters
    kind, out = result.ports.kind[:count], []
    for values in (counters.packets, counters.stall_s, counters.crossbar_stall_s):
        rows = [values[:count][kind == k] for k in range(len(PORTS))]
        out.append(np.array([[row.mean(), *np.quantile(row, QUANTILES)] for row in rows]))
    return out


def run_study(scale: Scale, work: Work) -> Study:
    """Carry everything out."""
    study = Study(scale)
    todo = [
        Task(setting, range(first, min(first + AT_ONCE, seeds)))
        for setting, seeds in settings(scale).items()
        for first in range(0, seeds, AT_ONCE)
    ]
    work.say(f"{sum(len(task.seeds) for task in todo):,} workloads, {len(POLICIES)} policies")
    workers = 1 if len(todo) <= FEW else None
    work.plan(len(todo))
    tiny = Task(Setting("1x4", pattern="broadcast"), range(1))
    made = work.each(carry_out, todo, workers=workers, first=lambda: carry_out(tiny))
    for task, found in zip(todo, made, strict=True):
        known = study.found.get(task.setting)
        study.found[task.setting] = known.joined(found) if known else found
    return study
