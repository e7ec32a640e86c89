"""The page on power telemetry says what the program does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from test_docs_commands import ROOT, follow, works

from programs import command

PAGE = ROOT / "docs/telemetry.md"


def test_the_page_on_telemetry_works(tmp_path: Path) -> None:
    """Every file and command of the page; the jobs that come out have the energy of the run, but for noise and
    faults.
    """
    assert len(follow("telemetry.md", tmp_path)) == 8
    run = pl.read_parquet(tmp_path / "out/run/jobs.parquet")
    jobs = pl.read_parquet(tmp_path / "jobs.parquet").join(run.select("job_id", "energy_j", "runtime_s"), on="job_id")
    long = jobs.filter((pl.col("runtime_s") > 3600) & pl.col("draw_w").is_not_null())
    assert long.height > 50
    ratio = (long["draw_w"] * long["nodes"] * long["runtime_s"] / long["energy_j"]).to_list()
    assert sum(ratio) / len(ratio) == pytest.approx(1.0, abs=0.03)
    found = works(command(["wattline", "telemetry", "check", "power.parquet", "--json"], tmp_path))
    faults = json.loads(found.out)["faults"]
    assert all(
        faults[name] > 0
        for name in ("ahead", "clock", "too-late", "duplicate", "late", "nan", "negative", "stuck", "missing")
    )


def test_the_page_names_every_fault() -> None:
    """The table of faults has every class and what is done about it, in order."""
    from wattline.telemetry.cleaning.faults import WHAT

    rows = PAGE.read_text().split("<!-- faults -->")[1].split("\n\n")[0].strip().splitlines()[2:]
    shown = [(re.findall(r"`([\w-]+)`", row.split("|")[1])[0], row.split("|")[3].strip()) for row in rows]
    assert shown == [(fault.word, "counted" if done == "missing" else done) for fault, (done, _) in WHAT.items()]
