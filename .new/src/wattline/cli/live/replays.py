"""``wattline replay-live``: feed the facts of a live run back and compare what is decided."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.terminal import Json, Quiet, Terminal

if TYPE_CHECKING:
    from wattline.wiring.bound import Bound


def replay_live(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that a controller keeps its run in.")],
    policies: Annotated[
        Path | None,
        typer.Option("--policies", metavar="DIR", help="Where policies of your own are (default: the same folder)."),
    ] = None,
    journals: Annotated[
        Path | None,
        typer.Option("--journals", metavar="OUT", help="Also write the journals of all hours anew, into this folder."),
    ] = None,
    *,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Feed the facts of a live run to the same control, and compare.

    Every fact must have the same result, every pass the same actions, every
    checkpoint the same state. The exit code is 1 where something differs.
    Nothing but the log is needed, and nothing real is touched.

    For example:

      wattline replay-live /var/lib/wattline/site

      wattline replay-live out/demo --journals out/demo-again --json
    """
    from wattline.live.controller.journal.folder import write_again
    from wattline.live.controller.journal.replay import replay
    from wattline.live.controller.journal.setup import rebuild

    def build(start: Mapping[str, Any]) -> Bound:
        return rebuild(start, policies or folder)

    terminal = Terminal(as_json, quiet)
    written: list[Path] = []
    if journals is None:
        found = replay(folder, build)
    else:
        found, written = write_again(folder, build, journals)
    for line in (*found.said, *found.inexact):
        terminal.line(line)
    terminal.line(
        f"{found.ticks:,} ticks, {found.facts:,} facts, {found.passes:,} passes, {found.actions:,} actions, "
        f"{found.bids:,} bids, {found.checkpoints:,} checkpoints"
        + ("" if found.ended else "; the run was cut off, or goes on")
    )
    terminal.line("identical" if found.identical else f"first difference: {found.difference}")
    terminal.data(
        {
            "identical": found.identical,
            "difference": found.difference or None,
            "ended": found.ended,
            **{name: getattr(found, name) for name in ("ticks", "facts", "passes", "actions", "checkpoints", "starts")},
            "journals": [str(path) for path in written],
            "inexact": found.inexact,
            "said": found.said,
        }
    )
    if not found.identical:
        raise typer.Exit(1)
