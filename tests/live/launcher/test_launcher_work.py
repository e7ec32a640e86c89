"""The job of an emulated machine, and how light the launcher is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from served import state, until

from wattline.live.machine.launcher.work import _began, command_line, main, read_speed


def took_s(words: list[str], env: dict[str, str] | None = None) -> float:
    """Return how long a program runs."""
    began = time.monotonic()
    subprocess.run(words, check=True, env={**os.environ, **(env or {})})
    return time.monotonic() - began


def test_it_works_as_long_as_it_should(tmp_path: Path) -> None:
    """Work takes its machine seconds over the clock's speed and the speed of the slowest of its nodes."""
    (tmp_path / "a").write_text("0.5\n")
    (tmp_path / "b").write_text("0.25\n")
    nodes = {"WATTLINE_NODE_LIST": "a,b,missing"}
    whole = took_s(command_line(4.0, str(tmp_path / "{node}"), clock_speed=40.0), nodes)
    assert 0.4 <= whole < 3.0
    assert took_s(command_line(4.0, str(tmp_path / "missing"), clock_speed=40.0), nodes) >= 0.1


def test_a_speed_that_nobody_tells_is_one(tmp_path: Path) -> None:
    """A file that is missing, empty or nonsense slows nothing down."""
    told = tmp_path / "speed"
    assert read_speed(str(told)) == 1.0
    for text, speed in (("", 1.0), ("x", 1.0), ("nan", 1.0), ("-1", 1.0), ("0", 0.0), ("0.75\n", 0.75)):
        told.write_text(text)
        assert read_speed(str(told)) == speed
    assert main([]) == main(["x"]) == main(["1", "--what", "2"]) == 2


def test_work_counts_from_when_the_launcher_let_it_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time in which the program was loaded counts, up to a second; what cannot be is not believed."""
    monkeypatch.delenv("WATTLINE_BEGAN", raising=False)
    for told_s, believed in ((0.3, True), (1.5, False), (-5.0, False)):
        now = time.monotonic()
        monkeypatch.setenv("WATTLINE_BEGAN", repr(now - told_s))
        assert (_began() == now - told_s) == believed
        assert _began() <= time.monotonic()
    monkeypatch.setenv("WATTLINE_BEGAN", "soon")
    assert _began() >= now


def test_no_work_is_done_while_it_is_stopped() -> None:
    """The time for which it is stopped, however short, is added to the time that it takes."""
    began = time.monotonic()
    with subprocess.Popen(command_line(0.6)) as job:
        stopped_s = 0.0
        for pause_s in (0.15, 0.6):
            time.sleep(0.15)
            job.send_signal(signal.SIGSTOP)
            until(lambda: state(job.pid) == "T")
            at = time.monotonic()
            time.sleep(pause_s)
            stopped_s += time.monotonic() - at
            job.send_signal(signal.SIGCONT)
        assert job.wait(20) == 0
    assert time.monotonic() - began >= 0.6 + stopped_s


def test_launcher_and_jobs_load_nothing_heavy() -> None:
    """The launcher needs no numpy, numba, polars or scipy; jobs and keepers need the standard library alone."""
    code = (
        "import sys; import wattline.live.machine.launcher.daemon, wattline.live.machine.launcher.client\n"
        "heavy = {'numba', 'numpy', 'polars', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = (
        "import sys, runpy; sys.argv[1:] = ['0']\n"
        f"try: runpy.run_path({command_line(0.0)[3]!r}, run_name='__main__')\n"
        "except SystemExit: print(sorted({'wattline', 'argparse', 'json', 'pathlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", shown], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
