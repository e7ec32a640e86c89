"""Wattline on a real Slurm: jobs start where they are told, nothing is lost whoever acts, nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wattline.demo.slurm_cluster import SlurmCluster
from wattline.live.agent.local import SlurmProcesses
from wattline.live.machine.base import Form, JobSeen, ManagerError, Phase
from wattline.live.machine.slurm.commands import Commands
from wattline.live.machine.slurm.manager import SlurmManager
from wattline.live.machine.slurm.rules import Rules
from wattline.testing.managers import CHECKS, check_manager, requeues

PATIENCE_S = 20.0


@pytest.fixture
def manager(cluster: SlurmCluster) -> Iterator[SlurmManager]:
    """A manager of the shared Slurm; jobs of a test are gone after it."""
    yield opened(cluster)
    cluster.cancel_all()


def opened(cluster: SlurmCluster, **rules: object) -> SlurmManager:
    """Return a manager as a controller that starts has it."""
    return SlurmManager(Commands(cluster.conf, timeout_s=10.0), Rules(stop_again_s=0.0, **rules))  # type: ignore[arg-type]


def until(manager: SlurmManager, job: str, *phases: Phase) -> JobSeen:
    """Return a job once it is in a phase."""
    end = time.monotonic() + PATIENCE_S
    while True:
        found = [seen for seen in manager.snapshot().jobs if seen.id == job]
        if found and found[0].phase in phases:
            return found[0]
        assert time.monotonic() < end, f"job {job} is {found}, not {phases}"
        time.sleep(0.05)


def wait(ready: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


def run(manager: SlurmManager, job: str, *on: str) -> JobSeen:
    """Let a job run on nodes."""
    until(manager, job, "waiting")
    assert manager.release(job, on) is None
    return until(manager, job, "running")


def test_slurm_conforms(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """Slurm passes the checks that every resource manager must pass."""
    checks = [check for check in CHECKS if check is not requeues]  # its own test does not wait as often
    made = lambda nodes, seconds: cluster.submit(f"sleep {seconds}", nodes=nodes)  # noqa: E731
    report = check_manager(manager, made, patience_s=PATIENCE_S, moment_s=1.6, checks=checks)
    assert [row for row in report.rows if not row.passed] == []


def test_jobs_run_on_the_nodes_that_are_named(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """Jobs that are released together run on the nodes that were named for each, tasks of arrays too."""
    wide = cluster.submit("sleep 20", nodes=3)
    many = cluster.submit("sleep 20", "--array=1-2")
    cpus = cluster.submit("sleep 20", "-n", "8", nodes=0)
    names = {wide: ["n12", "n05", "n07"], f"{many}_1": ["n11"], f"{many}_2": ["n03"], cpus: ["n08", "n10"]}
    for job in names:
        until(manager, job, "waiting")
    for job, on in names.items():
        assert manager.release(job, on) is None
    for job, on in names.items():
        assert sorted(until(manager, job, "running").on) == sorted(on)


def test_a_stopped_job_keeps_its_nodes_and_its_time(
    cluster: SlurmCluster, manager: SlurmManager, tmp_path: Path
) -> None:
    """A stopped job does nothing and keeps its nodes; its limit grows; a controller started anew lets it go on."""
    lines = tmp_path / "lines"
    job = cluster.submit(f"while sleep 0.1; do echo x >> {lines}; done", "-t", "10")
    run(manager, job, "n06")
    wait(lines.exists)
    assert manager.stop(job) is None
    assert until(manager, job, "paused").on == ("n06",)
    size = lines.stat().st_size
    other = cluster.submit("true")
    until(manager, other, "waiting")
    assert manager.release(other, ["n06"]) is None
    time.sleep(1.5)
    assert (lines.stat().st_size - size) <= 2
    anew = opened(cluster)
    seen = until(anew, job, "paused")
    assert (seen.ours, seen.on) == (True, ("n06",))
    assert until(anew, other, "starting").on == ("n06",)  # the nodes are not given away
    assert SlurmProcesses().continue_all("n05") == 0
    assert SlurmProcesses().continue_all("n06") == 1  # the agent of its node, when nobody leads it any more
    wait(lambda: lines.stat().st_size > size + 6)
    assert anew.cont(job) is None
    assert until(anew, job, "running").request_s == 660.0


def test_a_moldable_job_is_given_its_configuration(
    cluster: SlurmCluster, manager: SlurmManager, tmp_path: Path
) -> None:
    """Nodes, time limit and cores are those that were chosen; whoever comes later knows what the job asked for."""
    told = tmp_path / "told"
    tmp_path.chmod(0o777)
    job = cluster.submit(
        f"echo $SLURM_JOB_NUM_NODES $WATTLINE_CORES $WATTLINE_CPU_CAP_W >> {told}; sleep 60", "-t", "7"
    )
    assert (until(manager, job, "waiting").nodes, manager.abilities.molds) == (1, True)
    form = Form(cores=3, cap_w=65.0, limit_s=1000.0)
    assert manager.release(job, ["n09", "n02", "n11"], form) is None
    assert sorted(until(manager, job, "running").on) == ["n02", "n09", "n11"]
    wait(lambda: told.exists() and told.read_text() != "")
    assert told.read_text() == "3 3 65\n"
    assert cluster.shown(job, "TimeLimit") == "17:00"
    assert manager.requeue(job) is None
    later = opened(cluster)
    again = until(later, job, "waiting")
    assert (again.nodes, again.request_s) == (1, 420.0)
    assert later.release(job, ["n05"]) is None
    assert until(later, job, "running").on == ("n05",)
    assert cluster.shown(job, "TimeLimit") == "7:00"
    wide = cluster.submit("sleep 60", nodes=11)  # eleven tasks do not fit on one node of four CPUs
    until(later, wide, "waiting")
    assert later.release(wide, ["n07"], form) is None
    assert until(later, wide, "running").on == ("n07",)


def test_a_requeued_job_waits_and_runs_again(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A job that is requeued by us, by others or because its node failed is no phantom: it may not start for some
    seconds, then waits under our hold, and runs again where it is told.
    """
    places = {
        cluster.submit("sleep 30"): (first, then) for first, then in (("n02", "n04"), ("n09", "n10"), ("n12", "n01"))
    }
    ours, others, _ = places
    for job, (first, _) in places.items():
        run(manager, job, first)
    assert manager.requeue(ours) is None
    assert manager.requeue(ours) is None
    cluster.command("scontrol", "requeue", others)
    cluster.command("scontrol", "update", "nodename=n12", "state=down", "reason=power supply")
    for job in places:
        assert until(manager, job, "ineligible").on == ()
    for job, (_, then) in places.items():
        until(manager, job, "waiting")
        assert cluster.shown(job, "Reason") == "JobHeldAdmin"
        assert run(manager, job, then).on == (then,)
    wait(
        lambda: {node.name: node.up for node in manager.snapshot().nodes}["n12"]
    )  # its slurmd lives: Slurm takes it back


