"""The cases of the study: machines, settings, applications, and the pieces of work made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.jobs import Communicate, PacketJob
from wattline.systems.nedd.apps import APPLICATIONS, NEDD_APPLICATIONS, READINGS, StandIn, stand_in

if TYPE_CHECKING:
    from wattline.physics.packets.simulator import Simulator


@dataclass(frozen=True)
class Machine:
    """A dragonfly, and whether other users are on it."""

    network: Dragonfly
    shared: bool = False


CORI, ALONE_ON_IT, SINGLE, GROUP = "320 nodes", "320 nodes, nobody else", "272 nodes", "one group of 384"
MACHINES = {
    CORI: Machine(Dragonfly(4, 16, 5, links_per_pair=8), shared=True),
    ALONE_ON_IT: Machine(Dragonfly(4, 16, 5, links_per_pair=8)),
    SINGLE: Machine(Dragonfly(4, 4, 17)),
    GROUP: Machine(Dragonfly(4, 96, 1)),
}
"""What the text measured on, in small: several links between two groups, others' traffic; statements are judged there.

Beside it the same without the others; the machine that Level-Spread was studied on, with a single link between two
groups; and one group of the size of Cori's, 96 routers, all linked.
"""
ROUTING = "adaptive-local"
SETTINGS = ("I continuous", "II spaced", "III continuous + congestor", "IV spaced + congestor")
POLICIES = {
    "Low-Traffic": "low-traffic",
    "High-Traffic": "high-traffic",
    "Low-Stall": "low-stall",
    "Fewer-Router": "fewer-router",
    "Random": "rdn",
    "Level-Spread": "level-spread",
    "Simple": "lowest",
}
"""Placements of the application; NeDD is Low-Traffic for sensitive ones and High-Traffic for the others."""
ALONE = "No-Congestor"
LAYOUTS = ("scattered", "pieces")
"""Where the congestor's nodes are: single ones at random, or pieces of eight neighbours."""
ORDERS = {
    "NeDD, sensitive first": ("low-traffic", "high-traffic", True),
    "NeDD, insensitive first": ("low-traffic", "high-traffic", False),
    "Low-Traffic, sensitive first": ("low-traffic", "low-traffic", True),
    "Low-Traffic, insensitive first": ("low-traffic", "low-traffic", False),
    "Fewer-Router, sensitive first": ("fewer-router", "fewer-router", True),
    "Fewer-Router, insensitive first": ("fewer-router", "fewer-router", False),
    "Random": ("rdn", "rdn", True),
}
"""Beyond the text: policy of the sensitive job, of the other one, and whether the sensitive one is placed first."""

SPAN, SIZE, CONGESTOR, SMALL = 192, 64, 64, 32
"""Nodes of settings I to IV, of the application there and of the congestor; of the application in the NeDD study."""
BLOCK, BLOCKS = 40, 5
"""The NeDD study has five sets of 40 neighbouring nodes."""
OTHERS = 3
"""Jobs of other users on a machine that is shared: of equal size on all other nodes, in the order of their numbers, so
that each spans groups; which of the eight applications they run is drawn.
"""
ROOTS, GET_BYTES, CANARY = 32, 65_536, 0.2
"""Ranks that the congestor reads from, bytes of a read, part of its nodes that run the canary."""
WARM_S, LAST_S, WINDOW_S, STEP_S = 2e-4, 5e-4, 4e-4, 1e-4
"""The congestor's head start, least simulated time of an application, window of the counters, interval of samples."""
SIZES = (16, 32, 64, 86, 106, 128)
"""Nodes of the congestor alone, Fig. 3.20."""
STRENGTHS: dict[str, tuple[str, int, int]] = {
    "read from 1 task": ("rma-broadcast", GET_BYTES, 1),
    "read from 8 tasks": ("rma-broadcast", GET_BYTES, 8),
    "read from 16 tasks": ("rma-broadcast", GET_BYTES, 16),
    "read from 32 tasks": ("rma-broadcast", GET_BYTES, 32),
    "all-to-all": ("all-to-all", 4096, 1),
}
CHOSEN = "read from 32 tasks"

FEW = 60
"""So few pieces are not worth a second process."""


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    machines: tuple[str, ...] = tuple(MACHINES)
    crossbars: tuple[float, ...] = (4.0, 1.0)
    rotations: int = 10
    seeds: int = 10
    trials: int = 3
    applications: tuple[str, ...] = tuple(APPLICATIONS)
    placed: tuple[str, ...] = NEDD_APPLICATIONS
    sizes: tuple[int, ...] = SIZES
    layouts: tuple[str, ...] = LAYOUTS
    strengths: tuple[str, ...] = tuple(STRENGTHS)
    readings: tuple[str, ...] = tuple(READINGS)
    beside: int = 3
    """Rotations and seeds on all machines but the first, and at all crossbar speeds but the first."""

    @classmethod
    def quick(cls) -> Scale:
        """Return a version that takes seconds."""
        return cls(
            (CORI,),
            (4.0,),
            2,
            3,
            1,
            ("HPCG", "LAMMPS", "miniMD"),
            ("miniMD", "HPCG"),
            (32, 128),
            LAYOUTS[:1],
            ("read from 1 task", CHOSEN),
            (),
        )

    def speeds(self, machine: str) -> tuple[float, ...]:
        """Return the crossbar speeds that are tried on a machine: all on the first one, the first on the others."""
        return self.crossbars if machine == self.machines[0] else self.crossbars[:1]

    def is_main(self, machine: str, speed: float) -> bool:
        """Tell whether statements are judged there."""
        return (machine, speed) == (self.machines[0], self.crossbars[0])

    def times(self, machine: str, speed: float, count: int) -> int:
        """Return how often something is repeated."""
        return count if self.is_main(machine, speed) else min(count, self.beside)


