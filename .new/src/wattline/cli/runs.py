"""``wattline run``: one simulation, its journal, its report, its summary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wattline.cli.complaints import complain
from wattline.cli.folders import RESULT, Force, refuse_other_journal, say_replaced
from wattline.cli.paths import refuse_log
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError, shorten

if TYPE_CHECKING:
    from wattline.api.runs import Run
    from wattline.journal.unfinished import Flush
    from wattline.scenario import Document, Study, Variant

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a key of the scenario, e.g. cluster.nodes=64. May be repeated; of one key the last holds.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results (default: out/ and the name).")
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no HTML report.")]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with a run that was cut off, from the last simulated hour that was kept."),
]


def run(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="Scenario file.")],
    sets: Sets = None,
    out: Out = None,
    *,
    resume: Resume = False,
    force: Force = False,
    no_report: NoReport = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario: write the journal and the report, print the summary.

    A run of more than a second keeps what it has at full simulated hours.
    Ctrl-C and SIGTERM end it at such an hour, with the journal up to there;
    after a kill or a crash, wattline report makes that journal. --resume goes
    on from there, to the same result.

    For example:

      wattline run examples/power-limit.toml

      wattline run examples/power-limit.toml --set cluster.nodes=200 --out out/smaller
    """
    from wattline.scenario import read_scenario

    terminal = Terminal(as_json, quiet)
    refuse_log(scenario)
    document = read_scenario(scenario, sets or ())
    carry_out(document, out, terminal, report=not no_report, resume=resume, force=force)


def carry_out(
    document: Document, out: Path | None, terminal: Terminal, *, report: bool, resume: bool = False, force: bool = False
) -> None:
    """Wire, simulate, write, show."""
    from wattline.api.studies import only
    from wattline.journal.folder_lock import held
    from wattline.journal.schema import SCHEMA
    from wattline.scenario import build_policies
    from wattline.scenario.inputs import refuse_input

    choice = only(document, f"compare them with wattline compare, or pick one with {pick_one(document)}")
    build_policies(choice.document)  # a misspelt policy is said before anything about folders
    folder = out or Path(document.spec.output.folder or f"out/{document.spec.name}")
    check_folder(folder)
    for place in (folder, *(folder / f"{name}.parquet" for name in SCHEMA)):
        refuse_input(choice.document, place, "--out")
    with held(folder):
        refuse_other_journal(folder, document.spec.name, force=force)
        _carry_out(choice, folder, terminal, report=report and document.spec.output.report, resume=resume)


def _carry_out(choice: Variant, folder: Path, terminal: Terminal, *, report: bool, resume: bool) -> None:
    from wattline.api.running import prepare
    from wattline.journal.journal import BASELINE
    from wattline.scenario import wire

    study = wire(choice)
    runs = [Part(study, folder, "simulating")]
    if study.baseline is not None:
        runs.append(Part(study.baseline, folder / BASELINE, "simulating the baseline"))
    left, since = where_to_begin(runs, terminal, resume=resume)
    say_replaced(folder, study, terminal)
    prepare(study, terminal, [part.study for part in runs[1:]])
    with terminal.finishing():  # a run that is over is not lost
        for part in left:
            if not simulate(part, since, terminal):
                break
            since = None
        finish(study, part, folder, terminal, report=report)


def pick_one(document: Document) -> str:
    """Return the flags that pick one of the policies that a scenario lists."""
    from wattline.scenario import varied_slots

    return " and ".join(f"--set policy.{slot}=…" for slot in varied_slots(document))


@dataclass(frozen=True)
class Part:
    """One of the runs that a command carries out: the scenario's, or the one that it is held against."""

    study: Study
    folder: Path
    what: str


def where_to_begin(runs: Sequence[Part], terminal: Terminal, *, resume: bool) -> tuple[Sequence[Part], Flush | None]:
    """Return the runs that are left to do and where the first goes on; say what becomes of one that was cut off."""
    from wattline.journal.journal import REPORT
    from wattline.journal.unfinished import newest, was_kept
    from wattline.scenario.built.cut_off import cut_text
    from wattline.scenario.resume import is_over, pick_up

    first = runs[0].folder
    if not resume:
        record = newest(first) if was_kept(first) else None
        if record is not None:
            done = f"the run there, cut off after {cut_text(record)} of simulated time, is dropped"
            terminal.say(f"{first}: starting over; {done} (--resume would go on with it)")
        return runs, None
    for i, part in enumerate(runs):
        if was_kept(part.folder):
            found = pick_up(part.study, part.folder)
            terminal.say(f"{part.folder}: going on after {cut_text(found.record)} of simulated time")
            return runs[i:], found
        if not is_over(part.study, part.folder):
            terminal.say(f"{part.folder}: nothing to resume; starting at the beginning")
            return runs[i:], None
    for part in runs:
        if part.study.learned.leave(part.folder):
            terminal.say(f"{part.folder}: the power profiles that it learned are saved in {part.study.learned.save}")
    page = "" if (first / REPORT).exists() else f"; `wattline report {first}` makes its page"
    terminal.say(f"{first}: this run is over, nothing is left to resume{page}")
    raise typer.Exit