def test_users_may_cancel_and_hold(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A held job that its user cancels has ended; a hold of his own keeps it from us, its end gives it to us."""
    mine, his = cluster.submit("true"), cluster.submit("true", "-H")
    until(manager, mine, "waiting")
    assert until(manager, his, "ineligible").reason == "JobHeldUser"
    cluster.command("scancel", mine)
    assert until(manager, mine, "ended").reason == "Cancelled"
    cluster.command("scontrol", "release", his)
    until(manager, his, "waiting", "running", "ended")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to submit as another user")
def test_a_user_cannot_release_a_job_under_our_hold(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """Once a controller has seen his job its user cannot release it, by any word of Slurm; it waits on. One that he
    releases before is Slurm's: it runs, is counted, and is not ours to stop.
    """

    def as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, env=cluster.environment, cwd="/", user=65534, capture_output=True, text=True)

    submit = ("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 30")
    early = as_nobody(*submit).stdout.strip()
    assert as_nobody("scontrol", "release", early).returncode == 0
    wait(lambda: cluster.shown(early, "State") == "RUNNING")
    assert not until(manager, early, "running").ours
    job = as_nobody(*submit).stdout.strip()
    try:
        assert until(manager, job, "waiting").user == "nobody"
        for words in (("release", job), ("release", f"name={cluster.shown(job, 'Name')}"), ("uhold", job)):
            as_nobody("scontrol", *words)
        refused = as_nobody("scontrol", "release", job)
        assert (refused.returncode, "denied" in refused.stderr) == (1, True), refused
        as_nobody("scontrol", "top", job)
        as_nobody("scontrol", "requeue", job)
        time.sleep(2.5)  # Slurm looks at its queue once a second
        assert (cluster.shown(job, "State"), cluster.shown(job, "PriorityLong")) == ("PENDING", "0")
        assert cluster.shown(job, "Reason") == "JobHeldAdmin"
        assert until(manager, job, "waiting").ours
    finally:
        for one in (early, job):
            as_nobody("scancel", one)
        for one in (early, job):
            until(manager, one, "ended")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to submit as another user")
def test_a_user_cannot_undo_our_hold(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """Another user's job is held for us: he can neither release it nor write our marks, but he can cancel it."""

    def as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, env=cluster.environment, cwd="/", user=65534, capture_output=True, text=True)

    job = as_nobody("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 30").stdout.strip()
    assert until(manager, job, "waiting").user == "nobody"
    assert as_nobody("scontrol", "release", job).returncode != 0
    assert as_nobody("scontrol", "update", f"jobid={job}", "admincomment=wattline=run").returncode != 0
    assert as_nobody("scontrol", "update", f"jobid={job}", "priority=100").returncode != 0
    assert as_nobody("scontrol", "update", f"jobid={job}", "nice=10").returncode != 0  # it would end the hold
    assert until(manager, job, "waiting").ours
    assert cluster.shown(job, "Reason") == "JobHeldAdmin"
    assert as_nobody("scancel", job).returncode == 0
    assert until(manager, job, "ended").reason == "Cancelled"


