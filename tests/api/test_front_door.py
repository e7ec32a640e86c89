"""``import wattline as wl``: the program of the README, and that it does what the command line does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from journals import assert_same

import wattline as wl
from wattline import cli

WARNED = pytest.mark.filterwarnings("ignore::wattline.errors.WattlineWarning")


def call(*arguments: str, code: int = 0) -> None:
    """Call a command, which must end with this code."""
    assert cli.call([*arguments, "--quiet"]) == code


@WARNED
def test_the_program(folder: Path) -> None:
    """A log, a machine, two policies, a comparison, a figure, a journal, a policy of one's own, a sweep, a bid."""
    trace = wl.read_trace("KTH.swf.gz")
    machine = wl.Machine(nodes=100, idle="90 W", max="350 W")
    easy = wl.simulate(trace, machine, select="easy", limit="28 kW")
    fcfs = wl.simulate(trace, machine, select="in-order", limit="28 kW")
    assert isinstance(trace.jobs, pl.DataFrame)
    assert easy.jobs.height == len(trace) == 400
    assert easy.timeline["power_w"].max() <= 28_000.0
    waits = easy.jobs["wait_s"].drop_nulls()
    assert easy.summary.wait.mean == pytest.approx(waits.mean())
    assert fcfs.summary.wait.mean > easy.summary.wait.mean
    compared = wl.compare(easy, fcfs)
    assert compared.labels == ("easy", "in-order")
    assert "wait, mean" in str(compared)
    assert "<table>" in compared._repr_html_()
    page = compared.write("two.html").read_text()
    assert "With in-order instead of easy the mean wait is " in page
    assert "Laid over each other" in page
    figure = easy.plot("power")
    assert type(figure).__module__.startswith("plotly.")
    easy.write("out/easy")

    @wl.policy("order", wake="end node arrival")
    def widest(s, happened, param, memory):
        for j in wl.waiting(s, new=True):
            s.key[j] = -s.nodes[j]
        return 0

    assert wl.check(widest).ok
    mine = wl.simulate(trace, machine, order=widest, seed=1)
    assert mine.policies["order"] == "widest"
    study = wl.load("examples/easy-vs-fcfs.toml").set({"trace.jobs": 100})
    runs = study.vary({"trace.load": [0.6, 0.8]}, seeds=5).run()
    assert runs.height == 2 * 2 * 5
    assert runs.columns[:3] == ["trace.load", "policies", "seed"]
    bid = wl.bid(wl.load("examples/slackline-w4.toml"), method="heuristic", hours=5)
    assert bid.certificate.promises
    assert bid.mean_w > bid.reserve_w > 0


@WARNED
def test_replay_and_simulate_write_the_same_journal(folder: Path) -> None:
    """The journal of ``simulate(...).write`` is that of ``wattline replay``."""
    call(
        *("replay", "KTH.swf.gz", "--nodes", "100", "--idle-power", "90 W", "--max-power", "350 W", "--power-limit"),
        *("28 kW", "--select", "conservative", "--order", "shortest", "--kill", "--out", "by-command"),
    )
    trace = wl.read_trace("KTH.swf.gz")
    machine = wl.Machine(nodes=100, idle="90 W", max="350 W")
    run = wl.simulate(trace, machine, select="conservative", order="shortest", kill=True, limit="28 kW")
    assert_same(run.write("by-program"), Path("by-command"))


@WARNED
def test_the_machine_of_the_header_is_the_same_for_both(folder: Path) -> None:
    """Without a machine both take that of the log's header."""
    call("replay", "KTH.swf.gz", "--out", "by-command")
    assert_same(wl.simulate("KTH.swf.gz").write("by-program"), Path("by-command"))


@WARNED
@pytest.mark.parametrize("example", ["power-limit", "two-classes-sleep", "own-policy", "under-a-cap"])
def test_run_and_load_write_the_same_journal(folder: Path, example: str) -> None:
    """The journal of a scenario is the same, written by ``wattline run`` and by ``wl.load(...).simulate()``."""
    path = f"examples/{example}.toml"
    sets: dict[str, object] = {"trace.duration": "2 d"} if example == "under-a-cap" else {"trace.jobs": 60}
    if example == "own-policy":
        sets["policy.order"] = "widest_first.py"
    if example == "under-a-cap":
        sets["policy.profile"] = "maximum"
    flags = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    call("run", path, *flags, "--out", "by-command", "--no-report")
    assert_same(wl.load(path, sets).simulate().write("by-program"), Path("by-command"))


@WARNED
def test_a_baseline_is_written_beside_its_run(folder: Path) -> None:
    """A study that is held against no market writes both journals."""
    sets = {
        "regulation.baseline": "easy",
        "trace.duration": "2 h",
        "regulation.mean": "8 kW",
        "regulation.reserve": "1 kW",
    }
    flags = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    call("run", "examples/slackline-w4.toml", *flags, "--out", "by-command", "--no-report")
    run = wl.load("examples/slackline-w4.toml", sets).simulate()
    run.write("by-program")
    assert run.baseline is not None
    assert_same(Path("by-program"), Path("by-command"))
    assert_same(Path("by-program/baseline"), Path("by-command/baseline"))


