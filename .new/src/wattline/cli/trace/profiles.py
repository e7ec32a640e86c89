"""``wattline profiles``: look at learned power profiles that runs have saved, and put them together."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from wattline.cli.paths import refuse_same
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError, ScenarioError
from wattline.units import power_w

if TYPE_CHECKING:
    from wattline.formats.tables.profiles import Profiles

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", help="Learned power profiles: show files of them, merge them."
)


class Sort(StrEnum):
    """What the table is sorted by."""

    SAMPLES = "samples"
    LABEL = "label"
    MEAN = "mean"
    SD = "sd"
    HIGH = "high"


class Row(NamedTuple):
    """A profile as it is shown: name of its level, values of its columns, and its numbers (NaN: not known)."""

    level: str
    label: tuple[Any, ...]
    samples: int
    mean: float
    sd: float
    high: float


@app.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Profiles that a run has saved.")],
    sort: Annotated[Sort, typer.Option(help="Sort by samples, label, mean, sd or high, within levels.")] = Sort.SAMPLES,
    top: Annotated[int, typer.Option(min=0, help="Profiles of a level to show (0: all).")] = 10,
    deviations: Annotated[
        float, typer.Option(help="Standard deviations above the mean that make high (t-test, pooled).")
    ] = 2.33,
    miss: Annotated[
        float, typer.Option(min=0.0001, max=0.5, help="Probability of a sample above high (quantile).")
    ] = 0.05,
    node_max: Annotated[
        str | None,
        typer.Option(
            "--max",
            metavar="POWER",
            help="What a node draws at most: shares of it become watts (quantile; default: that of the run, if its "
            "nodes were alike).",
        ),
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what was learned of the power of jobs and groups, per node.

    For example:

      wattline profiles show profiles.parquet

      wattline profiles show profiles.parquet --sort high --top 0 --json
    """
    from wattline.formats.tables.profiles import read_profiles

    terminal = Terminal(as_json, quiet)
    profiles = read_profiles(file)
    rows, unit = _rows(profiles, deviations, miss, _max_w(node_max))
    rows.sort(key=lambda row: _key(row, sort))
    if terminal.for_people:
        terminal.show(_table(file, profiles, rows, unit, top))
    terminal.data(
        {
            "file": str(file),
            "learner": profiles.learner,
            "levels": profiles.levels,
            "unit": unit,
            "profiles": [
                {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row._asdict().items()}
                for row in rows
            ],
        }
    )


@app.command()
def merge(
    files: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Files of profiles, the earliest first.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the profiles here (.parquet).")],
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put together what runs have learned apart, as if one had seen it all in turn.

    For example:

      wattline profiles merge january.parquet february.parquet --out both.parquet
    """
    from wattline.formats.tables.profiles import read_profiles, write_profiles

    terminal = Terminal(as_json, quiet)
    if len(files) < 2:
        raise InputError(f"{files[0]}: give at least two files to put together")
    for file in files:
        refuse_same(file, out)
    found = read_profiles(files[0])
    counts = [len(found.labels)]
    for file in files[1:]:
        later = read_profiles(file)
        counts.append(len(later.labels))
        try:
            found = found.merge(later)
        except InputError as problem:
            raise InputError(f"{file}: {problem}") from None
    write_profiles(out, found)
    parts = " + ".join(f"{count:,}" for count in counts)
    terminal.line(f"{len(found.labels):,} profiles in {out}, of {parts}")
    terminal.data({"file": str(out), "learner": found.learner, "profiles": len(found.labels), "read": counts})


def _max_w(text: str | None) -> float | None:
    try:
        watts = None if text is None else power_w(text)
    except InputError as problem:
        raise ScenarioError(f"--max: {problem}") from None
    if watts is not None and not 0 < watts < math.inf:
        raise ScenarioError(f"--max: must be a positive power, got {text!r}")
    return watts


def _rows(profiles: Profiles, deviations: float, miss: float, max_w: float | None) -> tuple[list[Row], str]:
    """Return the profiles as they are shown, and the unit of their powers."""
    from wattline.learn.describing import describe_profile
    from wattline.report.count.learning import level_names

    shares = profiles.learner == "quantile"
    if max_w is not None and not shares:
        raise ScenarioError(f"--max: profiles of {profiles.learner!r} are in watts already")
    if shares and max_w is None and len(profiles.max_w) == 1:
        max_w = profiles.max_w[0]
    factor = max_w if shares and max_w is not None else 1.0
    names = level_names(profiles.levels)
    rows = []
    for (level, label), memory in zip(profiles.labels, profiles.rows, strict=True):
        told = describe_profile(profiles.learner, memory, deviations=deviations, miss=miss)
        powers = (told.mean, told.deviation, told.high)
        rows.append(Row(names[level], label, told.samples, *(factor * value for value in powers)))
    return rows, "share" if shares and max_w is None else "W"


def _key(row: Row, sort: Sort) -> tuple[Any, ...]:
    label = tuple(map(str, row.label))
    if sort is Sort.LABEL:
        return (label,)
    value = float(getattr(row, sort.value))
    return (math.isnan(value), -value, label)


def _table(file: Path, profiles: Profiles, rows: list[Row], unit: str, top: int) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from wattline.report.count.learning import level_names
    from wattline.report.show import printable
    from wattline.report.show import show as written

    table = Table(box=None, pad_edge=False, width=80, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("level", style="cyan", no_wrap=True)
    table.add_column("label", no_wrap=True, overflow="ellipsis", ratio=1)
    for name in ("samples", "mean", "sd", "high"):
        table.add_column(name, justify="right", no_wrap=True)
    hidden = 0
    for name in level_names(profiles.levels):
        of_level = [row for row in rows if row.level == name]
        shown = of_level[: top or None]
        hidden += len(of_level) - len(shown)
        for row in shown:
            label = printable(" ".join(str(value) or "?" for value in row.label))
            table.add_row(
                name, Text(label), f"{row.samples:,}", *(written(value, unit) for value in (row.mean, row.sd, row.high))
            )
    title = f"{file}: {len(rows):,} profiles by {profiles.learner}"
    labels = ", ".join(
        f"{name}: {' '.join(level)}" for name, level in zip(level_names(profiles.levels), profiles.levels, strict=False)
    )
    notes = [f"labels are {labels}; powers are per node"]
    notes += ["as shares of the most that a node draws (--max makes them watts)"] if unit == "share" else []
    notes += [f"and {hidden:,} more (--top 0 shows all)"] if hidden else []
    return Group(Text(title, style="bold"), table, *(Text(note, style="dim") for note in notes))
