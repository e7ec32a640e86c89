"""Kinds of job found in a log: jobs of one name and one number of nodes, with their power and time at both ends of the
caps.

The rule, as in the study of days-long demand response: a *type* is a job name and a node count. A job without a name
goes by its user. Types of fewer than ``least`` jobs are pooled: first all those of one node count (``*@4``), then those
of a range of node counts between powers of two (``*@33-64``), then all that are left (``*``); only the last two mix
node counts. Jobs of no length are dropped: QoS degradation has no meaning for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.formats.tables.kinds import KindRow
from wattline.generate.cap_model import CapModel
from wattline.generate.kinds_power import Profile, fit_profile
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.reading.notes import Note, Trace, quote
from wattline.units import in_full

Labels = npt.NDArray[np.str_]
Mask = npt.NDArray[np.bool_]

UNSEEN = 0.5
"""Arrivals that are assumed of a kind that did not come in the window from which rates are taken."""


@dataclass(frozen=True)
class KindRules:
    """How kinds are told apart and what is attached to them.

    * ``least``: types of fewer jobs are pooled (1: none is). ``limit``, ``share`` and ``average`` are promised to every
      kind.
    * ``power``: *observed* takes the ends of the caps from the log where it has power (``model`` stands in elsewhere);
      *model* takes only the mean power from there. ``trim``: share of the measured jobs of a kind left out at each end.
    * ``own_power``: jobs keep the power that was measured of them; otherwise all jobs of a kind draw alike, which is
      faster to simulate. A job's run time is its own in both cases.
    * ``from_s``, ``until_s``: arrival rates are those of this part of the log, in seconds after its first submission.
    """

    least: int = 5
    limit: float = 2.0
    share: float = 0.10
    average: bool = False
    power: Literal["observed", "model"] = "observed"
    trim: float = 0.0
    own_power: bool = False
    from_s: float = 0.0
    until_s: float | None = None
    model: CapModel = field(default_factory=CapModel)

    def __post_init__(self) -> None:
        if self.least < 1:
            raise InputError(f"kinds: the least number of jobs of a kind must be at least 1, got {self.least}")
        if not self.limit > 0:
            raise InputError(f"kinds: the limit of the QoS degradation must be above 0, got {in_full(self.limit)}")
        if not 0 < self.share <= 1:
            raise InputError(f"kinds: the share of jobs beyond the limit must be in (0, 1], got {in_full(self.share)}")
        if not 0 <= self.trim < 0.5:
            raise InputError(f"kinds: the share left out at each end must be in [0, 0.5), got {in_full(self.trim)}")
        if self.power not in ("observed", "model"):
            raise InputError(f"kinds: power must be observed or model, got {self.power!r}")


@dataclass(frozen=True)
class Found:
    """The log with its jobs sorted into kinds, and the kinds, largest first (by node-hours)."""

    trace: Trace
    rows: tuple[KindRow, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds alone."""
        return tuple(row.kind for row in self.rows)


def find_kinds(trace: Trace, rules: KindRules | None = None) -> Found:
    """Sort the jobs of a log into kinds; give every kind its power, its run time and its rate, and every job its
    own.
    """
    rules = rules or KindRules()
    notes: list[Note] = []
    jobs = _with_length(trace.jobs, notes, trace.source)
    labels = _pooled(jobs, _types(jobs, notes), rules.least, notes)
    names, code = _by_size(jobs, labels)
    window = _window(jobs, rules)
    groups = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
    profiles = [
        fit_profile(name, jobs, rows, rules.power, rules.trim, rules.model)
        for name, rows in zip(names, groups, strict=True)
    ]
    notes += _power_notes(jobs, code, profiles, rules)
    if jobs.series is not None and not rules.own_power:
        told = np.diff(jobs.series.first) > 0
        _note(
            notes,
            "repaired",
            "power over time left out: the kind's power is that of its jobs (--own-power keeps it)",
            told,
            jobs,
        )
        jobs = replace(jobs, series=None)
    sorted_jobs = _attach(jobs, code, names, profiles, own_power=rules.own_power, model=rules.model)
    rows = tuple(_rows(sorted_jobs, groups, profiles, rules, window, notes))
    return Found(replace(trace, jobs=sorted_jobs, notes=(*trace.notes, *notes), records=None), rows)


