"""What a state is told of a job that nobody knew: by the same rules by which a simulation lays out its jobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from wattline.model.cluster import Cluster
from wattline.model.kinds import Kind


@dataclass(frozen=True)
class Newcomer:
    """A job as somebody outside knows it. Times in seconds, NaN: not known."""

    submit_s: float
    nodes: int
    request_s: float = math.nan
    work_s: float = math.nan
    """Run time at full speed, where somebody knows it; otherwise its kind's, or what it asks for."""
    user: int = 0
    group: int = 0
    kind: str = ""
    partition: str = ""
    priority: float = 0.0
    draw_w: float = math.nan
    chooses: bool = True
    """Whether it may still take a configuration of its application, where its kind names one; false once it runs."""
    pool: int = -1
    """Node class that it is in, or must be in; -1: as its partition and its width say."""
    room: int = -1
    """On how many nodes of that class it can be; -1: on all."""


@dataclass(frozen=True)
class Desk:
    """Where jobs are taken in: the machine and the kinds that they are held against.

    Parameters
    ----------
    default_kind
        Kind of jobs that name none or an unknown one; empty: such jobs are refused where kinds are declared.
    default_s
        Run time of jobs of which nothing is known.
    applications
        Names of applications whose jobs choose their configuration, in the order of the state's; a job is of the one
        that its kind names.
    """

    cluster: Cluster
    kinds: Sequence[Kind] = ()
    default_kind: str = ""
    default_s: float = 3600.0
    applications: Sequence[str] = ()
    _kind: dict[str, int] = field(init=False, default_factory=dict)
    _pool: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._kind.update({kind.name: k for k, kind in enumerate(self.kinds)})
        self._pool.update({c.name: p for p, c in enumerate(self.cluster.classes)})

    def pool_of(self, job: Newcomer) -> int:
        """Return the node class of a job: the one its partition names, else the first wide enough, else the widest."""
        if job.pool >= 0:
            return job.pool
        counts = [c.count for c in self.cluster.classes]
        if len(counts) > 1 and job.partition in self._pool:
            return self._pool[job.partition]
        return next((p for p, count in enumerate(counts) if job.nodes <= count), counts.index(max(counts)))

    def why_not(self, job: Newcomer) -> str:
        """Return in a line why a job can never run here; empty if it can."""
        where = self.cluster.classes[self.pool_of(job)]
        if job.nodes < 1:
            return "it asks for no node"
        if job.nodes > where.count:
            return f"it asks for {job.nodes} nodes, class {where.name!r} has {where.count}"
        if 0 <= job.room < job.nodes:
            return f"it asks for {job.nodes} nodes and can be on {job.room} of class {where.name!r}"
        if self.kinds and self.kind_of(job) is None:
            return f"its kind {job.kind!r} is not declared, and there is no default kind"
        return ""

    def kind_of(self, job: Newcomer) -> int | None:
        """Return which of the declared kinds a job is of."""
        return self._kind.get(job.kind, self._kind.get(self.default_kind))

    def application_of(self, job: Newcomer) -> int:
        """Return the application among whose configurations a job chooses; -1: it runs as it asks for."""
        known = job.chooses and job.kind in self.applications
        return self.applications.index(job.kind) if known else -1

    def facts(self, job: Newcomer) -> list[float]:
        """Return what ``control.rows.FACTS`` names, in that order, of a job that can run here, or runs already.

        One that runs and whose kind is not declared is counted with what it says itself, or with its nodes' greatest
        power.
        """
        p = self.pool_of(job)
        node = self.cluster.classes[p]
        k = self.kind_of(job) if self.kinds else None
        kind = self.kinds[k] if k is not None else None
        work_s = job.work_s
        if math.isnan(work_s):
            asked_s = job.request_s if math.isfinite(job.request_s) else self.default_s
            work_s = kind.work_s if kind is not None else asked_s
        request_s = math.inf if math.isnan(job.request_s) else job.request_s
        draw_w, floor_w, stretch = job.draw_w, math.nan, math.nan
        if kind is not None and math.isnan(draw_w):
            draw_w, floor_w, stretch = kind.draw_w, kind.floor_w, kind.stretch
        draw_w = node.max_w if math.isnan(draw_w) else min(draw_w, node.max_w)  # no job draws more than its nodes can
        least_w = node.max_w if math.isnan(node.min_cap_w) else node.min_cap_w
        floor_w = min(least_w if math.isnan(floor_w) else floor_w, draw_w)
        if math.isnan(stretch):
            stretch = draw_w / floor_w if floor_w > 0.0 else 1.0
        return [
            job.submit_s,
            work_s,
            float(job.nodes),
            request_s,
            request_s if math.isfinite(request_s) else work_s,
            float(job.user),
            float(job.group),
            0.0 if k is None else float(k),
            float(p),
            job.priority,
            -1.0,
            0.0,
            draw_w,
            floor_w,
            stretch,
            float(self.application_of(job)),
            0.0,
            0.0,
            0.0,
        ]
