"""What the launcher does with jobs."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from served import FOREVER, alive, becomes, seen, served, state, submit_work, until, written

from wattline.live.clock import Clock
from wattline.live.machine.base import Form, Snapshot
from wattline.live.machine.launcher.client import LauncherClient, RefusedError
from wattline.testing.managers import (
    Trial,
    check_manager,
    gives_jobs_back,
    starts_them_where_it_is_told,
    stops_and_continues,
    tells_the_end,
)

Check = Callable[[Trial], None]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[LauncherClient]:
    """Serve four nodes."""
    with served(tmp_path / "run") as made:
        yield made


def record(client: LauncherClient, job: str) -> dict[str, object]:
    """Return what a job's file says."""
    found: dict[str, object] = json.loads((Path(client.path) / "jobs" / f"{job}.json").read_text())
    return found


def test_it_is_a_resource_manager(client: LauncherClient) -> None:
    """The launcher passes what is asked of every resource manager."""
    report = check_manager(client, submit_work(client), moment_s=0.2)
    assert report.ok, str(report)


def test_a_job_knows_its_nodes(client: LauncherClient, tmp_path: Path) -> None:
    """A job finds its number, its nodes, its folder and its variables; its output and exit code are kept."""
    shown = "echo $WATTLINE_JOB $WATTLINE_NODES $WATTLINE_NODE_LIST $MINE; pwd; exit 3"
    job = client.submit(
        ["sh", "-c", shown], 2, cwd=str(tmp_path), env={"MINE": "x"}, output="out-%j", kind="k", draw_w=300.0
    )
    assert client.release(job, ["n3", "n1"]) is None
    ended = becomes(client, job, "ended")
    assert (ended.exit, ended.kind, ended.draw_w) == (3, "k", 300.0)
    assert (tmp_path / f"out-{job}").read_text().splitlines() == [f"{job} 2 n3,n1 x", str(tmp_path)]


def test_a_job_knows_the_configuration_it_was_given(client: LauncherClient, tmp_path: Path) -> None:
    """Released in a form, a job has the nodes it was given, knows its cores, and ends when that form's time is over;
    requeued, it is again as it asked.
    """
    told = tmp_path / "told"
    script = f'echo "$WATTLINE_NODES $WATTLINE_CORES $WATTLINE_CPU_CAP_W" >> {told}; sleep 60'
    job = client.submit(["sh", "-c", script], 1, request_s=50.0)
    assert client.release(job, ["n1", "n2", "n3"], Form(cores=8, cap_w=65.0, limit_s=40.0)) is None
    becomes(client, job, "running")
    until(told.exists)
    assert client.requeue(job) is None
    becomes(client, job, "waiting")
    assert client.release(job, ["n1", "n2"]) == f"job {job} asks for 1 nodes, was given 2"
    assert client.release(job, ["n1", "n2"], Form(cores=4, cap_w=80.0, limit_s=0.5)) is None
    ended = becomes(client, job, "ended")
    assert (ended.reason, told.read_text().splitlines()) == ("TimeLimit", ["3 8 65", "2 4 80"])
    with pytest.raises(RefusedError, match="expected cores"):
        client.ask("release", job=job, nodes=["n1"], form={"cores": 1.5, "cap_w": 1})


def test_what_cannot_be_executed_ends_with_127(client: LauncherClient) -> None:
    """A program that does not exist is a job that failed, and its output says why."""
    job = client.submit(["no-such-program"])
    client.release(job, ["n1"])
    assert becomes(client, job, "ended").exit == 127
    assert "no-such-program: No such file" in (Path(client.path) / "out" / f"{job}.out").read_text()


def test_a_stop_reaches_all_processes_of_the_group(client: LauncherClient) -> None:
    """Children of a job are stopped and continued with it, and none is left when it ends."""
    job = client.submit(["sh", "-c", "sleep 1000 & sleep 1000 & echo $! $$; wait"])
    client.release(job, ["n1"])
    out = Path(client.path) / "out" / f"{job}.out"
    pids = [int(pid) for pid in written(out)[0].split()]
    assert client.stop(job) is None
    until(lambda: {state(pid) for pid in pids} == {"T"})
    assert record(client, job)["phase"] == "paused"
    assert client.cont(job) is None
    until(lambda: {state(pid) for pid in pids} == {"S"})
    client.cancel(job)
    assert becomes(client, job, "ended").reason == "Cancelled"
    until(lambda: not any(map(state, pids)))


