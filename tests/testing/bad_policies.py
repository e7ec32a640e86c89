"""Policies that break one rule each, named after the check that must notice; ``good`` breaks none."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from wattline import free_extents, policy

SELECT, WAITING_ROOM = 1, 8
seen: list[float] = []


def start(s: Any, n: int, j: int) -> int:
    """Propose a job."""
    s.p_job[n], s.p_nodes[n], s.p_cap_w[n], s.p_why[n] = j, s.nodes[j], np.inf, 4
    return n + 1


def waiting(s: Any) -> list[int]:
    """Return the waiting jobs."""
    return [int(j) for j in s.queue[s.q_head[0] : s.q_tail[0]] if j >= 0]


def greedy(s: Any, jobs: list[int], spare: int = 0) -> int:
    """Propose the jobs that fit, leaving some nodes unused."""
    free, n = s.free.copy(), 0
    watts = s.limit_w[0] - power_w(s)
    for j in jobs:
        p, more_w = s.pool[j], s.nodes[j] * (s.draw_w[j] - s.idle_w[s.pool[j]])
        if s.nodes[j] <= free[p] - spare and more_w <= watts:
            free[p] -= s.nodes[j]
            watts -= more_w
            n = start(s, n, j)
    return n


def power_w(s: Any) -> float:
    """Return the power of the system."""
    idle = (s.free - s.asleep) * s.idle_w + s.asleep * s.sleep_w + s.waking_w
    return float(s.busy_w.sum() + idle.sum())


@policy("select")
def good(s, arg, param, memory):
    """First fit."""
    return greedy(s, waiting(s))


@policy("select", name="callable")
def callable_(s, arg):
    """Takes too few arguments."""
    return 0


@policy("select", compiled=True)
def indices(s, arg, param, memory):
    """Looks before the first slot."""
    return 0 if s.queue[s.q_head[0] - 1] > -100 else 1


@policy("select", compiled=True, name="indices-beyond")
def beyond(s, arg, param, memory):
    """Looks behind the last node."""
    return 0 if s.node_state[s.node_state.shape[0]] > -100 else 1


@policy("select", compiled=True, name="proposes-only")
def takes(s, arg, param, memory):
    """Starts jobs by itself."""
    s.status[s.queue[s.q_head[0]]] = 4
    return 0


@policy("select", name="proposes-only-python")
def takes_too(s, arg, param, memory):
    """Starts jobs by itself."""
    s.status[s.queue[s.q_head[0]]] = 4
    return 0


@policy("select")
def legal(s, arg, param, memory):
    """Proposes whatever waits."""
    n = 0
    for j in waiting(s)[: s.p_job.size]:
        n = start(s, n, j)
    return n


@policy("select", name="legal-count")
def too_many(s, arg, param, memory):
    """Says that it proposes more than there is room for."""
    return 10_000


@policy("order", name="legal-key")
def no_key(s, arg, param, memory):
    """Orders by something that is not a number."""
    for j in waiting(s):
        s.key[j] = np.nan
    return 1


@policy("place", name="legal-place")
def too_few(s, arg, param, memory):
    """Gives every job one node."""
    first = next(iter(free_extents(s, s.pool[arg])))[0]
    s.place_a[0], s.place_b[0] = first, first + 1
    return 1


@policy("learn", wake="arrival", name="legal-estimate")
def guess(s, arg, param, memory):
    """Estimates that jobs take less than no time."""
    s.estimate_s[arg] = -1.0
    return 0


@policy("cap", name="legal-cap", caps=True)
def nowhere(s, arg, param, memory):
    """Wants a speed that does not exist."""
    s.want_level[0] = 17
    return 1


@policy("select")
def timer(s, arg, param, memory):
    """Wants to be woken in the past."""
    s.wake_at_s[SELECT] = s.now[0] - 1.0
    return greedy(s, waiting(s))


@policy("select")
def deterministic(s, arg, param, memory):
    """Throws coins that nobody can throw again."""
    jobs = waiting(s)
    random.shuffle(jobs)
    return greedy(s, jobs)


@policy("select", name="no-hidden-state")
def remembers(s, arg, param, memory):
    """Remembers in a global list, until a new run begins at its first second."""
    if s.counter[4] == 0:
        seen.clear()
    seen.append(float(s.now[0]))
    return greedy(s, waiting(s)[:: -1 if len(seen) % 3 == 0 else 1])


@policy("select", compiled=True, name="same-in-plain-python")
def overflows(s, arg, param, memory):
    """Counts on integers that overflow."""
    n, free = 0, s.free[0]
    big = (1 << 62) * (2 + int(s.q_len[0]) * 0)
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.nodes[j] <= free and s.pool[j] == 0:
            if big > 0 and s.n_running[0] > 0:
                continue
            s.p_job[n], s.p_nodes[n], s.p_cap_w[n], s.p_why[n] = j, s.nodes[j], np.inf, 4
            free -= s.nodes[j]
            n += 1
    return n


@policy("select", name="empty-queue")
def hasty(s, arg, param, memory):
    """Takes for granted that somebody waits."""
    if s.nodes[s.queue[s.q_head[0]]] > s.free[0]:
        return 0
    return start(s, 0, int(s.queue[s.q_head[0]]))


@policy("select", name="all-nodes-down")
def shares(s, arg, param, memory):
    """Divides by the nodes in service."""
    share = 1.0 / int(s.free[0] + s.busy[0])
    return greedy(s, waiting(s)) if share > 0 else 0


@policy("select", name="one-node")
def reserves(s, arg, param, memory):
    """Keeps a node in reserve unless all are free."""
    return greedy(s, waiting(s), spare=0 if s.free[0] > 1 else 1)


@policy("select", memory=WAITING_ROOM)
def ties(s, arg, param, memory):
    """Has room for eight waiting jobs."""
    for i, j in enumerate(waiting(s)):
        memory[i] = j
    return greedy(s, waiting(s))


@policy("select", name="wide-jobs")
def narrow(s, arg, param, memory):
    """Never fills the machine."""
    return greedy(s, [j for j in waiting(s) if s.nodes[j] < s.pool_count[s.pool[j]]])


@policy("select", name="zero-length")
def long_only(s, arg, param, memory):
    """Ignores jobs that take no time."""
    return greedy(s, [j for j in waiting(s) if s.work[j] > 0])


@policy("select", name="finishes-request")
def certain_only(s, arg, param, memory):
    """Ignores jobs that do not say how long they take."""
    return greedy(s, [j for j in waiting(s) if s.request_s[j] < np.inf])


@policy("select", name="finishes-user")
def known_only(s, arg, param, memory):
    """Ignores jobs of nobody."""
    return greedy(s, [j for j in waiting(s) if s.user[j] >= 0])


@policy("select", name="indices-user")
def by_user(s, arg, param, memory):
    """Looks up something by a job's user, who may not be known."""
    return greedy(s, [j for j in waiting(s) if s.nodes[s.user[j]] > 0])


@policy("select", name="zero-length-request")
def patient_only(s, arg, param, memory):
    """Ignores jobs that ask for no time."""
    return greedy(s, [j for j in waiting(s) if s.estimate_s[j] > 0])


@policy("select", name="power-limit")
def unlimited(s, arg, param, memory):
    """Waits for the limit to go away."""
    return greedy(s, waiting(s)) if s.limit_w[0] > 1000.0 else 0


@policy("select", name="node-classes")
def first_class(s, arg, param, memory):
    """Serves the first node class only."""
    return greedy(s, [j for j in waiting(s) if s.pool[j] == 0])


@policy("select")
def finishes(s, arg, param, memory):
    """Does not like one of the users."""
    return greedy(s, [j for j in waiting(s) if s.user[j] == 0])
