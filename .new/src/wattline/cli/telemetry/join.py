"""``wattline telemetry join``: samples of power and who held which nodes, as the power of every job."""

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
from wattline.errors import InputError
from wattline.units import duration_s, power_w

JobsFlag = Annotated[
    Path, typer.Option("--jobs", metavar="JOURNAL|TRACE", help="The jobs: a journal, or a job log of any format.")
]
OutFlag = Annotated[Path, typer.Option("--out", metavar="FILE", help="Jobs with their power: .parquet.")]
PlacementsFlag = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Who held which nodes: job_id, first_node and count or a nodelist, start_s, end_s."
    ),
]
StepFlag = Annotated[str, typer.Option(metavar="TIME", help="Step of the power series.")]
LeastFlag = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Share of its run that must be measured for a job to get power.")
]
NodesFlag = Annotated[
    int | None, typer.Option(min=1, max=MOST_NODES, help="Nodes of the machine (default: as the jobs say).")
]
NodesPerRackFlag = Annotated[int | None, typer.Option(min=1, max=MOST_NODES, help="Nodes of each rack.")]
FirstFlag = Annotated[int, typer.Option(min=0, max=MOST_NODES, help="Number of the first node or rack in the samples.")]
SensorsFlag = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Which nodes each sensor measures: sensor, and nodes or first_node and count."),
]
IdleFlag = Annotated[
    str | None,
    typer.Option(metavar="POWER", help="What a free node of a rack draws (default: the journal's, else 0)."),
]
EpochFlag = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Date or Unix time of second 0 of the jobs (default: as they say)."),
]
CoverageFlag = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the measured share of every job here (.csv).")
]
PerNodeFlag = Annotated[bool, typer.Option("--per-node", help="Samples of jobs are per node, not of all their nodes.")]
OwnSamplesFlag = Annotated[
    bool, typer.Option("--own-samples", help="Use only samples taken while the job held the nodes.")
]


def join(
    source: SourceArg,
    jobs: JobsFlag,
    out: OutFlag,
    placements: PlacementsFlag = None,
    step: StepFlag = "300 s",
    least: LeastFlag = 0.5,
    nodes: NodesFlag = None,
    nodes_per_rack: NodesPerRackFlag = None,
    first: FirstFlag = 0,
    sensors: SensorsFlag = None,
    idle: IdleFlag = None,
    epoch: EpochFlag = None,
    coverage: CoverageFlag = None,
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
    per_node: PerNodeFlag = False,
    own_samples: OwnSamplesFlag = False,
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
    _refuse_targets(out, coverage, (source, jobs, placements, sensors))
    refuse_scenario(jobs)
    say_cut(jobs, terminal)
    rules = rules_of(period, hold, patience, stuck, most)
    step_s, idle_w = _step_and_idle(step, least, idle)
    opened = telemetry.open_source(source, table=table, query=query, order=arrival, sort=sort, time_unit=time_unit)
    machine = Machine(nodes, nodes_per_rack, first, sensors, per_node)
    work = load_work(jobs, placements, machine, epoch_of(epoch), strict=strict)
    each_w = work.each_w if idle_w is None else None
    split = Split(step_s, work.idle_w if idle_w is None else idle_w, own_samples, each_w)
    columns = wanted_of(by, sensor, time, power, unit, time_unit)
    with terminal.progress("joining samples", "") as report:
        found = telemetry.join(opened, work, split, columns, rules, least=least, strict=strict, progress=report)
    _refuse_unused(found.reading.layout.by, nodes_per_rack=nodes_per_rack is not None, per_node=per_node)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in found.trace.notes)
    write_trace(found.trace, out)
    if coverage is not None:
        write_coverage(found, coverage)
    facts = found.facts() | {"file": str(out), "idle_w": split.idle_w}
    terminal.show(joined_page(facts))
    terminal.line(f"{facts['with_series']:,} of {facts['jobs']:,} jobs with power in {out}")
    terminal.data(facts)


def _refuse_targets(out: Path, coverage: Path | None, read: tuple[str | Path | None, ...]) -> None:
    """Refuse targets that cannot hold the result, that are one file, or that are read, before the work begins."""
    check_target(out, read)
    refuse_two(("--out", out), ("--coverage", coverage))
    for path in read:
        if path is not None and coverage is not None:
            refuse_same(Path(path), coverage)


def _refuse_unused(by: str, *, nodes_per_rack: bool, per_node: bool) -> None:
    """Refuse flags that samples of this kind have no use for."""
    for flag, given, wanted in (("--nodes-per-rack", nodes_per_rack, "rack"), ("--per-node", per_node, "job")):
        if given and by != wanted:
            raise InputError(f"{flag} is for samples of {wanted}s; these are of {by}s")


def _step_and_idle(step: str, least: float, idle: str | None) -> tuple[float, float | None]:
    """Return the step of the series and the power of a free node, each within its bounds, as the measured share is."""
    step_s = asked("--step", duration_s, step) or 0.0
    bounded("--step", step_s, SHORTEST_S, LONGEST_S, "s")
    bounded("--least", least, 0.0, 1.0, "of the run")
    idle_w = asked("--idle", power_w, idle)
    bounded("--idle", idle_w, 0.0, MOST_W, "W")
    return step_s, idle_w
