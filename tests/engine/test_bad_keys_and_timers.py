"""Keys and timers that are no numbers, and timers that let no time pass, are errors that name the policy."""

from __future__ import annotations

import numpy as np
import pytest

from engine.worlds import cluster, run, table
from wattline.errors import PolicyError, RunError, StuckError
from wattline.model import codes
from wattline.model.mechanism import Mechanism, policy
from wattline.policies.helpers import propose


@policy("order")
def no_order(s, arg, param, memory):
    """Give the newcomers the key NaN, from five seconds on."""
    for i in range(s.q_new[0], s.q_tail[0]):
        if s.queue[i] >= 0 and s.now[0] >= 5:
            s.key[s.queue[i]] = np.nan
    return 0


@policy("order", compiled=True)
def no_order_of_all(s, arg, param, memory):
    """Give all who wait the key NaN and have them sorted again."""
    for i in range(s.q_head[0], s.q_tail[0]):
        if s.queue[i] >= 0:
            s.key[s.queue[i]] = np.nan
    return 1


@pytest.mark.parametrize("order", [no_order, no_order_of_all], ids=lambda m: m.name)
def test_a_key_that_is_not_a_number_is_named(order: Mechanism) -> None:
    """An order policy that writes NaN keys would leave the line in no order at all: it is named, with the job."""
    rows = [{"submit": t, "work": 10, "nodes": 1} for t in (5, 5, 6)]
    with pytest.raises(
        PolicyError, match=rf"test_bad_keys_and_timers\.py:\d+: policy '{order.name}' gave job [12] the key NaN"
    ):
        run(table(*rows), cluster(1), order=order)


@policy("cap", wake="arrival timer", compiled=True)
def never_wakes(s, arg, param, memory):
    """Set the timer to NaN."""
    s.wake_at_s[codes.CAP] = np.nan
    return 0


@policy("cap", wake="arrival timer", compiled=True)
def restless(s, arg, param, memory):
    """Set the timer to the next number after now, for ever."""
    s.wake_at_s[codes.CAP] = np.nextafter(s.now[0], np.inf)
    return 0


@policy("cap", wake="arrival timer", compiled=True)
def hurried(s, arg, param, memory):
    """Set the timer ten microseconds ahead, for ever."""
    s.wake_at_s[codes.CAP] = s.now[0] + 1e-5
    return 0


@policy("select", wake="arrival timer")
def far_ahead(s, arg, param, memory):
    """Start the first job at a time in which no second counts."""
    if s.now[0] < 1e20:
        s.wake_at_s[codes.SELECT] = 1e20
        return 0
    return propose(s, 0, s.queue[s.q_head[0]])


def test_a_clock_beyond_all_seconds_is_an_error() -> None:
    """A timer so far ahead that jobs would take no time there ends the run with a line instead of wrong numbers."""
    with pytest.raises(RunError, match=r"the clock of the run went to 1e\+20 s"):
        run(table({"submit": 3, "work": 10, "nodes": 1}), cluster(1), select=far_ahead)


def test_a_timer_that_is_not_a_number_is_named() -> None:
    """A timer of NaN never goes off; it is an error that names file, line and policy."""
    with pytest.raises(
        PolicyError, match=r"test_bad_keys_and_timers\.py:\d+: policy 'never_wakes' set its timer to NaN"
    ):
        run(table({"submit": 3, "work": 10, "nodes": 1}), cluster(1), cap=never_wakes)


@pytest.mark.parametrize("submit_s", [3.0, 2e9])
def test_a_clock_that_stands_still_is_an_error(submit_s: float) -> None:
    """A policy that sets its timer a rounding error ahead, again and again, lets no time pass: the run stops and names
    it.
    """
    for hasty in (restless, hurried):
        with pytest.raises(StuckError, match=rf"policy '{hasty.name}' set its timer .*the clock stood still"):
            run(table({"submit": submit_s, "work": 10, "nodes": 1}), cluster(1), cap=hasty)
