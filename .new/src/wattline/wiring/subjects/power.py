"""Lay out what a run knows and believes of power: series over time, profiles, samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.profiles import ProfileTable
from wattline.model.state.record import State
from wattline.units import show_duration

if TYPE_CHECKING:
    from wattline.wiring.options import Options

SAMPLE_S = 300.0
"""Period of samples where jobs have no power series of their own: that of control systems."""


def learner_of(policies: Sequence[Mechanism]) -> Mechanism | None:
    """Return the mechanism that tells the power of jobs, or None where it is known."""
    return next((m for m in policies if m.slot == "profile" and m.wake), None)


def check_power(jobs: JobTable, policies: Sequence[Mechanism], options: Options) -> None:
    """Refuse combinations that mean nothing."""
    if options.sample_s is not None and not 0.0 < options.sample_s < np.inf:
        raise InputError(f"power must be sampled at a positive period, got {options.sample_s:g} s")
    if jobs.series is not None and jobs.series.watts.size:
        common = next((m.name for m in policies if m.caps), None)
        if common is not None:
            raise InputError(
                f"cap policy {common!r} caps many jobs alike, but these change their power one by one: "
                "take 'under-limit', or a trace without power over time"
            )
    if options.quantum and not np.isfinite(options.tick_s):
        raise InputError("decisions at ticks only need a period of the tick")
    if options.shed and not options.limit_w and not options.outside:  # a real machine is told its limit as it runs
        raise InputError("jobs are to be stopped above the power limit, but there is none")


def sampling_notes(jobs: JobTable, options: Options) -> list[tuple[str, str, int, str]]:
    """Say where samples are too rare to follow the power of the trace: what lies between them is not drawn."""
    if jobs.series is None or options.sample_s is None or options.sample_s <= jobs.series.step_s:
        return []
    many = int((np.diff(jobs.series.first) > 1).sum())
    reason = "power over time, which changes only when it is sampled: values between samples are left out"
    return (
        [
            (
                "kept",
                reason,
                many,
                f"sampled every {show_duration(options.sample_s)}, a value every {show_duration(jobs.series.step_s)}",
            )
        ]
        if many
        else []
    )


def fill_power(s: State, jobs: JobTable, table: ProfileTable | None, options: Options) -> None:
    """Fill in series, profiles and the period of samples."""
    s.now_w[:] = s.profile_w[:] = s.draw_w
    series = jobs.series
    step_s = options.sample_s
    if series is not None and series.watts.size:
        s.series_w[:] = series.watts
        s.series_first[: len(jobs)] = series.first[:-1]
        reached = np.maximum(1, np.ceil(jobs.work_s / series.step_s))  # what lies behind a job's end is never drawn
        s.series_count[: len(jobs)] = np.minimum(np.diff(series.first), reached)
        s.series_step_s[0] = series.step_s
        step_s = series.step_s if step_s is None else step_s
        some = s.series_count > 0
        s.now_w[some] = s.series_w[s.series_first[some]]
    if table is not None:
        s.profile[: len(jobs)] = table.rows
        s.profile_w[:] = s.max_w[s.pool]
        s.profile_from[:] = s.submit_profile_from[:] = len(table.levels)
        step_s = SAMPLE_S if step_s is None else step_s
    s.sample_s[0] = np.inf if step_s is None else step_s
