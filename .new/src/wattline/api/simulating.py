"""``wl.simulate``: one run, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wattline.api.asking import KeyPath, Policy, ask
from wattline.api.machine import Machine, Quantity
from wattline.api.runs import Run, check_switches
from wattline.api.studies import Study
from wattline.api.trace import Trace, log_at
from wattline.errors import InputError

_USUAL = {"order": "fcfs", "select": "easy", "learn": "request"}
"""Policies of slots that every run names."""


def simulate(
    trace: Trace | Study | Path | str,
    machine: Machine | None = None,
    *,
    order: Policy = None,
    select: Policy = None,
    place: Policy = None,
    cap: Policy = None,
    learn: Policy = None,
    profile: Policy = None,
    bid: Policy = None,
    limit: Quantity | None = None,
    ties: str | None = None,
    kill: bool = False,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    name: str | None = None,
    progress: bool = True,
) -> Run:
    """Simulate jobs on a machine and return the run.

    Parameters
    ----------
    trace
        Jobs (a path is read), or a study that ``wl.load`` read, which says everything else too: of the other arguments,
        only ``progress`` may be given beside it.
    machine
        The cluster (default: as the log says).
    order, select, place, cap, learn, profile, bid
        Policies of the slots: a built-in name, the path of a file, an object of ``wl.policy``, or ``{"name": one of
        these, parameter: value}`` (default: fcfs, easy, lowest, none, request, known, given).
    limit
        Power limit of the machine: ``"28 kW"``, or watts.
    ties
        One scheduling pass an ``"instant"``, or one after every single ``"event"`` (default: ``"instant"``).
    kill
        Whether jobs end at their requested time.
    settings
        Any other key of a scenario by its dotted name, as ``{"run.until": "10 d"}``. What an argument says must not be
        said again; keys that tell how a log is read (``trace.zone``) go with a path.
    seed
        Seed of everything random (default: 1).
    name
        Name of the run in reports and journals (default: that of the trace).
    progress
        Whether to show a bar when it takes longer than two seconds.

    Returns
    -------
    Run
        Jobs, timeline, summary and figures of the run; ``write`` leaves its journal.
    """
    check_switches("simulate", progress=progress)
    policies = {
        "order": order,
        "select": select,
        "place": place,
        "cap": cap,
        "learn": learn,
        "profile": profile,
        "bid": bid,
    }
    if isinstance(trace, Study):
        others = {
            "limit": limit,
            "ties": ties,
            "kill": None if kill is False else kill,
            "settings": settings,
            "seed": seed,
            "name": name,
        }
        _refuse_beside_study(machine, policies | others)
        return trace.simulate(progress=progress)
    if not isinstance(trace, (Trace, str, Path)):
        raise InputError(
            f"simulate: expected a trace, a study or the path of a log, got {type(trace).__name__}; wl.from_frame "
            "makes a trace of a frame"
        )
    if machine is not None and not isinstance(machine, Machine):
        raise InputError(f"simulate: machine is a wl.Machine, got {type(machine).__name__}")
    jobs = trace if isinstance(trace, Trace) else log_at(trace)
    for slot, given in policies.items():
        if isinstance(given, (list, tuple)):
            raise InputError(f"{slot}: one run takes one policy, got {len(given)}; wl.load(…).vary takes lists")
    unsaid: set[KeyPath] = {("policy", slot) for slot in _USUAL if policies[slot] is None}
    unsaid |= {path for path, given in ((("run", "ties"), ties), (("seed",), seed)) if given is None}
    asked = ask(
        jobs,
        machine or Machine(),
        policies={slot: _USUAL.get(slot) if given is None else given for slot, given in policies.items()},
        ties="instant" if ties is None else ties,
        kill=kill,
        limit=limit,
        settings=settings,
        seed=1 if seed is None else seed,
        name=name,
        unsaid=unsaid,
    )
    return Study(asked).simulate(progress=progress)


def _refuse_beside_study(machine: Machine | None, given: Mapping[str, Any]) -> None:
    """Refuse what a study says itself: it would be left out of the run in silence."""
    if machine is not None:
        raise InputError("simulate: a study has a machine already; change it with study.set({'cluster.nodes': …})")
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise InputError(
            f"simulate: a study says all of its run, got {', '.join(named)} beside it; change it with study.set, as in "
            "study.set({'policy.select': …, 'seed': …})"
        )