def test_a_job_that_leaves_children_behind_takes_them_along(client: LauncherClient) -> None:
    """What a job leaves running in its group ends with it."""
    job = client.submit(["sh", "-c", "sleep 1000 & echo $!"])
    client.release(job, ["n1"])
    assert becomes(client, job, "ended").exit == 0
    pid = int(written(Path(client.path) / "out" / f"{job}.out")[0])
    until(lambda: not state(pid))


def test_stopped_time_is_not_walltime(tmp_path: Path) -> None:
    """A job is ended after its walltime, without the time in which it was stopped."""
    with served(tmp_path, clock=Clock(speed=20.0)) as client:
        job = client.submit(FOREVER, request_s=10.0)
        client.release(job, ["n1"])
        becomes(client, job, "running")
        client.stop(job)
        stopped = client.snapshot().time_s
        time.sleep(1.0)  # 20 s of the machine, twice what it asked for
        assert seen(client, job).phase == "paused"
        paused_s = client.snapshot().time_s - stopped  # at least: it was stopped before, and is continued after
        client.cont(job)
        ended = becomes(client, job, "ended")
        assert (ended.reason, ended.exit) == ("TimeLimit", 143)
        assert ended.end_s - ended.start_s >= 10.0 + paused_s - 1.0
        assert client.counts()["counts"].get("killed", 0) == 0


def test_who_does_not_listen_is_killed(tmp_path: Path) -> None:
    """A job that ignores SIGTERM is killed after the grace period."""
    with served(tmp_path, grace=0.1) as client:
        job = client.submit(["sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.05; done"])
        client.release(job, ["n1"])
        written(Path(client.path) / "out" / f"{job}.out")
        client.stop(job)
        client.cancel(job)
        assert becomes(client, job, "ended").exit == 137


def test_jobs_wait_for_their_time_and_for_others(tmp_path: Path) -> None:
    """A begin time and jobs to come after make a job ineligible until then."""
    with served(tmp_path, clock=Clock(speed=20.0)) as client:
        late = client.submit(["true"], begin_s=client.snapshot().time_s + 6.0)
        first = client.submit(["true"])
        second = client.submit(["true"], after=[first])
        assert (seen(client, late).reason, seen(client, second).reason) == ("BeginTime", "Dependency")
        assert client.release(late, ["n1"]) == f"job {late} may not start yet (BeginTime)"
        client.release(first, ["n1"])
        becomes(client, second, "waiting")
        becomes(client, late, "waiting")
        with pytest.raises(RefusedError, match="no job has this number"):
            client.submit(["true"], after=["77"])


@pytest.mark.parametrize("phase", ["waiting", "running", "paused"])
def test_a_job_is_cancelled_whatever_it_does(client: LauncherClient, phase: str) -> None:
    """Waiting, running and stopped jobs end when they are cancelled, and their node is free."""
    job = client.submit(FOREVER)
    if phase != "waiting":
        client.release(job, ["n1"])
        becomes(client, job, "running")
    if phase == "paused":
        client.stop(job)
    for _ in range(2):
        assert client.cancel(job) is None
    assert becomes(client, job, "ended").reason == "Cancelled"
    other = client.submit(["true"])
    assert client.release(other, ["n1"]) is None
    becomes(client, other, "ended")


def test_nothing_starts_on_a_drained_node(client: LauncherClient) -> None:
    """A drained node keeps its job and takes no other until it is resumed."""
    job = client.submit(FOREVER)
    client.release(job, ["n1"])
    assert client.drain("n1", "bad fan") is None
    assert [(node.up, node.reason) for node in client.snapshot().nodes][:2] == [(False, "bad fan"), (True, "")]
    becomes(client, job, "running")
    client.requeue(job)
    becomes(client, job, "waiting")
    assert client.release(job, ["n1"]) == f"job {job} node n1 is drained (bad fan)"
    assert client.resume_node("n1") is None
    assert client.release(job, ["n1"]) is None
    assert client.drain("n9") == "node 'n9' does not exist"


