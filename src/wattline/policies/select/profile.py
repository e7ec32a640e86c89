"""What is free over the time to come, nodes or watts, as a step function that reservations are cut out of.

Times of a plan are seconds and a *turn*: jobs that are estimated to take no time follow each other at one second, each
in a turn of its own. A job begins in the first turn of a second unless it waits there for the end of one of those;
what takes time ends before the first turn of its last second.

Step by step, three numbers each, a profile holds times in increasing order and what is free from each of them to the
next (from the last for ever); ``m`` of its steps are in use. It is one row of numbers, for reshaping counts references.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined

COLUMNS = 3
AT_S, TURN, FREE = 0, 1, 2
"""Numbers of a step: when it begins (seconds, turn), and what is free from there on"""


@kernel
def sooner(a_s: float, a_turn: float, b_s: float, b_turn: float) -> bool:
    """Tell whether a time comes before another."""
    return a_s < b_s or (a_s == b_s and a_turn < b_turn)


@kernel
def end_of(at_s: float, turn: float, wall_s: float) -> tuple[float, float]:
    """Return when a job that starts at a time is gone; one that takes no time has its turn."""
    end_s = at_s + wall_s
    if end_s > at_s:
        return end_s, 0.0
    return at_s, turn + 1.0


@outlined
def step_at(steps: Any, m: int, at_s: float, turn: float) -> int:
    """Return the last step that begins at or before a time (-1: none does)."""
    low = 0
    high = m
    while low < high:
        middle = (low + high) >> 1
        if sooner(at_s, turn, steps[COLUMNS * middle + AT_S], steps[COLUMNS * middle + TURN]):
            high = middle
        else:
            low = middle + 1
    return low - 1


@kernel
def holds_until(steps: Any, m: int, i: int, width: float, end_s: float) -> int:
    """Return the first step behind step ``i`` that begins at the end, or later, or with less than ``width`` free.

    Seconds decide: what takes time ends before the first turn of a second, and no step begins between two turns.
    """
    k = i + 1
    while k < m and steps[COLUMNS * k + AT_S] < end_s and steps[COLUMNS * k + FREE] >= width:
        k += 1
    return k


@outlined
def earliest(steps: Any, m: int, from_s: float, from_turn: float, width: float, wall_s: float) -> tuple[float, float]:
    """Return the first time, not before another, from which ``width`` is free for ``wall_s`` seconds (inf: none)."""
    i = max(0, step_at(steps, m, from_s, from_turn))
    at_s, turn = steps[COLUMNS * i + AT_S], steps[COLUMNS * i + TURN]
    if sooner(at_s, turn, from_s, from_turn):
        at_s, turn = from_s, from_turn
    while i < m:
        k = i
        if steps[COLUMNS * i + FREE] >= width:
            end_s = at_s + wall_s
            k = holds_until(steps, m, i, width, end_s)
            if k == m or steps[COLUMNS * k + AT_S] >= end_s:
                return at_s, turn
        i = k + 1
        if i < m:
            at_s, turn = steps[COLUMNS * i + AT_S], steps[COLUMNS * i + TURN]
    return np.inf, 0.0


@outlined
def earliest_both(
    steps: Any, m: int, watt_steps: Any, m_w: int, width: float, watts: float, wall_s: float
) -> tuple[float, float]:
    """Return the first time from which both ``width`` nodes and ``watts`` are free for ``wall_s`` seconds (inf:
    none).
    """
    at_s, turn = steps[AT_S], steps[TURN]
    while at_s < np.inf:
        nodes_s, nodes_turn = earliest(steps, m, at_s, turn, width, wall_s)
        if nodes_s == np.inf:
            break
        at_s, turn = earliest(watt_steps, m_w, nodes_s, nodes_turn, watts, wall_s)
        if at_s == nodes_s and turn == nodes_turn:
            return at_s, turn
    return np.inf, 0.0


@outlined
def is_free(steps: Any, m: int, at_s: float, turn: float, width: float, wall_s: float) -> bool:
    """Tell whether ``width`` is free from a time for ``wall_s`` seconds."""
    i = step_at(steps, m, at_s, turn)
    if i < 0 or steps[COLUMNS * i + FREE] < width:
        return False
    k = holds_until(steps, m, i, width, at_s + wall_s)
    return k == m or steps[COLUMNS * k + AT_S] >= at_s + wall_s


@outlined
def _cut(steps: Any, m: int, at_s: float, turn: float) -> tuple[int, int]:
    """Let a step begin at a time; return which one, and the number of steps."""
    i = step_at(steps, m, at_s, turn)
    if i >= 0 and steps[COLUMNS * i + AT_S] == at_s and steps[COLUMNS * i + TURN] == turn:
        return i, m
    for x in range(m, i + 1, -1):
        for c in range(COLUMNS):
            steps[COLUMNS * x + c] = steps[COLUMNS * (x - 1) + c]
    steps[COLUMNS * (i + 1) + AT_S], steps[COLUMNS * (i + 1) + TURN] = at_s, turn
    steps[COLUMNS * (i + 1) + FREE] = steps[COLUMNS * i + FREE]
    return i + 1, m + 1


@outlined
def _join(steps: Any, m: int, i: int) -> int:
    """Remove a step if nothing changes where it begins; return the number of steps."""
    if i == 0 or steps[COLUMNS * i + FREE] != steps[COLUMNS * (i - 1) + FREE]:
        return m
    for x in range(i, m - 1):
        for c in range(COLUMNS):
            steps[COLUMNS * x + c] = steps[COLUMNS * (x + 1) + c]
    return m - 1


@outlined
def add(steps: Any, m0: int, at_s: float, turn: float, wall_s: float, amount: float) -> int:
    """Free an amount (or take it: negative) from a time, not before the first step, for as long as a job runs; return
    the number of steps.
    """
    first, m = _cut(steps, m0, at_s, turn)
    end_s, end_turn = end_of(at_s, turn, wall_s)
    end, m = _cut(steps, m, end_s, end_turn)
    for i in range(first, end):
        steps[COLUMNS * i + FREE] += amount
    m = _join(steps, m, end)
    return _join(steps, m, first)


@outlined
def add_from(steps: Any, m0: int, at_s: float, turn: float, amount: float) -> int:
    """Free an amount (or take it: negative) from a time on, for ever; return the number of steps."""
    first, m = _cut(steps, m0, at_s, turn)
    for i in range(first, m):
        steps[COLUMNS * i + FREE] += amount
    return _join(steps, m, first)
