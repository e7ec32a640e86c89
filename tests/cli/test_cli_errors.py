"""Whatever a user gets wrong: one line on standard error, exit code 2, no traceback, nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from calling import Call

import wattline as wl

MISTAKES = {
    "no such trace": (["replay", "nope.swf"], "nope.swf: no such file"),
    "no such scenario": (["run", "nope.toml"], "nope.toml: no such scenario file"),
    "a folder as scenario": (["run", "."], "is a folder"),
    "wrong flag": (["replay", "small.swf", "--nodez", "3"], "--nodez"),
    "text for a number": (
        ["replay", "small.swf", "--nodes", "many"],
        "wattline: --nodes many: expected a whole number; see wattline replay --help",
    ),
    "text for a number, with =": (["replay", "small.swf", "--jobs=x"], "wattline: --jobs=x: expected a whole number"),
    "no nodes at all": (["replay", "small.swf", "--nodes", "0"], "--nodes 0: must be at least 1, got 0"),
    "no cores": (["trace", "info", "small.swf", "--cores-per-node", "0"], "--cores-per-node 0: must be at least 1"),
    "missing argument": (["run"], "Missing argument 'SCENARIO.toml'; see wattline run --help"),
    "unknown format": (["replay", "small.swf", "--format", "xx"], "wattline: --format xx: expected '"),
    "format that cannot be told": (["replay", "prose.txt"], "name it with --format"),
    "scenario names no trace": (["run", "gone.toml"], "gone.toml:2: [trace] file: no such file: nope.swf"),
    "trace of an override": (
        ["run", "gone.toml", "--set", "trace.file=no.swf"],
        "--set trace.file=no.swf: [trace] file: no such file: no.swf",
    ),
    "a log as a scenario": (
        ["run", "small.swf"],
        "small.swf: is a job log (swf), not a scenario; replay it with: wattline replay small.swf",
    ),
    "a log to compare": (["compare", "small.swf"], "wattline replay small.swf"),
    "a scenario as a log": (
        ["replay", "small.toml"],
        "small.toml: is a scenario, not a job log; run it with: wattline run small.toml",
    ),
    "a scenario to look at": (["trace", "info", "small.toml"], "wattline run small.toml"),
    "busy below idle": (
        ["run", "small.toml", "--set", "cluster.max=80W"],
        (
            "--set cluster.max=80W: [cluster] max: a busy node (max = 80 W) cannot draw less than an idle one (idle "
            "= 100 W)"
        ),
    ),
    "idle above busy": (
        ["run", "small.toml", "--set", "cluster.idle=1 kW"],
        "--set cluster.idle=1 kW: [cluster] idle: a busy node (max = 300 W)",
    ),
    "busy below the usual idle": (
        ["replay", "small.swf", "--max-power", "20 W"],
        (
            "wattline: --max-power 20 W: a busy node (max = 20 W) cannot draw less than an idle one (idle = 100 W, the "
            "default)"
        ),
    ),
    "sacct without a header": (
        ["trace", "info", "nohead.txt"],
        "nohead.txt:1: the first line must name the columns, but it is a job: 101, 2024",
    ),
    "unknown command": (["rnu"], "rnu"),
    "unknown policy": (["replay", "small.swf", "--select", "esy"], "did you mean 'easy'"),
    "unknown estimates": (["replay", "small.swf", "--estimates", "recnt"], "did you mean 'recent'"),
    "bad unit": (["replay", "small.swf", "--power-limit", "12 XW"], "unknown unit 'XW'"),
    "bad tie rule": (
        ["replay", "small.swf", "--ties", "both"],
        "wattline: --ties both: expected one of 'instant', 'event'",
    ),
    "policy file missing": (["replay", "small.swf", "--select", "mine.py"], "no such policy file"),
    "override without value": (["run", "small.toml", "--set", "cluster.nodes"], "expected key=value"),
    "override of nothing": (["run", "small.toml", "--set", "cluster.nodse=4"], "did you mean 'nodes'"),
    "override of a wrong type": (["run", "small.toml", "--set", "cluster.nodes=many"], "--set cluster.nodes=many"),
    "override inside a number": (["run", "small.toml", "--set", "seed.x=1"], "has no keys"),
    "nothing to compare": (["compare", "small.toml"], "nothing to compare"),
    "the same twice": (["compare", "small.toml", "small.toml"], "both be called 'small'"),
    "not a journal": (["report", "."], "not a journal"),
    "unknown slot": (["policies", "selct"], "did you mean 'select'"),
    "unknown reproduction": (["reproduce", "nothing"], "reproduc"),
    "unknown trace ending": (["trace", "convert", "small.swf", "small.xls"], "small.xls"),
    "generator without types": (["trace", "generate", "poisson", "x.swf"], "[[trace.type]]"),
    "type that is no table": (["trace", "generate", "poisson", "x.swf", "--type", "4 nodes"], "--type 4 nodes"),
    "strict reading": (["replay", "small.swf", "--strict"], "small.swf:4"),
    "output in the way": (["run", "small.toml", "--out", "."], "not overwritten"),
    "output is a file": (["run", "small.toml", "--out", "small.swf"], "is a file"),
    "output cannot be made": (
        ["run", "small.toml", "--out", "/proc/nowhere/x"],
        "/proc/nowhere/x: cannot be made (No such file or directory); give another --out",
    ),
    "output with a name too long": (
        ["run", "small.toml", "--out", "x" * 300],
        "cannot be a folder (File name too long); give another --out",
    ),
    "a log with a name too long": (["trace", "info", "x" * 300], "File name too long"),
    "a log of two lines": (["trace", "info", "a\nb"], "wattline: a\\nb: no such file"),
    "links in a circle": (["trace", "info", "circle"], "circle: cannot be read"),
    "a journal with a name too long": (["report", "x" * 300], "File name too long"),
    "a scenario with a name too long": (["run", "x" * 300], "File name too long"),
    "a device as a scenario": (["run", "/dev/zero"], "/dev/zero: cannot be read (is a device, expected a file)"),
    "a device as a log": (["replay", "/dev/zero", "--format", "swf"], "/dev/zero: is a device, expected a file"),
    "seed too large": (
        ["replay", "small.swf", "--seed", str(2**53)],
        "wattline: --seed 9007199254740992: must be less than 9007199254740992",
    ),
    "job wider than the machine": (["replay", "small.swf", "--nodes", "1"], "no job of the trace can run"),
}


@pytest.fixture
def odd_files(folder: Path) -> None:
    """Files that are not what they are taken for."""
    (folder / "prose.txt").write_text("hello there\n")
    (folder / "circle").symlink_to("circle")
    (folder / "gone.toml").write_text('[trace]\nfile = "nope.swf"\n[cluster]\nnodes = 4\n')
    (folder / "nohead.txt").write_text(
        "101|2024-01-01T00:00:00|60|2|COMPLETED\n102|2024-01-01T00:01:00|60|2|COMPLETED\n"
    )


@pytest.mark.usefixtures("odd_files")
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(wattline: Call, name: str) -> None:
    """A user's mistake is answered by one line that names it, with exit code 2."""
    arguments, expected = MISTAKES[name]
    answer = wattline(*arguments)
    lines = [line for line in answer.err.splitlines() if line.startswith("wattline: ")]
    assert answer.code == 2
    assert len(lines) == 1
    assert lines[0] == answer.err.splitlines()[-1]
    assert expected in lines[0]
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_an_empty_trace_says_so(wattline: Call, folder: Path) -> None:
    """A trace without jobs is refused with its name."""
    (folder / "empty.swf").write_text("; MaxNodes: 4\n")
    answer = wattline("replay", "empty.swf")
    assert answer.code == 2
    assert "empty.swf: no job in it" in answer.err


