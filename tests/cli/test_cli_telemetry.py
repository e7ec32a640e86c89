"""``wattline telemetry``: samples from a journal, what is wrong with them, and back to jobs."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import Call


@pytest.fixture
def run(wattline: Call, folder: Path) -> Path:
    """The journal of a small run."""
    assert wattline("run", "small.toml", "--no-report", "--out", "out/run", "--quiet").code == 0
    return folder / "out/run"


@pytest.mark.parametrize("by", [["node"], ["rack", "--nodes-per-rack", "2"], ["job"]], ids=lambda by: by[0])
def test_energy_of_the_journal_is_the_integral_of_the_telemetry(by: list[str], wattline: Call, run: Path) -> None:
    """Samples without faults, joined again, give every job of a run its energy to rounding."""
    edges = [] if by == ["job"] else ["--edges"]
    made = wattline("telemetry", "sample", "out/run", "--every", "60 s", "--by", *by, *edges, "--out", "p.parquet")
    assert made.code == 0, made.err
    assert made.out.endswith(f"{by[0]}s in p.parquet\n")
    flags = ["--period", "60 s", "--stuck", "off", *by[1:]]
    answer = wattline("telemetry", "join", "p.parquet", "--jobs", "out/run", *flags, "--out", "jobs.parquet", "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert told["with_series"] == told["jobs"] == 60
    assert not any(told["telemetry"]["faults"].values())
    truth = pl.read_parquet(run / "jobs.parquet").select("job_id", "energy_j", "runtime_s")
    jobs = pl.read_parquet("jobs.parquet").join(truth, on="job_id")
    energy_j = jobs["draw_w"] * jobs["nodes"] * jobs["runtime_s"]
    np.testing.assert_allclose(energy_j.to_numpy(), jobs["energy_j"].to_numpy(), rtol=1e-9)
    assert told["energy_j"] == pytest.approx(float(truth["energy_j"].sum()), rel=1e-9)


def test_flags_for_other_samples_are_refused(wattline: Call, run: Path) -> None:
    """Racks and nodes of jobs mean nothing where samples are of nodes."""
    racks = ("--nodes-per-rack", "2")
    made = wattline("telemetry", "sample", "out/run", *racks, "--out", "p.csv")
    assert (made.code, made.err) == (2, "wattline: --nodes-per-rack is for samples of racks; these are of nodes\n")
    assert wattline("telemetry", "sample", "out/run", "--out", "p.csv", "--quiet").code == 0
    for flags, wanted in ((racks, "racks"), (("--per-node",), "jobs")):
        joined = wattline("telemetry", "join", "p.csv", "--jobs", "out/run", *flags, "--out", "j.parquet", "--quiet")
        assert joined.code == 2
        assert f"{flags[0]} is for samples of {wanted}; these are of nodes" in joined.err
    assert not Path("j.parquet").exists()


def test_power_over_time_of_a_trace_comes_back(wattline: Call, run: Path, folder: Path) -> None:
    """A table with power series makes samples that follow them, and the join finds them again."""
    flags = ["--every", "60 s", "--by", "job"]
    wattline("telemetry", "sample", "out/run", *flags, "--noise", "0.1", "--out", "first.parquet")
    wattline(
        "telemetry", "join", "first.parquet", "--jobs", "out/run", "--step", "60 s", "--out", "jobs.parquet", "--quiet"
    )
    made = wattline("telemetry", "sample", "out/run", *flags, "--trace", "jobs.parquet", "--out", "second.parquet")
    assert made.code == 0, made.err
    again = wattline(
        "telemetry", "join", "second.parquet", "--jobs", "out/run", "--step", "60 s", "--out", "again.parquet"
    )
    assert again.code == 0, again.err
    first, second = (pl.read_parquet(name)["series_w"].to_list() for name in ("jobs.parquet", "again.parquet"))
    assert max(len({round(w, 3) for w in watts}) for watts in first) > 10
    for a, b in zip(first, second, strict=True):
        assert b == pytest.approx(a, rel=1e-6)


def test_energy_of_a_run_with_power_over_time_is_the_integral_too(wattline: Call, run: Path, folder: Path) -> None:
    """The engine lets power move on a grid; sensors of nodes on that grid see every job's energy to rounding."""
    wattline("telemetry", "sample", "out/run", "--every", "60 s", "--by", "job", "--noise", "0.1", "--out", "f.parquet")
    wattline("telemetry", "join", "f.parquet", "--jobs", "out/run", "--step", "60 s", "--out", "jobs.parquet")
    (folder / "again.toml").write_text(
        '[trace]\nfile = "jobs.parquet"\n[cluster]\nnodes = 16\nidle = "100 W"\nmax = "600 W"\n'
    )
    assert wattline("run", "again.toml", "--no-report", "--out", "out/again", "--quiet").code == 0
    flags = ["--every", "60 s", "--edges", "--trace", "jobs.parquet", "--out", "p.parquet"]
    assert wattline("telemetry", "sample", "out/again", *flags).code == 0
    rules = ["--step", "60 s", "--period", "60 s", "--stuck", "off", "--out", "again.parquet"]
    answer = wattline("telemetry", "join", "p.parquet", "--jobs", "out/again", *rules)
    assert answer.code == 0, answer.err
    truth = pl.read_parquet("out/again/jobs.parquet").select("job_id", "energy_j", "runtime_s")
    jobs = pl.read_parquet("again.parquet").join(truth, on="job_id")
    energy_j = jobs["draw_w"] * jobs["nodes"] * jobs["runtime_s"]
    np.testing.assert_allclose(energy_j.to_numpy(), jobs["energy_j"].to_numpy(), rtol=1e-9)