def test_a_sweep_is_the_comparison_of_the_command_line(folder: Path) -> None:
    """Runs of ``vary`` have the numbers of ``wattline compare``."""
    call("compare", "examples/easy-vs-fcfs.toml", "--set", "trace.jobs=80", "--seeds", "3", "--out", "by-command")
    told = json.loads(Path("by-command/comparison.json").read_text())["comparison"]
    waits = next(row for row in told["metrics"] if row["path"] == "wait_s.mean")["estimates"]
    runs = wl.load("examples/easy-vs-fcfs.toml", {"trace.jobs": 80}).vary(seeds=3).run()
    means = runs.group_by("policies", maintain_order=True).agg(pl.col("wait_s.mean").mean())
    assert means["policies"].to_list() == told["labels"]
    assert means["wait_s.mean"].to_list() == pytest.approx([one["mean"] for one in waits])


def test_a_bid_is_that_of_the_command_line(folder: Path) -> None:
    """The certificate of ``wl.bid`` is that of ``wattline bid``, and so is the scenario with the bid in it."""
    flags = ("--method", "heuristic", "--hours", "4")
    found = wl.bid("examples/slackline-w4.toml", method="heuristic", hours=4)
    call(
        "bid",
        "examples/slackline-w4.toml",
        *flags,
        "--out",
        "told",
        "--write",
        "sold.toml",
        code=0 if found.certified else 3,
    )
    assert json.loads(Path("told/certificate.json").read_text()) == found.to_dict()
    assert found.write("mine.toml").read_text() == Path("sold.toml").read_text()


def test_a_report_is_that_of_the_command_line(folder: Path) -> None:
    """The page of a run that was read again is that of ``wattline report``."""
    wl.simulate("KTH.swf.gz", progress=False).write("out")
    call("report", "out", "--out", "by-command.html")
    again = wl.read_run("out")
    assert again.report("by-program.html").read_bytes() == Path("by-command.html").read_bytes()
    assert again.summary.jobs.total == 400


def test_a_journal_that_was_read_is_written_as_it_was(folder: Path) -> None:
    """A run that was read from its journal and written elsewhere is the same run."""
    first = wl.simulate("KTH.swf.gz").write("first")
    again = wl.read_run(first)
    assert_same(again.write("second"), first)


def test_importing_is_fast_and_loads_nothing() -> None:
    """``import wattline`` loads neither numba nor polars nor pydantic; every name that it offers is there."""
    code = (
        "import sys, time; start = time.process_time(); import wattline; took = time.process_time() - start\n"
        "heavy = [m for m in ('numba', 'numpy', 'polars', 'pydantic', 'plotly', 'rich', 'typer', 'scipy') if m in "
        "sys.modules]\n"
        "assert not heavy, heavy\n"
        "missing = [name for name in wattline.__all__ if getattr(wattline, name, None) is None]\n"
        "assert not missing, missing\n"
        "assert set(dir(wattline)) == set(wattline.__all__)\n"
        "print(took)"
    )
    took = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(3)
    ]
    assert min(took) < 0.1


def test_names_of_functions_are_no_rooms() -> None:
    """A module that is imported does not take the place of a function: ``wl.bid`` and ``wl.policy`` stay what they
    are.
    """
    import wattline.bidding.choose
    import wattline.policies.helpers  # noqa: F401

    assert callable(wl.bid)
    assert callable(wl.policy)
    rooms = {path.name for path in Path(wl.__file__).parent.iterdir()} | {
        path.stem for path in Path(wl.__file__).parent.glob("*.py")
    }
    assert not rooms & set(wl.__all__)


def test_what_is_not_there_is_an_attribute_error() -> None:
    """A misspelt name is said as Python says it."""
    with pytest.raises(AttributeError, match="simulat"):
        _ = wl.simulat


def test_a_run_of_the_same_trace_reads_it_once(folder: Path) -> None:
    """A trace in memory is not read again."""
    trace = wl.read_trace("KTH.swf.gz")
    Path("KTH.swf.gz").unlink()
    start = time.perf_counter()
    assert wl.simulate(trace).summary.jobs.total == 400
    assert time.perf_counter() - start < 60


@pytest.mark.parametrize("key", ["cluster.idle", "run.tick", "trace.load", "seed"])
def test_a_number_of_hundreds_of_digits_is_refused_as_a_scenario_does(key: str) -> None:
    """Python has whole numbers that are no floats."""
    study = wl.load("examples/easy-vs-fcfs.toml")
    with pytest.raises(wl.WattlineError, match=r"a number of 1,329 bits is no number of a scenario"):
        study.set({key: 10**400})
