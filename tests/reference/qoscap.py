"""QoSCap in plain Python, from docs/systems/qoscap.md, *The recipe* and *The rule, to the letter*."""

from __future__ import annotations

import math
from collections.abc import Callable

from reference.target import Job, Machine, Plan


def averages(m: Machine) -> dict[int, float]:
    """Return the mean QoS degradation of the jobs present, waiting or on nodes, of every kind to which something can be
    promised.
    """
    present: dict[int, list[float]] = {}
    for job in m.waiting() + m.on_nodes:
        if not m.setup.kinds[job.kind].standby:
            present.setdefault(job.kind, []).append(m.degradation(job))
    return {k: sum(each) / len(each) for k, each in present.items()}


def made_of(m: Machine, *kinds: int) -> list[float]:
    """Return what the means of kinds are made of that floats may not hold exactly: how fast their jobs worked."""
    noisy = any(m.profile(j) in m.noisy for j in m.waiting() + m.on_nodes if j.kind in kinds)
    return [1 / 3] if noisy else []


def over_limit(m: Machine, mean: dict[int, float], meets: float) -> set[int]:
    """Return the kinds whose mean is beyond its limit: they are spared from caps."""
    limits = {k: m.setup.kinds[k].limit for k in mean}
    return {k for k, limit in limits.items() if limit < math.inf and m.beyond(mean[k], meets * limit, *made_of(m, k))}


def worst(m: Machine, mean: dict[int, float], lines: dict[int, list[Job]]) -> int:
    """Return the kind with waiting jobs whose mean is largest for its limit; of equals the first kind."""

    def fresh(k: int) -> bool:  # nobody of it has waited, or nothing was promised: exactly nothing
        own = [j for j in m.queue + m.on_nodes if j.kind == k]
        return math.isinf(m.setup.kinds[k].limit) or all(j.submit == m.now and not j.story for j in own)

    asking = [k for k, line in sorted(lines.items()) if line]
    best = asking[0]
    for k in asking[1:]:
        a, b = (0.0 if fresh(x) else mean[x] / m.setup.kinds[x].limit for x in (k, best))
        if m.beyond(a, b, *made_of(m, k, best), sure=fresh(k) and fresh(best)):
            best = k
    return best


def sparing(*, near: float, meets: float, hold: bool) -> Callable[[Machine], Plan]:
    """Return the rule."""

    def select(m: Machine) -> Plan:
        mean = averages(m)
        plan = Plan(spared=over_limit(m, mean, meets))
        free, taken = len(m.free), 0.0
        lines = {k: [j for j in m.waiting() if j.kind == k] for k in range(len(m.setup.kinds))}

        def start(job: Job) -> None:
            nonlocal free, taken
            plan.starts.append(job)
            free, taken = free - job.nodes, taken + m.rise_in_force(job)
            lines[job.kind].remove(job)

        for k, line in lines.items():
            limit = m.setup.kinds[k].limit
            for job in list(line):
                if math.isinf(limit) or m.beyond(near * limit, m.degradation(job), *made_of(m, k)):
                    continue
                if job.nodes > free:
                    if hold:
                        return plan  # all free nodes are kept for it
                elif m.under_limit(m.rise_in_force(job), taken):
                    start(job)
        room = None if m.target is None else m.target - m.high() - sum(map(m.rise, plan.starts))
        while free and any(lines.values()) and (room is None or m.beyond(room, 0.0)):
            k = worst(m, mean, lines)
            job = lines[k][0]
            fits = job.nodes <= free and (room is None or m.most(m.rise(job), room))
            if fits and m.under_limit(m.rise_in_force(job), taken):
                start(job)
                room = None if room is None else room - m.rise(job)
            else:
                lines[k] = []
        m.add_standby(plan, room)
        return plan

    return select
