"""Numbers of the Level-Spread study that claims, tables and figures share: shares of workloads, reductions, their
intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.systems.level_spread.cases import BASELINES, LARGE, LEVEL_SPREAD, SMALL
from wattline.systems.level_spread.study import Found


@dataclass(frozen=True)
class Estimate:
    """A mean over workloads and half of its 95 % interval."""

    mean: float
    wide: float

    @classmethod
    def of(cls, values: Floats) -> Estimate:
        """Return the mean of one value a workload."""
        spread = float(values.std(ddof=1)) if values.size > 1 else float("nan")
        return cls(float(values.mean()), 1.96 * spread / np.sqrt(values.size))

    def percent(self) -> str:
        """Return it as a percentage with its interval."""
        return f"{self.mean:.1%} ± {100 * self.wide:.1f}"

    def to_list(self) -> list[float | None]:
        """Return mean, lower and upper end of the interval (None: a single value tells none)."""
        if math.isnan(self.wide):
            return [self.mean, None, None]
        return [self.mean, self.mean - self.wide, self.mean + self.wide]


def points(found: Found, policies: tuple[str, ...] = BASELINES, of: str = LEVEL_SPREAD) -> tuple[Floats, Floats]:
    """Return times of small and of large jobs over those with a policy (Level-Spread), a row a policy, a column a
    workload.
    """
    small, large = (np.array([found.over(policy, size, of) for policy in policies]) for size in (SMALL, LARGE))
    return small, large


@dataclass(frozen=True)
class Standing:
    """How a policy stands against others on random workloads.

    A workload's policies count together, workloads are independent.
    """

    better: Estimate
    """Share of (policy, workload) in which it is better for small and for large jobs."""
    worse: Estimate
    """... and in which it is worse for both."""
    only_small: Estimate
    """... better for small jobs, not for large ones."""
    only_large: Estimate
    reduction: Estimate
    """1 − its time over the other's, mean of both sizes, of policies and of workloads."""
    of_small: Estimate
    of_large: Estimate
    best: float
    """Greatest reduction, mean of both sizes."""
    best_single: float
    """Greatest reduction of either size."""

    def to_dict(self) -> dict[str, object]:
        """Return it for ``--json``."""
        return {name: value.to_list() if isinstance(value, Estimate) else value for name, value in vars(self).items()}


def standing(found: Found, policies: tuple[str, ...] = BASELINES, of: str = LEVEL_SPREAD) -> Standing:
    """Return how a policy (Level-Spread) stands against others."""
    small, large = points(found, policies, of)
    less_small, less_large = 1 - 1 / small, 1 - 1 / large
    both = 0.5 * (less_small + less_large)

    def mean(values: npt.NDArray[np.bool_] | Floats) -> Estimate:
        return Estimate.of(values.astype(np.float64).mean(axis=0))

    return Standing(
        better=mean((small > 1) & (large > 1)),
        worse=mean((small < 1) & (large < 1)),
        only_small=mean((small > 1) & (large <= 1)),
        only_large=mean((small <= 1) & (large > 1)),
        reduction=mean(both),
        of_small=mean(less_small),
        of_large=mean(less_large),
        best=float(both.max()),
        best_single=float(max(less_small.max(), less_large.max())),
    )


def level_of(found: Found, policy: str, size: int, base: str = "Simple") -> Estimate:
    """Return mean times over the mean times of another policy, with the interval of the paired ratios."""
    if policy == base:
        return Estimate(1.0, 0.0)
    return Estimate(found.mean_over(policy, size, base), Estimate.of(found.over(policy, size, base)).wide)
