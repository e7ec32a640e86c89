"""What is free over the time to come, nodes or watts, as a step function that reservations are cut out of.

``t`` holds ``m`` times in increasing order, ``f`` what is free from each of them to the next (from the last for ever).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import outlined


@outlined
def end_of(at_s: float, wall_s: float) -> float:
    """Return when a job that starts at a time is gone; one that takes no time still holds what it needs for a
    moment.
    """
    return max(at_s + wall_s, np.nextafter(at_s, np.inf))


@outlined
def step_at(t: Any, m: int, at_s: float) -> int:
    """Return the last step that begins at or before a time (-1: none does)."""
    low = 0
    high = m
    while low < high:
        middle = (low + high) >> 1
        if t[middle] <= at_s:
            low = middle + 1
        else:
            high = middle
    return low - 1


@outlined
def earliest(t: Any, f: Any, m: int, width: int, wall_s: float) -> float:
    """Return the first time from which ``width`` nodes are free for ``wall_s`` seconds (inf: there is none)."""
    i = 0
    while i < m:
        if f[i] < width:
            i += 1
            continue
        end_s = t[i] + wall_s
        k = i + 1
        while k < m and t[k] < end_s and f[k] >= width:
            k += 1
        if k == m or t[k] >= end_s:
            return t[i]
        i = k
    return np.inf


@outlined
def earliest_from(t: Any, f: Any, m: int, from_s: float, width: float, wall_s: float) -> float:
    """Return the first time, not before ``from_s``, from which ``width`` is free for ``wall_s`` seconds (inf: none)."""
    i = max(0, step_at(t, m, from_s))
    at_s = max(t[i], from_s)
    while i < m:
        k = i + 1
        if f[i] >= width:
            end_s = at_s + wall_s
            while k < m and t[k] < end_s and f[k] >= width:
                k += 1
            if k == m or t[k] >= end_s:
                return at_s
        i = k
        if i < m:
            at_s = t[i]
    return np.inf


@outlined
def earliest_both(
    t: Any, f: Any, m: int, t_w: Any, f_w: Any, m_w: int, width: int, watts: float, wall_s: float
) -> float:
    """Return the first time from which both ``width`` nodes and ``watts`` are free for ``wall_s`` seconds (inf:
    none).
    """
    at_s = t[0]
    while at_s < np.inf:
        nodes_s = earliest_from(t, f, m, at_s, float(width), wall_s)
        if nodes_s == np.inf:
            break
        at_s = earliest_from(t_w, f_w, m_w, nodes_s, watts, wall_s)
        if at_s == nodes_s:
            return at_s
    return np.inf


@outlined
def is_free(t: Any, f: Any, m: int, start_s: float, width: float, wall_s: float) -> bool:
    """Tell whether ``width`` is free from ``start_s`` for ``wall_s`` seconds."""
    i = step_at(t, m, start_s)
    if i < 0 or f[i] < width:
        return False
    i += 1
    while i < m and t[i] < start_s + wall_s:
        if f[i] < width:
            return False
        i += 1
    return True


@outlined
def _cut(t: Any, f: Any, m: int, at_s: float) -> int:
    """Let a step begin at a time; return the number of steps."""
    i = step_at(t, m, at_s)
    if i >= 0 and t[i] == at_s:
        return m
    for x in range(m, i + 1, -1):
        t[x] = t[x - 1]
        f[x] = f[x - 1]
    t[i + 1] = at_s
    f[i + 1] = f[i]
    return m + 1


@outlined
def _join(t: Any, f: Any, m: int, at_s: float) -> int:
    """Remove the step that begins at a time if nothing changes there; return the number of steps."""
    i = step_at(t, m, at_s)
    if i <= 0 or t[i] != at_s or f[i] != f[i - 1]:
        return m
    for x in range(i, m - 1):
        t[x] = t[x + 1]
        f[x] = f[x + 1]
    return m - 1


@outlined
def add(t: Any, f: Any, m: int, start_s: float, end_s: float, amount: float) -> int:
    """Free an amount (or take it: negative) between two times, not before the first step; return the number of
    steps.
    """
    if not end_s > start_s:
        return m
    m = _cut(t, f, m, start_s)
    m = _cut(t, f, m, end_s)
    i = step_at(t, m, start_s)
    while i < m and t[i] < end_s:
        f[i] += amount
        i += 1
    m = _join(t, f, m, end_s)
    return _join(t, f, m, start_s)


@outlined
def add_from(t: Any, f: Any, m: int, start_s: float, amount: float) -> int:
    """Free an amount (or take it: negative) from a time on, for ever; return the number of steps."""
    m = _cut(t, f, m, start_s)
    for i in range(step_at(t, m, start_s), m):
        f[i] += amount
    return _join(t, f, m, start_s)
