"""Tracking-only and EnergyQARE in plain Python: docs/systems/aqa.md, *The run-time policies*."""

from __future__ import annotations

from collections.abc import Callable

from reference.target import Machine, Plan


def below_target(m: Machine) -> Plan:
    """Start jobs in the order of the queue while power without caps stays at or below the target; then standby jobs."""
    plan, free, taken = Plan(), len(m.free), 0.0
    room = None if m.target is None else m.target - m.high()
    for job in m.waiting():
        if job.nodes > free:
            continue
        if (room is not None and m.beyond(m.rise(job), room)) or not m.under_limit(m.rise_in_force(job), taken):
            break
        plan.starts.append(job)
        free, taken = free - job.nodes, taken + m.rise_in_force(job)
        room = None if room is None else room - m.rise(job)
    m.add_standby(plan, room)
    return plan


def all_that_fits(m: Machine, most: float | None = None) -> Plan:
    """Start jobs in the order of the queue that find nodes, and set no cap; none once power without caps is at
    ``most``.
    """
    plan, free, taken, power = Plan(uncapped=True), len(m.free), 0.0, m.high()
    for job in m.waiting():
        if most is not None and not m.beyond(most, power):
            break
        if job.nodes <= free and m.under_limit(m.rise_in_force(job), taken):
            plan.starts.append(job)
            free, taken = free - job.nodes, taken + m.rise_in_force(job)
            power += m.rise(job)
    return plan


def suffering(m: Machine, over: int) -> float:
    """Return the QoS degradation over its limit: mean over kinds of their means (0), largest of these (1), mean over
    jobs (2).
    """
    parts: dict[int, list[float]] = {}
    for job in m.waiting() + m.on_nodes:
        kind = m.setup.kinds[job.kind]
        if not kind.standby:
            parts.setdefault(job.kind, []).append(m.degradation(job) / kind.limit)
    if over == 2:
        jobs = [x for part in parts.values() for x in part]
        return sum(jobs) / len(jobs) if jobs else 0.0
    means = [sum(part) / len(part) for part in parts.values()]
    if not means:
        return 0.0
    return max(0.0, *means) if over == 1 else sum(means) / len(means)


def energyqare(*, largest: int, bounded: bool = False) -> Callable[[Machine], Plan]:
    """Return the rule: users come first while they suffer more than the target, and somebody can be helped."""

    def select(m: Machine) -> Plan:
        if m.target is not None and m.reserve > 0.0:
            error = abs(m.power() - m.target) / m.reserve / 0.3
            suffered, helped = suffering(m, largest), all_that_fits(m)
            if helped.starts and m.beyond(suffered, error):
                if bounded:
                    helped = all_that_fits(m, m.target + suffered * 0.3 * m.reserve)
                if helped.starts:
                    return helped
        return below_target(m)

    return select
