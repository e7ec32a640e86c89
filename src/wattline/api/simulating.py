"""``wl.simulate``: one run, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wattline.api.asking import Policy, ask
from wattline.api.machine import Machine, Quantity
from wattline.api.runs import Run
from wattline.api.studies import Study
from wattline.api.trace import Trace, read_trace
from wattline.errors import InputError


def simulate(
    trace: Trace | Study | Path | str,
    machine: Machine | None = None,
    *,
    order: Policy = "fcfs",
    select: Policy = "easy",
    place: Policy = None,
    cap: Policy = None,
    learn: Policy = "request",
    profile: Policy = None,
    bid: Policy = None,
    limit: Quantity | None = None,
    ties: str = "instant",
    kill: bool = False,
    settings: Mapping[str, Any] | None = None,
    seed: int = 1,
    name: str | None = None,
    progress: bool = True,
) -> Run:
    """Simulate jobs on a machine and return the run.

    ``trace``: jobs (a path is read), or a study that ``wl.load`` read, which says everything else too. ``machine``:
    default as the log says. Policies of the slots ``order``, ``select``, ``place``, ``cap``, ``learn``, ``profile``,
    ``bid``: a built-in name, the path of a file, an object of ``wl.policy``, or ``{"name": one of these, parameter:
    value}``. ``limit``: power limit of the machine ("28 kW", or watts). ``ties``: one scheduling pass an "instant", or
    after every single "event". ``kill``: end jobs at their requested time. ``settings``: any other key of a scenario by
    its dotted name, as ``{"run.until": "10 d"}``. ``seed``: of everything random. ``progress``: show a bar when it
    takes longer than two seconds.
    """
    if isinstance(trace, Study):
        if machine is not None:
            raise InputError("simulate: a study has a machine already; change it with study.set({'cluster.nodes': …})")
        return trace.simulate(progress=progress)
    if not isinstance(trace, (Trace, str, Path)):
        raise InputError(
            f"simulate: expected a trace, a study or the path of a log, got {type(trace).__name__}; wl.from_frame "
            "makes a trace of a frame"
        )
    if machine is not None and not isinstance(machine, Machine):
        raise InputError(f"simulate: machine is a wl.Machine, got {type(machine).__name__}")
    jobs = trace if isinstance(trace, Trace) else read_trace(trace)
    policies = {
        "order": order,
        "select": select,
        "place": place,
        "cap": cap,
        "learn": learn,
        "profile": profile,
        "bid": bid,
    }
    for slot, given in policies.items():
        if isinstance(given, (list, tuple)):
            raise InputError(f"{slot}: one run takes one policy, got {len(given)}; wl.load(…).vary takes lists")
    asked = ask(
        jobs,
        machine or Machine(),
        policies=policies,
        ties=ties,
        kill=kill,
        limit=limit,
        settings=settings,
        seed=seed,
        name=name,
    )
    return Study(asked).simulate(progress=progress)
