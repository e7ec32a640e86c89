"""The one writer of the timeline: a row for every instant in which control passed or the machine's power deviated."""

from __future__ import annotations

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_BACKLOG
from wattline.model.structures.many_running import listed
from wattline.physics import clocks, power


@outlined
def backlog(s: State) -> float:
    """Return the remaining work of all jobs in the system (not multiplied by their nodes)."""
    total = 0.0
    for i in range(s.q_head[0], s.q_tail[0]):
        if s.queue[i] >= 0:
            total += s.remaining[s.queue[i]]
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == codes.RUNNING:
            total += max(0.0, s.v_end[j] - clocks.virtual_now(s, s.rate_class[j]))
        else:
            total += s.remaining[j]
    return total


@kernel
def log_timeline(s: State) -> None:
    """Write the row of this instant; a second pass in the same instant replaces the first one's row."""
    n = s.tl_n[0]
    if n > 0 and s.timeline[n - 1, codes.TL_TIME] == s.now[0]:
        n -= 1
    row = s.timeline[n]
    busy = 0
    asleep = 0
    down = 0
    for p in range(s.busy.shape[0]):
        busy += s.busy[p]
        asleep += s.asleep[p]
        down += s.down[p]
    row[codes.TL_TIME] = s.now[0]
    row[codes.TL_POWER] = power.metered_w(s)
    row[codes.TL_BUSY] = busy
    row[codes.TL_ASLEEP] = asleep
    row[codes.TL_DOWN] = down
    row[codes.TL_QUEUED] = s.q_len[0]
    row[codes.TL_RUNNING] = s.n_running[0]
    row[codes.TL_LIMIT] = s.limit_w[0]
    row[codes.TL_RATE] = s.level_rate[0, s.level[0]]
    row[codes.TL_TARGET] = s.target_w[0]
    row[codes.TL_BACKLOG] = backlog(s) if s.option[OPT_BACKLOG] == 1 else np.nan
    s.tl_n[0] = n + 1
