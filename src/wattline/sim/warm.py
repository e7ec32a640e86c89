"""Compile the core on its first use on a machine: say so, and use two processes.

The loop and the rare transitions are separate entry points, so one process can compile the latter and the policies while
another compiles the loop; both write to the same cache. This process only waits, since a compiler hears no Ctrl-C.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Sequence

from wattline.control.catalog import find
from wattline.control.compile import callable_for, chores_needed
from wattline.model.compile_cache import cache_is_shared, is_warm
from wattline.model.compiled import JIT
from wattline.model.mechanism import Mechanism


def side_work(chores: str, names: Sequence[str]) -> None:
    """Compile the chores and the built-in mechanisms named ``slot=name`` (in the second process)."""
    importlib.import_module(f"wattline.control.{chores}")
    for slot, _, name in (text.partition("=") for text in names):
        callable_for(find(slot, name))


def warm_up(policies: Sequence[Mechanism], say: Callable[[str], None], *, nodes_change: bool) -> None:
    """Compile what a run needs unless the cache has it; ``say`` is called once, before anything slow."""
    chores = chores_needed(policies, nodes_change=nodes_change)
    if not JIT or (is_warm("wattline.sim.engine", "run") and is_warm(f"wattline.control.{chores}", chores)):
        return
    say("compiling the core for this machine (once; later runs start at once) ...")
    names = [f"{m.slot}={m.name}" for m in policies if m.builtin]
    if cache_is_shared():
        _in_processes(
            "import wattline.sim.engine", f"from wattline.sim.warm import side_work; side_work({chores!r}, {names!r})"
        )
    importlib.import_module(
        "wattline.sim.engine"
    )  # where something went wrong over there, it is compiled and said here


def _in_processes(*scripts: str) -> None:
    """Run Python programs side by side; Ctrl-C ends them at once, and they say nothing about it."""
    command = [sys.executable, "-c"]
    helpers = [
        subprocess.Popen([*command, script], start_new_session=True, stderr=subprocess.DEVNULL)  # noqa: S603
        for script in scripts
    ]
    try:
        for helper in helpers:
            helper.wait()
    finally:
        for helper in helpers:
            if helper.poll() is None:
                helper.kill()
                helper.wait()
