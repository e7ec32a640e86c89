"""``wattline status`` and ``wattline dashboard``: the live system as its operator sees it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.apart import results
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import InputError


def status(
    site: Annotated[
        Path | None, typer.Argument(metavar="SITE.toml", help="File of the controller, to find its socket.")
    ] = None,
    socket: Annotated[
        Path | None, typer.Option("--socket", metavar="PATH", help="Socket of the controller, instead of its file.")
    ] = None,
    *,
    once: Annotated[bool, typer.Option("--once", help="Show it once and end; so does a pipe.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a controller does now: power, target, nodes, jobs, faults.

    The view renews itself each second until Ctrl-C. With --quiet only the exit
    code tells whether a controller answers.

    For example:

      wattline status site.toml

      wattline status --socket /run/wattline/north.sock --once
    """
    from wattline.live.watch.socket import fetch, socket_of
    from wattline.live.watch.status import text, watch

    terminal = Terminal(as_json, quiet)
    if (site is None) == (socket is None):
        raise InputError("wattline status: give the controller's file or --socket, one of them")
    path = socket if socket is not None else socket_of(Path(str(site)))
    if terminal.for_people and not once and sys.stdout.isatty():
        watch(path)
        return
    document = fetch(path)
    if as_json:
        results().write(f"{document.to_json()}\n")
    else:
        terminal.line(text(document))


def dashboard(*, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print a Grafana dashboard of the live system, to be imported there.

    It is JSON in any case. Grafana asks for the Prometheus data source when it
    is imported.

    For example:

      wattline dashboard > wattline.json
    """
    from importlib import resources

    text = resources.files("wattline.live.watch").joinpath("dashboards/wattline.json").read_text(encoding="utf-8")
    if as_json or not quiet:
        results().write(text)
