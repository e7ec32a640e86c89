"""``wattline telemetry``: look at samples of power, and make some."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.paths import refuse_same, refuse_what_it_was_made_from, say_cut
from wattline.cli.telemetry.flags import (
    LONGEST_S,
    MOST_NODES,
    SHORTEST_S,
    ArrivalFlag,
    By,
    ByFlag,
    HoldFlag,
    MaxFlag,
    PatienceFlag,
    PeriodFlag,
    PowerFlag,
    QueryFlag,
    SensorFlag,
    SortFlag,
    SourceArg,
    StrictFlag,
    StuckFlag,
    TableFlag,
    TimeFlag,
    TimeUnitFlag,
    UnitFlag,
    asked,
    bounded,
    epoch_of,
    rules_of,
    wanted_of,
)
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.units import duration_s

app = typer.Typer(no_args_is_help=True, help="Power samples: look at them, join them to jobs, make some.")


@app.command()
def check(
    source: SourceArg,
    by: ByFlag = None,
    sensor: SensorFlag = None,
    time: TimeFlag = None,
    power: PowerFlag = None,
    unit: UnitFlag = None,
    time_unit: TimeUnitFlag = None,
    period: PeriodFlag = None,
    hold: HoldFlag = 1.5,
    patience: PatienceFlag = None,
    stuck: StuckFlag = None,
    most: MaxFlag = None,
    table: TableFlag = None,
    query: QueryFlag = None,
    arrival: ArrivalFlag = None,
    *,
    sort: SortFlag = False,
    strict: StrictFlag = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what is in samples of power, and every fault, by count.

    For example:

      wattline telemetry check power.parquet --max "400 W"
    """
    from wattline.cli.telemetry.page import page
    from wattline.telemetry import read as telemetry

    terminal = Terminal(as_json, quiet)
    opened = telemetry.open_source(source, table=table, query=query, order=arrival, sort=sort, time_unit=time_unit)
    rules = rules_of(period, hold, patience, stuck, most)
    with terminal.progress("reading samples", "") as report:
        reading = telemetry.check(
            opened, wanted_of(by, sensor, time, power, unit, time_unit), rules, strict=strict, progress=report
        )
    facts = reading.facts()
    terminal.show(page(facts))
    terminal.data(facts)


def sample(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="Folder that `wattline run` wrote.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Samples: .parquet, .csv, .csv.gz or .db (SQLite).")
    ],
    every: Annotated[str, typer.Option(metavar="TIME", help="Time between samples of a sensor.")] = "300 s",
    by: Annotated[By, typer.Option("--by", help="What is measured.")] = By.NODE,
    nodes_per_rack: Annotated[int | None, typer.Option(min=1, max=MOST_NODES, help="Nodes of each rack.")] = None,
    jitter: Annotated[str, typer.Option(metavar="TIME", help="Samples are up to so much off.")] = "0 s",
    noise: Annotated[float, typer.Option(help="Relative noise of each sample (standard deviation).")] = 0.0,
    faults: Annotated[
        str | None,
        typer.Option(metavar="CLASS=SHARE,…", help="Faults to put in, e.g. nan=0.01,late=0.002 or all=0.001."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="TRACE", help="Job table whose power series the jobs follow (default: mean power)."),
    ] = None,
    epoch: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Date or Unix time of second 0 (default: times since the trace's)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 1,
    *,
    edges: Annotated[
        bool, typer.Option("--edges", help="Also a sample whenever nodes change hands: the energy is exact then.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make samples of power from a journal, with faults if asked for.

    For example:

      wattline telemetry sample out/run --every "5 min" --by node --noise 0.02
      --faults nan=0.001,late=0.001 --out power.parquet
    """
    from wattline.telemetry.made.make import make_samples
    from wattline.telemetry.made.sample import Plan

    terminal = Terminal(as_json, quiet)
    if trace is not None:
        refuse_same(trace, out)
    say_cut(journal, terminal)
    refuse_what_it_was_made_from(journal, out)
    every_s, jitter_s = asked("--every", duration_s, every) or 0.0, asked("--jitter", duration_s, jitter) or 0.0
    bounded("--every", every_s, SHORTEST_S, LONGEST_S, "s")
    plan = Plan(by.value, every_s, jitter_s, noise, edges, seed)
    facts = make_samples(journal, out, plan, nodes_per_rack, faults, trace, epoch_of(epoch))
    told = ", ".join(f"{name} {count:,}" for name, count in facts["faults"].items())
    terminal.line(f"{facts['samples']:,} samples of {facts['sensors']:,} {by.value}s in {out}")
    if told:
        terminal.line(f"faults put in: {told}")
        terminal.line(f"a --max of {facts['max_w']:.0f} W tells those above the maximum")
    terminal.data(facts)
