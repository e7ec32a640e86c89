"""Slackline in plain Python, from docs/slackline.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from reference.target import LEAST_WORK_S, Job, Machine, Plan, longer, one_by_one


def slack_used(m: Machine, job: Job, slow: float) -> Fraction:
    """Return d, the part of the wait that a job can afford which is over."""
    limit = m.setup.kinds[job.kind].limit
    if math.isinf(limit):
        return Fraction(0)
    waited = Fraction(m.now) - Fraction(job.submit) - (Fraction(job.work) - Fraction(job.left))
    grows = longer(job, m.lowest(job)) - 1
    slack = (Fraction(limit) - Fraction(slow) * grows) * max(Fraction(job.work), Fraction(LEAST_WORK_S))
    return waited / slack if m.beyond(slack, 0) else Fraction(1)


def slack(m: Machine, job: Job, slow: float) -> Fraction | float:
    """Return the wait that a job can afford."""
    kind = m.setup.kinds[job.kind]
    if kind.standby or math.isinf(kind.limit):
        return math.inf
    grows = longer(job, m.lowest(job)) - 1
    return (Fraction(kind.limit) - Fraction(slow) * grows) * max(Fraction(job.work), Fraction(LEAST_WORK_S))


def spare(m: Machine, job: Job, slow: float) -> Fraction | float:
    """Return for how long a job on nodes can still be paused."""
    return slack(m, job, slow) - gone(m, job)


def gone(m: Machine, job: Job) -> Fraction:
    """Return what a job on nodes has used up of its slack: by waiting, pauses and caps."""
    return Fraction(m.now) - Fraction(job.submit) - (Fraction(job.work) - Fraction(m.left(job)))


def used_on_nodes(m: Machine, job: Job, slow: float) -> Fraction | float:
    """Return that as a part of its slack."""
    most = slack(m, job, slow)
    if math.isinf(most):
        return 0.0
    return gone(m, job) / most if m.beyond(most, 0) else 1.0


def stop_or_go(m: Machine, plan: Plan, *, stop: float, force: float, slow: float) -> None:
    """Let paused jobs go on that must or that fit below the target; pause some that can afford it where the lowest caps
    exceed it.
    """
    room = math.inf if m.target is None else m.target - m.low()
    m.beyond(room, 0.0)
    net = {j: j.nodes * (m.lowest(j) - m.setup.idle) for j in m.on_nodes}
    taken = 0.0
    for job in one_by_one([j for j in m.on_nodes if j.status == "paused"], lambda j: used_on_nodes(m, j, slow)):
        must = m.most(force, used_on_nodes(m, job, slow))
        if (m.beyond(net[job], room) and not must) or not m.under_limit(m.rise_in_force(job), taken):
            break
        plan.resumes.append(job)
        room, taken = room - net[job], taken + m.rise_in_force(job)
    may = [
        j
        for j in m.working()
        if net[j] > 0.0 and m.beyond(min(stop, force), used_on_nodes(m, j, slow)) and m.beyond(0.0, room)
    ]
    for job in one_by_one(may, lambda j: spare(m, j, slow)):
        if not m.beyond(0.0, room) or m.beyond(room + 0.5 * net[job], 0.0):
            return
        plan.stops.append(job)
        room += net[job]


def by_need(*, force: float, hold: float, slow: float, stop: float, fill: float) -> Callable[[Machine], Plan]:
    """Return the rule."""

    def select(m: Machine) -> Plan:
        plan = Plan()
        if stop > 0:
            stop_or_go(m, plan, stop=stop, force=force, slow=slow)
        if plan.stops or plan.resumes:
            return plan  # who was stopped goes first; the next period sees what is left
        lines = {k: [j for j in m.waiting() if j.kind == k] for k in range(len(m.setup.kinds))}
        low, high, free, taken = Fraction(m.low()), Fraction(m.high()), len(m.free), 0.0
        target = None if m.target is None else Fraction(m.target)
        while free and any(lines.values()):
            k = most_pressing(m, [line[0] for line in lines.values() if line], slow)
            job = lines[k][0]
            d = slack_used(m, job, slow)
            if job.nodes > free:
                if m.beyond(d, hold):
                    return plan  # free nodes are kept for it
                lines[k] = []
                continue
            low_then = low + job.nodes * (Fraction(m.lowest(job)) - Fraction(m.setup.idle))
            high_then = high + Fraction(m.rise(job))
            may = m.most(force, d) or target is None
            if not may and target is not None:
                point = low_then + (1 - min(max(d, Fraction(0)), Fraction(1))) * (high_then - low_then)
                lacking = m.beyond(target - high, Fraction(fill) * Fraction(m.reserve)) and m.most(low_then, target)
                may = lacking or m.most(point, target, d)
            if may and m.under_limit(m.rise_in_force(job), taken):
                plan.starts.append(job)
                free, taken, low, high = free - job.nodes, taken + m.rise_in_force(job), low_then, high_then
                lines[k] = lines[k][1:]
            else:
                lines[k] = []
        m.add_standby(plan, None if target is None else float(target - high))
        return plan

    return select


def most_pressing(m: Machine, heads: list[Job], slow: float) -> int:
    """Return the kind whose first waiting job has used up most of its slack; of equals the first kind."""
    best = heads[0]
    for job in heads[1:]:
        a, b = slack_used(m, job, slow), slack_used(m, best, slow)
        fresh = a == b == 0 and not job.story and not best.story  # nobody has waited, or nothing was promised
        if m.beyond(a, b, sure=fresh):
            best = job
    return best.kind
