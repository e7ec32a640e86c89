"""Sharing by weights (AQA), in plain Python and in fractions: docs/systems/aqa.md, *The run-time policy*."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from reference.target import CLOSE, Job, Machine, Plan, UnclearError, held_exactly


def shared(n: Fraction, weights: list[Fraction], uses: list[Fraction]) -> list[Fraction]:
    """Share n nodes by weights, to no kind more than it can use: who needs least for its weight is served first."""
    shares = [Fraction(0)] * len(weights)
    asking = sorted(
        (k for k in range(len(weights)) if uses[k] > 0 and weights[k] > 0), key=lambda k: uses[k] / weights[k]
    )
    for i, k in enumerate(asking):
        shares[k] = min(uses[k], n * weights[k] / sum(weights[x] for x in asking[i:]))
        n -= shares[k]
    return shares


def allowed(m: Machine, weights: list[Fraction]) -> Fraction:
    """Return how many nodes may be busy, at the mean power of these weights, so that power without caps is the
    target.
    """
    nodes, idle = Fraction(m.in_service()), Fraction(m.setup.idle)
    if m.target is None or sum(weights) == 0:
        return nodes
    mean = mean_draw(m, weights)
    if mean <= idle:
        return nodes
    return min(max((Fraction(m.target) - nodes * idle) / (mean - idle), Fraction(0)), nodes)


def mean_draw(m: Machine, weights: list[Fraction]) -> Fraction:
    """Return the mean power of a busy node by these weights (0: there are none)."""
    total = sum(weights)
    return sum((w * Fraction(k.draw) for w, k in zip(weights, m.setup.kinds, strict=True)), Fraction(0)) / (total or 1)


def whole(m: Machine, x: Fraction, *parts: Fraction) -> int:
    """Round down; just below a whole number is unclear, and on it too unless floats hold all that it is made of."""
    near = round(x)
    if x != 0 and abs(x - near) <= CLOSE and not (x == near and m.setup.dyadic and held_exactly(x, *parts)):
        raise UnclearError(f"{float(x)} nodes or jobs at {m.now}")
    return math.floor(x)


def to_jobs(m: Machine, rounding: int, x: Fraction, *parts: Fraction) -> int:
    """Round a share in jobs: to the nearest number, halves up (0), up (1), or down (2)."""
    if rounding == 1:
        return -whole(m, -x, *parts)
    return whole(m, x if rounding == 2 else x + Fraction(1, 2), *parts)


def sharing(
    *, carry: bool, preempt: bool, standby: bool, rounding: int = 0, fixed: bool = False
) -> Callable[[Machine], Plan]:
    """Return the rule, with the debts that it carries."""
    debts: dict[int, float] = {}
    clean: dict[int, bool] = {}

    def wanted(m: Machine) -> list[int]:
        kinds = m.setup.kinds
        queued = [sum(j.kind == k for j in m.waiting()) for k in range(len(kinds))]
        holding = [sum(j.kind == k for j in m.on_nodes) for k in range(len(kinds))]
        uses = [Fraction(0 if x.standby else x.nodes * (queued[k] + holding[k])) for k, x in enumerate(kinds)]
        weights = [Fraction(x.weight) for x in kinds]
        if fixed:
            mean_over = [Fraction(0) if x.standby else w for w, x in zip(weights, kinds, strict=True)]
        else:
            mean_over = [w if use else Fraction(0) for w, use in zip(weights, uses, strict=True)]
        n = allowed(m, mean_over)
        shares = shared(n, weights, uses)
        effective = shares if sum(shares) and not fixed else mean_over
        again = allowed(m, effective)
        parts = (n, again, *shares, *mean_over, mean_draw(m, mean_over), mean_draw(m, effective))
        shares = shared(again, weights, uses)
        more = []
        for k, kind in enumerate(kinds):
            jobs = shares[k] / kind.nodes
            if not carry:
                more.append(to_jobs(m, rounding, jobs, *parts, *shares) - holding[k])
                continue
            asking = sum((w for w, use in zip(weights, uses, strict=True) if use), Fraction(0))
            spare = again * weights[k] / asking if uses[k] else Fraction(0)
            if shares[k] == uses[k] and spare > uses[k] * (1 + Fraction(CLOSE)):
                more.append(int(jobs) - holding[k])  # all that it can use, though others had all of theirs
            else:
                more.append(whole(m, jobs, *parts, *shares) - holding[k])
            rise = float(jobs - holding[k]) * m.setup.tick
            debts[k] = max(0.0, debts.get(k, 0.0) + rise) if jobs > 0 else 0.0
            clean[k] = (clean.get(k, True) and held_exactly(jobs, *parts)) if debts[k] > 0.0 else True
            if abs(debts[k] - kind.work) <= CLOSE * kind.work and not (
                debts[k] == kind.work and clean[k] and m.setup.dyadic
            ):
                raise UnclearError(f"kind {k} is owed {debts[k]} s at {m.now}")
            if debts[k] >= kind.work and more[k] == 0:
                more[k] = 1
        return more

    def select(m: Machine) -> Plan:
        plan = Plan()
        if preempt:
            m.pause_or_resume(plan)
        stay = [j for j in m.on_nodes if j.status == "paused" and j not in plan.resumes]
        frozen = bool(plan.stops) or any(not m.setup.kinds[j.kind].standby for j in stay)
        if not m.queue and not carry:
            return plan
        more = wanted(m)
        free, taken = len(m.free), sum(map(m.rise_in_force, plan.resumes))
        waits: list[Job] = []
        for job in m.waiting():
            passed = any(j.kind == job.kind for j in waits)
            if (
                frozen
                or passed
                or more[job.kind] < 1
                or job.nodes > free
                or not m.under_limit(m.rise_in_force(job), taken)
            ):
                waits.append(job)
                continue
            plan.starts.append(job)
            more[job.kind] -= 1
            free, taken = free - job.nodes, taken + m.rise_in_force(job)
        if not frozen and (standby or not waits):
            began = sum(map(m.rise, plan.starts + plan.resumes))
            m.add_standby(plan, None if m.target is None else m.target - m.high() - began)
        return plan

    return select
