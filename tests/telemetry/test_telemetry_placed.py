"""Who held which nodes: tables of ranges, lists of hosts, Slurm's dumps, named sets, jobs that were stopped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from telemetry_world import IDLE_W, energy_of, journal, world

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.export import write_table
from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace
from wattline.telemetry.cleaning.rules import Rules
from wattline.telemetry.join import Split
from wattline.telemetry.made.sample import Plan, draw_samples, write_samples
from wattline.telemetry.nodes.placed import place
from wattline.telemetry.nodes.work import Machine, Work, load_work
from wattline.telemetry.read import join, open_source

DAY_S = 86400.0


def test_ranges_lists_and_a_journal_place_jobs_alike(tmp_path: Path) -> None:
    """A journal, a table of ranges and one of host lists lead to the same power."""
    work, series = world(whole=False)
    jobs, placed = work.trace.jobs, work.placed
    samples = draw_samples(work, energy_of(jobs, series), Plan(noise=0.02), 0.0, DAY_S, series).frame(jobs)
    write_samples(samples, tmp_path / "p.parquet")
    write_samples(
        samples.with_columns(("cn" + pl.col("node").cast(pl.String).str.zfill(4)).alias("node")),
        tmp_path / "named.parquet",
    )
    write_table(Trace(jobs), tmp_path / "jobs.parquet")
    columns = {"job_id": jobs.job_id[placed.job], "start_s": placed.begin_s, "end_s": placed.end_s}
    ranges = pl.DataFrame({**columns, "first_node": placed.first, "count": placed.count})
    ranges.write_csv(tmp_path / "ranges.csv")
    lists = [f"cn[{f:04d}-{f + c - 1:04d}]" for f, c in zip(placed.first, placed.count, strict=True)]
    pl.DataFrame({**columns, "NodeList": lists}).write_csv(tmp_path / "lists.csv", separator="|")
    # without times, those of the jobs are taken
    pl.DataFrame({"JobID": columns["job_id"], "NodeList": lists}).write_parquet(tmp_path / "bare.parquet")
    cases = [
        (journal(tmp_path / "run", work, energy_of(jobs, series)), None, "p"),
        (tmp_path / "jobs.parquet", tmp_path / "ranges.csv", "p"),
        (tmp_path / "jobs.parquet", tmp_path / "lists.csv", "named"),
        (tmp_path / "jobs.parquet", tmp_path / "bare.parquet", "named"),
    ]
    found = []
    for table, placements, source in cases:
        loaded = load_work(table, placements, Machine())
        done = join(open_source(str(tmp_path / f"{source}.parquet")), loaded, Split(300.0, IDLE_W))
        assert done.trace.jobs.series is not None
        found.append(done.trace.jobs.series.watts.tolist())
    assert found[0]
    assert all(other == found[0] for other in found[1:])


@pytest.mark.parametrize("shown", ["2024-07-01T{}:00", "2024-07-01T{}:00+02:00"])
def test_dates_of_placements_are_of_the_zone_of_the_jobs(tmp_path: Path, shown: str) -> None:
    """A dump of sacct is in local time, and its converted table knows where: 10 o'clock in Berlin is 8 o'clock UTC."""
    jobs = tmp_path / "dump.txt"
    jobs.write_text(
        "JobIDRaw|Submit|Start|End|ElapsedRaw|AllocNodes|User|State\n"
        "11|2024-07-01T10:00:00|2024-07-01T10:00:00|2024-07-01T10:10:00|600|1|a|COMPLETED\n"
    )
    write_table(read_trace(jobs, zone="Europe/Berlin"), tmp_path / "jobs.parquet")
    begin, end = (shown.format(clock) for clock in ("10:00", "10:10"))
    (tmp_path / "nodes.txt").write_text(f"JobIDRaw|NodeList|Start|End\n11|n1|{begin}|{end}\n")
    rows = [f"2024-07-01T{h:02d}:{m:02d}:00Z,n1,{100 if h == 8 else 300}\n" for h in (8, 10) for m in range(60)]
    (tmp_path / "p.csv").write_text("time,node,power_w\n" + "".join(rows))
    work = load_work(tmp_path / "jobs.parquet", tmp_path / "nodes.txt", Machine())
    done = join(open_source(str(tmp_path / "p.csv")), work, Split(60.0, 0.0))
    assert done.trace.jobs.draw_w.tolist() == [100.0]


def test_racks_with_names_of_their_own(tmp_path: Path) -> None:
    """A table says which nodes each sensor measures, as ranges or lists of hosts; racks need not be equal nor
    numbered.
    """
    work, series = world(whole=True)
    jobs = work.trace.jobs
    sets = pl.DataFrame({"rack": ["R0F", "R1A", "R0F", "R2"], "first_node": [0, 8, 16, 24], "count": [8, 8, 8, 8]})
    sets.write_csv(tmp_path / "sets.csv")
    lists = pl.DataFrame({"rack": ["R0F", "R1A", "R2"], "nodes": ["n[0-7],n[16-23]", "n[8-15]", "n[24-31]"]})
    lists.write_csv(tmp_path / "lists.csv", separator=";")
    expected = None
    for name in ("sets.csv", "lists.csv"):
        racks = Work(**{**vars(work), "machine": Machine(sets=tmp_path / name), "_sets": {}})
        samples = draw_samples(racks, energy_of(jobs, series), Plan(by="rack"), 0.0, DAY_S, series)
        names = np.array(["R0F", "R1A", "R2"])[samples.code]
        frame = samples.frame(jobs).with_columns(pl.Series("rack", names))
        write_samples(frame, tmp_path / "p.parquet")
        done = join(open_source(str(tmp_path / "p.parquet")), racks, Split(300.0, IDLE_W))
        assert done.profiles.energy_j == pytest.approx(energy_of(jobs, series).sum(), rel=1e-9)
        assert done.trace.jobs.series is not None
        expected = expected or done.trace.jobs.series.watts.tolist()
        assert done.trace.jobs.series.watts.tolist() == expected
    (tmp_path / "twice.csv").write_text("rack,first_node,count\na,0,8\nb,7,8\n")
    twice = Work(**{**vars(work), "machine": Machine(sets=tmp_path / "twice.csv"), "_sets": {}})
    with pytest.raises(InputError, match="node 7 belongs to two sensors"):
        join(open_source(str(tmp_path / "p.parquet")), twice, Split(300.0))


def stopped(restarts: bool) -> Work:
    """Return a job that held four nodes, then after a pause four others."""
    jobs = JobTable.build(submit_s=[0.0], work_s=[600.0 if restarts else 900.0], nodes=[4], job_id=[9])
    frame = pl.DataFrame(
        {"job": [0, 0], "first": [0, 4], "count": [4, 4], "begin_s": [0.0, 1000.0], "end_s": [300.0, 1600.0]}
    )
    placed, _ = place(frame, jobs, np.array([0]) if restarts else None)
    return Work(Trace(jobs), placed, 8, (), Machine(), float("nan"))


@pytest.mark.parametrize("restarts", [False, True])
def test_a_job_that_was_stopped_goes_on_where_it_was(restarts: bool, tmp_path: Path) -> None:
    """Stays of a preempted job lie end to end; of one that began anew only the last counts."""
    work = stopped(restarts)
    time_s = np.arange(0.0, 1700.0, 100.0)
    power = 100.0 + time_s / 100
    frame = pl.DataFrame(
        {"node": np.repeat(np.arange(8), time_s.size), "time": np.tile(time_s, 8), "power": np.tile(power, 8)}
    )
    frame.sort("time").write_parquet(tmp_path / "p.parquet")
    done = join(open_source(str(tmp_path / "p.parquet")), work, Split(300.0))
    assert done.trace.jobs.series is not None
    first = [] if restarts else [101.0]
    assert done.trace.jobs.series.of(0).tolist() == pytest.approx([*first, 111.0, 114.0])
    assert done.profiles.coverage[0] == 1.0


def test_a_stay_whose_work_was_lost_takes_its_part_of_a_rack(tmp_path: Path) -> None:
    """What its nodes drew is not the power of the job beside it."""
    jobs = JobTable.build(submit_s=[0.0, 0.0], work_s=[600.0, 300.0], nodes=[4, 4], job_id=[9, 10])
    stays = {"job": [0, 0, 1], "first": [0, 0, 4], "count": [4, 4, 4]}
    frame = pl.DataFrame({**stays, "begin_s": [0.0, 1000.0, 0.0], "end_s": [300.0, 1600.0, 300.0]})
    placed, _ = place(frame, jobs, np.array([0]))
    work = Work(Trace(jobs), placed, 8, (), Machine(per_rack=8), float("nan"))
    time_s = np.arange(0.0, 1700.0, 100.0)
    power_w = np.where(time_s < 300.0, 4 * 100.0 + 4 * 200.0, 4 * 150.0 + 4 * 50.0)
    pl.DataFrame({"rack": 0, "time": time_s, "power": power_w}).write_parquet(tmp_path / "p.parquet")
    found = join(open_source(str(tmp_path / "p.parquet")), work, Split(300.0, 50.0)).trace.jobs.series
    assert found is not None
    assert found.of(0).tolist() == pytest.approx([150.0, 150.0])
    assert found.of(1).tolist() == pytest.approx([150.0])  # half of 1,200 W, as the four other nodes have


def test_jobs_and_nodes_that_nobody_knows_are_counted(tmp_path: Path) -> None:
    """Placements of other jobs are said; samples of nodes beyond the machine are strangers by name."""
    work, series = world()
    jobs, placed = work.trace.jobs, work.placed
    write_table(Trace(jobs), tmp_path / "jobs.parquet")
    columns = {
        "job_id": np.append(jobs.job_id[placed.job], 9999),
        "first_node": np.append(placed.first, 0),
        "count": np.append(placed.count, 1),
        "start_s": np.append(placed.begin_s, 0.0),
        "end_s": np.append(placed.end_s, 10.0),
    }
    pl.DataFrame(columns).write_parquet(tmp_path / "places.parquet")
    frame = draw_samples(work, energy_of(jobs, series), Plan(noise=0.02), 0.0, DAY_S, series).frame(jobs)
    strange = frame.filter(pl.col("node") == 5).with_columns(pl.lit(77).cast(frame["node"].dtype).alias("node"))
    pl.concat([frame, strange]).sort("time_s", maintain_order=True).write_parquet(tmp_path / "p.parquet")
    loaded = load_work(tmp_path / "jobs.parquet", tmp_path / "places.parquet", Machine(nodes=32))
    done = join(open_source(str(tmp_path / "p.parquet")), loaded, Split(300.0, IDLE_W))
    assert any("not in the table" in note.reason and "job 9999" in note.example for note in done.trace.notes)
    facts = done.reading.facts()
    assert facts["faults"]["unknown"] == strange.height
    assert facts["worst"][0] == {"sensor": "77", "faults": strange.height, "most": "unknown"}


def test_samples_of_jobs_need_no_places(tmp_path: Path) -> None:
    """A log with recorded waits and samples of its jobs is enough; per node or of the whole job, as is said."""
    work, series = world(aligned=True)
    jobs = work.trace.jobs
    write_table(Trace(jobs), tmp_path / "jobs.parquet")
    frame = draw_samples(work, energy_of(jobs, series), Plan(by="job"), 0.0, DAY_S, series).frame(jobs)
    nodes = pl.DataFrame({"job_id": jobs.job_id, "n": jobs.nodes})
    each = frame.join(nodes, on="job_id", maintain_order="left").with_columns(pl.col("power_w") / pl.col("n")).drop("n")
    for name, per_node, table in (("all", False, frame), ("each", True, each)):
        write_samples(table, tmp_path / f"{name}.parquet")
        loaded = load_work(tmp_path / "jobs.parquet", None, Machine(per_node=per_node))
        done = join(open_source(str(tmp_path / f"{name}.parquet")), loaded, Split(300.0), rules=Rules(period_s=300.0))
        assert done.trace.jobs.series is not None
        np.testing.assert_allclose(done.trace.jobs.series.watts, series.watts, rtol=1e-6)
    nodes_only = load_work(tmp_path / "jobs.parquet", None, Machine())
    write_samples(frame.rename({"job_id": "node"}), tmp_path / "nodes.parquet")
    with pytest.raises(InputError, match="give --placements"):
        join(open_source(str(tmp_path / "nodes.parquet")), nodes_only, Split(300.0))


PLACES = {
    "no job": ("x,first_node,count\n1,0,1\n", "column 'job_id' is missing"),
    "no nodes": ("job_id,start_s,end_s\n1,0,1\n", "column 'first_node and count, or nodelist' is missing"),
    "bad list": (
        "job_id,start_s,end_s,nodelist\n1,0,5,n1\n2,0,5,n[4-1]\n",
        r"places.csv:3: field 'nodelist': host list .*backwards",
    ),
    "nobody": ("job_id,start_s,end_s,first_node,count\n55555,0,1,0,1\n", "no job with known nodes and times"),
}


@pytest.mark.parametrize("name", PLACES)
def test_places_that_are_none(name: str, tmp_path: Path) -> None:
    """A table of places that lacks something is refused in one line."""
    text, told = PLACES[name]
    write_table(world()[0].trace, tmp_path / "jobs.parquet")
    (tmp_path / "places.csv").write_text(text)
    with pytest.raises(TraceError, match=told):
        load_work(tmp_path / "jobs.parquet", tmp_path / "places.csv", Machine())


def test_racks_need_their_nodes(tmp_path: Path) -> None:
    """Samples of racks without a word on which nodes they measure are refused, with the flags that say it."""
    work, series = world()
    samples = draw_samples(
        Work(**{**vars(work), "machine": Machine(per_rack=8)}),
        energy_of(work.trace.jobs, series),
        Plan(by="rack"),
        0.0,
        DAY_S,
        series,
    )
    write_samples(samples.frame(work.trace.jobs), tmp_path / "p.parquet")
    with pytest.raises(InputError, match="give --nodes-per-rack, or --sensors"):
        join(open_source(str(tmp_path / "p.parquet")), work, Split(300.0))
