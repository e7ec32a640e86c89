"""What running jobs leave free in the time to come, by their estimates: nodes of a class, and watts under the limit."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.model.structures.nodes import count_back
from wattline.physics.power import end_decrease_w, headroom_w
from wattline.policies.select.profile import AT_S, COLUMNS, FREE, TURN, sooner


@kernel
def ends_at(s: State, j: int, turn_of_now: float, steps: Any, m: int) -> int:
    """Let a step begin when a running job is expected to be gone, behind all others; return the number of steps."""
    end_s = max(s.estimated_end_s[j], s.now[0])
    turn = turn_of_now if end_s == s.now[0] else 0.0
    if not sooner(steps[COLUMNS * (m - 1) + AT_S], steps[COLUMNS * (m - 1) + TURN], end_s, turn):
        return m
    steps[COLUMNS * m + AT_S], steps[COLUMNS * m + TURN], steps[COLUMNS * m + FREE] = (
        end_s,
        turn,
        steps[COLUMNS * (m - 1) + FREE],
    )
    return m + 1


@outlined
def free_ahead(s: State, p: int, turn: float, steps: Any) -> int:
    """Write the nodes that running jobs leave free, by their estimates; return the number of steps.

    A job whose estimate ends now is expected to be gone in this turn of now. Nodes that drain are never free.
    """
    steps[AT_S], steps[TURN], steps[FREE] = s.now[0], 0.0, s.free[p]
    m = 1
    for i in range(listed(s)):
        j = s.running[i]
        if s.pool[j] == p:
            m = ends_at(s, j, turn, steps, m)
            steps[COLUMNS * (m - 1) + FREE] += count_back(s, j)
    return m


@outlined
def watts_ahead(s: State, turn: float, steps: Any) -> int:
    """Write the watts that starts may add under the limit in force, by the estimates; return the number of steps.

    The limit is taken to stay: it binds when jobs start, so that a job may run on where it falls.
    """
    steps[AT_S], steps[TURN], steps[FREE] = s.now[0], 0.0, headroom_w(s)
    m = 1
    for i in range(listed(s)):
        j = s.running[i]
        m = ends_at(s, j, turn, steps, m)
        steps[COLUMNS * (m - 1) + FREE] += end_decrease_w(s, j)
    return m
