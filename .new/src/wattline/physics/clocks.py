"""Rate classes: jobs whose speed moves together share a virtual clock, so a change of caps costs O(classes).

A class's virtual time is V(t) = v0 + rate·(t - t0), computed and never accumulated; a job that starts at t with w work
left ends at virtual time V(t) + w, whatever the rate does meanwhile. Each class keeps a heap of virtual ends, which a
change of rate leaves untouched, and a winner tree over the classes gives the next end. An energy clock
E(t) = e0 + power·(t - t0) yields the exact energy of a job: nodes · uncapped power · (E(end) - E(start)).
"""

from __future__ import annotations

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State
from wattline.physics.cap_rates import class_rate, job_response, stretch_at
from wattline.physics.power import capped_power


@kernel
def virtual_now(s: State, c: int) -> float:
    """Return a class's virtual time."""
    rate = s.c_rate[c]
    elapsed = s.now[0] - s.c_t0[c]
    return s.c_v0[c] + (elapsed if rate == 1.0 else rate * elapsed)


@kernel
def energy_now(s: State, c: int) -> float:
    """Return a class's energy clock."""
    return s.c_e0[c] + s.c_power[c] * (s.now[0] - s.c_t0[c])


@kernel
def _real(s: State, c: int, v: float) -> float:
    rate = s.c_rate[c]
    ahead = v - s.c_v0[c]
    return s.c_t0[c] + (ahead if rate == 1.0 else ahead / rate)


@kernel
def end_of(s: State, j: int) -> float:
    """Return when a running job ends at its present speed."""
    return _real(s, s.rate_class[j], s.v_end[j])


@kernel
def add_busy_w(s: State, watts: float) -> None:
    """Add to the power of running jobs, keeping the rounding error beside the sum (Neumaier)."""
    total = s.busy_w[0]
    new = total + watts
    if abs(total) >= abs(watts):
        s.busy_w[1] += (total - new) + watts
    else:
        s.busy_w[1] += (watts - new) + total
    s.busy_w[0] = new


# ------------------------------------------------------------------ next end over all classes


@kernel
def refresh_next(s: State, c: int) -> None:
    """Recompute a class's next end and its path in the winner tree."""
    if s.c_n[c] > 0:
        s.c_next_s[c] = _real(s, c, s.heap_v[s.c_heap[c]])
    else:
        s.c_next_s[c] = np.inf
    if s.c_n.shape[0] > 1:
        _replay(s, c)


@outlined
def _replay(s: State, c: int) -> None:
    half = s.win.shape[0] >> 1
    i = (half + c) >> 1
    while i >= 1:
        a = s.win[2 * i]
        b = s.win[2 * i + 1]
        s.win[i] = b if _sooner(s, b, a) else a
        i >>= 1


@kernel
def _sooner(s: State, b: int, a: int) -> bool:
    """Tell whether class b ends before class a (the lower number at ties); -1 never does."""
    if b < 0:
        return False
    if a < 0:
        return True
    return s.c_next_s[b] < s.c_next_s[a]


@kernel
def next_class(s: State) -> int:
    """Return the class with the next end."""
    if s.c_n.shape[0] == 1:
        return 0
    return s.win[1]


# ------------------------------------------------------------------ heaps of virtual ends


@kernel
def _heap_before(s: State, v: float, j: int, x: int) -> bool:
    return v < s.heap_v[x] or (v == s.heap_v[x] and j < s.heap_job[x])


@kernel
def _heap_up(s: State, base: int, start: int, v: float, j: int) -> None:
    i = start
    while i > 0:
        parent = (i - 1) >> 1
        x = base + parent
        if not _heap_before(s, v, j, x):
            break
        s.heap_v[base + i] = s.heap_v[x]
        s.heap_job[base + i] = s.heap_job[x]
        i = parent
    s.heap_v[base + i] = v
    s.heap_job[base + i] = j


@kernel
def _heap_delete(s: State, base: int, n: int, hole: int) -> None:
    """Remove the entry at ``hole`` from a heap that has ``n`` entries left."""
    if hole == n:
        return
    v = s.heap_v[base + n]
    j = s.heap_job[base + n]
    i = hole
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and _heap_before(s, s.heap_v[base + child + 1], s.heap_job[base + child + 1], base + child):
            child += 1
        s.heap_v[base + i] = s.heap_v[base + child]
        s.heap_job[base + i] = s.heap_job[base + child]
        i = child
    _heap_up(s, base, i, v, j)


@outlined
def _heap_find(s: State, base: int, j: int) -> int:
    at = 1
    while s.heap_job[base + at] != j:
        at += 1
    return at


# ------------------------------------------------------------------ joining, leaving, changing speed


