"""The simulator's loop for deciders outside of it: it runs until a decision is due, returns, and is carried on with it.

One compiled call carries on many worlds, each to its next question: a call from Python costs more than what happens
between two questions. The pass of an instant is the one of every run, opened, asked about and carried out in turn; only
who answers differs. What a world must remember between two calls lies in the memory of the slot that is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from wattline.control.codes import CAPS, NEIGHBOURS
from wattline.control.cycle import SLOT, carry_out, open_pass
from wattline.control.logs import logs_full
from wattline.kernel.compiled import entry, kernel, outlined
from wattline.kernel.record import floats_at, record_at
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import N_EVENTS, N_STARTS
from wattline.model.structures.many_running import listed
from wattline.physics import power
from wattline.policies.looks import ALLOWED, BOUND_S, F, look
from wattline.policies.select.proposals import propose
from wattline.sim.instant import (
    AFTER_UNTIL,
    NOTHING_LEFT,
    PASS_DUE,
    STANDS_STILL,
    TIMER_PASSED,
    advance,
    again,
    next_rare_s,
    next_timer_s,
    pass_due,
    passed,
    standstill,
)
from wattline.sim.questions import (
    ABOVE_J,
    ABOVE_S,
    ENERGY_J,
    FORBIDDEN,
    MASK,
    MAY_REST,
    PHASE,
    PROPOSED,
    SLOWDOWNS,
    STARTED,
    SUMS,
    TRACKED,
    WAITS_S,
    WATCHED,
    WATCHES,
)

BETWEEN, AT_SELECT, TO_START, TO_CAP, AT_CAP, PASSED, SETTLE = range(7)
"""Where a world stands; it is left at the first, second or fifth of them."""


# ------------------------------------------------------------------ what rewards are made of


@kernel
def bounded(response_s: float, alone_s: float) -> float:
    """Return the bounded slowdown of a job that took so long and would have taken ``alone_s`` alone."""
    return max(1.0, response_s / max(alone_s, BOUND_S))


@outlined
def watch_starts(s: State, book: Any) -> None:
    """Count the waits of the jobs that started in this pass, as if they would run undisturbed, and watch them."""
    for i in range(s.a_from[0], s.a_n[0]):
        verdict = s.a_verdict[i]
        j = s.a_job[i]
        began = verdict == codes.OK or verdict == codes.CLIPPED or verdict == codes.EXCEEDS
        if s.a_kind[i] != codes.ACT_START or not began:
            continue
        if s.preemptions[j] + s.restarts[j] > 0:
            continue  # it has been watched since its first start
        at = WATCHES + 3 * int(book[WATCHED])
        book[WATCHED] += 1.0
        wait_s = s.now[0] - s.eligible_s[j]
        book[at] = j
        book[at + 1] = wait_s
        book[at + 2] = bounded(wait_s + s.work[j], s.work[j])
        book[WAITS_S] += book[at + 1]
        book[SLOWDOWNS] += book[at + 2]


@outlined
def watch_ends(s: State, book: Any) -> None:
    """Put right what was counted of jobs that have ended: caps, stops, kills and late starts change it."""
    i = 0
    while i < int(book[WATCHED]):
        at = WATCHES + 3 * i
        j = int(book[at])
        if s.end_s[j] != s.end_s[j]:
            i += 1
            continue
        alone_s = s.work[j]
        if s.status[j] == codes.KILLED:
            alone_s = min(alone_s, s.request_s[j])
        elif s.status[j] == codes.FAILED:
            alone_s = min(alone_s, s.ran_s[j])
        wait_s = s.started_s[j] - s.eligible_s[j]
        slowdown = bounded(s.end_s[j] - s.eligible_s[j], alone_s)
        if wait_s != book[at + 1]:
            book[WAITS_S] += wait_s - book[at + 1]
        if slowdown != book[at + 2]:
            book[SLOWDOWNS] += slowdown - book[at + 2]
        last = WATCHES + 3 * (int(book[WATCHED]) - 1)
        for x in range(3):
            book[at + x] = book[last + x]
        book[WATCHED] -= 1.0


@outlined
def count_left(s: State, book: Any) -> None:
    """Count the jobs that still wait when a run ends, by what they have waited."""
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.started_s[j] != s.started_s[j]:
            wait_s = s.now[0] - s.eligible_s[j]
            book[WAITS_S] += wait_s
            book[SLOWDOWNS] += bounded(wait_s + s.work[j], s.work[j])


@kernel
def count_power(book: Any, watts: float, limit_w: float, dt: float) -> None:
    """Count a stretch of time in which the machine drew so much under a limit."""
    book[ENERGY_J] += watts * dt
    if watts > limit_w * (1.0 + power.LIMIT_SLACK):
        book[ABOVE_S] += dt
        book[ABOVE_J] += (watts - limit_w) * dt


# ------------------------------------------------------------------ questions and answers


@outlined
def can_rest(s: State, n: int) -> bool:
    """Tell whether something else will happen if nobody more is started now."""
    if n > 0 or s.n_running[0] > 0 or s.n_arrived[0] < s.submit_s.shape[0] or s.n_due[0] > 0:
        return True
    return next_rare_s(s, next_timer_s(s)) < np.inf


@outlined
def ask_select(s: State, n: int, seen: Any, jobs: Any, book: Any) -> int:
    """Show the waiting jobs after n proposals; return how many of them may start."""
    listed(s)
    book[PROPOSED] = n
    book[MAY_REST] = 1.0 if can_rest(s, n) else 0.0
    return look(s, n, seen, jobs)


@kernel
def first_allowed(seen: Any) -> int:
    """Return the first shown job that may start; some may."""
    i = 0
    while seen[i * F + ALLOWED] != 1.0:
        i += 1
    return i


@kernel
def answered(s: State, choice: int, seen: Any, jobs: Any, book: Any) -> int:
    """Propose the job of an answer; return the number of proposals so far.

    A job that is not there or may not start counts as none. Where nothing else would ever happen, none counts as the
    first that may.
    """
    k = jobs.shape[0]
    n = int(book[PROPOSED])
    chosen = choice
    if choice != k and (choice < 0 or choice > k or jobs[choice] < 0 or seen[choice * F + ALLOWED] != 1.0):
        book[FORBIDDEN] += 1.0
        chosen = k
    if chosen == k and book[MAY_REST] == 0.0:
        book[FORBIDDEN] += 1.0 if choice == k else 0.0
        chosen = first_allowed(seen)
    return n if chosen == k else propose(s, n, jobs[chosen], codes.CHOSEN)


@outlined
def want_caps(s: State, ratio: float) -> None:
    """Want the caps of one ratio for all jobs: 1 is no cap, 0 the lowest that nodes and jobs can follow."""
    for c in range(s.want_cap_w.shape[0]):
        if s.c_draw_w[c] != s.c_draw_w[c]:
            continue
        lowest_w = max(s.min_cap_w[s.c_pool[c]], s.c_floor_w[c])
        s.want_cap_w[c] = np.inf
        if ratio < 1.0 and lowest_w < s.c_draw_w[c]:
            s.want_cap_w[c] = lowest_w + max(0.0, ratio) * (s.c_draw_w[c] - lowest_w)


# ------------------------------------------------------------------ one world


@kernel
def next_instant(
    s: State, until_s: float, wake: Any, learn: Any, profile: Any, chores: Any, param: Any, memory: Any, book: Any
) -> int:
    """Let the next instant happen and count the time before it; return why there is none, or a bid is due, or
    ``codes.BUDGET``.
    """
    if logs_full(s):
        return codes.LOG_FULL
    before_s, watts, limit_w = s.now[0], power.metered_w(s), s.limit_w[0]
    mask = advance(s, until_s, wake, learn, profile, chores, param, memory)
    if s.now[0] > before_s:
        count_power(book, watts, limit_w, s.now[0] - before_s)
    if book[WATCHED] > 0.0:
        watch_ends(s, book)
    if mask == NOTHING_LEFT:
        return standstill(s)
    if mask == AFTER_UNTIL:
        return codes.UNTIL
    if mask == TIMER_PASSED:
        return codes.BAD_TIMER
    s.counter[N_EVENTS] += 1
    s.happened[0] |= mask & ~codes.BIDDING
    if mask & codes.BIDDING:
        s.bid_open[0] = 1
        return codes.BID_DUE
    return codes.BUDGET


@kernel
def play_on(
    s: State,
    ask: int,
    wake: Any,
    order: Any,
    select: Any,
    place: Any,
    cap: Any,
    learn: Any,
    profile: Any,
    chores: Any,
    param: Any,
    memory: Any,
    until_s: float,
    most: int,
    choice: int,
    ratio: float,
    seen: Any,
    jobs: Any,
) -> int:
    """Carry a world on with an answer until the next question, or a reason to stop; return it (codes.STOP_NAMES).

    ``ask`` is the slot whose decisions are made outside; ``choice`` answers for select, ``ratio`` for cap, and a bid
    was made before the call.
    """
    book = memory[ask]
    phase = int(book[PHASE])
    mask, started = int(book[MASK]), int(book[STARTED])
    budget = most
    n = 0
    ticks = (wake[codes.SELECT] | wake[codes.CAP]) & codes.TICK
    if phase == AT_SELECT:
        n = answered(s, choice, seen, jobs, book)
        if n > int(book[PROPOSED]) and n < s.q_len[0] and ask_select(s, n, seen, jobs, book) > 0:
            return codes.ASKED  # who else, in the same pass
        phase = TO_START
    elif phase == AT_CAP:
        want_caps(s, ratio)
        chores(s, CAPS, param[0], memory[0])
        phase = PASSED
    passing = s.bid_open[0] == 1  # the bid asked for was made: the pass of its instant follows
    s.bid_open[0] = 0
    while True:
        if phase == BETWEEN:
            book[PHASE] = BETWEEN
            if not passing:
                if budget == 0:
                    return codes.BUDGET
                budget -= 1
                why = next_instant(s, until_s, wake, learn, profile, chores, param, memory, book)
                if why == codes.BID_DUE and ask == codes.BID:
                    ask_select(s, 0, seen, jobs, book)
                if why != codes.BUDGET:
                    return why
            passing = False
            due = pass_due(s, ticks)
            if due == STANDS_STILL:
                return standstill(s)
            phase = SETTLE
            if due == PASS_DUE:
                started = s.counter[N_STARTS]
                mask, asked = open_pass(s, wake, order, chores, param, memory)
                book[MASK], book[STARTED] = mask, started
                n = 0
                phase = TO_START if asked else TO_CAP
                if asked and ask == codes.SELECT:
                    if ask_select(s, 0, seen, jobs, book) > 0:
                        book[PHASE] = AT_SELECT
                        return codes.ASKED
                elif asked:
                    n = select(s, mask, param[codes.SELECT], memory[codes.SELECT])
        if phase == TO_START:
            first = s.a_n[0]
            carry_out(s, n, place, chores, param, memory)
            if s.a_n[0] > first:
                watch_starts(s, book)
            phase = TO_CAP
        if phase == TO_CAP:
            phase = PASSED
            if wake[codes.CAP] & mask:
                if ask == codes.CAP:
                    ask_select(s, 0, seen, jobs, book)
                    book[PHASE] = AT_CAP
                    return codes.ASKED
                if cap(s, mask, param[codes.CAP], memory[codes.CAP]) != 0:
                    chores(s, CAPS, param[0], memory[0])
        if phase == PASSED and passed(s, mask, started):
            book[PHASE] = BETWEEN
            return standstill(s)
        if s.n_dirty[0] == 1:  # rates count once time passes: settled once an instant
            chores(s, NEIGHBOURS, param[0], memory[0])
        phase = BETWEEN
        passing = again(s)


# ------------------------------------------------------------------ many worlds

_state_at = record_at(State)

INTS, FLOATS = types.int64[::1], types.float64[::1]
ROWS = types.int64[:, ::1]


@kernel
def bank_at(addresses: Any, sizes: Any) -> Any:
    """Return the arrays of the seven slots by their addresses."""
    return (
        floats_at(addresses[0], sizes[0]),
        floats_at(addresses[1], sizes[1]),
        floats_at(addresses[2], sizes[2]),
        floats_at(addresses[3], sizes[3]),
        floats_at(addresses[4], sizes[4]),
        floats_at(addresses[5], sizes[5]),
        floats_at(addresses[6], sizes[6]),
    )


@outlined
def finish(s: State, why: int, book: Any, sums: Any) -> None:
    """Count what is left at the end of a run, and show what rewards are made of."""
    if why == codes.DONE or why == codes.UNTIL or why == codes.STUCK:
        count_left(s, book)
    book[TRACKED] = s.exceed_s[0]
    for i in range(sums.shape[0]):
        sums[i] = book[SUMS + i]
    listed(s)  # whoever looks at the state now finds all running jobs in s.running


@entry(
    types.int64(
        types.int64,
        ROWS,
        ROWS,
        SLOT,
        SLOT,
        SLOT,
        SLOT,
        SLOT,
        SLOT,
        SLOT,
        ROWS,
        ROWS,
        ROWS,
        ROWS,
        FLOATS,
        types.int64,
        INTS,
        FLOATS,
        types.float32[:, ::1],
        ROWS,
        types.float64[:, ::1],
    )
)
def play(
    ask: int,
    worlds: Any,
    wake: Any,
    order: Any,
    select: Any,
    place: Any,
    cap: Any,
    learn: Any,
    profile: Any,
    chores: Any,
    param: Any,
    param_sizes: Any,
    memory: Any,
    memory_sizes: Any,
    until_s: Any,
    most: int,
    choice: Any,
    ratio: Any,
    seen: Any,
    jobs: Any,
    sums: Any,
) -> int:
    """Carry many worlds on, each with its answer to its next question; return how many are left that ran out of
    ``most`` instants.

    A row of ``worlds`` is the address of a state, whether to carry it on, and why it came back last.
    """
    left = 0
    for w in range(worlds.shape[0]):
        if worlds[w, 1] == 0:
            continue
        s = _state_at(worlds[w, 0])
        bank, kept = bank_at(param[w], param_sizes[w]), bank_at(memory[w], memory_sizes[w])
        why = play_on(
            s,
            ask,
            wake[w],
            order,
            select,
            place,
            cap,
            learn,
            profile,
            chores,
            bank,
            kept,
            until_s[w],
            most,
            choice[w],
            ratio[w],
            seen[w],
            jobs[w],
        )
        finish(s, why, kept[ask], sums[w])
        worlds[w, 2] = why
        left += 1 if why == codes.BUDGET else 0
    return left
