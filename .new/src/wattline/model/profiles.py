"""Hierarchical keys under which power profiles are learned: a job's own, then those of its groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError, did_you_mean
from wattline.model.jobs import UNKNOWN, JobTable

COLUMNS = ("group", "user", "kind", "nodes", "partition")
"""Columns of a job that a profile may go by; names that are unknown tell nothing."""

DEFAULT: tuple[tuple[str, ...], ...] = (("group", "user", "kind", "nodes"), ("group",))
"""A job's own profile (project, user, name, nodes), then its project's."""


@dataclass(frozen=True)
class ProfileTable:
    """The profiles of a workload: a row each, all levels in one table, and every job's row at every level (-1:
    none).
    """

    levels: tuple[tuple[str, ...], ...]
    rows: Ints
    labels: tuple[tuple[int, tuple[Any, ...]], ...]
    """(level, values of its columns) of every row: texts, and numbers for nodes."""

    def __len__(self) -> int:
        return len(self.labels)


def check_levels(levels: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the levels if they make sense: from the most particular to the most general."""
    if not levels:
        raise InputError("power profiles: give at least one level")
    for level in levels:
        if not level:
            raise InputError("power profiles: a level must name at least one column")
        for name in level:
            if name not in COLUMNS:
                raise InputError(f"power profiles: unknown column {name!r}{did_you_mean(name, COLUMNS)}")
    return tuple(tuple(level) for level in levels)


def profile_table(jobs: JobTable, levels: Sequence[Sequence[str]] = DEFAULT) -> ProfileTable:
    """Number the profiles of a workload.

    >>> jobs = JobTable.build(submit_s=[0, 1, 2], work_s=[9, 9, 9], nodes=[1, 2, 1], group=[0, 0, 0], groups=["p"])
    >>> profile_table(jobs).rows.tolist()
    [[0, 2], [1, 2], [0, 2]]
    """
    checked = check_levels(levels)
    rows = np.full((len(jobs), len(checked)), UNKNOWN, dtype=np.int64)
    labels: list[tuple[int, tuple[Any, ...]]] = []
    for v, level in enumerate(checked):
        columns = np.column_stack([getattr(jobs, name) for name in level]) if len(jobs) else np.empty((0, len(level)))
        named = [i for i, name in enumerate(level) if name != "nodes"]
        known = (columns[:, named] >= 0).any(axis=1) if named else np.ones(len(jobs), dtype=np.bool_)
        values, inverse = np.unique(columns[known], axis=0, return_inverse=True)
        rows[known, v] = len(labels) + inverse.reshape(-1)
        labels += [(v, tuple(_name(jobs, *pair) for pair in zip(level, row, strict=True))) for row in values.tolist()]
    return ProfileTable(checked, rows, tuple(labels))


def _name(jobs: JobTable, column: str, code: int) -> str | int:
    if column == "nodes":
        return int(code)
    names = getattr(jobs, column + "s")
    return names[int(code)] if 0 <= code < len(names) else ("" if code < 0 else str(int(code)))
