"""Watching a policy at work: every single call is looked at before and after, without changing what it does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from wattline.control.bidding import judge
from wattline.control.users.compile import callable_from_python
from wattline.model.codes import LOOP_SLOTS, OK, SLOT_NAMES
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import FIELDS, WRITES, State
from wattline.testing.plain import plain
from wattline.testing.report import CheckError

Call = Callable[[State, int, Any, Any], int]
LOG_ROWS = 64
"""Rows of a log that are looked at: tiny worlds fill no more, and logs are long."""


def wrapped(mechanism: Mechanism, around: Callable[[Call], Call]) -> Mechanism:
    """Return the mechanism with its calls going through Python code around them."""
    inner: Call = callable_from_python(mechanism) if _is_compiled(mechanism) else mechanism.function
    outer = around(inner)

    @functools.wraps(inspect.unwrap(mechanism.function))  # errors then name the user's own line
    def watched(s: State, arg: int, param: Any, memory: Any) -> int:
        return outer(s, arg, param.copy(), memory)  # compiled code takes no read-only arrays

    return replace(mechanism, function=watched, compiled=False, builtin=False)


def in_plain_python(mechanism: Mechanism, *, indices: bool = False) -> Mechanism:
    """Return the mechanism run as plain Python; ``indices`` refuses negative and too large ones."""
    function = plain(mechanism.function)

    @functools.wraps(inspect.unwrap(mechanism.function))
    def call(s: State, arg: int, param: Any, memory: Any) -> int:
        return int(function(_strict(s) if indices else s, arg, param, memory))

    return replace(mechanism, function=call if indices else function, compiled=False, builtin=False)


def _is_compiled(mechanism: Mechanism) -> bool:
    return mechanism.builtin or mechanism.compiled


# ------------------------------------------------------------------ what is looked at around a call


def proposals_only(slot: str) -> Callable[[Call], Call]:
    """Refuse a call that changes a field which a policy of its slot may not write."""

    def around(inner: Call) -> Call:
        def call(s: State, arg: int, param: Any, memory: Any) -> int:
            before, given = _protected(s, slot), param.tobytes()
            got = inner(s, arg, param, memory)
            after = _protected(s, slot)
            for name, held in before.items():
                if after[name] != held:
                    raise CheckError(f"at {s.now[0]:g} s it wrote s.{name}, which a {slot} policy may not write")
            if param.tobytes() != given:
                raise CheckError(f"at {s.now[0]:g} s it wrote its parameters")
            return got

        return call

    return around


def legal(slot: str) -> Callable[[Call], Call]:
    """Refuse a call whose answer or proposals make no sense in its slot."""

    def around(inner: Call) -> Call:
        def call(s: State, arg: int, param: Any, memory: Any) -> int:
            got = int(inner(s, arg, param, memory))
            problem = _RULES[slot](s, arg, got)
            if problem:
                raise CheckError(f"at {s.now[0]:g} s {problem}")
            return got

        return call

    return around


def timers_ahead(slot: str) -> Callable[[Call], Call]:
    """Refuse a call that sets the slot's timer to a time that has passed (now repeats the instant, which is
    allowed).
    """
    at = SLOT_NAMES.index(slot)
    if at >= LOOP_SLOTS:
        return lambda inner: inner  # who is called outside the loop has no timer

    def around(inner: Call) -> Call:
        def call(s: State, arg: int, param: Any, memory: Any) -> int:
            got = inner(s, arg, param, memory)
            if not s.wake_at_s[at] >= s.now[0]:
                raise CheckError(f"at {s.now[0]:g} s it set its timer to {s.wake_at_s[at]:g} s")
            return got

        return call

    return around


def _protected(s: State, slot: str) -> dict[str, bytes]:
    out = {}
    for name, (_, field) in FIELDS.items():
        if name not in WRITES[slot]:
            array = getattr(s, name)
            rows = array[:LOG_ROWS] if field.shape.startswith("D") else array
            out[name] = rows.tobytes()  # the worlds of checks are small
    return out


def _rule_order(s: State, _arg: int, _got: int) -> str:
    waiting = s.queue[s.q_head[0] : s.q_tail[0]]
    keys = s.key[waiting[waiting >= 0]]
    return "" if not np.isnan(keys).any() else "it gave a waiting job the key NaN"


def _rule_select(s: State, _arg: int, got: int) -> str:
    if not 0 <= got <= s.p_job.size:
        return f"it returned {got} proposals; there is room for 0 … {s.p_job.size}"
    if not 0 <= s.n_stop[0] <= s.stop_job.size:
        return f"it put {s.n_stop[0]} jobs on the stop list; there is room for 0 … {s.stop_job.size}"
    asked = s.p_job[:got]
    return "" if len(set(asked.tolist())) == got else "it proposed the same job twice"


def _rule_place(s: State, arg: int, got: int) -> str:
    if not 1 <= got <= s.place_a.size:
        return f"it returned {got} extents; there is room for 1 … {s.place_a.size}"
    count = int((s.place_b[:got] - s.place_a[:got]).sum())
    return "" if count == s.nodes[arg] else f"it placed a job of {s.nodes[arg]} nodes on {count}"


def _rule_cap(s: State, _arg: int, _got: int) -> str:
    if np.isnan(s.want_cap_w).any():
        return "it wants a cap of NaN"
    return "" if 0 <= s.n_recap[0] <= s.recap_job.size else f"it wants to cap {s.n_recap[0]} jobs"


def _rule_learn(s: State, arg: int, _got: int) -> str:
    estimate = s.estimate_s[arg] if arg >= 0 else 0.0
    return "" if estimate >= 0 and np.isfinite(estimate) else f"it estimated a job at {estimate} s"


def _rule_profile(s: State, arg: int, _got: int) -> str:
    if not 0 <= arg < s.profile_w.size:
        return ""
    watts = s.profile_w[arg]
    return "" if 0 <= watts < np.inf else f"it told the power of a job as {watts:g} W a node"


def _rule_bid(s: State, _arg: int, got: int) -> str:
    if got == 0 or judge(s) == OK:
        return ""
    return f"it bids {s.want_mean_w[0]:g} W with a reserve of {s.want_reserve_w[0]:g} W, which the machine cannot keep"


_RULES: dict[str, Callable[[State, int, int], str]] = {
    "order": _rule_order,
    "select": _rule_select,
    "place": _rule_place,
    "cap": _rule_cap,
    "learn": _rule_learn,
    "profile": _rule_profile,
    "bid": _rule_bid,
}


# ------------------------------------------------------------------ indices


class _Strict(np.ndarray[Any, Any]):
    """A field that refuses negative indices: in a compiled policy they reach memory of somebody else."""

    label = "an array"

    def __getitem__(self, index: Any) -> Any:
        _refuse_negative(self, index)
        try:
            return super().__getitem__(index)
        except IndexError as problem:
            raise IndexError(f"{self.label}: {problem}") from None

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_negative(self, index)
        try:
            super().__setitem__(index, value)
        except (IndexError, ValueError) as problem:
            raise type(problem)(f"{self.label}: {problem}") from None


def _refuse_negative(array: Any, index: Any) -> None:
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, (int, np.integer)) and i < 0:
            raise IndexError(f"{array.label}[{i}]: it has {array.shape[0]} elements, and takes no negative index")


@functools.lru_cache(maxsize=4)
def _strict(s: State) -> State:
    fields = {name: array.view(_Strict) for name, array in s.arrays().items()}
    for name, field in fields.items():
        field.label = f"s.{name}"
    seen = State(**fields)
    seen.sizes = s.sizes
    return seen
