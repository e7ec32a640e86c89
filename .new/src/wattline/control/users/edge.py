"""The edge between the engine and policies of users: a call is noted, and what the policy did is judged before
anybody uses it.

Built-in policies are called without it. A plain-Python policy is reached through the bridge, a compiled one by the
address that was noted for its slot. Who is being called stands in the state's spare words: that is how an error, or
a policy that does not come back, gets its name.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np

from wattline.control.users.bridge import call, slot_of
from wattline.control.users.faults import (
    ANSWER,
    ESTIMATE,
    EXTENTS,
    LEVEL,
    MARGIN,
    PROFILE,
    REASON,
    RECAPS,
    RESUMES,
    SPREAD,
    STARTS,
    STOPS,
    TIMER,
)
from wattline.kernel.compiled import JIT, entry, kernel, outlined, plugin
from wattline.kernel.slots import direct
from wattline.model import codes
from wattline.model.state.record import POLICY, State
from wattline.model.state.spare import CALLS, FAULT, WHAT, WHO, get_word, set_word, user_code
from wattline.model.structures.many_running import listed

OUT_OF_RANGE = "a policy wrote what nobody can use"


@kernel
def refuse(s: State, slot: int, fault: int, what: int) -> None:
    """Note what was wrong and leave the loop."""
    set_word(s, FAULT, fault)
    set_word(s, WHAT, what)
    set_word(s, WHO, slot + 1)
    raise ValueError(OUT_OF_RANGE)


@kernel
def _judge_select(s: State, slot: int, got: int) -> None:
    """Proposals, stops and resumptions must be within their room, and reasons be those of a policy."""
    if got < 0 or got > s.p_job.shape[0]:
        refuse(s, slot, STARTS, got)
    if s.n_stop[0] < 0 or s.n_stop[0] > s.stop_job.shape[0]:
        refuse(s, slot, STOPS, s.n_stop[0])
    if s.n_resume[0] < 0 or s.n_resume[0] > s.resume_job.shape[0]:
        refuse(s, slot, RESUMES, s.n_resume[0])
    for i in range(got):
        if s.p_why[i] < 0 or s.p_why[i] >= codes.DEADLOCK:  # that one and those beyond it are the guard's
            refuse(s, slot, REASON, s.p_why[i])


@kernel
def _judge_profile(s: State, slot: int, j: int) -> None:
    """Powers that are believed must be numbers; levels must be among those that there are."""
    if not 0.0 <= s.profile_w[j] < np.inf:
        refuse(s, slot, PROFILE, j)
    if not 0.0 <= s.spread_w[j] < np.inf:
        refuse(s, slot, SPREAD, j)
    if s.profile_from[j] < 0 or s.profile_from[j] > s.profile.shape[1] + 1:
        refuse(s, slot, LEVEL, j)


@outlined
def judge(s: State, slot: int, arg: int, got: int) -> None:
    """Refuse what a policy of a slot wrote or returned where the engine could not go on with it.

    The guard judges the rest.
    """
    if slot == codes.ORDER:
        if got < 0 or got > 1:
            refuse(s, slot, ANSWER, got)
    elif slot == codes.SELECT:
        _judge_select(s, slot, got)
    elif slot == codes.PLACE:
        if got < 0 or got > s.place_a.shape[0]:
            refuse(s, slot, EXTENTS, got)
    elif slot == codes.CAP:
        if got < 0 or got > 1:
            refuse(s, slot, ANSWER, got)
        if s.n_recap[0] < 0 or s.n_recap[0] > s.recap_job.shape[0]:
            refuse(s, slot, RECAPS, s.n_recap[0])
    elif slot == codes.LEARN:
        if got != 0:
            refuse(s, slot, ANSWER, got)
        if arg >= 0 and not 0.0 <= s.estimate_s[arg] < np.inf:
            refuse(s, slot, ESTIMATE, arg)
    elif slot == codes.PROFILE:
        if got != 0:
            refuse(s, slot, ANSWER, got)
        if not 0.0 <= s.margin[0] < np.inf:
            refuse(s, slot, MARGIN, 0)
        if 0 <= arg < s.profile_w.shape[0]:
            _judge_profile(s, slot, arg)
        elif arg >= 0:
            for i in range(listed(s)):
                _judge_profile(s, slot, s.running[i])


@kernel
def _timers(s: State) -> tuple[float, float, float, float, float, float]:
    wake = s.wake_at_s
    return wake[0], wake[1], wake[2], wake[3], wake[4], wake[5]


@kernel
def _judge_timers(s: State, slot: int, before: tuple[float, float, float, float, float, float]) -> None:
    """Refuse a call that moved the timer of another slot."""
    for i in range(len(before)):
        if i != slot and s.wake_at_s[i] != before[i]:
            refuse(s, slot, TIMER, i)


def _python(s: Any, arg: int, param: Any, memory: Any) -> int:  # the one policy signature
    handle = param[param.shape[0] - 1]
    slot = int(slot_of(handle))
    set_word(s, CALLS, get_word(s, CALLS) + 1)
    set_word(s, WHO, slot + 1)
    listed(s)
    with numba.objmode(got="int64"):
        got = call(handle, arg)
    judge(s, slot, arg, got)
    set_word(s, WHO, 0)
    return got


def _without_jit(s: Any, arg: int, param: Any, memory: Any) -> int:
    slot = slot_of(param[-1])
    set_word(s, CALLS, get_word(s, CALLS) + 1)
    set_word(s, WHO, slot + 1)
    listed(s)
    got = call(param[-1], arg)
    judge(s, slot, arg, got)
    set_word(s, WHO, 0)
    return got


def _compiled(slot: int) -> Any:
    def edge(s: Any, arg: int, param: Any, memory: Any) -> int:
        set_word(s, CALLS, get_word(s, CALLS) + 1)
        set_word(s, WHO, slot + 1)
        listed(s)
        timers = _timers(s)
        got = user_code(s, slot)(s, arg, param, memory)
        judge(s, slot, arg, got)
        _judge_timers(s, slot, timers)
        set_word(s, WHO, 0)
        return got

    return edge


@functools.cache
def edge(slot: int, *, compiled: bool) -> Any:
    """Return the function by which the loop calls a user's policy of a slot, compiled or loaded from the cache."""
    if not JIT:
        return _without_jit
    if not compiled:
        return direct(plugin(_python, POLICY, cache=True), POLICY)
    return direct(entry(POLICY)(_compiled(slot)), POLICY)
