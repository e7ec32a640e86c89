"""``wattline trace kinds``: sort the jobs of a log into kinds, for promises and bids."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.paths import refuse_same, refuse_scenario
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.cli.trace.flags import ColumnFlags, Cores, Format, Strict, TraceFile, Zone, columns_of, say_machine
from wattline.errors import InputError, ScenarioError
from wattline.units import duration_s, power_w

if TYPE_CHECKING:
    from wattline.generate.kinds_from_log import Found

SHOWN = 20
"""Kinds that the table shows; the file has them all."""


class Power(StrEnum):
    """Where the ends of the caps come from."""

    OBSERVED = "observed"
    MODEL = "model"


OutFlag = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the sorted jobs here (.parquet or .csv), and their kinds beside it as .kinds.csv.",
    ),
]
LeastFlag = Annotated[int, typer.Option(min=1, help="Pool types of fewer jobs (1: none).")]
LimitFlag = Annotated[float, typer.Option(help="QoS limit that is promised to every kind.")]
ShareFlag = Annotated[float, typer.Option(help="Share of its jobs that may reach it.")]
PowerFlag = Annotated[
    Power, typer.Option(help="Power and time at the lowest cap: observed where measured, or by the model.")
]
TrimFlag = Annotated[float, typer.Option(help="Share of measured jobs left out at each end of what was observed.")]
IdleFlag = Annotated[str, typer.Option(metavar="POWER", help="Model: power of an idle node.")]
BusyFlag = Annotated[str, typer.Option(metavar="POWER", help="Model: mean power of a busy node that nobody measured.")]
SpreadFlag = Annotated[float, typer.Option(help="Model: its relative standard deviation among kinds.")]
FloorShareFlag = Annotated[float, typer.Option(help="Model: what the lowest cap leaves of the power above idle.")]
SensitivityFlag = Annotated[float, typer.Option(help="Model: slowdown over what power falls by (1: in proportion).")]
RatesFromFlag = Annotated[
    str, typer.Option(metavar="TIME", help="Take arrival rates from here on, since the first submission ...")
]
RatesUntilFlag = Annotated[str | None, typer.Option(metavar="TIME", help="... to here (default: the whole log).")]
AverageFlag = Annotated[
    bool, typer.Option("--average", help="The limit holds for the mean of its jobs, not for a share.")
]
OwnPowerFlag = Annotated[
    bool, typer.Option("--own-power", help="Jobs keep the power measured of them (slower to simulate).")
]


def kinds(
    trace: TraceFile,
    out: OutFlag = None,
    least: LeastFlag = 5,
    limit: LimitFlag = 2.0,
    share: ShareFlag = 0.1,
    power: PowerFlag = Power.OBSERVED,
    trim: TrimFlag = 0.0,
    idle: IdleFlag = "100 W",
    busy: BusyFlag = "300 W",
    spread: SpreadFlag = 0.15,
    floor_share: FloorShareFlag = 0.46,
    sensitivity: SensitivityFlag = 0.48,
    rates_from: RatesFromFlag = "0 s",
    rates_until: RatesUntilFlag = None,
    cores_per_node: Cores = None,
    zone: Zone = None,
    trace_format: Format = None,
    column: ColumnFlags = None,
    *,
    average: AverageFlag = False,
    own_power: OwnPowerFlag = False,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the kinds of job in a log: name and node count, with power, time and rate.

    For example:

      wattline trace kinds log.swf.gz --idle "31 W" --busy "120 W"

      wattline trace kinds jobs.txt --out jobs.parquet --least 10 --limit 2
    """
    from wattline.formats.jobs import read_trace
    from wattline.formats.tables.kinds import kinds_beside
    from wattline.generate.cap_model import CapModel
    from wattline.generate.kinds_from_log import KindRules, find_kinds

    terminal = Terminal(as_json, quiet)
    refuse_scenario(trace)
    table = None if out is None else kinds_beside(out)
    for target in (out, table):
        if target is not None:
            refuse_same(trace, target)
    rules = KindRules(
        least,
        limit,
        share,
        average,
        power.value,
        trim,
        own_power,
        _asked("--rates-from", duration_s, rates_from) or 0.0,
        _asked("--rates-until", duration_s, rates_until),
        CapModel(
            _asked("--idle", power_w, idle) or 0.0,
            _asked("--busy", power_w, busy) or 0.0,
            spread,
            floor_share,
            sensitivity,
        ),
    )
    log = read_trace(
        trace, format=trace_format, strict=strict, cores_per_node=cores_per_node, zone=zone, columns=columns_of(column)
    )
    say_machine(log, terminal)
    found = find_kinds(log, rules)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in found.trace.notes)
    terminal.show(_table(found))
    if out is not None and table is not None:
        _write(found, out, table, terminal)
    terminal.data(_facts(found, out, table))


