"""``wattline telemetry``: look at samples of power, join them to jobs, and make some."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.paths import refuse_same, refuse_scenario, refuse_two, say_cut
from wattline.cli.telemetry.flags import (
    LONGEST_S,
    MOST_NODES,
    MOST_W,
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
    check_target,
    epoch_of,
    rules_of,
    wanted_of,
    write_coverage,
)
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.files import refuse_journal_file
from wattline.units import duration_s, power_w

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


@app.command()
def join(
    source: SourceArg,
    jobs: Annotated[
        Path, typer.Option("--jobs", metavar="JOURNAL|TRACE", help="The jobs: a journal, or a job log of any format.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Jobs with their power: .parquet.")],
    placements: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Who held which nodes: job_id, first_node and count or a nodelist, start_s, end_s."
        ),
    ] = None,
    step: Annotated[str, typer.Option(metavar="TIME", help="Step of the power series.")] = "300 s",
    least: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of its run that must be measured for a job to get power.")
    ] = 0.5,
    nodes: Annotated[
        int | None, typer.Option(min=1, max=MOST_NODES, help="Nodes of the machine (default: as the jobs say).")
    ] = None,
    nodes_per_rack: Annotated[int | None, typer.Option(min=1, max=MOST_NODES, help="Nodes of each rack.")] = None,
    first: Annotated[
        int, typer.Option(min=0, max=MOST_NODES, help="Number of the first node or rack in the samples.")
    ] = 0,
    sensors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Which nodes each sensor measures: sensor, and nodes or first_node and count."
        ),
    ] = None,
    idle: Annotated[
        str | None,
        typer.Option(metavar="POWER", help="What a free node of a rack draws (default: the journal's, else 0)."),
    ] = None,
    epoch: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Date or Unix time of second 0 of the jobs (default: as they say)."),
    ] = None,
    coverage: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the measured share of every job here (.csv).")
    ] = None,
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
    per_node: Annotated[
        bool, typer.Option("--per-node", help="Samples of jobs are per node, not of all their nodes.")
    ] = False,
    own_samples: Annotated[
        bool, typer.Option("--own-samples", help="Use only samples taken while the job held the nodes.")
    ] = False,
    sort: SortFlag = False,
    strict: StrictFlag = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Join samples of power to jobs: who held which nodes, and when.

    For example:

      wattline telemetry join power.parquet --jobs out/run --out jobs.parquet

      wattline telemetry join racks.csv.gz --jobs log.parquet --placements nodes.csv
      --nodes-per-rack 1024 --max "160.6 kW" --out jobs.parquet
    """
    from wattline.cli.telemetry.page import joined_page
    from wattline.formats.jobs.export import write_trace
    from wattline.telemetry import read as telemetry
    from wattline.telemetry.join import Split
    from wattline.telemetry.nodes.work import Machine, load_work

    terminal = Terminal(as_json, quiet)
    check_target(out, (source, jobs, placements, sensors))
    refuse_two(("--out", out), ("--coverage", coverage))
    for path in (Path(source), jobs, placements, sensors):
        if path is not None and coverage is not None:
            refuse_same(path, coverage)
    refuse_scenario(jobs)
    say_cut(jobs, terminal)
    rules = rules_of(period, hold, patience, stuck, most)
    step_s = asked("--step", duration_s, step) or 0.0
    bounded("--step", step_s, SHORTEST_S, LONGEST_S, "s")
    bounded("--least", least, 0.0, 1.0, "of the run")
    idle_w = asked("--idle", power_w, idle)
    bounded("--idle", idle_w, 0.0, MOST_W, "W")
    opened = telemetry.open_source(source, table=table, query=query, order=arrival, sort=sort, time_unit=time_unit)
    machine = Machine(nodes, nodes_per_rack, first, sensors, per_node)
    work = load_work(jobs, placements, machine, epoch_of(epoch), strict=strict)
    split = Split(step_s, work.idle_w if idle_w is None else idle_w, own_samples)
    with terminal.progress("joining samples", "") as report:
        found = telemetry.join(
            opened,
            work,
            split,
            wanted_of(by, sensor, time, power, unit, time_unit),
            rules,
            least=least,
            strict=strict,
            progress=report,
        )
    terminal.notes((n.action, n.reason, n.count, n.example) for n in found.trace.notes)
    write_trace(found.trace, out)
    if coverage is not None:
        write_coverage(found, coverage)
    facts = found.facts() | {"file": str(out), "idle_w": split.idle_w}
    terminal.show(joined_page(facts))
    terminal.line(f"{facts['with_series']:,} of {facts['jobs']:,} jobs with power in {out}")
    terminal.data(facts)


@app.command()
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
    refuse_journal_file(out)
    if trace is not None:
        refuse_same(trace, out)
    say_cut(journal, terminal)
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
