"""``wattline doctor``: look at an installation, and say what to change."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.complaints import FAILED
from wattline.cli.terminal import Json, Quiet, Terminal


def doctor(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A controller's or an agent's file; without one, this machine alone."),
    ] = None,
    *,
    write_test: Annotated[
        bool,
        typer.Option("--write-test", help="On an idle node: write a limit, read it back, put back what was found."),
    ] = False,
    bus: Annotated[
        bool, typer.Option("--bus", help="Listen to the agents for some seconds, where no controller leads.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look at versions, files, keys, clocks, ports, Slurm and power hardware, and say what to change.

    Nothing is changed, but for --write-test. Each line begins with ok, warn
    or fail; the exit code is 1 if something fails.

    For example:

      wattline doctor /etc/wattline/site.toml

      wattline doctor /etc/wattline/node.toml --write-test
    """
    from wattline.live.doctor.examine import examine
    from wattline.live.doctor.findings import Finding, Machine, worst

    terminal = Terminal(as_json, quiet)
    found: list[Finding] = []
    for finding in examine(file, Machine(), write_test=write_test, listen=bus, plan=_plan):
        found.append(finding)
        terminal.line(finding.line())
    level = worst(found)
    counts = {name: sum(one.level == name for one in found) for name in ("ok", "warn", "fail")}
    terminal.line(", ".join(f"{count} {name}" for name, count in counts.items()))
    terminal.data({"level": level, **counts, "findings": [asdict(one) for one in found]})
    if level == "fail":
        raise typer.Exit(FAILED)


def _plan(path: Path) -> str:
    """Return in a line what a controller's file leads, with all that it names."""
    from wattline.api.site.plan import plan_site

    planned = plan_site(path)
    return f"{planned.spec.scenario}: {len(planned.names)} nodes, as {path.name} names them"
