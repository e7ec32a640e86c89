"""The power that a log recorded of its jobs, and that of the same jobs as they were simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats
from wattline.report.count.statistics import NAN

if TYPE_CHECKING:
    from wattline.model.jobs import JobTable
    from wattline.report.count.run import Run

KEY = "recorded_power"
"""Under this name the manifest's ``trace`` has what the log recorded."""


@dataclass(frozen=True)
class JobPower:
    """What jobs took together, and what they drew from the first start to the last end: on average, and at most.

    Each draws its mean power all along. NaN where nobody knows when they ran.
    """

    energy_j: float
    mean_w: float = NAN
    peak_w: float = NAN


@dataclass(frozen=True)
class RecordedPower:
    """The power of ``jobs`` jobs as the log has it (``basis``: its *energy*, or *power* × nodes × run time), and as
    simulated.
    """

    jobs: int
    basis: str
    recorded: JobPower
    simulated: JobPower


def power_of(energy_j: Floats, start_s: Floats, end_s: Floats) -> JobPower:
    """Return what jobs took and drew; jobs whose energy is not known do not count.

    >>> power_of(np.array([600.0, 100.0]), np.array([0.0, 5.0]), np.array([10.0, 15.0]))
    JobPower(energy_j=700.0, mean_w=46.666666666666664, peak_w=70.0)
    """
    known = np.isfinite(energy_j)
    total_j, ran = float(energy_j[known].sum()), known & (end_s > start_s)
    if not (np.isfinite(start_s[known]) & np.isfinite(end_s[known])).all() or not ran.any():
        return JobPower(total_j)
    begin, end = start_s[ran], end_s[ran]
    watts = energy_j[ran] / (end - begin)
    times = np.concatenate([end, begin])  # who ends at an instant makes room for who starts then
    change = np.concatenate([-watts, watts])
    drawn = np.cumsum(change[np.argsort(times, kind="stable")])
    mean_w = float(energy_j[ran].sum()) / float(end.max() - begin.min())  # jobs of no length draw at no time
    return JobPower(total_j, mean_w, float(drawn.max()))


def recorded_entry(jobs: JobTable, *, own_power: bool = True) -> dict[str, Any] | None:
    """Return what the manifest says of the power that a log recorded; None where it recorded none.

    ``own_power``: the power of jobs is the log's, and not that of declared kinds.
    """
    taken_j = jobs.recorded_energy_j
    by_power_j = jobs.draw_w * jobs.nodes * jobs.work_s if own_power else np.full(len(jobs), np.nan)
    energy_j = np.where(np.isnan(taken_j), by_power_j, taken_j)
    known = np.isfinite(energy_j)
    if not known.any():
        return None
    start_s = jobs.submit_s + jobs.recorded_wait_s
    found = power_of(energy_j, start_s, start_s + jobs.work_s)
    basis = "energy" if np.isfinite(taken_j).any() else "power"
    numbers = {name: value if np.isfinite(value) else None for name, value in vars(found).items()}
    return {"jobs": int(known.sum()), "basis": basis, "own_power": own_power, **numbers}


def count_recorded(run: Run) -> RecordedPower | None:
    """Return the recorded power of a run's log beside what the same jobs drew in the run; None where it recorded
    none.
    """
    told: Mapping[str, Any] = (run.manifest.get("trace") or {}).get(KEY) or {}
    if not told or not run.has_power:
        return None
    known_w = run.jobs["draw_w"].is_not_null() & bool(told["own_power"])
    jobs = run.jobs.filter(run.jobs["recorded_energy_j"].is_not_null() | known_w)
    columns = (jobs[name].fill_null(NAN).to_numpy() for name in ("energy_j", "start_s", "end_s"))
    energy_j, start_s, end_s = (np.asarray(column, dtype=np.float64) for column in columns)
    end_s = np.where(np.isfinite(start_s) & ~np.isfinite(end_s), run.end_s, end_s)  # they ran until it stopped
    known = {name: NAN if told.get(name) is None else float(told[name]) for name in ("energy_j", "mean_w", "peak_w")}
    return RecordedPower(
        int(told["jobs"]),
        str(told["basis"]),
        JobPower(**known),
        power_of(np.where(np.isfinite(end_s), energy_j, np.nan), start_s, end_s),
    )
