"""The accounts of a run as its journal has them: hours, days, totals of the time that is billed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from wattline.market.hour import Hour, Totals, total
from wattline.market.products import known
from wattline.report.count.run import Run
from wattline.report.count.statistics import NAN
from wattline.units import DAY_S


@dataclass(frozen=True)
class DayRow:
    """The billed hours of one day: a date, or counted from the run's first."""

    day: str
    total: Totals


@dataclass(frozen=True)
class Accounts:
    """Rules, all hours of a run, and the days and the total of those that are billed."""

    rules: str
    start: str | None
    total: Totals
    days: tuple[DayRow, ...]
    hours: tuple[Hour, ...]
    has_carbon: bool
    """Whether carbon was asked for: where its series covers no row as a whole there is none all the same."""

    @property
    def scored(self) -> bool:
        """Whether a performance score decided what was paid."""
        return self.rules in known() and known()[self.rules].scored

    @property
    def billed(self) -> tuple[Hour, ...]:
        """The hours that count."""
        return tuple(row for row in self.hours if row.billed)


def count_accounts(run: Run) -> Accounts | None:
    """Add up the accounts of a run; None where nothing has a price."""
    about = run.manifest.get("accounts") or {}
    if not run.hours.height:
        return None
    rows = rows_of(run)
    billed = [row for row in rows if row.billed]
    return Accounts(
        str(about.get("rules") or ""),
        about.get("start"),
        total(billed),
        tuple(days(billed, run.start_s)),
        tuple(rows),
        "carbon" in (about.get("series") or {}),
    )


def rows_of(run: Run) -> list[Hour]:
    """Return the hours of a journal; what is null there is NaN here."""

    def known(row: dict[str, Any]) -> dict[str, Any]:
        return {name: NAN if value is None else value for name, value in row.items()}

    return [Hour(**known(row)) for row in run.hours.iter_rows(named=True)]


def days(rows: Sequence[Hour], start_s: float) -> list[DayRow]:
    """Return the totals by day of the wall clock, or by days since the run began."""

    def day(row: Hour) -> str:
        return row.clock[:10] or f"day {int((row.start_s - start_s) // DAY_S) + 1}"

    return [DayRow(name, total(list(found))) for name, found in groupby(rows, key=day)]