def generate_days(name: str, law: dict[str, Any], target: Path, terminal: Terminal) -> None:
    """Draw days of a cluster: the jobs into one file, their kinds into one beside it."""
    from wattline.formats.jobs.export import write_trace
    from wattline.formats.tables.kinds import kinds_beside, write_kinds
    from wattline.generate.jobs import GENERATORS, RrzeLike, generate
    from wattline.generate.rrze import kinds_like, mean_power_w

    table = kinds_beside(target)
    wanted = GENERATORS[name](**law)
    assert isinstance(wanted, RrzeLike)  # noqa: S101 - the caller knows
    trace, rows = generate(wanted), kinds_like(wanted)
    lost = write_trace(trace, target)
    write_kinds(rows, table)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in lost)
    terminal.line(f"{len(trace.jobs):,} jobs in {target}, {len(rows):,} kinds in {table}")
    terminal.line(
        f"{trace.suggested_nodes:,} nodes, {mean_power_w(wanted) / 1e3:.1f} kW in the long run if every job ran at "
        "once, uncapped"
    )
    terminal.line(f'In a scenario: kinds = "{table.name}" and, under [trace], file = "{target.name}"')
    terminal.data(
        {
            "file": str(target),
            "kinds_file": str(table),
            "jobs": len(trace.jobs),
            "kinds": len(rows),
            "nodes": trace.suggested_nodes,
            "mean_power_w": mean_power_w(wanted),
            "notes": [n.__dict__ for n in lost],
        }
    )


def _asked(flag: str, parse: Any, text: str | None) -> float | None:
    try:
        return None if text is None else float(parse(text))
    except InputError as problem:
        raise ScenarioError(f"{flag}: {problem}") from None


def _write(found: Found, out: Path, table: Path, terminal: Terminal) -> None:
    from wattline.formats.jobs.export import write_trace
    from wattline.formats.tables.kinds import write_kinds

    lost = write_trace(found.trace, out)
    write_kinds(found.rows, table)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in lost)
    terminal.line(f"{len(found.trace.jobs):,} jobs in {out}, {len(found.rows):,} kinds in {table}")
    terminal.line(f'In a scenario: kinds = "{table.name}" and, under [trace], file = "{out.name}"')


def _facts(found: Found, out: Path | None, table: Path | None) -> dict[str, Any]:
    """Return the kinds, ready for JSON."""
    rows = [
        {
            **{k: None if isinstance(v, float) and math.isinf(v) else v for k, v in vars(row.kind).items()},
            "jobs": row.jobs,
            "power_from": row.power_from,
        }
        for row in found.rows
    ]
    return {
        "source": found.trace.source,
        "jobs": len(found.trace.jobs),
        "file": None if out is None else str(out),
        "kinds_file": None if table is None else str(table),
        "mean_busy_nodes": _busy(found),
        "kinds": rows,
        "notes": [n.__dict__ for n in found.trace.notes],
    }


def _busy(found: Found) -> float:
    return sum(kind.arrival_per_s * kind.nodes * kind.work_s for kind in found.kinds)


def _table(found: Found) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from wattline.report.show import compact, number, printable, show

    table = Table(box=None, pad_edge=False, width=80, header_style="bold", padding=(0, 0, 0, 1))
    table.add_column("kind", style="cyan", no_wrap=True, overflow="ellipsis", ratio=1)
    for name in ("jobs", "nodes", "run time", "a day", "work", "power", "lowest", "slower"):
        table.add_column(name, justify="right", no_wrap=True)
    node_s = [row.jobs * row.kind.nodes * row.kind.work_s for row in found.rows]
    for row, work in list(zip(found.rows, node_s, strict=True))[:SHOWN]:
        kind = row.kind
        table.add_row(
            Text(printable(kind.name)),
            f"{row.jobs:,}",
            f"{kind.nodes:,}",
            compact(kind.work_s, "s"),
            number(kind.arrival_per_s * 86400),
            show(work / sum(node_s), "share"),
            compact(kind.draw_w, "W"),
            compact(kind.floor_w, "W"),
            f"× {number(kind.stretch)}",
        )
    rest = len(found.rows) - SHOWN
    more = f"and {rest:,} smaller kinds; " if rest > 0 else ""
    about = f"{more}arrivals × nodes × run time of all {len(found.rows):,} kinds keep {number(_busy(found))} nodes busy"
    return Group(Text(found.trace.source, style="bold"), table, Text(about))
