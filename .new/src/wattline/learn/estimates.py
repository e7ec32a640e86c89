"""Run-time estimates: the user's request, the truth, or what the user's last jobs took.

A learner is called with ``arg = job`` when a job arrives, to write ``s.estimate_s[job]``, and with ``arg = -1 -
job`` when it ends, to learn from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import ARRIVAL, END
from wattline.model.mechanism import Memory, mechanism
from wattline.model.state.record import State


@kernel
def requested(s: State, j: int) -> float:
    """Return the user's request, or the true run time where there is none (the run's notes count these jobs)."""
    return s.request_s[j] if s.request_s[j] < np.inf else s.work[j]


@mechanism("learn", "request", wake=0)
def request(s: State, arg: int, param: Any, memory: Any) -> int:
    """Estimate = the time the user asked for (set before the run)."""
    return 0


@mechanism("learn", "exact", wake=0)
def exact(s: State, arg: int, param: Any, memory: Any) -> int:
    """Estimate = the true run time (set before the run)."""
    return 0


@mechanism("learn", "recent", wake=ARRIVAL | END, memory=Memory(per_user=3), source="Tsafrir, Etsion & Feitelson 2007")
def recent(s: State, arg: int, param: Any, memory: Any) -> int:
    """Estimate = mean run time of the user's last two ended jobs, at most the request."""
    j = arg if arg >= 0 else -1 - arg
    u = s.user[j]
    if u < 0:
        return 0
    if arg < 0:
        memory[3 * u] = memory[3 * u + 1]
        memory[3 * u + 1] = s.ran_s[j] - s.woke_s[j]
        memory[3 * u + 2] += 1.0
    elif memory[3 * u + 2] > 1.0:
        mean_s = 0.5 * (memory[3 * u] + memory[3 * u + 1])
        s.estimate_s[j] = min(mean_s, requested(s, j))
    return 0
