"""``wattline sweep``: one scenario under many settings; a row a run in one table, and a page of responses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.complaints import complain
from wattline.cli.folders import Force, check_writable, refuse_other_sweep
from wattline.cli.paths import refuse_log
from wattline.cli.runs import Sets
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError

if TYPE_CHECKING:
    import polars as pl

    from wattline.api.studies import Study
    from wattline.api.sweeps.sweep import Sweep

PAGE = "sweep.html"
SHOWN = 12
"""Settings that the terminal shows."""

Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=VALUES",
        help="Values that a key takes in turn: 0.6,0.8 or 0.6:1.0:0.1 (off: without the key). May be repeated.",
    ),
]
Zipped = Annotated[
    list[str] | None,
    typer.Option("--zipped", metavar="KEY,KEY", help="Varied keys that go through their values together."),
]


On = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Where runs are made: threads, processes, dask://HOST:PORT or slurm (default: threads, or processes "
        "where a policy is plain Python).",
    ),
]


class Kept(StrEnum):
    """What a sweep leaves of each run."""

    JOURNALS = "journals"
    SUMMARY = "summary"


def sweep(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="Scenario file.")],
    vary: Vary = None,
    zipped: Zipped = None,
    sets: Sets = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each setting, with the scenario's seed and the next ones.")
    ] = None,
    keep: Annotated[
        Kept, typer.Option(help="What is kept of each run: its journal and its row of the table, or the row alone.")
    ] = Kept.JOURNALS,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="Runs at the same time.")] = os.cpu_count() or 1,
    on: On = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for all (default: out/, the name and -sweep).")
    ] = None,
    *,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a sweep that was cut off: what is done is not done again.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario under many settings: every combination of values, and seeds.

    What is varied is said by --vary, or by the scenario's section sweep. A key
    replaces what excludes it (limit.power the steps of a limit), and off takes
    a key away. The table sweep.parquet has a row a run: the varied keys, the
    seed and all metrics; the page shows how each metric answers to each key.

    For example:

      wattline sweep examples/power-limit.toml --vary limit.power="off,30 kW,40 kW" --seeds 3

      wattline sweep examples/power-limit.toml --vary trace.load=0.6:1.0:0.1 --keep summary
    """
    from wattline.journal.folder_lock import held

    terminal = Terminal(as_json, quiet)
    study, asked = plan(scenario, sets or (), vary or (), zipped or (), seeds)
    folder = out or Path(f"out/{study.name}-sweep")
    check_writable(folder)
    with held(folder):
        refuse_other_sweep(folder, study.name, force=force, resume=resume)
        asked.run(
            folder=folder,
            keep=keep.value,
            threads=threads,
            resume=resume,
            listener=terminal,
            partly=True,
            overwrite=True,
            on=on,
            then=lambda frame: show(asked, frame, folder, terminal),
        )


def plan(
    scenario: Path, sets: Sequence[str], vary: Sequence[str], zipped: Sequence[str], seeds: int | None
) -> tuple[Study, Sweep]:
    """Return the study and the sweep that flags ask for."""
    from wattline.api.studies import Study
    from wattline.scenario import read_scenario

    refuse_log(scenario)
    study = Study(read_scenario(scenario, sets))
    asked = asked_for(study, vary, zipped, seeds)
    if not asked.keys and asked.seeds == 1:
        raise ScenarioError(
            f"{scenario}: nothing is varied: give --vary limit.power=…, a [sweep] in the scenario, or --seeds"
        )
    return study, asked


def asked_for(study: Study, vary: Sequence[str], zipped: Sequence[str], seeds: int | None) -> Sweep:
    """Return the sweep of a study that flags, and its own [sweep], ask for."""
    from wattline.scenario.sections.sweep import read_vary

    keys: dict[str, list[Any]] = {}
    for text in vary:
        key, values = read_vary(text)
        if key in keys:
            raise ScenarioError(f"--vary {text}: {key} is varied already; give all its values at once")
        keys[key] = values
    groups = [[key.strip() for key in text.split(",")] for text in zipped]
    asked = study.vary(keys, zipped=groups, seeds=seeds)
    for path, typed in study.document.source.overrides.items():
        if ".".join(map(str, path)) in asked.keys:
            raise ScenarioError(f"{typed}: this key is varied, so its value would never be used; leave one out")
    return asked


def show(asked: Sweep, frame: pl.DataFrame, folder: Path, terminal: Terminal) -> None:
    """Write the page, print what was found; an interrupted sweep ends with its exit code."""
    if frame.height == 0:
        raise typer.Exit(complain("interrupted before the first run was done", terminal.interrupted))
    from wattline.api.sweeps.sweep import TABLE
    from wattline.report.count.response import respond
    from wattline.report.pages.sweep import sentence, write_sweep

    for line in asked.remarks:
        terminal.tell(line)
    for line in asked.warnings:
        terminal.loud(line)
    from wattline.scenario.key_units import unit_of

    units = {key: unit_of(key) for key in asked.keys}
    text = asked.study.document.text
    page = write_sweep(frame, asked.keys, folder / PAGE, title=asked.study.name, scenario=text, units=units)
    found = respond(frame, list(asked.keys), units)
    if terminal.for_people:
        from wattline.report.tables.response import response_table

        terminal.show(response_table(found, SHOWN))
        terminal.show(sentence(found))
    terminal.line(f"\ntable    {folder / TABLE}\nreport   {page}")
    terminal.data(
        {
            "table": str(folder / TABLE),
            "report": str(page),
            "runs": frame.height,
            "left": asked.left,
            "sentence": sentence(found),
            "keys": list(found.keys),
            "settings": [
                {
                    "setting": dict(zip(found.keys, point.setting, strict=True)),
                    "metrics": {
                        path: {"mean": _plain(one.mean), "half_width": _plain(one.half_width), "runs": one.count}
                        for path, one in point.estimates.items()
                    },
                }
                for point in found.points
            ],
        }
    )
    if asked.left:
        raise typer.Exit(
            complain(
                f"interrupted; {frame.height:,} runs are in {folder}, and --resume goes on with the others",
                terminal.interrupted,
            )
        )


def _plain(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None
