"""``wattline controller`` and ``off``: leading a machine, and letting it go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.complaints import LEASE_LOST, NOT_RELEASED, complain
from wattline.cli.terminal import Json, Quiet, Terminal

SiteFile = Annotated[
    Path, typer.Argument(metavar="SITE.toml", help="The controller's file; docs/live/controller.md has its keys.")
]


def controller(
    file: SiteFile,
    *,
    check: Annotated[bool, typer.Option("--check", help="Show what would be used, and start nothing.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say every action that would be taken, and take none.")
    ] = False,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Be this controller of the file, to stand by.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Lead a machine: start, stop and continue jobs and set caps, so that it stays inside its power envelope.

    One controller leads, by a lease in its journal's folder; others with the
    same folder stand by. A dry run may run beside them. SIGTERM and Ctrl-C end it in an orderly way: who stands
    by leads on; where nobody does, stopped jobs go on, and agents put back what they found. --check lists at its end
    what is not there yet. docs/live/first-steps.md leads through all of it.

    Exit codes: 0 it was told to end, 1 something failed, 2 a file is wrong,
    3 it was told to end and a stopped job could not be continued, 4 it lost
    its lease to another one.

    For example:

      wattline controller examples/live/site.toml --check

      wattline controller site.toml --dry-run

      wattline controller site.toml --name standby
    """
    from wattline.api.controlling import run_site
    from wattline.api.site.plan import manager_notes, missing, plan_site
    from wattline.live.controller.leading.lease import LeaseLost
    from wattline.live.controller.leading.off import process_began_s

    terminal = Terminal(as_json, quiet)
    planned = plan_site(file, name)
    if check:
        for what, text in planned.lines():
            terminal.line(f"{what:18} {text}")
        notes = manager_notes(planned)
        for line in notes:
            terminal.line(f"{'':18} {line}")
        absent = missing(planned)
        for line in absent:
            terminal.line(f"{'not there yet':18} {line}")
        terminal.data({**dict(planned.lines()), "notes": notes, "not there yet": absent})
        return
    try:
        left = run_site(planned, dry_run=dry_run, began_s=process_began_s())
    except LeaseLost as lost:
        raise typer.Exit(complain(str(lost), LEASE_LOST)) from None
    if left:
        terminal.line(f"{len(left)} jobs could not be continued: {', '.join(left[:8])}")
        raise typer.Exit(NOT_RELEASED)


MOST_LINES = 20
"""Things that were not released, each in a line of its own; --json has all of them."""


def off(
    file: SiteFile,
    *,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Say it as this controller of the file, by its key.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let a machine go: stopped jobs go on, and agents put back the limits that they found.

    A controller that leads, and those that stand by, are told to end. Where
    none leads, its place is taken for a moment to tell the agents; the key is
    that of --name, or of any controller of the file whose key is here.
    All of it is tried, whatever fails. The exit code is 0 if everything is
    released, and 3 if something is not, which is named.

    For example:

      wattline off site.toml

      wattline off site.toml --name standby
    """
    from wattline.api.controlling import switch_off
    from wattline.api.site.plan import plan_site

    terminal = Terminal(as_json, quiet)
    done = switch_off(plan_site(file, name))
    for line in done.lines(MOST_LINES):
        terminal.line(line)
    terminal.data(done.data())
    if done.kept:
        raise typer.Exit(NOT_RELEASED)
