"""Surplus: a moldable job starts in the configuration that costs all who wait, itself included, the least time.

A job that holds a part of the machine for a time delays each of the others by about that part of the time; those who
cannot start beside it, by all of it. So a start is weighed by its own run time and by what it takes from the others,
and it is put off where waiting for the configuration of the fair share costs less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import BACKFILL, IN_ORDER
from wattline.model.mechanism import Param, mechanism
from wattline.model.state.record import State
from wattline.model.state.switches import N_PASSES
from wattline.physics.power import headroom_w, shape_increase_w
from wattline.policies.select.rmap import (
    BEST_FIT,
    COLUMNS,
    MEMORY,
    PASSED,
    SURPLUS,
    WAIT,
    forget_wanted,
    increase_w,
    lasts_s,
    put,
    reserve,
    wanted,
    width,
)
from wattline.policies.select.shapes import allowed_s, best_row

TO_COME, WAITING = 0.5, 0.7
"""Weights of time that is taken from jobs which are yet to come (as if one stood behind all), and from one that
waits. Both were found on traces that the published tables do not use."""

LOOKED_AT = 8
"""Jobs in the line behind a job of which is asked whether they could start beside it; others count as if they could."""


@kernel
def tolerated_s(s: State, j: int, threshold: float, memory: Any) -> float:
    """Return how long a job may take: as long as its user tolerates, or as its fair share would if that is more."""
    return max(allowed_s(s, j, threshold), s.sh_told_s[wanted(s, j, SURPLUS, memory)])


@kernel
def part_of(s: State, j: int, row: int) -> float:
    """Return the part of the machine that a configuration holds: of its nodes or of its power, whichever is more."""
    part = s.sh_nodes[row] / float(s.pool_count[s.pool[j]])
    return max(part, s.sh_told_w[row] / s.limit_w[0]) if s.limit_w[0] < np.inf else part


@kernel
def cost_s(s: State, row: int, part: float, behind: float, blocked: float) -> float:
    """Return what a start costs: its run time, and the time it takes from others, ``blocked`` of whom wait for its
    end.
    """
    return s.sh_told_s[row] * (1.0 + (TO_COME * part + WAITING * ((behind - blocked) * part + blocked)))


@kernel
def fits_beside(s: State, j: int, threshold: float, free: int, watts: float, memory: Any) -> bool:
    """Tell whether a job that waits could start with the nodes and watts that another one leaves."""
    if s.app[j] < 0:
        return s.nodes[j] <= free and increase_w(s, j, -1) <= watts
    row = best_row(s, s.app[j], watts, free)
    return row >= 0 and s.sh_told_s[row] <= tolerated_s(s, j, threshold, memory)


@kernel
def count_blocked(s: State, after: int, threshold: float, free: int, watts: float, memory: Any) -> float:
    """Return how many of the next jobs in the line, from a slot on, cannot start with what is left."""
    blocked = 0.0
    seen = 0
    i = after
    while i < s.q_tail[0] and seen < LOOKED_AT:
        j = s.queue[i]
        i += 1
        if j >= 0:
            seen += 1
            if not fits_beside(s, j, threshold, free, watts, memory):
                blocked += 1.0
    return blocked


@outlined
def cheapest(
    s: State, j: int, threshold: float, free: int, watts: float, behind: float, after: int, memory: Any
) -> int:
    """Return the configuration that costs the least among those that fit now and that the job tolerates, or WAIT."""
    a = s.app[j]
    slowest_s = tolerated_s(s, j, threshold, memory)
    best = WAIT
    best_s = np.inf
    for row in range(s.app_first[a], s.app_first[a] + s.app_count[a]):
        if s.sh_nodes[row] > free:
            break  # rows are sorted by nodes
        add_w = shape_increase_w(s, j, row)
        if add_w > watts or s.sh_told_s[row] > slowest_s:
            continue
        part = part_of(s, j, row)
        if cost_s(s, row, part, behind, 0.0) >= best_s:
            continue
        blocked = count_blocked(s, after, threshold, free - s.sh_nodes[row], watts - add_w, memory)
        found_s = cost_s(s, row, part, behind, blocked)
        if found_s < best_s:
            best, best_s = row, found_s
    return best


@outlined
def in_turn(
    s: State, j: int, threshold: float, n: int, free: int, watts: float, behind: float, after: int, memory: Any
) -> int:
    """Return the configuration in which a job starts when its turn has come, or WAIT."""
    want = wanted(s, j, SURPLUS, memory)
    if s.app[j] < 0:
        return want if s.nodes[j] <= free and increase_w(s, j, want) <= watts else WAIT
    if free == 0:
        return WAIT
    row = cheapest(s, j, threshold, free, watts, behind, after, memory)
    if row == WAIT or (s.sh_nodes[want] <= free and shape_increase_w(s, j, want) <= watts):
        return row
    shadow_s, _, _ = reserve(s, s.sh_nodes[want], shape_increase_w(s, j, want), n, free, watts)
    later_s = shadow_s - s.now[0] + cost_s(s, want, part_of(s, j, want), behind, 0.0)
    return row if cost_s(s, row, part_of(s, j, row), behind, 0.0) <= later_s else WAIT


@kernel
def may_pass(s: State, j: int, row: int, before_s: float, extra: int, extra_w: float) -> bool:
    """Tell whether a job is gone before the head starts, or content with what is left over then."""
    return lasts_s(s, j, row) <= before_s or (width(s, j, row) <= extra and increase_w(s, j, row) <= extra_w)


@outlined
def passing(
    s: State,
    j: int,
    threshold: float,
    free: int,
    watts: float,
    before_s: float,
    extra: int,
    extra_w: float,
    memory: Any,
) -> int:
    """Return the fastest configuration in which a job may pass the head, or WAIT."""
    want = wanted(s, j, SURPLUS, memory)
    a = s.app[j]
    if a >= 0:
        if s.sh_told_w[s.app_least[a]] <= watts:
            slowest_s = tolerated_s(s, j, threshold, memory)
            row = best_row(s, a, watts, free)
            if row >= 0 and s.sh_told_s[row] <= slowest_s and may_pass(s, j, row, before_s, extra, extra_w):
                return row
            row = best_row(s, a, min(watts, extra_w), min(free, extra))
            if row >= 0 and s.sh_told_s[row] <= slowest_s:
                return row
        elif increase_w(s, j, want) > watts:
            return WAIT
    fits = width(s, j, want) <= free and increase_w(s, j, want) <= watts
    return want if fits and may_pass(s, j, want, before_s, extra, extra_w) else WAIT


@outlined
def plan(s: State, threshold: float, best_fit: float, memory: Any) -> int:
    """Propose starts: in order as far as it goes, then whoever does not delay the first that has to wait."""
    forget_wanted(s, memory)
    free = s.free[0]
    watts = headroom_w(s)
    behind = float(s.q_len[0])
    n = 0
    i = s.q_head[0]
    head = -1
    while i < s.q_tail[0]:
        j = s.queue[i]
        i += 1
        if j >= 0:
            behind -= 1.0
            row = in_turn(s, j, threshold, n, free, watts, behind, i, memory)
            if row == WAIT:
                head = j
                break
            free -= width(s, j, row)
            watts -= increase_w(s, j, row)
            n = put(s, n, j, row, IN_ORDER)
    if head < 0 or free == 0:
        return n
    want = wanted(s, head, SURPLUS, memory)
    shadow_s, extra, extra_w = reserve(s, width(s, head, want), increase_w(s, head, want), n, free, watts)
    s.reserved_s[head] = min(s.reserved_s[head], shadow_s)
    before_s = shadow_s - s.now[0]
    this_pass = float(s.counter[N_PASSES])
    passed = memory[PASSED * s.app.shape[0] : COLUMNS * s.app.shape[0]]
    first = i
    while free > 0:
        chosen = -1
        chosen_row = WAIT
        chosen_at = first
        for k in range(first, s.q_tail[0]):
            j = s.queue[k]
            # what is left only shrinks: who had to wait in this pass is not asked again
            if j < 0 or passed[j] == this_pass:
                continue
            row = passing(s, j, threshold, free, watts, before_s, extra, extra_w, memory)
            if row == WAIT:
                passed[j] = this_pass
                continue
            if chosen < 0 or increase_w(s, j, row) > increase_w(s, chosen, chosen_row):
                chosen, chosen_row, chosen_at = j, row, k
            if best_fit == 0.0:
                break
        if chosen < 0:
            break
        if lasts_s(s, chosen, chosen_row) > before_s:
            extra -= width(s, chosen, chosen_row)
            extra_w -= increase_w(s, chosen, chosen_row)
        free -= width(s, chosen, chosen_row)
        watts -= increase_w(s, chosen, chosen_row)
        n = put(s, n, chosen, chosen_row, BACKFILL)
        passed[chosen] = this_pass
        if best_fit == 0.0:
            first = chosen_at + 1
    return n


@mechanism(
    "select",
    "surplus",
    sorted_running=True,
    one_class=True,
    shapes=True,
    params={
        "slower": Param(0.0, "part by which a job may take longer than was asked for, for the good of all who wait", 0),
        "best_fit": Param(1.0, BEST_FIT.meaning, 0, 1, whole=True),
    },
    memory=MEMORY,
    source="Wattline",
)
def surplus(s: State, mask: int, param: Any, memory: Any) -> int:
    """Start each job in the configuration that costs all who wait the least time, as far as it tolerates that."""
    return plan(s, param[0], param[1], memory)
