"""EASY and backfilling by end: the first job that does not fit gets a reservation, computed from scratch at every pass.

Readings: a job passes the head of its class if its estimated work is at most the time up to the reservation (EASY) or
less than it (by end); rounding is that of this one comparison. By end the wait is counted as work: a job that starts in
the same pass has its whole estimate left, whatever the clock says. ``depth`` counts the jobs of a class behind its
head, whether they fit or not. Nodes that drain come back to nobody when their jobs end. Where classes share a limit,
the line is walked once, with one reservation of nodes and watts a class.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reference.plan_times import NEVER, Time, until

if TYPE_CHECKING:
    from reference.scheduler import Job, Scheduler

Booked = list[tuple[Time, Time, float, "Job"]]
"""Watts that were promised: from, until, how many, to whom."""


def easy(m: Scheduler, _happened: set[str]) -> None:
    """Others pass the head if they are gone by its reservation, or content with the nodes and watts left over then."""
    _backfill(m, strict=False)


def by_end(m: Scheduler, _happened: set[str]) -> None:
    """Others pass the head only if they are gone before its reservation; there is nothing left over."""
    _backfill(m, strict=True)


def _backfill(m: Scheduler, *, strict: bool) -> None:
    if len(m.setup.classes) > 1 and m.limit_w < math.inf:
        _classes_that_share_watts(m, strict=strict)
        return
    for line in m.lines():
        while line and m.fits(line[0]):
            m.start(line.pop(0))
        if line and m.free[line[0].pool]:
            _behind(m, line[0], line[1:], strict=strict)


def reservation(m: Scheduler, head: Job) -> tuple[float, float, float]:
    """When the head can start by the estimates, and the nodes and watts left over then."""
    nodes, watts = len(m.free[head.pool]), m.headroom()
    for t in sorted({j.expected for j in m.running} | {m.now}):
        gone = [j for j in m.running if j.expected <= t]
        n = nodes + sum(m.frees(j) for j in gone if j.pool == head.pool)
        w = watts + sum(m.gives_back(j) for j in gone)
        if n >= head.nodes and w >= m.increase(head):
            return t, n - head.nodes, w - m.increase(head)
    return math.inf, math.inf, math.inf


def _behind(m: Scheduler, head: Job, others: list[Job], *, strict: bool) -> None:
    """Start who does not delay the head."""
    at, extra, extra_w = reservation(m, head)
    wait = _work_before(m, head) if strict else (at - m.now) * m.rate(head.pool)
    depth = int(m.setup.params.get("depth", 0))
    for job in others[:depth] if depth else others:
        if not m.free[job.pool]:
            break
        if not m.fits(job):
            continue
        if not _is_gone(job, wait, strict=strict):
            if strict or job.nodes > extra or m.increase(job) > extra_w:
                continue
            extra -= job.nodes
            extra_w -= m.increase(job)
        m.start(job)


def _is_gone(job: Job, wait: float, *, strict: bool) -> bool:
    return job.estimate_left() < wait if strict else job.estimate_left() <= wait


def _work_before(m: Scheduler, head: Job) -> float:
    """What has to be done, as work, before the head can start: who starts in this pass has all of its estimate left."""
    left = {
        j: j.estimate_left() if j.in_pass == m.passes else max(0.0, j.expected - m.now) * m.rate(j.pool)
        for j in m.running
    }
    nodes, watts = len(m.free[head.pool]), m.headroom()
    for work in sorted({0.0, *left.values()}):
        gone = [j for j in m.running if left[j] <= work]
        n = nodes + sum(m.frees(j) for j in gone if j.pool == head.pool)
        if n >= head.nodes and watts + sum(m.gives_back(j) for j in gone) >= m.increase(head):
            return work
    return math.inf


# -- where classes share a limit


def _classes_that_share_watts(m: Scheduler, *, strict: bool) -> None:
    """Start, in the order of the line, who leaves all who were promised something, of any class, what they need."""
    now = (m.now, 0)
    booked: Booked = []
    first = {job.pool: job for job in reversed(m.queue)}
    heads = m.heads
    before = sorted((at, p) for p, (job, at, _) in heads.items() if first.get(p) is job)
    kept = {p: _promise(m, first[p], booked) for _, p in before}
    heads.clear()
    heads.update(kept)
    depth = int(m.setup.params.get("depth", 0))
    looked: dict[int, int] = {}
    met: set[int] = set()
    for job in list(m.queue):
        p = job.pool
        mine = p in heads and heads[p][0] is job
        may = heads[p][1] == now if mine else _has_watts(m, job, now, booked)
        may = may and m.fits(job)  # now, too: a planned job that lowers the power has not begun yet
        if p not in met:
            if may:
                booked[:] = [b for b in booked if b[3] is not job]  # it runs, and counts as running from here on
                m.start(job)
                continue
            met.add(p)
            if not mine:
                heads[p] = _promise(m, job, booked)
            continue
        looked[p] = looked.get(p, 0) + 1
        head, at, extra = heads[p]
        wait = (at[0] - m.now) * m.rate(p)
        gone = _is_gone(job, wait, strict=strict)
        if strict and job.estimate_left() == wait:  # it ends in the head's second: in an earlier turn?
            gone = until((0.0, 0), wait)[1] < at[1]
        if may and (not depth or looked[p] <= depth) and (gone or (not strict and job.nodes <= extra)):
            heads[p] = (head, at, extra if gone else extra - job.nodes)
            m.start(job)


def gone_at(m: Scheduler, job: Job) -> Time:
    """When a running job is expected to be gone: after now."""
    return max((job.expected, 0), (m.now, 1))


def _has_watts(m: Scheduler, job: Job, at: Time, booked: Booked) -> bool:
    """Whether the limit holds from a time on for as long as a job runs, with all that was promised before."""
    end = until(at, m.wall_s(job))
    times = {at} | {t for b in booked for t in b[:2]} | {gone_at(m, j) for j in m.running}
    for t in times:
        if at <= t < end:
            gone = sum(m.gives_back(j) for j in m.running if gone_at(m, j) <= t)
            promised = sum(w for a, b, w, _ in booked if a <= t < b)
            if m.increase(job) > m.headroom() + gone - promised:
                return False
    return True


def _promise(m: Scheduler, head: Job, booked: Booked) -> tuple[Job, Time, float]:
    """Book nodes and watts for a job at the first time it can have both; return it and the nodes left over then."""
    for t in sorted({gone_at(m, j) for j in m.running} | {end for _, end, _, _ in booked} | {(m.now, 0)}):
        back = [m.frees(j) for j in m.running if j.pool == head.pool and gone_at(m, j) <= t]
        extra = len(m.free[head.pool]) + sum(back) - head.nodes
        if extra >= 0 and _has_watts(m, head, t, booked):
            booked.append((t, until(t, m.wall_s(head)), m.increase(head), head))
            return head, t, extra
    return head, NEVER, math.inf
