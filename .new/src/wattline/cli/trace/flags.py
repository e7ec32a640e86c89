"""What the commands about job logs share: their flags, and how they say what was read and written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wattline.cli.terminal import Terminal
from wattline.errors import InputError, ScenarioError
from wattline.formats.jobs import FORMATS

TraceFile = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE", help="Job log (plain or .gz), or the folder of a journal; `wattline trace formats` lists them."
    ),
]
Format = Annotated[str | None, typer.Option("--format", help=f"{', '.join(FORMATS)} (default: by content).")]
Cores = Annotated[
    int | None,
    typer.Option(min=1, help="Processors of the log that make one node (default: as an SWF header and its jobs say)."),
]
Zone = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="Zone of local times, as sacct prints them, e.g. Europe/Paris (default: UTC)."),
]
ColumnFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=THEIRS[:UNIT]",
        help="Column of any CSV or Parquet table, e.g. submit_s=submit, request_s=limit:h. May be repeated.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a trace that would need dropping or repairing.")]


def columns_of(given: list[str] | None) -> dict[str, str] | None:
    """Return which columns of a table are which, as the flags say."""
    if not given:
        return None
    from wattline.formats.jobs.table.columns import typed_columns

    try:
        return typed_columns(given)
    except InputError as problem:
        raise ScenarioError(f"--column: {problem}") from None


def say_machine(trace: Any, terminal: Terminal) -> None:
    """Say what a log's header says of its machine, and in which unit its jobs are counted."""
    if trace.machine is not None and trace.machine.words:
        terminal.tell(f"machine: {trace.machine.words}")


def write_jobs(trace: Any, target: Path, terminal: Terminal) -> None:
    """Write jobs to a file; say what was done to them before, and what the file cannot hold."""
    from wattline.formats.jobs.export import write_trace

    terminal.notes((n.action, n.reason, n.count, n.example) for n in trace.notes)
    lost = write_trace(trace, target)
    terminal.notes((n.action, n.reason, n.count, n.example) for n in lost)
    terminal.line(f"{len(trace.jobs):,} jobs in {target}")
    notes = [n.__dict__ for n in (*trace.notes, *lost)]
    terminal.data({"file": str(target), "jobs": len(trace.jobs), "notes": notes})
