"""One control step: state in, actions out. No clock, no file, no socket; a real cluster calls this once a period.

The simulator runs the same pass inside its own loop. This entry point is a module of its own because importing it
compiles it (or loads it from the cache).
"""

from __future__ import annotations

from typing import Any

from numba import types

from wattline.control import rows
from wattline.control.cycle import BANK, SLOT, WAKE, control_pass
from wattline.control.logs import logs_full
from wattline.control.timeline import log_timeline
from wattline.kernel.compiled import entry
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_TIMELINE
from wattline.model.structures.many_running import listed


@entry(types.int64(State.record_type, WAKE, SLOT, SLOT, SLOT, SLOT, SLOT, BANK, BANK))
def step(
    s: State, wake: Any, order: Any, select: Any, place: Any, cap: Any, chores: Any, param: Any, memory: Any
) -> int:
    """Carry out one pass; return the number of actions, taken and refused.

    Room that ran out is returned as its code with a minus sign (``model.rooms.no_room`` says it in words): with full
    logs there is no pass. Rows that were freed before the pass are spare after it.
    """
    if logs_full(s):
        return -codes.NO_LOG
    control_pass(s, wake, order, select, place, cap, chores, param, memory)
    if s.option[OPT_TIMELINE] == 1:
        log_timeline(s)
    rows.end_quarantine(s)
    listed(s)
    return s.a_n[0] - s.a_from[0] if s.overflow[0] == 0 else -s.overflow[0]
