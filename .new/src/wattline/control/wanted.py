"""What a state wants of a machine's nodes: the cap of each, and whose job holds it.

It is read from the state and not from the actions of a pass, so that whoever lost a message gets it again.
Importing this module compiles it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from wattline.kernel.compiled import seldom
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics.power import class_cap_w, pledged_w, system_w


@seldom(types.float64(State.record_type, types.float64[::1], types.int64[::1]))
def wanted(s: State, cap_w: Any, row: Any) -> float:
    """Write the cap of every node (inf: none) and the row of the job that holds it (-1: none); return what the
    model says that the whole machine draws.

    A job that is starting finds its nodes capped as it will be: power is under control from its first second. A job in
    a configuration gets the power that admission counts for it, a node's part on each: caps are those of servers, and
    the cap of a processor that its configuration has is not.
    """
    for node in range(s.node_state.shape[0]):
        cap_w[node] = np.inf
        row[node] = -1
    for i in range(listed(s)):
        j = s.running[i]
        cap = s.cap_w[j]
        if s.status[j] == codes.RUNNING:
            cap = s.c_cap_w[s.rate_class[j]]
        elif s.status[j] == codes.PAUSED:
            cap = np.inf
        elif cap == np.inf:
            cap = class_cap_w(s, s.base_class[j])
        if s.shape[j] >= 0 and s.status[j] != codes.PAUSED:
            cap = min(cap, s.sh_told_w[s.shape[j]] / s.sh_nodes[s.shape[j]])
        x = s.held[j]
        while x >= 0:
            for node in range(x, s.hx_to[x]):
                cap_w[node] = cap
                row[node] = j
            x = s.hx_next[x]
    return system_w(s)


@seldom(types.float64(State.record_type))
def committed(s: State) -> float:
    """Return what the model says that the machine will draw when all jobs are there that were told to start."""
    return system_w(s) + pledged_w(s)
