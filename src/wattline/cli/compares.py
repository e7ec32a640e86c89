"""``wattline compare``: several scenarios or policies side by side, over seeds, with confidence intervals."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wattline.cli.folders import RESULT, Force, refuse_other_comparison
from wattline.cli.paths import refuse_log
from wattline.cli.runs import Sets, what_is_in
from wattline.cli.terminal import Json, Quiet, Terminal
from wattline.errors import ScenarioError
from wattline.files import read_regular

if TYPE_CHECKING:
    from concurrent.futures import Future

    from wattline.model.mechanism import Mechanism
    from wattline.report.metrics import Summary
    from wattline.scenario import Document, TraceCache, Variant

PAGE = "comparison.html"

MOST_RUNS = 10_000
"""Runs of a comparison: each leaves a journal, and its numbers stay in memory until all are shown."""

Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for all runs (default: out/, the name and -comparison)."),
]


Note = tuple[str, str, int, str]
"""What was done to jobs, why, to how many, and to which for example."""


@dataclass(frozen=True, eq=False)
class Task:
    """One run of a comparison."""

    label: str
    variant: Variant
    seed: int
    folder: Path


@dataclass(frozen=True)
class Done:
    """What is kept of a run: its numbers, and what was said about its trace."""

    task: Task
    summary: Summary
    notes: tuple[Note, ...]
    stopped: str
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was assumed, and what is hard to believe."""


