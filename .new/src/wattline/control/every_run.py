"""Chores of every run: envelope steps, timers and ticks, due times, a tidy queue; ``daily`` and ``chores`` do them.

They are no entry points: who imports this module compiles nothing.
"""

from __future__ import annotations

import numpy as np

from wattline.control import commit
from wattline.control.codes import DUE, RARE, RARE_BESIDE_ENDS, RESORT, SHORT_S, SOON_S, SOON_SHARE, STILL, TIDY
from wattline.control.logs import log_bid, log_event
from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import N_TIMER_REPEATS, OPT_SORTED
from wattline.model.structures import fitindex, queue, running
from wattline.model.structures.many_running import listed
from wattline.physics import clocks, power
from wattline.physics.instants import slack_s


@outlined
def pop_due(s: State) -> int:
    """Serve the first due job: a held one enters the queue.

    Return another, which is to be killed or to begin, or -1. A job that ends when its request does is not killed,
    though the two times, which are computed apart, may differ by their rounding: it stays until its end.
    """
    j = s.due_job[0]
    running.clear_due(s, j)
    if s.status[j] == codes.HELD:
        commit.enter_queue(s, j)
        s.happened[0] |= codes.ARRIVAL
        return -1
    if s.status[j] == codes.RUNNING:
        end_s = clocks.end_of(s, j)
        if s.now[0] < end_s <= s.now[0] + slack_s(s.now[0]):
            running.set_due(s, j, end_s)
            return -1
        log_event(s, codes.EV_KILL, j, s.nodes[j], s.request_s[j])
    return j


@kernel
def begin_period(s: State) -> None:
    """Note where the error and the signal stand while a bid of the bid policy begins to hold."""
    s.period_exceed_s[0] = s.exceed_s[0]
    s.period_signal[0] = max(0, s.signal_at[0] - 1)


begin_period_now = getattr(begin_period, "py_func", begin_period)
"""``begin_period`` as Python calls it, outside the compiled loop."""


@outlined
def step_regulation(s: State) -> int:
    """Bring bid and signal up to now; return what happened."""
    t = s.now[0]
    mask = 0
    begins = s.next_bid_s[0] <= t
    while s.bid_at[0] < s.bid_s.shape[0] and s.bid_s[s.bid_at[0]] <= t:
        s.mean_w[0] = s.bid_mean_w[s.bid_at[0]]
        s.reserve_w[0] = s.bid_reserve_w[s.bid_at[0]]
        s.bid_at[0] += 1
        mask = codes.ENVELOPE
        log_bid(s)
    if begins:
        s.mean_w[0] = s.next_mean_w[0]
        s.reserve_w[0] = s.next_reserve_w[0]
        s.next_bid_s[0] = np.inf
        mask = codes.ENVELOPE
        log_bid(s)
    while s.signal_at[0] < s.signal.shape[0] and s.signal_from_s[0] + s.signal_at[0] * s.signal_step_s[0] <= t:
        s.signal_at[0] += 1
        mask = codes.ENVELOPE
    if begins:
        begin_period(s)
    if mask != 0:
        s.target_w[0] = s.mean_w[0] + s.reserve_w[0] * s.signal[max(0, s.signal_at[0] - 1)]
    if s.bidding_s[0] <= t:
        mask |= codes.BIDDING  # who makes it sets when the next one is due
    return mask


@outlined
def sample_power(s: State) -> None:
    """Let the power of running jobs change to what their series say, and note their greatest samples."""
    s.sample_k[0] += 1
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] != codes.RUNNING:
            continue
        c = s.rate_class[j]
        if s.series_count[j] > 0:
            left = s.v_end[j] - clocks.virtual_now(s, c)
            clocks.redraw(s, j, power.series_value_w(s, j, s.work[j] - left))
        s.seen_w[j] = max(s.seen_w[j], s.now_w[j] * s.c_power[c])


