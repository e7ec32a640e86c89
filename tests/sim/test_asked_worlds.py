"""The loop that stops to ask: decisions made outside give the schedule that the same decisions give inside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wattline.control.catalog import find
from wattline.generate.jobs import Lublin, generate
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.policies.looks import ALLOWED, HARMLESS, F
from wattline.sim.questions import asked
from wattline.sim.simulate import Simulation
from wattline.sim.worlds import AskedWorlds
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

NODES = 32
QUIET = Options(timeline=False, placements=False, decisions=False, log_rows=512)


def policies(**slots: str) -> Policies:
    """Return plain policies, some slots replaced."""
    plain = {"order": "fcfs", "select": "easy", "place": "lowest", "cap": "none", "learn": "request"}
    return Policies(**{slot: find(slot, name) for slot, name in {**plain, **slots}.items()})


def workload(seed: int, count: int = 60) -> JobTable:
    """Return a small busy workload."""
    jobs = generate(Lublin(jobs=count, nodes=NODES, load=1.1, seed=seed)).jobs
    return jobs.with_columns(request_s=np.ceil(jobs.work_s * 1.5))


def machine() -> Cluster:
    """Return its machine."""
    return Cluster((NodeClass("node", NODES, idle_w=100.0, max_w=300.0),))


def decided(jobs: list[JobTable], choose: Any, k: int, options: Options = QUIET, **slots: Any) -> AskedWorlds:
    """Let ``choose(worlds, w)`` decide about every start of some worlds; return them at their ends."""
    worlds = AskedWorlds("select", len(jobs), k, threads=slots.pop("threads", 1))
    for w, table in enumerate(jobs):
        chosen = replace(policies(**slots), select=asked("select"))
        worlds.put(w, Simulation(table, machine(), chosen, options, seed=1))
    goes = np.ones(len(jobs), dtype=bool)
    while goes.any():
        worlds.play(goes)
        goes = worlds.why == codes.ASKED
        for w in np.flatnonzero(goes):
            worlds.choice[w] = choose(worlds, int(w))
    return worlds


def feature(worlds: AskedWorlds, w: int, which: int) -> Any:
    """Return one number of each shown job."""
    return worlds.seen[w, : worlds.k * F].reshape(worlds.k, F)[:, which]


def strictly(worlds: AskedWorlds, w: int) -> int:
    """The first job, if it may start; nobody passes it."""
    return 0 if feature(worlds, w, ALLOWED)[0] == 1 else worlds.k


def harmless(worlds: AskedWorlds, w: int) -> int:
    """The first job that delays nobody in front of it."""
    found = np.flatnonzero(feature(worlds, w, HARMLESS))
    return int(found[0]) if found.size else worlds.k


def first_fit(worlds: AskedWorlds, w: int) -> int:
    """The first job that may start."""
    found = np.flatnonzero(feature(worlds, w, ALLOWED))
    return int(found[0]) if found.size else worlds.k


def starts(jobs: JobTable, options: Options = QUIET, **slots: str) -> Any:
    """Return the start times of a run inside."""
    return Simulation(jobs, machine(), policies(**slots), options, seed=1).run().state.started_s


@pytest.mark.parametrize(("select", "choose"), [("in-order", strictly), ("easy", harmless), ("first-fit", first_fit)])
@pytest.mark.parametrize("order", ["fcfs", "shortest"])
@pytest.mark.parametrize("ties", ["instant", "event"])
def test_the_same_decisions_give_the_same_schedule(select: str, choose: Any, order: str, ties: str) -> None:
    """A decider outside that follows the rule of a built-in policy gives its start times to the bit."""
    tables = [workload(seed) for seed in range(1, 9)]
    options = replace(QUIET, ties=ties)
    worlds = decided(tables, choose, k=64, options=options, order=order)
    for w, jobs in enumerate(tables):
        simulation = worlds.simulations[w]
        assert simulation is not None
        np.testing.assert_array_equal(
            simulation.state.started_s, starts(jobs, options, select=select, order=order), err_msg=f"world {w}"
        )


@pytest.mark.parametrize("limit_w", [4000.0, 6500.0])
def test_the_same_under_a_power_limit(limit_w: float) -> None:
    """First fit from outside counts nodes and watts as the built-in one does."""
    tables = [workload(seed) for seed in range(1, 7)]
    options = replace(QUIET, limit_w=[(0.0, limit_w)], exceed=True)
    worlds = decided(tables, first_fit, k=64, options=options)
    for w, jobs in enumerate(tables):
        simulation = worlds.simulations[w]
        assert simulation is not None
        np.testing.assert_array_equal(simulation.state.started_s, starts(jobs, options, select="first-fit"))


@pytest.mark.parametrize("select", ["easy", "conservative", "window"])
def test_the_starts_of_any_policy_can_be_given_back(select: str) -> None:
    """Who takes at every question the job that a policy started then, or none, repeats its run to the bit."""
    jobs = workload(3)
    wanted = starts(jobs, select=select)

    def repeat(worlds: AskedWorlds, w: int) -> int:
        simulation = worlds.simulations[w]
        assert simulation is not None
        for i, j in enumerate(worlds.jobs[w]):
            if j >= 0 and wanted[j] == simulation.state.now[0]:
                return i
        return worlds.k

    worlds = decided([jobs], repeat, k=64)
    assert worlds.simulations[0] is not None
    np.testing.assert_array_equal(worlds.simulations[0].state.started_s, wanted)


def test_sums_are_those_of_the_run() -> None:
    """Waits, bounded slowdowns and energy that rewards are made of are those of the schedule."""
    jobs = workload(5)
    worlds = decided([jobs], harmless, k=64)
    simulation = worlds.simulations[0]
    assert simulation is not None
    s = simulation.state
    response = s.end_s - jobs.submit_s
    slowdown = np.maximum(1.0, response / np.maximum(jobs.work_s, 10.0))
    waits, slowdowns, energy_j, above_s, above_j, tracked_s, _may_rest = worlds.sums[0]
    assert waits == pytest.approx(float((s.started_s - jobs.submit_s).sum()), rel=1e-12)
    assert slowdowns == pytest.approx(float(slowdown.sum()), rel=1e-12)
    busy = float((jobs.work_s * jobs.nodes).sum())
    span = float(s.end_s.max() - jobs.submit_s[0])
    assert energy_j == pytest.approx(busy * 300.0 + (span * NODES - busy) * 100.0, rel=1e-9)
    assert above_s == above_j == tracked_s == 0.0


def test_threads_change_nothing() -> None:
    """Worlds carried on in threads give what one thread gives."""
    tables = [workload(seed) for seed in range(1, 7)]
    alone, together = decided(tables, harmless, 16), decided(tables, harmless, 16, threads=3)
    np.testing.assert_array_equal(alone.sums, together.sums)
    np.testing.assert_array_equal(alone.seen, together.seen)
    together.close()


def test_who_always_answers_none_starts_whom_must_start() -> None:
    """Where nothing else would ever happen, none counts as the first job that may start: every job runs."""
    worlds = decided([workload(2)], lambda worlds, _w: worlds.k, k=16)
    simulation = worlds.simulations[0]
    assert simulation is not None
    assert np.isfinite(simulation.state.end_s).all()
    assert worlds.why[0] == codes.DONE


def test_a_job_that_may_not_start_counts_as_none() -> None:
    """Senseless answers start nobody and break nothing."""
    rng = np.random.default_rng(1)
    worlds = decided([workload(2)], lambda worlds, _w: int(rng.integers(-3, worlds.k + 3)), k=8)
    simulation = worlds.simulations[0]
    assert simulation is not None
    assert np.isfinite(simulation.state.end_s).all()
