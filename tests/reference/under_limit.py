"""Jobs under a power limit that changes, in plain Python: one cap ratio for all, run time along measured points.

Written from docs/cap-response.md and docs/design.md. All jobs begin at time 0, each on nodes of its own, so that
nothing is left but caps: who draws what, how fast that makes a job, and when it ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Job(NamedTuple):
    """Work in seconds at full speed, nodes, and (power of a node, run time over the uncapped), lowest power first."""

    work_s: float
    nodes: int
    points: Sequence[tuple[float, float]]


def time_at(points: Sequence[tuple[float, float]], watts: float) -> float:
    """Return run time over the uncapped one at a power of a node."""
    for (low_w, slow), (high_w, fast) in pairwise(points):
        if low_w <= watts <= high_w:
            return fast + (slow - fast) * (high_w - watts) / (high_w - low_w)
    return 1.0


def run(
    jobs: Sequence[Job], nodes: int, idle_w: float, limits: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Return (end in seconds, energy in joules) of every job; limits are (from time, watts), the first at time 0."""
    left = [job.work_s for job in jobs]
    ends, joules = [math.nan] * len(jobs), [0.0] * len(jobs)
    now = 0.0
    while any(math.isnan(end) for end in ends):
        alive = [i for i, end in enumerate(ends) if math.isnan(end)]
        limit_w = [watts for since, watts in limits if since <= now][-1]
        free_w = idle_w * (nodes - sum(jobs[i].nodes for i in alive))
        low_w = free_w + sum(jobs[i].nodes * jobs[i].points[0][0] for i in alive)
        high_w = free_w + sum(jobs[i].nodes * jobs[i].points[-1][0] for i in alive)
        ratio = 1.0
        if high_w > limit_w:
            ratio = max(0.0, (limit_w - low_w) / (high_w - low_w)) if high_w > low_w else 0.0
        drawn = {i: _drawn_w(jobs[i].points, ratio) for i in alive}
        takes = {i: left[i] * time_at(jobs[i].points, drawn[i]) for i in alive}
        step = min([*takes.values(), *(since - now for since, _ in limits if since > now)])
        for i in alive:
            joules[i] += jobs[i].nodes * drawn[i] * step
            left[i] -= step / time_at(jobs[i].points, drawn[i])
            if takes[i] <= step * (1 + 1e-13):
                ends[i] = now + step
        now = min([t for t, _ in limits if t > now and math.isclose(t, now + step, rel_tol=1e-13)] or [now + step])
    return list(zip(ends, joules, strict=True))


def _drawn_w(points: Sequence[tuple[float, float]], ratio: float) -> float:
    """Return what a node draws at a cap ratio: 0 is the lowest power, 1 is no cap."""
    low_w, high_w = points[0][0], points[-1][0]
    return high_w if ratio == 1.0 else low_w + ratio * (high_w - low_w)
