"""Traffic of routers: what their nodes send, counted over windows of time as a machine's counters are read.

A node sends at a constant rate while its job works. Whoever asks is told the mean over the last whole window; in
the first window nothing is known yet and every router shows none. Rates are whole bytes per second, so that sums
leave no residue.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State


@kernel
def window(s: State) -> int:
    """Return the number of the present window."""
    return int((s.now[0] - s.start_s[0]) / s.traffic_s[0])


@kernel
def past_bytes(s: State, r: int, k: int) -> float:
    """Return what the nodes of a router sent in the window before window k, which is the present one."""
    if k == s.r_window[r]:
        return s.r_past[r]
    if k == s.r_window[r] + 1:
        return s.r_bytes[r] + s.r_rate[r] * (s.start_s[0] + k * s.traffic_s[0] - s.r_time_s[r])
    return s.r_rate[r] * s.traffic_s[0]


@kernel
def _count(s: State, r: int) -> None:
    """Bring a router's counters up to the present."""
    k = window(s)
    if k > s.r_window[r]:
        s.r_past[r] = past_bytes(s, r, k)
        s.r_bytes[r] = s.r_rate[r] * (s.now[0] - (s.start_s[0] + k * s.traffic_s[0]))
    else:
        s.r_bytes[r] += s.r_rate[r] * (s.now[0] - s.r_time_s[r])
    s.r_time_s[r] = s.now[0]
    s.r_window[r] = k


@outlined
def change(s: State, j: int, sign: int) -> None:
    """Let the nodes that a job holds begin to send (sign 1), or stop (-1)."""
    size = s.net[0]
    x = s.held[j]
    while x >= 0 and s.traffic[j] > 0:
        a = x
        b = s.hx_to[x]
        while a < b:
            r = a // size
            edge = min(b, (r + 1) * size)
            _count(s, r)
            s.r_rate[r] += sign * (edge - a) * s.traffic[j]
            a = edge
        x = s.hx_next[x]
