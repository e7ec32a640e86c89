"""Stay under the power limit with caps: one ratio for all running jobs while they would draw more, none while they
do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.model.codes import ANY_CHANGE, RUNNING, SAMPLE, TICK
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics.power import idle_system_w, least_cap_w, pledged_w

M_CAPPED = 0
"""memory: 1 while jobs are capped"""


@mechanism(
    "cap", "under-limit", wake=ANY_CHANGE | SAMPLE | TICK, solo_caps=True, memory=Memory(fixed=1), source="Wattline"
)
def under_limit(s: State, mask: int, param: Any, memory: Any) -> int:
    """Cap running jobs, each between its lowest power and what it would draw, so that the machine stays under the
    limit.
    """
    if s.limit_w[0] == np.inf and memory[M_CAPPED] == 0.0:
        return 0
    low_w = idle_system_w(s)
    high_w = low_w
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == RUNNING:
            busy = s.nodes[j] * s.level_busy[s.pool[j], s.level[s.pool[j]]]
            high_w += busy * s.now_w[j]
            low_w += busy * min(s.now_w[j], least_cap_w(s, j))
    reserved_w = pledged_w(s)  # jobs that are starting have no cap of their own yet
    low_w += reserved_w
    high_w += reserved_w
    ratio = 1.0
    if high_w > s.limit_w[0]:
        ratio = max(0.0, (s.limit_w[0] - low_w) / (high_w - low_w)) if high_w > low_w else 0.0
    if ratio == 1.0 and memory[M_CAPPED] == 0.0:
        return 0
    memory[M_CAPPED] = 1.0 if ratio < 1.0 else 0.0
    n = 0
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] != RUNNING:
            continue
        lowest_w = least_cap_w(s, j)
        want_w = np.inf
        if ratio < 1.0 and lowest_w < s.now_w[j]:
            want_w = lowest_w + ratio * (s.now_w[j] - lowest_w)
        if want_w != s.cap_w[j]:
            s.recap_job[n] = j
            s.recap_w[n] = want_w
            n += 1
    s.n_recap[0] = n
    return 1 if n > 0 else 0
