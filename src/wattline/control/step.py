"""One control step: state in, actions out. No clock, no file, no socket; a real cluster calls this once a period.

The simulator runs the same pass inside its own loop. This entry point is a module of its own because importing it
compiles it (or loads it from the cache).
"""

from __future__ import annotations

from typing import Any

from numba import types

from wattline.control.cycle import BANK, SLOT, WAKE, control_pass
from wattline.kernel.compiled import entry
from wattline.model.many_running import listed
from wattline.model.state.record import State


@entry(types.int64(State.record_type, WAKE, SLOT, SLOT, SLOT, SLOT, SLOT, BANK, BANK))
def step(
    s: State, wake: Any, order: Any, select: Any, place: Any, cap: Any, chores: Any, param: Any, memory: Any
) -> int:
    """Carry out one pass; return the number of actions, taken and refused."""
    control_pass(s, wake, order, select, place, cap, chores, param, memory)
    listed(s)
    return s.a_n[0] - s.a_from[0]
