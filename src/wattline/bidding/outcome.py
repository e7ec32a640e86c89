"""What simulated hours come to: cost, tracking, violations of every kind, with intervals clustered by hour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.market.bill import Bill
from wattline.market.tracking import SHARE, Tracking
from wattline.model.kinds import Kind

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Hour:
    """One simulated hour: how the target was followed, the bill, measured jobs and violations of every kind."""

    seed: int
    tracking: Tracking
    bill: Bill
    jobs: Ints
    violations: Ints
    standby_j: float
    busy_j: float


@dataclass(frozen=True)
class Rate:
    """A share with its interval."""

    share: float
    low: float
    high: float
    count: int

    def within(self, limit: float) -> bool:
        """Tell whether the whole interval lies below a limit."""
        return self.high < limit


def ratio(events: Floats, trials: Floats, confidence: float = CONFIDENCE) -> Rate:
    """Return events over trials, pooled over hours, with an interval that treats every hour as one draw.

    The variance is that of a ratio of two sums over hours; without a single event the interval ends where that many
    hours without one would still be likely.
    """
    total, hours = float(trials.sum()), int(np.count_nonzero(trials))
    if total == 0:
        return Rate(math.nan, 0.0, 1.0, 0)
    share = float(events.sum()) / total
    none_seen = 1.0 - (1.0 - confidence) ** (1.0 / hours)
    if hours < 2 or share in (0.0, 1.0):
        return Rate(share, 0.0 if share == 0 else 1.0 - none_seen, none_seen if share == 0 else 1.0, int(total))
    spread = math.sqrt(hours / (hours - 1) * float(np.sum((events - share * trials) ** 2))) / total
    half = _student(hours - 1, confidence) * spread
    return Rate(share, max(0.0, share - half), min(1.0, share + half), int(total))


def _student(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * confidence))


@dataclass(frozen=True)
class Outcome:
    """Hours under one bid, pooled."""

    kinds: tuple[Kind, ...]
    hours: Sequence[Hour]

    def _of(self, name: str) -> Floats:
        return np.array([getattr(hour.tracking, name) for hour in self.hours])

    @property
    def costs(self) -> Floats:
        """The bill of every hour."""
        return np.array([hour.bill.cost for hour in self.hours])

    @property
    def cost(self) -> float:
        """Mean bill of an hour."""
        return float(self.costs.mean())

    @property
    def error(self) -> float:
        """Mean tracking error."""
        return float(self._of("mean_error").mean())

    @property
    def power_w(self) -> float:
        """Mean power."""
        return float(self._of("mean_power_w").mean())

    @property
    def exceed(self) -> Rate:
        """Share of time in which the tracking error exceeds its margin."""
        shares = self._of("exceed_share")
        return ratio(np.nan_to_num(shares), np.ones(len(self.hours)))

    @property
    def exceed_hours(self) -> float:
        """Share of hours which by themselves break the tracking constraint."""
        return float(np.mean(self._of("exceed_share") >= SHARE))

    @property
    def jobs(self) -> Ints:
        """Measured jobs: hours × kinds."""
        return np.array([hour.jobs for hour in self.hours])

    @property
    def violations(self) -> Ints:
        """Jobs that reached their limit: hours × kinds."""
        return np.array([hour.violations for hour in self.hours])

    def shares(self) -> Floats:
        """Return the share of violations of every kind (0 where no job was measured)."""
        jobs = self.jobs.sum(axis=0)
        missed: Floats = self.violations.sum(axis=0) / np.maximum(jobs, 1)
        return missed

    def rates(self) -> list[Rate]:
        """Return the violation rate of every kind with its interval."""
        jobs, violations = self.jobs.astype(float), self.violations.astype(float)
        return [ratio(violations[:, k], jobs[:, k]) for k in range(len(self.kinds))]

    @property
    def standby_share(self) -> float:
        """Share of the jobs' energy that standby jobs took."""
        busy = sum(hour.busy_j for hour in self.hours)
        return sum(hour.standby_j for hour in self.hours) / busy if busy else 0.0

    def excess(self, tracking: float = SHARE, part: float = 1.0) -> float:
        """Return the sum of relative violations of all constraints, each tightened to a ``part`` of its limit (0: all
        met).
        """
        over = max(0.0, self.exceed.share / (part * tracking) - 1.0)
        for kind, share in zip(self.kinds, self.shares(), strict=True):
            if not kind.standby and math.isfinite(kind.limit):
                over += max(0.0, float(share) / (part * kind.share) - 1.0)
        return over
