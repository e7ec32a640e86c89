"""Moldable jobs on a machine: the controller chooses their configuration, and the machine runs them in it."""

from __future__ import annotations

import numpy as np
import pytest

from engine.worlds import check_structure, cluster, policies, run, table
from live.controller.emulated import EPOCH_S, World
from wattline.model.configurations import Configurations, Moldable
from wattline.wiring.options import Options

LIMIT_W = 1000.0
APPLICATIONS = ("a0", "a1", "a2")


def moldable(seed: int) -> list[Moldable]:
    """Return applications with random configurations in whole seconds."""
    rng, found = np.random.default_rng(seed), []
    for name in APPLICATIONS:
        rows = {(int(rng.integers(1, 9)), int(rng.integers(1, 5)), float(rng.choice([51.0, 80.0]))) for _ in range(9)}
        n, c, p = (np.array(column) for column in zip(*sorted(rows | {(1, 1, 51.0)}), strict=True))
        time_s, power_w = rng.integers(5, 60, n.size).astype(float), n * rng.uniform(60, 230, n.size)
        found.append(Moldable(Configurations(name, n, c, p, time_s, power_w)))
    return found


def world_of(select: str, seed: int, late_s: float = 0.0) -> World:
    """Return a machine under a limit to which moldable and rigid jobs come at whole seconds."""
    options = Options(limit_w=[(0.0, LIMIT_W)], configurations=moldable(seed))
    world = World(cluster(8, idle_w=0.0, max_w=230.0), policies(select=select), options, late_s=late_s, limit_w=LIMIT_W)
    rng = np.random.default_rng(seed)
    for i in range(40):
        work_s = float(rng.integers(5, 60))
        kind = [*APPLICATIONS, "rigid"][int(rng.integers(4))]
        nodes, at_s = int(rng.integers(1, 5)), float(rng.integers(0, 300))
        world.submit(f"j{i:03d}", nodes, work_s, at_s, request_s=1.25 * work_s, kind=kind)
    for job in world.machine.coming:
        job.draw_w = job.floor_w = 230.0
    return world


@pytest.mark.parametrize("select", ["rmap-traditional", "rmap-naive", "rmap-adaptive", "surplus"])
def test_every_job_is_started_when_and_as_the_simulator_starts_it(select: str) -> None:
    """Where the machine is exact, second, nodes, cores and cap of every start are the simulator's."""
    world = world_of(select, 4)
    rows = list(world.machine.coming)
    kinds = [*APPLICATIONS, "rigid"]
    jobs = table(
        *[
            {
                "submit": j.seen.submit_s - EPOCH_S,
                "work": j.work_s,
                "nodes": j.seen.nodes,
                "request": j.seen.request_s,
                "kind": kinds.index(j.seen.kind),
            }
            for j in rows
        ],
        kinds=tuple(kinds),
    )
    s = run(jobs, world.cluster, select=select, options=world.options).state
    world.run(1600.0, step_s=1.0)
    np.testing.assert_allclose([job.started_s - EPOCH_S for job in rows], s.started_s, atol=1e-6)
    for k, job in enumerate(rows):
        shape = int(s.shape[k])
        assert (job.form is None) == (shape < 0) == (job.seen.kind == "rigid")
        if job.form is not None:
            nodes, form = job.form
            assert (nodes, form.cores, form.cap_w) == (s.sh_nodes[shape], s.sh_cores[shape], s.sh_cap_w[shape])
            assert form.limit_s == s.request_s[k] >= s.sh_told_s[shape]
    assert len({job.form for job in rows}) > 5
    assert not world.controller.ledger.wrong
    check_structure(world.controller.ledger.state)


def test_nodes_are_capped_at_what_was_counted_for_their_job() -> None:
    """The cap of a node is its part of the power of its job's configuration: a hungrier job cannot break the limit."""
    world = world_of("rmap-adaptive", 5, late_s=0.5)
    seen = 0
    for _ in range(300):
        world.run(1.0, step_s=0.5)
        for job in world.machine.jobs.values():
            if job.seen.phase == "running" and job.form is not None:
                seen += 1
                assert all(world.machine.cap_w[name] == pytest.approx(job.draw_w) for name in job.seen.on)
    assert seen > 50
    assert max(w for _, w, _ in world.samples) <= LIMIT_W + 1e-6


def test_a_moldable_job_that_does_not_start_chooses_again() -> None:
    """A start that is refused gives the configuration back; the job is started in one later."""
    world = world_of("rmap-naive", 6)
    refused = [job.seen.id for job in world.machine.coming if job.seen.kind == "a0"][:3]
    world.machine.refuses |= set(refused)
    world.run(400.0, step_s=1.0)
    assert all(world.machine.jobs[name].starts == 0 for name in refused)
    world.machine.refuses.clear()
    world.run(600.0, step_s=1.0)
    assert all(job.starts == 1 and job.seen.phase == "ended" for job in world.machine.jobs.values())


def test_a_controller_that_starts_again_adopts_moldable_jobs_as_they_run() -> None:
    """Whoever comes after a controller without its log counts a running job with the nodes that it has."""
    world = world_of("rmap-adaptive", 7)
    world.run(100.0, step_s=1.0)
    running = [job for job in world.machine.jobs.values() if job.seen.phase == "running"]
    assert any(job.form is not None and job.form[0] != job.seen.nodes for job in running)
    world.controller = world.start()
    world.run(900.0, step_s=1.0)
    assert all(job.starts == 1 and job.seen.phase == "ended" for job in world.machine.jobs.values())
