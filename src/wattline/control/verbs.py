"""What whoever drives the control pass tells a state of jobs: one gets a row, arrives, ends, leaves its row.

Between two calls of ``control.step`` these are all that happens to jobs. Each returns a code below 0 where there is no
room or no such job (``model.rooms.no_room`` says it in words), and has changed nothing then. Importing this module
compiles it.
"""

from __future__ import annotations

from typing import Any

from numba import types

from wattline.control import rows
from wattline.control.cycle import BANK, SLOT, WAKE
from wattline.kernel.compiled import seldom
from wattline.model import codes, queue
from wattline.model.state.record import State


@seldom(types.int64(State.record_type, types.float64[::1], BANK))
def enter(s: State, facts: Any, memory: Any) -> int:
    """Give a job a spare row and return the row; ``facts`` are those that ``control.rows.FACTS`` names."""
    return rows.enter(s, facts, memory)


@seldom(types.int64(State.record_type, types.int64, WAKE, SLOT, SLOT, BANK, BANK))
def arrive(s: State, j: int, wake: Any, learn: Any, profile: Any, param: Any, memory: Any) -> int:
    """Take a job in that has a row and was submitted by now; return 0."""
    if j < 0 or j >= s.status.shape[0] or s.status[j] != codes.FUTURE:
        return -codes.NO_SUCH
    if s.q_tail[0] >= s.queue.shape[0] - s.status.shape[0]:  # a pass may send every job back to the line
        queue.compact(s)
        s.untidy[0] = 1
    s.n_arrived[0] += 1
    s.happened[0] |= rows.arrive(s, j, wake, learn, profile, param, memory)
    return 0


@seldom(types.int64(State.record_type, types.int64, WAKE, SLOT, SLOT, BANK, BANK))
def end(s: State, j: int, wake: Any, learn: Any, profile: Any, param: Any, memory: Any) -> int:
    """Note that a job that holds nodes is done; return 0."""
    if j < 0 or j >= s.status.shape[0] or s.status[j] < codes.WAKING or s.status[j] > codes.PAUSED:
        return -codes.NO_SUCH
    rows.end(s, j, codes.FINISHED, wake, learn, profile, param, memory)
    s.happened[0] |= codes.END
    return 0


@seldom(types.int64(State.record_type, types.int64))
def free(s: State, j: int) -> int:
    """Take the row from a job that has ended; another may get it after the next pass. Return 0."""
    return rows.free(s, j)