def test_a_trace_of_unknown_size_asks_for_nodes(wattline: Call, folder: Path) -> None:
    """Without a size in the header the user is told to give one."""
    (folder / "bare.swf").write_text("1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1\n")
    answer = wattline("replay", "bare.swf")
    assert answer.code == 2
    assert "--nodes" in answer.err


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_no_permission_is_said_before_anything_runs(wattline: Call, folder: Path) -> None:
    """A folder that may not be written is refused at once."""
    (folder / "locked").mkdir(mode=0o500)
    answer = wattline("run", "small.toml", "--out", "locked/x")
    assert answer.code == 2
    assert "no permission" in answer.err


def test_too_little_memory_is_one_line(wattline: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine has no room for is no bug of ours."""

    def refuse(*_: object, **__: object) -> None:
        raise MemoryError("9 GiB")

    monkeypatch.setattr("wattline.formats.jobs.read_trace", refuse)
    answer = wattline("trace", "info", "small.swf")
    assert (answer.code, answer.err) == (
        1,
        "wattline: out of memory: this machine has too little for so much at once\n",
    )


def test_an_internal_error_is_one_line_too(wattline: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours shows no traceback unless it is asked for."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.delenv("WATTLINE_DEBUG", raising=False)
    monkeypatch.setattr("wattline.scenario.read_scenario", broken)
    answer = wattline("run", "small.toml")
    assert answer.code == 1
    assert (
        answer.err
        == "wattline: internal error: ZeroDivisionError: oops (WATTLINE_DEBUG=1 shows where; please report it)\n"
    )


def test_a_run_that_gets_stuck_ends_with_code_1(wattline: Call, folder: Path) -> None:
    """A policy that never starts anything is named, with exit code 1."""
    (folder / "lazy.py").write_text(
        "from wattline import policy\n\n@policy(slot='select')\ndef lazy(s, arg, param, memory):\n    return 0\n"
    )
    answer = wattline("run", "small.toml", "--set", "policy.select=lazy.py")
    assert answer.code == 1
    assert "'lazy' does not start job" in answer.err.splitlines()[-1]


@pytest.mark.parametrize("most", ["1e300", "1e308"])
def test_readings_that_no_server_has_are_one_line(wattline: Call, folder: Path, most: str) -> None:
    """Powers whose squares are no numbers cannot be fitted, and that is said of the file."""
    rows = "".join(f"{50 + i},{most if i % 3 else 100 + i}\n" for i in range(20))
    (folder / "r.csv").write_text("cpu_w,server_w\n" + rows)
    answer = wattline("calibrate", "r.csv")
    assert answer.code == 2, answer.err
    assert answer.err.count("\n") == 1
    assert "r.csv" in answer.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [("policies",), ("policies", "--json"), ("sweep", "--help")])
def test_a_full_standard_output_is_named(words: tuple[str, ...]) -> None:
    """What cannot be written is said with where it should have gone, in one line."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "wattline", *words], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (
        2,
        "wattline: standard output: cannot be written (No space left on device)\n",
    )


