"""What a real machine tells a state, many facts in one call: time passed, jobs came, started, ended, nodes went.

A fact is a line of numbers: a verb, a row (where it is about a job), and what else the verb says. They are applied in
the order of the lines, and each has a result: 0, the row of a job that entered, or the code of what is wrong with a
minus sign (``model.rooms.no_room`` says it in words). A fact that is wrong changes nothing; one that finds no room
stops the batch, so that the state can grow and the rest follow. Nothing here decides anything. Importing this module
compiles it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from wattline.control import commit, guard, rows
from wattline.control.cycle import BANK, SLOT, WAKE
from wattline.control.logs import log_bid, log_event, logs_full
from wattline.control.passing import pass_time
from wattline.control.timeline import log_timeline
from wattline.kernel.compiled import outlined, seldom
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_TIMELINE
from wattline.model.structures import queue, running
from wattline.model.structures.many_running import listed
from wattline.physics import clocks, power

(
    TIME,
    ENTER,
    ARRIVED,
    STARTED,
    REFUSED,
    ADOPT,
    END,
    CANCEL,
    REQUEUE,
    PAUSED,
    RESUMED,
    LET_GO,
    TAKE,
    DRAW,
    LEFT,
    DRAIN,
    BACK,
    LIMIT,
    TARGET,
    HAPPENED,
    FREE,
    SIGNAL,
    PERIODS,
) = range(23)
VERBS = (
    "time",  # now_s
    "enter",  # 1 if it has not arrived yet, control.rows.FACTS: a job gets a row and, if it has arrived, waits
    "arrived",  # row: a job that has a row waits
    "started",  # row, seconds ago: its processes are there
    "refused",  # row: it could not start, and waits again
    "adopt",  # row, first extent, extents, seconds it has run: a waiting job runs already, whoever started it
    "end",  # row, status (codes.FINISHED, KILLED, FAILED)
    "cancel",  # row: its user took it back, wherever it was
    "requeue",  # row: it lost its nodes and what it had done, and waits again
    "paused",  # row: somebody stopped it; it keeps its nodes
    "resumed",  # row: somebody let it go on
    "let-go",  # row: it turned out to hold other nodes; first all such jobs let go of theirs, then all take
    "take",  # row, first extent, extents
    "draw",  # row, watts of a node without caps, as measured
    "left",  # row, seconds of work left, as somebody knows better
    "drain",  # first node, one past the last: out of service, at once or when their jobs leave
    "back",  # first node, one past the last
    "limit",  # watts (inf: none)
    "target",  # mean, reserve, target in watts (NaN, 0, NaN: none)
    "happened",  # bits of what woke whom: a tick, a sample
    "free",  # row: nobody needs it any more
    "signal",  # its value, seconds since the one before in which power was too far from the target, as measured
    "periods",  # when the first period of bids began: the bid policy is asked for the one that holds now
)
WIDTH = 2 + len(rows.FACTS)
"""Numbers of a fact: verb, row or first number, and up to as many as are said of a new job."""


@outlined
def _whole(number: float) -> int:
    """Return a number as a whole one, -1 where it is none that could be meant."""
    return int(number) if -1e15 < number < 1e15 else -1


@outlined
def _is(s: State, j: int, first: int, last: int) -> bool:
    """Tell whether a row has a job of a status between two."""
    return 0 <= j < s.status.shape[0] and first <= s.status[j] <= last


@outlined
def _take(s: State, j: int, extents: Any, first: int, count: int) -> bool:
    """Let a job hold nodes; return False where they are not free or not as many as it has."""
    if first < 0 or count < 1 or first + count > extents.shape[0] or count > s.place_a.shape[0]:
        return False
    for i in range(count):
        a = extents[first + i, 0]
        b = extents[first + i, 1]
        p = s.pool[j]
        if a < s.pool_first[p] or b > s.pool_first[p] + s.pool_count[p] or b <= a:
            return False
        for k in range(i):
            if a < s.place_b[k] and s.place_a[k] < b:
                return False
        s.place_a[i] = a
        s.place_b[i] = b
    return guard.take(s, j, count) >= 0


@outlined
def _rejoin(s: State, j: int, left_s: float) -> None:
    """Let a running job have so much work left, at full speed; what was estimated beyond its work stays."""
    c = s.rate_class[j]
    running.leave(s, j)
    joules = clocks.leave(s, j)
    s.energy_j[j] += joules
    s.node_j[s.pool[j], 0] += joules
    s.remaining[j] = left_s
    clocks.join(s, j, c)
    s.estimated_end_s[j] = s.now[0] + (s.v_estimate[j] - clocks.virtual_now(s, c)) / s.c_rate[c]
    running.enter(s, j)
    s.est_dirty[0] = 1


@outlined
def _credit(s: State, j: int, ran_s: float) -> None:
    """Note that a running job has been there for some seconds already."""
    if ran_s > 0.0:
        _rejoin(s, j, max(0.0, s.remaining[j] - ran_s))
        s.started_s[j] = s.now[0] - ran_s
        s.resumed_s[j] = s.now[0] - ran_s


@outlined
def _adopt(s: State, j: int, extents: Any, first: int, count: int, ran_s: float) -> int:
    """Let a waiting job run on nodes that others gave it."""
    if not _is(s, j, codes.WAITING, codes.WAITING):
        return -codes.NO_SUCH
    if not _take(s, j, extents, first, count):
        return -codes.NO_SUCH
    commit.adopt(s, j)
    _credit(s, j, ran_s)
    return 0


@outlined
def _cancel(s: State, j: int, wake: Any, learn: Any, profile: Any, param: Any, memory: Any) -> int:
    if _is(s, j, codes.STARTING, codes.PAUSED):
        rows.end(s, j, codes.CANCELLED, wake, learn, profile, param, memory)
        return 0
    if _is(s, j, codes.WAITING, codes.WAITING):
        queue.remove(s, j)
    elif _is(s, j, codes.HELD, codes.HELD):
        running.clear_due(s, j)
    else:
        return -codes.NO_SUCH
    commit.close(s, j, codes.CANCELLED)
    return 0


@outlined
def _arrive(s: State, j: int, wake: Any, learn: Any, profile: Any, param: Any, memory: Any) -> int:
    """Take a job in that has a row; return the row."""
    if s.q_tail[0] >= s.queue.shape[0] - s.status.shape[0]:  # a pass may send every job back to the line
        queue.compact(s)
        s.untidy[0] = 1
    s.n_arrived[0] += 1
    s.happened[0] |= rows.arrive(s, j, wake, learn, profile, param, memory)
    return j


@outlined
def _enter(s: State, fact: Any, wake: Any, learn: Any, profile: Any, param: Any, memory: Any) -> int:
    """Give a job a row and take it in; return the row, or the code of what is missing with a minus sign."""
    j = rows.enter(s, fact[2:], memory)
    if j < 0 or fact[1] == 1.0:
        return j
    return _arrive(s, j, wake, learn, profile, param, memory)


@outlined
def _about_job(
    s: State, verb: int, j: int, fact: Any, extents: Any, wake: Any, learn: Any, profile: Any, param: Any, memory: Any
) -> int:
    """Apply a fact about a job that has a row; return its result."""
    if verb == STARTED and _is(s, j, codes.STARTING, codes.STARTING):
        commit.begin(s, j)
        _credit(s, j, fact[2])
        s.happened[0] |= codes.AWAKE
    elif verb == ARRIVED and _is(s, j, codes.FUTURE, codes.FUTURE):
        _arrive(s, j, wake, learn, profile, param, memory)
    elif verb == REFUSED and _is(s, j, codes.STARTING, codes.STARTING):
        commit.unstart(s, j)
        s.happened[0] |= codes.END
    elif verb == ADOPT:
        got = _adopt(s, j, extents, _whole(fact[2]), _whole(fact[3]), fact[4])
        s.happened[0] |= codes.ARRIVAL if got == 0 else 0
        return got
    elif verb == END and _is(s, j, codes.STARTING, codes.PAUSED) and codes.FINISHED <= fact[2] <= codes.FAILED:
        if fact[2] == codes.KILLED:
            log_event(s, codes.EV_KILL, j, s.nodes[j], s.request_s[j])
        elif fact[2] == codes.FAILED:
            log_event(s, codes.EV_FAIL, j, s.nodes[j], s.remaining[j])
        rows.end(s, j, _whole(fact[2]), wake, learn, profile, param, memory)
        s.happened[0] |= codes.END
    elif verb == CANCEL:
        got = _cancel(s, j, wake, learn, profile, param, memory)
        s.happened[0] |= codes.END if got == 0 else 0
        return got
    elif verb == REQUEUE and _is(s, j, codes.STARTING, codes.PAUSED):
        commit.send_back(s, j)
        s.happened[0] |= codes.END
    elif verb == PAUSED and _is(s, j, codes.RUNNING, codes.RUNNING):
        commit.pause(s, j)
        s.happened[0] |= codes.END
    elif verb == RESUMED and _is(s, j, codes.PAUSED, codes.PAUSED):
        commit.resume(s, j)
        s.happened[0] |= codes.ARRIVAL
    elif verb == LET_GO and _is(s, j, codes.STARTING, codes.PAUSED) and s.held[j] >= 0:
        commit.let_go(s, j)
    elif verb == TAKE and _is(s, j, codes.STARTING, codes.PAUSED) and s.held[j] < 0:
        if not _take(s, j, extents, _whole(fact[2]), _whole(fact[3])):
            return -codes.NO_SUCH
        s.busy[s.pool[j]] += s.nodes[j]
    elif verb == DRAW and _is(s, j, codes.RUNNING, codes.RUNNING) and 0.0 <= fact[2] < np.inf:
        clocks.redraw(s, j, fact[2])
    elif verb == LEFT and _is(s, j, codes.RUNNING, codes.RUNNING) and 0.0 <= fact[2] < np.inf:
        s.estimate_s[j] = s.work[j]  # nobody estimates what is known
        _rejoin(s, j, fact[2])
    elif verb == FREE:
        return rows.free(s, j)
    else:
        return -codes.NO_SUCH
    return 0


@outlined
def _differ(a: float, b: float) -> bool:
    """Tell whether two numbers differ; what is none is none."""
    return not (a == b or (a != a and b != b))


@outlined
def _note_samples(s: State, wake: Any, profile: Any, param: Any, memory: Any) -> None:
    """Note the greatest samples of running jobs, whose power was told before, and let the profile learner see them."""
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == codes.RUNNING:
            s.seen_w[j] = max(s.seen_w[j], s.now_w[j] * s.c_power[s.rate_class[j]])
    if wake[codes.PROFILE] & codes.SAMPLE:
        power.refresh_belief(s)
        profile(s, s.submit_s.shape[0], param[codes.PROFILE], memory[codes.PROFILE])


@outlined
def _about_machine(s: State, verb: int, fact: Any, wake: Any, profile: Any, param: Any, memory: Any) -> int:
    """Apply a fact about time, nodes or the envelope; return its result."""
    if verb == TIME:
        if not s.now[0] <= fact[1] < np.inf:
            return -codes.NO_SUCH
        if fact[1] > s.now[0] and s.happened[0] & (codes.END | codes.AWAKE) and s.option[OPT_TIMELINE] == 1:
            log_timeline(s)  # a job began or ended before the next pass
        pass_time(s, fact[1])
        for slot in range(s.wake_at_s.shape[0]):
            if s.wake_at_s[slot] <= s.now[0]:
                s.wake_at_s[slot] = np.inf
                s.happened[0] |= codes.TIMER
    elif DRAIN <= verb <= BACK:
        a = _whole(fact[1])
        b = _whole(fact[2])
        if a < 0 or b > s.node_state.shape[0] or b <= a:
            return -codes.NO_SUCH
        for node in range(a, b):  # a node is out for one reason only here: the world says what it is, not what changed
            if verb == DRAIN and s.node_outages[node] == 0:
                commit.drain_nodes(s, node, node + 1)
            elif verb == BACK and s.node_outages[node] > 0:
                commit.return_nodes(s, node, node + 1)
        log_event(s, codes.EV_DRAIN if verb == DRAIN else codes.EV_UP, -1, b - a, float(a))
        s.happened[0] |= codes.NODE
    elif verb == LIMIT:
        if not fact[1] >= 0.0:
            return -codes.NO_SUCH
        if s.limit_w[0] != fact[1]:
            s.limit_w[0] = fact[1]
            log_event(s, codes.EV_LIMIT, -1, 0, fact[1])
            s.happened[0] |= codes.ENVELOPE
    elif verb == TARGET:
        changed = _differ(s.mean_w[0], fact[1]) or _differ(s.reserve_w[0], fact[2])
        if changed or _differ(s.target_w[0], fact[3]):
            s.happened[0] |= codes.ENVELOPE
        s.mean_w[0] = fact[1]
        s.reserve_w[0] = fact[2]
        s.target_w[0] = fact[3]
        if changed:
            log_bid(s)
    elif verb == SIGNAL:
        if s.signal.shape[0] == 0 or not abs(fact[1]) < np.inf or not 0.0 <= fact[2] < np.inf:
            return -codes.NO_SUCH
        if s.signal_at[0] >= s.signal.shape[0]:
            s.signal_at[0] = 0
        s.signal[s.signal_at[0]] = fact[1]
        s.signal_at[0] += 1
        s.exceed_s[0] += fact[2]
    elif verb == PERIODS:
        if not fact[1] <= s.now[0] or not s.bidding_s[0] < np.inf:
            return -codes.NO_SUCH
        s.bid_first_s[0] = fact[1]
        s.bidding_k[0] = _whole((s.now[0] - fact[1]) // s.bid_every_s[0])
        s.bidding_s[0] = s.now[0]
    elif verb == HAPPENED:
        if not 0.0 <= fact[1] <= codes.EVERYTHING:
            return -codes.NO_SUCH
        s.happened[0] |= _whole(fact[1]) & codes.EVERYTHING
        if _whole(fact[1]) & codes.SAMPLE:
            _note_samples(s, wake, profile, param, memory)
    else:
        return -codes.NO_SUCH
    return 0


@seldom(
    types.int64(
        State.record_type,
        types.float64[:, ::1],
        types.int64[:, ::1],
        types.int64[::1],
        types.int64,
        WAKE,
        SLOT,
        SLOT,
        BANK,
        BANK,
    )
)
def take_facts(
    s: State,
    facts: Any,
    extents: Any,
    results: Any,
    begin: int,
    wake: Any,
    learn: Any,
    profile: Any,
    param: Any,
    memory: Any,
) -> int:
    """Apply facts from the ``begin``-th on; return how many are applied, fewer than there are where room ran out.

    Parameters
    ----------
    facts
        A line of ``WIDTH`` numbers each.
    extents
        First node and one past the last of the nodes that *adopt* and *take* name.
    results
        Room for the result of each.
    """
    for i in range(begin, facts.shape[0]):
        verb = _whole(facts[i, 0])
        if logs_full(s):
            results[i] = -codes.NO_LOG
            return i
        if verb == ENTER:
            results[i] = _enter(s, facts[i], wake, learn, profile, param, memory)
            if results[i] < 0 and results[i] != -codes.NO_SUCH:
                return i
        elif ARRIVED <= verb <= LEFT or verb == FREE:
            results[i] = _about_job(
                s, verb, _whole(facts[i, 1]), facts[i], extents, wake, learn, profile, param, memory
            )
        else:
            results[i] = _about_machine(s, verb, facts[i], wake, profile, param, memory)
    return facts.shape[0]
