"""The journal of a run, whole or cut short, says the same as the run: energies add up, every node is accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from wattline.journal.journal import Journal, open_journal
from wattline.report.count.metrics import summarize
from wattline.scenario import read_scenario, variants, wire

BASE = """\
[trace]
generator = "poisson"
jobs = 400
load = 0.9
requests = {model = "factor", max_factor = 2.0}
type = [
  {name = "a", nodes = 3, mean = "1 h", power = "250 W"},
  {name = "b", nodes = 8, mean = "20 min", class = "fat"},
]
[[cluster.class]]
name = "thin"
count = 24
idle = "80 W"
max = "300 W"
[[cluster.class]]
name = "fat"
count = 16
idle = "200 W"
max = "900 W"
"""

FAILING = '[cluster.failures]\nmtbf = "2 d"\nrepair = "1 h"\n'


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    """Return a function that runs a scenario and opens its journal."""

    def make(text: str, *overrides: str) -> Journal:
        (tmp_path / "s.toml").write_text(text)
        study = wire(variants(read_scenario(tmp_path / "s.toml", overrides))[0])
        study.write(study.simulate(), tmp_path / "j")
        return open_journal(tmp_path / "j")

    return make


@pytest.mark.parametrize("until", ["", "run.until='5 h'"], ids=["whole", "cut short"])
@pytest.mark.parametrize(
    "extra", ["", FAILING, FAILING + "[run]\nkeep_progress = true\n"], ids=["calm", "failing", "checkpointing"]
)
def test_energies_and_node_seconds_add_up(journal: Any, extra: str, until: str) -> None:
    """The timeline's integral, the accounts of the classes and the energies of the jobs agree."""
    found = journal(BASE + extra, *([until] if until else []))
    summary = summarize(found)
    energy, classes, jobs = summary.energy, found.read("classes"), found.read("jobs")
    assert energy.total_j == pytest.approx(energy.accounts_j, rel=1e-9)
    assert energy.jobs_j == pytest.approx(energy.busy_j + energy.boot_j, rel=1e-9)
    assert found.manifest["totals"]["total_j"] == pytest.approx(energy.total_j, rel=1e-9)
    length_s = found.manifest["end_s"] - found.manifest["start_s"]
    spent = sum(classes[f"{part}_node_s"].sum() for part in ("busy", "idle", "asleep", "down"))
    assert spent == pytest.approx(40 * length_s, rel=1e-9)
    held = jobs.select((pl.col("nodes") * pl.col("runtime_s")).sum()).item()
    assert held == pytest.approx(classes["busy_node_s"].sum(), rel=1e-9)
    assert (found.manifest["stopped"] == "until") == bool(until)


@pytest.mark.parametrize("until", ["run.until='1000 d'", "run.until='5 h'"])
def test_placements_hold_exactly_the_nodes_of_their_jobs(journal: Any, until: str) -> None:
    """At every start, the ranges of a job have as many nodes as it asked for, and no node is held twice."""
    found = journal(BASE + FAILING, until)
    held, jobs = found.read("placements"), found.read("jobs", "job_id", "nodes")
    counted = held.group_by("job_id", "start_s").agg(pl.col("count").sum()).join(jobs, on="job_id")
    assert (counted["count"] == counted["nodes"]).all()
    ends = held["end_s"].fill_null(found.manifest["end_s"]).to_numpy()
    for node in range(40):
        mine = ((held["first_node"] <= node) & (node < held["first_node"] + held["count"])).to_numpy()
        starts_s, ends_s = held["start_s"].to_numpy()[mine], ends[mine]
        order = np.lexsort((ends_s, starts_s))
        assert np.all(ends_s[order][:-1] <= starts_s[order][1:])


def test_events_are_in_order_and_balance(journal: Any) -> None:
    """Events are sorted by time; every segment that begins ends in one of the ways a segment can."""
    found = journal(BASE + FAILING)
    events = found.read("events")
    count = dict(events.group_by("event").len().iter_rows())
    assert events["time_s"].is_sorted()
    assert count["submit"] == count["start"] == 400
    assert count["start"] + count.get("resume", 0) == count["end"] + count["requeue"]
    assert count["node-down"] >= count["requeue"] / 5
    first = events.filter(pl.col("job_id") == 1)["event"].to_list()
    assert first[:2] == ["submit", "start"]


def test_a_job_of_no_length_starts_before_it_ends(journal: Any, tmp_path: Path) -> None:
    """A job with no run time has submit, start and end in this order, at one instant."""
    (tmp_path / "t.swf").write_text("1 5 -1 0 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n")
    found = journal('[trace]\nfile = "t.swf"\n[cluster]\nnodes = 2\n')
    assert found.read("events").select("time_s", "event").rows() == [(5.0, "submit"), (5.0, "start"), (5.0, "end")]


def test_rejected_jobs_are_rows_without_times(journal: Any, tmp_path: Path) -> None:
    """A job that can never run is in the journal as rejected; the timeline begins with the run all the same."""
    rows = "1 5 -1 9 4 -1 -1 4 10 -1 1 1 1 -1 -1 -1 -1 -1\n2 8 -1 9 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n"
    (tmp_path / "t.swf").write_text(rows)
    found = journal('[trace]\nfile = "t.swf"\n[cluster]\nnodes = 2\nidle = 100\nmax = 300\n')
    jobs = found.read("jobs")
    assert jobs["status"].to_list() == ["rejected", "finished"]
    assert jobs["eligible_s"].to_list() == [None, 8.0]
    assert jobs["energy_j"].to_list() == [None, 2700.0]
    assert found.read("timeline")["time_s"].to_list() == [5.0, 8.0, 17.0]
    assert found.read("timeline")["power_w"].to_list() == [200.0, 400.0, 200.0]
    assert found.manifest["trace"]["notes"][-1]["action"] == "rejected"


def test_decisions_name_jobs_and_reasons(journal: Any) -> None:
    """Every start was proposed by select with a reason and accepted."""
    decisions = journal(BASE).read("decisions")
    accepted = decisions.filter(pl.col("verdict") == "accepted")
    assert accepted["job_id"].n_unique() == 400
    assert set(accepted["slot"]) == {"select"}
    assert set(accepted["why"]) <= {"in-order", "backfill", "reservation"}
