"""Runs of a comparison, carried out side by side, wherever there are workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.listener import Listener
from wattline.api.many import Done, Task, mechanisms, run_task
from wattline.api.sweeps.places import carry_out_at, find_where
from wattline.files import in_this_folder

if TYPE_CHECKING:
    from wattline.scenario import TraceCache


def carry_out_all(
    tasks: Sequence[Task],
    listener: Listener,
    *,
    threads: int | None = None,
    folders: Sequence[Path] | None = None,
    partly: bool = False,
    note: Callable[[Done], None] | None = None,
    on: str | None = None,
) -> list[Done]:
    """Run all tasks side by side, and keep their journals where folders are given; ``note`` hears of each as it is
    done.

    They are made where ``on`` says, as those of a sweep: threads, or processes where a policy is plain Python, unless
    told otherwise. Ctrl-C ends all; ``partly``: return those that are done by then.
    """
    import wattline.sim.engine  # noqa: F401  (compiled or loaded here, once, before the threads need it)

    if not tasks:
        return []
    needed = mechanisms(tasks)
    objects = any(task.variant.document.given.policies for task in tasks)
    where = find_where(on, threads, plain=any(not one.compiled for one in needed), objects=objects)
    clusters = [task.variant.document.spec.cluster for task in tasks]
    listener.warm_up(needed, nodes_change=any(cluster.nodes_change for cluster in clusters))
    places: list[Path | None] = [None] * len(tasks) if folders is None else [folder.absolute() for folder in folders]
    traces = {task.seed: _cache() for task in tasks}
    found: dict[int, Done] = {}

    def here(i: int, stop: threading.Event) -> Done:
        return run_task(tasks[i], traces[tasks[i].seed], stop, places[i])

    def take(i: int, done: Done) -> None:
        found[i] = replace(done, task=tasks[i])
        if note is not None:
            note(found[i])

    calls = (
        (i, (here, i) if where.here else (run_elsewhere, _anywhere(task), places[i])) for i, task in enumerate(tasks)
    )
    with listener.progress("runs") as progress, in_this_folder():

        def look() -> None:
            progress(len(found), len(tasks))

        look()
        carry_out_at(where, calls, take, look, lambda i: f"{tasks[i].label}, seed {tasks[i].seed}", partly=partly)
    return [found[i] for i in sorted(found)]


def _cache() -> TraceCache:
    from wattline.scenario import TraceCache

    return TraceCache()


def _anywhere(task: Task) -> Task:
    """Return a task whose files are found from any folder."""
    document = task.variant.document
    moved = replace(document, base=document.base.absolute())
    return replace(task, variant=replace(task.variant, document=moved))


_TRACES: dict[int, Any] = {}
"""Workloads of a process that runs tasks for another one, by seed."""


def run_elsewhere(task: Task, folder: Path | None) -> Done:
    """Carry one run out in a process of its own, or on a worker."""
    traces = _TRACES.setdefault(task.seed, _cache())
    return run_task(task, traces, threading.Event(), folder)
