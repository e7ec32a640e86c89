"""The chores of every run, compiled apart from the hot loop.

The loop calls them as it calls a policy; inlining them would multiply the time to compile it. ``chores`` does these and
all the rarer ones, takes twice as long to compile, and is used by runs that need it.
"""

from __future__ import annotations

from typing import Any

from wattline.control.every_run import do_daily
from wattline.kernel.compiled import seldom
from wattline.model.state.record import POLICY, State


@seldom(POLICY)
def daily(s: State, what: int, param: Any, memory: Any) -> int:
    """Do one chore; what it returns depends on which."""
    return do_daily(s, what)
