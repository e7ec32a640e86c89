"""How long place policies take to place one job on a large machine."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows import Rows, row
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.link_loads import capacities
from wattline.policies.place.allocate import OnLinks, free_extents, place_policies, room_for

GOAL_S, WEIGHED_GOAL_S = 1e-3, 0.2
"""For policies that count nodes, and for those that weigh choices link by link."""
MACHINE = Dragonfly(nodes_per_router=4, routers_per_group=72, groups=361)
"""103,968 nodes on 25,992 routers."""
SIZES = (10, 1_000, 10_000, 50_000, 100_000)
"""Nodes of the jobs that are placed."""


def _placing_s(name: str, repeats: int) -> float:
    """Return the median CPU time of a policy's function for the slowest job, on an empty and on a half-empty
    machine.
    """
    policy = place_policies()[name]
    room = room_for(policy, MACHINE)
    param = np.array([*policy.values({}), 1.0])
    if policy.links:
        loads = np.random.default_rng(3).uniform(0.0, MACHINE.local_bps / 8, capacities(MACHINE).shape)
        room.tell_links(MACHINE, OnLinks(loads, 0.5 * MACHINE.host_bps / 8, waiting=[10, 100, 1000]))
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
                room.function(room.state, 0, param, room.memory)
                times.append(time.thread_time() - began)
            slowest = max(slowest, float(np.median(times)))
    return slowest


def placing(quick: bool) -> Rows:
    """Every place policy on a dragonfly of 100,000 nodes: the slowest of jobs of many sizes."""
    rows = []
    for name in place_policies():
        goal_s = WEIGHED_GOAL_S if place_policies()[name].links else GOAL_S
        s = _placing_s(name, 5 if quick else 25)
        told = f"place {name}: one job on {MACHINE.nodes:,} nodes"
        rows.append(row(told, f"{s * 1e3:.2f} ms", f"≤ {goal_s * 1e3:g} ms", met=s <= goal_s, s=s))
    return rows


CASES = [placing]
