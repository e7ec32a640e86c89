"""Lowest node numbers first."""

from __future__ import annotations

from typing import Any

from wattline.model.mechanism import mechanism
from wattline.model.state.record import State
from wattline.model.structures.nodes import next_start


@mechanism("place", "lowest", wake=0, source="thesis-DR §3.3.4 (Simple)")
def lowest(s: State, j: int, param: Any, memory: Any) -> int:
    """The free nodes with the lowest numbers, contiguous or not."""
    p = s.pool[j]
    need = s.nodes[j]
    rows = 0
    a = s.pool_first[p] - 1
    while need > 0:
        a = next_start(s, a + 1)
        b = min(s.fx_to[a], a + need)
        s.place_a[rows] = a
        s.place_b[rows] = b
        rows += 1
        need -= b - a
    return rows
