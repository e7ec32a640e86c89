"""One setting of a sweep, carried out wherever there is a worker: here, in another process, on another machine."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wattline.api.many import Done, EndedError, plan_runs, run_task
from wattline.errors import InputError

if TYPE_CHECKING:
    from wattline.scenario import Document, TraceCache

MOST_TRACES = 4
"""Workloads of a seed that are kept in memory."""

Row = dict[str, Any]
Places = Sequence[Path | None]
"""Where the journals of a setting's runs lie; None: they are not kept."""


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
    """One setting: its place in the sweep, and the values of its keys."""

    at: int
    setting: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The setting as one line."""
        from wattline.scenario.key_units import as_written

        return ", ".join(f"{key} = {value_text(as_written(key, value))}" for key, value in self.setting.items())


@dataclass(frozen=True)
class Worked:
    """What is kept of a setting: a row a run, and what was said of them."""

    rows: list[Row]
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    interrupted: bool = False


_TRACES: dict[int, TraceCache] = {}
"""Workloads of this process, by seed."""


def work(study: Varies, unit: Unit, seeds: int, places: Places, stop: threading.Event | None = None) -> Worked:
    """Carry out the runs of a setting."""
    from wattline.scenario import TraceCache

    end = stop or threading.Event()
    if end.is_set():
        return Worked([], interrupted=True)
    here = study.at(unit.setting) if unit.setting else study
    tasks = plan_runs([here.document], seeds, label=unit.words)
    if len(tasks) != len(places):
        raise InputError(
            f"vary: {unit.words} makes {len(tasks)} runs, the first {len(places)}: list as many policies in each"
        )
    try:
        done = [
            run_task(task, _TRACES.setdefault(task.seed, TraceCache(MOST_TRACES)), end, place)
            for task, place in zip(tasks, places, strict=True)
        ]
    except EndedError:
        return Worked([], interrupted=True)
    return Worked(
        [_row(unit, one, place) for one, place in zip(done, places, strict=True)],
        tuple(dict.fromkeys(line for one in done for line in one.warnings)),
        tuple(dict.fromkeys(line for one in done for line in one.remarks)),
    )


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
