"""Why a waiting job waits where that does not end by itself: the limit has no room for it, or it cannot be placed."""

from __future__ import annotations

import math

import numpy as np

from wattline.live.controller.ledger import Ledger
from wattline.live.controller.seen.mirror import Mirror
from wattline.model import codes
from wattline.units import show_power

SLACK = 1e-9
"""A job that needs the whole limit has room, whatever rounding says."""


def no_room(ledger: Ledger, limit_w: float) -> dict[str, str]:
    """Return the waiting jobs that a limit has no room for though nothing else ran, and why.

    Starts are counted at what a job draws without caps. Moldable jobs choose what they draw: they are left out.
    """
    s = ledger.state
    if limit_w == math.inf:
        return {}
    rows = np.flatnonzero((s.status == codes.WAITING) & (s.app < 0))
    pool = s.pool[rows]
    idle_w = float((s.pool_count * s.idle_w).sum())
    wants_w = idle_w + s.nodes[rows] * (s.draw_w[rows] - s.idle_w[pool])
    found = {}
    for at in np.flatnonzero(wants_w > limit_w * (1.0 + SLACK)).tolist():
        name = ledger.name.get(int(rows[at]))
        if name is not None:
            told = f"draws {show_power(float(wants_w[at]))} with the idle nodes"
            found[name] = f"{told}, the limit is {show_power(limit_w)}"
    return found


def stays(mirror: Mirror) -> dict[str, str]:
    """Return the jobs that wait and cannot be led, and why."""
    seen = mirror.seen
    return {
        name: why
        for name, why in mirror.refused.items()
        if name in seen and seen[name].phase in ("waiting", "ineligible")
    }
