"""The reproduction of the service-rate paper: what it states, what it writes, and what it says when the data is
missing.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from systems_statements import check_statements, check_tables

from wattline.errors import InputError
from wattline.journal.kept import KEPT, Kept
from wattline.model.jobs import JobTable
from wattline.systems import reproduce
from wattline.systems.recursion import data, model, study
from wattline.systems.reproduction import SMALLER, Reproduction
from wattline.systems.work import Work


@pytest.fixture(scope="module")
def reproduced(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """The quick version on the recorded log."""
    assert data.find_log() is not None
    return reproduce("recursion", tmp_path_factory.mktemp("out"), Work(), quick=True)


def found(reproduced: Reproduction, short: str) -> Any:
    """The claim whose short form begins so."""
    return next(claim for claim in reproduced.claims if claim.short.startswith(short))


def test_on_the_recorded_log_the_trade_off_and_the_switching_hold(reproduced: Reproduction) -> None:
    """Energy falls and workload rises with the threshold; rates follow the workload; switches come when they should."""
    for short in (
        "W above",
        "up only",
        "heavy waiting",
        "a trade-off",
        "k = 0",
        "backfilled",
        "the stability",
        "often",
    ):
        assert found(reproduced, short).holds, short
    numbers = reproduced.numbers["figure_3"]
    assert len(numbers["k"]) == 31
    assert np.all(np.diff(numbers["energy"]) < 0)
    assert np.all(np.diff(numbers["workload"]) > 0)


def test_what_does_not_hold_is_said_with_the_reason(reproduced: Reproduction) -> None:
    """The printed energies and the period do not hold, and each says why."""
    for short in ("e(r_L)", "9389 tasks"):
        claim = found(reproduced, short)
        assert not claim.holds
        assert len(claim.because) > 30
    assert reproduced.remarks == [SMALLER]  # a page of the documentation is not made of it


def test_the_document_shows_what_comes_out(reproduced: Reproduction) -> None:
    """Statements word for word; every table but that over resamples, of which the quick version draws fewer."""
    check_statements(reproduced)
    check_tables(reproduced, but=("resamples",))


def test_how_records_are_cleared_decides_who_waits(reproduced: Reproduction) -> None:
    """Dropped as a whole, bad records leave a log in which hundreds of 500 customers wait, as in Fig. 2; with their
    interarrival times kept, one does.
    """
    assert found(reproduced, "heavy waiting").ours.startswith("224 of 500 wait")
    assert "kept 1 wait" in found(reproduced, "heavy waiting").ours
    assert "over 398 days" in found(reproduced, "9389").ours
    assert "over 451 days" in found(reproduced, "9389").ours


def test_the_page_is_one_file_that_asks_nothing_of_the_network(reproduced: Reproduction) -> None:
    """The page holds all claims and figures; nothing in it is fetched, and the journal lies beside it."""
    text = reproduced.path.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="https?://', text[: text.index("<script>")])
    assert "default-src 'none'" in text  # what the script might ask for, the browser refuses
    for claim in reproduced.claims:
        assert claim.where in text
    for figure in ("Fig. 1:", "Fig. 2:", "Fig. 3:", "Over randomized runs", "Energy against workload"):
        assert figure in text
    assert "potential load" in text
    assert (reproduced.path.parent / "figure-1" / "jobs.parquet").is_file()


def test_the_table_fits_eighty_columns_and_json_is_plain(reproduced: Reproduction) -> None:
    """The terminal table never exceeds 80 columns; the numbers survive JSON."""
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(reproduced.table)
    assert max(len(line.rstrip()) for line in console.export_text().splitlines()) <= 80
    told = json.loads(json.dumps(reproduced.to_dict()))
    assert {claim["verdict"] for claim in told["claims"]} == {"held", "not held"}


def test_without_the_log_it_says_loudly_that_it_generates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No log: a generated workload, said with the results, in the table and on the page, with the place to get the
    data.
    """
    monkeypatch.delenv("WATTLINE_DATA", raising=False)
    said: list[str] = []
    result = reproduce("recursion", tmp_path, Work(said.append), quick=True)
    smaller, remark = result.remarks
    assert smaller == SMALLER
    assert remark.startswith("NOT THE PAPER'S DATA")
    assert "hpcwld" in remark
    assert remark not in said  # once is enough
    assert "NOT THE PAPER&#x27;S DATA" in result.path.read_text(encoding="utf-8")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(result.table)
    shown = console.export_text()
    assert "NOT THE PAPER'S DATA" in shown
    assert "-0.000" not in shown
    assert not any(claim.short.startswith("9389") for claim in result.claims)


