"""Compile the core on its first use on a machine: say so, and use two processes.

The loop and the rare transitions are separate entry points, so a second process can compile the latter and the policies
while this one compiles the loop; both write to the same cache.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Sequence

from wattline.control.catalog import find
from wattline.control.compile import callable_for, chores_needed
from wattline.model.compiled import JIT, cache_is_shared, is_warm
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
    script = f"from wattline.sim.warm import side_work; side_work({chores!r}, {names!r})"
    helper = subprocess.Popen([sys.executable, "-c", script]) if cache_is_shared() else None  # noqa: S603
    try:
        importlib.import_module("wattline.sim.engine")
    finally:
        if helper is not None:
            helper.wait()