@outlined
def step_envelope(s: State) -> int:
    """Apply the envelope steps, timers and the tick of an instant; return what happened."""
    t = s.now[0]
    mask = 0
    while s.env_at[0] < s.env_s.shape[0] and s.env_s[s.env_at[0]] <= t:
        s.limit_w[0] = s.env_w[s.env_at[0]]
        s.env_at[0] += 1
        mask |= codes.ENVELOPE
        log_event(s, codes.EV_LIMIT, -1, 0, s.limit_w[0])
    if s.signal.shape[0] > 0:
        mask |= step_regulation(s)
    for slot in range(s.wake_at_s.shape[0]):
        if s.wake_at_s[slot] <= t:
            s.wake_at_s[slot] = np.inf
            mask |= codes.TIMER
            still = t <= s.timer_last_s[0] + (SOON_S + SOON_SHARE * abs(t))
            again = still or t <= s.timer_last_s[0] + SHORT_S
            s.counter[N_TIMER_REPEATS] = s.counter[N_TIMER_REPEATS] + (STILL if still else 1) if again else 0
            s.timer_last_s[0] = t
            s.timer_slot[0] = slot
    if s.tick_s[0] < np.inf and s.start_s[0] + s.tick_k[0] * s.tick_s[0] <= t:
        s.tick_k[0] += 1
        mask |= codes.TICK
    if s.sample_s[0] < np.inf and s.start_s[0] + s.sample_k[0] * s.sample_s[0] <= t:
        sample_power(s)
        mask |= codes.SAMPLE
    set_schedule(s)
    return mask


@outlined
def scheduled_s(s: State) -> float:
    """Return the time of the next envelope step, bid, signal value, node change, tick, sample or late cap."""
    t = np.inf
    if s.tick_s[0] < np.inf:
        t = s.start_s[0] + s.tick_k[0] * s.tick_s[0]
    if s.sample_s[0] < np.inf:
        t = min(t, s.start_s[0] + s.sample_k[0] * s.sample_s[0])
    if s.env_at[0] < s.env_s.shape[0]:
        t = min(t, s.env_s[s.env_at[0]])
    if s.change_at[0] < s.change_s.shape[0]:
        t = min(t, s.change_s[s.change_at[0]])
    if s.bid_at[0] < s.bid_s.shape[0]:
        t = min(t, s.bid_s[s.bid_at[0]])
    t = min(t, s.next_bid_s[0])
    if s.bidding_s[0] > s.now[0]:
        t = min(t, s.bidding_s[0])
    if s.signal_at[0] < s.signal.shape[0]:
        t = min(t, s.signal_from_s[0] + s.signal_at[0] * s.signal_step_s[0])
    return min(t, s.land_s[0])


@outlined
def set_schedule(s: State) -> None:
    """Note when the next thing happens that is scheduled, or the machine's power deviates otherwise."""
    t = scheduled_s(s)
    if s.noise_share[0] > 0.0:
        t = min(t, s.start_s[0] + s.noise_k[0] * s.noise_every_s[0])
    s.schedule_s[0] = t


@outlined
def tidy(s: State) -> None:
    """Bring queue, backfill index and estimated ends in order before a pass."""
    s.untidy[0] = 0
    if queue.is_sparse(s):
        queue.compact(s)
    queue.settle_new(s)
    if s.option[OPT_SORTED] == 1:
        running.expect_anew(s)
        if s.ix_on[0] == 0 and s.q_len[0] >= fitindex.DEEP:
            fitindex.build(s)
        elif s.q_len[0] < fitindex.DEEP // 4:
            s.ix_on[0] = 0


@kernel
def do_daily(s: State, what: int) -> int:
    """Do a chore of every run."""
    if what in (RARE, RARE_BESIDE_ENDS):
        return step_envelope(s)
    if what == DUE:
        return pop_due(s)
    if what == TIDY:
        tidy(s)
    elif what == RESORT:
        queue.resort(s)
    return 0
