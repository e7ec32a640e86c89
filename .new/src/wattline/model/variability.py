"""Nodes of one class that are not quite alike: what each draws at the same speed, relative to the class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError

CAB, TELLER, VULCAN = 0.23, 0.21, 0.11
"""Published spreads of processor power at equal work: 2,386 Sandy Bridge sockets, 64 Piledriver and 1,536
BlueGene/Q processors.
"""

TAILS = 3.0
"""Standard deviations within which a drawn factor lies; the spread is between these two ends."""


@dataclass(frozen=True)
class NodeFactors:
    """A factor a node: its power over that of a typical node of the class at the same work and speed (1.1: draws a
    tenth more).
    """

    factors: Floats

    def __post_init__(self) -> None:
        bad = ~(np.isfinite(self.factors) & (self.factors > 0))
        if self.factors.size == 0 or bad.any():
            told = f"node {int(np.argmax(bad))}: got {self.factors[bad][0]:g}" if bad.any() else "there is none"
            raise InputError(f"factors of power must be above 0; {told}")

    def __len__(self) -> int:
        return int(self.factors.size)

    @property
    def spread(self) -> float:
        """How much more the thirstiest node draws than the most frugal one, as a share."""
        return float(self.factors.max() / self.factors.min() - 1.0)

    @classmethod
    def alike(cls, nodes: int) -> NodeFactors:
        """Return nodes that do not differ."""
        return cls(np.ones(nodes))

    @classmethod
    def measured(cls, power_w: Floats) -> NodeFactors:
        """Return factors from what each node drew at the same work: relative to their mean."""
        return cls(np.asarray(power_w, dtype=np.float64) / float(np.mean(power_w)))

    @classmethod
    def drawn(cls, nodes: int, spread: float, seed: int) -> NodeFactors:
        """Return factors from a normal law around 1 that is cut off where the ends differ by ``spread``.

        Half the width h satisfies (1 + h)/(1 - h) = 1 + spread, and is three standard deviations: so many nodes
        come near the spread, few reach it.

        >>> NodeFactors.drawn(2000, 0.23, seed=1).spread < 0.23
        True
        """
        if nodes < 1 or not 0.0 <= spread < math.inf:
            raise InputError(f"need at least a node and a spread of 0 or more, got {nodes} and {spread:g}")
        half = spread / (2.0 + spread)
        rng = np.random.default_rng(seed)
        found = rng.standard_normal(nodes)
        while (far := np.abs(found) > TAILS).any():
            found[far] = rng.standard_normal(int(far.sum()))
        return cls(1.0 + half * found / TAILS)


@dataclass(frozen=True)
class Variability:
    """Nodes of a machine that differ, and how a job's power is shared among its nodes.

    Under ``equal`` caps every node of a job has the cap of its configuration and the slowest decides; caps of
    ``equal-speed`` give thirsty nodes more of the same sum. ``fixed_w`` is the part of a node's power that is alike
    in all (memory, board).
    """

    nodes: NodeFactors
    caps: Literal["equal", "equal-speed"] = "equal"
    fixed_w: float = 0.0

    def __post_init__(self) -> None:
        if self.caps not in ("equal", "equal-speed"):
            raise InputError(f"caps of nodes that differ are 'equal' or 'equal-speed', got {self.caps!r}")
        if not 0.0 <= self.fixed_w < math.inf:
            raise InputError(f"the fixed part of a node's power must not be negative, got {self.fixed_w:g} W")