@dataclass(frozen=True)
class Task:
    """One piece of work: a kind of experiment on a machine at a crossbar speed, for an application (or a congestor) and
    a seed.
    """

    kind: str
    machine: str
    crossbar: float
    what: str
    seed: int
    layout: str = "scattered"

    def __str__(self) -> str:
        return f"{self.machine}, crossbar {self.crossbar:g}: {self.kind}, {self.what}"

    @property
    def case(self) -> tuple[str, str, float, str, str]:
        """All but the seed."""
        return (self.kind, self.machine, self.crossbar, self.what, self.layout)


Row = dict[str, float]


@dataclass
class Study:
    """Everything that was found: for a case, named numbers with one value a seed."""

    scale: Scale
    found: dict[tuple[str, str, float, str, str], dict[str, Floats]] = field(default_factory=dict)

    def of(
        self, kind: str, machine: str, crossbar: float, what: str, layout: str = "scattered"
    ) -> Mapping[str, Floats]:
        """Return the numbers of a case."""
        return self.found[(kind, machine, crossbar, what, layout)]


@lru_cache(maxsize=2)
def simulator(machine: str, crossbar: float) -> Simulator:
    """Return the network, kept by the process."""
    from wattline.physics.packets.simulator import Simulator

    return Simulator(MACHINES[machine].network, routing=ROUTING, crossbar=crossbar)


@lru_cache(maxsize=64)
def program(machine: str, crossbar: float, name: str, nodes: int) -> StandIn:
    """Return the stand-in of an application on so many neighbouring nodes of the empty machine."""
    return stand_in(name, simulator(machine, crossbar), np.arange(nodes))


def gpcnet(nodes: Ints, seed: int, strength: str = CHOSEN) -> tuple[PacketJob, PacketJob]:
    """Return congestor (80 % of the nodes) and canary (the others), which go on until the others are done."""
    mixed = np.random.default_rng([seed, 7]).permutation(nodes)
    canaries = max(2, round(CANARY * mixed.size))
    pattern, size, roots = STRENGTHS[strength]
    tasks = 2 * (mixed.size - canaries)
    share = max(1, round(roots * tasks / (2 * round((1 - CANARY) * CONGESTOR))))  # as many a node in every size
    congestor = PacketJob(
        mixed[canaries:], [Communicate(pattern, size, roots=share)], background=True, seed=seed, name="congestor"
    )
    steps = [Communicate("random-ring", 8192, seed=seed), Communicate("allreduce", 8)]
    return congestor, PacketJob(mixed[:canaries], steps, background=True, seed=seed, name="canary")


def given(machine: str, seed: int) -> Ints:
    """Return the nodes that the experimenter gets: sets of neighbours, one in each group of a machine that is shared,
    as a scheduler gives them that prefers neighbours.
    """
    it = MACHINES[machine]
    if not it.shared and machine != ALONE_ON_IT:
        return np.arange(it.network.nodes)
    size, routers = it.network.nodes_per_group, it.network.routers_per_group
    first = it.network.nodes_per_router * np.random.default_rng([seed, 13]).integers(0, routers, it.network.groups)
    inside = np.sort((first[:, None] + np.arange(BLOCK)) % size, axis=1)
    return (size * np.arange(it.network.groups)[:, None] + inside).ravel()


def others_of(machine: str, crossbar: float, seed: int) -> list[PacketJob]:
    """Return the jobs of other users, on all nodes that the experimenter did not get."""
    if not MACHINES[machine].shared:
        return []
    rest = np.setdiff1d(np.arange(MACHINES[machine].network.nodes), given(machine, seed))
    names = np.random.default_rng([seed, 17]).permutation(list(APPLICATIONS))[:OTHERS]
    size = rest.size // OTHERS
    return [
        program(machine, crossbar, str(name), size).endless(rest[i * size : (i + 1) * size], seed)
        for i, name in enumerate(names)
    ]


def layout_of(setting: int, rotation: int, rotations: int, nodes: Ints | None = None) -> tuple[Ints, Ints]:
    """Return the application's and the congestor's nodes in setting 0 to 3 (I to IV), rotated along the list of
    nodes.
    """
    listed = np.arange(SPAN) if nodes is None else nodes[:SPAN]
    nodes = np.roll(listed, -round(rotation * SPAN / rotations))
    if setting % 2 == 0:
        return nodes[:SIZE], nodes[SIZE : SIZE + 2 * CONGESTOR : 2]
    return nodes[: 2 * SIZE : 2], nodes[1 : 2 * CONGESTOR : 2]
