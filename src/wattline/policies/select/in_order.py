"""Strictly in order: the first job that does not fit blocks all behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.model.codes import IN_ORDER
from wattline.model.compiled import kernel
from wattline.model.mechanism import mechanism
from wattline.model.state.record import State
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


@mechanism("select", "in-order", source="first come, first served when the order is fcfs")
def in_order(s: State, mask: int, param: Any, memory: Any) -> int:
    """Strictly in order: the first job that does not fit blocks all behind it on its node class."""
    return propose_fitting(s, True)


@mechanism("select", "first-fit", source="also called list scheduling or greedy backfilling")
def first_fit(s: State, mask: int, param: Any, memory: Any) -> int:
    """First fit: every waiting job that fits starts, in order; nobody is protected from being passed."""
    return propose_fitting(s, False)
