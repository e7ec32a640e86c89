"""Ctrl-C keeps what was simulated; a reader that has seen enough is not complained to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import pytest
from calling import Call, pressing, program

from wattline.cli.terminal import Terminal
from wattline.journal.journal import open_journal

SLOW_POLICY = """\
import time
from pathlib import Path
from wattline import policy

@policy(slot="order", wake="arrival")
def slow(s, arg, param, memory):
    Path("started").touch()
    time.sleep(0.01)
    return 0
"""


def test_ctrl_c_keeps_the_partial_journal(folder: Path) -> None:
    """An interrupted run, also of a slow policy, exits with 130 and one line, and leaves the journal up to a full
    hour.
    """
    (folder / "slow.py").write_text(SLOW_POLICY)
    running = program(
        "run", "small.toml", "--set", "policy.order=slow.py", "--set", "trace.jobs=3000", "--no-report", cwd=folder
    )
    deadline = time.monotonic() + 120
    while not (folder / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "stopping, and keeping what is done" in err
    journal = open_journal(folder / "out/small")
    hours = (journal.manifest["end_s"] - journal.manifest["start_s"]) / 3600
    assert hours == int(hours) > 0
    told = (
        f"after {int(hours)} h of simulated time; the journal up to there is in out/small; --resume goes on from there"
    )
    assert err.splitlines()[-1] == f"wattline: interrupted {told}"
    assert journal.manifest["stopped"] == "interrupted"
    assert 0 < journal.read("jobs")["start_s"].drop_nulls().len() < 3000


def test_compiled_runs_stop_between_slices(folder: Path) -> None:
    """Ctrl-C during compiled code ends the run at the next look from outside, with the state whole."""
    from wattline.scenario import read_scenario, variants, wire

    study = wire(variants(read_scenario("small.toml", ["trace.jobs=120000"]))[0])
    before = signal.getsignal(signal.SIGINT)  # ignored, where the tests run in the background
    with Terminal(quiet=True).progress("simulating") as report:

        def press(done: int, total: int) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            report(done, total)

        result = study.simulate(press)
    assert result.stopped == "interrupted"
    assert 0 < int(result.state.n_ended[0]) < 120_000
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_that_is_over_was_not_interrupted(folder: Path) -> None:
    """Ctrl-C that is seen only when the last job has ended changes nothing; it is acknowledged all the same."""
    from wattline.scenario import read_scenario, variants, wire

    study = wire(variants(read_scenario("small.toml"))[0])
    with Terminal().progress("simulating") as report:
        os.kill(os.getpid(), signal.SIGINT)
        result = study.simulate(report)
    assert result.stopped == "done"


def test_ctrl_c_while_the_accounts_are_made_loses_nothing(folder: Path) -> None:
    """A run that is over is written to its end, journal and report, and says so; a second Ctrl-C ends it at once."""
    running = program("run", "small.toml", cwd=folder, body=pressing)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 0
    assert err.count("finishing what was simulated (Ctrl-C again to quit at once) ...") == 1
    assert open_journal(folder / "out/small").manifest["stopped"] == "done"
    assert (folder / "out/small/report.html").exists()
    running = program("run", "small.toml", "--out", "twice", cwd=folder, body=partial(pressing, times=2))
    _, err = running.communicate(timeout=120)
    assert (running.returncode, err.splitlines()[-1]) == (130, "wattline: interrupted")
    assert not (folder / "twice/manifest.json").exists()


def test_ctrl_c_while_the_accounts_are_made_ends_the_baseline_early(folder: Path, wattline: Call) -> None:
    """The run is whole, the one that it is held against is cut off at its next full hour; --resume goes on there."""
    text = (Path(__file__).parents[2] / "examples/slackline-w4.toml").read_text()
    (folder / "sold.toml").write_text(text.replace("warmup =", 'baseline = "easy"\nwarmup ='))
    running = program("run", "sold.toml", "--no-report", cwd=folder, body=pressing)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 130
    told = "the journal up to there is in out/slackline-w4/baseline; --resume goes on from there"
    assert err.splitlines()[-1].endswith(told)
    assert open_journal(folder / "out/slackline-w4").manifest["stopped"] != "interrupted"
    resumed = wattline("run", "sold.toml", "--resume", "--no-report")
    assert resumed.code == 0
    assert resumed.err.startswith("out/slackline-w4/baseline: going on after ")
    assert open_journal(folder / "out/slackline-w4/baseline").manifest["stopped"] != "interrupted"


PRESSED = """\
import os, signal, sys, threading, time
from wattline.api.listener import stop_signals