def test_faults_are_shown_by_count(wattline: Call, run: Path) -> None:
    """The table of faults names each class, what was done, and the worst sensors, in 80 columns; JSON has the same."""
    wanted = "--faults nan=0.003,late=0.003,clock=0.003,over=0.003,duplicate=0.003"
    made = wattline(
        "telemetry",
        "sample",
        "out/run",
        "--every",
        "10 s",
        "--noise",
        "0.02",
        *wanted.split(),
        "--out",
        "p.csv.gz",
        "--json",
    )
    assert made.code == 0, made.err
    put_in = json.loads(made.out)
    flags = ["p.csv.gz", "--max", f"{put_in['max_w']} W"]
    shown = wattline("telemetry", "check", *flags)
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    for name, count in put_in["faults"].items():
        assert f"{name} " in shown.out
        assert f" {count:,} " in shown.out
    assert "most faults: " in shown.out
    found = json.loads(wattline("telemetry", "check", *flags, "--json").out)
    assert {k: v for k, v in found["faults"].items() if v} == {**put_in["faults"], "missing": put_in["faults"]["clock"]}
    joined = wattline(
        "telemetry", "join", *flags, "--jobs", "out/run", "--out", "jobs.parquet", "--coverage", "share.csv"
    )
    assert joined.code == 0
    assert max(map(len, joined.out.splitlines())) <= 80
    assert "60 of 60 jobs with power in jobs.parquet" in joined.out
    shares = pl.read_csv("share.csv")["coverage"]
    assert 0.9 < shares.min() < 1.0  # type: ignore[operator]
    strict = wattline("telemetry", "join", *flags, "--jobs", "out/run", "--out", "no.parquet", "--strict")
    assert strict.code == 2
    assert "without --strict it would be" in strict.err
    assert not Path("no.parquet").exists()


