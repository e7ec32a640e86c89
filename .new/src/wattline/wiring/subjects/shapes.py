"""Lay out the configurations of applications, and which jobs may choose among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wattline.errors import InputError
from wattline.model.cluster import Cluster
from wattline.model.configurations import Moldable
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import State
from wattline.wiring.fronts import Fronts, fronts_of
from wattline.wiring.subjects.power import learner_of

if TYPE_CHECKING:
    from wattline.wiring.options import Options


def check_moldable(cluster: Cluster, policies: Sequence[Mechanism], options: Options) -> None:
    """Refuse what means nothing for jobs that choose their configuration."""
    raises = next((m.name for m in policies if m.recaps), None)
    if raises is not None and options.variability is not None:
        raise InputError(
            f"cap policy {raises!r} takes nodes for alike: it cannot raise caps where they differ in power"
        )
    if not options.configurations:
        if raises is not None:
            raise InputError(
                f"cap policy {raises!r} raises caps of jobs that choose their configuration: give configurations"
            )
        return
    names = [m.truth.application for m in options.configurations]
    if options.chooses is None and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"configurations of {twice!r} are given twice")
    check_one_class(cluster)
    if any(c.sleep is not None or len(c.levels) > 1 for c in cluster.classes):
        raise InputError("jobs that choose their configuration need nodes that neither sleep nor change their speed")
    if options.exceed:
        raise InputError("jobs that choose their configuration wait for one that fits: none may exceed the limit alone")
    learner = learner_of(policies)
    if learner is not None:
        raise InputError(
            f"what jobs draw is in their configurations: profile policy {learner.called!r} cannot learn it"
        )
    stops = next((m.name for m in policies if m.preempts or m.solo_caps or m.caps), None)
    if stops is not None or options.shed:
        raise InputError(
            f"jobs that choose their configuration can neither be stopped nor capped ({stops or 'preempt'})"
        )


def check_one_class(cluster: Cluster) -> None:
    """Refuse a machine of several node classes, where a configuration would mean different things."""
    if len(cluster.classes) > 1:
        raise InputError("jobs that choose their configuration need nodes of one class")


def by_kind(jobs: JobTable, moldable: Sequence[Moldable]) -> npt.NDArray[np.int64]:
    """Return which application each job is of, by the name of its kind (-1: none of them)."""
    place = {m.truth.application: a for a, m in enumerate(moldable)}
    translate = np.array([place.get(name, -1) for name in jobs.kinds] + [-1], dtype=np.int64)
    return translate[np.where(jobs.kind >= 0, jobs.kind, len(jobs.kinds))]


def fill_shapes(
    s: State, jobs: JobTable, moldable: tuple[Moldable, ...], chooses: npt.NDArray[np.int64] | None
) -> None:
    """Fill in all configurations, one application after the other, and every job's application."""
    s.asked_nodes[: len(jobs)] = jobs.nodes
    at = 0
    for a, m in enumerate(moldable):
        count = len(m.truth)
        told = m.told or m.truth
        rows = slice(at, at + count)
        s.app_first[a], s.app_count[a] = at, count
        s.sh_nodes[rows], s.sh_cores[rows], s.sh_cap_w[rows] = m.truth.nodes, m.truth.cores, m.truth.cap_w
        s.sh_time_s[rows], s.sh_power_w[rows] = m.truth.time_s, m.truth.power_w
        s.sh_told_s[rows], s.sh_told_w[rows] = told.time_s, told.power_w
        at += count
    _fill_fronts(s, fronts_of(moldable))
    if moldable and len(jobs):
        s.app[: len(jobs)] = by_kind(jobs, moldable) if chooses is None else chooses
        both = np.flatnonzero((s.app >= 0) & (s.series_count > 0))
        if both.size:
            raise InputError(
                f"job {jobs.job_id[both[0]]} has power over time and configurations, which say it otherwise"
            )


def _fill_fronts(s: State, fronts: Fronts) -> None:
    """Fill in what policies look configurations up by."""
    number = entry = 0
    for a, sizes in enumerate(fronts.sizes):
        s.app_sizes[a], s.app_n_sizes[a], s.app_least[a] = number, sizes.size, fronts.least[a]
        for n, rows in zip(sizes, fronts.rows[a], strict=True):
            s.fr_nodes[number], s.fr_first[number], s.fr_count[number] = n, entry, rows.size
            s.fr_row[entry : entry + rows.size] = rows
            s.fr_told_w[entry : entry + rows.size] = s.sh_told_w[rows]
            number += 1
            entry += rows.size
    if fronts.up:
        s.sh_up[:] = np.concatenate(fronts.up)
