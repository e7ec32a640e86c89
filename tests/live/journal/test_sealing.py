"""Journals of a live run: the same tables as the simulator's for the same jobs, whole or hour by hour."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from engine.worlds import cluster, run
from live.journal.world import NODES, Exact, Fuzz, bound, flow
from wattline.control.facts import CANCEL, END, HAPPENED, TARGET, TIME
from wattline.formats.jobs import read_trace
from wattline.journal.journal import Journal, open_journal, write_journal
from wattline.kernel.compiled import JIT
from wattline.live.controller.journal.record import Record
from wattline.live.controller.journal.sealing import Sealer, number_of
from wattline.live.controller.ledger import Ledger
from wattline.model import codes
from wattline.report.count.metrics import summarize
from wattline.report.pages.run import write_report
from wattline.wiring.manifest import manifest
from wattline.wiring.tables import frames

COUNT = 1_200 if JIT else 150
TEXTS = {"user": tuple("abcdefghi")}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """Return the simulator's journal."""
    result = run(flow(7, COUNT), cluster(NODES, idle_w=50.0))
    folder = tmp_path_factory.mktemp("simulated") / "run"
    write_journal(folder, frames(result), manifest(result, name="world", source="test"))
    return open_journal(folder)


def lived(folder: Path, *, every_s: float = np.inf) -> tuple[list[Journal], Exact]:
    """Return the journals of the same jobs in an exact world, one for each stretch of time."""
    ledger, sealer = Ledger(bound(log_rows=700, start_s=float(flow(7, COUNT).submit_s[0])), record=Record()), Sealer()
    world, journals = Exact(ledger, flow(7, COUNT)), []
    until_s = every_s
    while world.left:
        world.run(until_s)
        part = sealer.cut(ledger, TEXTS)
        part.write(folder / f"{part.number}", name="world")
        journals.append(open_journal(folder / f"{part.number}"))
        until_s += every_s
    return journals, world


def test_the_journal_of_an_exact_world_is_the_simulators(simulated: Journal, tmp_path: Path) -> None:
    """More than a thousand jobs in rows that are reused and grow leave the tables that the simulator leaves: jobs with
    their energy, placements, events, timeline, decisions and classes.
    """
    (journal,), world = lived(tmp_path)
    assert world.ledger.grown > 1
    assert world.ledger.state.sizes.J < COUNT / 2 or not JIT
    for name in ("jobs", "placements", "events", "timeline", "decisions", "classes"):
        live, sim = journal.read(name), simulated.read(name)
        if name == "jobs":  # the live ones are what was counted with
            live, sim = (frame.drop("floor_w", "stretch") for frame in (live, sim))
        if name == "placements":  # two jobs that end in one instant
            live, sim = (frame.sort("job_id", "start_s", "first_node") for frame in (live, sim))
        assert_frame_equal(live, sim, rel_tol=1e-9, abs_tol=1e-9)
    assert journal.manifest["totals"] == pytest.approx(simulated.manifest["totals"], rel=1e-9)
    for key in ("start_s", "end_s", "policies", "ties", "seed"):
        assert journal.manifest[key] == simulated.manifest[key]


def test_ends_before_a_pass_are_in_the_timeline(tmp_path: Path) -> None:
    """Jobs that ended while no control passed: power falls at each end, and its area is the energy of all nodes."""
    jobs = flow(3, 40).take(np.arange(40) < 20)
    world = Exact(Ledger(bound(), record=Record()), jobs)
    book = world.ledger
    while len(world.ends) < 2:
        world.instant()
    ends = sorted(world.ends)[:2]
    assert ends[0][0] < ends[1][0]
    for end_s, j in ends:
        book.tell(TIME, end_s)
        book.tell_of(END, str(j + 1), codes.FINISHED)
    book.tell(TIME, ends[1][0] + 7.0)
    book.control()
    Sealer().cut(book, TEXTS).write(tmp_path / "0", name="world")
    journal = open_journal(tmp_path / "0")
    found = journal.read("timeline")
    for end_s, _ in ends:
        assert end_s in found["time_s"].to_list()
    area_j = float(np.sum(found["power_w"].to_numpy()[:-1] * np.diff(found["time_s"].to_numpy())))
    totals = journal.manifest["totals"]
    assert area_j == pytest.approx(totals["busy_j"] + totals["idle_j"], rel=1e-9)