def simulate(part: Part, since: Flush | None, terminal: Terminal) -> bool:
    """Carry a run out, or on, and write its journal; tell whether it reached its end."""
    from wattline.api.running import carry_out as simulate_study
    from wattline.journal.journal import tidy
    from wattline.scenario.resume import hidden, keeper_for

    study = part.study
    with keeper_for(study, part.folder, since) as keeper:
        result = simulate_study(study, terminal, what=part.what, keeper=keeper)
        keeper.finish()
        over = result.stopped != "interrupted"
        # still locked: nobody may take a run that is writing its journal for one that was cut off
        study.write(result, part.folder, resume=None if over or hidden(study) else keeper.kept)
    tidy(part.folder)  # network disks keep a file that is open, here the lock, until it is closed
    return over


def finish(study: Study, last: Part, folder: Path, terminal: Terminal, *, report: bool) -> None:
    """Count what the journal holds, write the report, print the summary; an interrupted run ends with its exit code."""
    from wattline.api.runs import Run
    from wattline.journal.journal import REPORT, read_manifest

    run = Run(folder=folder)
    page = run.report(folder / REPORT) if report else None
    show_summary(run, terminal)
    for doubt in run.summary.doubts:
        terminal.loud(doubt)
    terminal.line(f"\njournal  {folder}" + (f"\nreport   {page}" if page else ""))
    if terminal.as_json:
        about = run.journal.manifest
        notes = [*about["trace"]["notes"], *(n.__dict__ for n in study.notes[len(study.trace.notes) :])]
        terminal.data(
            {
                "journal": str(folder),
                "report": str(page) if page else None,
                "stopped": about["stopped"],
                "wall_s": about["wall_s"],
                "scenario_sha256": study.scenario_sha256,
                "notes": notes,
                "power": about["cluster"].get("power"),
                "summary": run.summary.to_dict(),
                "baseline": None if run.baseline is None else run.baseline.to_dict(),
            }
        )
    told = read_manifest(last.folder)
    if told["stopped"] == "interrupted":
        raise typer.Exit(_say_interrupted(last, told, terminal))


def _say_interrupted(part: Part, manifest: Mapping[str, Any], terminal: Terminal) -> int:
    """Say how far the run came and whether it can go on; return the exit code."""
    from wattline.scenario.resume import hidden
    from wattline.units import show_duration

    go_on = "--resume goes on from there"
    if manifest["resume"] is None:
        go_on = f"it cannot be resumed: {hidden(part.study) or 'it could not be kept'}"
    done = show_duration(manifest["end_s"] - manifest["start_s"])
    told = f"interrupted after {done} of simulated time; the journal up to there is in {part.folder}; {go_on}"
    return complain(told, terminal.interrupted)


def show_summary(run: Run, terminal: Terminal) -> None:
    """Print the numbers of a run, and beside them those of the run that it is held against."""
    if not terminal.for_people:
        return
    from wattline.report.count.baseline import beside
    from wattline.report.tables.summary import comparison_table

    terminal.show(run)
    if run.baseline is not None:
        terminal.show(comparison_table(beside(run.summary, run.baseline)))


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot take a journal before anything is simulated."""
    from wattline.files import is_read_only
    from wattline.journal.journal import BASELINE, is_journal, tidy
    from wattline.journal.unfinished import is_unfinished, refuse_running

    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        why = getattr(problem, "strerror", None) or str(problem)
        raise ScenarioError(f"{shorten(str(folder))}: cannot be a folder ({why}); give another --out") from None
    tidy(folder)
    if folder.exists() and not folder.is_dir():
        raise ScenarioError(f"{folder}: is a file, not a folder; give another one with --out")
    if folder.is_dir() and any(folder.iterdir()) and not is_journal(folder) and not is_unfinished(folder):
        raise ScenarioError(f"{folder}: holds {what_is_in(folder)}, so it is not overwritten; give another --out")
    if is_read_only(folder):
        raise ScenarioError(
            f"{folder}: is read-only, so it is not overwritten; chmod u+w allows it, or give another --out"
        )
    parent = folder.resolve().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ScenarioError(f"{folder}: cannot be written: no permission in {parent}; give another --out")
    for place in (folder, folder / BASELINE):
        refuse_running(place)
    _probe(folder)


def _probe(folder: Path) -> None:
    """Make the folder and take it away again: some places say only then that they cannot be written."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ScenarioError(f"{folder}: cannot be made ({problem.strerror}); give another --out") from None
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()


def what_is_in(folder: Path) -> str:
    """Return in words what a folder holds, for those who wanted to write into it."""
    from wattline.journal.journal import is_journal
    from wattline.journal.unfinished import is_unfinished

    if is_journal(folder):
        return "the journal of a single run"
    if is_unfinished(folder):
        return "a run that was cut off"
    return "a comparison" if (folder / RESULT).exists() else "files that are no journal"
