"""One control pass as a kernel, which the simulator inlines in its loop and ``step`` offers by itself.

A pass runs in a fixed order: order → select → guard and start → cap → guard and apply. The actions of the pass, taken
and refused, are rows ``a_from … a_n - 1`` of the decision log in the state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from wattline.control import commit, guard
from wattline.control.codes import CAPS, EXPECT, RECLAIM, RESORT, SHEDDING, STOPS, TIDY
from wattline.control.logs import record
from wattline.kernel.compiled import kernel, outlined
from wattline.kernel.slots import SlotType
from wattline.model import codes
from wattline.model.state.record import POLICY, State
from wattline.model.state.switches import (
    N_PASSES,
    OPT_BELIEF,
    OPT_DECISIONS,
    OPT_EXCEED,
    OPT_RECLAIM,
    OPT_SHED,
    OPT_SORTED,
)
from wattline.model.structures.many_running import first_end_s
from wattline.physics import power, varied

SLOT = SlotType(POLICY)
BANK = types.UniTuple(types.float64[::1], len(codes.SLOT_NAMES))
WAKE = types.int64[::1]


@kernel
def start_proposed(s: State, n: int, place: Any, param: Any, memory: Any) -> None:
    """Judge the proposed starts in order, place and start those that pass."""
    for i in range(min(n, s.p_job.shape[0])):
        j = s.p_job[i]
        cap_w = s.p_cap_w[i]
        shape = s.p_shape[i]
        verdict = guard.judge_start(s, j, s.p_nodes[i], cap_w, s.p_why[i], shape)
        if verdict == codes.OK or verdict == codes.EXCEEDS:
            if shape >= 0:
                commit.take_shape(s, j, shape)
            slept = guard.take(s, j, place(s, j, param[codes.PLACE], memory[codes.PLACE]))
            if slept < 0:
                verdict = codes.BAD_PLACE
                if shape >= 0:
                    commit.drop_shape(s, j)
            else:
                if shape >= 0 and s.node_factor.shape[0] > 0:
                    varied.settle(s, j, shape)
                wanted_w = cap_w
                cap_w = guard.clip_cap(s, j, wanted_w)
                if cap_w != wanted_w and verdict == codes.OK:
                    verdict = codes.CLIPPED
                commit.start(s, j, cap_w, slept)
                if s.option[OPT_BELIEF] == 1:
                    power.count_started(s, j)
        record(s, codes.ACT_START, j, s.p_nodes[i], cap_w, s.p_why[i], verdict)
        s.p_cap_w[i] = np.inf  # reset, so that a cap never leaks into the next proposal
        s.p_shape[i] = -1


@outlined
def break_deadlock(s: State) -> int:
    """Propose the first waiting job whose nodes are free, where nothing runs, nothing was proposed and it exceeds
    the limit.

    One that would fit is left alone: select knows why it does not start it.
    """
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.nodes[j] <= s.free[s.pool[j]]:
            if power.start_increase_w(s, j, np.inf) <= power.headroom_w(s):
                return 0
            s.p_job[0] = j
            s.p_nodes[0] = s.nodes[j]
            s.p_cap_w[0] = np.inf
            s.p_why[0] = codes.DEADLOCK
            return 1
    return 0


@kernel
def open_pass(s: State, wake: Any, order: Any, chores: Any, param: Any, memory: Any) -> tuple[int, bool]:
    """Begin a pass for everything that happened since the last one, up to the question whom to start.

    Return what had happened, and whether that question is to be asked.
    """
    mask = s.happened[0]
    s.happened[0] = 0
    s.counter[N_PASSES] += 1
    if s.option[OPT_DECISIONS] == 0:
        s.a_n[0] = 0
    s.a_from[0] = s.a_n[0]
    if s.option[OPT_SHED] == 1 and s.limit_w[0] < np.inf:
        chores(s, SHEDDING, param[0], memory[0])
    if s.option[OPT_BELIEF] == 1:
        power.refresh_belief(s)
    if s.option[OPT_RECLAIM] == 1:
        chores(s, EXPECT, param[0], memory[0])  # caps rise by what jobs have left, also while none waits
        if s.q_len[0] > 0 or mask & codes.ENVELOPE:
            chores(s, RECLAIM, param[0], memory[0])
    # a select policy that asks for ticks or timers also rules over jobs that run or pause while none waits
    if s.q_len[0] == 0 and not wake[codes.SELECT] & mask & (codes.TICK | codes.TIMER):
        return mask, False
    if wake[codes.ORDER] & mask:
        s.untidy[0] = 1
        if order(s, mask, param[codes.ORDER], memory[codes.ORDER]) != 0:
            chores(s, RESORT, param[0], memory[0])
    if s.untidy[0] == 1 or (s.option[OPT_SORTED] == 1 and s.n_running[0] > 0 and first_end_s(s) < s.now[0]):
        chores(s, TIDY, param[0], memory[0])
    if not wake[codes.SELECT] & mask:
        return mask, False
    s.n_stop[0] = 0
    s.n_resume[0] = 0
    return mask, True


@kernel
def carry_out(s: State, proposed: int, place: Any, chores: Any, param: Any, memory: Any) -> None:
    """Let what select proposed in this pass happen, as far as the guard allows it."""
    n = proposed
    s.q_new[0] = s.q_tail[0]
    if s.n_stop[0] + s.n_resume[0] > 0:
        chores(s, STOPS, param[0], memory[0])
    if n == 0 and s.option[OPT_EXCEED] == 1 and s.n_running[0] == 0 and s.q_len[0] > 0:
        n = break_deadlock(s)
    start_proposed(s, n, place, param, memory)


@kernel
def control_pass(
    s: State, wake: Any, order: Any, select: Any, place: Any, cap: Any, chores: Any, param: Any, memory: Any
) -> None:
    """Carry out one pass for everything that happened since the last one."""
    mask, asked = open_pass(s, wake, order, chores, param, memory)
    if asked:
        n = select(s, mask, param[codes.SELECT], memory[codes.SELECT])
        carry_out(s, n, place, chores, param, memory)
    if wake[codes.CAP] & mask and cap(s, mask, param[codes.CAP], memory[codes.CAP]) != 0:
        chores(s, CAPS, param[0], memory[0])