def test_a_market_without_a_bid_is_told(folder: Path, wattline: Call) -> None:
    """Where nobody gave a bid nothing follows the signal: the run says so, and who finds one."""
    told = wattline("run", "small.toml", "--set", 'regulation.signal="nosuch.csv"', "--out", "here")
    assert told.code == 0
    line = "bids: [regulation] has none (mean and reserve, a file of bids, or a policy that makes them)"
    assert line in " ".join(told.err.split())
    assert "bids:" not in wattline("run", "small.toml", "--out", "there").err


def test_a_name_that_is_too_long_is_no_file(folder: Path) -> None:
    """Also in a program: a file of a scenario that cannot be there is a line with its key."""
    for key in ("prices.energy", "regulation.bids", "kinds.file"):
        with pytest.raises(wl.InputError, match="no such file"):
            wl.load(folder / "small.toml", {key: "x" * 5000}).simulate(progress=False)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["time_s,limit_w,power_w", "0,2e302,3e302"], "is beyond 1e+12, which is no reading"),
        (["time_s,limit_w,limit_w,power_w", "0,1,1,1"], "2 columns are called 'limit_w'"),
    ],
)
def test_a_step_response_that_is_none_is_refused(folder: Path, wattline: Call, rows: list[str], said: str) -> None:
    """Numbers that nobody measured, and columns that say a thing twice."""
    (folder / "r.csv").write_text("\n".join(rows) + "\n")
    answer = wattline("tune-pid", "r.csv")
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
    assert said in answer.err


@pytest.mark.parametrize("noise", ["-1", "1e300"])
def test_the_noise_of_an_emulated_node_is_within_reason(folder: Path, wattline: Call, noise: str) -> None:
    """It is told by its flag."""
    answer = wattline("tune-pid", f"--noise={noise}")
    assert answer.code == 2
    assert "--noise" in answer.err


def test_tables_in_tables_without_end_are_refused(folder: Path, wattline: Call) -> None:
    """A key of thousands of dots is an unknown key, not an error of the program."""
    (folder / "l.toml").write_text(".".join(["a"] * 5000) + " = 1\n")
    answer = wattline("launcher", "l.toml", "--check")
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err[:500]
    assert "a: unknown key" in answer.err


@pytest.mark.parametrize("text", ['run_dir = "\\u0000"', 'run_dir = "run"\n[[nodes]]\nnames = "n\\u0000"'])
def test_a_nul_in_a_file_of_a_machine_is_refused(folder: Path, wattline: Call, text: str) -> None:
    """Before anything is started, with its key."""
    (folder / "l.toml").write_text(text + "\n")
    answer = wattline("launcher", "l.toml", "--check")
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
    assert "holds a NUL character" in answer.err
