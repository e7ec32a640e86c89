"""Many runs side by side: which there are, and carrying them out in threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.api.listener import Listener, Note
from wattline.errors import ScenarioError
from wattline.files import in_this_folder

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

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
    return list({(m.slot, m.name): m for m in found}.values())


def carry_out_all(
    tasks: Sequence[Task],
    listener: Listener,
    *,
    threads: int | None = None,
    folders: Sequence[Path] | None = None,
    partly: bool = False,
) -> list[Done]:
    """Run all tasks side by side, and keep their journals where folders are given.

    Compiled code releases the interpreter, so threads do; policies of files that are plain Python take processes.
    Ctrl-C ends all; ``partly``: return those that are done by then.
    """
    from concurrent.futures import FIRST_EXCEPTION, wait

    import wattline.sim.engine  # noqa: F401  (compiled or loaded here, once, before the threads need it)

    if not tasks:
        return []
    clusters = [task.variant.document.spec.cluster for task in tasks]
    needed = mechanisms(tasks)
    listener.warm_up(needed, nodes_change=any(cluster.nodes_change for cluster in clusters))
    places: list[Path | None] = [None] * len(tasks) if folders is None else [folder.absolute() for folder in folders]
    stop = threading.Event()
    workers = threads or os.cpu_count() or 1
    objects = any(task.variant.document.given.policies for task in tasks)  # which other processes do not know
    plain = workers > 1 and not objects and any(not one.compiled for one in needed)
    with listener.progress("runs") as progress, in_this_folder(), _pool(workers, plain=plain) as pool:
        if plain:
            futures = [pool.submit(run_elsewhere, task, places[i]) for i, task in enumerate(tasks)]
        else:
            traces = {task.seed: _cache() for task in tasks}
            futures = [pool.submit(run_task, task, traces[task.seed], stop, places[i]) for i, task in enumerate(tasks)]
        try:
            while (n := sum(_succeeded(future) for future in futures)) < len(futures):
                progress(n, len(futures))
                wait(futures, timeout=0.2, return_when=FIRST_EXCEPTION)
        except BaseException as problem:
            stop.set()
            pool.shutdown(cancel_futures=True)
            if not partly or not isinstance(problem, KeyboardInterrupt):
                raise
    ended = [(task, future.result()) for task, future in zip(tasks, futures, strict=True) if not future.cancelled()]
    return [replace(done, task=task) for task, done in ended if done.stopped != "interrupted"]


def _pool(workers: int, *, plain: bool) -> Executor:
    """Return who runs tasks side by side: threads, or processes where the interpreter is what they would share."""
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from multiprocessing import get_context

    if not plain:
        return ThreadPoolExecutor(workers)
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=leave_signals)


def leave_signals() -> None:
    """Leave Ctrl-C to the process that began this one."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cache() -> TraceCache:
    from wattline.scenario import TraceCache

    return TraceCache()


_TRACES: dict[int, TraceCache] = {}
"""Workloads of a process that runs tasks for another one, by seed."""


def run_elsewhere(task: Task, folder: Path | None) -> Done:
    """Carry one run out in a process of its own."""
    traces = _TRACES.setdefault(task.seed, _cache())
    return run_task(task, traces, threading.Event(), folder)


def _succeeded(future: Future[Done]) -> bool:
    """Tell whether a run is done; if it failed, raise why."""
    return future.done() and future.result() is not None


def run_task(task: Task, traces: TraceCache, stop: threading.Event, folder: Path | None) -> Done:
    """Carry one run out; keep its journal where a folder is given."""
    from wattline.api.assumptions import remarks, warnings
    from wattline.api.runs import Run
    from wattline.scenario import wire

    def progress(_done: int, _total: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    study = wire(task.variant, seed=task.seed, traces=traces)
    result = study.simulate(progress)
    if folder is not None:
        study.write(result, folder)
    notes = tuple((n.action, n.reason, n.count, n.example) for n in study.notes) + result.notes
    summary = Run(wired=study, result=result).summary
    return Done(task, summary, notes, result.stopped, tuple(remarks(study)), (*warnings(study), *summary.doubts))


def kept_run(task: Task, folder: Path) -> Done | None:
    """Return a run whose journal lies in a folder, whole and of the same scenario and seed; else None."""
    from wattline.api.assumptions import remarks, warnings
    from wattline.api.runs import Run
    from wattline.errors import WattlineError
    from wattline.journal.journal import is_journal
    from wattline.scenario import wire

    if not is_journal(folder):
        return None
    study = wire(task.variant, seed=task.seed)
    try:
        run = Run(folder=folder)
        told = run.journal.manifest
        same = (told["scenario_sha256"], told["seed"], told.get("trace", {}).get("sha256", study.trace_sha256)) == (
            study.scenario_sha256,
            task.seed,
            study.trace_sha256,
        )
        if not same or told["stopped"] == "interrupted":
            return None
        summary = run.summary
    except (WattlineError, KeyError):  # it was cut off while it was written
        return None
    notes = tuple((n.action, n.reason, n.count, n.example) for n in (*run.notes,))
    return Done(task, summary, notes, str(told["stopped"]), tuple(remarks(study)), (*warnings(study), *summary.doubts))
