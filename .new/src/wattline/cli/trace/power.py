"""``wattline trace power``: give the jobs of a log power over time from a model; and draw a year that has it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.paths import refuse_same, refuse_scenario, say_cut
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.cli.trace.flags import ColumnFlags, Cores, Format, Strict, TraceFile, Zone, columns_of, say_machine
from wattline.errors import InputError, ScenarioError
from wattline.units import power_w

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class Model(StrEnum):
    """Models of power over time."""

    MIRA = "mira"


def power(
    trace: TraceFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the jobs here (.parquet).")],
    model: Annotated[Model, typer.Option(help="Model of power: mira.")] = Model.MIRA,
    node_max: Annotated[
        str,
        typer.Option("--max", metavar="POWER", help="What a node draws at most; the model's powers are scaled to it."),
    ] = "97.65625 W",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the profiles.")] = 1,
    cores_per_node: Cores = None,
    zone: Zone = None,
    trace_format: Format = None,
    column: ColumnFlags = None,
    *,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give every job of a log power over its run, by project, user, name and nodes.

    For example:

      wattline trace power mira.swf.gz --out mira.parquet

      wattline trace power theta.swf.gz --out theta.parquet --max "380 W"
    """
    from wattline.formats.jobs import read_trace
    from wattline.formats.jobs.export import write_trace
    from wattline.generate.attach_power import attach_power

    terminal = Terminal(as_json, quiet)
    refuse_scenario(trace)
    refuse_same(trace, out)
    if not out.name.endswith(".parquet"):
        raise InputError(f"{out}: end the name in .parquet, which holds power over time")
    try:
        max_w = power_w(node_max)
    except InputError as problem:
        raise ScenarioError(f"--max: {problem}") from None
    say_cut(trace, terminal)
    log = read_trace(
        trace, format=trace_format, strict=strict, cores_per_node=cores_per_node, zone=zone, columns=columns_of(column)
    )
    say_machine(log, terminal)
    found = attach_power(log, model=model.value, seed=seed, max_w=max_w)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in found.notes)
    lost = write_trace(found, out)
    _tell(found, out, max_w, terminal)
    terminal.data(
        {
            "file": str(out),
            "jobs": len(found.jobs),
            "values": _values(found),
            "max_w": max_w,
            "notes": [n.__dict__ for n in (*found.notes, *lost)],
        }
    )


def generate_year(law: dict[str, Any], target: Path, terminal: Terminal) -> None:
    """Draw a year of a machine like Mira, and say which machine it is for."""
    from wattline.formats.jobs.export import write_trace
    from wattline.generate.jobs import MiraLike, generate
    from wattline.generate.mira_power import MAX_W

    trace = generate(MiraLike(**law))
    lost = (*trace.notes, *write_trace(trace, target))
    jobs, nodes = trace.jobs, trace.suggested_nodes
    terminal.notes((n.action, n.reason, n.count, n.example) for n in lost)
    terminal.line(f"{len(jobs):,} jobs of {len(jobs.groups)} projects in {target}, {_values(trace):,} values of power")
    terminal.line(f'In a scenario: [cluster] nodes = {nodes}, idle = "0 W", max = "{MAX_W:.9g} W"')
    terminal.data(
        {
            "file": str(target),
            "jobs": len(jobs),
            "projects": len(jobs.groups),
            "values": _values(trace),
            "nodes": nodes,
            "max_w": MAX_W,
            "notes": [n.__dict__ for n in lost],
        }
    )


def _values(found: Trace) -> int:
    return 0 if found.jobs.series is None else int(found.jobs.series.watts.size)


def _tell(found: Trace, out: Path, max_w: float, terminal: Terminal) -> None:
    draw_w = found.jobs.draw_w
    terminal.line(
        f"{len(found.jobs):,} jobs in {out}, {_values(found):,} values of power, one every 5 minutes of a run"
    )
    terminal.line(
        f"{draw_w.mean():.1f} W a node on average over jobs ({draw_w.min():.1f} to {draw_w.max():.1f}), at most "
        f"{max_w:.9g} W"
    )
