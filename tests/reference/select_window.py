"""Window scheduling: of the first jobs in the line, start those that fill the most nodes; all subsets are tried.

Readings: the window holds the first jobs of a node class whether they fit or not; of equal choices the one with the
earlier jobs wins. A job is overdue once it has waited as long as the patience; the longest-waiting one counts, the
first in line among equals. If it fits it starts; otherwise nobody starts on its class who would still run at its
reservation. With ``plugged``, a full window (of the whole line) all of whose jobs would exceed the limit alone starts
its first one as soon as it has the nodes, and no other. One that never fits (with all nodes in service idle and nothing
else running) is passed over, unless it may exceed the limit: then it starts once nothing runs, and meanwhile nobody
starts who would outlast all that runs. Node classes under one power limit are served in the order in which their first
jobs stand in the line, others as declared.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from reference.select_backfill import reservation

if TYPE_CHECKING:
    from reference.scheduler import Job, Scheduler


def window(m: Scheduler, _happened: set[str]) -> None:
    """Serve the overdue, then the best of the window, one node class after the other."""
    lines = list(enumerate(m.lines()))
    if m.shares_watts():
        lines = sorted((p, line) for p, line in lines if line)
        lines.sort(key=lambda one: m.queue.index(one[1][0]))
    params = {"window": 20, "patience": math.inf, "widen": 0, "plugged": 0, **m.setup.params}
    within = math.inf
    first = m.queue[: int(params["window"])]
    full = len(first) == params["window"] and all(_never_fits(m, job) for job in first)
    if params["plugged"] and m.setup.exceed and full:
        if first[0].nodes <= len(m.free[first[0].pool]):
            m.start(first[0])
        return
    if params["patience"] < math.inf and m.setup.exceed:
        due = _overdue(m, m.queue, params["patience"])
        if due is not None and _never_fits(m, due) and due.nodes <= _in_service(m, due.pool):
            if not m.running:
                m.start(due)
                return
            within = max(0.0, max(j.expected for j in m.running) - m.now)
    quiet = not m.running
    for p, line in lines:
        if m.free[p]:
            _serve(m, line, within, params, quiet=quiet)


def _in_service(m: Scheduler, p: int) -> int:
    return len(m.free[p]) + sum(j.nodes for j in m.running if j.pool == p)


def _never_fits(m: Scheduler, job: Job) -> bool:
    idle_w = sum(_in_service(m, p) * m.idle_w(p) for p in range(len(m.free)))
    alone_w = idle_w + job.nodes * (m.believed(job) - m.idle_w(job.pool))
    return m.limit_w < math.inf and alone_w > m.limit_w * (1 + 1e-9)


def _overdue(m: Scheduler, line: list[Job], patience: float) -> Job | None:
    late = [j for j in line if m.now - j.eligible >= patience]
    return min(late, key=lambda j: j.eligible, default=None)  # the first in line among equals


def _serve(m: Scheduler, line: list[Job], within: float, params: dict[str, float], *, quiet: bool) -> None:
    due = (
        _overdue(m, [j for j in line if not _never_fits(m, j)], params["patience"])
        if params["patience"] < math.inf
        else None
    )
    if due is not None and m.fits(due) and m.wall_s(due) <= within:
        m.start(due)
        line.remove(due)
    elif due is not None:
        at = reservation(m, due)[0]
        within = min(within, at - m.now) if at < math.inf else 0.0
    size = int(params["window"])
    for first in range(0, len(line), size):
        for job in _best(m, [j for j in line[first : first + size] if m.fits(j) and m.wall_s(j) <= within]):
            m.start(job)
        if not quiet or m.running or not params["widen"]:
            return


def _best(m: Scheduler, jobs: list[Job]) -> list[Job]:
    """Return the jobs of the choice that fills the most nodes within what is free; the first such, earlier jobs
    first.
    """
    if not jobs:
        return []
    free, watts = len(m.free[jobs[0].pool]), m.headroom()
    best: list[Job] = []
    filled = 0
    for taken in product((True, False), repeat=len(jobs)):
        some = [j for j, take in zip(jobs, taken, strict=True) if take]
        nodes = sum(j.nodes for j in some)
        if filled < nodes <= free and sum(max(0.0, m.increase(j)) for j in some) <= watts:
            best, filled = some, nodes
        if filled == free:
            break
    return best
