"""All chores: those of every run, and node changes, sleep, preemption, caps and levels.

Compiled apart from the hot loop.
"""

from __future__ import annotations

from typing import Any

from wattline.control import commit, guard, late
from wattline.control.codes import CAPS, DUE, EXPECT, NEIGHBOURS, RARE, RARE_BESIDE_ENDS, RECLAIM, SHEDDING, STOPS
from wattline.control.every_run import do_daily
from wattline.control.logs import log_event
from wattline.kernel.compiled import outlined, seldom
from wattline.model import codes
from wattline.model.state.record import POLICY, State
from wattline.model.structures import nodes, running
from wattline.physics import neighbours


@outlined
def change_nodes(s: State) -> int:
    """Apply the next node change; return the bits of what happened."""
    i = s.change_at[0]
    s.change_at[0] = i + 1
    a = s.change_a[i]
    b = s.change_b[i]
    kind = s.change_kind[i]
    if kind == codes.NODES_UP:
        commit.return_nodes(s, a, b)
        log_event(s, codes.EV_UP, -1, b - a, float(a))
    elif kind == codes.NODES_DRAIN:
        commit.drain_nodes(s, a, b)
        log_event(s, codes.EV_DRAIN, -1, b - a, float(a))
    else:
        log_event(s, codes.EV_DOWN, -1, b - a, float(a))
        commit.fail_nodes(s, a, b)
    return codes.NODE


@outlined
def change_all(s: State, ended: bool) -> int:  # kernels take no keywords
    """Apply the node changes of an instant and let nodes fall asleep; return what happened.

    Where jobs ended, or nodes changed, those that have just come free stay awake for the pass.
    """
    mask = 0
    while s.change_at[0] < s.change_s.shape[0] and s.change_s[s.change_at[0]] <= s.now[0]:
        mask |= change_nodes(s)
    if s.next_sleep_s[0] <= s.now[0]:
        slept = nodes.fall_asleep(s, ended or mask != 0)
        if slept > 0:
            log_event(s, codes.EV_SLEEP, -1, slept, 0.0)
            mask |= codes.NODE
    return mask | late.change_late(s)


@seldom(POLICY)
def chores(s: State, what: int, param: Any, memory: Any) -> int:
    """Do one chore; what it returns depends on which."""
    if what == NEIGHBOURS:
        neighbours.settle(s)
        return 0
    if what == STOPS:
        guard.stop_and_resume(s)
        return 0
    if what == CAPS:
        guard.set_levels(s)
        guard.set_class_caps(s)
        guard.set_job_caps(s)
        return 0
    if what == EXPECT:
        running.expect_anew(s)
        return 0
    if what == RECLAIM:
        guard.reclaim(s)
        return 0
    if what == SHEDDING:
        guard.shed(s)
        return 0
    changed = change_all(s, what == RARE_BESIDE_ENDS) if what in (RARE, RARE_BESIDE_ENDS) else 0
    got = do_daily(s, what)
    if what == DUE and got >= 0 and s.status[got] == codes.STARTING:
        commit.begin(s, got)
        s.happened[0] |= codes.AWAKE
        return -1
    if what == DUE and got >= 0 and s.status[got] == codes.WAKING:
        commit.finish_waking(s, got)
        s.happened[0] |= codes.AWAKE
        return -1
    return changed | got