@kernel
def join(s: State, j: int, c: int) -> None:
    """Let a job begin to work in a class, now."""
    v = virtual_now(s, c)
    s.rate_class[j] = c
    s.e_start[j] = energy_now(s, c)
    s.v_estimate[j] = v + max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))
    end = v + s.remaining[j]
    s.v_end[j] = end
    n = s.c_n[c]
    s.c_n[c] = n + 1
    if n == 0:
        s.active[s.n_active[0]] = c
        s.active_at[c] = s.n_active[0]
        s.n_active[0] += 1
    watts = s.nodes[j] * s.now_w[j]
    s.c_watts[c] += watts
    add_busy_w(s, watts * s.c_power[c])
    _heap_up(s, s.c_heap[c], n, end, j)
    if s.heap_job[s.c_heap[c]] == j:
        refresh_next(s, c)


@kernel
def leave(s: State, j: int) -> float:
    """Let a job stop working, now; return the energy of the segment in joules."""
    c = s.rate_class[j]
    joules = s.nodes[j] * s.now_w[j] * (energy_now(s, c) - s.e_start[j])
    n = s.c_n[c] - 1
    s.c_n[c] = n
    watts = s.nodes[j] * s.now_w[j]
    at = 0
    if s.heap_job[s.c_heap[c]] != j:  # stopped, not ended: rare, so it is searched for
        at = _heap_find(s, s.c_heap[c], j)
    _heap_delete(s, s.c_heap[c], n, at)
    add_busy_w(s, -watts * s.c_power[c])
    if n == 0:
        s.c_watts[c] = 0.0
        _deactivate(s, c)
    else:
        s.c_watts[c] -= watts
    if at == 0:
        refresh_next(s, c)
    return joules


@kernel
def _deactivate(s: State, c: int) -> None:
    i = s.active_at[c]
    last = s.active[s.n_active[0] - 1]
    s.active[i] = last
    s.active_at[last] = i
    s.active_at[c] = -1
    s.n_active[0] -= 1
    if s.fl_n.shape[0] > 0:
        s.fl_n[c] = 0  # who joins next is told its cap together with its start
    if s.n_active[0] == 0:
        s.busy_w[0] = 0.0
        s.busy_w[1] = 0.0


@outlined
def set_speed(s: State, c: int, rate: float, power: float) -> None:
    """Change a class's rate and power, now; ends of its jobs move with it."""
    v = virtual_now(s, c)
    e = energy_now(s, c)
    s.c_v0[c] = v
    s.c_e0[c] = e
    s.c_t0[c] = s.now[0]
    s.c_rate[c] = rate
    if s.c_n[c] > 0:
        add_busy_w(s, s.c_watts[c] * (power - s.c_power[c]))
    s.c_power[c] = power
    s.est_dirty[0] = 1
    s.untidy[0] = 1
    refresh_next(s, c)


@outlined
def apply_cap(s: State, c: int, cap_w: float) -> bool:
    """Give a class a cap per node and the current level of its nodes; return whether its speed changed."""
    p = s.c_pool[c]
    level = s.level[p]
    rate = s.level_rate[p, level] * s.c_net[c]
    power = s.level_busy[p, level]
    if cap_w < np.inf:
        power *= capped_power(s.c_draw_w[c], s.c_floor_w[c], cap_w)
        rate *= class_rate(s, c, cap_w)
    s.c_cap_w[c] = cap_w
    if rate == s.c_rate[c] and power == s.c_power[c]:
        return False
    set_speed(s, c, rate, power)
    return True


@outlined
def open_solo(s: State, j: int, cap_w: float) -> int:
    """Return a class of its own for a job capped alone, with its cap applied, or -1 when none is left."""
    if s.n_solo[0] == 0:
        return -1
    s.n_solo[0] -= 1
    c = s.solo[s.n_solo[0]]
    s.c_pool[c] = s.pool[j]
    s.c_net[c] = 1.0
    s.c_draw_w[c] = s.now_w[j]
    s.c_floor_w[c] = min(s.floor_w[j], s.now_w[j])
    s.c_stretch[c] = stretch_at(s, j, s.now_w[j])
    s.c_response[c] = job_response(s, j)
    s.c_t0[c] = s.now[0]
    s.c_v0[c] = 0.0
    s.c_e0[c] = 0.0
    apply_cap(s, c, cap_w)
    return c


@kernel
def close_solo(s: State, c: int) -> None:
    """Return a class of its own to the unused ones."""
    s.solo[s.n_solo[0]] = c
    s.n_solo[0] += 1


# ------------------------------------------------------------------ power that changes over time


@outlined
def redraw(s: State, j: int, watts: float) -> None:
    """Let a running job draw another power per node from now on."""
    old = s.now_w[j]
    if watts == old:
        return
    c = s.rate_class[j]
    clock = energy_now(s, c)
    joules = s.nodes[j] * old * (clock - s.e_start[j])
    s.energy_j[j] += joules
    s.node_j[s.pool[j], 0] += joules
    s.e_start[j] = clock
    s.now_w[j] = watts
    more = s.nodes[j] * (watts - old)
    s.c_watts[c] += more
    add_busy_w(s, more * s.c_power[c])
    if c != s.base_class[j]:  # capped alone: what its cap means depends on what it would draw
        s.c_draw_w[c] = watts
        s.c_floor_w[c] = min(s.floor_w[j], watts)
        s.c_stretch[c] = stretch_at(s, j, watts)
        apply_cap(s, c, s.c_cap_w[c])
