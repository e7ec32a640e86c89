"""Jobs of declared kinds: drawn from them, or held against them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind, column
from wattline.reading.notes import Note, Trace, quote
from wattline.scenario.read.source import Context

POWER_SLACK = 0.1
"""How far the power of a job may lie outside what caps do to its kind before that is mentioned."""


def draw_kinds(kinds: Sequence[Kind], context: Context, nodes: int, duration_s: float, seed: int) -> Trace:
    """Draw jobs of the declared kinds for so many seconds, as the hours are drawn on which bids are tested."""
    from wattline.generate.kinds import draw_jobs

    jobs: JobTable = context.keyed(("trace",), draw_jobs, kinds, nodes, duration_s, seed)
    if not len(jobs):
        raise context.error(("trace", "duration"), "no job arrives in so short a time")
    return Trace(jobs, source="drawn from kinds", suggested_nodes=nodes)


def hold_against_kinds(trace: Trace, kinds: Sequence[Kind], context: Context, key: str) -> Trace:
    """Match the jobs with the declared kinds; what a job does not say of its power, its kind says.

    ``key`` is the section that declares the kinds.
    """
    from wattline.wiring.subjects.regulation import kind_codes
    from wattline.wiring.subjects.responses import as_kinds_respond

    jobs = trace.jobs
    try:
        code = kind_codes(jobs, kinds)
        as_kinds_respond(jobs, code, kinds)
    except InputError as problem:
        raise InputError(f"{context.source.where((key,))}: {trace.source}: {problem}") from None
    filled = {
        name: np.where(np.isnan(getattr(jobs, name)), column(kinds, name)[code], getattr(jobs, name))
        for name in ("draw_w", "floor_w", "stretch")
    }
    notes = (*trace.notes, *_unlike(jobs, kinds, code))
    return replace(trace, jobs=jobs.with_columns(**filled), notes=notes)


def _unlike(jobs: JobTable, kinds: Sequence[Kind], code: Ints) -> Iterator[Note]:
    """Yield notes on jobs that are not what their kind says; pools of types are of different nodes by their nature."""
    pooled = np.array([kind.name.startswith("*") for kind in kinds])[code]
    nodes, floor_w, draw_w = (column(kinds, name)[code] for name in ("nodes", "floor_w", "draw_w"))
    beyond = (jobs.draw_w > draw_w * (1 + POWER_SLACK)) | (jobs.draw_w < floor_w * (1 - POWER_SLACK))
    for reason, which, said, meant in (
        ("asks for other nodes than its kind has", (jobs.nodes != nodes) & ~pooled, jobs.nodes, nodes),
        (f"draws {POWER_SLACK:.0%} more or less than its kind can", beyond, jobs.draw_w, draw_w),
    ):
        if which.any():
            j = int(np.argmax(which))
            example = f"job {jobs.job_id[j]} of kind {kinds[code[j]].name!r}: {said[j]:g}, not {meant[j]:g}"
            yield Note("kept", reason, int(which.sum()), quote(example))
