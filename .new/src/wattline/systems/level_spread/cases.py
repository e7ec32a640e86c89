"""The workloads of the Level-Spread study: machines, policies, and which jobs run at once in every setting."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wattline.model.networks.dragonfly import Dragonfly

MACHINES = {272: (4, 4, 17), 544: (4, 8, 17), 528: (4, 4, 33), 1056: (4, 8, 33)}
"""By nodes: nodes of a router, routers of a group, groups."""

RATIOS = (0.25, 1.0, 4.0)
"""Bandwidth of global over local links; local ones have 8 Gbit/s."""

CROSSBARS = (4.0, 1.0)
"""Speed of the crossbars over that of local links. At 1 adaptive routing sees no queue, unless buffers are full."""

PATTERNS = ("all-to-all", "broadcast", "fft3d", "halo2d", "halo3d", "halo3d26")

POLICIES = {
    "Level-Spread": "level-spread",
    "Simple": "lowest",
    "Slurm": "slurm",
    "RDG": "rdg",
    "RDR": "rdr",
    "RRR": "rrr",
    "RDN": "rdn",
    "RRN": "rrn",
    "Jokanovic": "jokanovic",
    "Slurm, best fit": "slurm-best-fit",
    "Jokanovic, released": "jokanovic-released",
    "Least-Contention": "least-contention",
    "Least-Contention, bytes unknown": "least-contention",
    "Least-Contention, queue unknown": "least-contention",
}
"""The thesis's names, and ours."""

BEYOND = "Least-Contention"
"""A policy of our own that goes by loads of links."""
BLIND, HASTY = "Least-Contention, bytes unknown", "Least-Contention, queue unknown"
"""The same without knowing what jobs send, and which jobs are placed next. They run on the 1000 workloads only."""

LEVEL_SPREAD = "Level-Spread"
GROUPING, SPREADING = ("Simple", "Slurm", "RDG"), ("RDR", "RRR", "RDN", "RRN")
BASELINES = (*GROUPING, *SPREADING)
JOKANOVIC = ("Jokanovic", "Jokanovic, released")

SMALL, LARGE = 0, 1


@dataclass(frozen=True)
class Job:
    """One job of a workload."""

    nodes: int
    pattern: str
    kib: int
    size: int
    """SMALL or LARGE."""


@dataclass(frozen=True)
class Setting:
    """What is kept the same while policies and seeds vary.

    ``workload`` is *random*, or jobs by their nodes: *16*, *64*, *quarter* (four of a quarter of the machine) or
    *16+64*, as many as fit into ``used``; or exact numbers, as *17x16* or *3x16+3x64*. Without a ``pattern`` one is
    drawn for small and one for large jobs.
    """

    workload: str = "random"
    machine: int = 272
    ratio: float = 1.0
    crossbar: float = 4.0
    pattern: str = ""
    small_kib: int = 1
    large_kib: int = 1
    used: float = 0.9
    large_first: bool = False
    repeats: int = 1
    """Runs of each workload with other task mappings, of which the mean counts."""

    def network(self) -> Dragonfly:
        """Return the machine."""
        return Dragonfly(*MACHINES[self.machine], global_bps=8e9 * self.ratio)

    def policies(self) -> list[str]:
        """Return the policies that are held against each other here."""
        left_out = () if self == Setting(crossbar=self.crossbar, large_first=self.large_first) else (BLIND, HASTY)
        return [name for name in POLICIES if name not in left_out]

    def __str__(self) -> str:
        plain = Setting()
        told = [
            f"{self.workload}{' ' + self.pattern if self.pattern else ''}",
            f"{self.machine} nodes",
            f"global links × {self.ratio:g}",
            f"crossbar {self.crossbar:g}",
        ]
        if (self.small_kib, self.large_kib) != (1, 1):
            told.append(f"{self.small_kib} and {self.large_kib} KB")
        if self.used != plain.used:
            told.append(f"{self.used:.0%} used")
        if self.large_first:
            told.append("large first")
        if self.repeats > 1:
            told.append(f"{self.repeats} mappings")
        return ", ".join(told)


def jobs_of(setting: Setting, seed: int) -> list[Job]:
    """Return the jobs of a workload in the order in which they are placed."""
    counts = _random(setting, seed) if setting.workload == "random" else _fixed(setting)
    patterns = np.random.default_rng([seed, 2]).integers(0, len(PATTERNS), 2)
    kib = (setting.small_kib, setting.large_kib)
    jobs = [
        Job(nodes, setting.pattern or PATTERNS[patterns[size]], kib[size], size)
        for count, nodes, size in counts
        for _ in range(count)
    ]
    return sorted(jobs, key=lambda job: -job.size if setting.large_first else job.size)


