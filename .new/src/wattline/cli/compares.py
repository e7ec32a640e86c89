"""``wattline compare``: several scenarios or policies side by side, over seeds, with confidence intervals."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.api.listener import Note
from wattline.api.many import MOST_RUNS, Done, KeptRuns, Task, plan_runs
from wattline.api.side_by_side import carry_out_all
from wattline.cli.complaints import complain
from wattline.cli.folders import RESULT, Force, refuse_other_comparison
from wattline.cli.paths import refuse_log
from wattline.cli.runs import Sets, what_is_in
from wattline.cli.sweeps import On, Vary, Zipped
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError
from wattline.files import read_regular

if TYPE_CHECKING:
    from wattline.api.studies import Study
    from wattline.report.count.metrics import Summary
    from wattline.scenario import Document

PAGE = "comparison.html"


Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for all runs (default: out/, the name and -comparison)."),
]


def compare(
    scenarios: Annotated[
        list[Path], typer.Argument(metavar="SCENARIO.toml...", help="Scenario files, or folders of journals.")
    ],
    sets: Sets = None,
    vary: Vary = None,
    zipped: Zipped = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Runs a label, with the scenario's seed and the next ones (default: as it says)."),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="Runs at the same time.")] = os.cpu_count() or 1,
    on: On = None,
    out: Out = None,
    *,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a comparison that was cut off: what is done is not done again.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare scenarios, settings of one, the policies that it lists, or journals.

    Folders of journals, simulated or live, are compared as they are. Settings
    are those of --vary, or of the scenario's section sweep. Where a scenario
    names a baseline, the same jobs in no market come first.

    For example:

      wattline compare examples/easy-vs-fcfs.toml --seeds 10

      wattline compare a.toml b.toml --set cluster.nodes=512

      wattline compare examples/power-limit.toml --vary limit.power="off,30 kW"

      wattline compare out/easy out/fcfs
    """
    from wattline.journal.folder_lock import held
    from wattline.journal.journal import is_journal

    terminal = Terminal(as_json, quiet)
    if any(is_journal(path) for path in scenarios):
        flags = [*(sets or ()), *(vary or ()), *(zipped or ()), *([on] if on else ())]
        compare_journals(scenarios, flags, seeds, out, terminal, force=force)
        return
    documents, tasks, folder = plan(scenarios, sets or (), seeds, out, vary or (), zipped or ())
    with held(folder):
        refuse_other_comparison(folder, {document.spec.name for document in documents}, force=force)
        planned = {task: folder / "runs" / _file_name(task.label) / f"seed-{task.seed}" for task in tasks}
        kept = KeptRuns(folder, tasks, list(planned.values()), resume=resume, result=RESULT)
        if kept.words:
            terminal.say(kept.words)
        over = False
        try:
            left = {task: place for task, place in planned.items() if task not in kept.there}
            made = carry_out_all(
                list(left),
                terminal,
                threads=threads,
                folders=list(left.values()),
                partly=True,
                note=kept.put,
                on=on,
            )
            by_task = kept.there | {one.task: one for one in made}
            done = [by_task[task] for task in tasks if task in by_task]
            show(done, planned, folder, terminal)
            over = True
        finally:
            kept.leave(over=over)


def compare_journals(
    paths: Sequence[Path], flags: Sequence[str], seeds: int | None, out: Path | None, terminal: Terminal, *, force: bool
) -> None:
    """Compare runs that lie in folders, each labelled by what sets it apart."""
    from wattline.api.compared import compare as compare_runs
    from wattline.api.runs import read_run
    from wattline.journal.folder_lock import held
    from wattline.journal.journal import is_journal

    stranger = next((path for path in paths if not is_journal(path)), None)
    if stranger is not None:
        raise ScenarioError(f"{stranger}: is no folder of a journal, the others are; run it first, then compare")
    if flags or seeds is not None:
        raise ScenarioError(
            "--set, --vary, --zipped, --seeds and --on are for scenarios; journals are compared as they are"
        )
    if len(paths) == 1:
        raise ScenarioError(f"{paths[0]}: nothing to compare: give several journals")
    runs = [read_run(path) for path in paths]
    names = _names(paths)
    found = compare_runs(**dict(zip(names, runs, strict=True)))
    folder = out or Path(f"out/{'-vs-'.join(map(_file_name, names))[:100]}-comparison")
    _check_folder(folder)
    with held(folder):
        refuse_other_comparison(folder, {run.name for run in runs}, force=force)
        page = found.write(folder / PAGE, title=folder.name)
        journals = {label: [os.path.relpath(path, folder)] for label, path in zip(found.labels, paths, strict=True)}
        result = {
            "scenarios": sorted({run.name for run in runs}),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "sentence": found.sentence,
            "comparison": found.to_dict(),
            "report": str(page),
            "runs": [str(path) for path in paths],
            "journals": journals,
        }
        (folder / RESULT).write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if terminal.for_people:
        terminal.show(found.sentence, found)
    terminal.line(f"\nreport   {page}")
    terminal.data(result | {"journals": {label: [str(path)] for label, path in zip(found.labels, paths, strict=True)}})


