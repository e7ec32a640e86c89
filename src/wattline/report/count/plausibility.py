"""Doubts about a run: a limit that never began or was not repeated, or nodes that did not fail, to its end; caps that
nobody declared; of a log, signs that the machine's size, its unit or its load are not those of the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wattline.reading.notes import BEYOND, ROUNDED
from wattline.report.show import show

if TYPE_CHECKING:
    from wattline.report.count.run import Run
    from wattline.report.count.statistics import Distribution

FAR = 10.0
"""Waits that many times as long as the recorded ones, or as short, are far from them."""

LEAST_S = 60.0
"""Waits below this count as this long, so that a second beside ten is not far."""

MANY = 0.2
"""Part of the jobs beyond which rounding up is no detail."""

ASK = {
    "LONGER": "are the machine's size and unit right?",
    "SHORTER": "is the machine's size right, or did rules hold jobs back that the log does not tell of?",
}

FEWEST = 50
"""Jobs below which a log says nothing about its machine."""


def find_doubts(run: Run, wait_s: Distribution, recorded_s: Distribution) -> tuple[str, ...]:
    """Return one line for everything about a run that is hard to believe.

    Drawn jobs and short logs say nothing about their machine.
    """
    told = run.manifest.get("trace") or {}
    if not told.get("sha256") or run.jobs.height < FEWEST:
        return (*_not_repeated(run), *_never_limited(run), *_no_failures(run), *_undeclared(run))
    return (
        *_not_repeated(run),
        *_never_limited(run),
        *_no_failures(run),
        *_undeclared(run),
        *_far_waits(run, wait_s, recorded_s),
        *_rounded(run),
        *_nobody_waits(wait_s, recorded_s),
        *_overload(run, wait_s),
    )


def _not_repeated(run: Run) -> Iterator[str]:
    """Say that the run lasted longer than the limit's steps are repeated."""
    until_s = float((run.manifest.get("power") or {}).get("limit_until_s", math.inf))
    if run.end_s > until_s:
        yield (
            f"THE LIMIT STOPPED REPEATING after {show(until_s - run.start_s, 's')}: its last step held in the last "
            f"{show(run.end_s - until_s, 's')} of the run; write its steps out for so long"
        )


def _never_limited(run: Run) -> Iterator[str]:
    """Say that a limit was given, and that the run was over before it began."""
    from_s = (run.manifest.get("power") or {}).get("limit_from_s")
    if from_s is not None:
        yield (
            f"POWER WAS NEVER LIMITED: the limit begins {show(float(from_s) - run.start_s, 's')} into a run of "
            f"{show(run.end_s - run.start_s, 's')}; its times count from the beginning of the run"
        )


def _no_failures(run: Run) -> Iterator[str]:
    """Say that the run lasted longer than nodes fail at random."""
    until_s = float((run.manifest.get("cluster") or {}).get("failures_until_s", math.inf))
    if math.isfinite(until_s) and (run.jobs["end_s"] > until_s).any():
        yield (
            f"NODES STOPPED FAILING after {show(until_s - run.start_s, 's')}: none failed at random in the last "
            f"{show(run.end_s - until_s, 's')} of the run; give a longer trace, or a load that the machine can carry"
        )


def _undeclared(run: Run) -> Iterator[str]:
    """Say that caps were refused because their policy does not declare that it sets any."""
    told = (run.manifest.get("power") or {}).get("undeclared_caps") or {}
    for needs, count in told.items():
        if count:
            yield f"CAPS NOT SET: {count:,} were refused, for the policy that wants them was declared without {needs}"


def _far_waits(run: Run, wait_s: Distribution, recorded_s: Distribution) -> Iterator[str]:
    if not recorded_s.count or not wait_s.count:
        return
    limited = "the power limit holds jobs back; else, " if np.isfinite(run.steps.limit_w).any() else ""
    for way, far in (("LONGER", _ratio(wait_s, recorded_s)), ("SHORTER", _ratio(recorded_s, wait_s))):
        if far:
            shown = " and ".join(
                f"{name} {show(getattr(wait_s, key), 's')} (recorded {show(getattr(recorded_s, key), 's')})"
                for key, name in (("median", "median"), ("p95", "p95"))
                if key in far
            )
            yield f"WAITS FAR {way} THAN RECORDED: {shown}; {limited if way == 'LONGER' else ''}{ASK[way]}"


def _ratio(longer: Distribution, shorter: Distribution) -> list[str]:
    """Return which of median and p95 are far apart."""
    return [
        key for key in ("median", "p95") if max(getattr(longer, key), 0.0) > FAR * max(getattr(shorter, key), LEAST_S)
    ]


def _rounded(run: Run) -> Iterator[str]:
    notes = (run.manifest.get("trace") or {}).get("notes") or []

    def counted(word: str) -> int:
        return sum(int(note.get("count", 0)) for note in notes if word in str(note.get("reason", "")))

    count, of = counted(ROUNDED), run.jobs.height + counted(BEYOND)  # a reader counts in the whole log
    if count > MANY * of:
        yield (
            f"MANY JOBS ROUNDED UP: {count:,} of {of:,} in the log ({show(count / of, 'share')}) are given whole "
            "nodes though "
            "they asked for less; if jobs share nodes, schedule processors (cores_per_node = 1)"
        )


def _nobody_waits(wait_s: Distribution, recorded_s: Distribution) -> Iterator[str]:
    if wait_s.count and wait_s.max == 0.0 and not (recorded_s.count and recorded_s.max == 0.0):
        beside = f" (recorded p95: {show(recorded_s.p95, 's')})" if recorded_s.count else ""
        yield f"NOTHING EVER WAITS{beside}: is the machine larger than the log's?"


def _overload(run: Run, wait_s: Distribution) -> Iterator[str]:
    """Say that more work arrives before the last submission than the machine can do until then, and that jobs wait."""
    submit_s, nodes, work_s = (run.jobs[name].to_numpy() for name in ("submit_s", "nodes", "work_s"))
    span_s = float(submit_s.max() - submit_s.min())
    counts = (nodes <= run.nodes) & (submit_s < submit_s.max())
    offered = float(np.nansum(np.where(counts, nodes * work_s, 0.0)))
    load = offered / (run.nodes * span_s) if span_s > 0 else math.nan
    if load > 1.0 and wait_s.max > 0.0:
        yield (
            f"LOAD {load:.2f}, ABOVE 1: more work is submitted than {run.nodes:,} {run.unit}s can do, so waits grow "
            "with the log's length; is the machine's size right?"
        )