def compare(
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO.toml...", help="Scenario files.")],
    sets: Sets = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs a label, with the scenario's seed and the next ones.")] = 1,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="Runs at the same time.")] = os.cpu_count() or 1,
    out: Out = None,
    *,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare scenarios, or the policies that one scenario lists, side by side.

    Where a scenario names a baseline, the same jobs in no market come first.

    For example:

      wattline compare examples/easy-vs-fcfs.toml --seeds 10

      wattline compare a.toml b.toml --set cluster.nodes=512
    """
    from wattline.traces.folder_lock import held

    terminal = Terminal(as_json, quiet)
    tasks, folder = plan(scenarios, sets or (), seeds, out)
    with held(folder):
        names = {task.variant.document.spec.name for task in tasks}
        refuse_other_comparison(folder, names, force=force)
        _compare(tasks, folder, threads, terminal)


def _compare(tasks: Sequence[Task], folder: Path, threads: int, terminal: Terminal) -> None:
    clusters = [task.variant.document.spec.cluster for task in tasks]
    terminal.warm_up(_mechanisms(tasks), nodes_change=any(cluster.nodes_change for cluster in clusters))
    done = carry_out(tasks, threads, terminal)
    show(done, len(tasks), folder, terminal)


def plan(scenarios: Sequence[Path], sets: Sequence[str], seeds: int, out: Path | None) -> tuple[list[Task], Path]:
    """Return the runs to carry out and the folder for all of it."""
    from wattline.scenario import build_policies, in_no_market, read_scenario, variants

    for path in scenarios:
        refuse_log(path)
    documents = [read_scenario(path, sets) for path in scenarios]
    found: list[tuple[str, Variant]] = []
    for document in documents:
        beside = in_no_market(document)
        choices = [*([beside] if beside else []), *variants(document)]
        for choice in choices:
            several = len(documents) > 1 and len(choices) > 1
            found.append((f"{document.spec.name}: {choice.label}" if several else choice.label, choice))
    labels = [label for label, _ in found]
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ScenarioError(f"two runs would both be called {twice!r}: give the scenarios different names")
    if len(found) * seeds > MOST_RUNS:
        told = f"--seeds {seeds}: that would be {len(found) * seeds:,} runs, more than {MOST_RUNS:,}"
        raise ScenarioError(f"{told}; give a smaller number, or compare fewer policies")
    if len(found) == 1 and seeds == 1:
        raise ScenarioError(
            f"{scenarios[0]}: nothing to compare: give several scenarios, list policies as in select = "
            '["easy", "in-order"], or ask for several runs with --seeds'
        )
    for _, choice in found:
        if choice.document.spec.profiles.save is not None:
            told = "every run of a comparison would write this file: leave it out, or use wattline run"
            raise choice.document.source.error(("profiles", "save"), told)
        build_policies(choice.document)  # a misspelt policy is said before anything about folders
    folder = out or _default_folder(documents)
    _check_folder(folder)
    tasks = [
        Task(label, variant, seed, folder / "runs" / _file_name(label) / f"seed-{seed}")
        for label, variant in found
        for seed in range(variant.document.spec.seed, variant.document.spec.seed + seeds)
    ]
    return tasks, folder


def _default_folder(documents: Sequence[Document]) -> Path:
    """Return the folder of a comparison: beside that of a single run of the scenario, never the same."""
    own = documents[0].spec.output.folder if len(documents) == 1 else None
    return Path(f"{own or 'out/' + '-vs-'.join(d.spec.name for d in documents)[:100]}-comparison")


def _mechanisms(tasks: Sequence[Task]) -> list[Mechanism]:
    """Return every policy that some run needs, once."""
    from wattline.scenario import baseline_select, build_policies

    documents = {id(task.variant): task.variant.document for task in tasks}.values()
    found = [m for document in documents for m in (*build_policies(document).slots(), baseline_select(document)) if m]
    return list({(m.slot, m.name): m for m in found}.values())


def carry_out(tasks: Sequence[Task], threads: int, terminal: Terminal) -> list[Done]:
    """Run all tasks in threads (compiled code releases the interpreter); after Ctrl-C return those that are done."""
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    import wattline.sim.engine  # noqa: F401  (compiled or loaded here, once, before the threads need it)
    from wattline.scenario import TraceCache

    traces: dict[int, TraceCache] = {task.seed: TraceCache() for task in tasks}
    stop = threading.Event()
    with terminal.progress("runs") as progress, ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(_run, task, traces[task.seed], stop) for task in tasks]
        try:
            while (n := sum(_succeeded(future) for future in futures)) < len(futures):
                progress(n, len(futures))
                wait(futures, timeout=0.2, return_when=FIRST_EXCEPTION)
        except BaseException as problem:
            stop.set()
            pool.shutdown(cancel_futures=True)
            if not isinstance(problem, KeyboardInterrupt):
                raise
    found = [future.result() for future in futures if not future.cancelled()]
    return [item for item in found if item.stopped != "interrupted"]


def _succeeded(future: Future[Done]) -> bool:
    """Tell whether a run is done; if it failed, raise why."""
    return future.done() and future.result() is not None


def _run(task: Task, traces: TraceCache, stop: threading.Event) -> Done:
    from wattline.cli.assumptions import remarks, warnings
    from wattline.report.metrics import summarize
    from wattline.scenario import wire
    from wattline.traces.journal import open_journal

    def progress(_done: int, _total: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    study = wire(task.variant, seed=task.seed, traces=traces)
    result = study.simulate(progress)
    study.write(result, task.folder)
    notes = tuple((n.action, n.reason, n.count, n.example) for n in study.notes) + result.notes
    summary = summarize(open_journal(task.folder))
    return Done(task, summary, notes, result.stopped, tuple(remarks(study)), (*warnings(study), *summary.doubts))


def show(done: Sequence[Done], planned: int, folder: Path, terminal: Terminal) -> None:
    """Say what was noted, print and write the comparison."""
    from wattline.cli import complain
    from wattline.report.compare import compare as compare_runs
    from wattline.report.html import write_comparison
    from wattline.report.tables import comparison_table

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
    found = compare_runs(runs)
    page = write_comparison(runs, folder / PAGE, title=folder.name, comparison=found)
    result = {
        "scenarios": sorted({d.task.variant.document.spec.name for d in done}), "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "comparison": found.to_dict(), "report": str(page), "runs": [str(d.task.folder) for d in done],
        "journals": _journals(runs, done, folder),
    }  # fmt: skip
    (folder / RESULT).write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if terminal.for_people:
        terminal.show(comparison_table(found))
    terminal.line(f"\njournals {folder / 'runs'}\nreport   {page}")
    terminal.data(result)
    if len(done) < planned:
        raise typer.Exit(complain(f"interrupted; {len(done)} of {planned} runs are in {folder}", terminal.interrupted))


def _journals(runs: Mapping[str, Sequence[Summary]], done: Sequence[Done], folder: Path) -> dict[str, list[str]]:
    """Return where the runs that are shown lie within the comparison, by label."""
    found: dict[str, list[str]] = {label: [] for label in runs}
    for item in done:
        if len(found[item.task.label]) < len(runs[item.task.label]):
            found[item.task.label].append(str(item.task.folder.relative_to(folder)))
    return found


def show_again(folder: Path, out: Path | None, terminal: Terminal) -> None:
    """Count and draw a comparison again from the journals it left."""
    from wattline.report.compare import compare as compare_runs
    from wattline.report.html import write_comparison
    from wattline.report.metrics import summarize
    from wattline.report.tables import comparison_table
    from wattline.traces.journal import open_journal

    try:
        told = json.loads(read_regular(folder / RESULT))["journals"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ScenarioError(f"{folder / RESULT}: does not say where its runs are; compare again") from None
    runs = {label: [summarize(open_journal(folder / path)) for path in paths] for label, paths in told.items()}
    found = compare_runs(runs)
    page = write_comparison(runs, out or folder / PAGE, title=folder.name, comparison=found)
    if terminal.for_people:
        terminal.show(comparison_table(found))
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
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RESULT).exists() and not (folder / "runs").is_dir():
        raise ScenarioError(
            f"{folder}: holds {what_is_in(folder)}, so no comparison is written there; give another --out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ScenarioError(f"{folder}: cannot be made ({problem.strerror}); give another --out") from None


def _file_name(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", label).strip("-.") or "run"
