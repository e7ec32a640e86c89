"""Where jobs can be: which class a node is of, which class has room for a job, and jobs on nodes of several classes.

A job of the state is on nodes of one class, whose powers count for it. One that others started on nodes of several is
seen as several: each part is counted with the powers of its own class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wattline.live.controller.seen.nodes import NodeNames
from wattline.live.machine.base import JobSeen
from wattline.model.cluster import Cluster


@dataclass
class Places:
    """Names of nodes, and the class of each."""

    nodes: NodeNames
    cluster: Cluster
    _class: list[int] = field(init=False)
    """By the number of a node."""
    _rooms: dict[frozenset[str], list[int]] = field(init=False, default_factory=dict)
    _parts: dict[str, tuple[JobSeen, tuple[JobSeen, ...]]] = field(init=False, default_factory=dict)
    """Jobs that are not what the resource manager shows, and what they are instead."""

    def __post_init__(self) -> None:
        self._class = [p for p, one in enumerate(self.cluster.classes) for _ in range(one.count)]

    def class_of(self, name: str) -> int:
        """Return the class of a node; -1 for one that is not ours."""
        at = self.nodes.number.get(name, -1)
        return self._class[at] if 0 <= at < len(self._class) else -1

    def of_class(self, pool: int) -> list[str]:
        """Return the nodes of a class."""
        return [name for name, p in zip(self.nodes.names, self._class, strict=False) if p == pool]

    def choose(self, job: JobSeen) -> tuple[int, int]:
        """Return the class in which a waiting job is placed, and on how many of its nodes it can be; -1: any, all.

        Of classes with room for it, the one that its partition names comes first.
        """
        if job.fits is None:
            return -1, -1
        rooms = self._rooms.get(job.fits)
        if rooms is None:
            rooms = [0] * len(self.cluster.classes)
            for name in job.fits:
                p = self.class_of(name)
                if p >= 0:
                    rooms[p] += 1
            self._rooms[job.fits] = rooms
        wide = [p for p, room in enumerate(rooms) if room >= job.nodes]
        named = [p for p in wide if self.cluster.classes[p].name == job.partition]
        pool = (named or wide or [rooms.index(max(rooms))])[0]
        return pool, rooms[pool]

    def of_ours(self, jobs: Sequence[JobSeen]) -> Sequence[JobSeen]:
        """Return jobs as they are on our nodes: without nodes of others, one for each class that they are on."""
        before, self._parts = self._parts, {}
        for job in jobs:
            if len(job.on) > 1:
                known = before.get(job.id)
                parts = known[1] if known is not None and known[0] is job else self._cut(job)
                if parts:
                    self._parts[job.id] = (job, parts)
        if not self._parts:
            return jobs
        whole = ((job,) if job.id not in self._parts else self._parts[job.id][1] for job in jobs)
        return [part for parts in whole for part in parts]

    def _cut(self, job: JobSeen) -> tuple[JobSeen, ...]:
        """Return the parts of a job; none where it is on nodes of one class, or on none of ours."""
        on: dict[int, list[str]] = {}
        for name in job.on:
            on.setdefault(self.class_of(name), []).append(name)
        on.pop(-1, None)
        first = min(on, default=-1)
        if not on or len(on[first]) == len(job.on):
            return ()
        alone = len(on) == 1
        return tuple(
            replace(
                job,
                id=job.id if p == first else f"{job.id}+{self.cluster.classes[p].name}",
                on=tuple(names),
                nodes=len(names),
                ours=job.ours and alone,
                stoppable=job.stoppable and alone,
            )
            for p, names in sorted(on.items())
        )
