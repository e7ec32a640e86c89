"""``wattline configs export`` and ``import``: tables of configurations as a batch system's database holds them."""

from __future__ import annotations

from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.configs.commands import AppFlag, MemoryFlag, ReduceFlag, Reduction, SocketsFlag, TableArg, TurboFlag
from wattline.cli.paths import refuse_same, refuse_two
from wattline.cli.telemetry.flags import asked
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError
from wattline.units import power_w


class Layout(StrEnum):
    """How a table is laid out."""

    JOB_DETAILS = "job-details"
    WATTLINE = "wattline"


NamesFlag = Annotated[
    Path | None,
    typer.Option("--names", metavar="FILE.csv", help="Names of applications by number (job_id, application)."),
]


def export(
    table: TableArg,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where to: .csv, .tsv or .sql (job-details), .csv (wattline).")
    ],
    layout: Annotated[
        Layout, typer.Option("--layout", help="job-details: the job_details_table of P-SLURM; wattline: our own.")
    ] = Layout.JOB_DETAILS,
    app_name: AppFlag = None,
    names: Annotated[
        Path | None,
        typer.Option("--names", metavar="FILE.csv", help="Also write the names of applications by number here."),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE.csv", help="Numbers that applications have already (job_id, application)."),
    ] = None,
    reduce: ReduceFlag = Reduction.MEDIAN,
    sockets: SocketsFlag = 2,
    memory: MemoryFlag = "30 W",
    turbo: TurboFlag = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write tables of configurations, measured or predicted, for a batch system.

    The layout job-details is the job_details_table that RMAP's scheduler looks
    up: id, job_id (of the application), nodes, cores, pkg_cap, exec_time,
    tot_pkg. As .sql it is made of statements that a database takes.

    For example:

      wattline configs export measured.csv --out job_details.sql --names names.csv

      wattline configs export predicted.parquet --out job_details.csv
    """
    from wattline.formats.tables.configuration_rows import Socketed
    from wattline.formats.tables.configurations import read_configurations, write_configurations
    from wattline.formats.tables.job_details import numbered, read_names, write_job_details, write_names
    from wattline.report.show import plural

    terminal = Terminal(as_json, quiet)
    refuse_two(("--out", out), ("--names", names))
    for source, target in product((table, ids), (out, names)):
        if source is not None and target is not None:
            refuse_same(source, target)
    node = Socketed(sockets, asked("--memory", power_w, memory) or 0.0)
    read = read_configurations(table, reduce=reduce.value, node=node, turbo_w=asked("--turbo", power_w, turbo))
    tables = [read.table(app_name)] if app_name else list(read.tables.values())
    if layout is Layout.WATTLINE:
        for flag, given in (("--names", names), ("--ids", ids)):
            if given is not None:
                raise ScenarioError(f"{flag}: goes with --layout job-details, where applications are numbers")
        if out.suffix != ".csv":
            raise ScenarioError(f"--out: end the name in .csv, got {out.name!r}")
        write_configurations(out, tables)
        numbers: dict[str, int] = {}
        rows = sum(len(t) for t in tables)
    else:
        numbers = numbered(tables, None if ids is None else read_names(ids))
        rows = write_job_details(out, tables, numbers)
        if names is not None:
            write_names(names, numbers)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in read.notes)
    turbos = sorted({float(t.turbo_w) for t in tables if t.turbo_w == t.turbo_w})
    if turbos and layout is Layout.JOB_DETAILS:
        caps = " and ".join(f"{cap:g} W" for cap in turbos)
        terminal.say(f"turbo: {caps} means no cap, with turbo; this layout cannot say so (configs import --turbo can)")
    terminal.line(f"{rows:,} configurations of {plural(len(tables), 'application')} in {out}")
    for name, number in numbers.items():
        terminal.line(f"  job_id {number}: {name}")
    terminal.data({"file": str(out), "layout": layout.value, "rows": rows, "job_ids": numbers, "turbo_w": turbos})


def import_(
    table: Annotated[
        Path, typer.Argument(metavar="FILE", help="A job_details_table: .csv, .tsv (mysql --batch) or a dump (.sql).")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.csv", help="Where to, in Wattline's layout.")],
    names: NamesFlag = None,
    sockets: SocketsFlag = 2,
    memory: MemoryFlag = "30 W",
    turbo: TurboFlag = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read a job_details_table, check it, and write it in Wattline's layout.

    Scenarios and the other commands read such files as they are, too; here
    applications get their names, and turbo its mark.

    For example:

      wattline configs import job_details.sql --names names.csv --turbo "115 W" --out table.csv
    """
    from wattline.formats.tables.configuration_rows import Socketed
    from wattline.formats.tables.configurations import read_configurations, write_configurations
    from wattline.formats.tables.job_details import read_names
    from wattline.report.show import plural

    terminal = Terminal(as_json, quiet)
    for source in (table, *([names] if names else [])):
        refuse_same(source, out)
    if out.suffix != ".csv":
        raise ScenarioError(f"--out: end the name in .csv, got {out.name!r}")
    read = read_configurations(
        table,
        node=Socketed(sockets, asked("--memory", power_w, memory) or 0.0),
        turbo_w=asked("--turbo", power_w, turbo),
        names=None if names is None else read_names(names),
    )
    write_configurations(out, read.tables.values())
    terminal.notes((n.action, n.reason, n.count, n.example) for n in read.notes)
    rows = sum(len(t) for t in read.tables.values())
    terminal.line(f"{rows:,} configurations of {plural(len(read.tables), 'application')} in {out}")
    terminal.data({"file": str(out), "rows": rows, "applications": {name: len(t) for name, t in read.tables.items()}})
