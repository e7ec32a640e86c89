"""Which resource manager a controller's file names, opened."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from wattline.live.clock import Clock
from wattline.live.machine.base import ManagerError, ResourceManager
from wattline.live.machine.settings import ManagerSpec, find_manager

ROUNDS, ROUND_S = 3, 1.0
"""How often ``wattline off`` tries what it could not release, and after how many seconds of the wall."""


def open_manager(
    spec: ManagerSpec, base: Path, clock: Clock, *, timeout_s: float | None = None, act: bool = True
) -> ResourceManager:
    """Open the resource manager of a controller's file.

    Parameters
    ----------
    base
        Folder from which relative paths count.
    act
        False: only look. A launcher keeps what it told for the next one, Slurm's jobs are not held.
    """
    timeout_s = spec.timeout if timeout_s is None else timeout_s
    return find_manager(spec.kind).open(spec, base, clock, timeout_s=timeout_s, act=act)


def where(spec: ManagerSpec, base: Path) -> str:
    """Return in a line which resource manager is meant."""
    return find_manager(spec.kind).where(spec, base)


def look_at(manager: ResourceManager) -> tuple[set[str], tuple[str, ...]]:
    """Return the names of a manager's nodes, and what it cannot do, a line each."""
    shown = {node.name for node in manager.snapshot().nodes}
    return shown, manager.abilities.notes


def give_back(manager: ResourceManager, rest: Callable[[float], None] = time.sleep) -> dict[str, str | None]:
    """Let stopped jobs go on and waiting ones be the manager's own again; return each thing, and why it was not done.

    One that fails keeps nobody from trying the others; what was not done is tried again in some rounds.
    """
    found: dict[str, str | None] = {}
    for number in range(ROUNDS):
        if number:
            rest(ROUND_S)
        found = {thing: None for thing, why in found.items() if why is None}
        found |= _round(manager)
        if all(why is None for why in found.values()):
            break
    return found


def _round(manager: ResourceManager) -> dict[str, str | None]:
    """Try all that is not released now."""
    found: dict[str, str | None] = {}
    try:
        for job in [job for job in manager.snapshot().jobs if job.phase == "paused" and job.ours]:
            try:
                found[f"job {job.id} (stopped)"] = manager.cont(job.id)
            except ManagerError as problem:
                found[f"job {job.id} (stopped)"] = str(problem)
    except ManagerError as problem:
        found["stopped jobs"] = f"nobody knows which they are: {problem}"
    try:
        found |= {f"job {job} (held)": why for job, why in manager.give_back().items()}
    except ManagerError as problem:
        found["held jobs"] = f"nobody knows which they are: {problem}"
    return found
