"""The end of a demonstration is not disturbed: nothing that it started is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from wattline.demo.ending import ended_at_hang_up, undisturbed
from wattline.demo.slurm_cluster import SlurmCluster
from wattline.errors import RunError

SLOW = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), exit(0)))
print("up", flush=True)
time.sleep(60)
"""

ENDS = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from wattline.demo.run import Processes
made = Processes(Path(sys.argv[1]))
pids = []
try:
    with made.all_ended():
        for name in ("plant", "agents", "launcher"):
            out = open(f"{sys.argv[1]}/{name}.out", "w")
            made.running[name] = subprocess.Popen([sys.executable, "-c", sys.argv[2]], stdout=subprocess.PIPE)
            made.running[name].stdout.readline()
            pids.append(made.running[name].pid)
        for later_s in (0.2, 0.6):
            threading.Timer(later_s, os.kill, (os.getpid(), signal.SIGINT)).start()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    left = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    print("left", left, made.left)
"""


def test_ctrl_c_while_processes_are_ended_leaves_none(tmp_path: Path) -> None:
    """Whoever presses Ctrl-C again and again is told to wait a moment; all processes are ended in an orderly way."""
    done = subprocess.run([sys.executable, "-c", ENDS, str(tmp_path), SLOW], capture_output=True, text=True, timeout=60)
    assert done.stdout == "left [] []\n", done
    assert done.stderr.count("ending what was started") == 2


def test_signals_are_as_before_afterwards() -> None:
    """Only for as long as it takes."""
    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    before = [signal.getsignal(number) for number in numbers]
    with ended_at_hang_up(), undisturbed():
        assert all(signal.getsignal(number) != was for number, was in zip(numbers, before, strict=True))
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_hang_up_is_said_once_and_never_under_nohup() -> None:
    """SIGHUP is a SIGTERM, the first time; whoever began with it ignored goes on."""
    got: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
    try:
        with ended_at_hang_up():
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGHUP)
        assert got == [signal.SIGTERM]
        was = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with ended_at_hang_up():
            signal.raise_signal(signal.SIGHUP)
        assert got == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        signal.signal(signal.SIGHUP, was)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_slurm_that_does_not_answer_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails or takes too long is an error that names it, without its script."""
    for name, text in (
        ("sbatch", "echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1"),
        ("squeue", "sleep 9"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr("wattline.demo.slurm_cluster.ANSWERS_S", 0.3)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    made = SlurmCluster(tmp_path)
    with pytest.raises(RunError, match=r"^sbatch: sbatch: error: Unable to contact slurm controller \(Slurm's logs: "):
        made.command("sbatch", "--wrap", "a long script")
    with pytest.raises(RunError, match=r"^squeue: Slurm did not answer within 0.3 s"):
        made.command("squeue")
