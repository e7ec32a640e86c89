"""``wattline trace``: look at, convert and draw workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wattline.cli.paths import refuse_same, refuse_scenario, say_cut
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.cli.trace.flags import (
    ColumnFlags,
    Cores,
    Format,
    Strict,
    TraceFile,
    Zone,
    columns_of,
    say_machine,
    write_jobs,
)
from wattline.units import in_full

app = typer.Typer(no_args_is_help=True, help="Look at, convert and draw workloads.")


@app.command()
def info(
    trace: TraceFile,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes of the machine, for the offered load.")] = None,
    cores_per_node: Cores = None,
    zone: Zone = None,
    trace_format: Format = None,
    column: ColumnFlags = None,
    *,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what is in a trace, and what its reader dropped or repaired.

    For example:

      wattline trace info KTH-SP2-1996-2.1-cln.swf.gz
    """
    from wattline.formats.jobs import read_trace
    from wattline.formats.jobs.info import trace_info

    terminal = Terminal(as_json, quiet)
    refuse_scenario(trace)
    say_cut(trace, terminal)
    found = read_trace(
        trace,
        format=trace_format,
        strict=strict,
        cores_per_node=cores_per_node,
        nodes=nodes,
        zone=zone,
        columns=columns_of(column),
    )
    facts = trace_info(found, nodes)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in found.notes)
    terminal.show(_info_table(facts))
    terminal.data(facts)


@app.command()
def formats(*, as_json: Json = False, quiet: Quiet = False) -> None:
    """List the formats of job logs that are read.

    For example:

      wattline trace formats
    """
    from rich.table import Table

    from wattline.formats.jobs import FORMATS, find_format

    terminal = Terminal(as_json, quiet)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("format", style="cyan")
    table.add_column("what it is")
    for name in FORMATS:
        table.add_row(name, find_format(name).about)
    terminal.show(table)
    terminal.data([{"name": name, "about": find_format(name).about} for name in FORMATS])


@app.command()
def convert(
    trace: TraceFile,
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="File to write: .swf, .swf.gz, .parquet, .csv or .csv.gz.")
    ],
    cores_per_node: Cores = None,
    zone: Zone = None,
    trace_format: Format = None,
    column: ColumnFlags = None,
    *,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a trace; what the target's format cannot hold is said.

    For example:

      wattline trace convert log.swf.gz log.parquet
    """
    from wattline.formats.jobs import read_trace

    terminal = Terminal(as_json, quiet)
    refuse_scenario(trace)
    refuse_same(trace, target)
    say_cut(trace, terminal)
    found = read_trace(
        trace, format=trace_format, strict=strict, cores_per_node=cores_per_node, zone=zone, columns=columns_of(column)
    )
    say_machine(found, terminal)
    write_jobs(found, target, terminal)


def _over_time(series: dict[str, Any]) -> str | None:
    if not series["known"]:
        return None
    from wattline.report.show import show

    return f"over time: {series['known']:,} values of {series['jobs']:,} jobs, one every {show(series['step_s'], 's')}"


def _info_table(facts: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from wattline.report.show import compact, show

    machine, found = facts["machine_nodes"], facts["machine"]
    unit = found["unit"] if found else "node"
    load = "" if facts["offered_load"] is None else f", offered load {in_full(facts['offered_load'], 3)}"
    request = facts["request"]
    rows = [
        (
            "jobs",
            (
                f"{facts['jobs']:,} of {facts['records']:,} records ({facts['dropped']:,} dropped, "
                f"{facts['repaired']:,} "
                "repaired)"
            ),
        ),
        ("span", show(facts["span_s"], "s")),
        ("machine", f"{machine:,} {unit}s{load}" if machine else "size unknown (give --nodes)"),
        ("log's own", (found["words"] or None) if found else None),
        ("too wide", f"{facts['wider_than_machine']:,} jobs" if facts["wider_than_machine"] else None),
        ("work", f"{facts['node_hours']:,.0f} {unit}-hours"),
        ("people", f"{facts['users']:,} users, {facts['groups']:,} groups"),
        (
            "requests",
            f"{request['known']:,} jobs have one, {request['exceeded']:,} run longer" if request["known"] else "none",
        ),
        ("power", _over_time(facts["series_w"])),
        ("linked", f"{facts['dependent']:,} jobs follow another" if facts["dependent"] else None),
    ]
    about = Table(
        title=Text(str(facts["source"]), style="bold"),
        title_justify="left",
        show_header=False,
        box=None,
        pad_edge=False,
    )
    about.add_column(style="cyan", no_wrap=True, width=12)
    about.add_column(overflow="fold")
    for name, text in rows:
        if text is not None:
            about.add_row(name, Text(text))
    numbers = Table(box=None, pad_edge=False, width=80, header_style="bold", padding=(0, 0, 0, 1))
    numbers.add_column("", style="cyan", no_wrap=True, width=13)
    columns = ("mean", "min", "p25", "p50", "p75", "p95", "max")
    for name in columns:
        numbers.add_column({"p50": "median"}.get(name, name), justify="right", no_wrap=True)
    for title, key, measure in (
        (f"{unit}s", "nodes", ""),
        ("run time", "work_s", "s"),
        ("request", "request", "s"),
        ("gap", "interarrival_s", "s"),
        ("recorded wait", "recorded_wait_s", "s"),
        ("power a node", "draw_w", "W"),
        ("over time", "series_w", "W"),
    ):
        if facts[key].get("known"):
            numbers.add_row(title, *(compact(facts[key][name], measure) for name in columns))
    return Group(about, numbers)
