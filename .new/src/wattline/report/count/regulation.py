"""What demand response came to in a run, as its accounts have it: bills, how the target was followed, service of
kinds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.market.hour import Totals, total
from wattline.report.count.accounts import rows_of
from wattline.report.count.run import Run
from wattline.report.count.statistics import NAN, Distribution, describe
from wattline.units import HOUR_S


@dataclass(frozen=True)
class HourRow:
    """One billed hour: power, tracking (``error`` relative to the reserve), the bill in dollars, and the bid.

    ``mean_w`` is NaN in an hour in which no bid held; ``clock`` is "" where the run has no calendar.
    """

    begin_s: float
    end_s: float
    mean_power_w: float
    mean_target_w: float
    error: float
    exceed_share: float
    cost: float
    energy_cost: float
    reserve_credit: float
    error_cost: float
    without_drawn: float
    without_bid: float
    mean_w: float
    reserve_w: float
    clock: str = ""


@dataclass(frozen=True)
class QosRow:
    """One kind of job: QoS degradation Q of the counted jobs that finished, and how many reached the limit.

    ``jobs`` were submitted in a billed hour (at any time where nothing is billed). One that had not ended when the run
    did is in ``open_jobs``, and among the violations if its wait alone had used up the limit by then.
    """

    name: str
    standby: bool
    jobs: int
    open_jobs: int
    q: Distribution
    limit: float
    share: float
    violations: int
    violation_share: float
    energy_j: float
    average: bool = False
    """The limit holds for the mean over the jobs."""

    @property
    def broken(self) -> bool:
        """Whether what was promised was not kept (a job still open counts with the wait it has had)."""
        if self.standby or not math.isfinite(self.limit) or not self.jobs:
            return False
        return self.mean_at_least > self.limit if self.average else self.violation_share >= self.share

    mean_at_least: float = NAN


@dataclass(frozen=True)
class Regulation:
    """The bid (means, where it is ``changing``), its billed hours and their sums.

    ``exceed_share`` is the share of time with an error above 30 %.

    ``standby_j`` is what standby jobs drew in the whole run: it fills the target and is no service to anybody.
    """

    mean_w: float
    reserve_w: float
    changing: bool
    hours: tuple[HourRow, ...]
    error: float
    exceed_share: float
    cost: float
    without_drawn: float
    without_bid: float
    standby_j: float
    outside_share: float
    outside_exceed_share: float

    @property
    def out_hours(self) -> int:
        """Billed hours in which no bid held."""
        return sum(math.isnan(hour.mean_w) for hour in self.hours)

    @property
    def whole_hours(self) -> bool:
        """Whether no row is a part of an hour."""
        return all(hour.end_s - hour.begin_s >= HOUR_S for hour in self.hours)

    @property
    def reduction_drawn(self) -> float:
        """Saving as a share of the cost of the energy that was drawn."""
        return 1.0 - self.cost / self.without_drawn if self.without_drawn > 0 else NAN


def count_regulation(run: Run) -> Regulation | None:
    """Add up the billed hours of a run that followed a bid; None for any other."""
    about = run.manifest.get("regulation")
    if not about or not (np.isfinite(run.steps.target_w).any() or about["mean_w"] is None):
        return None  # a bid that was to come into force later than the run lasted
    if not run.hours.height:
        return None  # the run ended where it began
    rows, whole = _accounted(run)
    standby = [kind["name"] for kind in run.manifest.get("kinds") or () if kind["standby"]]
    energy_j = run.jobs.filter(run.jobs["kind"].is_in(standby))["energy_j"]
    return Regulation(
        *_mean_bid(run),
        about["mean_w"] is None,
        tuple(rows),
        whole.error,
        whole.exceed_share,
        whole.cost,
        whole.drawn_cost,
        whole.bid_cost,
        float(np.nansum(energy_j.to_numpy())),
        *(NAN if about[key] is None else about[key] for key in ("outside_share", "outside_exceed_share")),
    )


def _mean_bid(run: Run) -> tuple[float, float]:
    """Return mean power and reserve of the bids over the billed time in which one held."""
    rows = [row for row in rows_of(run) if row.billed and row.bid_s > 0]
    if not rows:
        return NAN, NAN
    seconds = [row.bid_s for row in rows]
    return tuple(
        float(np.average([getattr(row, name) for row in rows], weights=seconds)) for name in ("mean_w", "reserve_w")
    )  # type: ignore[return-value]


def _accounted(run: Run) -> tuple[list[HourRow], Totals]:
    """Return the billed hours as the accounts have them, those without a bid too, and their sums."""
    found = [row for row in rows_of(run) if row.billed]
    rows = [
        HourRow(
            row.start_s,
            row.end_s,
            row.mean_power_w,
            row.mean_target_w,
            row.error,
            row.exceed_share,
            row.cost,
            row.energy_cost,
            row.capacity_credit + row.performance_credit,
            row.error_cost,
            row.drawn_cost,
            row.bid_cost,
            row.mean_w,
            row.reserve_w,
            row.clock,
        )
        for row in found
    ]
    return rows, total(found)


def billed_hours(run: Run) -> list[tuple[float, float]]:
    """Return the billed hours that were simulated to their end; of a run in no market those it is held against."""
    about = run.manifest.get("regulation") or {}
    spans = about.get("hours") or (run.manifest.get("accounts") or {}).get("billed") or ()
    if spans and not about.get("hours") and run.hours.height:  # hours that follow each other are one span there
        return [(row.start_s, row.end_s) for row in rows_of(run) if row.billed]
    return [(a, b) for a, b in spans if b <= run.end_s]


def error_steps(run: Run) -> tuple[Floats, Floats]:
    """Return the tracking error of the billed hours as a step function: how long each value held, and the value."""
    steps, reserve_w = run.steps, reserves_w(run)
    gap_w = np.abs(steps.power_w - steps.target_w)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(reserve_w > 0, gap_w / reserve_w, NAN)
    found: list[tuple[Floats, Floats]] = [(np.empty(0), np.empty(0))]
    for begin_s, end_s in billed_hours(run):
        rows, seconds = steps.part(begin_s, end_s)
        held = (seconds > 0) & ~np.isnan(gap_w[rows])
        found.append((seconds[held], error[rows][held]))
    return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])


def reserves_w(run: Run) -> Floats:
    """Return the reserve in force at every step of a run."""
    whole = run.manifest["regulation"]["reserve_w"]
    if whole is not None:
        return np.full(run.steps.time_s.size, float(whole))
    time_s, values = run.reserves
    at = np.searchsorted(time_s, run.steps.time_s, side="right") - 1
    values = np.append(values, NAN)
    found: Floats = values[np.where(at < 0, values.size - 1, at)]
    return found


def count_qos(run: Run) -> tuple[QosRow, ...]:
    """Return one row a declared kind; none where no kinds were declared."""
    rows = []
    for kind in run.manifest.get("kinds") or ():
        name = kind["name"]
        q, at_least = degradations(run, kind)
        limit = limit_of(kind)
        violations = int(np.sum(np.where(np.isnan(q), at_least, q) >= limit))
        energy_j = run.jobs.filter(run.jobs["kind"] == name)["energy_j"]
        rows.append(
            QosRow(
                name,
                kind["standby"],
                q.size,
                int(np.isnan(q).sum()),
                describe(q),
                limit,
                kind["share"],
                violations,
                violations / q.size if q.size else NAN,
                float(np.nansum(energy_j.to_numpy())),
                bool(kind.get("average")),
                float(np.where(np.isnan(q), np.maximum(at_least, 0.0), q).mean()) if q.size else NAN,
            )
        )
    return tuple(rows)


def degradations(run: Run, kind: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Return Q of the counted jobs of a kind, NaN for those without an end, and what Q is at least by the run's end."""
    jobs = run.jobs.filter(run.jobs["kind"] == kind["name"], run.jobs["status"] != "rejected")
    submit_s, work_s = jobs["submit_s"].to_numpy(), jobs["work_s"].to_numpy()
    end_s = jobs["end_s"].fill_null(NAN).to_numpy()
    if run.manifest.get("regulation") or (run.manifest.get("accounts") or {}).get("billed"):
        spans = billed_hours(run)
        inside = np.zeros(submit_s.size, dtype=bool)
        for begin_s, stop_s in spans:
            inside |= (submit_s >= begin_s) & (submit_s < stop_s)
        submit_s, work_s, end_s = submit_s[inside], work_s[inside], end_s[inside]
    q = _over(end_s - submit_s - work_s, work_s)
    at_least = _over(run.end_s - submit_s - work_s, work_s)
    return q, at_least


def limit_of(kind: Mapping[str, Any]) -> float:
    """Return the QoS limit of a kind of the manifest, where JSON has null for *none*."""
    return math.inf if kind["limit"] is None else float(kind["limit"])


def _over(lost_s: Floats, work_s: Floats) -> Floats:
    """Return lost time over run time: of a job of no length 0 where nothing is lost, else infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((lost_s == 0.0) & (work_s == 0.0), 0.0, lost_s / work_s)
