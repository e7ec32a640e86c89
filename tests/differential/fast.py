"""The engine on many small worlds: states are laid out once for each size and wiped in between."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from wattline.control.catalog import find
from wattline.errors import StuckError
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.state.record import State
from wattline.model.state.sizes import Sizes
from wattline.sim.simulate import Simulation
from wattline.wiring import bound, setup
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

MOST_STATES, MOST_JOBS = 2000, 64
"""States that are kept, and jobs of the largest of them."""

_allocate, _callable_for = setup.allocate, bound.callable_for
_states: dict[tuple[int, ...], tuple[State, Any, Any]] = {}
_callables: dict[tuple[str, str], Any] = {}


def _wiped(sizes: Sizes) -> State:
    """Return a state as ``allocate`` would, on memory that was used before."""
    if sizes.J > MOST_JOBS:
        return _allocate(sizes)
    key = tuple(vars(sizes).values())
    if key not in _states:
        if len(_states) >= MOST_STATES:
            _states.clear()
        state = _allocate(sizes)
        room = state.changing.base
        _states[key] = (state, room, room.copy())
    state, room, fresh = _states[key]
    room[:] = fresh
    return state


@lru_cache(maxsize=512)
def policies(**slots: str) -> Policies:
    """Return policies by name; those not named are the plainest ones."""
    plain = {"order": "fcfs", "select": "easy", "place": "lowest", "cap": "none", "learn": "request"}
    return Policies(**{slot: find(slot, name) for slot, name in {**plain, **slots}.items()})


def _once(mechanism: Any) -> Any:
    """Return what the loop calls for a built-in mechanism, whose signature is looked at once."""
    key = (mechanism.slot, mechanism.name)
    if key not in _callables:
        _callables[key] = _callable_for(mechanism)
    return _callables[key]


def run(
    jobs: JobTable,
    cluster: Cluster,
    chosen: Policies,
    options: Options,
    *,
    seed: int = 0,
    params: Mapping[str, Mapping[str, float]] | None = None,
) -> tuple[Result, bool]:
    """Simulate; return the result, which holds until the next run, and whether the run got stuck."""
    wired = Policies(*chosen.slots(), params=params or {})
    setup.allocate, bound.callable_for = _wiped, _once
    try:
        simulation = Simulation(jobs, cluster, wired, options, seed=seed)
        try:
            return simulation.run(), False
        except StuckError:
            return simulation.result("stuck"), True
    finally:
        setup.allocate, bound.callable_for = _allocate, _callable_for


def segments(result: Result) -> list[tuple[int, float, float, list[int]]]:
    """Return (job, from, until, nodes) for every time that a job held nodes, in the order in which they were given
    back.
    """
    names = ("px_job", "px_from_s", "px_until_s", "px_first", "px_count")
    found: list[tuple[int, float, float, list[int]]] = []
    for j, t0, t1, first, count in zip(*(result.logs[name].tolist() for name in names), strict=True):
        more = list(range(first, first + count))
        last = found[-1] if found else None
        if last is not None and last[:3] == (j, t0, t1) and len(last[3]) < result.jobs.nodes[j]:
            last[3].extend(more)
        else:
            found.append((j, t0, t1, more))
    return found


STATUS = np.array(codes.STATUS_NAMES)
