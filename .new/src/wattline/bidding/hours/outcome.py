"""What simulated hours come to: cost, tracking, violations of every kind, pooled over hours that are draws or lie in
recorded days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.bidding.hours.rates import CONFIDENCE, HOURS_A_DAY, Rate, rate_of
from wattline.market.bill import Bill
from wattline.market.tracking import SHARE, Tracking
from wattline.model.kinds import Kind

DRAWN = -1
"""Record of an hour whose signal was drawn: it is a draw of its own."""


PLACES = np.linspace(0.5, 1.5, 11)
"""Parts of the QoS limit at which the curve of degradation is kept: around the promise, on both sides alike."""


@dataclass(frozen=True)
class Hour:
    """One simulated hour: how the target was followed, the bill, measured jobs and violations of every kind.

    ``record`` is the recorded day that it lies in. Where its signal ``is_missing`` in part, tracking is no evidence.
    """

    seed: int
    tracking: Tracking
    bill: Bill
    jobs: Ints
    violations: Ints
    standby_j: float
    busy_j: float
    record: int = DRAWN
    is_missing: bool = False
    reserve_w: float = math.nan
    """Reserve that was promised."""
    curve: Ints | None = None
    """Jobs whose degradation is at least a part of its limit: places × kinds."""


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
    def draw_costs(self) -> Floats:
        """Mean bill of an hour in every draw."""
        found: Floats = np.bincount(self._draw, weights=self.costs) / np.bincount(self._draw)
        return found

    @property
    def error(self) -> float:
        """Mean tracking error, over the hours whose signal is whole."""
        return float(self._of("mean_error")[self._whole].mean())

    @property
    def reserve_w(self) -> float:
        """Mean reserve that was promised."""
        return float(np.mean([hour.reserve_w for hour in self.hours]))

    @property
    def power_w(self) -> float:
        """Mean power."""
        return float(self._of("mean_power_w").mean())

    @cached_property
    def _whole(self) -> Ints:
        """Hours whose signal is whole."""
        return np.flatnonzero([not hour.is_missing for hour in self.hours])

    @cached_property
    def _draw(self) -> Ints:
        """The draw that every hour belongs to: its record, or itself."""
        return draws([hour.record for hour in self.hours])

    @property
    def on_records(self) -> bool:
        """Whether the draws are recorded days."""
        return any(hour.record != DRAWN for hour in self.hours)

    @property
    def left_out(self) -> int:
        """Hours that touch missing signal."""
        return len(self.hours) - int(self._whole.size)

    @cached_property
    def exceed(self) -> Rate:
        """Share of time in which the tracking error exceeds its margin."""
        return self.exceed_rate()

    @property
    def exceeded(self) -> tuple[Floats, Floats]:
        """Hours with too large an error, and hours that count, of every draw."""
        draw, shares = self._draw[self._whole], np.nan_to_num(self._of("exceed_share"))[self._whole]
        count = int(self._draw.max()) + 1
        beyond, counted = (np.bincount(draw, weights=x, minlength=count) for x in (shares, np.ones(shares.size)))
        return beyond.astype(np.float64), counted.astype(np.float64)

    def exceed_rate(self, confidence: float = CONFIDENCE) -> Rate:
        """Return that share with its intervals at a confidence."""
        shares = np.nan_to_num(self._of("exceed_share"))[self._whole]
        return self._rate(self._whole, shares, np.ones(shares.size), confidence)

    def _rate(self, which: Ints, events: Floats, trials: Floats, confidence: float) -> Rate:
        draw = self._draw[which]
        summed, tried = (np.bincount(draw, weights=x).astype(np.float64) for x in (events, trials))
        hours = int(np.count_nonzero(trials))
        a_day = 1.0 if self.on_records else float(HOURS_A_DAY)
        return rate_of(summed, tried, hours=hours, a_day=a_day, confidence=confidence)

    @property
    def exceed_hours(self) -> float:
        """Share of hours which by themselves break the tracking constraint."""
        return float(np.mean(self._of("exceed_share")[self._whole] >= SHARE)) if self._whole.size else math.nan

    @property
    def day_rates(self) -> Floats:
        """Share of time with too large an error in every record (NaN: no hour of it is whole), by its number."""
        draw = self._draw[self._whole]
        count = int(self._draw.max()) + 1 if self._draw.size else 0
        shares = np.nan_to_num(self._of("exceed_share"))[self._whole]
        with np.errstate(invalid="ignore"):
            found: Floats = np.bincount(draw, weights=shares, minlength=count) / np.bincount(draw, minlength=count)
        return found

    @property
    def exceed_days(self) -> float:
        """Share of recorded days which by themselves break the tracking constraint (NaN: there are none)."""
        rates = self.day_rates
        known = rates[~np.isnan(rates)]
        return float(np.mean(known >= SHARE)) if self.on_records and known.size else math.nan

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

    def curve(self) -> Floats:
        """Return the share of jobs whose degradation is at least a part of its limit: places × kinds."""
        jobs = self.jobs.sum(axis=0)
        beyond = np.sum([hour.curve for hour in self.hours if hour.curve is not None], axis=0)
        found: Floats = beyond / np.maximum(jobs, 1)
        return found

    def rates(self, confidence: float = CONFIDENCE) -> list[Rate]:
        """Return the violation rate of every kind with its intervals."""
        jobs, violations = self.jobs.astype(float), self.violations.astype(float)
        every = np.arange(len(self.hours))
        return [self._rate(every, violations[:, k], jobs[:, k], confidence) for k in range(len(self.kinds))]

    def beyond(self, kind: int) -> tuple[float, float]:
        """Return the shares of recorded days and of hours in which the late jobs of a kind reach the promised share.

        Those without a job of the kind do not count; NaN where none counts.
        """
        jobs, late = (x[:, kind].astype(np.float64) for x in (self.jobs, self.violations))
        share = self.kinds[kind].share
        late_by_day, jobs_by_day = (np.bincount(self._draw, weights=x).astype(np.float64) for x in (late, jobs))
        days = _beyond(late_by_day, jobs_by_day, share) if self.on_records else math.nan
        return days, _beyond(late, jobs, share)

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
            if is_promised(kind):
                over += max(0.0, float(share) / (part * kind.share) - 1.0)
        return over


def draws(records: Sequence[int]) -> Ints:
    """Return the draw that every hour belongs to: its record, or itself."""
    found = np.unique([record if record != DRAWN else -2 - i for i, record in enumerate(records)], return_inverse=True)
    return found[1]


def _beyond(events: Floats, trials: Floats, limit: float) -> float:
    known = trials > 0
    return float(np.mean(events[known] / trials[known] >= limit)) if known.any() else math.nan


def is_promised(kind: Kind) -> bool:
    """Tell whether anything was promised to a kind."""
    return not kind.standby and math.isfinite(kind.limit)
