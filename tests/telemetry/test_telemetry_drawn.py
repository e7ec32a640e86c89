"""Samples of a journal are what it says was drawn: held against its placements and its timeline, second by second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import wattline as wl
from wattline.formats.jobs import read_trace
from wattline.journal.journal import open_journal
from wattline.telemetry.join import Split
from wattline.telemetry.made.drawn import drawn_by
from wattline.telemetry.made.make import make_samples
from wattline.telemetry.made.sample import Plan
from wattline.telemetry.nodes.work import Machine, load_work
from wattline.telemetry.read import join, open_source

OUTAGES = [
    {"start": 50, "end": 60, "nodes": "0"},
    {"start": 55, "end": 90, "nodes": "0-1"},
    {"start": 120, "end": 400, "nodes": "3-4", "drain": True},
]
JOBS = {
    "submit_s": [0, 0, 10, 20, 30],
    "work_s": [100, 80, 160, 60, 200],
    "nodes": [1, 1, 2, 1, 1],
    "draw_w": [150.0, 210.0, 170.0, 260.0, 190.0],
}


def written(folder: Path, jobs: dict[str, list[Any]], **machine: Any) -> Any:
    """Simulate jobs and write the journal."""
    settings = machine.pop("settings", None)
    run = wl.simulate(wl.from_frame(jobs), wl.Machine(**machine), settings=settings, progress=False)
    run.write(folder / "run", force=True)
    return run


def sampled(folder: Path, by: str = "node", per_rack: int | None = None) -> pl.DataFrame:
    """Return what sensors say every second."""
    make_samples(folder / "run", folder / "power.parquet", Plan(by=by, every_s=1.0), per_rack)  # type: ignore[arg-type]
    return pl.read_parquet(folder / "power.parquet")


def stays(run: Any) -> list[tuple[int, set[int], float, float]]:
    """Return job, nodes, begin and end of every stay."""
    found: dict[tuple[int, float, float], set[int]] = {}
    for job, first, count, begin_s, end_s in run.placements.iter_rows():
        found.setdefault((job, begin_s, end_s), set()).update(range(first, first + count))
    return [(job, nodes, begin_s, end_s) for (job, begin_s, end_s), nodes in found.items()]


def energy_j(samples: pl.DataFrame, nodes: set[int], begin_s: float, end_s: float) -> float:
    """Return samples × period over nodes and a span."""
    there = pl.col("node").is_in(list(nodes)) & (pl.col("time_s") >= begin_s) & (pl.col("time_s") < end_s)
    return float(samples.filter(there)["power_w"].sum())


def test_a_job_that_began_anew_draws_its_power_in_both_stays(tmp_path: Path) -> None:
    """150 W before the outage, nothing in it, 150 W after it; by node and by job."""
    one = {"submit_s": [0], "work_s": [100], "nodes": [1], "draw_w": [150.0]}
    written(tmp_path, one, nodes=1, idle=100, max=300, outages=[{"start": 50, "end": 60, "nodes": "0"}])
    by_node = sampled(tmp_path)
    assert by_node["power_w"].to_list() == [150.0] * 50 + [0.0] * 10 + [150.0] * 100
    by_job = sampled(tmp_path, "job")
    assert by_job["power_w"].to_list() == [150.0] * 150
    assert by_job["time_s"].to_list() == [*range(50), *range(60, 160)]


@pytest.mark.parametrize("keeps", [False, True])
def test_a_stay_that_was_cut_off_counts_where_its_work_was_kept(tmp_path: Path, keeps: bool) -> None:
    """Samples joined again: of work that was lost the last stay counts, of work that was kept all of them."""
    settings = {"run.keep_progress": keeps}
    run = written(tmp_path, JOBS, nodes=6, idle=100, max=300, outages=OUTAGES, settings=settings)
    assert run.jobs["restarts"].sum() > 0
    sampled(tmp_path)
    work = load_work(tmp_path / "run", None, Machine())
    found = join(open_source(str(tmp_path / "power.parquet")), work, Split(1.0)).profiles
    lost_j = sum(
        len(nodes) * (end_s - begin_s) * draw_w
        for job, nodes, begin_s, end_s in stays(run)
        for draw_w in [JOBS["draw_w"][run.jobs["job_id"].to_list().index(job)]]
        if end_s < run.jobs.filter(pl.col("job_id") == job)["end_s"][0]
    )
    assert lost_j > 0
    assert found.energy_j == pytest.approx(run.jobs["energy_j"].sum() - (0.0 if keeps else lost_j))


@pytest.mark.parametrize("per_rack", [None, 2])
def test_samples_add_up_to_the_timeline_and_to_every_stay(tmp_path: Path, per_rack: int | None) -> None:
    """Outages that overlap, jobs that lose their work, nodes that drain: at every second all sensors together say what
    the timeline says, and every stay has the energy of its job's power.
    """
    run = written(tmp_path, JOBS, nodes=6, idle=100, max=300, outages=OUTAGES)
    assert run.jobs["restarts"].sum() > 0
    samples = sampled(tmp_path, "node" if per_rack is None else "rack", per_rack)
    total = dict(samples.group_by("time_s").agg(pl.col("power_w").sum()).iter_rows())
    rows = run.timeline.select("time_s", "power_w").rows()
    for second, power_w in sorted(total.items()):
        now = [w for t, w in rows if t <= second][-1]
        assert power_w == pytest.approx(now, abs=1e-6), second
    if per_rack is None:
        draw_w = dict(run.jobs.select("job_id", "draw_w").iter_rows())
        for job, nodes, begin_s, end_s in stays(run):
            expected = draw_w[job] * len(nodes) * (end_s - begin_s)
            assert energy_j(samples, nodes, begin_s, end_s) == pytest.approx(expected)
        busy_j = sum(energy_j(samples, nodes, begin_s, end_s) for _, nodes, begin_s, end_s in stays(run))
        assert busy_j == pytest.approx(run.jobs["energy_j"].sum())


def test_idle_nodes_draw_what_their_class_does(tmp_path: Path) -> None:
    """Free nodes of two classes are not all alike."""
    classes = [
        {"name": "lean", "count": 2, "idle": 50, "max": 300},
        {"name": "fat", "count": 2, "idle": 110, "max": 300},
    ]
    two = {"submit_s": [0, 0], "work_s": [100, 20], "nodes": [1, 1], "draw_w": [150.0, 150.0]}
    run = written(tmp_path, two, classes=classes)
    held = {int(first) for first in run.placements.filter(pl.col("end_s") > 50)["first_node"]}
    told = dict(sampled(tmp_path).filter(pl.col("time_s") == 50).select("node", "power_w").iter_rows())
    assert told == {node: 150.0 if node in held else (50.0 if node < 2 else 110.0) for node in range(4)}
    assert sum(told.values()) == run.timeline.filter(pl.col("time_s") <= 50)["power_w"][-1]


class Other:
    """A journal in which some stays drew more: its timeline has the watts on top."""

    def __init__(self, journal: Any, more: list[tuple[float, float, float]]) -> None:
        self.journal, self.more = journal, more
        self.manifest, self.folder = journal.manifest, journal.folder

    def read(self, name: str, *columns: str) -> pl.DataFrame:
        """Return a table."""
        found: pl.DataFrame = self.journal.read(name, *columns)
        if name != "timeline":
            return found
        for begin_s, end_s, watts in self.more:
            inside = (pl.col("time_s") >= begin_s) & (pl.col("time_s") < end_s)
            found = found.with_columns(pl.when(inside).then(pl.col("power_w") + watts).otherwise(pl.col("power_w")))
        return found


def test_every_stay_has_the_power_that_the_timeline_tells(tmp_path: Path) -> None:
    """A job drew more in its first stay than after it had lost its work: both powers are found, not their mean, also
    of two such jobs at once; the others keep theirs.
    """
    run = written(tmp_path, JOBS, nodes=6, idle=100, max=300, outages=OUTAGES)
    jobs = read_trace(tmp_path / "run").jobs
    row_of = {int(number): row for row, number in enumerate(jobs.job_id)}
    table = run.jobs.select("job_id", "energy_j", "draw_w", "restarts")
    energy, draw_w = np.zeros(len(jobs)), np.zeros(len(jobs))
    for number, joules, watts, _ in table.iter_rows():
        energy[row_of[number]], draw_w[row_of[number]] = joules, watts
    again = table.filter(pl.col("restarts") > 0)["job_id"].to_list()
    assert len(again) == 2
    more, expected = [], {}
    for n, job in enumerate(again):
        mine = sorted((begin_s, end_s, len(nodes)) for number, nodes, begin_s, end_s in stays(run) if number == job)
        for k, (begin_s, end_s, nodes) in enumerate(mine):
            extra = 20.0 + 10.0 * n if k == 0 else 0.0
            more.append((begin_s, end_s, extra * nodes))
            energy[row_of[job]] += extra * nodes * (end_s - begin_s)
            expected[row_of[job], begin_s] = draw_w[row_of[job]] + extra
    found = drawn_by(Other(open_journal(tmp_path / "run"), more), jobs, energy)  # type: ignore[arg-type]
    assert found.stay_w == pytest.approx(expected)
    noisy = Other(open_journal(tmp_path / "run"), [*more, (20.0, 25.0, 7.0)])
    told = drawn_by(noisy, jobs, energy)  # type: ignore[arg-type]
    assert len(told.stay_w) < len(expected), "what no power of a stay explains leaves the mean"


def test_a_job_beside_nodes_that_are_down_has_its_own_power(tmp_path: Path) -> None:
    """Two of four nodes of the rack are down: one idles, and what is left of 440 W are the job's 350 W."""
    two = {"submit_s": [0, 500], "work_s": [100, 1000], "nodes": [4, 1], "draw_w": [350.0, 350.0]}
    down = [{"start": 200, "end": 1000, "nodes": "2-3"}]
    written(tmp_path, two, nodes=4, idle=90, max=350, outages=down)
    sampled(tmp_path, "rack", 4)
    work = load_work(tmp_path / "run", None, Machine(per_rack=4))
    done = join(open_source(str(tmp_path / "power.parquet")), work, Split(100.0, work.idle_w))
    assert done.trace.jobs.draw_w == pytest.approx([350.0, 350.0])


