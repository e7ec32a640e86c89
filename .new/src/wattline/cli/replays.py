"""``wattline replay``: a job log on a machine that flags describe, without a scenario file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from wattline.cli.folders import Force
from wattline.cli.paths import refuse_scenario
from wattline.cli.runs import NoReport, Out, Resume, carry_out
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.cli.trace.flags import ColumnFlags, Format, Strict, TraceFile, Zone, columns_of
from wattline.errors import ScenarioError

CONFIG_FLAGS = {
    "file": "--configs",
    "source": "--config-source",
    "sample": "--config-sample",
    "power": "--config-power",
}
"""Flags of the table of configurations, by its keys."""
FLAGS = {
    "format": "--format",
    "cores_per_node": "--cores-per-node",
    "zone": "--zone",
    "columns": "--column",
    "strict": "--strict",
    "jobs": "--jobs",
    "nodes": "--nodes",
    "idle": "--idle-power",
    "max": "--max-power",
    "order": "--order",
    "select": "--select",
    "place": "--place",
    "network": "--network",
    "learn": "--estimates",
    "ties": "--ties",
    "kill": "--kill",
    "limit": "--power-limit",
    "seed": "--seed",
    **{f"configurations.{key}": flag for key, flag in CONFIG_FLAGS.items()},
}
"""Flags by the names that an error of the run has for what they give."""


class Ties(StrEnum):
    """When a scheduling pass takes place."""

    INSTANT = "instant"
    EVENT = "event"


class ConfigSource(StrEnum):
    """What policies are told of configurations."""

    MEASURED = "measured"
    MIXED = "mixed"
    PHYSICAL = "physical"
    LOG_QUADRATIC = "log-quadratic"


class ConfigPower(StrEnum):
    """The power that a model of configurations tells."""

    MEAN = "mean"
    UPPER = "upper"


NodesFlag = Annotated[
    int | None,
    typer.Option(help="Nodes of the machine (default: those of the network, or what the trace's header says)."),
]
CoresPerNodeFlag = Annotated[
    int | None,
    typer.Option(help="Processors of the log that make one node (default: as an SWF header and its jobs say)."),
]
OrderFlag = Annotated[str, typer.Option(help="Order of the queue.")]
SelectFlag = Annotated[str, typer.Option(help="Which waiting jobs start.")]
PlaceFlag = Annotated[str, typer.Option(help="On which nodes they start.")]
NetworkFlag = Annotated[
    str | None,
    typer.Option(
        metavar="TOPOLOGY",
        help="Network of the machine, e.g. dragonfly:4x4x17 (nodes of a router, routers of a group, groups).",
    ),
]
EstimatesFlag = Annotated[
    str, typer.Option("--estimates", "--learn", help="Run times that policies see: request, exact or recent.")
]
TiesFlag = Annotated[Ties, typer.Option(help="One scheduling pass per instant, or after every single event.")]
PowerLimitFlag = Annotated[str | None, typer.Option(metavar="POWER", help='Power limit of the machine, e.g. "12 MW".')]
ConfigsFlag = Annotated[
    Path | None,
    typer.Option(
        "--configs",
        metavar="TABLE",
        help="Configurations that jobs may choose among; their kind is the application.",
    ),
]
ConfigSourceFlag = Annotated[
    ConfigSource | None,
    typer.Option("--config-source", help="What policies are told of them: measured, or a model of a sample."),
]
ConfigSampleFlag = Annotated[
    float | None,
    typer.Option("--config-sample", metavar="SHARE", help="Share of the table that a model is fitted to (0.1)."),
]
ConfigPowerFlag = Annotated[
    ConfigPower | None, typer.Option("--config-power", help="Power that a model tells: mean, or upper bound.")
]
IdlePowerFlag = Annotated[
    str | None,
    typer.Option(
        metavar="POWER", help='Power of an idle node, e.g. "90 W" (of a processor where --nodes counts processors).'
    ),
]
MaxPowerFlag = Annotated[
    str | None,
    typer.Option(
        metavar="POWER", help='Power of a busy node, e.g. "350 W" (of a processor where --nodes counts processors).'
    ),
]
JobsFlag = Annotated[int | None, typer.Option(help="Use only this many jobs from the start.")]
SeedFlag = Annotated[int, typer.Option(min=0, help="Seed of policies that draw at random.")]
KillFlag = Annotated[bool, typer.Option("--kill", help="End jobs at their requested time (or when their table says).")]


def replay(
    trace: TraceFile,
    nodes: NodesFlag = None,
    cores_per_node: CoresPerNodeFlag = None,
    zone: Zone = None,
    order: OrderFlag = "fcfs",
    select: SelectFlag = "easy",
    place: PlaceFlag = "lowest",
    network: NetworkFlag = None,
    estimates: EstimatesFlag = "request",
    ties: TiesFlag = Ties.INSTANT,
    power_limit: PowerLimitFlag = None,
    configs: ConfigsFlag = None,
    config_source: ConfigSourceFlag = None,
    config_sample: ConfigSampleFlag = None,
    config_power: ConfigPowerFlag = None,
    idle_power: IdlePowerFlag = None,
    max_power: MaxPowerFlag = None,
    jobs: JobsFlag = None,
    seed: SeedFlag = 1,
    trace_format: Format = None,
    column: ColumnFlags = None,
    out: Out = None,
    *,
    kill: KillFlag = False,
    strict: Strict = False,
    resume: Resume = False,
    force: Force = False,
    no_report: NoReport = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Replay a trace on a machine, no scenario file needed.

    The machine is that of the trace's header. Where it has MaxNodes and
    MaxProcs and more than a fifth of the jobs ask for processors that are no
    multiple of a node's, jobs share nodes, and processors are scheduled;
    else nodes are. What was taken is said, and flags say it instead.

    Power is reported if it was given (--idle-power, --max-power: watts of a
    node). Where a question needs watts (a limit, configurations), 100 W idle
    and 300 W busy a node are assumed, and that is said.

    For example:

      wattline replay KTH-SP2-1996-2.1-cln.swf.gz --nodes 100

      wattline replay log.swf --nodes 5040 --cores-per-node 16 --select conservative

      wattline replay log.swf --network dragonfly:4x8x33 --place level-spread

      wattline replay site.parquet --nodes 64 --column submit_s=submit --column work_s=runtime

      wattline replay log.swf --power-limit "1.2 MW" --idle-power "90 W" --max-power "350 W" --json

      wattline replay jobs.csv --configs table.csv --power-limit "4 kW" --idle-power "10 W" --select surplus
    """
    from wattline.api.asking import ask
    from wattline.api.machine import Machine
    from wattline.api.trace import log_at

    refuse_scenario(trace)
    source, told_power = config_source and config_source.value, config_power and config_power.value
    table = _configurations(configs, source, config_sample, told_power)
    terminal = Terminal(as_json, quiet)
    machine = Machine(nodes, idle=idle_power, max=max_power, network=network)
    log = log_at(
        trace,
        format=trace_format,
        cores_per_node=cores_per_node,
        strict=strict,
        jobs=jobs,
        zone=zone,
        columns=columns_of(column),
    )
    policies = {"order": order, "select": select, "place": place if place != "lowest" else None, "learn": estimates}
    asked = ask(
        log,
        machine,
        policies=policies,
        ties=ties.value,
        kill=kill,
        limit=power_limit,
        seed=seed,
        words=_typed,
        source="replay",
        configurations=table,
    )
    carry_out(asked, out, terminal, report=not no_report, resume=resume, force=force)


def _configurations(
    file: Path | None, source: str | None, sample: float | None, power: str | None
) -> dict[str, str | float]:
    """Return the keys of the table of configurations that flags give; none goes without the table."""
    given = {"file": None if file is None else str(file), "source": source, "sample": sample, "power": power}
    keys = {key: value for key, value in given.items() if value is not None}
    if file is None and keys:
        raise ScenarioError(f"{CONFIG_FLAGS[next(iter(keys))]}: goes with --configs, a table of configurations")
    return keys


def _typed(name: str, value: Any) -> str:
    """Return a value as it was typed, with the flag of its name."""
    return f"{FLAGS[name]} {value}" if name in FLAGS else str(value)
