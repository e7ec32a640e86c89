"""``--column``: a table of any make is replayed by one command, and the scenario remembers its columns."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import Call

import wattline as wl

PAGE = Path(__file__).parents[2] / "docs" / "traces.md"
KESTREL = Path("power/nrel-kestrel_2024-08-30_09-07_jobs_with_power.parquet")
OWN = ("--column", "submit_s=submit", "--column", "start_s=start", "--column", "end_s=end")


def shown(mark: str) -> str:
    """Return a block of the page on logs."""
    found = re.search(rf"{re.escape(mark)}.*?\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def site(folder: Path) -> list[str]:
    """Write the table that the page shows; return its command."""
    (folder / "site.csv").write_text(shown("<!-- file: site.csv -->\n```csv"))
    return shlex.split(shown("```console\nwattline replay site.csv".partition("\n")[0]).splitlines()[0])[1:]


def test_the_command_that_the_page_shows_replays_a_table(wattline: Call, folder: Path, site: list[str]) -> None:
    """One command replays a table; recorded energy and power stand beside the simulated, on terminal and page."""
    done = wattline(*site, "--out", "out/site")
    assert done.code == 0, done.err
    assert "busy 3.53 kWh (recorded 3.53 kWh)" in done.out
    assert re.search(r"recorded +3 jobs: 3\.53 kWh, 3\.02 kW on average, 5\.72 kW at most \(their\s+energy\)", done.out)
    page = (folder / "out/site/report.html").read_text()
    assert "busy 3.53 kWh (recorded 3.53 kWh)" in page


def test_the_scenario_of_a_run_remembers_the_columns(wattline: Call, folder: Path, site: list[str]) -> None:
    """The journal's scenario and manifest have the columns; the scenario alone repeats the run."""
    assert wattline(*site, "--out", "out/a", "--no-report").code == 0
    told = json.loads((folder / "out/a/manifest.json").read_text())
    wanted = dict(text.split("=") for flag, text in itertools.pairwise(site) if flag == "--column")
    assert told["trace"]["columns"] == wanted
    (folder / "again.toml").write_text(told["scenario"])
    assert wattline("run", "again.toml", "--out", "out/b", "--no-report").code == 0
    assert (folder / "out/a/jobs.parquet").read_bytes() == (folder / "out/b/jobs.parquet").read_bytes()


def test_the_scenario_that_the_page_shows_runs(wattline: Call, folder: Path, site: list[str]) -> None:
    """The page's scenario reads the same table."""
    (folder / "site.toml").write_text(shown("<!-- file: site.toml -->\n```toml"))
    assert wattline("run", "site.toml", "--out", "out/s", "--no-report").code == 0
    jobs = pl.read_parquet(folder / "out/s/jobs.parquet")
    assert jobs["work_s"].to_list() == [3600.0, 1800.0, 600.0]
    assert jobs["nodes"].to_list() == [4, 16, 1]


