"""The Slurm of tests and demonstrations leaves nothing behind, whatever ends it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from wattline.demo import slurm_cluster
from wattline.demo.slurm_cluster import SlurmCluster, why_not
from wattline.errors import RunError


def break_off(made: SlurmCluster, how: type[BaseException], daemons: list[subprocess.Popen[bytes]]) -> None:
    """Let a Slurm run with a job that works and one that stands still, and fail in the middle."""
    with made.running():
        daemons += made.daemons.values()
        jobs = [made.submit("sleep 100") for _ in range(2)]
        while [made.shown(job, "State") for job in jobs] != ["RUNNING"] * 2:
            time.sleep(0.05)
        made.command("scancel", "--full", "--signal=STOP", jobs[0])
        raise how


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
@pytest.mark.parametrize("how", [KeyboardInterrupt, RunError])
def test_everything_is_ended_whatever_happens(how: type[BaseException]) -> None:
    """Ctrl-C or a failure ends all daemons, and jobs that run or stand still."""
    with tempfile.TemporaryDirectory(prefix="wattline-slurm-") as folder:
        made = SlurmCluster(Path(folder), nodes=2, held_at_entry=False)
        shell = subprocess.Popen(["sleep", "100"], env={**os.environ, "SLURM_CONF": str(made.conf)})
        try:
            with pytest.raises(how):
                break_off(made, how, daemons := [])
            assert len(daemons) == 4
            assert all(process.poll() is not None for process in daemons)
            assert made.left() == []
            assert shell.poll() is None, "somebody's program that was told of the cluster is not the cluster's"
        finally:
            shell.kill()
            shell.wait()


def test_without_slurm_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Slurm is not installed nothing is started, and the reason names what is missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(slurm_cluster, "SYSTEM_PATH", str(tmp_path))
    assert "munged" in why_not()
    with pytest.raises(RunError, match="apt-get install"), SlurmCluster(tmp_path / "slurm").running():
        pass
    assert not (tmp_path / "slurm").exists()


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
@pytest.mark.parametrize("name", ["with a blank", "a=b", "n" * 120])
def test_a_folder_in_which_no_slurm_can_live_is_refused(tmp_path: Path, name: str) -> None:
    """Slurm's daemons would end by themselves, without a word on the terminal."""
    made = SlurmCluster(tmp_path / name)
    with pytest.raises(RunError, match=r"take no folder|too long for a socket"), made.running():
        pass
    assert not (tmp_path / name).exists()
