"""``wattline configs response``: the response to caps of an application, out of its measured configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.configs.commands import AppFlag, TableArg, TurboFlag
from wattline.cli.paths import refuse_same
from wattline.cli.telemetry.flags import asked
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError, ScenarioError
from wattline.units import power_w


def response(
    table: TableArg,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the job, as measured.")],
    cores: Annotated[int, typer.Option(min=1, help="Cores of a node, as measured.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.csv", help="Where to: power_w of a node, and time_s.")],
    app_name: AppFlag = None,
    turbo: TurboFlag = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write how run time grows as power falls, for the key response of a kind.

    Rows of one node and core count, without turbo: power of a node and run
    time over that at the highest power. Powers within a percent are one
    point, a slower row at more power is left out.

    For example:

      wattline configs response measured.csv --app bt-mz.C --nodes 32 --cores 16 --out bt.csv
    """
    from wattline.formats.tables.configurations import read_configurations
    from wattline.formats.tables.responses import SUFFIXES, write_response
    from wattline.physics.cap_response import rows_without_turbo
    from wattline.physics.responses.table import Table

    terminal = Terminal(as_json, quiet)
    refuse_same(table, out)
    if not out.name.endswith(SUFFIXES[0]):
        raise ScenarioError(f"--out: end the name in .csv, got {out.name!r}")
    measured = read_configurations(table, turbo_w=asked("--turbo", power_w, turbo)).table(app_name)
    rows = rows_without_turbo(measured, nodes, cores)
    try:
        found = Table.swept(measured.power_w[rows] / nodes, measured.time_s[rows])
    except InputError as problem:
        raise ScenarioError(f"{table}: {measured.application}, {nodes} × {cores}: {problem}") from None
    write_response(out, found)
    terminal.line(f"{measured.application}, {nodes} × {cores}: {len(found.points())} of {rows.size} rows in {out}")
    for watts, time in found.points():
        terminal.line(f"  {watts:7.1f} W a node: run time × {time:.3f}")
    points = [list(point) for point in found.points()]
    terminal.data(
        {"application": measured.application, "nodes": nodes, "cores": cores, "file": str(out), "points": points}
    )
