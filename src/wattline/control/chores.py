"""Rare transitions behind one door: compiled apart from the hot loop, which calls them as it calls a policy.

Node changes, envelope steps, sleep, due times, preemption, re-sorting and caps happen seldom beside starts and ends.
Inlining them would multiply the time to compile the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.control import commit, guard
from wattline.control.codes import CAPS, DUE, RARE, RESORT, STOPS, TIDY
from wattline.model import codes, fitindex, nodes, queue, running
from wattline.model.compiled import entry, outlined
from wattline.model.state import OPT_SORTED, POLICY, State


@outlined
def pop_due(s: State) -> int:
    """Serve the first due job: a held one enters the queue, a waking one begins to work; return one to be killed, or -1."""
    j = s.due_job[0]
    running.clear_due(s, j)
    if s.status[j] == codes.WAKING:
        commit.finish_waking(s, j)
        s.happened[0] |= codes.AWAKE
        return -1
    if s.status[j] == codes.HELD:
        commit.enter_queue(s, j)
        s.happened[0] |= codes.ARRIVAL
        return -1
    commit.log_event(s, codes.EV_KILL, j, s.nodes[j], s.request_s[j])
    return j


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
        commit.log_event(s, codes.EV_UP, -1, b - a, float(a))
    elif kind == codes.NODES_DRAIN:
        commit.drain_nodes(s, a, b)
        commit.log_event(s, codes.EV_DRAIN, -1, b - a, float(a))
    else:
        commit.log_event(s, codes.EV_DOWN, -1, b - a, float(a))
        commit.fail_nodes(s, a, b)
    return codes.NODE


@outlined
def rare_events(s: State) -> int:
    """Apply node changes, envelope steps, falling asleep, timers and the tick of an instant; return what happened."""
    t = s.now[0]
    mask = 0
    while s.change_at[0] < s.change_s.shape[0] and s.change_s[s.change_at[0]] <= t:
        mask |= change_nodes(s)
    while s.env_at[0] < s.env_s.shape[0] and s.env_s[s.env_at[0]] <= t:
        s.limit_w[0] = s.env_w[s.env_at[0]]
        s.env_at[0] += 1
        mask |= codes.ENVELOPE
        commit.log_event(s, codes.EV_LIMIT, -1, 0, s.limit_w[0])
    if s.next_sleep_s[0] <= t:
        slept = nodes.fall_asleep(s)
        if slept > 0:
            commit.log_event(s, codes.EV_SLEEP, -1, slept, 0.0)
            mask |= codes.NODE
    for slot in range(s.wake_at_s.shape[0]):
        if s.wake_at_s[slot] <= t:
            s.wake_at_s[slot] = np.inf
            mask |= codes.TIMER
    if s.tick_s[0] < np.inf and s.start_s[0] + s.tick_k[0] * s.tick_s[0] <= t:
        s.tick_k[0] += 1
        mask |= codes.TICK
    set_schedule(s)
    return mask


@outlined
def set_schedule(s: State) -> None:
    """Note the time of the next envelope step, node change or tick."""
    t = np.inf
    if s.tick_s[0] < np.inf:
        t = s.start_s[0] + s.tick_k[0] * s.tick_s[0]
    if s.env_at[0] < s.env_s.shape[0]:
        t = min(t, s.env_s[s.env_at[0]])
    if s.change_at[0] < s.change_s.shape[0]:
        t = min(t, s.change_s[s.change_at[0]])
    s.schedule_s[0] = t


@outlined
def tidy(s: State) -> None:
    """Bring queue, backfill index and estimated ends in order before a pass."""
    s.untidy[0] = 0
    if queue.is_sparse(s):
        queue.compact(s)
    queue.settle_new(s)
    if s.option[OPT_SORTED] == 1:
        if s.est_dirty[0] == 1:
            running.refresh_estimates(s)
        running.extend_expired(s)
        if s.ix_on[0] == 0 and s.q_len[0] >= fitindex.DEEP:
            fitindex.build(s)
        elif s.q_len[0] < fitindex.DEEP // 4:
            s.ix_on[0] = 0


@entry(POLICY)
def chores(s: State, what: int, param: Any, memory: Any) -> int:
    """Do one rare thing; what it returns depends on which."""
    if what == RARE:
        return rare_events(s)
    if what == DUE:
        return pop_due(s)
    if what == STOPS:
        for i in range(min(s.n_stop[0], s.stop_job.shape[0])):
            guard.stop(s, s.stop_job[i])
    elif what == TIDY:
        tidy(s)
    elif what == RESORT:
        queue.resort(s)
    elif what == CAPS:
        guard.set_levels(s)
        guard.set_class_caps(s)
        guard.set_job_caps(s)
    return 0