def _names(paths: Sequence[Path]) -> list[str]:
    """Return what folders are called: as many of their last names as it takes to tell them apart."""
    parts = [path.resolve().parts for path in paths]
    if len(set(parts)) < len(parts):
        twice = next(path for path, part in zip(paths, parts, strict=True) if parts.count(part) > 1)
        raise ScenarioError(f"{twice}: is given twice; give different journals")
    deep = next(n for n in range(1, max(map(len, parts)) + 1) if len({part[-n:] for part in parts}) == len(parts))
    return ["/".join(part[-deep:]) for part in parts]


def plan(
    scenarios: Sequence[Path],
    sets: Sequence[str],
    asked_seeds: int | None,
    out: Path | None,
    vary: Sequence[str] = (),
    zipped: Sequence[str] = (),
) -> tuple[list[Document], list[Task], Path]:
    """Return the scenarios, the runs to carry out and the folder for all of it."""
    from wattline.api.studies import Study
    from wattline.scenario import read_scenario

    for path in scenarios:
        refuse_log(path)
    documents = [read_scenario(path, sets) for path in scenarios]
    swept = [spread(Study(document), vary, zipped) for document in documents]
    seeds = asked_seeds or _own_seeds(documents)
    if all(len(settings) == 1 for settings in swept):
        tasks = plan_runs(documents, seeds, asked="--seeds ")
    else:
        tasks = [
            replace(task, label=_label(document.spec.name, words, task.label, several=len(documents) > 1))
            for document, settings in zip(documents, swept, strict=True)
            for words, study in settings
            for task in plan_runs([study.document], seeds, asked="--seeds ")
        ]
        if len(tasks) > MOST_RUNS:
            raise ScenarioError(
                f"that would be {len(tasks):,} runs, more than {MOST_RUNS:,}; wattline sweep makes more"
            )
    if len(tasks) == 1:
        raise ScenarioError(
            f"{scenarios[0]}: nothing to compare: give several scenarios, list policies as in select = "
            '["easy", "in-order"], or ask for several runs with --seeds'
        )
    folder = out or _default_folder(documents)
    _check_folder(folder)
    return documents, tasks, folder


def _own_seeds(documents: Sequence[Document]) -> int:
    """Return how many runs of each label scenarios ask for in their [sweep]."""
    asked = {1 if document.spec.sweep is None else document.spec.sweep.seeds for document in documents}
    if len(asked) > 1:
        told = " and ".join(map(str, sorted(asked)))
        raise ScenarioError(f"the scenarios ask for {told} seeds; give one number for all with --seeds")
    return asked.pop()


def spread(study: Study, vary: Sequence[str], zipped: Sequence[str]) -> list[tuple[str, Study]]:
    """Return the settings of a scenario with their words: those of its [sweep] and of flags."""
    from wattline.api.sweeps.work import Unit
    from wattline.cli.sweeps import asked_for

    asked = asked_for(study, vary, zipped, None)
    if not asked.keys:
        return [("", study)]
    if asked.varied.count > MOST_RUNS:
        raise ScenarioError(f"--vary makes {asked.varied.count:,} settings; wattline sweep is made for that")
    return [(Unit(setting).words, study.at(setting)) for setting in asked.settings()]


def _label(name: str, words: str, variant: str, *, several: bool) -> str:
    """Return what a run is called: its scenario where there are several, its setting, its policies."""
    parts = [name if several else "", words, variant if variant != name else ""]
    return ", ".join(part for part in parts if part)


def _default_folder(documents: Sequence[Document]) -> Path:
    """Return the folder of a comparison: beside that of a single run of the scenario, never the same."""
    own = documents[0].spec.output.folder if len(documents) == 1 else None
    return Path(f"{own or 'out/' + '-vs-'.join(d.spec.name for d in documents)[:100]}-comparison")