def press():
    time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)

assert "polars" not in sys.modules
with stop_signals("") as got:
    import polars as pl

    long = pl.select(a=pl.int_range(8_000_000)).lazy().select(pl.col("a").reverse().cast(pl.String).sort())
    threading.Thread(target=press).start()
    while not got:
        long.collect()
print("whole", got)
"""


def test_no_library_raises_the_first_ctrl_c() -> None:
    """Polars has a handler of its own, and ended what was being finished in the midst of a query."""
    done = subprocess.run([sys.executable, "-c", PRESSED], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "whole [2]\n", "")


def test_a_closed_pipe_is_silent(folder: Path) -> None:
    """``wattline policies --state | head -1`` says nothing about the pipe."""
    command = f"{sys.executable} -m wattline policies --state --json | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=folder, check=False)  # noqa: S602
    assert len(done.stdout) == 10
    assert done.stderr == ""


def test_a_reader_that_is_gone_is_told_apart_from_a_failure(folder: Path) -> None:
    """A command whose reader reads nothing ends as by SIGPIPE, with 141."""
    command = f"{sys.executable} -m wattline run small.toml --no-report --quiet --json | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=folder, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_keeps_the_runs_of_a_comparison_that_are_done(folder: Path) -> None:
    """An interrupted comparison shows the runs that are done and exits with 130."""
    slow = SLOW_POLICY.replace('Path("started").touch()', "").replace('wake="arrival"', 'name="slow", wake="arrival"')
    (folder / "slow.py").write_text(slow.replace("0.01", "0.1"))
    choice = 'policy.order=["fcfs", "slow.py"]'
    running = program("compare", "small.toml", "--set", choice, "--threads", "1", "--json", cwd=folder)
    deadline = time.monotonic() + 120
    while not list((folder / "out").glob("**/manifest.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err.splitlines()[-1] == (
        "wattline: interrupted; 1 of 2 runs are in out/small-comparison, and --resume goes on with the others"
    )
    assert json.loads(out)["comparison"]["labels"] == ["fcfs"]


def test_ctrl_c_anywhere_else_is_one_word(folder: Path) -> None:
    """Where nothing is kept, an interrupted command says so in one line and exits with 130."""
    text = "import pathlib, time\n\npathlib.Path('began').touch()\ntime.sleep(120)\n"
    (folder / "slow.py").write_text(text)
    running = program("check-policy", "slow.py", cwd=folder)
    deadline = time.monotonic() + 60
    while not (folder / "began").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "wattline: interrupted\n")


LOADING = """\
import importlib, os, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
module, function = sys.argv.pop(2).split(":")
main = getattr(importlib.import_module(module), function)  # as the script does that pip makes
main()
"""


@pytest.mark.parametrize(
    "module", ["wattline.cli", "wattline.errors", "wattline.memory", "wattline.sim.early", "typer", "wattline.cli.app"]
)
def test_ctrl_c_while_the_program_loads(module: str) -> None:
    """Ctrl-C at whatever moment of loading ends the command with exit code 130 and one line."""
    entry = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]["wattline"]
    done = subprocess.run([sys.executable, "-c", LOADING, module, entry], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "wattline: interrupted\n")
