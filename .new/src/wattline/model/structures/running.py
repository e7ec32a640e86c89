"""The running jobs (sorted by estimated end where backfilling needs it) and the heap of due times."""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import HELD, RUNNING
from wattline.model.state.record import State
from wattline.model.state.sizes import MANY_RUNNING
from wattline.model.state.switches import N_REPLANS, OPT_SORTED
from wattline.model.structures import many_running
from wattline.model.structures.many_running import FEW_RUNNING

LEAST_EXTENSION_S = 60.0
"""Shortest extension of an estimate that has run out."""


@kernel
def enter(s: State, j: int) -> None:
    """Add a job that has started."""
    n = s.n_running[0]
    if n >= FEW_RUNNING and (s.n_blocks[0] > 0 or (n >= MANY_RUNNING and s.option[OPT_SORTED] == 1)):
        many_running.enter(s, j)
    elif s.option[OPT_SORTED] == 1:
        t = s.estimated_end_s[j]
        i = n
        while i > 0 and s.run_end_s[i - 1] > t:
            s.run_end_s[i] = s.run_end_s[i - 1]
            s.running[i] = s.running[i - 1]
            i -= 1
        s.running[i] = j
        s.run_end_s[i] = t
    else:
        s.running[n] = j
        s.run_at[j] = n
    s.n_running[0] = n + 1


@kernel
def leave(s: State, j: int) -> None:
    """Remove a job that ended or was stopped."""
    n = s.n_running[0] - 1
    if many_running.are_many(s):
        many_running.leave(s, j)
    elif s.option[OPT_SORTED] == 1:
        i = _position(s, j)
        for x in range(i, n):
            s.running[x] = s.running[x + 1]
            s.run_end_s[x] = s.run_end_s[x + 1]
    else:
        i = s.run_at[j]
        last = s.running[n]
        s.running[i] = last
        s.run_at[last] = i
    s.n_running[0] = n


@kernel
def _position(s: State, j: int) -> int:
    if s.running[0] == j:
        return 0
    t = s.estimated_end_s[j]
    low = 0
    high = s.n_running[0]
    while low < high:
        middle = (low + high) >> 1
        if s.run_end_s[middle] < t:
            low = middle + 1
        else:
            high = middle
    while s.running[low] != j:
        low += 1
    return low


@outlined
def refresh_estimates(s: State) -> None:
    """Compute estimated ends anew after rates have changed, and sort again (they are nearly sorted)."""
    for i in range(many_running.listed(s)):
        j = s.running[i]
        c = s.rate_class[j]
        t = s.estimated_end_s[j]
        if s.status[j] == RUNNING:
            t = s.c_t0[c] + (s.v_estimate[j] - s.c_v0[c]) / s.c_rate[c]
            s.estimated_end_s[j] = t
        p = i
        while p > 0 and s.run_end_s[p - 1] > t:
            s.running[p] = s.running[p - 1]
            s.run_end_s[p] = s.run_end_s[p - 1]
            p -= 1
        s.running[p] = j
        s.run_end_s[p] = t
    if many_running.are_many(s):
        many_running.build(s)
    s.est_dirty[0] = 0
    s.counter[N_REPLANS] += 1


@outlined
def extend_expired(s: State) -> None:
    """Give running jobs whose estimate has run out a new one: twice what they have run, at most the user's request.

    Without it such a job would count as ending at any moment, and nobody could pass the head of the line.
    """
    now = s.now[0]
    while s.n_running[0] > 0 and many_running.first_end_s(s) < now:
        many_running.ready(s, 0)
        j = s.running[0]
        leave(s, j)
        ran_s = s.ran_s[j] - s.woke_s[j] + now - s.resumed_s[j]
        end_s = now + max(ran_s, LEAST_EXTENSION_S)
        limit_s = now + s.request_s[j] - ran_s
        if now < limit_s < end_s:
            end_s = limit_s
        if s.status[j] == RUNNING:
            c = s.rate_class[j]
            s.v_estimate[j] = s.c_v0[c] + s.c_rate[c] * (end_s - s.c_t0[c])
        s.estimated_end_s[j] = end_s
        enter(s, j)
        s.counter[N_REPLANS] += 1


@outlined
def expect_anew(s: State) -> None:
    """Bring the estimated ends of running jobs up to date, where they are sorted by them."""
    if s.option[OPT_SORTED] == 1:
        if s.est_dirty[0] == 1:
            refresh_estimates(s)
        extend_expired(s)


# ------------------------------------------------------------------ due times


@kernel
def _due_before(s: State, a: int, b: int) -> bool:
    """Earlier first; at one time, releases of held jobs (which are arrivals) come last; then by job."""
    if s.due_s[a] != s.due_s[b]:
        return s.due_s[a] < s.due_s[b]
    a_held = s.status[s.due_job[a]] == HELD
    b_held = s.status[s.due_job[b]] == HELD
    if a_held != b_held:
        return b_held
    return s.due_job[a] < s.due_job[b]


@kernel
def _due_swap(s: State, a: int, b: int) -> None:
    s.due_s[a], s.due_s[b] = s.due_s[b], s.due_s[a]
    s.due_job[a], s.due_job[b] = s.due_job[b], s.due_job[a]
    s.due_at[s.due_job[a]] = a
    s.due_at[s.due_job[b]] = b


@outlined
def _due_up(s: State, start: int) -> None:
    i = start
    while i > 0 and _due_before(s, i, (i - 1) >> 1):
        _due_swap(s, i, (i - 1) >> 1)
        i = (i - 1) >> 1


@outlined
def _due_down(s: State, start: int) -> None:
    i = start
    while True:
        child = 2 * i + 1
        if child >= s.n_due[0]:
            break
        if child + 1 < s.n_due[0] and _due_before(s, child + 1, child):
            child += 1
        if not _due_before(s, child, i):
            break
        _due_swap(s, i, child)
        i = child


@kernel
def set_due(s: State, j: int, t_s: float) -> None:
    """Give a job a due time (it has none): its release, the end of its waking, or its kill."""
    n = s.n_due[0]
    s.due_s[n] = t_s
    s.due_job[n] = j
    s.due_at[j] = n
    s.n_due[0] = n + 1
    _due_up(s, n)


@kernel
def clear_due(s: State, j: int) -> None:
    """Forget a job's due time, if it has one."""
    i = s.due_at[j]
    if i >= 0:
        n = s.n_due[0] - 1
        s.n_due[0] = n
        s.due_at[j] = -1
        if i < n:
            moved = s.due_job[n]
            s.due_s[i] = s.due_s[n]
            s.due_job[i] = moved
            s.due_at[moved] = i
            _due_up(s, i)
            _due_down(s, s.due_at[moved])
