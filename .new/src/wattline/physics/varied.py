"""Time and power of a job in a configuration on the very nodes it got, where nodes of a class differ in power."""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State


@kernel
def speed_at(s: State, row: int, typical_w: float) -> float:
    """Return the speed of a node in a configuration's nodes and cores whose power equals that of a typical one at
    this power.

    Straight lines between measured points; below the lowest, speed falls in proportion to power; above the highest
    it stays.
    """
    first = s.re_first[row]
    last = first + s.re_count[row] - 1
    if typical_w >= s.re_w[last]:
        return s.re_speed[last]
    if typical_w <= s.re_w[first]:
        return s.re_speed[first] * typical_w / s.re_w[first]
    i = first
    while s.re_w[i + 1] < typical_w:
        i += 1
    part = (typical_w - s.re_w[i]) / (s.re_w[i + 1] - s.re_w[i])
    return s.re_speed[i] + part * (s.re_speed[i + 1] - s.re_speed[i])


@outlined
def settle(s: State, j: int, row: int) -> None:
    """Set run time and power of a job that takes a configuration on the nodes it holds.

    A node of factor v that runs as fast as a typical one does at x watts draws f + v (x - f). Without a cap all are
    equally fast and draw what they draw. Under equal caps the thirstiest node is the slowest, and the job waits for
    it; nodes that have spare power draw what their own speed takes, as waiting MPI processes do. Caps of equal
    speed share the same sum so that none is slower.
    """
    count = s.sh_nodes[row]
    fixed_w = s.varied[0]
    own_w = s.sh_power_w[row] / count - fixed_w  # the part that varies, of a typical node
    total = 0.0
    most = 0.0
    x = s.held[j]
    while x >= 0:
        for node in range(x, s.hx_to[x]):
            total += s.node_factor[node]
            most = max(most, s.node_factor[node])
        x = s.hx_next[x]
    mean = total / count
    if s.re_count[row] == 0:
        s.draw_w[j] = fixed_w + own_w * mean
        s.now_w[j] = s.draw_w[j]
        return
    usual = speed_at(s, row, fixed_w + own_w)
    full_w = s.re_w[s.re_first[row] + s.re_count[row] - 1] - fixed_w
    if s.varied[1] == 1.0:
        each_w = min(own_w / mean, full_w)  # of a typical node at the common speed
        slowest = speed_at(s, row, fixed_w + each_w)
        s.draw_w[j] = fixed_w + each_w * mean
    else:
        slowest = speed_at(s, row, fixed_w + min(own_w / most, full_w))
        drawn_w = 0.0
        x = s.held[j]
        while x >= 0:
            for node in range(x, s.hx_to[x]):
                drawn_w += fixed_w + min(own_w, full_w * s.node_factor[node])
            x = s.hx_next[x]
        s.draw_w[j] = drawn_w / count
    s.now_w[j] = s.draw_w[j]
    s.work[j] = s.sh_time_s[row] * usual / slowest
    s.remaining[j] = s.work[j]
    s.request_s[j] = max(s.request_s[j], s.work[j])
