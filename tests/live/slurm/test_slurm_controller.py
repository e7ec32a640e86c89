"""A controller leads a real Slurm: no job is lost, doubled or left stopped, and each runs where the model placed it."""

from __future__ import annotations

import time
from collections.abc import Callable

from slurm_run import SlurmRun, leading

from wattline.demo.slurm_cluster import SlurmCluster
from wattline.live.machine.slurm.text import hosts
from wattline.model import codes

PERIOD_S = 0.5


def go(run: SlurmRun, until: Callable[[], bool], most_s: float = 60.0) -> None:
    """Let the controller turn until something is so."""
    end = time.monotonic() + most_s
    while not until():
        assert time.monotonic() < end, (run.phases(), run.said[-5:], run.told[-5:])
        began = time.monotonic()
        run.turn()
        time.sleep(max(0.0, began + PERIOD_S - time.monotonic()))


def test_a_controller_leads_slurm(cluster: SlurmCluster) -> None:
    """Jobs and tasks of arrays, one of them stopped for a while, run once, under the limit, on the nodes they were
    placed on; a job of somebody else is counted; a controller that is started anew knows who runs and who waits.
    """
    with leading(cluster, limit=0.7) as run:
        foreign = cluster.submit("sleep 6", "--comment=wattline=off", nodes=2)
        for k in range(8):
            run.submit(1.0 + 0.5 * (k % 3), 1 + k % 4)
        run.submit(1.5, 1, tasks=4)
        long = run.submit(6.0)[0]
        go(run, lambda: long in run.controller.mirror.seen and run.controller.mirror.seen[long].phase == "running")
        assert run.stop_one(long) == long
        run.controller.bus.close()
        run.controller = run.start()  # the job that stands still is known, and goes on, as nobody wants it to stand
        go(run, lambda: bool(run.controller.mirror.seen))
        ledger = run.controller.ledger
        there = [job.id for job in run.controller.mirror.seen.values() if job.on]
        assert long in there
        assert all(ledger.state.status[ledger.row[job]] != codes.WAITING for job in there)
        go(run, run.over)
        assert run.controller.ledger.row.keys() <= set(run.jobs) | {foreign}
    placed = {told.job: told.note.split(",") for told in run.told if told.what == "release"}
    for job, nodes in run.jobs.items():
        lines = run.lines(job, "begin")
        assert len(lines) == len(run.lines(job, "end")) == 1
        assert sorted(hosts(lines[0][0])) == sorted(placed[job])
        assert len(placed[job]) == nodes
    assert run.most_w <= 0.7 * 400.0 * 12 + 1.0
    assert foreign not in placed
    assert ("cont", long) in [(told.what, told.job) for told in run.told]
