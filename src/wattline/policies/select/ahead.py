"""What running jobs leave free in the time to come, by their estimates: nodes of a class, and watts under the limit."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import outlined
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.model.structures.nodes import count_back
from wattline.physics.power import end_decrease_w, headroom_w


@outlined
def free_ahead(s: State, p: int, soon_s: float, t: Any, f: Any) -> int:
    """Write the nodes that running jobs leave free, by their estimates; return the number of steps.

    A job whose estimate ends now is expected to be gone at ``soon_s``. Nodes that drain are never free.
    """
    t[0] = s.now[0]
    f[0] = float(s.free[p])
    m = 1
    for i in range(listed(s)):
        j = s.running[i]
        if s.pool[j] != p:
            continue
        end_s = max(s.estimated_end_s[j], soon_s)
        if end_s > t[m - 1]:
            t[m] = end_s
            f[m] = f[m - 1]
            m += 1
        f[m - 1] += count_back(s, j)
    return m


@outlined
def watts_ahead(s: State, soon_s: float, t: Any, f: Any) -> int:
    """Write the watts that starts may add under the limit in force, by the estimates; return the number of steps.

    The limit is taken to stay: it binds when jobs start, so that a job may run on where it falls.
    """
    t[0] = s.now[0]
    f[0] = headroom_w(s)
    m = 1
    for i in range(listed(s)):
        j = s.running[i]
        end_s = max(s.estimated_end_s[j], soon_s)
        if end_s > t[m - 1]:
            t[m] = end_s
            f[m] = f[m - 1]
            m += 1
        f[m - 1] += end_decrease_w(s, j)
    return m
