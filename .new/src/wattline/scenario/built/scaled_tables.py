"""Jobs of one application that are not all of one length: the table says how a job's own run time changes with its
configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Ints
from wattline.memory import require_bytes
from wattline.model.configurations import Configurations, Moldable

if TYPE_CHECKING:
    from wattline.model.jobs import JobTable

ROW_BYTES = 150
"""A configuration of a job's own: its numbers in the tables and in the state."""

SHORTEST_S = 1e-3
"""Jobs that take no time at all take this long: a configuration has a run time."""

DIGITS = 9
"""Jobs whose lengths agree in so many digits share a table."""


def asked_row(table: Configurations, nodes: int) -> int:
    """Return the configuration that a user asks for: all cores, no cap, the most nodes up to those asked for (or the
    fewest).
    """
    counts = np.unique(table.nodes)
    below = counts[counts <= nodes]
    rows = np.flatnonzero(table.nodes == (below[-1] if below.size else counts[0]))
    return int(rows[np.lexsort((table.cap_w[rows], table.cores[rows]))[-1]])


def scale_tables(
    jobs: JobTable, tables: Mapping[str, Moldable], whole: Mapping[str, Configurations], scaled: Collection[str]
) -> tuple[tuple[Moldable, ...], Ints]:
    """Return tables and which of them each job chooses from: jobs of a scaled kind have one for every length.

    As asked for, a job takes its own time; in every other configuration as much more or less as the table says.
    """
    found = [m for name, m in tables.items() if name not in scaled]
    chooses = np.full(len(jobs), -1, dtype=np.int64)
    for a, m in enumerate(found):
        chooses[_of_kind(jobs, m.truth.application)] = a
    for name in sorted(scaled):
        mine = _of_kind(jobs, name)
        asked_s = np.array([whole[name].time_s[asked_row(whole[name], int(n))] for n in jobs.nodes[mine]])
        factor = np.maximum(jobs.work_s[mine], SHORTEST_S) / asked_s
        lengths, which = np.unique([float(f"{f:.{DIGITS}g}") for f in factor], return_inverse=True)
        rows = lengths.size * len(tables[name].truth)
        require_bytes(rows * ROW_BYTES, f"{rows:,} configurations of {lengths.size:,} lengths of {name!r}")
        chooses[mine] = len(found) + which
        found += [_stretched(tables[name], float(length)) for length in lengths]
    return tuple(found), chooses


def _of_kind(jobs: JobTable, name: str) -> Ints:
    codes = [code for code, kind in enumerate(jobs.kinds) if kind == name]
    return np.flatnonzero(np.isin(jobs.kind, codes))


def _stretched(m: Moldable, factor: float) -> Moldable:
    truth = replace(m.truth, time_s=m.truth.time_s * factor)
    return Moldable(truth, None if m.told is None else replace(m.told, time_s=m.told.time_s * factor))