@pytest.mark.parametrize("per_rack", [1, 2, 3, 6])
def test_idle_power_is_taken_off_for_nodes_in_service_only(tmp_path: Path, per_rack: int) -> None:
    """Racks in which nodes are down, twice at once, or drain: what racks drew is what jobs and idle nodes did."""
    run = written(tmp_path, JOBS, nodes=6, idle=100, max=300, outages=OUTAGES, settings={"run.keep_progress": True})
    sampled(tmp_path, "rack", per_rack)
    work = load_work(tmp_path / "run", None, Machine(per_rack=per_rack))
    done = join(open_source(str(tmp_path / "power.parquet")), work, Split(1.0, work.idle_w))
    jobs = done.trace.jobs
    assert float((jobs.nodes * jobs.draw_w * jobs.work_s).sum()) == pytest.approx(float(run.jobs["energy_j"].sum()))


@pytest.mark.parametrize("per_rack", [2, 3, 4])
def test_free_nodes_draw_what_those_of_their_class_do(tmp_path: Path, per_rack: int) -> None:
    """Two thin nodes idle at 20 W and two fat ones at 200 W, also where a rack has some of both."""
    two = {"submit_s": [0, 0], "work_s": [600, 600], "nodes": [1, 1], "draw_w": [200.0, 500.0]}
    classes = [
        {"name": "thin", "count": 2, "idle": 20, "max": 300},
        {"name": "fat", "count": 2, "idle": 200, "max": 600},
    ]
    written(tmp_path, two | {"partition": ["thin", "fat"]}, classes=classes)
    sampled(tmp_path, "rack", per_rack)
    work = load_work(tmp_path / "run", None, Machine(per_rack=per_rack))
    split = Split(100.0, work.idle_w, each_w=work.each_w)
    done = join(open_source(str(tmp_path / "power.parquet")), work, split)
    jobs = done.trace.jobs
    assert float(jobs.draw_w.sum()) == pytest.approx(700.0)
    if per_rack == 2:  # each has its rack for itself
        assert jobs.draw_w == pytest.approx([200.0, 500.0])
