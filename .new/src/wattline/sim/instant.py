"""What happens in an instant of the simulator, and what follows its pass: parts of the loops that simulate.

They are no entry points: who imports this module compiles nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.control import rows
from wattline.control.codes import DUE, RARE, RARE_BESIDE_ENDS, STILL
from wattline.control.every_run import scheduled_s
from wattline.control.passing import pass_time
from wattline.control.timeline import log_timeline
from wattline.kernel.compiled import kernel, outlined
from wattline.kernel.fields import fetch
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import (
    N_FRUITLESS,
    N_STARTS,
    N_TIMER_REPEATS,
    OPT_QUANTUM,
    OPT_STOP_SHORT,
    OPT_TIES_EVENT,
    OPT_TIMELINE,
)
from wattline.physics import clocks, power

NOTHING_LEFT, AFTER_UNTIL, TIMER_PASSED = -1, -2, -3
MOST_TIMER_REPEATS = 1_000 * STILL
"""Timers that may fire in a row while the clock hardly moves (one set to *now* fires again at once), times what each
counts for, before the run stops.
"""

AHEAD = 8
"""Submissions ahead for which memory is asked for what is known of a job."""

FRUITLESS_TICKS = 100_000
"""Ticks with waiting jobs and nothing running after which a run counts as stuck."""


# ------------------------------------------------------------------ time


@kernel
def next_timer_s(s: State) -> float:
    """Return the earliest timer that a policy has set."""
    t = np.inf
    for slot in range(codes.LOOP_SLOTS):
        if s.wake_at_s[slot] < t:
            t = s.wake_at_s[slot]
    return t


@kernel
def is_rare_due(s: State, t: float) -> bool:
    """Tell whether an event that is neither an end nor an arrival is due by a time.

    Each is compared for itself: as a rule none is, and the loop need not wait for the earliest of all to be found.
    """
    for slot in range(codes.LOOP_SLOTS):
        if s.wake_at_s[slot] <= t:
            return True
    return s.next_sleep_s[0] <= t or s.schedule_s[0] <= t or (s.n_due[0] > 0 and s.due_s[0] <= t)


@kernel
def next_rare_s(s: State, timer_s: float) -> float:
    """Return the time of the next event that is neither an end nor an arrival."""
    t = min(s.next_sleep_s[0], s.schedule_s[0], timer_s)
    if s.n_due[0] > 0:
        t = min(t, s.due_s[0])
    return t


@outlined
def is_only_noise(s: State, timer_s: float) -> bool:
    """Tell whether nothing but deviations of power is left to happen, where no job will arrive or end."""
    return min(scheduled_s(s), s.next_sleep_s[0], timer_s) == np.inf and s.n_due[0] == 0


# ------------------------------------------------------------------ what happens in an instant


@kernel
def fetch_ahead(s: State, j: int) -> None:
    """Ask for the memory of a job that will be submitted soon."""
    fetch(s.submit_s, j + AHEAD)
    fetch(s.status, j + AHEAD)
    fetch(s.remaining, j + AHEAD)
    fetch(s.held, j + AHEAD)
    fetch(s.profile_w, j + AHEAD)


@kernel
def advance(s: State, until_s: float, wake: Any, learn: Any, profile: Any, chores: Any, param: Any, memory: Any) -> int:
    """Move to the next instant and let its events happen; return what happened as bits, or why there is none."""
    first = clocks.next_class(s)
    t_end = s.c_next_s[first]
    t_arrival = np.inf
    i = s.n_arrived[0]
    if i < s.submit_s.shape[0]:
        t_arrival = s.submit_s[i]
    t = t_arrival if t_arrival < t_end else t_end
    t_rare = np.inf
    if is_rare_due(s, t):
        t_timer = next_timer_s(s)
        if t_timer < s.now[0]:
            return TIMER_PASSED
        if t == np.inf and s.noise_share[0] > 0.0 and is_only_noise(s, t_timer):
            return NOTHING_LEFT
        t_rare = next_rare_s(s, t_timer)
        t = min(t, t_rare)
    if s.n_ended[0] == s.n_jobs[0]:
        if s.now[0] >= s.go_on_s[0]:
            return NOTHING_LEFT
        t = min(t, s.go_on_s[0])
    if t == np.inf:
        return NOTHING_LEFT
    if t > until_s:
        if s.option[OPT_STOP_SHORT] == 0:
            pass_time(s, until_s)
        return AFTER_UNTIL
    pass_time(s, t)
    t = s.now[0]  # an event computed a rounding error before now happens now
    single = s.option[OPT_TIES_EVENT] == 1
    mask = 0

    while t_end <= t or (s.n_due[0] > 0 and s.due_s[0] <= t and s.status[s.due_job[0]] != codes.HELD):
        status = codes.FINISHED
        if t_end <= t:
            j = s.heap_job[s.c_heap[first]]
        else:
            j = chores(s, DUE, param[0], memory[0])
            status = codes.KILLED
        if j >= 0:
            rows.end(s, j, status, wake, learn, profile, param, memory)
            mask |= codes.END
        if single:
            return mask
        first = clocks.next_class(s)
        t_end = s.c_next_s[first]
    if t_rare <= t:
        mask |= chores(s, RARE if mask == 0 else RARE_BESIDE_ENDS, param[0], memory[0])
        if s.counter[N_TIMER_REPEATS] > MOST_TIMER_REPEATS:
            return TIMER_PASSED
        if mask & codes.SAMPLE and wake[codes.PROFILE] & codes.SAMPLE:
            power.refresh_belief(s)  # what was believed until this sample
            profile(s, s.submit_s.shape[0], param[codes.PROFILE], memory[codes.PROFILE])
    while t_arrival <= t:
        s.n_arrived[0] = i + 1
        fetch_ahead(s, i)
        mask |= rows.arrive(s, i, wake, learn, profile, param, memory)
        if single and s.status[i] != codes.REJECTED:  # one that never comes is no event
            return mask
        i += 1
        t_arrival = s.submit_s[i] if i < s.submit_s.shape[0] else np.inf
    while s.n_due[0] > 0 and s.due_s[0] <= t:  # held jobs, also those released by an end of this very instant
        chores(s, DUE, param[0], memory[0])
        mask |= codes.ARRIVAL
        if single:
            return mask
    return mask


# ------------------------------------------------------------------ runs that stand still


@outlined
def standstill(s: State) -> int:
    """Return what a run is at which nothing more happens: done, or stuck with jobs that wait."""
    return codes.DONE if s.n_ended[0] == s.n_jobs[0] or only_fillers_wait(s) else codes.STUCK


@kernel
def only_fillers_wait(s: State) -> bool:
    """Tell whether nothing runs and none but standby jobs wait, or jobs that come after them, and there is no target
    that they could fill.
    """
    if (
        s.signal.shape[0] == 0
        or s.q_len[0] == 0
        or s.n_active[0] > 0
        or s.paused[0] > 0
        or s.target_w[0] == s.target_w[0]
    ):
        return False
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and (s.kind[j] >= s.k_standby.shape[0] or s.k_standby[s.kind[j]] == 0):  # kinds may not be declared
            return False
    return True


@kernel
def nothing_to_come(s: State) -> bool:
    """Tell whether a run that nobody ends has its last job and its last target behind it."""
    return (
        s.until_s[0] == np.inf
        and s.waking[0] == 0
        and s.n_due[0] == 0
        and s.n_arrived[0] == s.n_jobs[0]
        and s.now[0] >= s.go_on_s[0]
        and s.bid_at[0] == s.bid_s.shape[0]
        and min(s.bidding_s[0], s.next_bid_s[0]) == np.inf
    )


@outlined
def fruitless(s: State) -> bool:
    """Count ticks and timers that find waiting jobs and start none; tell when there were too many in a row, or when
    nobody waits who would ever be started.
    """
    if s.n_ended[0] == s.n_jobs[0]:
        return False  # the machine idles on
    if nothing_to_come(s) and only_fillers_wait(s):
        return True
    s.counter[N_FRUITLESS] = s.counter[N_FRUITLESS] + 1 if s.n_active[0] == 0 else 0
    return (
        s.counter[N_FRUITLESS] > FRUITLESS_TICKS
        and s.n_arrived[0] == s.n_jobs[0]
        and s.env_at[0] == s.env_s.shape[0]
        and s.bid_at[0] == s.bid_s.shape[0]
        and s.signal_at[0] == s.signal.shape[0]
        and s.change_at[0] == s.change_s.shape[0]
        and s.n_due[0] == 0
    )


# ------------------------------------------------------------------ passes

NO_PASS, PASS_DUE, STANDS_STILL = 0, 1, 2


@kernel
def pass_due(s: State, ticks: int) -> int:
    """Tell whether what happened calls for a pass now, for none, or for the end of the run; ``ticks`` is not 0 where
    a policy asks for ticks.
    """
    if s.option[OPT_QUANTUM] == 1 and s.happened[0] & codes.TICK == 0:
        if s.happened[0] != 0 and s.option[OPT_TIMELINE] == 1:
            log_timeline(s)  # the pass waits for the next tick, power does not
        return NO_PASS
    if s.option[OPT_QUANTUM] == 1 and s.happened[0] == codes.TICK and ticks == 0:
        s.happened[0] = 0  # nothing has happened since the last pass
        return STANDS_STILL if s.q_len[0] > 0 and fruitless(s) else NO_PASS
    return PASS_DUE if s.happened[0] != 0 else NO_PASS


@kernel
def again(s: State) -> bool:
    """Tell whether a pass has made room under the limit, and called for another in the same instant."""
    called = s.again_s[0] == s.now[0] and s.happened[0] & codes.ENVELOPE != 0
    return called and s.option[OPT_QUANTUM] == 0


@kernel
def passed(s: State, mask: int, started: int) -> bool:
    """Log the machine after a pass; tell whether passes have started nobody for too long.

    ``mask`` is what had happened, ``started`` the starts before the pass.
    """
    if s.option[OPT_TIMELINE] == 1:
        log_timeline(s)
    if s.counter[N_STARTS] != started:
        s.counter[N_FRUITLESS] = 0
        return False
    return mask & ~(codes.TICK | codes.TIMER | codes.SAMPLE) == 0 and fruitless(s)
