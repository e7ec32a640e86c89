"""Agents let stopped jobs of Slurm go on when nobody leads their node any more, whether Slurm answers or not."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wattline.live.agent.local import ProcessGroups, SlurmProcesses, open_local


def state(pid: int) -> str:
    """Return the state of a process: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def becomes(pid: int, word: str) -> bool:
    """Wait until a process is in a state."""
    end = time.monotonic() + 5.0
    while state(pid) != word and time.monotonic() < end:
        time.sleep(0.01)
    return state(pid) == word


@pytest.fixture
def processes() -> Iterator[dict[str, int]]:
    """Stopped processes: of a job on n1, of one on n2, and of no job at all."""
    told = {
        "here": {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1"},
        "there": {"SLURM_JOB_ID": "8", "SLURMD_NODENAME": "n2"},
        "none": {"SLURMD_NODENAME": "n1"},
    }
    made = {name: subprocess.Popen(["sleep", "60"], env={**os.environ, **more}) for name, more in told.items()}
    for process in made.values():
        process.send_signal(signal.SIGSTOP)
        assert becomes(process.pid, "T")
    yield {name: process.pid for name, process in made.items()}
    for process in made.values():
        process.kill()
        process.wait()


def test_only_jobs_of_the_node_go_on(processes: dict[str, int]) -> None:
    """Stopped processes of the node's own jobs go on; those of other nodes and of no job stay as they are."""
    assert SlurmProcesses().continue_all("n1") == 1
    assert becomes(processes["here"], "S")
    assert (state(processes["there"]), state(processes["none"])) == ("T", "T")
    assert SlurmProcesses().continue_all("n1") == 0


def test_the_agents_file_says_whose_jobs(tmp_path: Path) -> None:
    """A folder is the launcher's, the word slurm means Slurm, nothing means nobody."""
    assert isinstance(open_local("slurm"), SlurmProcesses)
    assert isinstance(open_local(tmp_path), ProcessGroups)
    assert open_local(None) is None


def test_jobs_are_found_by_their_control_group_where_environments_are_not_to_be_read(tmp_path: Path) -> None:
    """Stopped processes in a group of a Slurm job go on; others stay as they are."""
    groups = ["0::/system.slice/slurmstepd.scope/job_17/step_batch/user/task_0\n", "0::/user.slice/job_notes\n"]
    sleepers = [subprocess.Popen(["sleep", "60"]) for _ in groups]
    try:
        for sleeper, group in zip(sleepers, groups, strict=True):
            sleeper.send_signal(signal.SIGSTOP)
            folder = tmp_path / str(sleeper.pid)
            (folder / "environ").mkdir(parents=True)  # cannot be read
            (folder / "stat").write_text(f"{sleeper.pid} (sleep) T 1")
            (folder / "cgroup").write_text(group)
            assert becomes(sleeper.pid, "T")
        assert SlurmProcesses(tmp_path).continue_all("n1") == 1
        assert becomes(sleepers[0].pid, "S")
        assert state(sleepers[1].pid) == "T"
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
