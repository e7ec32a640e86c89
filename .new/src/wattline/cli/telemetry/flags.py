"""Flags that the commands of ``wattline telemetry`` share, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.cli.paths import refuse_same
from wattline.errors import InputError, ScenarioError
from wattline.files import refuse_journal_file, write_whole
from wattline.units import duration_s, in_full, power_w

if TYPE_CHECKING:
    from wattline.telemetry.cleaning.rules import Rules
    from wattline.telemetry.read import Joined
    from wattline.telemetry.sources.columns import Wanted


SHORTEST_S, LONGEST_S = 1e-6, 3.2e9
"""Times that flags may name: a microsecond to a century."""
MOST_PERIODS, MOST_W, MOST_EPOCH_S, MOST_NODES = 1e9, 1e12, 2.5e11, 100_000_000
"""Most periods that a sample holds, most power, the last Unix time that has a date (the year 9999), and most nodes."""


class By(StrEnum):
    """What a sensor measures."""

    NODE = "node"
    RACK = "rack"
    JOB = "job"


SourceArg = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Parquet, CSV (.gz), a folder of them, SQLite, or postgresql://…")
]
ByFlag = Annotated[By | None, typer.Option("--by", help="What is measured (default: by the columns' names).")]
SensorFlag = Annotated[
    str | None, typer.Option("--sensor", metavar="COLUMN", help="Column that names the node, rack or job.")
]
TimeFlag = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="Column of times.")]
PowerFlag = Annotated[
    list[str] | None, typer.Option("--power", metavar="COLUMN", help="Column of power; several are added up.")
]
UnitFlag = Annotated[str | None, typer.Option("--unit", help="W, kW, mW or MW (default: by the name, else W).")]
TimeUnitFlag = Annotated[
    str | None, typer.Option("--time-unit", help="s, ms, us, ns or iso (default: by name and size).")
]
PeriodFlag = Annotated[
    str | None, typer.Option("--period", metavar="TIME", help="Time between samples (default: as found).")
]
HoldFlag = Annotated[float, typer.Option("--hold", help="Periods that a sample holds at most; then power is missing.")]
PatienceFlag = Annotated[
    str | None, typer.Option("--patience", metavar="TIME", help="How late a sample may be (default: 5 periods).")
]
StuckFlag = Annotated[
    str | None,
    typer.Option("--stuck", metavar="TIME", help="How long a value may repeat, or 'off' (default: 12 periods)."),
]
MaxFlag = Annotated[
    str | None, typer.Option("--max", metavar="POWER", help="Most that a sensor can measure (of a job: per node).")
]
TableFlag = Annotated[str | None, typer.Option("--table", help="Table of a database.")]
QueryFlag = Annotated[
    str | None, typer.Option("--query", metavar="SQL", help="Query of a database, instead of a table.")
]
ArrivalFlag = Annotated[
    str | None,
    typer.Option("--arrival", metavar="COLUMN", help="Database: column of the order of receipt (default: time)."),
]
SortFlag = Annotated[bool, typer.Option("--sort", help="Sort by time first, for files that lie sensor by sensor.")]
StrictFlag = Annotated[bool, typer.Option("--strict", help="Refuse samples with any fault.")]


def wanted_of(
    by: By | None,
    sensor: str | None,
    time: str | None,
    power: list[str] | None,
    unit: str | None,
    time_unit: str | None,
) -> Wanted:
    """Return the columns that flags name."""
    from wattline.telemetry.sources.columns import Wanted

    columns = tuple(name.strip() for text in power or () for name in text.split(","))
    return Wanted(None if by is None else by.value, sensor, time, columns, unit, time_unit)


def rules_of(period: str | None, hold: float, patience: str | None, stuck: str | None, most: str | None) -> Rules:
    """Return the rules that flags ask for."""
    from wattline.telemetry.cleaning.rules import Rules

    given = {
        "--period": asked("--period", duration_s, period),
        "--patience": asked("--patience", duration_s, patience),
    }
    stuck_s = math.inf if stuck == "off" else asked("--stuck", duration_s, stuck)
    for flag, value in (*given.items(), ("--stuck", None if stuck == "off" else stuck_s)):
        bounded(flag, value, SHORTEST_S, LONGEST_S, "s")
    if not 1 <= hold <= MOST_PERIODS:
        raise ScenarioError(f"--hold {hold:g}: a sample holds at least one period, and at most {MOST_PERIODS:,.0f}")
    most_w = asked("--max", power_w, most)
    bounded("--max", most_w, 1e-6, MOST_W, "W")
    return Rules(given["--period"], hold, given["--patience"], stuck_s, math.inf if most_w is None else most_w)


def asked(flag: str, parse: Callable[[str], float], text: str | None) -> float | None:
    """Read a quantity; the flag is named if it is none."""
    try:
        return None if text is None else float(parse(text))
    except InputError as problem:
        raise ScenarioError(f"{flag}: {problem}") from None


def bounded(flag: str, value: float | None, least: float, most: float, unit: str) -> None:
    """Refuse a quantity that no sensor, machine or century has, by the flag's name; NaN is one of them."""
    if value is not None and not least <= value <= most:
        told = f"must be from {in_full(least)} to {in_full(most)} {unit}"
        raise ScenarioError(f"{flag}: {told}, got {in_full(value)} {unit}")


def epoch_of(text: str | None) -> float:
    """Return a Unix time given as a number or a date."""
    from wattline.reading.calendar import unix_of

    if text is None:
        return math.nan
    try:
        unix_s = float(text)
    except ValueError:
        unix_s = asked("--epoch", lambda date: unix_of(date, "UTC"), text) or 0.0
    bounded("--epoch", unix_s, -MOST_EPOCH_S, MOST_EPOCH_S, "s")
    return unix_s


def check_target(out: Path, read: tuple[str | Path | None, ...]) -> None:
    """Refuse a target that cannot hold the result, or that is read, before the work begins."""
    if not out.name.endswith(".parquet"):
        raise ScenarioError(
            f"--out {out}: power over the run of jobs needs a table in Parquet; end the name in .parquet"
        )
    refuse_journal_file(out)
    for path in read:
        if path is not None and "://" not in str(path):
            refuse_same(Path(path), out)


def write_coverage(found: Joined, target: Path) -> None:
    """Write the measured share of every job."""
    import polars as pl

    frame = pl.DataFrame({"job_id": found.trace.jobs.job_id, "coverage": found.profiles.coverage})
    write_whole(target, frame.write_csv().encode())
