"""Conservative and by-end backfilling written out second by second, to hold the compiled policies against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

HORIZON = 4000


@dataclass
class Plan:
    """What a simulation of whole seconds leaves: starts, and every promise that was ever made to a job."""

    start: dict[int, int] = field(default_factory=dict)
    promises: dict[int, list[int]] = field(default_factory=dict)


def conservative(
    submit: Sequence[int], work: Sequence[int], width: Sequence[int], estimate: Sequence[int], nodes: int
) -> Plan:
    """Whole seconds, one pass an instant: ends, arrivals, then the plan. Free nodes are a list, one entry a second."""
    plan, reserved = Plan(promises={j: [] for j in range(len(submit))}), {}
    t = 0
    while len(plan.start) < len(submit):
        ended = any(plan.start[j] + work[j] == t for j in plan.start)
        arrived = [j for j in range(len(submit)) if submit[j] == t]
        if ended or arrived:
            _pass(t, plan, reserved, arrived, work, width, estimate, nodes, ended=ended)
        t += 1
    return plan


def _pass(
    t: int, plan: Plan, reserved: dict[int, int], arrived: Sequence[int], work: Sequence[int], width: Sequence[int],
    estimate: Sequence[int], nodes: int, *, ended: bool,
) -> None:  # fmt: skip
    free = [nodes] * HORIZON
    for j, began in plan.start.items():
        if began + work[j] > t:
            _take(free, t, began + estimate[j], width[j])
    for j, at in reserved.items():
        _take(free, at, at + estimate[j], width[j])
    if ended:
        for j in sorted(reserved):
            _take(free, reserved[j], reserved[j] + estimate[j], -width[j])
            _reserve(free, t, j, reserved, width, estimate)
    for j in arrived:
        _reserve(free, t, j, reserved, width, estimate)
    for j, at in sorted(reserved.items()):
        plan.promises[j].append(at)
        if at == t:
            plan.start[j] = reserved.pop(j)


def _take(free: list[int], a: int, b: int, width: int) -> None:
    for t in range(a, b):
        free[t] -= width
        assert free[t] >= 0


def _reserve(
    free: list[int], t: int, j: int, reserved: dict[int, int], width: Sequence[int], estimate: Sequence[int]
) -> None:
    at = t
    while any(free[x] < width[j] for x in range(at, at + estimate[j])):
        at += 1
    reserved[j] = at
    _take(free, at, at + estimate[j], width[j])