def test_a_path_that_does_not_exist_is_an_error_that_says_where_to_get_the_data(tmp_path: Path) -> None:
    """Nothing is generated in place of a file that was named."""
    with pytest.raises(InputError, match=r"missing\.csv: no such file; it is in the R package hpcwld"):
        data.load_customers(tmp_path / "missing.csv")


def test_generated_customers_resemble_the_log() -> None:
    """Mean gap and service, share of single servers and the three-day limit are the log's, within a third."""
    jobs = data.generate_customers(1)
    assert jobs.span_s / len(jobs) == pytest.approx(5148, rel=0.33)
    assert jobs.work_s.mean() / data.GHZ == pytest.approx(34548, rel=0.33)
    assert np.mean(jobs.nodes == 1) == pytest.approx(0.8, abs=0.06)
    assert jobs.work_s.max() == pytest.approx(data.LONGEST_S * data.GHZ)
    assert data.generate_customers(1).submit_s.tobytes() == jobs.submit_s.tobytes()


def test_resamples_keep_records_and_neighbours_together() -> None:
    """Each record keeps gap, amount and width; within a block the next record is the log's next."""
    rng = np.random.default_rng(2)
    jobs = JobTable.build(
        submit_s=np.cumsum(rng.integers(1, 99, 1000)), work_s=np.arange(1.0, 1001.0), nodes=rng.integers(1, 80, 1000)
    )
    drawn = data.resample(jobs, 5, block=50)
    rows = drawn.work_s.astype(int) - 1
    assert np.array_equal(drawn.nodes, jobs.nodes[rows])
    following = np.diff(rows) == 1
    assert following.sum() >= 20 * 49 - 1
    assert np.array_equal(np.diff(drawn.submit_s)[following], np.diff(jobs.submit_s)[rows[:-1][following]])
    assert data.resample(jobs, 6).work_s.tobytes() != drawn.work_s.tobytes()


def test_averages_of_epochs_are_those_of_any_report(tmp_path: Path) -> None:
    """Means over epochs equal the service measures counted from the run's journal."""
    from wattline.journal.journal import open_journal, write_journal
    from wattline.report.count.run import load
    from wattline.report.count.service import service_measures
    from wattline.wiring.manifest import manifest
    from wattline.wiring.tables import frames

    result = model.run(data.generate_customers(3, 800), "BF", log=True)
    write_journal(tmp_path / "j", frames(result), manifest(result, name="x", source="y"))
    counted, ours = service_measures(load(open_journal(tmp_path / "j"))), model.measures(result)
    assert ours["energy"] == pytest.approx(counted.energy_consumption_w.mean)
    assert ours["workload"] == pytest.approx(counted.workload_mean)
    assert ours["workload_eq12"] == pytest.approx(counted.workload.mean)
    assert ours["delay_s"] == pytest.approx(counted.delay_s.mean)
    assert ours["service_s"] == pytest.approx(counted.service_s.mean)
    assert ours["potential_load"] == pytest.approx(counted.potential_load.mean)
    assert ours["effective_load"] == pytest.approx(counted.effective_load.mean)
    assert ours["wasting"] == pytest.approx(ours["potential_load"] - ours["effective_load"])
    assert ours["slowdown"] == pytest.approx(counted.slowdown.mean)
    assert ours["wasting"] == pytest.approx(counted.job_wasting.mean)
    assert ours["share_high"] == pytest.approx(counted.rate_shares.get("2.66", 0.0))
    assert ours["budget"] == pytest.approx(counted.energy_budget_j.mean)


