"""Jobs held against tables of configurations: kinds without a table, node counts that were not measured."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import did_you_mean
from wattline.model.configurations import Configurations, Moldable
from wattline.reading.notes import Note, listed, quote
from wattline.scenario.built.scaled_tables import asked_row
from wattline.scenario.read.source import Context
from wattline.units import in_full

if TYPE_CHECKING:
    from wattline.model.jobs import JobTable

SAME_TIME = 1e-3
"""Times that differ by less than this share are the same."""


def without_series(jobs: JobTable, notes: list[Note]) -> JobTable:
    """Return jobs without power over time: their tables say what they draw."""
    if jobs.series is None:
        return jobs
    notes.append(Note("kept", "power over time is left out: configurations say what jobs draw", len(jobs), ""))
    return jobs.with_columns(series=None)


def kinds_of(jobs: JobTable) -> set[str]:
    """Return the kinds that jobs are of."""
    return {jobs.kinds[code] for code in np.unique(jobs.kind[jobs.kind >= 0])}


def hold_against(
    context: Context, jobs: JobTable, tables: dict[str, Moldable], given: Sequence[str], notes: list[Note]
) -> None:
    """Note which jobs have no table, which tables no job, and which node counts were not measured.

    Refuse if none match.
    """
    names = [*jobs.kinds, ""]
    kind = np.where(jobs.kind >= 0, jobs.kind, len(jobs.kinds))
    has = np.array([name in tables for name in names])[kind]
    if not has.any():
        known = [name for name in jobs.kinds if name]
        hint = did_you_mean(given[0], known) if known else "; the trace names no applications: give each table its kind"
        told = f"no job of the trace is of kind {listed(given)}{hint}"
        raise context.error(("configurations",), told)
    if not has.all():
        j = int(np.argmin(has))
        told = "jobs run as they ask: there is no table of their application"
        notes.append(Note("kept", told, int((~has).sum()), quote(f"job {jobs.job_id[j]} of kind {names[kind[j]]!r}")))
    unused = [name for name in given if name not in tables]
    if unused:
        notes.append(Note("kept", "tables of applications that no job runs", len(unused), listed(unused)))
    notes += _unmeasured(jobs, tables, [names[k] for k in kind])


def as_measured(
    jobs: JobTable, tables: dict[str, Configurations], scaled: Collection[str], notes: list[Note]
) -> JobTable:
    """Let jobs draw, as asked for, what their table has for that, and unless it is scaled to their own length take its
    time.
    """
    work_s, draw_w = jobs.work_s.copy(), jobs.draw_w.copy()
    changed = np.zeros(len(jobs), dtype=bool)
    for code, name in enumerate(jobs.kinds):
        if name not in tables:
            continue
        truth = tables[name]
        for nodes in np.unique(jobs.nodes[jobs.kind == code]):
            row = asked_row(truth, int(nodes))
            if truth.nodes[row] == nodes:
                mine = (jobs.kind == code) & (jobs.nodes == nodes)
                draw_w[mine] = truth.power_w[row] / nodes
                if name not in scaled:
                    changed |= mine & (np.abs(work_s - truth.time_s[row]) > SAME_TIME * truth.time_s[row])
                    work_s[mine] = truth.time_s[row]
    if changed.any():
        j = int(np.argmax(changed))
        told = "take, as asked for, the time that their table has, not that of the trace"
        notes.append(
            Note(
                "repaired",
                told,
                int(changed.sum()),
                f"job {jobs.job_id[j]}: {in_full(work_s[j])} s, not {in_full(jobs.work_s[j])} s",
            )
        )
    return jobs.with_columns(work_s=work_s, draw_w=draw_w)


def _unmeasured(jobs: JobTable, tables: dict[str, Moldable], kinds: Sequence[str]) -> Iterator[Note]:
    measured = {name: set(m.truth.nodes.tolist()) for name, m in tables.items()}
    odd = [j for j, name in enumerate(kinds) if name in measured and int(jobs.nodes[j]) not in measured[name]]
    if odd:
        counts = sorted(measured[kinds[odd[0]]])
        example = (
            f"job {jobs.job_id[odd[0]]} asks for {jobs.nodes[odd[0]]}, {kinds[odd[0]]!r} has {listed(map(str, counts))}"
        )
        yield Note(
            "kept",
            "ask for a number of nodes that their table does not have: it counts for their share of power, and as "
            "asked "
            "the next smaller one is taken",
            len(odd),
            quote(example),
        )
