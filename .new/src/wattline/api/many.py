"""Many runs: which there are, one of them carried out, and what is kept of them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.listener import Note
from wattline.errors import ScenarioError

if TYPE_CHECKING:
    from wattline.model.mechanism import Mechanism
    from wattline.report.count.metrics import Summary
    from wattline.scenario import Document, TraceCache, Variant

MOST_RUNS = 10_000
"""Runs of a comparison: each may leave a journal, and its numbers stay in memory until all are shown."""


@dataclass(frozen=True, eq=False)
class Task:
    """One run of many."""

    label: str
    variant: Variant
    seed: int


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


def plan_runs(documents: Sequence[Document], seeds: int, *, label: str = "", asked: str = "seeds=") -> list[Task]:
    """Return the runs of scenarios: each combination of the policies they list, with the scenario's seed and the next
    ones.

    Where a scenario names a baseline, the same jobs in no market come first. ``asked`` is how seeds are asked for.
    """
    from wattline.scenario import build_policies, in_no_market, variants

    found: list[tuple[str, Variant]] = []
    for document in documents:
        beside = in_no_market(document)
        choices = [*([beside] if beside else []), *variants(document)]
        for choice in choices:
            several = len(documents) > 1 and len(choices) > 1
            found.append((f"{document.spec.name}: {choice.label}" if several else choice.label, choice))
    labels = [one for one, _ in found]
    if len(set(labels)) != len(labels):
        twice = next(one for one in labels if labels.count(one) > 1)
        raise ScenarioError(f"two runs would both be called {twice!r}: give the scenarios different names")
    if len(found) * seeds > MOST_RUNS:
        told = f"{asked}{seeds}: that would be {len(found) * seeds:,} runs, more than {MOST_RUNS:,}"
        raise ScenarioError(f"{told}; give a smaller number, or compare fewer policies")
    for _, choice in found:
        if choice.document.spec.profiles.save is not None:
            told = "every run of a comparison would write this file: leave it out, or use wattline run"
            raise choice.document.source.error(("profiles", "save"), told)
        build_policies(choice.document)  # a misspelt policy is said before anything about folders
    return [
        Task(f"{label}, {one}".strip(", ") if label else one, variant, seed)
        for one, variant in found
        for seed in range(variant.document.spec.seed, variant.document.spec.seed + seeds)
    ]


def mechanisms(tasks: Sequence[Task]) -> list[Mechanism]:
    """Return every policy that some run needs, once."""
    from wattline.scenario import baseline_select, build_policies

    documents = {id(task.variant): task.variant.document for task in tasks}.values()
    found = [m for document in documents for m in (*build_policies(document).slots(), baseline_select(document)) if m]
    return list({(m.slot, m.called): m for m in found}.values())


class EndedError(Exception):
    """A run was told to end before it was done."""


def run_task(task: Task, traces: TraceCache, stop: threading.Event, folder: Path | None) -> Done:
    """Carry one run out; keep its journal where a folder is given. ``EndedError``: it was told to end."""
    from wattline.api.assumptions import remarks, warnings
    from wattline.api.runs import Run
    from wattline.scenario import wire

    def progress(_done: int, _total: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    study = wire(task.variant, seed=task.seed, traces=traces)
    if stop.is_set():
        raise EndedError
    result = study.simulate(progress)
    if result.stopped == "interrupted":
        raise EndedError  # nobody asks for a part of it, and to write and count it may take long
    if folder is not None:
        study.write(result, folder)
    notes = tuple((n.action, n.reason, n.count, n.example) for n in study.notes) + result.notes
    summary = Run(wired=study, result=result).summary
    return Done(task, summary, notes, result.stopped, tuple(remarks(study)), (*warnings(study), *summary.doubts))


class KeptRuns:
    """Runs of a comparison as they are done, in its folder, so that it can go on: numbers here, journals beside.

    Parameters
    ----------
    folder
        Folder of the comparison.
    tasks, places
        All its runs, and where their journals lie.
    resume
        Whether to go on with what is there.
    result
        The file that a comparison which is over leaves.
    """

    def __init__(
        self, folder: Path, tasks: Sequence[Task], places: Sequence[Path], *, resume: bool, result: str
    ) -> None:
        from wattline.journal.kept import open_kept

        self._keys = {task: str(i) for i, task in enumerate(tasks)}
        self._kept = open_kept(folder, _about(tasks), resume=resume, result=result)
        self.there = {
            task: Done(task, *self._kept.get(key))
            for (task, key), place in zip(self._keys.items(), places, strict=True)
            if key in self._kept and _is_whole(place, task.seed)
        }
        """Runs that were done before, and whose journals are there."""
        told = f"going on; {len(self.there):,} of {len(tasks):,} runs are done" if self.there else ""
        lost = f"{self._kept.damaged:,} damaged results are made again" if self._kept.damaged else ""
        self.words = f"{folder}: {', '.join(filter(None, (told, lost)))}" if told or lost else ""

    def put(self, done: Done) -> None:
        """Keep the numbers of a run, whose journal is written."""
        self._kept.put(self._keys[done.task], (done.summary, done.notes, done.stopped, done.remarks, done.warnings))

    def leave(self, *, over: bool) -> None:
        """Let go: where the comparison is over, nothing has to be kept."""
        if over:
            self._kept.forget()
        else:
            self._kept.leave()


def _about(tasks: Sequence[Task]) -> dict[str, Any]:
    """Return what a comparison is, as plain data: it goes on only where this is the same."""
    from wattline.scenario.inputs import identity

    documents = {id(task.variant.document): task.variant.document for task in tasks}.values()
    known = [identity(document) for document in documents]
    return {
        "scenarios": sorted({one["name"] for one in known}),
        "scenario": _sha256(one["scenario"] for one in known),
        "files": _sha256(one["files"] for one in known),
        "runs": _sha256(f"{task.label} {task.seed}" for task in tasks),
    }


def _sha256(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _is_whole(folder: Path, seed: int) -> bool:
    """Tell whether a folder holds the journal of a run to its end, with this seed."""
    from wattline.errors import WattlineError
    from wattline.journal.journal import is_journal, open_journal

    if not is_journal(folder):
        return False
    try:
        told = open_journal(folder).manifest
    except WattlineError:
        return False
    return told.get("seed") == seed and told.get("stopped") != "interrupted"
