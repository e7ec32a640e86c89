"""Which resource manager a controller's file names, opened."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from wattline.live.clock import Clock
from wattline.live.controller.config import ManagerSpec
from wattline.live.machine.base import ManagerError, ResourceManager

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
    if spec.kind == "slurm":
        from wattline.live.machine.slurm.commands import Commands
        from wattline.live.machine.slurm.manager import SlurmManager
        from wattline.live.machine.slurm.rules import Rules

        conf = None if spec.conf is None else (base / spec.conf).resolve()
        folder = None if spec.bin is None else (base / spec.bin).resolve()
        if spec.rest is not None and spec.token is not None:
            from wattline.live.machine.slurm.rest import RestCommands, Token

            # not a credential of systemd: that would be the token of the service's start, which expires
            commands: Commands = RestCommands(
                conf, folder, timeout_s, rest=spec.rest, token=Token((base / spec.token).resolve())
            )
        else:
            commands = Commands(conf, folder, timeout_s)
        rules = Rules(
            partitions=frozenset(spec.partitions),
            leave_partitions=frozenset(spec.leave_partitions),
            leave_accounts=frozenset(spec.leave_accounts),
            leave_users=frozenset(spec.leave_users),
            stop=spec.stop,
            power_w=dict(spec.power),
            most_per_s=float(spec.most_per_second),
            stop_again_s=spec.stop_again,
            limit_again_s=spec.limit_again,
        )
        return SlurmManager(commands, rules, clock, act)
    from wattline.live.machine.launcher.client import LauncherClient

    return LauncherClient(base / (spec.run_dir or ""), timeout_s=timeout_s, acknowledge=act)


def where(spec: ManagerSpec, base: Path) -> str:
    """Return in a line which resource manager is meant."""
    if spec.kind == "launcher":
        return f"launcher in {base / (spec.run_dir or '')}"
    left = [*spec.leave_partitions, *spec.leave_accounts, *spec.leave_users]
    return "; ".join(
        [
            "slurm of " + ("its own slurm.conf" if spec.conf is None else str((base / spec.conf).resolve())),
            *([] if spec.rest is None else [f"REST at {spec.rest}"]),
            "partitions " + (", ".join(spec.partitions) or "all"),
            "left alone " + (", ".join(left) or "nobody"),
            f"stops {spec.stop}",
        ]
    )


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