def test_hours_of_a_run_add_up_to_it(simulated: Journal, tmp_path: Path) -> None:
    """Each event, placement, decision and joule is in one of the hours; a job that is not over is in several, and
    finished in the last.
    """
    journals, _ = lived(tmp_path, every_s=9_000.0)
    assert len(journals) > 2
    for name, columns in (
        ("events", ["time_s", "event", "job_id", "nodes"]),
        ("decisions", ["time_s", "action", "job_id"]),
    ):
        whole = pl.concat([journal.read(name, *columns) for journal in journals]).sort(columns)
        assert_frame_equal(whole, simulated.read(name, *columns).sort(columns))
    placed = pl.concat([journal.read("placements").drop_nulls() for journal in journals])
    key = ["job_id", "start_s", "first_node"]
    assert_frame_equal(placed.sort(key), simulated.read("placements").sort(key))
    for part in ("busy_j", "idle_j"):
        total = sum(journal.manifest["totals"][part] for journal in journals)
        assert total == pytest.approx(simulated.manifest["totals"][part], rel=1e-9)
    last = pl.concat([journal.read("jobs", "job_id", "status", "energy_j") for journal in journals])
    done = last.filter(pl.col("status") == "finished").sort("job_id")
    assert done["job_id"].to_list() == list(range(1, COUNT + 1))
    assert done["energy_j"].to_numpy() == pytest.approx(simulated.read("jobs")["energy_j"].to_numpy(), rel=1e-9)
    assert (last["status"] == "unfinished").sum() > 0
    for before, after in itertools.pairwise(journals):
        assert before.manifest["end_s"] == after.manifest["start_s"] == after.read("timeline")["time_s"][0]


def test_a_report_and_a_trace_are_made_of_an_hour(tmp_path: Path) -> None:
    """Whoever reads the journal of a simulated run reads that of an hour of a live one."""
    (first, second, *_), _ = lived(tmp_path, every_s=9_000.0)
    for journal in (first, second):
        summary = summarize(journal)
        assert summary.jobs.total == journal.read("jobs").height
        assert summary.energy.total_j == pytest.approx(journal.manifest["totals"]["total_j"], rel=1e-9)
        ended = journal.read("jobs").filter(pl.col("status") != "unfinished")
        assert read_trace(journal.folder).jobs.job_id.tolist() == ended["job_id"].to_list()


def test_what_meters_said_is_in_a_table_of_its_own(tmp_path: Path) -> None:
    """Measured power stands beside the modelled one, null where too few nodes were heard."""
    record = Record()
    ledger, sealer = Ledger(bound(), record=record), Sealer()
    Exact(ledger, flow(7, 5)).run()
    record.measure(1.0, 3_210.0, 64, 3_000.0, np.inf)
    record.measure(2.0, np.nan, 12, np.nan, 9_000.0)
    sealer.cut(ledger).write(tmp_path / "0", name="world")
    told = open_journal(tmp_path / "0").read("measured")
    assert told["power_w"].to_list() == [3_210.0, None]
    assert told["nodes"].to_list() == [64, 12]
    assert told["limit_w"].to_list() == [np.inf, 9_000.0]
    record.measure(3.0, 1.0, 64, np.nan, np.inf)
    sealer.cut(ledger).write(tmp_path / "1", name="world")
    assert open_journal(tmp_path / "1").read("measured").height == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_a_journal_of_all_sorts_of_facts_is_consistent(tmp_path: Path, seed: int) -> None:
    """Whatever happens to jobs, each that is over has one event that says how; their energy is that of busy nodes; what
    was told is forgotten.
    """
    record = Record()
    ledger = Ledger(bound(late_start_s=(1.0, 2.0), outside=True, log_rows=300), record=record)
    world, sealer = Fuzz(ledger, seed), Sealer()
    for _ in range(500 if JIT else 100):
        world.tick()
    sealer.cut(ledger).write(tmp_path / "0", name="world")
    journal = open_journal(tmp_path / "0")
    jobs, events = journal.read("jobs"), journal.read("events")
    assert jobs.height == world.count
    assert set(jobs["status"]) >= {"finished", "killed", "failed", "cancelled"} or not JIT
    for status, event in (("finished", "end"), ("killed", "kill"), ("failed", "fail"), ("cancelled", "cancel")):
        ended = jobs.filter(pl.col("status") == status).sort("end_s", "job_id")
        told = events.filter(pl.col("event") == event).sort("time_s", "job_id")
        assert ended["job_id"].to_list() == told["job_id"].to_list()
        assert ended["end_s"].to_list() == told["time_s"].to_list()
    started = jobs.filter(pl.col("start_s").is_not_null())
    assert sorted(events.filter(pl.col("event") == "start")["job_id"]) == sorted(started["job_id"])
    assert jobs["energy_j"].sum() == pytest.approx(journal.manifest["totals"]["busy_j"], rel=1e-9)
    assert summarize(journal).jobs.total == world.count
    present = set(record.rows())
    assert present == set(record.jobs.known) == set(record.jobs.name)
    assert not record.jobs.ended
    assert not any(record.logs.values())


