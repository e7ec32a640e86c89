"""``wattline configs chosen``: which configuration each job of a run took, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wattline.cli.configs.commands import AppFlag
from wattline.cli.paths import say_cut
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError, did_you_mean

SHOWN = 40
"""Jobs that are said one by one unless more are asked for."""


def chosen(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="Folder that a run left.")],
    job: Annotated[
        list[int] | None, typer.Option("--job", metavar="ID", help="Only this job; may be given several times.")
    ] = None,
    app_name: AppFlag = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Say every job, however many.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which configuration each job took, and why.

    For example:

      wattline configs chosen out/moldable

      wattline configs chosen out/moldable --job 17
    """
    import polars as pl

    from wattline.journal.journal import open_journal
    from wattline.report.count.run import read_shapes
    from wattline.report.count.shapes import why_words
    from wattline.report.tables.shapes import chosen_lines

    terminal = Terminal(as_json, quiet)
    say_cut(journal, terminal)
    rows = read_shapes(open_journal(journal))
    if rows is None:
        raise ScenarioError(f"{journal}: no job of this run chose among configurations")
    if app_name is not None:
        known = rows["application"].unique(maintain_order=True).to_list()
        if app_name not in known:
            raise ScenarioError(f"--app {app_name}: no such application in this run{did_you_mean(app_name, known)}")
        rows = rows.filter(pl.col("application") == app_name)
    for number in job or []:
        if number not in rows["job_id"]:
            raise ScenarioError(f"--job {number}: it started in no configuration in this run")
    if job:
        rows = rows.filter(pl.col("job_id").is_in(job))
    shown = rows if everything else rows.head(SHOWN)
    if terminal.for_people:
        for line in chosen_lines(shown):
            terminal.line(line)
        if shown.height < rows.height:
            terminal.line(f"… and {rows.height - shown.height:,} more (--all, --job ID)")
    terminal.data([{**row, "why": why_words(row)} for row in rows.iter_rows(named=True)])
