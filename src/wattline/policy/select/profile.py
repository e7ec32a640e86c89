"""The free nodes of a node class over the time to come, as a step function that reservations are cut out of.

``t`` holds ``m`` times in increasing order, ``f`` the nodes free from each of them to the next (from the last for ever).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.model.compiled import outlined


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
def is_free(t: Any, f: Any, m: int, start_s: float, width: int, wall_s: float) -> bool:
    """Tell whether ``width`` nodes are free from ``start_s`` for ``wall_s`` seconds."""
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
def add(t: Any, f: Any, m: int, start_s: float, end_s: float, nodes: float) -> int:
    """Add free nodes (or take them: negative) between two times, not before the first step; return the number of steps."""
    if not end_s > start_s:
        return m
    m = _cut(t, f, m, start_s)
    m = _cut(t, f, m, end_s)
    i = step_at(t, m, start_s)
    while i < m and t[i] < end_s:
        f[i] += nodes
        i += 1
    m = _join(t, f, m, end_s)
    return _join(t, f, m, start_s)
