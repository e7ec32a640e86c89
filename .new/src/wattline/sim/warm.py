"""Compile what a run needs and the cache has not: say so, use all cores, and show how far it is.

The loop, the rare transitions (chores) and every policy are entry points of their own, so processes can compile
them side by side; all write to the same cache. This process only hands out work and waits, since a compiler hears
no Ctrl-C.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, cast

from numba.core.registry import cpu_target

from wattline.control.catalog import find
from wattline.control.users.compile import callable_for, chores_needed, compiled_as
from wattline.kernel.cache import FAST, cache_is_shared, is_warm
from wattline.kernel.compiled import JIT, write_ahead
from wattline.kernel.sources import cache_root
from wattline.model.mechanism import Mechanism
from wattline.sim.early import WORKER, take, workers

WEIGHTS = {"sim.engine": 10, "control.chores": 7, "control.daily": 3}
"""How long the parts of the core take to compile, in units of a small policy."""

SELECT_WEIGHT = 4

AHEAD = {
    "sim.engine": ("control.commit:let_go", "control.guard:take", "control.commit:start"),
    "control.chores": ("control.commit:fail_nodes", "control.guard:set_job_caps"),
}
"""Helpers that a part of the core comes to late, in that order: another process translates them meanwhile, so that both
cores are busy to the end.
"""


def warm_up(
    policies: Sequence[Mechanism],
    say: Callable[[str], None],
    show: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    nodes_change: bool | None,
) -> None:
    """Compile what a run needs unless the cache has it.

    ``say`` is called once before, ``show`` whenever a part is done.

    ``nodes_change`` is None for many runs, some where nodes change and some where they do not.
    """
    if not JIT:
        return
    chores = {
        chores_needed(policies, nodes_change=change) for change in (nodes_change or False, nodes_change is not False)
    }
    wanted = [("sim.engine", "run"), *((f"control.{name}", name) for name in sorted(chores))]
    core = [part for part, name in wanted if not _has(part, name)]
    cold = {(f.__module__, f.__name__): m for m in policies if m.builtin and not _stands(f := compiled_as(m))}
    named = [f"{m.slot}={m.name}" for m in cold.values()]
    if not core and not named:
        return
    what = ["the core"] * bool(core) + [f"{len(named)} polic{'y' if len(named) == 1 else 'ies'}"] * bool(named)
    shared = cache_is_shared()
    kept = "kept: later runs with the same start at once" if shared else "not kept: there is no writable cache"
    say(f"compiling {' and '.join(what)} for this machine ({kept}) ...")
    if shared:
        ahead = [helper for part in core for helper in AHEAD.get(part, ())] if FAST else []
        in_processes([*core, *ahead, *named], show)
    for part in core:  # where something went wrong over there, it is compiled and said here
        importlib.import_module(f"wattline.{part}")


def _has(part: str, name: str) -> bool:
    return _is_warm(f"wattline.{part}", name)


def _stands(function: Callable[..., int]) -> bool:
    return _is_warm(function.__module__, function.__name__)


_warm: set[tuple[Path | None, str, str]] = set()
"""What was found in the cache before: this process has loaded it since, and does not look again for every run."""


def _is_warm(module: str, name: str) -> bool:
    known = cache_root(), module, name
    if known not in _warm and is_warm(module, name):
        _warm.add(known)
    return known in _warm


def make(part: str) -> None:
    """Compile one part: a module of the core, a helper of it as ``module:name``, or a built-in mechanism as
    ``slot=name``.
    """
    slot, is_policy, name = part.partition("=")
    module, is_helper, helper = part.partition(":")
    if is_policy:
        callable_for(find(slot, name))
    elif is_helper:
        write_ahead(getattr(importlib.import_module(f"wattline.{module}"), helper))
    else:
        importlib.import_module(f"wattline.{part}")


def skip_blas() -> None:
    """Load numba's compiler without scipy.linalg, which takes a third of a second and only ``np.cov`` in a policy
    would need.

    In a program of our own that is a fair trade; as a library we leave numba as it is.
    """
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    blocked: Any = None  # what Python takes for "cannot be imported"
    sys.modules["scipy.linalg"] = blocked
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]


def work() -> None:
    """Compile the parts that are read, line by line, and say of each when it is done (in a process of its own)."""
    gc.disable()  # nearly all that a compiler makes is needed to the end
    skip_blas()
    cpu_target.typing_context.refresh()  # compiling begins with it, half a second: there may be time to spare
    cpu_target.target_context.refresh()
    for line in sys.stdin:
        try:
            make(line.strip())
        finally:
            sys.stdout.write(line)
            sys.stdout.flush()


def _weight(part: str) -> int:
    return WEIGHTS.get(part, SELECT_WEIGHT if part.startswith("select=") else 1)


def in_processes(parts: Sequence[str], show: Callable[[int, int], None], worker: str = WORKER) -> None:
    """Let processes make parts side by side, long ones first (helpers of these right after them).

    Ctrl-C ends them at once, and they say nothing about it.
    """
    weights = {part: _weight(part) for part in parts}
    left: queue.SimpleQueue[str] = queue.SimpleQueue()
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    for part in sorted(parts, key=lambda part: (part not in AHEAD, ":" not in part, -weights[part])):
        left.put(part)
    helpers: list[subprocess.Popen[str]] = []
    servants: list[threading.Thread] = []

    def serve(helper: subprocess.Popen[str]) -> None:
        to, of = cast("IO[str]", helper.stdin), cast("IO[str]", helper.stdout)
        with contextlib.suppress(queue.Empty, OSError, ValueError):  # nothing is left, or the helper is gone
            while True:
                part = left.get_nowait()
                to.write(f"{part}\n")
                to.flush()
                if not of.readline():
                    break
                done.put(weights[part])
        done.put(0)

    try:
        for _ in range(min(len(parts), workers())):
            helpers.append(take(worker))
            servants.append(threading.Thread(target=serve, args=(helpers[-1],), daemon=True))
            servants[-1].start()
        working, made, total = len(helpers), 0, sum(weights.values())
        show(0, total)
        while working:
            try:
                weight = done.get(timeout=0.2)
            except queue.Empty:
                pass  # a moment in which Ctrl-C is heard, and the bar moves
            else:
                made += weight
                working -= weight == 0
            show(made, total)
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()
        for servant, helper in zip(servants, helpers, strict=False):
            with contextlib.suppress(RuntimeError):  # Ctrl-C may come while one is being started
                servant.join()
            with contextlib.suppress(OSError):  # what it did not read any more
                cast("IO[str]", helper.stdin).close()
            cast("IO[str]", helper.stdout).close()
