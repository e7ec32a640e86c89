"""Give power that is left over to running jobs: higher caps on the same nodes and cores, as long as nobody who
waits needs it.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import ANY_CHANGE, RUNNING
from wattline.model.mechanism import mechanism
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics.power import headroom_w


@kernel
def wanted_row(s: State, j: int, proposed: int) -> int:
    """Return the configuration of a running job, the one proposed in this pass if there is one."""
    row = s.shape[j]
    for i in range(proposed):
        if s.recap_job[i] == j:
            row = s.recap_shape[i]
    return row


@kernel
def _sooner(s: State, j: int, than: int) -> bool:
    """Tell whether a job ends before another by the estimates, or at the same time and comes first in the trace."""
    if s.estimated_end_s[j] != s.estimated_end_s[than]:
        return s.estimated_end_s[j] < s.estimated_end_s[than]
    return j < than


@outlined
def best_raise(s: State, n: int, watts: float) -> int:
    """Return the running job that a step to its next higher cap saves most time for each watt, among those it fits
    (-1: none).

    At ties it is the one that ends first by the estimates, then the first in the trace.
    """
    best = -1
    best_gain = 0.0
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] != RUNNING or s.shape[j] < 0:
            continue
        row = wanted_row(s, j, n)
        up = s.sh_up[row]
        if up < 0 or s.sh_told_w[up] - s.sh_told_w[row] > watts:
            continue
        left_s = max(0.0, s.estimated_end_s[j] - s.now[0]) * s.sh_told_s[row] / s.sh_told_s[s.shape[j]]
        saved_s = left_s * (1.0 - s.sh_told_s[up] / s.sh_told_s[row])
        gain = saved_s / (s.sh_told_w[up] - s.sh_told_w[row])
        if gain > best_gain or (best >= 0 and gain == best_gain and _sooner(s, j, best)):
            best, best_gain = j, gain
    return best


@mechanism("cap", "leftover", wake=ANY_CHANGE, recaps=True, one_class=True, source="Wattline")
def leftover(s: State, mask: int, param: Any, memory: Any) -> int:
    """Raise the caps of running jobs with power that nobody could start with, step by step where a watt saves most
    time.
    """
    watts = headroom_w(s)
    n = 0
    j = best_raise(s, n, watts)
    while j >= 0:
        row = wanted_row(s, j, n)
        up = s.sh_up[row]
        watts -= s.sh_told_w[up] - s.sh_told_w[row]
        at = n
        for i in range(n):
            if s.recap_job[i] == j:
                at = i
        s.recap_job[at] = j
        s.recap_shape[at] = up
        n = max(n, at + 1)
        j = best_raise(s, n, watts)
    s.n_recap[0] = n
    return n
