"""Lay out how kinds of job respond to caps, where that is not the linear rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind, column
from wattline.model.state.record import State

SAME = 1e-9
"""Relative difference by which a job's own numbers may miss those of its kind's response."""


def as_kinds_respond(jobs: JobTable, kind: Ints, kinds: Sequence[Kind]) -> JobTable:
    """Return the jobs with the ends of their kind's response as power and slowdown; refuse jobs that say otherwise.

    Points of a response are watts, so a job that draws other watts than its kind has none.
    """
    rows = np.flatnonzero(np.array([bool(k.response) for k in kinds] or [False])[kind] if kinds else [])
    if not rows.size:
        return jobs
    if jobs.series is not None and (steps := np.flatnonzero(np.diff(jobs.series.first)[rows])).size:
        j = int(rows[steps[0]])
        told = f"job {jobs.job_id[j]} has power over time, and its kind {kinds[kind[j]].name!r} a response to caps"
        raise InputError(f"{told} in watts: leave one of them out")
    columns = {}
    for name in ("draw_w", "floor_w", "stretch"):
        own, wanted = getattr(jobs, name).copy(), column(kinds, name)[kind]
        odd = rows[~(np.isnan(own[rows]) | np.isclose(own[rows], wanted[rows], rtol=SAME, atol=0.0))]
        if odd.size:
            j = int(odd[0])
            told = f"job {jobs.job_id[j]} has {name} {own[j]:g}, the response of its kind {kinds[kind[j]].name!r}"
            raise InputError(f"{told} to caps {wanted[j]:g}: leave the column out, or give the kind no response")
        own[rows] = wanted[rows]
        columns[name] = own
    return jobs.with_columns(**columns)


def response_sizes(kinds: Sequence[Kind]) -> dict[str, int]:
    """Return how many responses there are, and points of them."""
    counts = [len(kind.response) for kind in kinds if kind.response]
    return {"RP": len(counts), "RQ": sum(counts)}


def fill_responses(s: State, kinds: Sequence[Kind]) -> None:
    """Write the points of all responses one behind another; kinds and rate classes are told which is theirs."""
    number = at = 0
    for k, kind in enumerate(kinds):
        if not kind.response:
            continue
        end = at + len(kind.response)
        s.resp_first[number], s.resp_count[number] = at, len(kind.response)
        s.resp_w[at:end], s.resp_time[at:end] = zip(*kind.response, strict=True)
        s.k_response[k] = number
        s.c_response[s.c_kind == k] = number
        number, at = number + 1, end
