"""Strictly in order: the first job that does not fit blocks all behind it; or first fit, which lets nobody block.

Without a power limit node classes are lines of their own. Under one they share its watts, so there is one line: a job
that lacks nodes blocks its class, and one that lacks nothing but watts blocks all classes. Resources of the whole
machine are shared as watts are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import IN_ORDER
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.model.structures import resources
from wattline.physics.power import headroom_w, start_increase_w
from wattline.policies.select.easy import fits
from wattline.policies.select.proposals import propose


@kernel
def propose_fitting(s: State, block: bool) -> int:
    """Propose waiting jobs in order as they fit; a job that does not fit blocks its node class if ``block``."""
    n = 0
    watts = headroom_w(s)
    for p in range(s.free.shape[0]):
        free = s.free[p]
        for i in range(s.q_head[0], s.q_tail[0]):
            if free == 0:
                break
            j = s.queue[i]
            if j < 0 or s.pool[j] != p:
                continue
            if not fits(s, j, free, watts):
                if block:
                    break
                continue
            free -= s.nodes[j]
            if watts < np.inf:
                watts -= start_increase_w(s, j, np.inf)
            n = propose(s, n, j, IN_ORDER)
    return n


@kernel
def shares(s: State) -> bool:
    """Tell whether node classes share watts, or jobs resources."""
    return (s.free.shape[0] > 1 and s.limit_w[0] < np.inf) or s.res_free.shape[0] > 0


@outlined
def propose_shared(s: State, block: bool, free: Any) -> int:
    """Propose waiting jobs of all node classes in one order as they fit into what they share (``free``: room).

    If ``block``, a job that lacks nodes blocks its class, and one that lacks nothing but watts or resources all
    classes.
    """
    n = 0
    left = 0
    pooled = s.res_free.shape[0] > 0
    if pooled:
        resources.begin(s)
    for p in range(s.free.shape[0]):
        free[p] = s.free[p]
        left += s.free[p]
    watts = headroom_w(s)
    i = s.q_head[0]
    while i < s.q_tail[0] and left > 0:
        j = s.queue[i]
        i += 1
        if j < 0 or free[s.pool[j]] == 0.0:
            continue
        p = s.pool[j]
        if s.nodes[j] > free[p]:
            if block:
                left -= int(free[p])
                free[p] = 0.0
            continue
        increase_w = start_increase_w(s, j, np.inf)
        if increase_w > watts or (pooled and not resources.suffice(s, j, s.res_now)):
            if block:
                break
            continue
        free[p] -= s.nodes[j]
        left -= s.nodes[j]
        watts -= increase_w
        if pooled:
            resources.take(s, j, s.res_now)
        n = propose(s, n, j, IN_ORDER)
    return n


@mechanism(
    "select",
    "in-order",
    memory=Memory(per_class=1),
    resources=True,
    source="first come, first served when the order is fcfs",
)
def in_order(s: State, mask: int, param: Any, memory: Any) -> int:
    """Strictly in order: a job that lacks nodes blocks its node class; one that lacks only watts blocks all classes.

    A resource of the whole machine counts as watts do: both are shared by the classes.
    """
    if shares(s):
        return propose_shared(s, True, memory)
    return propose_fitting(s, True)


@mechanism(
    "select",
    "first-fit",
    memory=Memory(per_class=1),
    resources=True,
    source="also called list scheduling or greedy backfilling",
)
def first_fit(s: State, mask: int, param: Any, memory: Any) -> int:
    """First fit: every waiting job that fits starts, in order; nobody is protected from being passed."""
    if shares(s):
        return propose_shared(s, False, memory)
    return propose_fitting(s, False)
