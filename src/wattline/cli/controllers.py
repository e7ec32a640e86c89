"""``wattline controller`` and ``off``: leading a machine, and letting it go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.complaints import FAILED
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
    same folder stand by. A dry run may run beside them. SIGTERM and Ctrl-C end it in an orderly way: stopped
    jobs go on, and agents put back what they found. --check lists at its end
    what is not there yet. docs/live/first-steps.md leads through all of it.

    For example:

      wattline controller examples/live/site.toml --check

      wattline controller site.toml --dry-run

      wattline controller site.toml --name standby
    """
    from wattline.api.controlling import run_site
    from wattline.api.site_plan import manager_notes, missing, plan_site

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
    left = run_site(planned, dry_run=dry_run)
    if left:
        terminal.line(f"{len(left)} jobs could not be continued: {', '.join(left[:8])}")
        raise typer.Exit(FAILED)


def off(file: SiteFile, *, as_json: Json = False, quiet: Quiet = False) -> None:
    """Let a machine go: stopped jobs go on, and agents put back the limits that they found.

    A controller that leads, and those that stand by, are told to end. Where
    none leads, its place is taken for a moment to tell the agents.

    For example:

      wattline off site.toml
    """
    from wattline.api.controlling import switch_off
    from wattline.api.site_plan import plan_site

    terminal = Terminal(as_json, quiet)
    done = switch_off(plan_site(file))
    for line in done:
        terminal.line(line)
    terminal.data({"done": done})