def test_another_comment_does_not_leave_a_job_held_for_ever(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A comment that is written right after the submission keeps our mark: the job is led, and its word is heard."""
    job = cluster.submit("true")
    cluster.command("scontrol", "update", f"jobid={job}", "comment=power_w=200")
    cluster.command("scontrol", "update", f"jobid={job}", "comment=power_w=210 held_for=wattline")
    assert cluster.shown(job, "Comment") == "power_w=210 held_for=wattline"
    cluster.command("scontrol", "update", f"jobid={job}", "comment=power_w=220")
    assert until(manager, job, "waiting").draw_w == 220.0
    assert manager.release(job, ["n01"]) is None
    assert until(manager, job, "ended").exit == 0


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to submit as another user")
def test_a_hold_of_the_user_stays_his(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """Under our hold his own is refused in words; once his job was given back it is his, also for the next ``off`` and
    the next controller, and so is one that he puts back into the queue and holds.
    """

    def as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, env=cluster.environment, cwd="/", user=65534, capture_output=True, text=True)

    job = as_nobody("sbatch", "--parsable", "-o", "/dev/null", "--begin=now+600", "--wrap", "sleep 30").stdout.strip()
    until(manager, job, "ineligible")
    refused = as_nobody("scontrol", "hold", job)
    assert (refused.returncode, "denied" in refused.stderr) == (1, True), refused
    assert manager.give_back()[job] is None
    assert as_nobody("scontrol", "hold", job).returncode == 0
    for _ in range(2):  # the second of each begins anew
        manager = opened(cluster)
        assert until(manager, job, "ineligible").reason == "JobHeldUser"
        assert job not in manager.give_back()
    as_nobody("scancel", job)
    job = as_nobody("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 30").stdout.strip()
    until(manager, job, "waiting")
    assert manager.release(job, ["n01"]) is None
    until(manager, job, "running")
    assert as_nobody("scontrol", "requeuehold", job).returncode == 0
    assert "held" in until(manager, job, "ineligible").reason
    assert job not in manager.give_back()
    assert until(manager, job, "ineligible").reason
    as_nobody("scancel", job)


def test_starts_by_others_are_seen_as_such(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A job that opted out is started by Slurm itself and is not ours; so is one that an administrator released."""
    out = cluster.submit("sleep 20", "--comment=wattline=off")
    seen = until(manager, out, "running")
    assert (seen.ours, len(seen.on)) == (False, 1)
    job = cluster.submit("sleep 20")
    until(manager, job, "waiting")
    cluster.command("scontrol", "release", job)
    assert not until(manager, job, "running").ours


def test_begin_times_and_dependencies(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A job with a begin time or a dependency waits for us only when it may start."""
    first = cluster.submit("true")
    later = cluster.submit("true", "--begin=now+3")
    after = cluster.submit("true", f"--dependency=afterok:{first}")
    until(manager, first, "waiting")
    assert until(manager, later, "ineligible").reason == "BeginTime"
    assert until(manager, after, "ineligible").reason == "Dependency"
    run_to_end = manager.release(first, ["n01"])
    assert run_to_end is None
    for job in (later, after):
        until(manager, job, "waiting")
        assert manager.release(job, ["n02"]) is None
        assert until(manager, job, "ended").exit == 0


def test_steps_and_partitions(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A job with a step is not stopped; a job is not pinned to nodes that its partition does not have."""
    job = cluster.submit("srun sleep 20", "-p", "small")
    until(manager, job, "waiting")
    assert manager.release(job, ["n09"]) == "nodes n09 are not in partition small"
    assert run(manager, job, "n03").partition == "small"
    wait(lambda: manager.commands.steps(job) != [])
    assert manager.stop(job) == "it has job steps (srun), which may be MPI"


def test_a_node_that_is_drained_and_back(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A drained node is not up, with its reason, and is up again when it was resumed."""

    def node() -> tuple[bool, str]:
        return next((n.up, n.reason) for n in manager.snapshot().nodes if n.name == "n11")

    cluster.command("scontrol", "update", "nodename=n11", "state=drain", "reason=new fan")
    assert node() == (False, "new fan")
    cluster.command("scontrol", "update", "nodename=n11", "state=resume")
    wait(lambda: node()[0])  # until it has answered


def test_interactive_and_heterogeneous_jobs_are_slurms_own(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """Held at submission as all are, they are given back to Slurm at once, run, and are never ours to stop."""
    words = ["srun", "--nodes=1", "sleep", "2"]
    manager.snapshot()
    with subprocess.Popen(words, env=cluster.environment, cwd="/", stderr=subprocess.DEVNULL) as interactive:
        both = cluster.command("sbatch", "--parsable", "-o", "/dev/null", "-n1", ":", "-n1", "--wrap", "sleep 2").stdout
        for part in ("+0", "+1"):
            seen = until(manager, both.strip() + part, "running")
            assert (seen.ours, seen.stoppable) == (False, False)
        wait(lambda: interactive.poll() is not None or manager.snapshot() is None)
        assert interactive.returncode == 0


def test_a_slurmctld_that_is_restarted_loses_nothing(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """While slurmctld is gone a look says so; afterwards jobs wait, run and stand still as before."""
    waits, runs, stands = (cluster.submit("sleep 30") for _ in range(3))
    until(manager, waits, "waiting")
    run(manager, runs, "n02")
    run(manager, stands, "n03")
    manager.stop(stands)
    until(manager, stands, "paused")
    wait(lambda: cluster.shown(stands, "State") == "STOPPED")
    cluster.end("slurmctld")
    manager.commands.timeout_s = 0.6
    with pytest.raises(ManagerError):
        manager.snapshot()
    with pytest.raises(ManagerError):
        manager.release(waits, ["n05"])
    manager.commands.timeout_s = 10.0
    cluster.start_controller()
    seen = {job.id: job for job in manager.snapshot().jobs}
    assert (seen[waits].phase, seen[runs].phase, seen[stands].phase) == ("waiting", "running", "paused")
    assert manager.cont(stands) is None
    assert run(manager, waits, "n05").on == ("n05",)


def test_without_munge_nothing_is_refused_and_nothing_lost(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """While munge is down Slurm does not answer us, which is no refusal; afterwards the job starts."""
    job = cluster.submit("sleep 5")
    until(manager, job, "waiting")
    cluster.end("munged")
    manager.commands.timeout_s = 1.0
    with pytest.raises(ManagerError):
        manager.snapshot()
    with pytest.raises(ManagerError):
        manager.release(job, ["n05"])
    manager.commands.timeout_s = 10.0
    cluster.start_munge()
    assert run(manager, job, "n05").on == ("n05",)


def test_users_change_their_held_jobs(cluster: SlurmCluster, manager: SlurmManager) -> None:
    """A job that is changed while it waits is shown, and started, as it is now; one that opts out is given back."""
    wide, out = cluster.submit("sleep 5", nodes=2), cluster.submit("sleep 5")
    until(manager, wide, "waiting")
    until(manager, out, "waiting")
    cluster.command("scontrol", "update", f"jobid={wide}", "numnodes=1", "timelimit=7")
    cluster.command("scontrol", "update", f"jobid={out}", "comment=wattline=off")
    seen = until(manager, wide, "waiting")
    assert (seen.nodes, seen.request_s) == (1, 420.0)
    assert run(manager, wide, "n09").on == ("n09",)
    assert not until(manager, out, "running").ours
