"""Slackline in plain Python, from docs/slackline.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from reference.target import LEAST_WORK_S, Job, Machine, Plan, longer


def slack_used(m: Machine, job: Job, slow: float) -> Fraction:
    """Return d, the part of the wait that a job can afford which is over."""
    limit = m.setup.kinds[job.kind].limit
    if math.isinf(limit):
        return Fraction(0)
    waited = Fraction(m.now) - Fraction(job.submit) - (Fraction(job.work) - Fraction(job.left))
    grows = longer(job, m.lowest(job)) - 1
    slack = (Fraction(limit) - Fraction(slow) * grows) * max(Fraction(job.work), Fraction(LEAST_WORK_S))
    return waited / slack if m.beyond(slack, 0) else Fraction(1)


def by_need(*, force: float, hold: float, slow: float, preempt: bool, fill: float) -> Callable[[Machine], Plan]:
    """Return the rule."""

    def select(m: Machine) -> Plan:
        plan = Plan()
        if preempt:
            m.pause_or_resume(plan)
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
