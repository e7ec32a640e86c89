"""Conservative and by-end backfilling written out second by second, to hold the compiled policies against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

HORIZON = 4000
Need = tuple[int, int]
"""Nodes and watts."""


@dataclass
class Plan:
    """What a simulation of whole seconds leaves: starts, and every promise that was ever made to a job."""

    start: dict[int, int] = field(default_factory=dict)
    promises: dict[int, list[int]] = field(default_factory=dict)


def conservative(
    submit: Sequence[int],
    work: Sequence[int],
    width: Sequence[int],
    estimate: Sequence[int],
    nodes: int,
    watts: Sequence[int] | None = None,
    limit: int = 0,
) -> Plan:
    """Whole seconds, one pass an instant: ends, arrivals, then the plan. Free nodes are a list, one entry a second.

    With ``watts``, which the jobs add, watts under the ``limit`` are a second such list.
    """
    needs = [(w, 0 if watts is None else watts[j]) for j, w in enumerate(width)]
    plan, reserved = Plan(promises={j: [] for j in range(len(submit))}), {}
    t = 0
    while len(plan.start) < len(submit):
        ended = any(plan.start[j] + work[j] == t for j in plan.start)
        arrived = [j for j in range(len(submit)) if submit[j] == t]
        if ended or arrived:
            _pass(t, plan, reserved, arrived, work, needs, estimate, (nodes, limit), ended=ended)
        t += 1
    return plan


def _pass(
    t: int,
    plan: Plan,
    reserved: dict[int, int],
    arrived: Sequence[int],
    work: Sequence[int],
    width: Sequence[Need],
    estimate: Sequence[int],
    there: Need,
    *,
    ended: bool,
) -> None:
    free = [there] * HORIZON
    for j, began in plan.start.items():
        if began + work[j] > t:
            _take(free, t, began + estimate[j], width[j])
    for j, at in reserved.items():
        _take(free, at, at + estimate[j], width[j])
    if ended:
        for j in sorted(reserved):
            _take(free, reserved[j], reserved[j] + estimate[j], (-width[j][0], -width[j][1]))
            _reserve(free, t, j, reserved, width, estimate)
    for j in arrived:
        _reserve(free, t, j, reserved, width, estimate)
    for j, at in sorted(reserved.items()):
        plan.promises[j].append(at)
        if at == t:
            plan.start[j] = reserved.pop(j)


def _take(free: list[Need], a: int, b: int, need: Need) -> None:
    for t in range(a, b):
        free[t] = (free[t][0] - need[0], free[t][1] - need[1])
        assert min(free[t]) >= 0


def _reserve(
    free: list[Need], t: int, j: int, reserved: dict[int, int], width: Sequence[Need], estimate: Sequence[int]
) -> None:
    at = t
    while any(free[x][0] < width[j][0] or free[x][1] < width[j][1] for x in range(at, at + estimate[j])):
        at += 1
    reserved[j] = at
    _take(free, at, at + estimate[j], width[j])
