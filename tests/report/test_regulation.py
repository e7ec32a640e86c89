"""What a report says about demand response: bills by hand, the service of every kind, and figures that plotly takes."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from synthetic import write_synthetic
from test_figure import validate
from test_html import figures_of

import wattline as wl
from wattline.journal.journal import Journal, open_journal
from wattline.market.bill import Bids, bill_hours, columns_of, flat_book
from wattline.market.tariff import Tariff
from wattline.model.regulation import Signal
from wattline.report.count.metrics import Summary, summarize, summarize_run
from wattline.report.count.regulation import billed_hours, count_qos, count_regulation, error_steps
from wattline.report.count.run import Run, load
from wattline.report.figures.hour import draw_regulation
from wattline.report.pages.run import write_report
from wattline.report.tables.summary import summary_table
from wattline.scenario import read_scenario, variants, wire

MARKET = """\
name = "sold"
kinds = "W14"
[trace]
generator = "kinds"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = {name = "slackline", stop = 0.9}
cap = "match-target"
[regulation]
mean = "8.5 kW"
reserve = "3.5 kW"
warmup = "1 h"
[[kind]]
name = "fill"
nodes = 1
time = 73
power = "339 W"
floor = "249 W"
longest = 86
standby = true
"""

MARKET_OF_TWO = {
    "mean_w": 1000.0,
    "reserve_w": 100.0,
    "from_s": 0.0,
    "until_s": 7200.0,
    "hours": [[0.0, 3600.0], [3600.0, 7200.0]],
    "tariff": {"energy_price_per_kwh": 0.1, "reserve_price_per_kwh": 0.2, "error_price_per_kwh": 0.5},
    "signal": {"law": "file"},
    "outside_share": 0.0,
    "outside_exceed_share": 0.0,
    "outside_error": 0.0,
}
KINDS = [
    {"name": "cfd", "standby": False, "limit": 1.0, "share": 0.1},
    {"name": "md", "standby": True, "limit": None, "share": 0.1},
]


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """Two billed hours of W14 with standby jobs, under a policy that pauses jobs."""
    folder = tmp_path_factory.mktemp("sold")
    (folder / "s.toml").write_text(MARKET)
    study = wire(variants(read_scenario(folder / "s.toml"))[0])
    study.write(study.simulate(), folder / "j")
    return open_journal(folder / "j")


@pytest.fixture
def by_hand(tmp_path: Path) -> Run:
    """Four jobs of two kinds, two hours: power 50 W above the target, then on it but for a quarter of an hour."""
    run = load(
        write_synthetic(
            tmp_path / "j", submit=[0.0, 100.0, 200.0, 300.0], start=[0.0, 110.0, 450.0, np.nan],
            end=[100.0, 210.0, 550.0, np.nan], nodes=[1, 1, 1, 1], first=[0, 0, 0, 0], total=4, kind=[0, 0, 0, 1],
            run_end_s=7200.0,
        )
    )  # fmt: skip
    time_s = np.array([0.0, 3600.0, 4500.0])
    flat = np.zeros(3)
    steps = replace(
        run.steps,
        time_s=time_s,
        duration_s=np.array([3600.0, 900.0, 2700.0]),
        target_w=np.array([1000.0, 1000.0, 900.0]),
        power_w=np.array([1050.0, 960.0, 900.0]),
        busy_nodes=flat,
        idle_nodes=flat,
        asleep_nodes=flat,
        down_nodes=flat,
        queued_jobs=flat,
        running_jobs=flat,
        limit_w=flat + np.inf,
        rate=flat + 1.0,
        backlog=flat,
    )
    about = {**run.manifest, "regulation": MARKET_OF_TWO, "kinds": KINDS}
    return until(replace(run, steps=steps, manifest=about), 7200.0)


def until(run: Run, end_s: float) -> Run:
    """Return the run as if it had stopped at a time, with the accounts of its two hours up to there."""
    rows = bill_hours(
        run.steps.time_s,
        run.steps.power_w,
        np.array([0.0, 3600.0, end_s]),
        flat_book(Tariff(0.1, 0.2, 0.5)),
        signal=Signal(0.0, 900.0, np.repeat([0.0, -1.0], [5, 3])),
        bids=Bids(np.zeros(1), np.array([1000.0]), np.array([100.0])),
        billed=[(begin, end) for begin, end in ((0.0, 3600.0), (3600.0, 7200.0)) if end <= end_s],
    )
    return replace(run, end_s=end_s, hours=pl.DataFrame(columns_of(rows)))


def test_hours_are_billed_as_by_hand(by_hand: Run) -> None:
    """An hour 50 W off a reserve of 100 W, and one 40 W off for a quarter of it: errors, shares and dollars."""
    found = count_regulation(by_hand)
    assert found is not None
    first, second = found.hours
    assert (first.error, first.exceed_share, second.error, second.exceed_share) == pytest.approx((0.5, 1.0, 0.1, 0.25))
    assert first.cost == pytest.approx(0.1 - 0.02 + 0.025)
    assert second.cost == pytest.approx(0.1 - 0.02 + 0.5 * 0.010)
    assert (found.error, found.exceed_share) == pytest.approx((0.3, 0.625))
    assert found.without_drawn == pytest.approx(0.105 + 0.1 * (0.25 * 0.96 + 0.75 * 0.9))
    assert found.without_bid == pytest.approx(0.2)


def test_an_hour_that_was_cut_off_is_not_billed(by_hand: Run) -> None:
    """When a run stops within an hour, only the whole ones before it count."""
    short = until(by_hand, 7199.0)
    assert billed_hours(short) == [(0.0, 3600.0)]
    found = count_regulation(short)
    assert found is not None
    assert len(found.hours) == 1


def test_service_is_counted_by_kind(by_hand: Run) -> None:
    """Q is delay over run time; a job at its limit violates; standby jobs are promised nothing; open jobs are named."""
    cfd, md = count_qos(by_hand)
    assert (cfd.jobs, cfd.open_jobs, cfd.violations) == (3, 0, 1)
    assert cfd.q.max == pytest.approx(2.5)
    assert cfd.violation_share == pytest.approx(1 / 3)
    assert (md.standby, md.jobs, md.open_jobs, md.violations) == (True, 1, 1, 0)


def test_a_run_without_a_bid_has_no_such_section(summary: Summary, journal: Journal, out: Path) -> None:
    """Nothing about demand response where there was none."""
    assert summary.regulation is None
    assert summary.qos == ()
    assert "Demand response" not in write_report(journal, out).read_text()
    assert np.isnan(summary.value("regulation.cost"))


def test_an_hour_looks_at_its_own_steps_only(sold: Journal) -> None:
    """The rows that an hour picks hold all of its seconds, and errors of many hours take no more room than the
    timeline.
    """
    run = load(sold)
    steps = run.steps
    for begin_s, end_s in [(run.start_s, run.end_s), (3600.0, 7200.0), (3600.5, 3601.25), (-9.0, 1.0), (1e9, 2e9)]:
        whole = steps.within(begin_s, end_s)
        rows, seconds = steps.part(begin_s, end_s)
        assert whole[rows].tolist() == seconds.tolist()
        assert whole.sum() == pytest.approx(seconds.sum())
    seconds, error = error_steps(run)
    assert seconds.sum() == pytest.approx(7200.0)
    assert seconds.size == error.size <= len(steps) + 2


def test_standby_energy_is_told_apart(sold: Journal) -> None:
    """What standby jobs drew is summed by itself, and none of it is among the promises."""
    found = summarize(sold)
    assert found.regulation is not None
    fill = next(row for row in found.qos if row.standby)
    drawn = sold.jobs.filter(pl.col("kind") == "fill").select(pl.col("energy_j").sum()).collect().item()
    assert found.regulation.standby_j == pytest.approx(drawn)
    assert fill.energy_j == pytest.approx(drawn)
    assert fill.violations == 0


def test_the_page_shows_the_figures_people_know(sold: Journal, out: Path) -> None:
    """Target and power with queue, arrivals and node stripes, both distributions, and the bill; plotly takes all of
    it.
    """
    write_report(sold, out)
    assert {"scatter", "bar"} <= set(validate(out))
    page = out.read_text()
    for text in (
        "Demand response",
        "Target and power",
        "Tracking error",
        "Service by kind",
        "without, as drawn",
        "Grey: jobs paused",
        "Standby jobs drew",
        "fill (standby)",
    ):
        assert text in page, text
    shown = next(figure for figure in figures_of(out) if any(trace.get("name") == "target" for trace in figure["data"]))
    bars = {trace["name"]: trace for trace in shown["data"] if trace.get("orientation") == "h"}
    jobs = sold.jobs.select("job_id", "kind").collect()
    held = sold.read("placements").filter((pl.col("start_s") < 7200.0) & (pl.col("end_s").fill_null(np.inf) > 3600.0))
    assert set(bars) == {*held.join(jobs, on="job_id")["kind"].unique(), "paused"}
    assert len(bars) >= 4
    for name, trace in bars.items():
        job = [told if name == "paused" else told[0] for told in trace["customdata"]]
        kinds = jobs.filter(pl.col("job_id").is_in(job))["kind"].unique().to_list()
        assert kinds == [name] or name == "paused"


def test_the_page_counts_hours_and_not_rows(tmp_path: Path, out: Path) -> None:
    """Two hours that are sold from half past on are three rows of the accounts, and two hours on every card."""
    (tmp_path / "s.toml").write_text(MARKET)
    sets = ["prices.start=2022-07-01T05:30:00Z", "prices.energy=0.1"]
    study = wire(variants(read_scenario(tmp_path / "s.toml", sets))[0])
    study.write(study.simulate(), tmp_path / "j")
    journal = open_journal(tmp_path / "j")
    assert journal.hours.collect().filter(pl.col("billed") == 1).height == 3
    write_report(journal, out)
    assert "2 hours; " in out.read_text()
    assert "3 hours" not in out.read_text()


def test_waiting_jobs_and_arrivals_are_those_with_a_promise(sold: Journal) -> None:
    """Standby jobs, which always wait, are in neither count; the line of waiting jobs is the queue without them."""
    run = load(sold)
    drawn = draw_regulation(run, sold)
    assert drawn is not None
    begin_s, end_s = billed_hours(run)[0]
    own = run.jobs.filter(pl.col("kind") != "fill")
    traces = {trace.get("name"): trace for trace in drawn.figure.data}
    inside = own.filter((pl.col("submit_s") >= begin_s) & (pl.col("submit_s") < end_s))
    assert traces["arrivals"]["y"].sum() == inside.height
    at_s = begin_s + 60.0 * traces["waiting"]["x"].astype(float)
    for k in range(3, at_s.size - 1, at_s.size // 7):
        middle_s = 0.5 * (at_s[k] + at_s[k + 1])
        waits = own.filter((pl.col("submit_s") <= middle_s) & (pl.col("start_s").fill_null(np.inf) > middle_s))
        assert traces["waiting"]["y"][k] == waits.height


def test_the_terminal_shows_bill_and_service(sold: Journal) -> None:
    """The summary of a run has the bid, the bill hour by hour, the tracking error and Q of every kind, in 80
    columns.
    """
    from rich.console import Console

    console = Console(width=80, record=True, file=io.StringIO())
    console.print(summary_table(summarize_run(load(sold))))
    text = console.export_text()
    for part in (
        "mean 8.5 kW, reserve 3.5 kW",
        "without demand response",
        "above 30 %",
        "billed hour from",
        "ep.D.56",
        "standby",
    ):
        assert part in text, part


def test_a_comparison_shows_bill_tracking_and_the_worst_kind(sold: Journal, summary: Summary) -> None:
    """Policies that sell regulation are compared by cost, tracking error and broken promises; others are not."""
    from wattline.report.count.compare import compare

    found = summarize(sold)
    rows = {row.metric.path: row.estimates[0].mean for row in compare({"a": [found], "b": [found]}).rows}
    assert found.regulation is not None
    assert rows["cost"] == found.regulation.cost
    assert rows["worst_violation"] == max(row.violation_share for row in found.qos if not row.standby)
    assert not any(row.metric.path.startswith("regulation") for row in compare({"a": [summary], "b": [summary]}).rows)


def test_jobs_of_no_length_are_late_only_if_they_waited(tmp_path: Path) -> None:
    """One that starts at once has lost nothing; it counted as late, as if it had no end."""
    (tmp_path / "jobs.csv").write_text("submit_s,work_s,nodes,kind\n0,0,1,a\n0,10,1,a\n5,0,2,a\n")
    text = (
        '[trace]\nfile = "jobs.csv"\n[cluster]\nnodes = 2\nidle = 100\nmax = 300\n'
        '[[kind]]\nname = "a"\nnodes = 1\ntime = 10\npower = 300\nlimit = 3\nrate = "10/h"\n'
    )
    (tmp_path / "s.toml").write_text(text)
    (row,) = wl.load(tmp_path / "s.toml").simulate(progress=False).summary.qos
    assert (row.jobs, row.open_jobs, row.violations) == (3, 0, 1)
    assert (row.q.median, row.q.max) == (0.0, math.inf)
