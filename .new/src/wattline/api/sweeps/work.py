"""One run of a sweep, carried out wherever there is a worker: here, in another process, on another machine."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wattline.api.many import Done, EndedError, Task, plan_runs, run_task
from wattline.errors import InputError

if TYPE_CHECKING:
    from wattline.scenario import Document, TraceCache

MOST_TRACES = 4
"""Workloads of a seed that are kept in memory."""

Row = dict[str, Any]


class Varies(Protocol):
    """A study, as far as a sweep needs it."""

    document: Document

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def data(self) -> dict[str, Any]:
        """What the scenario says, as plain data."""

    def at(self, setting: Mapping[str, Any]) -> Varies:
        """Return the study at one setting."""


@dataclass(frozen=True)
class Unit:
    """One setting: the values of its keys."""

    setting: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The setting as one line."""
        from wattline.scenario.key_units import as_written

        return ", ".join(f"{key} = {value_text(as_written(key, value))}" for key, value in self.setting.items())


@dataclass(frozen=True)
class Worked:
    """What is kept of a run: its row, and what was said of it."""

    row: Row
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


_TRACES: dict[int, TraceCache] = {}
"""Workloads of this process, by seed."""


def plan_unit(study: Varies, unit: Unit, seeds: int, expected: int) -> list[Task]:
    """Return the runs of a setting; refuse one that has more or fewer than the first."""
    here = study.at(unit.setting) if unit.setting else study
    tasks = plan_runs([here.document], seeds, label=unit.words)
    if len(tasks) != expected:
        raise InputError(
            f"vary: {unit.words} makes {len(tasks)} runs, the first {expected}: list as many policies in each"
        )
    return tasks


def work(unit: Unit, task: Task, place: Path | None, stop: threading.Event | None = None) -> Worked:
    """Carry out a run of a setting; keep its journal where a place is given. ``EndedError``: it was told to end."""
    from wattline.scenario import TraceCache

    end = stop or threading.Event()
    if end.is_set():
        raise EndedError
    done = run_task(task, _TRACES.setdefault(task.seed, TraceCache(MOST_TRACES)), end, place)
    return Worked(_row(unit, done, place), done.warnings, done.remarks)


def _row(unit: Unit, done: Done, place: Path | None) -> Row:
    from wattline.report.count.compare import METRICS

    row: Row = {key: _cell(value) for key, value in unit.setting.items()}
    row |= {"policies": done.task.variant.label, "seed": done.task.seed}
    row["journal"] = None if place is None else place.name
    values = {metric.path: done.summary.value(metric.path) for metric in METRICS}
    return row | {path: value if value == value else None for path, value in values.items()}


def value_text(value: Any) -> str:
    """Return a value of a key as people write it."""
    if hasattr(value, "name") and hasattr(value, "slot"):
        return str(value.name)
    if isinstance(value, Mapping):
        params = ", ".join(f"{key} = {value_text(one)}" for key, one in value.items() if key != "name")
        return f"{value_text(value['name'])} ({params})" if "name" in value else params
    return value if isinstance(value, str) else repr(value)


def _cell(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else value_text(value)