MISTAKES = {
    "no source": (["check", "nope.parquet"], "nope.parquet: no such file or folder"),
    "no journal": (["sample", "small.swf", "--out", "x.parquet"], "small.swf"),
    "a scenario as jobs": (
        ["join", "p.csv", "--jobs", "small.toml", "--out", "x.parquet"],
        "is a scenario, not a job log",
    ),
    "a table in CSV": (["join", "p.csv", "--jobs", "out/run", "--out", "x.csv"], "needs a table in Parquet"),
    "over itself": (["join", "p.csv", "--jobs", "same.parquet", "--out", "same.parquet"], "is the file that is read"),
    "no places": (
        ["join", "p.csv", "--jobs", "small.swf", "--out", "x.parquet"],
        "small.swf: no job with known nodes and times in it",
    ),
    "bad step": (
        ["join", "p.csv", "--jobs", "out/run", "--out", "x.parquet", "--step", "0 s"],
        "--step: must be from 0.000001 to 3,200,000,000 s, got 0 s",
    ),
    "tiny step": (
        ["join", "p.csv", "--jobs", "out/run", "--out", "x.parquet", "--step", "1e-6 s"],
        "steps of 1e-06 s of all jobs would take about",
    ),
    "bad hold": (["check", "p.csv", "--hold", "0.5"], "--hold 0.5: a sample holds at least one period"),
    "bad unit of time": (["check", "p.csv", "--patience", "5 lightyears"], "--patience: unknown unit 'lightyears'"),
    "bad maximum": (
        ["check", "p.csv", "--max", "-5 W"],
        "--max: must be from 0.000001 to 1,000,000,000,000 W, got -5 W",
    ),
    "bad epoch": (
        ["join", "p.csv", "--jobs", "out/run", "--out", "x.parquet", "--epoch", "monday"],
        "--epoch: expected a date",
    ),
    "bad faults": (["sample", "out/run", "--faults", "nam=1", "--out", "x.parquet"], "did you mean 'nan'"),
    "faults at edges": (
        ["sample", "out/run", "--faults", "nan=0.1", "--edges", "--out", "x.parquet"],
        "--faults and --edges",
    ),
    "odd ending": (["sample", "out/run", "--out", "x.xls"], "x.xls: cannot tell the format"),
    "jitter": (
        ["sample", "out/run", "--jitter", "1 h", "--out", "x.parquet"],
        "--jitter 3600 s: must be less than half",
    ),
    "a trace without series": (
        ["sample", "out/run", "--trace", "small.swf", "--out", "x.parquet"],
        "small.swf: field 'series_w'",
    ),
    "a server that is away": (
        ["check", "postgresql://u:pw@127.0.0.1:9/x"],
        "postgresql://u@127.0.0.1:9/x: the database says",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(name: str, wattline: Call, folder: Path, request: pytest.FixtureRequest) -> None:
    """Whatever is wrong: exit code 2 and one line that names it; nothing is written."""
    arguments, told = MISTAKES[name]
    if "out/run" in arguments:
        request.getfixturevalue("run")
    (folder / "p.csv").write_text("node,time_s,power_w\n0,0,50\n0,60,51\n0,120,52\n")
    (folder / "same.parquet").write_bytes(b"")
    answer = wattline("telemetry", *arguments)
    assert answer.code == 2
    assert told in answer.err.splitlines()[-1]
    assert len([line for line in answer.err.splitlines() if line.startswith("wattline: ")]) == 1
    assert not list(folder.glob("x.*"))


def test_ctrl_c_leaves_nothing_behind(wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted between two pieces of the samples, a command ends with one word and exit code 130."""

    class Endless:
        name, columns, rows = "endless", ["node", "time_s", "power_w"], None

        def batches(self, wanted: object, time: object) -> Iterator[pl.DataFrame]:
            for i in range(1000):
                if i == 3:
                    os.kill(os.getpid(), signal.SIGINT)
                assert i < 5, "it goes on"
                yield pl.DataFrame({"node": [0, 1], "time_s": [60.0 * i] * 2, "power_w": [50.0 + i, 60.0 + i]})

    monkeypatch.setattr("wattline.telemetry.read.open_source", lambda *_, **__: Endless())
    monkeypatch.setattr("wattline.wiring.watched.left_behind", ["a policy of an earlier call did not come back"])
    answer = wattline("telemetry", "check", "endless", "--json")
    assert answer.code == 130
    assert answer.err.splitlines()[-1] == "wattline: interrupted"
    assert answer.out == ""