def show(done: Sequence[Done], planned: Mapping[Task, Path], folder: Path, terminal: Terminal) -> None:
    """Say what was noted, print and write the comparison."""
    from wattline.api.compared import Comparison, journal_loaders

    runs: dict[str, list[Summary]] = {}
    for item in done:
        runs.setdefault(item.task.label, []).append(item.summary)
    _say_notes(done, terminal)
    _say_lines({item.task.label: item.remarks for item in done}, terminal.tell)
    _say_lines({item.task.label: item.warnings for item in done}, terminal.loud)
    if all(_all_the_same(summaries) for summaries in runs.values()) and len(done) > len(runs):
        terminal.say("nothing in these scenarios is random: every seed gave the same run, so one of each is shown")
        runs = {label: summaries[:1] for label, summaries in runs.items()}
    if not runs:
        raise typer.Exit(complain("interrupted before the first run was done", terminal.interrupted))
    within = _journals(runs, done, planned, folder)
    found = Comparison(runs, journal_loaders(folder, within))
    page = found.write(folder / PAGE, title=folder.name)
    result = {
        "scenarios": sorted({d.task.variant.document.spec.name for d in done}),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "sentence": found.sentence,
        "comparison": found.to_dict(),
        "report": str(page),
        "runs": [str(planned[d.task]) for d in done],
        "journals": within,
    }
    (folder / RESULT).write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if terminal.for_people:
        terminal.show(found.sentence, found)
    terminal.line(f"\njournals {folder / 'runs'}\nreport   {page}")
    terminal.data(
        result | {"journals": {label: [str(folder / path) for path in some] for label, some in within.items()}}
    )
    if len(done) < len(planned):
        told = f"interrupted; {len(done)} of {len(planned)} runs are in {folder}, and --resume goes on with the others"
        raise typer.Exit(complain(told, terminal.interrupted))


def _journals(
    runs: Mapping[str, Sequence[Summary]], done: Sequence[Done], planned: Mapping[Task, Path], folder: Path
) -> dict[str, list[str]]:
    """Return where the runs that are shown lie within the comparison, by label."""
    found: dict[str, list[str]] = {label: [] for label in runs}
    for item in done:
        if len(found[item.task.label]) < len(runs[item.task.label]):
            found[item.task.label].append(str(planned[item.task].relative_to(folder)))
    return found


def show_again(folder: Path, out: Path | None, terminal: Terminal) -> None:
    """Count and draw a comparison again from the journals it left."""
    from wattline.api.compared import Comparison, journal_loaders
    from wattline.api.runs import Run

    try:
        told = json.loads(read_regular(folder / RESULT))["journals"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ScenarioError(f"{folder / RESULT}: does not say where its runs are; compare again") from None
    runs = {label: [Run(folder=folder / path).summary for path in paths] for label, paths in told.items()}
    found = Comparison(runs, journal_loaders(folder, told))
    page = found.write(out or folder / PAGE, title=folder.name)
    if terminal.for_people:
        terminal.show(found.sentence, found)
    terminal.line(f"\nreport   {page}")
    terminal.data({"comparison": found.to_dict(), "report": str(page)})


def _say_notes(done: Sequence[Done], terminal: Terminal) -> None:
    """Say each remark once for all labels, or by label where they differ; with the largest count where seeds differ."""
    labels = {item.task.label: 0 for item in done}
    for item in done:
        labels[item.task.label] += 1
    found: dict[tuple[str, str], dict[str, list[Note]]] = {}
    for item in done:
        for note in item.notes:
            found.setdefault(note[:2], {}).setdefault(item.task.label, []).append(note)
    for by_label in found.values():
        said = {label: _largest(notes, labels[label]) for label, notes in by_label.items()}
        if len(labels) == 1 or (len(said) == len(labels) and len({note[::2] for note in said.values()}) == 1):
            terminal.notes([next(iter(said.values()))], "all" if len(labels) > 1 else "")
        else:
            for label, note in said.items():
                terminal.notes([note], label)


def _say_lines(lines: Mapping[str, Sequence[str]], say: Callable[[str], None]) -> None:
    """Say each line once, with the labels that it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for label, told in lines.items():
        for line in told:
            about.setdefault(line, []).append(label)
    for line, labels in about.items():
        say(line if len(labels) == len(lines) else f"{', '.join(labels)}: {line}")


def _largest(notes: Sequence[Note], runs: int) -> Note:
    """Return the note with the largest count, marked as such unless it was the same in every run."""
    action, reason, count, example = max(notes, key=lambda note: note[2])
    same = len(notes) == runs and len({note[2] for note in notes}) == 1
    return action if same else f"{action} up to", reason, count, example


def _all_the_same(summaries: Sequence[Summary]) -> bool:
    """Tell whether runs differ in nothing but their seed."""
    return len({json.dumps(summary.to_dict() | {"seed": 0}) for summary in summaries}) == 1


def _check_folder(folder: Path) -> None:
    from wattline.journal.kept import KEPT

    ours = any((folder / name).exists() for name in (RESULT, KEPT, "runs"))
    if folder.is_dir() and any(folder.iterdir()) and not ours:
        raise ScenarioError(
            f"{folder}: holds {what_is_in(folder)}, so no comparison is written there; give another --out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ScenarioError(f"{folder}: cannot be made ({problem.strerror}); give another --out") from None


def _file_name(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", label).strip("-.") or "run"
