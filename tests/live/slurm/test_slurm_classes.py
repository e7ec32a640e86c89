"""A real Slurm with partitions and nodes of two classes: jobs run where they can be, and count as their nodes do."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from slurm_run import SlurmRun, leading

from wattline.demo.slurm_cluster import SlurmCluster, why_not
from wattline.live.machine.slurm.text import hosts
from wattline.model.cluster import Cluster, NodeClass

FAT, THIN = NodeClass("fat", 2, 200.0, 900.0), NodeClass("thin", 4, 100.0, 400.0)
FAST_S = 0.3


def go(run: SlurmRun, until: Callable[[], bool]) -> None:
    """Let the controller turn until something is so."""
    end = time.monotonic() + 40.0
    while not until():
        assert time.monotonic() < end, (run.phases(), run.said[-5:], run.told[-8:])
        run.turn()
        time.sleep(FAST_S)


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "never")
def test_jobs_run_on_nodes_of_their_class_that_suit_them() -> None:
    """Memory, generic resources, excluded nodes and partitions decide where a job runs, and it runs at the first try.

    Slurm's BadConstraints about nodes that were named before is not the end of a job.
    A job that no class has room for is given back with the reason; it runs across classes, its nodes are taken and
    counted by class.
    """
    with tempfile.TemporaryDirectory(prefix="wattline-slurm-") as folder:
        slurm = SlurmCluster(
            Path(folder),
            nodes=6,
            classes=((2, "RealMemory=8000 Gres=fpga:2"),),
            partitions=("PartitionName=big Nodes=n[1-2] OverSubscribe=EXCLUSIVE",),
        )
        with slurm.running(), leading(slurm, limit=10.0, machine=Cluster((FAT, THIN))) as run:
            asks = {
                "memory": (("--mem=6000",), {"n1", "n2"}),
                "fpga": (("--gres=fpga:1",), {"n1", "n2"}),
                "cpus": (("--mem-per-cpu=900", "-n", "4"), set(slurm.names)),
                "excludes": (("--exclude=n1,n3,n5",), {"n2", "n4", "n6"}),
                "both": (("--mem=6000", "--exclude=n1"), {"n2"}),
                "partition": (("-p", "big"), {"n1", "n2"}),
            }
            jobs = {name: run.submit(1.0, 1, *options)[0] for name, (options, _) in asks.items()}
            go(run, run.over)
            for name, (_, fits) in asks.items():
                ((on, _),) = run.lines(jobs[name], "begin")
                assert set(hosts(on)) <= fits, name
            assert [one.what for one in run.told] == ["release"] * len(jobs)
            (wide,) = run.submit(3.0, 5)
            go(run, lambda: any(job.id == f"{wide}+thin" for job in run.controller.mirror.seen.values()))
            assert [(one.what, one.note) for one in run.told if one.job == wide] == [
                ("leave", "it asks for 5 nodes, class 'thin' has 4")
            ]
            run.turn()
            on = [job.on for job in run.controller.mirror.seen.values() if job.id.startswith(wide)]
            fat = sum(name in ("n1", "n2") for part in on for name in part)
            free_w = (2 - fat) * 200.0 + (4 - (5 - fat)) * 100.0
            assert run.controller.caps.modelled_w == pytest.approx(fat * 900.0 + (5 - fat) * 400.0 + free_w)
            go(run, run.over)
            commands = run.controller.manager.commands  # type: ignore[attr-defined]
            (bad,) = run.submit(1.0, 1, "--gres=fpga:1")  # an earlier version of us named n5 for it
            assert commands.update(bad, reqnodelist="n5", admincomment="wattline=run") is None
            assert commands.release(bad) is None
            until = time.monotonic() + 20.0
            while slurm.shown(bad, "Reason") != "BadConstraints":
                assert time.monotonic() < until
                time.sleep(0.1)
            run.controller.bus.close()
            run.controller = run.start()
            run.turn()
            assert slurm.shown(bad, "Reason") == "JobHeldAdmin"
            go(run, run.over)
            assert set(hosts(run.lines(bad, "begin")[0][0])) <= {"n1", "n2"}
        assert slurm.left() == []
