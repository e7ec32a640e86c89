"""A controller leads a real Slurm: no job is lost, doubled or left stopped, and each runs where the model placed it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from slurm_run import SlurmRun, leading

from wattline.demo.slurm_cluster import SlurmCluster
from wattline.live.machine.slurm.text import hosts
from wattline.model import codes
from wattline.model.configurations import Configurations, Moldable

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


def test_moldable_jobs_run_as_they_were_chosen_under_a_limit_that_changes(cluster: SlurmCluster) -> None:
    """Each job runs on as many nodes as its configuration has, with its time limit, cores and cap, and its caps on its
    own nodes; where a limit falls, nothing starts until the sum of the chosen powers is below it again.
    """
    n, c, p = (np.array(column) for column in zip(*[(n, 4, p) for n in (1, 2, 3) for p in (51.0, 80.0)], strict=True))
    table = Configurations("solver", n, c, p, 150.0 / n * 80.0 / p, n * (160.0 + 1.9 * p))
    watts = {(int(a), float(b)): float(w) for a, b, w in zip(n, p, table.power_w, strict=True)}
    limits = {0.0: 0.6, 3.0: 0.45, 7.0: 0.9}
    with leading(cluster, limit=0.6, select="rmap-adaptive", configurations=(Moldable(table),)) as run:
        jobs = [run.submit(4.0, 1 + k % 3, "--comment=kind=solver", "-t", "1")[0] for k in range(12)]
        forms: dict[str, tuple[int, float, float]] = {}
        began, before = time.monotonic(), set[str]()

        def look() -> bool:
            nonlocal before
            s, there = run.controller.ledger.state, set[str]()
            for job, row in run.controller.ledger.row.items():
                shape = int(s.shape[row])
                if shape >= 0 and s.status[row] in (codes.STARTING, codes.RUNNING):
                    there.add(job)
                    forms[job] = (int(s.sh_nodes[shape]), float(s.sh_cap_w[shape]), float(s.request_s[row]))
                    on = run.controller.mirror.nodes.held(s, row)
                    own_w = watts[forms[job][:2]] / forms[job][0]
                    if job in before and s.status[row] == codes.RUNNING:
                        assert [run.cap_w[name] for name in on] == [own_w] * len(on)
            drawn_w = sum(watts[forms[job][:2]] for job in there)
            drawn_w += 100.0 * (cluster.nodes - sum(forms[job][0] for job in there))
            assert drawn_w <= run.limit_w or there <= before
            before = there
            run.limit = next(part for at, part in reversed(limits.items()) if time.monotonic() - began >= at)
            return run.over()

        go(run, look, 90.0)
        for job in jobs:
            nodes, cap_w, limit_s = forms[job]
            ((on, _),) = run.lines(job, "begin")
            assert len(hosts(on)) == nodes
            assert cluster.shown(job, "TimeLimit") == f"{math.ceil(limit_s / 60.0)}:00"
            assert f"cores=4,cap={cap_w:.0f}" in cluster.command("scontrol", "show", "job", job).stdout
        assert not any(run.account().values())
        assert len({forms[job][:2] for job in jobs}) > 1
        assert max(forms[job][2] for job in jobs) > 60.0