def test_other_energies_are_counted_on_the_same_epochs() -> None:
    """With its own energies a run's mean power comes out again; exchanged ones give what a run with them gives."""
    jobs = data.generate_customers(4, 500)
    e = model.epochs(model.run(jobs))
    assert e.energy_with(model.LOW, model.HIGH) == pytest.approx(e.mean(e.power))


def test_irregularity_counts_bends_that_undo_each_other() -> None:
    """A line and a bow have none; a zigzag has what it wastes."""
    x = np.arange(10.0)
    assert study.irregularity(x) == pytest.approx(0.0)
    assert study.irregularity(x**2) == pytest.approx(0.0)
    assert study.irregularity(x + 0.5 * (-1.0) ** x) > 1.0


def test_waiting_behind_wide_customers_is_told_apart() -> None:
    """A customer blocked by a wide head waits behind it; one blocked by a narrow head does not."""
    # 80 servers: #0 holds 70; #1 asks for 64 and heads the line until 10; #2 waits behind it all the time.
    jobs = JobTable.build(submit_s=[0, 1, 2], work_s=[26.6, 2.66, 2.66], nodes=[70, 64, 1])
    got = study.waiting(model.run(jobs, switching=model.SWITCHINGS["r_H"]), 0, 3)
    assert (got.customers, got.behind_wide) == (2, 1.0)
    assert got.seconds == pytest.approx(9.0 + 8.0)
    jobs = JobTable.build(submit_s=[0, 1, 2], work_s=[26.6, 2.66, 2.66], nodes=[78, 3, 1])
    assert study.waiting(model.run(jobs, switching=model.SWITCHINGS["r_H"]), 0, 3).behind_wide == 0.0


def test_beyond_the_critical_load_delays_grow_as_predicted() -> None:
    """The criterion's load says how fast delays of drawn customers grow: by load − 1 a second, or not at all."""
    for drift in study.drifts(data.generate_customers(1), (0.8, 1.2)):
        assert drift.measured == pytest.approx(drift.expected, abs=0.03)


def test_a_study_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped again and again, the runs over thresholds, resamples and rules repeat none that is kept, and find the
    same numbers.
    """
    customers = data.load_customers()
    few = customers.jobs.take(np.arange(60))
    small = replace(customers, jobs=few)
    real, thresholds = study.run, model.THRESHOLDS[::10]
    begun: list[int] = []

    def carry_out(work: Work) -> tuple[Any, ...]:
        return (
            study.curve(few, work, thresholds),
            study.curve(few, work, thresholds, as_printed=True),
            study.ensemble(small, 3, work, thresholds[:2]),
            study.grid(few, work),
        )

    whole = carry_out(Work())
    runs, cut = 2 * thresholds.size + 3 * 2 + len(study.PAIRS), 7

    def run(*given: Any, **more: Any) -> Any:
        begun.append(1)
        if len(begun) % cut == 0:
            raise KeyboardInterrupt
        return real(*given, **more)

    monkeypatch.setattr(study, "run", run)
    monkeypatch.setattr("wattline.sim.ensemble._threads", 1)
    found: tuple[Any, ...] = ()
    for attempt in range(runs):
        kept = Kept(tmp_path / KEPT, {"name": "recursion"}, resume=attempt > 0)
        try:
            found = carry_out(Work(kept=kept))
            kept.forget()
            break
        except KeyboardInterrupt:
            kept.leave()
    assert attempt > 2
    assert len(begun) <= runs + 3 * attempt  # a resample has two runs; no other piece is begun twice without a cut
    assert repr(found) == repr(whole)