def test_work_is_what_a_job_did_however_it_ended(tmp_path: Path) -> None:
    """Jobs that were told with their kind's ten minutes fail, are killed and are taken back after five seconds; one
    that never started keeps what was told.
    """
    ledger = Ledger(bound(), record=Record())
    some = flow(5, 5)
    jobs = replace(some, submit_s=np.zeros(5), work_s=np.full(5, 600.0), nodes=np.array([1, 1, 1, 1, NODES]))
    world = Exact(ledger, jobs)
    world.instant()
    ledger.tell(TIME, 5.0)
    for job, status in (("1", codes.FINISHED), ("2", codes.FAILED), ("3", codes.KILLED)):
        ledger.tell_of(END, job, status)
    ledger.tell_of(CANCEL, "4")
    ledger.tell_of(CANCEL, "5")
    ledger.control()
    Sealer().cut(ledger, TEXTS).write(tmp_path / "0", name="world")
    found = open_journal(tmp_path / "0").read("jobs").sort("job_id")
    assert found["status"].to_list() == ["finished", "failed", "killed", "cancelled", "cancelled"]
    assert found["work_s"].to_list() == [5.0, 5.0, 5.0, 5.0, 600.0]
    trace = read_trace(tmp_path / "0")
    assert trace.jobs.job_id.tolist() == [1, 2, 3, 4]
    (dropped,) = [note for note in trace.notes if note.action == "dropped"]
    assert (dropped.reason, dropped.count) == ("cancelled before it started", 1)


def test_jobs_that_had_not_ended_are_no_jobs_of_a_log(tmp_path: Path) -> None:
    """Nobody knows how long they take: what their kind is told to take is no run time."""
    ledger = Ledger(bound(), record=Record())
    jobs = replace(flow(5, 3), submit_s=np.zeros(3), work_s=np.full(3, 600.0), nodes=np.array([1, 1, NODES]))
    world = Exact(ledger, jobs)
    world.instant()
    ledger.tell(TIME, 5.0)
    ledger.tell_of(END, "1", codes.FINISHED)
    ledger.control()
    Sealer().cut(ledger, TEXTS).write(tmp_path / "0", name="world")
    trace = read_trace(tmp_path / "0")
    assert trace.jobs.job_id.tolist() == [1]
    assert [(note.reason, note.count) for note in trace.notes if note.action == "dropped"] == [("had not ended", 2)]


def test_jobs_are_known_by_their_names_where_these_are_numbers() -> None:
    """A number stays; other names are counted where no number reaches."""
    assert number_of("4711", 3) == 4711
    assert number_of("4711_2", 3) == 10**15 + 3
    assert number_of("9" * 16, 4) == 10**15 + 4


def test_a_journal_tells_the_bid_and_what_was_measured(tmp_path: Path) -> None:
    """The bid is in the manifest of every hour in which it held, also where it began before; the tracking error is that
    of measured power, and the report draws it beside the model's.
    """
    record, sealer = Record(), Sealer()
    ledger = Ledger(bound(start_s=0.0), record=record)
    journals = []
    for t in range(180):
        held = t >= 20
        target_w = 900.0 + 300.0 * np.sin(t) if held else np.nan
        ledger.tell(TIME, float(t))
        if t == 1:
            ledger.enter("1", Exact(ledger, flow(7, 1)).facts[0])
        ledger.tell(TARGET, 900.0 if held else np.nan, 300.0 if held else 0.0, target_w)
        ledger.tell(HAPPENED, codes.TICK)
        ledger.control()
        record.measure(float(t), np.nan if t == 5 else target_w + 60.0 if held else 800.0, NODES, target_w, np.inf)
        if t in (119, 179):
            part = sealer.cut(ledger)
            part.write(tmp_path / f"{t}", name="bid")
            journals.append(open_journal(tmp_path / f"{t}"))
    for journal, span in zip(journals, ([20.0, 119.0], [119.0, 179.0]), strict=True):
        told = journal.manifest["regulation"]
        assert (told["mean_w"], told["reserve_w"], told["hours"]) == (900.0, 300.0, [span])
        found = summarize(journal).regulation
        assert found is not None
        assert found.error == pytest.approx(0.2, abs=1e-9)
        assert "Measured power" in write_report(journal, tmp_path / "page.html").read_text(encoding="utf-8")
    thawed = Sealer.thaw(sealer.freeze())
    assert (thawed.told.bid, thawed.told.reading) == (sealer.told.bid, sealer.told.reading)
    assert thawed.told.bid == (900.0, 300.0)