def _with_length(jobs: JobTable, notes: list[Note], source: str) -> JobTable:
    none = jobs.work_s <= 0
    _note(notes, "dropped", "run time 0: QoS degradation has no meaning", none, jobs)
    if none.all():
        raise InputError(f"{source}: no kinds can be found: none of its {len(jobs)} jobs ran for any time")
    cut = ~none & (jobs.after >= 0) & none[jobs.after]
    _note(notes, "repaired", "it follows a job that was dropped: link cut", cut, jobs)
    return jobs.take(~none) if none.any() else jobs


def _types(jobs: JobTable, notes: list[Note]) -> Labels:
    """Return the type of every job: its name, or its user, and its nodes."""
    named, known = jobs.kind >= 0, jobs.user >= 0
    _note(notes, "kept", "has no name: jobs of one user and one number of nodes are a type", ~named & known, jobs)
    _note(
        notes, "kept", "has neither name nor user: such jobs of one number of nodes are a type", ~named & ~known, jobs
    )
    names = np.array([*jobs.kinds, ""], dtype=np.str_)[jobs.kind]
    users = np.array([*(f"user {user}" for user in jobs.users), "unnamed"], dtype=np.str_)[jobs.user]
    suffix = np.strings.add("@", jobs.nodes.astype(np.str_))
    stem = np.where(named, names, users)
    sorted_before = np.strings.endswith(stem, suffix) | np.strings.startswith(stem, "*")
    return np.where(sorted_before, stem, np.strings.add(stem, suffix))


