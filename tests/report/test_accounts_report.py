"""What reports say about accounts: totals, days, columns that exist, and what is not in a total."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import block_schedule, frames_of
from test_figure import figures_of, validate

from wattline.journal.journal import Journal, open_journal, write_journal
from wattline.market.bill import Bids, Book, bill_hours, columns_of, flat_book, hour_edges
from wattline.market.held import Held, constant
from wattline.market.products.paper import Paper
from wattline.market.products.pjm import Pjm
from wattline.market.tariff import Tariff
from wattline.model.regulation import Signal
from wattline.report.count.accounts import Accounts
from wattline.report.count.compare import compare
from wattline.report.count.metrics import Summary, summarize
from wattline.report.pages.run import write_report
from wattline.report.tables.accounts import accounts_table, carbon, when
from wattline.report.tables.summary import comparison_table, fact_rows


def write(folder: Path, book: Book, hours: int = 5, *, calendar: bool = False, sold: bool = False) -> Journal:
    """Write the journal of a synthetic run with accounts."""
    frames, manifest = frames_of(**block_schedule(50, 5, 3, 2), run_end_s=3600.0 * hours)
    line = frames["timeline"]
    signal = Signal(0.0, 60.0, np.resize([0.0, 0.5, -0.5], 60 * hours)) if sold else None
    bids = Bids(np.zeros(1), np.array([3e3]), np.array([1e3])) if sold else None
    edges = hour_edges(0.0, 3600.0 * hours, 0.0)
    rows = bill_hours(line["time_s"], line["power_w"], edges, book, signal=signal, bids=bids)
    clock = [f"2022-07-{1 + h // 24:02}T{h % 24:02}:00+00:00" if calendar else "" for h in range(hours)]
    frames["hours"] = columns_of(rows) | {"clock": clock}
    about = {"rules": book.product.name, "start": clock[0] or None, "billed": None}
    write_journal(folder, frames, manifest | {"accounts": about})
    return open_journal(folder)


def priced(energy: Held, carbon: Held | None = None) -> Book:
    """Return the papers' rules with a series of energy prices."""
    return Book(Paper(), {"energy": energy}, carbon)


def found(journal: Journal) -> tuple[Summary, Accounts]:
    """Return the summary and its accounts."""
    summary = summarize(journal)
    assert summary.accounts is not None
    return summary, summary.accounts


def test_the_terminal_says_cost_and_carbon(tmp_path: Path) -> None:
    """A run without regulation shows what its energy cost and emitted; without carbon it does not speak of it."""
    summary, counted = found(write(tmp_path / "j", flat_book(carbon=constant(0.4))))
    facts = dict(fact_rows(summary))
    assert facts["cost"] == f"${counted.total.cost:,.4f} for 5 hours: energy ${counted.total.cost:,.4f}"
    assert facts["carbon"].endswith(" kg CO₂, 400 g/kWh")
    assert "carbon" not in dict(fact_rows(found(write(tmp_path / "k", flat_book()))[0]))


def test_what_is_not_in_a_total_is_said(tmp_path: Path) -> None:
    """Hours beyond the series, and reserve too short to be scored."""
    short = Held(np.array([0.0]), np.array([0.1]), 3600.0 * 3)
    summary, counted = found(write(tmp_path / "j", priced(short)))
    assert ("", "2 h of rows that reach beyond the series of prices are not in the cost") in fact_rows(summary)
    assert counted.total.hours == 3.0
    pjm = replace(counted, rules="pjm", total=replace(counted.total, unscored_s=200.0))
    assert "3 min 20 s of reserve were too short to be scored and not paid" in "".join(accounts_table(pjm)).lower()


def test_a_series_of_carbon_that_ends_takes_nothing_from_the_cost(tmp_path: Path) -> None:
    """The bill is that of all hours; carbon, and carbon per kWh, are of those whose intensity is known."""
    short = Held(np.array([0.0]), np.array([0.4]), 3600.0 * 3)
    summary, counted = found(write(tmp_path / "j", flat_book(carbon=short)))
    facts = fact_rows(summary)
    assert dict(facts)["cost"].startswith(f"${math.fsum(row.cost for row in counted.hours):,.4f} for 5 hours")
    assert dict(facts)["carbon"].endswith(" kg CO₂, 400 g/kWh")
    assert ("", "2 h of rows that reach beyond the series of carbon are not in the carbon") in facts
    assert "series of prices" not in str(facts)
    none = replace(counted, total=replace(counted.total, carbon_kg=math.nan))
    said = "No row of the billed time lies wholly in the series of carbon, so none is counted."
    assert said in accounts_table(replace(none, has_carbon=True))
    assert said not in accounts_table(none)


