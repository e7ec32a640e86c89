"""How time passes in a state, pretended or real: nodes without jobs draw, and tracking is counted."""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.market.tracking import MARGIN
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_SLEEP
from wattline.physics import power


@outlined
def measure_tracking(s: State, dt: float) -> None:
    """Count time with a reserve in force, and the part of it in which power is too far from the target.

    A real machine measures the latter itself (the fact ``signal``).
    """
    s.offered_s[0] += dt
    if s.outside[0] == 0 and abs(power.metered_w(s) - s.target_w[0]) > MARGIN * s.reserve_w[0]:
        s.exceed_s[0] += dt


@kernel
def pass_time(s: State, t: float) -> None:
    """Move the clock, integrating what nodes without jobs draw."""
    dt = t - s.now[0]
    if dt > 0.0:
        for p in range(s.free.shape[0]):
            idle_s = (s.free[p] - s.asleep[p]) * dt
            s.node_s[p, 0] += s.busy[p] * dt
            s.node_s[p, 1] += idle_s
            s.node_j[p, 1] += (idle_s + s.paused[p] * dt) * s.idle_w[p]
            if s.option[OPT_SLEEP] == 1:
                s.node_s[p, 2] += s.asleep[p] * dt
                s.node_j[p, 2] += s.asleep[p] * dt * s.sleep_w[p]
                s.node_j[p, 3] += s.waking_w[p] * dt
            s.node_s[p, 3] += s.down[p] * dt
        if s.reserve_w[0] > 0.0:
            measure_tracking(s, dt)
        if s.noise[0] != 0.0:
            s.noise_j[0] += s.noise[0] * power.system_w(s) * dt
        s.now[0] = t
