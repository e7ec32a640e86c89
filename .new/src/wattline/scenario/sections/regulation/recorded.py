"""Recorded regulation signals that a scenario names: one file or several, as records and as what a run plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import did_you_mean
from wattline.files import exists
from wattline.model.regulation import Record, Signal
from wattline.reading.notes import Note
from wattline.units import HOUR_S

if TYPE_CHECKING:
    from wattline.formats.series.records import Records
    from wattline.scenario.read.base import KeyPath
    from wattline.scenario.read.source import Context


@dataclass(frozen=True)
class Recorded:
    """The files of a key that takes one name or a list of them, and how they are read."""

    names: Sequence[str]
    key: KeyPath
    context: Context
    column: str | None = None
    step_s: float | None = None
    known: tuple[str, ...] = ()
    """Words that the key takes instead of a file, for a name that is no file."""

    def paths(self) -> list[Path]:
        """Return the files; one that is missing is an error of the key."""
        found = []
        for name in self.names:
            path = self.context.base / name
            if not name or not exists(path):
                close = did_you_mean(name, self.known)
                hint = close if "did you" in close else ""
                raise self.context.error(self.key, f"no such file: {str(path) if name else repr(name)}{hint}")
            found.append(path)
        return found

    def records(self) -> Records:
        """Return the records of the files."""
        from wattline.formats.series.records import read_records

        return read_records(self.paths(), column=self.column, step_s=self.step_s)

    @cached_property
    def days(self) -> Records:
        """The records to take figures from or to fit to; a file of less than an hour is one, too."""
        from wattline.formats.series.records import Records
        from wattline.formats.series.signals import read_days
        from wattline.market.signal_law import law_of

        paths = self.paths()
        if len(paths) == 1:
            traces = read_days(paths[0], column=self.column, step_s=self.step_s)
            if len(traces) == 1 and traces[0].signal.end_s < HOUR_S:
                record = Record(paths[0].name, traces[0].signal)
                return Records((record,), traces[0].notes, traces, (law_of(record),))
        return self.records()

    def played(self) -> tuple[Signal, tuple[Note, ...], tuple[str, ...]]:
        """Return the signal of a run from second 0 on, the file or several one after another, notes, and loud lines."""
        from wattline.formats.series.signals import read_days

        paths = self.paths()
        if len(paths) == 1:
            days = read_days(paths[0], column=self.column, step_s=self.step_s)
            if len(days) == 1:
                return days[0].signal, days[0].notes, ()
        found = self.records()
        names = ", ".join(record.name for record in found.records)
        order = Note("kept", "recorded signals are played one after another, in this order", len(found.traces), names)
        return found.joined(), (*found.notes, order), tuple(found.strangers.values())


def names_of(given: str | Sequence[str] | None) -> list[str]:
    """Return the names in a key that takes one or a list."""
    return [] if given is None else [given] if isinstance(given, str) else list(given)
