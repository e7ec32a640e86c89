"""The step stands alone: fed the states that a simulated run passed to it, without any simulator, it takes the same
actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from engine.test_deep_queue import flood
from engine.worlds import cluster, digest, policies, run
from wattline.kernel.slots import direct
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.state.layout import copy_state
from wattline.model.state.record import POLICY, State
from wattline.sim.simulate import Simulation
from wattline.testing import worlds
from wattline.wiring.options import Options

ACTIONS = ("a_time_s", "a_kind", "a_job", "a_nodes", "a_cap_w", "a_why", "a_verdict")
Memory = tuple[npt.NDArray[np.float64], ...]


def actions(s: State) -> list[bytes]:
    """Return the actions of the last pass, bit for bit."""
    return [getattr(s, name)[s.a_from[0] : s.a_n[0]].tobytes() for name in ACTIONS]


def drive(sim: Simulation, *, keep: bool = True) -> list[tuple[State, Memory, list[bytes]]]:
    """Run half-instant by half-instant; return the states and memories given to the pass and the actions it took."""
    from wattline.sim.engine import ADVANCE_ONLY, PASS_ONLY  # importing compiles: not while tests are collected

    record = []
    with sim:
        while True:
            code = sim.advance(ADVANCE_ONLY)
            if code == codes.LOG_FULL:
                continue
            if code != codes.BUDGET:
                return record
            passed = keep and sim.state.happened[0] != 0
            if passed:
                given = copy_state(sim.state), tuple(m.copy() for m in sim.memory)
            assert sim.advance(PASS_ONLY) == codes.BUDGET
            if passed:
                record.append((*given, actions(sim.state)))


def hysteresis() -> dict[str, Any]:
    """Return a cap policy with memory and random numbers."""
    return {"cap": "randomized", "params": {"cap": {"p_low": 0.5, "p_high": 0.5}}}


CASES = {
    "easy": {},
    "conservative by priority": {"order": "priority", "select": "conservative"},
    "preemptive lcfs": {"order": "lcfs", "select": "reselect"},
    "coins": hysteresis(),
    "recent": {"learn": "recent"},
}


@pytest.mark.parametrize("case", CASES)
def test_recorded_states_give_the_same_actions(case: str, log_rows: Callable[[int], None]) -> None:
    """A real cluster can use the step unchanged: state in, actions out, no simulator near."""
    from wattline.control.chores import chores
    from wattline.control.step import step

    log_rows(500)
    world = worlds.busy(seed=3, count=60)
    more = dict(CASES[case])
    chosen = policies(more.pop("params", None), **more)
    sim = Simulation(world.jobs, world.cluster, chosen, world.options, seed=5)
    record = drive(sim)
    assert len(record) > 60
    assert sum(bool(took[0]) for _, _, took in record) > 20
    for state, memory, took in record:
        n = step(state, sim.wake, *sim.functions[:4], direct(chores, POLICY), sim.param, memory)
        assert n == state.a_n[0] - state.a_from[0]
        assert actions(state) == took
    plain = run(world.jobs, world.cluster, options=world.options, seed=5, **CASES[case])
    assert digest(sim.result()) == digest(plain)


def test_half_instants_of_a_deep_queue() -> None:
    """Driving a long run by half-instants gives the same bytes as running it through."""
    jobs, machine = flood(2, 600), cluster(64)
    sim = Simulation(jobs, machine, policies(), Options())
    drive(sim, keep=False)
    assert digest(sim.result()) == digest(run(jobs, machine))


def test_copies_share_nothing() -> None:
    """A copied state is equal in every field and independent of the original."""
    machine = Cluster(
        (NodeClass("n", 4, 100.0, 300.0, sleep=Sleep(10, 5), levels=(Level(1.0, 300.0, 100.0),)),),
        outages=(Outage(3, 4, 0, 1),),
    )
    sim = Simulation(worlds.ties().jobs.take([0, 1, 2]), machine, policies(), Options(limit_w=[(0, 1e4)]))
    twin = copy_state(sim.state)
    for name, array in sim.state.arrays().items():
        np.testing.assert_array_equal(array, getattr(twin, name), err_msg=name)
        assert not np.shares_memory(array, getattr(twin, name)) or array.size == 0
    with sim:
        sim.advance(2)
    assert twin.now[0] == 0.0
    assert twin.n_running[0] == 0
    assert sim.state.n_running[0] > 0
