"""The launcher loses nothing when it, its helpers or its disk fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import FOREVER, Process, alive, becomes, seen, served, state, until, written

from wattline.errors import InputError
from wattline.live.machine.base import ManagerError
from wattline.live.machine.launcher.client import LauncherClient, RefusedError
from wattline.live.machine.launcher.processes import end_strays, look, signal_group
from wattline.live.machine.launcher.store import Store


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Process]:
    """Serve in a process of its own."""
    made = Process(tmp_path / "run")
    yield made
    made.end()


def record(folder: Path, job: str) -> dict[str, int]:
    """Return what a job's file says."""
    found: dict[str, int] = json.loads((folder / "jobs" / f"{job}.json").read_text())
    return found


def test_a_killed_launcher_finds_its_jobs_again(launcher: Process) -> None:
    """Killed at its worst and started again, it has every job as it was: waiting, running, stopped, ended meanwhile."""
    client = launcher.client
    waits = client.submit(["true"])
    runs, stopped, ends = (client.submit(["sh", "-c", f"echo on; exec sleep {s}; "]) for s in ("1000", "1000", "0.5"))
    for job, node in ((runs, "n1"), (stopped, "n2"), (ends, "n3")):
        client.release(job, [node])
        becomes(client, job, "running")
    client.stop(stopped)
    client.drain("n4", "why")
    before = {job: record(launcher.folder, job)["pgid"] for job in (runs, stopped, ends)}
    until(lambda: state(before[stopped]) == "T")
    launcher.kill()
    until((launcher.folder / "jobs" / f"{ends}.1.exit").exists)
    launcher.start()
    phases = {one.id: one.phase for one in client.snapshot().jobs}
    assert phases == {waits: "waiting", runs: "running", stopped: "paused", ends: "ended"}
    assert seen(client, ends).exit == 0
    assert [node.up for node in client.snapshot().nodes] == [True, True, True, False]
    assert {job: record(launcher.folder, job)["pgid"] for job in before} == before
    assert client.release(waits, ["n1"]) == f"job {waits} node n1 is held by job {runs}"
    client.cont(stopped)
    until(lambda: state(before[stopped]) == "S")
    for job in (runs, stopped):
        client.cancel(job)
        assert becomes(client, job, "ended").exit == 143
    for job in (runs, stopped, ends):
        assert len(written(launcher.folder / "out" / f"{job}.out")) == 1


def test_a_job_continued_while_the_launcher_was_dead_runs(launcher: Process) -> None:
    """Who continues what was stopped by the numbers in its file is believed by the next launcher."""
    job = launcher.client.submit(FOREVER)
    launcher.client.release(job, ["n1"])
    becomes(launcher.client, job, "running")
    launcher.client.stop(job)
    found = record(launcher.folder, job)
    until(lambda: state(found["pgid"]) == "T")
    launcher.kill()
    assert signal_group(found["pgid"], found["start_ticks"], signal.SIGCONT)
    launcher.start()
    becomes(launcher.client, job, "running")


@pytest.mark.parametrize(
    ("place", "answers"),
    [
        ("spawn", "Starter.ask = lambda self, do, run, **w: die() if do == 'spawn' else ask(self, do, run, **w)"),
        ("hear", "Lives.hear = lambda self, said: die()"),
        ("go", "Starter.ask = lambda self, do, run, **w: die() if do == 'go' else ask(self, do, run, **w)"),
    ],
)
def test_a_release_outlives_the_launcher(tmp_path: Path, place: str, answers: str) -> None:
    """A job that was released is started by the next launcher, once, wherever the one before was killed: it never waits
    to be released a second time.
    """
    dies = (
        "import os; from wattline.live.machine.launcher.starter import Starter; ask = Starter.ask\n"
        "from wattline.live.machine.launcher.lives import Lives; die = lambda: os.kill(os.getpid(), 9)\n" + answers
    )
    launcher = Process(tmp_path / "run", extra=dies)
    client = launcher.client
    job = client.submit(["sh", "-c", "echo on"])
    if place == "spawn":  # it dies before it answers
        with pytest.raises(ManagerError):
            client.release(job, ["n1"])
    else:
        assert client.release(job, ["n1"]) is None
    launcher.process.wait(20)
    assert record(launcher.folder, job)["phase"] == ("running" if place == "go" else "starting")
    launcher.program = launcher.program.replace(dies, "")
    launcher.start()
    assert becomes(client, job, "ended").exit == 0
    assert client.counts()["counts"]["started"] == 1
    assert written(launcher.folder / "out" / f"{job}.out") == ["on"]
    assert not list((launcher.folder / "jobs").glob("*.exit"))
    launcher.end()


def test_another_process_with_the_same_number_is_never_signalled(tmp_path: Path) -> None:
    """A pid that was given to somebody else meanwhile is left alone."""
    with served(tmp_path / "run") as client:
        job = client.submit(FOREVER)
        client.release(job, ["n1"])
        becomes(client, job, "running")
        client.shutdown("cancel")
    path = tmp_path / "run" / "jobs" / f"{job}.json"
    old = json.loads(path.read_text())
    with subprocess.Popen(FOREVER, start_new_session=True) as innocent:
        try:
            until(lambda: os.getpgid(innocent.pid) == innocent.pid)
            numbers = {"pgid": innocent.pid, "keeper": innocent.pid, "phase": "paused", "reason": ""}
            path.write_text(json.dumps({**old, **numbers}))
            with served(tmp_path / "run") as client:
                for command in (client.cont, client.stop, client.cancel):
                    command(job)
                ended = becomes(client, job, "ended")
                assert (ended.exit, "not known" in ended.reason) == (None, True)
            for number in (signal.SIGKILL, signal.SIGSTOP):
                assert not signal_group(innocent.pid, old["start_ticks"], number)
            assert end_strays(innocent.pid, innocent.pid, old["start_ticks"]) == 0
            assert innocent.poll() is None
            assert state(innocent.pid) == "S"
        finally:
            innocent.kill()


