"""Jobs and their rows: a job gets one, arrives, ends and leaves it. Nothing here decides anything.

The simulator's jobs have their rows from the start; ``arrive`` and ``end`` are its own transitions too. Whoever learns
of jobs as they come (``control.facts``) gives each a spare row, in which nothing of its last job is left, and frees the
row when the job has ended and is reported. A freed row waits for the end of the next pass before another job gets it:
actions of that pass, and lists that policies keep, may still name it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.control import commit
from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State

(
    F_SUBMIT,
    F_WORK,
    F_NODES,
    F_REQUEST,
    F_ESTIMATE,
    F_USER,
    F_GROUP,
    F_KIND,
    F_POOL,
    F_PRIORITY,
    F_AFTER,
    F_THINK,
    F_DRAW,
    F_FLOOR,
    F_STRETCH,
    F_APP,
    F_TRAFFIC,
    F_SENSITIVE,
    F_COMM,
) = range(19)
FACTS = (
    "submit_s",
    "work",
    "nodes",
    "request_s",
    "estimate_s",
    "user",
    "group",
    "kind",
    "pool",
    "priority",
    "after",
    "think_s",
    "draw_w",
    "floor_w",
    "stretch",
    "app",
    "traffic",
    "sensitive",
    "comm",
)
"""What is said of a job that gets a row, in this order: fields of the state, in their units. ``after`` is a row."""


def facts_of(s: State) -> Floats:
    """Return what is known of the jobs of a state without spare rows, a line of ``FACTS`` each; ``after`` are its rows.

    For tests and for whoever prepares jobs as a simulation does and lets them enter one by one.
    """
    rows = s.status.size
    known = [getattr(s, name) if getattr(s, name).size else np.zeros(rows) for name in FACTS]
    return np.ascontiguousarray(np.column_stack(known).astype(np.float64))


# ------------------------------------------------------------------ arriving and ending


@kernel
def arrive(s: State, j: int, wake: Any, learn: Any, profile: Any, param: Any, memory: Any) -> int:
    """Take a submitted job in; return the bit of what happened."""
    if s.status[j] == codes.REJECTED:
        return 0
    if wake[codes.LEARN] & codes.ARRIVAL:
        learn(s, j, param[codes.LEARN], memory[codes.LEARN])
    if wake[codes.PROFILE] & codes.ARRIVAL:
        profile(s, j, param[codes.PROFILE], memory[codes.PROFILE])
        s.submit_profile_from[j] = s.profile_from[j]
    return codes.ARRIVAL if commit.submit(s, j) else 0


@kernel
def end(s: State, j: int, status: int, wake: Any, learn: Any, profile: Any, param: Any, memory: Any) -> None:
    """End a job and let the learners see it."""
    commit.finish(s, j, status)
    if wake[codes.LEARN] & codes.END:
        learn(s, -1 - j, param[codes.LEARN], memory[codes.LEARN])
    if wake[codes.PROFILE] & codes.END:
        profile(s, -1 - j, param[codes.PROFILE], memory[codes.PROFILE])


# ------------------------------------------------------------------ getting a row


@outlined
def _bucket(s: State, nodes: int) -> int:
    """Return the bucket of the backfill index that a width belongs to."""
    b = 0
    while (1 << b) < nodes:
        b += 1
    return min(b, s.ix_used.shape[0] - 1)


@outlined
def _find_class(s: State, facts: Any) -> int:
    """Return the rate class that a job belongs to, or -1 when its power is new."""
    if s.by_profile[0] == 0:
        return int(facts[F_POOL])
    for c in range(s.c_rows.shape[0]):
        if (
            s.c_rows[c] > 0
            and s.c_pool[c] == facts[F_POOL]
            and s.c_kind[c] == facts[F_KIND]
            and s.c_draw_w[c] == facts[F_DRAW]
            and s.c_floor_w[c] == facts[F_FLOOR]
            and s.c_stretch[c] == facts[F_STRETCH]
        ):
            return c
    return -1


@outlined
def _open_class(s: State, facts: Any) -> int:
    """Return an unused rate class, made ready for jobs of a power: as if it had been there from the start."""
    s.n_unused[0] -= 1
    c = s.unused[s.n_unused[0]]
    p = int(facts[F_POOL])
    s.c_pool[c] = p
    s.c_kind[c] = int(facts[F_KIND])
    s.c_draw_w[c] = facts[F_DRAW]
    s.c_floor_w[c] = facts[F_FLOOR]
    s.c_stretch[c] = facts[F_STRETCH]
    s.c_rate[c] = s.level_rate[p, s.level[p]]
    s.c_power[c] = s.level_busy[p, s.level[p]]
    s.c_net[c] = 1.0
    s.c_response[c] = -1
    if s.resp_first.shape[0] > 0 and s.c_kind[c] >= 0:
        s.c_response[c] = s.k_response[s.c_kind[c]]
    s.c_cap_w[c] = np.inf
    s.want_cap_w[c] = np.inf
    s.c_t0[c] = 0.0
    s.c_v0[c] = 0.0
    s.c_e0[c] = 0.0
    return c


@outlined
def enter(s: State, facts: Any, memory: Any) -> int:
    """Give a job a spare row; return the row, or the code of what there is no room for, with a minus sign.

    The job is one that will be submitted: ``arrive`` takes it in.
    """
    p = int(facts[F_POOL])
    first = int(facts[F_AFTER])
    if p < 0 or p >= s.free.shape[0] or facts[F_NODES] < 1 or facts[F_NODES] > s.pool_count[p]:
        return -codes.NO_SUCH
    if first >= 0 and (first >= s.status.shape[0] or s.status[first] >= codes.SPARE):
        return -codes.NO_SUCH
    if facts[F_USER] >= s.n_users[0]:
        return -codes.NO_USER
    if s.n_spare[0] == 0:
        return -codes.NO_ROW
    b = _bucket(s, int(facts[F_NODES]))
    if s.ix_rows[b] >= s.ix_room[b]:
        return -codes.NO_INDEX
    c = _find_class(s, facts)
    if c >= 0 and s.c_rows[c] >= s.c_room[c]:
        return -codes.NO_HEAP
    if c < 0:
        if s.n_unused[0] == 0:
            return -codes.NO_CLASS
        c = _open_class(s, facts)
    s.n_spare[0] -= 1
    j = s.spare[s.n_spare[0]]
    s.c_rows[c] += 1
    s.ix_rows[b] += 1
    s.n_jobs[0] += 1
    s.base_class[j] = c
    s.ix_bucket[j] = b
    _forget_job(s, j)
    _tell(s, j, facts)
    for slot in range(s.mem_jobs.shape[0]):
        for column in range(s.mem_jobs[slot]):
            memory[slot][column * s.status.shape[0] + j] = 0.0
    return j


@outlined
def _tell(s: State, j: int, facts: Any) -> None:
    """Write what is said of a job."""
    s.status[j] = codes.FUTURE
    s.submit_s[j] = facts[F_SUBMIT]
    s.work[j] = facts[F_WORK]
    s.remaining[j] = facts[F_WORK]
    s.nodes[j] = int(facts[F_NODES])
    s.asked_nodes[j] = int(facts[F_NODES])
    s.request_s[j] = facts[F_REQUEST]
    s.estimate_s[j] = facts[F_ESTIMATE]
    s.user[j] = int(facts[F_USER])
    s.group[j] = int(facts[F_GROUP])
    s.kind[j] = int(facts[F_KIND])
    s.pool[j] = int(facts[F_POOL])
    s.priority[j] = facts[F_PRIORITY]
    s.think_s[j] = facts[F_THINK]
    s.draw_w[j] = facts[F_DRAW]
    s.now_w[j] = facts[F_DRAW]
    s.profile_w[j] = facts[F_DRAW]
    s.floor_w[j] = facts[F_FLOOR]
    s.stretch[j] = facts[F_STRETCH]
    s.app[j] = int(facts[F_APP])
    s.traffic[j] = int(facts[F_TRAFFIC])
    s.sensitive[j] = int(facts[F_SENSITIVE])
    if s.comm.shape[0] > 0:
        s.comm[j] = facts[F_COMM]
    k = s.kind[j]
    if 0 <= k < s.k_nodes.shape[0] and s.k_nodes[k] > 0:
        s.k_shortest_s[k] = min(s.k_shortest_s[k], s.work[j])
    first = int(facts[F_AFTER])
    s.after[j] = first
    if first >= 0:
        s.sibling[j] = s.child[first]
        s.child[first] = j


@outlined
def _forget_job(s: State, j: int) -> None:
    """Let a row hold what it holds before anything happens to its job; what is known of a job is written after it."""
    s.child[j] = -1
    s.sibling[j] = -1
    s.key[j] = 0.0
    s.seq[j] = 0
    s.slot[j] = -1
    s.ix_leaf[j] = -1
    s.eligible_s[j] = np.nan
    s.started_s[j] = np.nan
    s.resumed_s[j] = np.nan
    s.end_s[j] = np.nan
    s.ran_s[j] = 0.0
    s.v_end[j] = 0.0
    s.v_estimate[j] = 0.0
    s.e_start[j] = 0.0
    s.energy_j[j] = 0.0
    s.estimated_end_s[j] = 0.0
    s.reserved_s[j] = np.inf
    s.rate_class[j] = 0
    s.cap_w[j] = np.inf
    s.due_at[j] = -1
    s.held[j] = -1
    s.run_at[j] = 0
    s.preemptions[j] = 0
    s.restarts[j] = 0
    s.lost_s[j] = 0.0
    s.wake_w[j] = 0.0
    s.woke_s[j] = 0.0
    s.seen_w[j] = 0.0
    s.spread_w[j] = 0.0
    s.profile_from[j] = 0
    s.submit_profile_from[j] = 0
    s.start_profile_w[j] = np.nan
    s.start_profile_from[j] = 0
    for v in range(s.profile.shape[1]):
        s.profile[j, v] = -1
    s.series_first[j] = 0
    s.series_count[j] = 0
    s.asked_s[j] = 0.0
    s.asked_work[j] = 0.0
    s.asked_estimate_s[j] = 0.0
    s.asked_draw_w[j] = 0.0
    s.asked_profile_w[j] = 0.0
    s.shape[j] = -1
    s.start_shape[j] = -1
    s.shape_limit_w[j] = 0.0
    s.shape_room_w[j] = 0.0
    s.shape_room[j] = 0
    if s.comm.shape[0] > 0:
        s.lost_net_s[j] = 0.0
        s.since_net_s[j] = 0.0
        s.n_head[j] = -1


# ------------------------------------------------------------------ leaving it


@outlined
def free(s: State, j: int) -> int:
    """Take the row from a job that has ended; return 0, or the code of what is wrong, with a minus sign.

    Jobs that depend on it know by now when they may enter the queue, and no longer name the row; while one has a row
    and has not arrived, the job keeps its own.
    """
    if s.spare.shape[0] == 0 or j < 0 or j >= s.status.shape[0]:
        return -codes.NO_SUCH
    if s.status[j] < codes.FINISHED or s.status[j] >= codes.SPARE:
        return -codes.NO_SUCH
    child = s.child[j]
    while child >= 0:
        if s.status[child] == codes.FUTURE:
            return -codes.NO_SUCH
        child = s.sibling[child]
    child = s.child[j]
    while child >= 0:
        following = s.sibling[child]
        s.after[child] = -1
        s.sibling[child] = -1
        child = following
    first = s.after[j]
    if first >= 0 and s.child[first] == j:
        s.child[first] = s.sibling[j]
    elif first >= 0:
        child = s.child[first]
        while s.sibling[child] != j:
            child = s.sibling[child]
        s.sibling[child] = s.sibling[j]
    s.after[j] = -1
    s.child[j] = -1
    s.status[j] = codes.FREED
    s.submit_s[j] = np.inf
    s.ix_rows[s.ix_bucket[j]] -= 1
    c = s.base_class[j]
    s.c_rows[c] -= 1
    if s.by_profile[0] == 1 and s.c_rows[c] == 0:
        s.unused[s.n_unused[0]] = c
        s.n_unused[0] += 1
    s.freed[s.n_freed[0]] = j
    s.n_freed[0] += 1
    return 0


@outlined
def end_quarantine(s: State) -> None:
    """Make the rows that were freed before a pass spare after it."""
    while s.n_freed[0] > 0:
        s.n_freed[0] -= 1
        j = s.freed[s.n_freed[0]]
        s.status[j] = codes.SPARE
        s.spare[s.n_spare[0]] = j
        s.n_spare[0] += 1
