"""``wattline signal``: recorded regulation signals, by their figures."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.units import duration_s

if TYPE_CHECKING:
    from rich.table import Table

    from wattline.formats.series.records import Records
    from wattline.market.signal_law import Law


def signal(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Signal files (CSV or Parquet); each is a record, or several."),
    ],
    column: Annotated[
        str | None, typer.Option("--column", help="Column of the files, if they hold several signals.")
    ] = None,
    step: Annotated[
        str | None, typer.Option("--step", metavar="TIME", help="Time between two values, if a file has no times.")
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what recorded regulation signals are like, day by day.

    A bid holds for days like those that it was made on. Days of another
    product or of another year differ in these figures: mean, standard
    deviation (std), time constant (its autocorrelation has fallen to 1/e),
    share of time at ±1. Beside them: the way that it goes in an hour, the
    standard deviation of the means of hours, and the hours in which the
    signal is not missing.

    For example:

      wattline signal regd-2020-07-16.csv regd-2020-07-17.csv
    """
    from wattline.formats.series.records import read_records

    terminal = Terminal(as_json, quiet)
    found = read_records(files, column=column, step_s=None if step is None else duration_s(step))
    terminal.notes((n.action, n.reason, n.count, n.example) for n in found.notes)
    if terminal.for_people:
        terminal.show(_table(found))
    for line in found.strangers.values():
        terminal.loud(line)
    terminal.data(_data(found))


def _table(found: Records) -> Table:
    """Return a row a record, and their range below."""
    from rich.table import Table
    from rich.text import Text

    from wattline.market.signal_law import spreads
    from wattline.report.show import printable

    table = Table(box=None, pad_edge=False, header_style="bold", width=80)
    table.add_column("record", style="cyan", overflow="fold")
    for title in ("hours", "mean", "std", "1/e after", "at ±1", "way/h", "hour std"):
        table.add_column(title, justify="right", no_wrap=True)
    for record, law in zip(found.records, found.laws, strict=True):
        whole, usable = len(record.hours()), len(record.usable_hours())
        hours = f"{usable}" if usable == whole else f"{usable} of {whole}"
        table.add_row(Text(printable(record.name)), hours, *_cells(law))
    if len(found.records) > 1:
        usable = sum(len(record.usable_hours()) for record in found.records)
        table.add_row(Text("all, by their hours", style="bold"), f"{usable}", *_cells(found.law), end_section=True)
        told = spreads(found.laws)
        table.add_row("std between records", "", *(_cell(figure, told[figure].std) for figure in _FIGURES))
    return table


_FIGURES = ("mean", "std", "time_constant_s", "ends", "mileage_per_h", "hour_std")


def _cells(law: Law) -> list[str]:
    return [_cell(figure, getattr(law, figure)) for figure in _FIGURES]


def _cell(figure: str, value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if figure == "ends":
        return f"{100 * value:.1f} %"
    if figure == "time_constant_s":
        return f"{value:.0f} s"
    return f"{value:.1f}" if figure == "mileage_per_h" else f"{value:.3f}"


def _data(found: Records) -> dict[str, Any]:
    from wattline.market.signal_law import spreads

    return {
        "records": [
            {
                **_plain(asdict(law) | {"name": record.name}),
                "step_s": record.signal.step_s,
                "begin_unix_s": None if math.isnan(record.begin_unix_s) else record.begin_unix_s,
                "whole_hours": len(record.hours()),
                "usable_hours": len(record.usable_hours()),
                "gaps": [list(gap) for gap in record.gaps],
            }
            for record, law in zip(found.records, found.laws, strict=True)
        ],
        "together": _plain(asdict(found.law)),
        "between": {figure: _plain(asdict(told)) for figure, told in spreads(found.laws).items()},
        "strangers": found.strangers,
        "notes": [asdict(note) for note in found.notes],
    }


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    """Return figures as JSON can have them: none where there is none, endless ones as TOML writes them."""
    return {
        name: value
        if not isinstance(value, float) or math.isfinite(value)
        else None
        if math.isnan(value)
        else str(value)
        for name, value in figures.items()
    }