def _random(setting: Setting, seed: int) -> list[tuple[int, int, int]]:
    """Draw sizes and numbers: first large jobs, at most half of the machine each, then small ones that fit a group."""
    random = np.random.default_rng([seed, 1])
    nodes, group = setting.machine, setting.network().nodes_per_group
    large, small = int(random.integers(group + 1, nodes // 2 + 1)), int(random.integers(2, group + 1))
    of_large = int(random.integers(1, (nodes - small) // large + 1))
    of_small = int(random.integers(1, (nodes - of_large * large) // small + 1))
    return [(of_small, small, SMALL), (of_large, large, LARGE)]


def _fixed(setting: Setting) -> list[tuple[int, int, int]]:
    """Read numbers and sizes of jobs; whatever is larger than 16 nodes is a large job."""
    room = int(setting.machine * setting.used)
    if setting.workload == "quarter":
        return [(4, setting.machine // 4, LARGE)]
    parts = [part.rpartition("x") for part in setting.workload.split("+")]
    sizes = [int(size) for _, _, size in parts]
    fitting = room // sum(sizes)
    return [
        (int(count) if count else fitting, size, LARGE if size > 16 else SMALL)
        for (count, _, _), size in zip(parts, sizes, strict=True)
    ]


@dataclass(frozen=True)
class Scale:
    """How much is done: numbers of workloads, and repetitions of those that are fixed."""

    random: int = 1000
    adverse: int = 1000
    """Random workloads with large jobs placed first."""
    fewer: int = 100
    """Both at most at the other crossbars, which are ours: the thesis names none."""
    sampled: int = 50
    """Random workloads at the other link ratios."""
    repeated: int = 25
    """Random workloads of which five task mappings are averaged."""
    single: int = 40
    """Random workloads of each single pattern."""
    fixed: int = 10
    """Repetitions of workloads of 16- and 64-node jobs on 272 nodes."""
    larger: int = 2
    """Repetitions on the other machines, and of mixes of message sizes."""
    heavy: int = 1
    """Repetitions of quarter-machine jobs, and of all-to-all and FFT with 100 KB."""
    machines: tuple[int, ...] = tuple(MACHINES)
    ratios: tuple[float, ...] = RATIOS
    crossbars: tuple[float, ...] = CROSSBARS
    adverse_crossbars: tuple[float, ...] = CROSSBARS
    """At which large jobs are placed first."""
    patterns: tuple[str, ...] = PATTERNS
    mixes: tuple[tuple[int, int], ...] = ((1, 100), (1, 1), (100, 100), (100, 1))
    """KB of small and large jobs."""

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds."""
        return cls(
            random=8,
            adverse=3,
            sampled=0,
            repeated=0,
            single=0,
            fixed=1,
            larger=1,
            heavy=1,
            machines=(272,),
            ratios=(1.0,),
            adverse_crossbars=CROSSBARS[:1],
            patterns=("all-to-all", "halo3d"),
            mixes=(),
        )


def settings(scale: Scale) -> dict[Setting, int]:
    """Return every setting of the study and how many seeds it gets, the most telling first."""
    todo: dict[Setting, int] = {}
    for crossbar in scale.crossbars:
        most = scale.random if crossbar == scale.crossbars[0] else scale.fewer
        todo[Setting(crossbar=crossbar)] = min(scale.random, most)
        if crossbar in scale.adverse_crossbars:
            todo[Setting(crossbar=crossbar, large_first=True)] = min(scale.adverse, most)
    for crossbar in scale.crossbars:
        base = Setting(crossbar=crossbar)
        for pattern in scale.patterns:
            todo[replace(base, pattern=pattern)] = scale.single
            fixed = replace(base, pattern=pattern)
            for workload in ("16", "64", "16+64"):
                for ratio in scale.ratios:
                    todo[replace(fixed, workload=workload, ratio=ratio)] = scale.fixed
            for workload in ("17x16", "4x68"):
                todo[replace(fixed, workload=workload)] = scale.fixed
            for machine in scale.machines:
                if machine != 272:
                    todo[replace(fixed, workload="16+64", machine=machine)] = scale.larger
        for ratio in scale.ratios:
            if ratio != 1.0:
                todo[replace(base, ratio=ratio)] = scale.sampled
    todo |= _at_one_speed(scale)
    return {setting: seeds for setting, seeds in todo.items() if seeds}


def _at_one_speed(scale: Scale) -> dict[Setting, int]:
    """Return what is run at the first crossbar speed only: less use, large messages, quarters of machines."""
    base = Setting(crossbar=scale.crossbars[0])
    todo = {replace(base, repeats=5): scale.repeated}
    for pattern in scale.patterns:
        for workload in ("16", "64", "16+64"):
            todo[replace(base, pattern=pattern, workload=workload, used=0.7)] = scale.larger
        for machine in scale.machines:
            todo[replace(base, pattern=pattern, workload="quarter", machine=machine)] = scale.heavy
        for small, large in scale.mixes:
            heavy = large == 100 and pattern in ("all-to-all", "fft3d")
            mixed = replace(base, pattern=pattern, workload="3x16+3x64", small_kib=small, large_kib=large)
            todo[mixed] = scale.heavy if heavy else scale.larger
    return todo
