"""The cluster: node classes, what they draw, how they sleep, and at which speeds they run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from wattline.errors import InputError
from wattline.model.jobs import MOST_W
from wattline.model.networks.base import Network
from wattline.units import MOST_S, in_full


@dataclass(frozen=True)
class Sleep:
    """A sleep state that an idle node enters by itself after ``after_s`` seconds without a job.

    Entering takes ``entry_s`` at idle power, leaving takes ``exit_s`` at the class's maximum power (or the job's,
    where it draws more), during which the job that asked for the node already holds it.
    """

    power_w: float
    after_s: float
    entry_s: float = 0.0
    exit_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse times that no clock can count."""
        longest_s = max(self.entry_s, self.exit_s)
        if longest_s > MOST_S or MOST_S < self.after_s < math.inf:
            far_s = max(longest_s, self.after_s)
            raise InputError(f"sleep: at most {in_full(MOST_S)} s can be counted, got {in_full(far_s)} s")


@dataclass(frozen=True)
class Level:
    """A speed of a node class: progress rate, and busy and idle power per node at that rate."""

    rate: float
    busy_w: float
    idle_w: float


@dataclass(frozen=True)
class NodeClass:
    """``count`` equal nodes, which form one partition with its own line of jobs.

    ``max_w`` is the power of a busy node whose job says nothing else; ``min_cap_w`` the lowest cap the hardware takes
    (NaN: only jobs with a floor of their own can be capped). ``levels`` replace continuous caps by discrete speeds,
    slowest first.
    """

    name: str
    count: int
    idle_w: float
    max_w: float
    min_cap_w: float = math.nan
    sleep: Sleep | None = None
    levels: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"node class {self.name!r}: count must be at least 1, got {self.count}")
        if not 0 <= self.idle_w <= self.max_w:
            raise InputError(f"node class {self.name!r}: need 0 <= idle_w <= max_w, got {self.idle_w} and {self.max_w}")
        asleep_w = 0.0 if self.sleep is None else self.sleep.power_w
        greatest_w = max(self.max_w, asleep_w, *(max(level.busy_w, level.idle_w) for level in self.levels), 0.0)
        if greatest_w > MOST_W:
            told = f"a node cannot draw {in_full(greatest_w)} W, at most {in_full(MOST_W)} makes sense"
            raise InputError(f"node class {self.name!r}: {told}")
        if any(level.rate <= 0 for level in self.levels):
            raise InputError(f"node class {self.name!r}: every level needs a rate above 0")


@dataclass(frozen=True)
class Outage:
    """Nodes ``first … first + count - 1`` leave at ``start_s`` and come back at ``end_s``.

    ``drain`` lets running jobs finish; otherwise they are stopped at once and, as the scenario says, queued again.
    """

    start_s: float
    end_s: float
    first: int
    count: int
    drain: bool = False

    def __post_init__(self) -> None:
        """Refuse times that no clock can count."""
        if any(MOST_S < abs(time_s) < math.inf for time_s in (self.start_s, self.end_s)):
            raise InputError(
                f"an outage from {in_full(self.start_s)} s to {in_full(self.end_s)} s: at most {in_full(MOST_S)} s can "
                "be counted"
            )


@dataclass(frozen=True)
class Cluster:
    """Node classes in order; node numbers run through them, so that a class is a range of numbers.

    Node ``n`` hangs on the network's port ``n``; ports beyond the last node hold nothing that runs jobs.
    """

    classes: tuple[NodeClass, ...]
    name: str = "cluster"
    outages: tuple[Outage, ...] = field(default=())
    network: Network | None = None

    def __post_init__(self) -> None:
        if not self.classes:
            raise InputError("a cluster needs at least one node class")
        names = [c.name for c in self.classes]
        if len(set(names)) != len(names):
            raise InputError(f"node classes must have different names, got {', '.join(names)}")
        if self.network is not None and self.network.nodes < self.nodes:
            raise InputError(
                f"the {self.network.kind} has room for {self.network.nodes} nodes, the cluster has {self.nodes}"
            )

    @property
    def nodes(self) -> int:
        """Number of nodes in all classes."""
        return sum(c.count for c in self.classes)

    @property
    def nodes_change(self) -> bool:
        """Whether nodes go out of service or to sleep."""
        return bool(self.outages) or any(c.sleep is not None for c in self.classes)
