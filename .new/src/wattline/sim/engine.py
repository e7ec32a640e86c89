"""The simulator's loop: advance to the next instant, let control pass, log.

Within an instant, in this order: ends (and ends of waking, and kills), node changes, falling asleep, envelope steps,
timers and ticks, arrivals (then released jobs); then one control pass. Under ``ties = event`` the pass comes after
each single end or arrival instead.
"""

from __future__ import annotations

from typing import Any

from numba import types

from wattline.control.codes import NEIGHBOURS
from wattline.control.cycle import BANK, SLOT, WAKE, control_pass
from wattline.control.logs import logs_full
from wattline.kernel.compiled import entry, kernel
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import N_EVENTS, N_STARTS
from wattline.model.structures.many_running import listed
from wattline.sim.instant import (
    AFTER_UNTIL,
    NOTHING_LEFT,
    PASS_DUE,
    STANDS_STILL,
    TIMER_PASSED,
    advance,
    again,
    pass_due,
    passed,
    standstill,
)

ADVANCE_ONLY, PASS_ONLY = -1, -2
"""Values of ``max_events`` that run one half of an instant: what happens, or the pass."""


@kernel
def run_on(
    s: State,
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
    max_events: int,
) -> int:
    """Simulate until there is a reason to stop; return it."""
    budget = max_events
    passing = (
        max_events == PASS_ONLY or s.bid_open[0] == 1
    )  # the bid asked for was made: the pass of its instant follows
    s.bid_open[0] = 0
    ticks = (wake[codes.SELECT] | wake[codes.CAP]) & codes.TICK
    while True:
        if not passing:
            if budget == 0:
                return codes.BUDGET
            budget -= 1
            if logs_full(s):
                return codes.LOG_FULL
            mask = advance(s, until_s, wake, learn, profile, chores, param, memory)
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
            if max_events == ADVANCE_ONLY:
                return codes.BUDGET
        passing = False
        due = pass_due(s, ticks)
        if due == STANDS_STILL:
            return standstill(s)
        if due == PASS_DUE:
            mask = s.happened[0]
            started = s.counter[N_STARTS]
            control_pass(s, wake, order, select, place, cap, chores, param, memory)
            if passed(s, mask, started):
                return standstill(s)
        if s.n_dirty[0] == 1:  # rates count once time passes: settled once an instant
            chores(s, NEIGHBOURS, param[0], memory[0])
        if max_events == PASS_ONLY:
            return codes.BUDGET
        passing = again(s)


@entry(
    types.int64(
        State.record_type, WAKE, SLOT, SLOT, SLOT, SLOT, SLOT, SLOT, SLOT, BANK, BANK, types.float64, types.int64
    )
)
def run(
    s: State,
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
    max_events: int,
) -> int:
    """Simulate until nothing is left, ``until_s`` or ``max_events`` instants.

    Return why it stopped (codes.STOP_NAMES).
    """
    why = run_on(s, wake, order, select, place, cap, learn, profile, chores, param, memory, until_s, max_events)
    listed(s)  # whoever looks at the state now finds all running jobs in s.running
    return why
