"""How long place policies take to place one job on a large machine."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows import Rows, row
from wattline.model.network import Dragonfly
from wattline.policy.place.allocate import free_extents, place_policies, room_for

GOAL_S = 1e-3
MACHINE = Dragonfly(nodes_per_router=4, routers_per_group=72, groups=361)
"""103,968 nodes on 25,992 routers."""
SIZES = (10, 1_000, 10_000, 50_000, 100_000)
"""Nodes of the jobs that are placed."""


def _placing_s(name: str, repeats: int) -> float:
    """Return the median CPU time of a policy's function for the slowest job, on an empty and on a half-empty machine."""
    room = room_for(place_policies()[name], MACHINE)
    room.state.r_past[:] = np.random.default_rng(2).exponential(1e6, MACHINE.routers)
    room.state.r_stalls[:] = room.state.r_past
    slowest = 0.0
    for share in (1.0, 0.55):
        extents = free_extents(np.random.default_rng(1).random(MACHINE.nodes) < share, MACHINE.nodes)
        for n in SIZES:
            if n > (extents[:, 1] - extents[:, 0]).sum():
                continue
            times = []
            for job in range(repeats):
                room.fill(extents, n, job, sensitive=True)
                began = time.thread_time()
                room.function(room.state, 0, np.array([1.0]), room.memory)
                times.append(time.thread_time() - began)
            slowest = max(slowest, float(np.median(times)))
    return slowest


def placing(quick: bool) -> Rows:
    """Every place policy on a dragonfly of 100,000 nodes: the slowest of jobs of many sizes."""
    rows = []
    for name in place_policies():
        s = _placing_s(name, 5 if quick else 25)
        told = f"place {name}: one job on {MACHINE.nodes:,} nodes"
        rows.append(row(told, f"{s * 1e3:.2f} ms", "≤ 1 ms", met=s <= GOAL_S, s=s))
    return rows


CASES = [placing]
