"""Who is served is chosen anew: the longest prefix, in the order of the line, of all jobs present or of the waiting."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel
from wattline.model.codes import ANY_CHANGE, END, ENVELOPE, NODE, RESELECTED, RUNNING, SELECT, TIMER
from wattline.model.mechanism import Memory, Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_SEQ, OPT_EXCEED
from wattline.model.structures.many_running import listed
from wattline.model.structures.nodes import count_back
from wattline.physics.clocks import virtual_now
from wattline.physics.power import end_decrease_w, start_increase_w
from wattline.policies.select.easy import fits
from wattline.policies.select.in_order import propose_fitting
from wattline.policies.select.proposals import headroom_left_w, propose

M_SEQ, M_AGAIN, M_ROOM = range(3)
"""memory: the number of the next job to enter the line; the time of a pass to be made once more, plus one; room to
sort
"""


@kernel
def key_in_service(s: State, j: int, drift: float) -> float:
    """Return the key a running job would have in the line now: the one it left with, moved by the work done since."""
    if drift == 0.0 or s.status[j] != RUNNING:
        return float(s.key[j])
    done = s.remaining[j] - (s.v_end[j] - virtual_now(s, s.rate_class[j]))
    return float(s.key[j] + drift * done)


@kernel
def goes_before(s: State, key_a: float, a: int, key_b: float, b: int) -> bool:
    """Tell whether job a goes before job b: by key, then by the time of entering the line."""
    return key_a < key_b or (key_a == key_b and s.seq[a] < s.seq[b])


@kernel
def sort_served(s: State, n: int, jobs: Any, keys: Any) -> None:
    """Sort the first n jobs by key (Shell sort: in place, and fast enough for as many jobs as run)."""
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            job = jobs[i]
            key = keys[i]
            at = i
            while at >= gap and goes_before(s, key, int(job), keys[at - gap], int(jobs[at - gap])):
                jobs[at] = jobs[at - gap]
                keys[at] = keys[at - gap]
                at -= gap
            jobs[at] = job
            keys[at] = key
        gap //= 2


@kernel
def lowering_first(s: State, n0: int, n: int) -> None:
    """Put proposals of jobs that draw less than idle nodes first: the guard looks at one after the other, and all
    together keep the limit.
    """
    first = n0
    for i in range(n0, n):
        j = s.p_job[i]
        if start_increase_w(s, j, np.inf) >= 0.0:
            continue
        for x in range(i, first, -1):
            s.p_job[x], s.p_nodes[x] = s.p_job[x - 1], s.p_nodes[x - 1]
        s.p_job[first], s.p_nodes[first] = j, s.nodes[j]
        first += 1


@kernel
def serve_prefix(s: State, p: int, n0: int, drift: float, jobs: Any, keys: Any) -> int:
    """Serve the longest fitting prefix of all jobs of a node class: stop who is not in it, propose who joins.

    A job that could not run if all others left (its nodes are down, or drain) blocks those behind it in the line, but
    stops nobody: nothing would be gained. Nor would it by stopping a job all of whose nodes drain, or one that runs
    alone above the limit because it may: it would start again at once.
    """
    n = n0
    served = 0
    free = s.free[p]
    watts = headroom_left_w(s, n0)
    if watts < np.inf:  # jobs are stopped before others start
        for x in range(s.n_stop[0]):
            watts += end_decrease_w(s, s.stop_job[x])
    for x in range(listed(s)):
        j = s.running[x]
        if s.pool[j] == p:
            jobs[served] = j
            keys[served] = key_in_service(s, j, drift)
            served += 1
            free += count_back(s, j)
            if watts < np.inf:
                watts += end_decrease_w(s, j)
    sort_served(s, served, jobs, keys)
    all_free = free
    all_watts = watts
    blocked = False
    i = s.q_head[0]
    k = 0
    while True:
        while i < s.q_tail[0] and (s.queue[i] < 0 or s.pool[s.queue[i]] != p):
            i += 1
        w = s.queue[i] if i < s.q_tail[0] and not blocked else -1
        r = int(jobs[k]) if k < served else -1
        if w < 0 and r < 0:
            break
        stays = w < 0 or (r >= 0 and goes_before(s, keys[k], r, s.key[w], w))
        if stays:
            if count_back(s, r) > free or (watts < np.inf and end_decrease_w(s, r) > watts):
                if n == 0 and s.n_running[0] == 1 and s.option[OPT_EXCEED] == 1 and count_back(s, r) <= free:
                    k += 1
                break
            free -= count_back(s, r)
            if watts < np.inf:
                watts -= end_decrease_w(s, r)
            k += 1
        elif fits(s, w, free, watts):
            free -= s.nodes[w]
            if watts < np.inf:
                watts -= start_increase_w(s, w, np.inf)
            n = propose(s, n, w, RESELECTED)
            i += 1
        elif fits(s, w, all_free, all_watts):
            break
        else:
            blocked = True
    if watts < np.inf:
        lowering_first(s, n0, n)
    while k < served:
        r = int(jobs[k])
        if count_back(s, r) > 0 or watts < np.inf:
            s.stop_job[s.n_stop[0]] = r
            s.n_stop[0] += 1
        k += 1
    return n


@kernel
def next_in_time(s: State, p: int, after: int) -> int:
    """Return the waiting job of a node class that entered the line first after a sequence number, or -1."""
    best = -1
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.pool[j] == p and s.seq[j] > after and (best < 0 or s.seq[j] < s.seq[best]):
            best = j
    return best


@kernel
def start_newcomers(s: State, p: int, n0: int, first_new: int) -> int:
    """Propose newcomers as they came, while they fit; nobody starts if somebody waited before them."""
    n = n0
    last = -1
    free = s.free[p]
    watts = headroom_left_w(s, n0)
    while True:
        j = next_in_time(s, p, last)
        if j < 0 or s.seq[j] < first_new or not fits(s, j, free, watts):
            return n
        last = s.seq[j]
        free -= s.nodes[j]
        if watts < np.inf:
            watts -= start_increase_w(s, j, np.inf)
        n = propose(s, n, j, RESELECTED)


@mechanism(
    "select",
    "reselect",
    params={
        "preempt": Param(
            1.0,
            "1 chooses among all jobs present and stops the rest (they resume later); 0 among the waiting",
            0,
            1,
            whole=True,
        ),
        "at_arrivals": Param(
            1.0, "0: an arrival changes nothing, but starts if it fits and nobody waits", 0, 1, whole=True
        ),
        "drift": Param(
            0.0, "change of a running job's key per unit of work done: -1 with shortest, 1 with longest", -1e9, 1e9
        ),
    },
    wake=ANY_CHANGE | TIMER,
    memory=Memory(fixed=2, per_running=2),
    preempts=True,
    source="recursion model, §III-B, corrected",
)
def reselect(s: State, mask: int, param: Any, memory: Any) -> int:
    """Serve the longest fitting prefix of the order, chosen anew; preemptive-resume or among the waiting only.

    LCFS preemptive-resume: order lcfs and the defaults. LPF or SPF: order longest or shortest (truth = 1),
    at_arrivals = 0 and drift = 1 or -1; preempt = 0 for the non-preemptive form.
    """
    again = mask & TIMER != 0 and memory[M_AGAIN] == 1.0  # with passes at ticks it is later by now
    if mask & ANY_CHANGE == 0 and not again:
        return 0  # somebody else's timer
    first_new = int(memory[M_SEQ])
    memory[M_SEQ] = float(s.counter[N_SEQ])
    memory[M_AGAIN] = 0.0
    if param[1] != 0.0 or again or mask & (END | NODE | ENVELOPE):
        if param[0] == 0.0:
            return propose_fitting(s, True)  # kernels take no keywords
        n = 0
        room = memory[M_ROOM:]
        half = room.shape[0] // 2
        for p in range(s.free.shape[0]):
            n = serve_prefix(s, p, n, param[2], room[:half], room[half:])
        if s.n_stop[0] > 0 and s.limit_w[0] < np.inf and s.free.shape[0] > 1:
            memory[M_AGAIN] = 1.0  # classes that were served before may use the watts of those now stopped
            s.wake_at_s[SELECT] = s.now[0]
        return n
    n = 0
    for p in range(s.free.shape[0]):
        n = start_newcomers(s, p, n, first_new)
    return n