def _pooled(jobs: JobTable, labels: Labels, least: int, notes: list[Note]) -> Labels:
    upper = 2 ** np.ceil(np.log2(jobs.nodes)).astype(np.int64)
    lower = np.where(jobs.nodes > 1, upper // 2 + 1, 1)
    ranges = np.array([f"*@{a}-{b}" if b > a else f"*@{b}" for a, b in zip(lower, upper, strict=True)], dtype=np.str_)
    every = np.full(labels.size, "*", dtype=np.str_)
    for pool, what in (
        (np.strings.add("*@", jobs.nodes.astype(np.str_)), "one number of nodes"),
        (ranges, "a range of numbers of nodes between powers of two"),
        (every, "any number of nodes"),
    ):
        _, place, count = np.unique(labels, return_inverse=True, return_counts=True)
        rare = count[place] < least
        _note(
            notes,
            "kept",
            f"of a type with fewer than {least} jobs: pooled with others of {what}",
            rare & (labels != pool),
            jobs,
        )
        labels = np.where(rare, pool, labels)
    return labels


def _by_size(jobs: JobTable, labels: Labels) -> tuple[list[str], Ints]:
    """Return the names of the kinds, those with most node-hours first, and every job's place among them."""
    names, code = np.unique(labels, return_inverse=True)
    node_s = np.bincount(code, weights=jobs.nodes * jobs.work_s)
    order = np.lexsort((names, -node_s))
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return names[order].tolist(), rank[code].astype(np.int64)


def _window(jobs: JobTable, rules: KindRules) -> tuple[float, float]:
    first_s = float(jobs.submit_s[0])
    from_s, until_s = rules.from_s, jobs.span_s if rules.until_s is None else rules.until_s
    if not 0 <= from_s < until_s:
        raise InputError(
            f"kinds: no arrival rates can be taken from {in_full(from_s)} s to {in_full(until_s)} s after the "
            "first submission" + (" (all jobs come at once)" if not jobs.span_s else "")
        )
    return first_s + from_s, first_s + until_s


def _attach(
    jobs: JobTable, code: Ints, names: list[str], profiles: list[Profile], *, own_power: bool, model: CapModel
) -> JobTable:
    """Return the jobs with their kinds, the power of these (or their own), and run times at the power they draw
    uncapped.

    A job that was seen at less power than its kind's highest was slowed by that, as its kind's line says: at the
    highest it would have taken so much less.
    """
    draw_w, floor_w, stretch = (
        np.array([getattr(p, name) for p in profiles])[code] for name in ("draw_w", "floor_w", "stretch")
    )
    observed = np.array([p.observed for p in profiles])[code]
    measured = np.isfinite(jobs.draw_w)
    seen_w = np.where(measured, np.clip(jobs.draw_w, floor_w, draw_w), draw_w)
    range_w = np.where(draw_w > floor_w, draw_w - floor_w, 1.0)
    slowed = np.where(observed, 1.0 + (stretch - 1.0) * (draw_w - seen_w) / range_w, 1.0)
    work_s: Floats = jobs.work_s / slowed
    if own_power:
        own_w = np.where(measured, jobs.draw_w, draw_w)
        told = np.isfinite(jobs.floor_w + jobs.stretch)
        modelled = np.array([(model.floor(watts), model.stretch(watts)) for watts in own_w.tolist()])
        floor_w = np.where(told, jobs.floor_w, np.where(observed, np.minimum(floor_w, own_w), modelled[:, 0]))
        stretch = np.where(told, jobs.stretch, np.where(observed, np.maximum(stretch / slowed, 1.0), modelled[:, 1]))
        work_s, draw_w = jobs.work_s, own_w
    return jobs.with_columns(
        kind=code, kinds=tuple(names), work_s=work_s, draw_w=draw_w, floor_w=floor_w, stretch=stretch
    )


def _rows(
    jobs: JobTable,
    groups: list[Ints],
    profiles: list[Profile],
    rules: KindRules,
    window: tuple[float, float],
    notes: list[Note],
) -> Iterator[KindRow]:
    inside = (jobs.submit_s >= window[0]) & (jobs.submit_s <= window[1])
    length_s = window[1] - window[0]
    unseen = np.ones(len(profiles), dtype=np.bool_)
    unseen[jobs.kind[inside]] = False
    told = f"kind of job that did not come in the time that rates are taken from: {in_full(UNSEEN)} arrivals assumed"
    _note(notes, "kept", told, unseen[jobs.kind], jobs)
    for k, (mine, profile) in enumerate(zip(groups, profiles, strict=True)):
        nodes = max(1, round(float(jobs.nodes[mine].mean())))
        # so that arrivals × nodes × time is the work that the log holds, also where nodes differ
        work_s = float(np.sum(jobs.nodes[mine] * jobs.work_s[mine])) / (mine.size * nodes)
        rate = max(int(inside[mine].sum()), UNSEEN) / length_s
        kind = Kind(
            jobs.kinds[k],
            nodes,
            work_s,
            profile.draw_w,
            profile.floor_w,
            profile.stretch,
            rules.limit,
            rules.share,
            arrival_per_s=rate,
            average=rules.average,
        )
        yield KindRow(kind, mine.size, profile.source)


def _power_notes(jobs: JobTable, code: Ints, profiles: list[Profile], rules: KindRules) -> list[Note]:
    """Say where the power of the jobs comes from, model and all."""
    notes: list[Note] = []
    told = {
        "given": "power and slowdown by caps as the log gives them, averaged over its kind",
        "observed": "power and slowdown by caps: the range observed among jobs of its kind",
        f"mean, {rules.model.name}": f"mean power of its kind as measured, caps by the {rules.model.told(drawn=False)}",
        rules.model.name: f"power not measured: by the {rules.model.told(drawn=True)}",
    }
    source = np.array([p.source for p in profiles])[code]
    for name, reason in told.items():
        _note(notes, "kept", reason, source == name, jobs)
    bent = np.array([p.bent for p in profiles])[code]
    reason = "run times of its kind do not grow as power falls, or more than it falls: slowdown set to the bound"
    _note(notes, "repaired", reason, bent, jobs)
    return notes


def _note(
    notes: list[Note], action: Literal["dropped", "repaired", "kept"], reason: str, which: Mask, jobs: JobTable
) -> None:
    """Count the jobs of a mask, naming the first."""
    if which.any():
        j = int(np.argmax(which))
        name = f" {jobs.kinds[jobs.kind[j]]!r}" if jobs.kind[j] >= 0 else ""
        notes.append(
            Note(action, reason, int(which.sum()), quote(f"job {jobs.job_id[j]}{name} on {jobs.nodes[j]} nodes"))
        )
