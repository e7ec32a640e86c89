"""Calls of users' policies from a thread that nobody waits for blindly: Ctrl-C is heard, and a policy that does not
come back is named.

The loop works in a thread of its own, with or without the interpreter; who called it looks at it twenty times a
second. Runs of built-in policies do not come here.
"""

from __future__ import annotations

import contextvars
import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from wattline.arrays import Ints
from wattline.control.users.complaints import where
from wattline.control.users.guard import GRACE_S, LONGEST_LOOK_S, guarded, limit_s, longer
from wattline.control.users.streams import own_streams
from wattline.errors import EndlessError
from wattline.kernel.compiler import compiles, nobody_compiles, waits_for_the_compiler
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import State
from wattline.model.state.spare import CALLS, WHO

LOOK_S = 0.05
TRIES = 20
"""How often ending a policy is tried that is at the compiler's door."""

Look = Callable[[], None]


class _StoppedError(BaseException):
    """Raised inside a plain-Python policy that did not come back."""

    ends_policies = True


left_behind: list[str] = []
"""What was said of policies that did not come back in this process: compiled ones go on until it ends."""


class _Worker:
    """A piece of work in a thread of its own."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.done = threading.Event()
        self.got: Any = None
        self.problem: BaseException | None = None
        context = contextvars.copy_context()  # what numpy does about overflows belongs to it
        self.thread = threading.Thread(target=self._run, args=(context, work), daemon=True)
        self.thread.start()

    def _run(self, context: contextvars.Context, work: Callable[[], Any]) -> None:
        try:
            self.got = context.run(work)
        except BaseException as problem:
            self.problem = problem
        finally:
            self.done.set()

    def stop(self) -> None:
        """End plain Python; compiled code cannot be ended, and goes on until the process ends.

        Nothing is raised in the compiler (a helper that a policy is the first to call is compiled): it calls back from
        C, where an exception is lost and the process with it. While its lock is held here nobody is in it; who waits
        for the lock is left alone and tried again, a number of times.
        """
        for _ in range(TRIES):
            with nobody_compiles():
                if self.done.is_set():
                    return
                self._raise(_StoppedError)
                if self.done.wait(GRACE_S) or not waits_for_the_compiler(self.thread.ident or 0):
                    return
                self._raise(None)
            self.done.wait(GRACE_S)  # it compiles now

    def _raise(self, what: type[BaseException] | None) -> None:
        """Raise something in the thread when it is next in Python, or nothing any more."""
        number = ctypes.c_ulong(self.thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, None if what is None else ctypes.py_object(what))

    def compiles(self) -> bool:
        """Tell whether the thread compiles a helper: that is none of the policy's time."""
        return compiles(self.thread.ident or 0)


def watched(work: Callable[[], Any], state: State, slots: Sequence[Mechanism], look: Look | None) -> Any:
    """Do work that calls policies of users, and return what it returns.

    ``look`` is called now and then and may raise KeyboardInterrupt, as Ctrl-C does. The work then has its time to
    come to an end of its own; only a policy that goes on and on is left behind. The interrupt is raised when the
    work is done, as ``Later``.
    """
    words, most_s = state.words, limit_s()

    def ends() -> list[str]:
        return [_endless(policy, most_s) for policy in slots]

    def stops() -> list[str]:
        return [_unheard(policy) for policy in slots]

    users = [policy for policy in slots if not policy.builtin]
    who = where(users[0]) if len(users) == 1 else "a policy"
    with own_streams(who), guarded(words[WHO : CALLS + 1], ends, stops, most_s) as beat:
        return _watched(_Worker(work), words, slots, look, beat, most_s)


def _watched(
    worker: _Worker, words: Ints, slots: Sequence[Mechanism], look: Look | None, beat: Callable[[], None], most_s: float
) -> Any:
    seen, stood, last = -1, 0.0, time.monotonic()
    asked: BaseException | None = None
    while not worker.done.is_set():
        beat()
        try:
            worker.done.wait(LOOK_S)
            if look is not None and asked is None and not worker.done.is_set():
                look()
        except KeyboardInterrupt as problem:
            asked, stood, most_s = problem, 0.0, GRACE_S
        now = time.monotonic()
        stood, last = stood + min(now - last, LONGEST_LOOK_S), now
        if int(words[CALLS]) != seen or words[WHO] == 0:
            seen, stood = int(words[CALLS]), 0.0
        elif stood > most_s and worker.compiles():
            stood = 0.0
        elif stood > most_s and not worker.done.is_set():
            _give_up(worker, slots[int(words[WHO]) - 1], asked, most_s)
    if worker.problem is not None:
        raise worker.problem
    if asked is not None:
        raise Later(worker.got, asked)
    return worker.got


class Later(Exception):  # noqa: N818  (no error: the work was done, and then somebody wanted to stop)
    """Work that was done while somebody asked to stop: what it returned, and the interrupt."""

    def __init__(self, got: Any, asked: BaseException) -> None:
        super().__init__("interrupted")
        self.got, self.asked = got, asked


def _give_up(worker: _Worker, policy: Mechanism, asked: BaseException | None, most_s: float) -> None:
    worker.stop()
    if asked is not None:
        left_behind.append(_unheard(policy))
        raise KeyboardInterrupt(left_behind[-1]) from None
    left_behind.append(_endless(policy, most_s))
    raise EndlessError(left_behind[-1])


def _endless(policy: Mechanism, most_s: float) -> str:
    return f"{where(policy)} did not come back within {most_s:g} s, an endless loop perhaps ({longer()})"


def _unheard(policy: Mechanism) -> str:
    return f"interrupted while {where(policy)} was at work, which did not come back"
