"""``wattline trace``: look at, convert and draw workloads."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from wattline.cli.paths import refuse_same, refuse_scenario, say_cut
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.cli.trace.flags import ColumnFlags, Cores, Format, Strict, TraceFile, Zone, columns_of, say_machine
from wattline.cli.trace.kinds import generate_days
from wattline.cli.trace.power import generate_year
from wattline.errors import InputError, ScenarioError, cut

app = typer.Typer(no_args_is_help=True, help="Look at, convert and draw workloads.")


class Generator(StrEnum):
    """Workloads that can be drawn."""

    POISSON = "poisson"
    LUBLIN = "lublin"
    BURSTY = "bursty"
    MEGGIE = "meggie-like"
    EMMY = "emmy-like"
    MIRA = "mira-like"


class Mix(StrEnum):
    """Streams of the Lublin–Feitelson model."""

    COMBINED = "combined"
    TYPED = "typed"


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
    from wattline.formats.jobs.export import write_trace

    terminal = Terminal(as_json, quiet)
    refuse_scenario(trace)
    refuse_same(trace, target)
    say_cut(trace, terminal)
    found = read_trace(
        trace, format=trace_format, strict=strict, cores_per_node=cores_per_node, zone=zone, columns=columns_of(column)
    )
    say_machine(found, terminal)
    _write(found, target, terminal, write_trace)


@app.command()
def generate(
    generator: Annotated[
        Generator,
        typer.Argument(metavar="GENERATOR", help="poisson, lublin, bursty, meggie-like, emmy-like or mira-like."),
    ],
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="File to write: .swf, .swf.gz, .parquet, .csv or .csv.gz.")
    ],
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Nodes of the machine the jobs are for (default: 128, or the cluster's).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Jobs to draw (default: 1000).")] = None,
    load: Annotated[float | None, typer.Option(help="Offered load (poisson, bursty: in the long run).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 1,
    rate: Annotated[str | None, typer.Option(help='Arrivals of all types together, e.g. "30/h" (poisson).')] = None,
    mix: Annotated[Mix | None, typer.Option(help="One stream, or batch and interactive (lublin).")] = None,
    users: Annotated[int | None, typer.Option(min=1, help="Users of each type.")] = None,
    requests: Annotated[str | None, typer.Option(help="Time limits: none, exact, factor or rounded.")] = None,
    job_type: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TOML", help="A type of job, keys as in a scenario. May be repeated."),
    ] = None,
    phase: Annotated[
        list[str] | None, typer.Option(metavar="TOML", help="A phase of bursty arrivals. May be repeated.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="Days of arrivals (meggie-like, emmy-like: 5; mira-like: 365).")
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(min=0, help="Which set of kinds or projects (meggie-like, emmy-like, mira-like; default: 1)."),
    ] = None,
    full_machine: Annotated[
        float | None, typer.Option(help="Share of jobs that take the whole machine (mira-like; default: 0.001).")
    ] = None,
    *,
    own_power: Annotated[
        bool, typer.Option("--own-power", help="Every job has a measured power of its own (meggie-like, emmy-like).")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a synthetic workload and write it to a file.

    For example:

      wattline trace generate lublin week.swf --nodes 256 --jobs 5000 --load 0.8

      wattline trace generate poisson p.swf --load 0.7 --type '{name="a", nodes=4, mean="1 h"}'

      wattline trace generate bursty b.parquet --load 0.7 --type '{name="a", nodes=4, mean="1 h"}'
      --phase '{rate="200/h", dwell="1 h"}' --phase '{rate="10/h", dwell="5 h"}'

      wattline trace generate meggie-like days.parquet --days 5 --seed 2

      wattline trace generate mira-like year.parquet
    """
    only_days = {"--days": days, "--population": population}
    only_kinds, only_year = {"--own-power": own_power or None}, {"--full-machine": full_machine}
    only_others = {
        "--jobs": jobs,
        "--rate": rate,
        "--mix": mix,
        "--users": users,
        "--requests": requests,
        "--type": job_type,
        "--phase": phase,
    }
    like = generator in (Generator.MEGGIE, Generator.EMMY)
    year = generator == Generator.MIRA
    wrong = (only_others if like or year else only_days) | ({} if like else only_kinds) | ({} if year else only_year)
    for flag, value in wrong.items():
        if value is not None:
            raise InputError(f"{flag} does not go with {generator.value}")
    if like or year:
        given = {"days": days, "load": load, "nodes": nodes, "seed": seed, "population": population}
        law: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        _generate_like(generator.value, law, full_machine if year else own_power, target, Terminal(as_json, quiet))
        return
    from wattline.formats.jobs.export import write_trace
    from wattline.scenario import Source, TraceCache, document

    trace: dict[str, Any] = {
        "generator": generator.value,
        "jobs": jobs,
        "load": load,
        "rate": rate,
        "mix": mix.value if mix else None,
        "users": users,
        "requests": {"model": requests} if requests else None,
        "type": [_inline("--type", text) for text in job_type or ()] or None,
        "phase": [_inline("--phase", text) for text in phase or ()] or None,
    }
    data = {
        "name": generator.value,
        "seed": seed,
        "cluster": {"nodes": nodes or 128},
        "trace": {key: value for key, value in trace.items() if value is not None},
    }
    drawn, _ = TraceCache().get(document(data, Source("trace generate")))
    _write(drawn, target, Terminal(as_json, quiet), write_trace)


def _generate_like(name: str, law: dict[str, Any], own: float | None, target: Path, terminal: Terminal) -> None:
    """Draw what resembles a machine; ``own`` is the parameter that only its kind of generator has."""
    if name == Generator.MIRA:
        generate_year(law if own is None else law | {"full_machine": own}, target, terminal)
    else:
        generate_days(name, law | {"own_power": bool(own)}, target, terminal)


def _inline(flag: str, text: str) -> Any:
    from wattline.scenario.read.toml_read import loads

    try:
        return loads(f"v = {text}", f"{flag} {cut(text)}: ")["v"]
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError(f"{flag} {cut(text)}: not a TOML table like '{{name=\"a\", nodes=4}}': {problem}") from None


def _write(trace: Any, target: Path, terminal: Terminal, write: Any) -> None:
    terminal.notes((n.action, n.reason, n.count, n.example) for n in trace.notes)
    lost = write(trace, target)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in lost)
    terminal.line(f"{len(trace.jobs):,} jobs in {target}")
    notes = [n.__dict__ for n in (*trace.notes, *lost)]
    terminal.data({"file": str(target), "jobs": len(trace.jobs), "notes": notes})


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
    load = "" if facts["offered_load"] is None else f", offered load {facts['offered_load']:.3g}"
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
        ("log's own", found["words"] if found else None),
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
