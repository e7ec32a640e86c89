"""What a learner sees at a decision: numbers in [0, 1] of the first waiting jobs and of the machine, in a fixed order.

A learning environment and the policy that was learned in it fill the same array by the same kernel, so that both
decide alike. Times are squashed as t / (t + scale): sums and quotients alone, the same bits with and without JIT.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.state.record import State
from wattline.model.structures.nodes import count_back
from wattline.physics.power import headroom_w, start_increase_w, system_w
from wattline.policies.select.proposals import estimated_wall_s, outlasts

JOB_FEATURES = (
    ("there", "1: a job waits at this place of the queue; where none does, all its numbers are 0"),
    ("allowed", "1: it may start now: its nodes are free and the power limit leaves room for it"),
    ("nodes", "nodes it asks for, over those of its class"),
    ("estimate_minutes", "estimated run time e as e / (e + 10 min)"),
    ("estimate_hours", "e / (e + 2 h)"),
    ("estimate_days", "e / (e + 1 d)"),
    ("wait_minutes", "time it has waited w as w / (w + 10 min)"),
    ("wait_hours", "w / (w + 2 h)"),
    ("slowdown", "w / (w + e), e at least 10 s: 0 for a newcomer, near 1 for who waits many times its run time"),
    ("watts", "power its start adds, over the power limit (without one: over the machine's highest power)"),
    ("harmless", "1: by the estimates it delays nobody in front of it: it fits beside the first job that must wait"),
    ("share", "nodes it asks for, over the free ones (at most 1)"),
)
"""Numbers of each of the first waiting jobs: name and meaning."""

MACHINE_FEATURES = (
    ("free", "free nodes, over all"),
    ("running", "running jobs r as r / (r + 16)"),
    ("queue", "waiting jobs q as q / (q + 16)"),
    ("headroom", "watts that starts may still add, over the power limit (1: no limit)"),
    ("limit", "power limit, over the machine's highest power (at most 1; 1: no limit)"),
    ("power", "power of the machine, over its highest"),
    ("target", "power target, over the machine's highest power (0: none)"),
    ("day", "the simulated clock modulo a day, in days"),
    ("week", "the simulated clock modulo a week, in weeks"),
    ("soon_5m", "nodes that are free in 5 minutes by the estimates, over all"),
    ("soon_30m", "in 30 minutes"),
    ("soon_2h", "in 2 hours"),
    ("soon_8h", "in 8 hours"),
    ("soon_1d", "in a day"),
)
"""Numbers of the machine, behind those of the jobs: name and meaning."""

F, G = len(JOB_FEATURES), len(MACHINE_FEATURES)
THERE, ALLOWED, NODES, EST_M, EST_H, EST_D, WAIT_M, WAIT_H, SLOWDOWN, WATTS, HARMLESS, SHARE = range(F)
SOON = 9
MINUTES_S, HOURS_S, DAY_S, WEEK_S = 600.0, 7200.0, 86400.0, 604800.0
BOUND_S = 10.0
MANY = 16.0


@kernel
def is_proposed(s: State, n: int, j: int) -> bool:
    """Tell whether a job is among the first n proposals of this pass."""
    found = False
    for i in range(n):
        found = found or s.p_job[i] == j
    return found


@kernel
def free_left(s: State, n: int, p: int) -> int:
    """Return the free nodes of a class, less those of the first n proposals."""
    free = s.free[p]
    for i in range(n):
        if s.pool[s.p_job[i]] == p:
            free -= s.p_nodes[i]
    return free


@kernel
def watts_left(s: State, n: int) -> float:
    """Return the watts that starts may still add after the first n proposals (inf: no limit)."""
    watts = headroom_w(s)
    if watts < np.inf:
        for i in range(n):
            watts -= start_increase_w(s, s.p_job[i], np.inf)
    return watts


@kernel
def highest_w(s: State) -> float:
    """Return what the machine draws with all nodes busy."""
    total = 0.0
    for p in range(s.free.shape[0]):
        total += s.pool_count[p] * s.max_w[p]
    return total


@kernel
def next_proposed(s: State, n: int, after_s: float, after: int) -> int:
    """Return which of the first n proposals ends next by the estimates, behind that with the number ``after``, which
    ends at ``after_s``; -1 if none does.
    """
    found = -1
    found_s = np.inf
    for i in range(n):
        end_s = s.now[0] + estimated_wall_s(s, s.p_job[i])
        if (end_s > after_s or (end_s == after_s and i > after)) and end_s < found_s:
            found = i
            found_s = end_s
    return found


@kernel
def promise(s: State, p: int, n: int, need: int) -> tuple[float, int]:
    """Return when so many nodes of a class are free by the estimates (inf: not foreseen), and how many more then.

    Running jobs give theirs back, and so do those of the first n proposals. All that come free at one time count.
    """
    free = free_left(s, n, p)
    t = s.now[0]
    i = 0
    own = next_proposed(s, n, -np.inf, -1)
    while i < s.n_running[0] or own >= 0:
        end_s = s.estimated_end_s[s.running[i]] if i < s.n_running[0] else np.inf
        own_s = s.now[0] + estimated_wall_s(s, s.p_job[own]) if own >= 0 else np.inf
        first_s = min(end_s, own_s)
        if free >= need and first_s > t:
            break
        t = max(t, first_s)
        if own >= 0 and own_s < end_s:
            j = s.p_job[own]
            own = next_proposed(s, n, own_s, own)
        else:
            j = s.running[i]
            i += 1
        if s.pool[j] == p:
            free += count_back(s, j)
    return (np.inf, free) if free < need else (t, free - need)


@kernel
def show_job(s: State, n: int, j: int, watts: float, scale_w: float, seen: Any, at: int) -> int:
    """Write the numbers of a waiting job from place ``at`` on, all but whether it is harmless; return 1 if it may
    start.
    """
    p = s.pool[j]
    free = free_left(s, n, p)
    est_s = estimated_wall_s(s, j)
    wait_s = max(0.0, s.now[0] - s.eligible_s[j])
    increase_w = start_increase_w(s, j, np.inf)
    allowed = 1 if s.nodes[j] <= free and increase_w <= watts else 0
    seen[at + THERE] = 1.0
    seen[at + ALLOWED] = allowed
    seen[at + NODES] = s.nodes[j] / s.pool_count[p]
    seen[at + EST_M] = est_s / (est_s + MINUTES_S)
    seen[at + EST_H] = est_s / (est_s + HOURS_S)
    seen[at + EST_D] = est_s / (est_s + DAY_S)
    seen[at + WAIT_M] = wait_s / (wait_s + MINUTES_S)
    seen[at + WAIT_H] = wait_s / (wait_s + HOURS_S)
    seen[at + SLOWDOWN] = wait_s / (wait_s + max(est_s, BOUND_S))
    seen[at + WATTS] = min(1.0, max(0.0, increase_w / scale_w)) if scale_w > 0.0 else 0.0
    seen[at + HARMLESS] = 0.0
    seen[at + SHARE] = min(1.0, s.nodes[j] / free) if free > 0 else 1.0
    return allowed


@kernel
def show_harmless(s: State, n: int, p: int, seen: Any, jobs: Any) -> None:
    """Mark the shown jobs of a class that delay nobody in front of them: EASY's rule, by nodes.

    In the order of the queue, the first job that cannot start is promised its nodes for when the estimates say they
    are free. Those in front of it are harmless, and so is who gives its nodes back before, or leaves enough.
    """
    free = free_left(s, n, p)
    shadow_s = np.inf
    extra = 0
    blocked = False
    for i in range(jobs.shape[0]):
        j = jobs[i]
        if j < 0:
            break
        if s.pool[j] != p:
            continue
        if not blocked:
            if seen[i * F + ALLOWED] == 1.0:
                seen[i * F + HARMLESS] = 1.0
                continue
            blocked = True
            if free == 0:
                break
            shadow_s, extra = promise(s, p, n, s.nodes[j])
            continue
        if seen[i * F + ALLOWED] == 1.0 and (s.nodes[j] <= extra or not outlasts(s, j, shadow_s - s.now[0])):
            seen[i * F + HARMLESS] = 1.0


@kernel
def soon(s: State, n: int, ahead_s: float) -> int:
    """Return the nodes that running jobs and the first n proposals give back within a time, by the estimates."""
    count = 0
    until_s = s.now[0] + ahead_s
    for i in range(s.n_running[0]):
        j = s.running[i]
        if s.estimated_end_s[j] > until_s:
            break
        count += count_back(s, j)
    for i in range(n):
        if estimated_wall_s(s, s.p_job[i]) <= ahead_s:
            count += s.p_nodes[i]
    return count


@kernel
def show_machine(s: State, n: int, watts: float, seen: Any, at: int) -> None:
    """Write the numbers of the machine from place ``at`` on."""
    nodes = 0
    free = 0
    for p in range(s.free.shape[0]):
        nodes += s.pool_count[p]
        free += free_left(s, n, p)
    most_w = highest_w(s)
    limited = s.limit_w[0] < np.inf
    seen[at] = free / nodes
    seen[at + 1] = (s.n_running[0] + n) / (s.n_running[0] + n + MANY)
    seen[at + 2] = (s.q_len[0] - n) / (s.q_len[0] - n + MANY)
    seen[at + 3] = 1.0
    seen[at + 4] = 1.0
    seen[at + 5] = 0.0
    seen[at + 6] = 0.0
    if limited:
        seen[at + 3] = min(1.0, max(0.0, watts / s.limit_w[0])) if s.limit_w[0] > 0.0 else 0.0
    if most_w > 0.0:
        if limited:
            seen[at + 4] = min(1.0, s.limit_w[0] / most_w)
        seen[at + 5] = min(1.0, max(0.0, system_w(s) / most_w))
        if s.target_w[0] == s.target_w[0]:
            seen[at + 6] = min(1.0, max(0.0, s.target_w[0] / most_w))
    seen[at + 7] = s.now[0] % DAY_S / DAY_S
    seen[at + 8] = s.now[0] % WEEK_S / WEEK_S
    seen[at + SOON] = (free + soon(s, n, 300.0)) / nodes
    seen[at + SOON + 1] = (free + soon(s, n, 1800.0)) / nodes
    seen[at + SOON + 2] = (free + soon(s, n, 7200.0)) / nodes
    seen[at + SOON + 3] = (free + soon(s, n, 28800.0)) / nodes
    seen[at + SOON + 4] = (free + soon(s, n, 86400.0)) / nodes


@kernel
def look(s: State, n: int, seen: Any, jobs: Any) -> int:
    """Fill ``seen`` and ``jobs`` after the first n proposals of this pass; return how many of the jobs may start.

    ``jobs`` gets the first waiting jobs that are not proposed, -1 where there are no more. All running jobs are
    listed, by estimated end.
    """
    k = jobs.shape[0]
    watts = watts_left(s, n)
    scale_w = s.limit_w[0] if s.limit_w[0] < np.inf else highest_w(s)
    shown = 0
    allowed = 0
    i = s.q_head[0]
    while i < s.q_tail[0] and shown < k:
        j = s.queue[i]
        i += 1
        if j < 0 or is_proposed(s, n, j):
            continue
        jobs[shown] = j
        allowed += show_job(s, n, j, watts, scale_w, seen, shown * F)
        shown += 1
    for at in range(shown * F, k * F):
        seen[at] = 0.0
    for rest in range(shown, k):
        jobs[rest] = -1
    for p in range(s.free.shape[0]):
        show_harmless(s, n, p, seen, jobs)
    show_machine(s, n, watts, seen, k * F)
    return allowed
