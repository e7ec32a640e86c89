"""Nodes that draw least for the same work first: under caps the thirstiest node of a job decides how fast it is."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.model.mechanism import mechanism
from wattline.model.state.record import State
from wattline.model.structures.nodes import next_free, next_start


@kernel
def _after(s: State, a: int, b: int, by_factor: bool) -> bool:
    """Tell whether node a comes after node b: it is thirstier, or (at ties, or by number) has a higher number."""
    if by_factor and s.node_factor[a] != s.node_factor[b]:
        return s.node_factor[a] > s.node_factor[b]
    return a > b


@outlined
def _sink(s: State, at: int, size: int, by_factor: bool) -> None:
    """Put the node at a place of the heap in ``place_a`` (the last one on top) where it belongs."""
    node = s.place_a[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _after(s, s.place_a[child + 1], s.place_a[child], by_factor):
            child += 1
        if not _after(s, s.place_a[child], node, by_factor):
            break
        s.place_a[at] = s.place_a[child]
        at = child
    s.place_a[at] = node


@outlined
def _pick(s: State, p: int, need: int) -> None:
    """Write the ``need`` free nodes that draw least to ``place_a``, in order of their numbers."""
    size = 0
    first = next_free(s, p, s.pool_first[p])
    while first >= 0:
        for node in range(first, s.fx_to[first]):
            if size < need:
                s.place_a[size] = node
                size += 1
                if size == need:
                    for at in range(need // 2 - 1, -1, -1):
                        _sink(s, at, need, True)
            elif _after(s, s.place_a[0], node, True):
                s.place_a[0] = node
                _sink(s, 0, need, True)
        first = next_free(s, p, first + 1)
    for at in range(need // 2 - 1, -1, -1):
        _sink(s, at, need, False)
    for last in range(need - 1, 0, -1):
        highest = s.place_a[0]
        s.place_a[0] = s.place_a[last]
        s.place_a[last] = highest
        _sink(s, 0, last, False)


@mechanism("place", "frugal", wake=0, source="Wattline")
def frugal(s: State, j: int, param: Any, memory: Any) -> int:
    """The free nodes that draw least for the same work, where nodes differ; otherwise the lowest numbers."""
    p = s.pool[j]
    need = s.nodes[j]
    rows = 0
    if s.node_factor.shape[0] == 0:
        a = s.pool_first[p] - 1
        while need > 0:
            a = next_start(s, a + 1)
            b = min(s.fx_to[a], a + need)
            s.place_a[rows] = a
            s.place_b[rows] = b
            need -= b - a
            rows += 1
        return rows
    _pick(s, p, need)
    for i in range(need):  # neighbours make one extent
        node = s.place_a[i]
        if rows > 0 and s.place_b[rows - 1] == node:
            s.place_b[rows - 1] = node + 1
        else:
            s.place_a[rows] = node
            s.place_b[rows] = node + 1
            rows += 1
    return rows