def test_the_command_line_and_python_read_the_same_jobs(wattline: Call, folder: Path, site: list[str]) -> None:
    """``read_trace`` and ``from_frame`` with the same columns give the jobs that ``trace convert --column`` writes."""
    flags = [word for pair in itertools.pairwise(site) if pair[0] == "--column" for word in pair]
    assert wattline("trace", "convert", "site.csv", "jobs.parquet", *flags).code == 0
    columns = dict(text.split("=") for text in flags[1::2])
    read = wl.read_trace("site.csv", columns=columns)
    frame = pl.read_csv("site.csv", separator=";", infer_schema_length=None, try_parse_dates=True)
    framed = wl.from_frame(frame, columns=columns)
    assert read.jobs.equals(framed.jobs)
    assert read.jobs.equals(wl.read_trace("jobs.parquet").jobs)
    assert framed.section["columns"] == columns


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--column", "submit"], "--column: 'submit': expected Wattline's name and the table's, like submit_s=submit"),
        (["--column", "walltime=x"], "--column: no such column of a job table: 'walltime'; Wattline calls it"),
        ([*OWN[:2], *OWN[:2]], "--column: submit_s is given twice"),
        ([*OWN[:2], "--format", "swf"], "columns go with tables (CSV, Parquet), not with the format 'swf'"),
    ],
)
def test_wrong_flags_are_refused_in_one_line(wattline: Call, folder: Path, flags: list[str], told: str) -> None:
    """A column that is not typed as it should be ends with exit code 2 and one line."""
    (folder / "t.csv").write_text("submit,r,nodes\n0,1,1\n")
    for command in (("replay",), ("trace", "info")):
        done = wattline(*command, "t.csv", *flags)
        if command == ("replay",) and "--format" in flags:
            assert done.code == 2  # said of the scenario's key
            assert "goes with tables" in done.err
            continue
        assert (done.code, told in done.err, done.err.count("\n")) == (2, True, 1), done.err


def test_wrong_columns_of_a_scenario_are_said_with_their_line(wattline: Call, folder: Path) -> None:
    """A scenario's columns are checked before anything is read, and named with the line."""
    (folder / "t.csv").write_text("submit,r,nodes\n0,1,1\n")
    (folder / "s.toml").write_text('name = "s"\n[trace]\nfile = "t.csv"\ncolumns = {walltime = "r"}\n')
    done = wattline("run", "s.toml")
    assert done.code == 2
    assert "s.toml:4" in done.err
    assert "Wattline calls it 'request_s'" in done.err


@pytest.mark.parametrize("columns", [{"submit_s": 3}, "submit", {"walltime": "x"}])
def test_wrong_columns_in_python_are_refused(folder: Path, columns: Any) -> None:
    """Columns that are no mapping of names, or that name nothing of a job table, are refused by both doors."""
    for door in (lambda: wl.read_trace("t.csv", columns=columns), lambda: wl.from_frame({"a": [1]}, columns=columns)):
        with pytest.raises(wl.InputError, match="columns: "):
            door()


@pytest.mark.skipif(
    not (Path(os.environ.get("WATTLINE_DATA", "/nowhere")) / KESTREL).exists(), reason="WATTLINE_DATA has no such log"
)
def test_kestrel_replays_by_one_command(wattline: Call, folder: Path) -> None:
    """NREL Kestrel's 79,223 jobs replay by one command; the totals are those of the table, of the jobs with power."""
    path = Path(os.environ["WATTLINE_DATA"]) / KESTREL
    flags = (*OWN, "--column", "draw_w=avg_power_per_node")
    done = wattline("replay", str(path), "--nodes", "2304", *flags, "--json", "--no-report")
    assert done.code == 0, done.err
    found = json.loads(done.out)["summary"]["recorded_power"]
    table = pl.read_parquet(path)
    run_s = (table["end"] - table["start"]).dt.total_microseconds() / 1e6
    wanted_j = (table["avg_power_per_node"] * table["nodes"] * run_s).sum()
    changes = pl.concat(
        [
            table.select(t=pl.col("end"), w=-pl.col("avg_power_per_node") * pl.col("nodes")),
            table.select(t=pl.col("start"), w=pl.col("avg_power_per_node") * pl.col("nodes")),
        ]
    )
    drawn = changes.filter(pl.concat([run_s, run_s]) > 0).sort("t", maintain_order=True)["w"].cum_sum().max()
    assert table.height == 79_223
    assert found["jobs"] == (table["avg_power_per_node"] > 0).sum() == 73_677  # 0: not measured
    assert found["recorded"]["energy_j"] == pytest.approx(wanted_j, rel=1e-12)
    assert found["recorded"]["peak_w"] == pytest.approx(drawn, rel=1e-9)
    assert found["simulated"]["energy_j"] == pytest.approx(wanted_j, rel=1e-9)
