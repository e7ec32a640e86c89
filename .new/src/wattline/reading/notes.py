"""What a reader hands over: the jobs, and a counted note for everything it dropped, repaired or kept on purpose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from wattline.errors import InputError, TraceError
from wattline.model.jobs import JobTable
from wattline.reading.machine import Machine

Action = Literal["dropped", "repaired", "kept"]
ROUNDED = "rounded up"
"""How the reason of a note ends that counts jobs which were given more than they asked for."""

BEYOND = "beyond the first"
"""How the reason of a note begins that counts jobs of the log which were left out."""

NOT_UTF8 = "not UTF-8: bytes that are none are written out, as \\xf6"
"""Reason of the note that counts lines of a text in another encoding."""

EXAMPLE_CHARS = 100
"""Longest quotation of a line in a note or an error."""


@dataclass(frozen=True)
class Note:
    """One thing a reader did to ``count`` records; ``example`` names file and line of the first and quotes it.

    *dropped*: the record is not a job of the trace. *repaired*: it is, with a changed value or place.
    *kept*: it is, as it stands, but a reader of the results should know.
    """

    action: Action
    reason: str
    count: int
    example: str


@dataclass(frozen=True)
class Trace:
    """A job table with its origin: ``records`` were read, each is a job of ``jobs`` or counted in a *dropped* note.

    ``header`` holds what the file said about itself; ``suggested_nodes`` the size of the machine it came from, if
    known.
    """

    jobs: JobTable
    notes: tuple[Note, ...] = ()
    source: str = ""
    header: dict[str, str] = field(default_factory=dict)
    suggested_nodes: int | None = None
    records: int | None = None
    machine: Machine | None = None
    """What is scheduled, nodes or processors, where the file tells enough to say; ``suggested_nodes`` counts these."""
    zone: str | None = None
    """Zone that its local times were read in; None: it has no dates, or they say themselves what they mean."""
    zone_assumed: bool = False
    """Whether nobody said that zone."""
    columns: dict[str, str] = field(default_factory=dict)
    """Which columns of the table are which, as somebody said."""

    def __post_init__(self) -> None:
        accounted = len(self.jobs) + self.count("dropped")
        if self.records is None:
            object.__setattr__(self, "records", accounted)
        elif self.records != accounted:
            raise AssertionError(f"{self.source}: {self.records} records read but {accounted} accounted for")

    def count(self, action: Action) -> int:
        """Return how many records all notes of this action speak of."""
        return sum(note.count for note in self.notes if note.action == action)

    def with_jobs(self, jobs: JobTable) -> Trace:
        """Return the same trace with another table (of any length), keeping its notes and origin."""
        return replace(self, jobs=jobs, records=None)


@dataclass(frozen=True)
class Finding:
    """A note in the making: where the first of ``count`` records stands, and which field of it is to blame.

    ``benign``: what every such file holds (steps of a job in a Slurm dump), so strict reading does not refuse it.
    """

    action: Action
    reason: str
    count: int
    line: int | None
    field: str
    value: object
    text: str
    benign: bool = False


def quote(text: str | bytes) -> str:
    """Return one line of a file, cut and made printable, so that no file can flood or confuse a terminal."""
    head = text[: EXAMPLE_CHARS * 4]
    plain = head.decode("utf-8", errors="replace") if isinstance(head, bytes) else head
    plain = " ".join("".join(c if c.isprintable() else "�" if not c.isspace() else " " for c in plain).split())
    return plain if len(plain) <= EXAMPLE_CHARS and len(head) == len(text) else f"{plain[: EXAMPLE_CHARS - 1]}…"


def listed(names: Iterable[str]) -> str:
    """Return names of columns as they may stand in an error, whatever is in them."""
    return quote(", ".join(name[:EXAMPLE_CHARS] for name in names))


def settle(path: Path | str, findings: Iterable[Finding], *, strict: bool) -> tuple[Note, ...]:
    """Turn findings into notes; with ``strict`` the first dropped or repaired record is an error instead."""
    found = [f for f in findings if f.count]
    changed = [f for f in found if f.action != "kept" and not f.benign]
    if strict and changed:
        first = min(changed, key=lambda f: f.line or 0)
        raise TraceError.at(
            path,
            first.reason,
            line=first.line,
            field=first.field,
            value=first.value,
            hint=f"without strict reading, {first.count} such {plural(first.count)} would be {first.action}",
        )
    return tuple(Note(f.action, f.reason, f.count, _example(path, f)) for f in found)


def build_jobs(path: Path | str, **columns: Any) -> JobTable:
    """Make the job table of a file; a time or power that no job can have is said to come from there."""
    return take_jobs(path, columns)


def take_jobs(path: Path | str, columns: dict[str, Any]) -> JobTable:
    """Make the job table of a file from columns that nobody else needs, as ``JobTable.taking`` does."""
    try:
        return JobTable.taking(columns)
    except InputError as problem:
        raise TraceError.at(path, str(problem)) from None


def refuse_empty(path: Path | str, records: int, notes: Iterable[Note]) -> TraceError:
    """Return the error for a file none of whose records is a job."""
    reasons = "; ".join(f"{n.count} × {n.reason}, e.g. {n.example}" for n in notes if n.action == "dropped")
    if not records:
        return TraceError.at(path, "no job in it: the file holds no records")
    return TraceError.at(path, f"no job in it: none of its {records} {plural(records)} is usable ({reasons})")


def plural(count: int, word: str = "record") -> str:
    """Return ``word`` with an s unless ``count`` is 1."""
    return word if count == 1 else f"{word}s"


def _example(path: Path | str, found: Finding) -> str:
    where = f"{Path(path).name}:{found.line}" if found.line is not None else Path(path).name
    return f"{where}: {quote(found.text)}"
