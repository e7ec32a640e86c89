"""What gets there later than it was told: caps on their way, and the deviation of the machine's power."""

from __future__ import annotations

import numpy as np

from wattline.control import commit
from wattline.control.timeline import log_timeline
from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_TIMELINE
from wattline.physics import clocks, power
from wattline.physics.random import LATE_CAPS, NOISE, bell, uniform


@kernel
def sent_cap_w(s: State, c: int) -> float:
    """Return the cap of a rate class that was set last, in force or on its way."""
    if s.fl_n.shape[0] > 0 and s.fl_n[c] > 0:
        return s.fl_w[c, s.fl_n[c] - 1]
    return s.c_cap_w[c]


@outlined
def due_s(s: State) -> float:
    """Return when the caps of this pass get into force: a pass sends them all at once, so one number is drawn for all
    of them.

    It belongs to the time of the pass, to the microsecond: whatever was decided before, at that time caps are as late.
    """
    drawn = uniform(int(s.seed[0]), LATE_CAPS, int(s.now[0] * 1e6))
    return s.now[0] + s.late_cap_s[0] + drawn * (s.late_cap_s[1] - s.late_cap_s[0])


@outlined
def send(s: State, c: int, cap_w: float, at_s: float) -> None:
    """Let a rate class have a cap from a time on; what was set before and would come after it counts no more."""
    n = s.fl_n[c]
    while n > 0 and s.fl_s[c, n - 1] >= at_s:
        n -= 1
    if n == s.fl_s.shape[1]:
        n -= 1  # there is room for no more: it takes the place of the last
    s.fl_s[c, n] = at_s
    s.fl_w[c, n] = cap_w
    s.fl_n[c] = n + 1
    s.land_s[0] = min(s.land_s[0], at_s)
    s.schedule_s[0] = min(s.schedule_s[0], at_s)


@outlined
def move(s: State, j: int, target: int) -> None:
    """Let a running job go on in another rate class."""
    old = s.rate_class[j]
    s.remaining[j] = max(0.0, s.v_end[j] - clocks.virtual_now(s, old))
    joules = clocks.leave(s, j)
    s.energy_j[j] += joules
    s.node_j[s.pool[j], 0] += joules
    if old != s.base_class[j]:
        clocks.close_solo(s, old)
    if target == s.base_class[j] and s.c_n[target] == 0:
        clocks.apply_cap(s, target, power.class_cap_w(s, target))
    clocks.join(s, j, target)
    s.est_dirty[0] = 1
    s.untidy[0] = 1


@outlined
def land(s: State) -> int:
    """Put the caps of this instant in force; return what happened.

    From the last class to the first: one that is left empty by it is replaced by one that was seen already.
    """
    next_s = np.inf
    changed = 0
    i = s.n_active[0] - 1
    while i >= 0:
        c = s.active[i]
        i -= 1
        n = 0
        while n < s.fl_n[c] and s.fl_s[c, n] <= s.now[0]:
            n += 1
        if n > 0:
            changed = codes.AWAKE
            cap_w = s.fl_w[c, n - 1]
            left = s.fl_n[c] - n
            for k in range(left):
                s.fl_s[c, k] = s.fl_s[c, k + n]
                s.fl_w[c, k] = s.fl_w[c, k + n]
            s.fl_n[c] = left
            j = s.heap_job[s.c_heap[c]]
            if left == 0 and cap_w == np.inf and c != s.base_class[j] and not commit.shares_links(s, j):
                move(s, j, s.base_class[j])
                continue
            clocks.apply_cap(s, c, cap_w)
        if s.fl_n[c] > 0:
            next_s = min(next_s, s.fl_s[c, 0])
    s.land_s[0] = next_s
    return changed


@outlined
def deviate(s: State) -> None:
    """Let the machine's power deviate otherwise, where it is time to.

    It is on the meter, so the timeline has it. Nothing has happened by it that control could answer: no pass follows.
    """
    if s.start_s[0] + s.noise_k[0] * s.noise_every_s[0] > s.now[0]:
        return
    s.noise[0] = s.noise_share[0] * bell(int(s.seed[0]), NOISE, s.noise_k[0])
    s.noise_k[0] += 1
    if s.option[OPT_TIMELINE] == 1:
        log_timeline(s)  # what else happens in this instant writes the row again


@outlined
def change_late(s: State) -> int:
    """Let happen what was late until now; return what happened."""
    mask = 0
    if s.land_s[0] <= s.now[0]:
        mask |= land(s)
    if s.noise_share[0] > 0.0:
        deviate(s)
    return mask