def test_a_page_of_hours(tmp_path: Path, out: Path) -> None:
    """Few hours stand one by one with their sum, under the wall clock; bars of cost and carbon and a line of prices."""
    prices = Held(3600.0 * np.arange(5), np.array([0.1, 0.2, -0.1, 0.3, 0.1]), 18000.0)
    write_report(write(tmp_path / "j", priced(prices, constant(0.3)), calendar=True), out)
    assert "bar" in validate(out)
    names = {trace.get("name") for figure in figures_of(out) for trace in figure["data"]}
    assert {"energy", "cost", "carbon", "energy price"} <= names
    page = out.read_text()
    heading = '<h2 id="cost-and-carbon">Cost and carbon'
    assert heading in page
    assert "2022-07-01 04:00" in page
    assert "-100 $/MWh" in page
    assert "capacity" not in page.split(heading)[1].split("<h2")[0]


def test_a_page_of_a_month(tmp_path: Path, out: Path) -> None:
    """Many hours stand by day, each behind a line that opens them; days add up to the total."""
    summary, counted = found(write(tmp_path / "j", flat_book(), hours=24 * 20, calendar=True))
    assert [day.day for day in counted.days] == [f"2022-07-{d:02}" for d in range(1, 21)]
    assert math.fsum(day.total.cost for day in counted.days) == pytest.approx(counted.total.cost, rel=1e-12)
    write_report(open_journal(tmp_path / "j"), out)
    validate(out)
    page = out.read_text()
    assert "Hour by hour (480)" in page
    assert "By day, billed time only." in page
    assert len(summary.to_dict()["accounts"]["hours"]) == 480
    _, plain = found(write(tmp_path / "k", flat_book(), hours=50))
    assert [day.day for day in plain.days] == ["day 1", "day 2", "day 3"]
    write_report(open_journal(tmp_path / "k"), out)
    validate(out)


def test_columns_of_what_was_sold(tmp_path: Path) -> None:
    """Rows of regulation show the bid, the credit and the score; those of the paper its penalty."""
    _, paper = found(write(tmp_path / "j", flat_book(), sold=True))
    shown = accounts_table(paper)
    for title in ("bid", "− capacity", "+ error", "without, as drawn", "3 kW ± 1 kW"):
        assert title in shown, title
    assert "− performance" not in shown
    _, pjm = found(
        write(
            tmp_path / "k",
            Book(Pjm(), {name: constant(0.01) for name in ("energy", "capacity", "performance")}),
            sold=True,
        )
    )
    assert "− performance" in accounts_table(pjm)
    assert "+ error" not in accounts_table(pjm)


def test_parts_of_hours_are_marked(tmp_path: Path) -> None:
    """A row shorter than an hour says how long it is."""
    _, counted = found(write(tmp_path / "j", flat_book(), calendar=True))
    row = counted.hours[0]
    assert when(row) == "2022-07-01 00:00"
    assert when(replace(row, end_s=1800.0)) == "2022-07-01 00:00 (30 min)"
    assert when(replace(row, clock="", end_s=1800.0)) == "0 s – 30 min"


def test_comparisons_show_cost_and_carbon(tmp_path: Path) -> None:
    """Runs with accounts are compared by them; those without are not."""
    from rich.console import Console

    cheap, _ = found(write(tmp_path / "j", flat_book(Tariff(0.05), constant(0.4))))
    dear, _ = found(write(tmp_path / "k", flat_book(Tariff(0.10), constant(0.4))))
    compared = compare({"cheap": [cheap], "dear": [dear]})
    assert compared.row("cost").estimates[1].mean == pytest.approx(2 * compared.row("cost").estimates[0].mean)
    assert compared.row("accounts.total.carbon_kg").differences[1].mean == pytest.approx(0.0)  # type: ignore[union-attr]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(comparison_table(compared))
    assert "carbon [kg CO₂]" in console.export_text()
    plain = replace(cheap, accounts=None)
    assert "cost" not in {row.metric.path for row in compare({"a": [plain], "b": [plain]}).rows}


def test_carbon_in_words() -> None:
    """Kilograms up to ten tonnes, tonnes beyond; nothing where nothing is known."""
    assert (carbon(0.5), carbon(9999.0), carbon(10_000.0), carbon(math.nan)) == ("0.5 kg", "9,999 kg", "10 t", "–")