def test_jobs_of_another_life_of_the_machine_wait_again(tmp_path: Path) -> None:
    """After a restart of the machine, jobs that ran are queued, whatever has their numbers now."""
    with served(tmp_path) as client:
        job = client.submit(FOREVER)
        client.release(job, ["n1"])
        becomes(client, job, "running")
        client.shutdown("cancel")
    path = tmp_path / "jobs" / f"{job}.json"
    for phase in ("running", "starting"):
        old = json.loads(path.read_text())
        path.write_text(json.dumps({**old, "phase": phase, "nodes": ["n1"], "boot": "another", "end_s": None}))
        with served(tmp_path) as client:
            found = seen(client, job)
            assert (found.phase, found.reason) == ("waiting", "the machine was restarted while it ran")


def test_the_starter_and_keepers_may_die(tmp_path: Path) -> None:
    """Without its starter the launcher gets another; a job without its keeper is followed to its end."""
    with served(tmp_path / "run") as client:
        job = client.submit(["sh", "-c", "echo on; exec sleep 0.6"])
        client.release(job, ["n1"])
        written(tmp_path / "run" / "out" / f"{job}.out")
        found = record(tmp_path / "run", job)
        os.kill(found["keeper"], signal.SIGKILL)
        client.launcher._starter._process.kill()  # type: ignore[attr-defined]
        other = client.submit(["true"])
        client.release(other, ["n2"])
        assert becomes(client, other, "ended").exit == 0
        assert client.counts()["counts"]["starter_lost"] == 1
        ended = becomes(client, job, "ended")
        assert (ended.exit, "not known" in ended.reason) == (None, True)
        assert ended.end_s - ended.start_s > 0.5
        assert not alive(found["pgid"], found["start_ticks"])


def test_a_disk_that_cannot_be_written_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing can be written, nothing is taken, started or stopped, and a line says so; ends are kept in mind
    and written later.
    """
    with served(tmp_path / "run") as client:
        waits, runs, ends = client.submit(["true"]), client.submit(FOREVER), client.submit(["sleep", "0.3"])
        client.release(runs, ["n1"])
        client.release(ends, ["n2"])
        becomes(client, ends, "running")
        becomes(client, runs, "running")

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Store, "_write", full)
            with pytest.raises(RefusedError, match=r"its file cannot be written \(No space left on device\)"):
                client.submit(["true"])
            assert (
                client.stop(runs)
                == f"job {runs} cannot be stopped: its file cannot be written (No space left on device)"
            )
            assert (
                client.release(waits, ["n3"])
                == f"job {waits} cannot be started now (its file cannot be written: No space left on device)"
            )
            assert seen(client, waits).phase == "waiting"
            assert client.drain("n3") == "node n3: cannot be written down (No space left on device)"
            assert becomes(client, ends, "ended").exit == 0
            assert client.counts()["unsaved"] >= 1
            assert state(record(tmp_path / "run", runs)["pgid"]) in ("R", "S")
        until(lambda: client.counts()["unsaved"] == 0)
        assert record(tmp_path / "run", ends)["exit"] == 0
        assert client.release(waits, ["n3"]) is None
        assert becomes(client, waits, "ended").exit == 0
        assert len(client.snapshot().jobs) == 3


def test_a_run_directory_has_one_launcher_and_sound_files(tmp_path: Path) -> None:
    """A second launcher, a folder that others may write, and a file that is no job are refused in one line."""
    with (
        served(tmp_path / "run"),
        pytest.raises(InputError, match="another launcher has this run directory"),
        served(tmp_path / "run"),
    ):
        pass
    (tmp_path / "run/jobs/7.json").write_text("{")
    with pytest.raises(InputError, match=r"7\.json: is not the record of a job"), served(tmp_path / "run"):
        pass
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(InputError, match="others may write there"), served(tmp_path / "open"):
        pass
    with pytest.raises(InputError, match="a socket's path has at most 107 bytes"), served(tmp_path / ("x" * 120)):
        pass


def test_an_orderly_end_leaves_what_was_asked_for(launcher: Process) -> None:
    """SIGTERM leaves jobs running; a shutdown requeues them and leaves no process."""
    client = launcher.client
    job = client.submit(FOREVER)
    client.release(job, ["n1"])
    becomes(client, job, "running")
    found = record(launcher.folder, job)
    launcher.process.terminate()
    assert launcher.process.wait(20) == 0
    assert alive(found["pgid"], found["start_ticks"])
    assert alive(found["keeper"], found["keeper_ticks"])
    launcher.start()
    assert seen(client, job).phase == "running"
    client.shutdown()
    launcher.process.wait(20)
    assert not look(found["pgid"], found["start_ticks"])
    until(lambda: not look(found["keeper"], found["keeper_ticks"]))
    launcher.start()
    assert seen(client, job).phase == "waiting"


def test_an_idle_launcher_does_nothing(tmp_path: Path) -> None:
    """With a job that runs and one that waits, the launcher's process uses no processor time."""
    launcher = Process(tmp_path / "run")
    client: LauncherClient = launcher.client
    client.submit(["true"])
    job = client.submit(FOREVER)
    client.release(job, ["n1"])
    becomes(client, job, "running")

    def used() -> int:
        fields = Path(f"/proc/{launcher.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = used()
    time.sleep(0.5)
    assert used() - before <= 1
    launcher.end()
