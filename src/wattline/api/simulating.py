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

    Parameters
    ----------
    trace
        Jobs (a path is read), or a study that ``wl.load`` read, which says everything else too.
    machine
        The cluster (default: as the log says).
    order, select, place, cap, learn, profile, bid
        Policies of the slots: a built-in name, the path of a file, an object of ``wl.policy``, or ``{"name": one of
        these, parameter: value}``.
    limit
        Power limit of the machine: ``"28 kW"``, or watts.
    ties
        One scheduling pass an ``"instant"``, or one after every single ``"event"``.
    kill
        Whether jobs end at their requested time.
    settings
        Any other key of a scenario by its dotted name, as ``{"run.until": "10 d"}``.
    seed
        Seed of everything random.
    name
        Name of the run in reports and journals (default: that of the trace).
    progress
        Whether to show a bar when it takes longer than two seconds.

    Returns
    -------
    Run
        Jobs, timeline, summary and figures of the run; ``write`` leaves its journal.
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