def test_ended_jobs_are_told_until_they_are_acknowledged(tmp_path: Path) -> None:
    """Who acknowledges gets each end once; then the job is forgotten, and nothing of it stays on the disk."""
    with served(tmp_path / "run", keep_ended=0.3, keep_unseen=3600.0) as onlooker:
        controller = LauncherClient(onlooker.path, acknowledge=True)
        job = onlooker.submit(["true"])
        onlooker.release(job, ["n1"])
        becomes(onlooker, job, "ended")
        assert [one.phase for one in controller.snapshot().jobs] == ["ended"]
        assert [one.phase for one in onlooker.snapshot().jobs] == ["ended"]
        assert controller.snapshot().jobs == ()
        assert onlooker.snapshot().jobs == ()
        until(lambda: not list((tmp_path / "run").glob("*/*")))
        assert onlooker.cancel(job) == f"job {job} does not exist any more"
        assert onlooker.submit(["true"]) != job
        controller.close()


def test_a_stop_by_others_is_seen(client: LauncherClient) -> None:
    """The launcher tells the truth about jobs that somebody else has stopped or continued."""
    job = client.submit(FOREVER)
    client.release(job, ["n1"])
    becomes(client, job, "running")
    pgid = int(str(record(client, job)["pgid"]))
    os.killpg(pgid, signal.SIGSTOP)
    becomes(client, job, "paused")
    os.killpg(pgid, signal.SIGCONT)
    becomes(client, job, "running")
    assert alive(pgid, int(str(record(client, job)["start_ticks"])))


def test_a_program_may_stand_before_the_command(tmp_path: Path) -> None:
    """A node's exec stands before a job's command, or gets it whole as a word for a shell: that cannot be stopped."""
    nodes = [{"names": "a", "exec": "env ON={node}"}, {"names": "b", "exec": "sh -c {command}"}]
    with served(tmp_path, nodes) as client:
        here = client.submit(["sh", "-c", "echo $ON '1  2'"])
        there = client.submit(["sh", "-c", "echo $WATTLINE_JOB '1  2' $IT; sleep 1000"], env={"IT": "a b"})
        client.release(here, ["a"])
        client.release(there, ["b"])
        assert written(tmp_path / "out" / f"{here}.out") == ["a 1  2"]
        assert written(tmp_path / "out" / f"{there}.out") == [f"{there} 1  2 a b"]
        assert not seen(client, there).stoppable
        assert client.stop(there) == f"job {there} cannot be stopped: signals do not reach its nodes"


class Deaf(LauncherClient):
    """Says that it stops jobs, and does not."""

    def stop(self, job: str) -> str | None:
        """Do nothing."""
        return None


class Forgetful(LauncherClient):
    """Never tells of a job that has ended."""

    def snapshot(self) -> Snapshot:
        """Leave out what has ended."""
        found = super().snapshot()
        return replace(found, jobs=[job for job in found.jobs if job.phase != "ended"])


class Stubborn(LauncherClient):
    """Starts jobs where it likes."""

    def release(self, job: str, on: Sequence[str]) -> str | None:
        """Take other nodes."""
        return super().release(job, ["n4", "n3"][: len(on)])


class Boastful(LauncherClient):
    """Says that it starts jobs that are left, and does not."""

    def leave(self, job: str, why: str) -> str | None:
        """Do nothing."""
        return None


class Slow(LauncherClient):
    """A manager that takes its time to tell."""

    def snapshot(self) -> Snapshot:
        """Think about it first."""
        time.sleep(0.2)
        return super().snapshot()


def test_jobs_that_are_over_too_early_are_tried_again_longer(client: LauncherClient) -> None:
    """Where a job ends before the check is through with it, the check is made again with jobs twice as long."""
    worked: list[float] = []

    def submit(nodes: int, seconds: float) -> str:
        worked.append(seconds)
        return client.submit(["sleep", str(seconds)], nodes)

    slow = Slow(client.path)
    report = check_manager(slow, submit, moment_s=0.1, checks=(starts_them_where_it_is_told,))
    slow.close()
    assert report.ok, str(report)
    assert len(worked) > 1
    assert worked == [0.1 * 2**doubled for doubled in range(len(worked))]


@pytest.mark.parametrize(
    ("manager", "check"),
    [
        (Deaf, stops_and_continues),
        (Forgetful, tells_the_end),
        (Stubborn, starts_them_where_it_is_told),
        (Boastful, gives_jobs_back),
    ],
)
def test_a_manager_that_lies_is_found_out(client: LauncherClient, manager: type[LauncherClient], check: Check) -> None:
    """The conformance check fails for a manager that does not stop, forgets, places jobs elsewhere, or leaves none."""
    liar = manager(client.path)
    report = check_manager(liar, submit_work(client), patience_s=0.3, moment_s=0.1, checks=(check,))
    liar.close()
    assert not report.ok
    assert "CheckError" in str(report)
