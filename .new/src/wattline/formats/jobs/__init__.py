"""Job logs of other people: a folder here is a format.

The ``__init__`` of a format's folder holds ``FORMAT``, an object that keeps the rules of ``base.LogFormat``. It says
what the format is and tells its files by their beginning; it loads little, so that the other formats cost nothing. Its
``read.py`` holds the reader, which is imported when a file is read.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import InputError, TraceError, did_you_mean
from wattline.formats.jobs.base import Head, Likeness, LogFormat, ReadOptions

if TYPE_CHECKING:
    from wattline.reading.notes import Trace

__all__ = ["FORMATS", "find_format", "guess_format", "read_trace"]

FORMATS = tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg))
"""Names of all formats."""

TABLE = "table"
"""The format of tables whose columns have names."""

YEAR_S = 365.25 * 86_400.0
HARDLY_S = 10 * YEAR_S
"""No machine was without a job for so long."""


def find_format(name: str) -> LogFormat:
    """Return the format of a name."""
    if name not in FORMATS:
        raise InputError(f"unknown trace format {name!r}{did_you_mean(name, FORMATS)}")
    found: LogFormat = importlib.import_module(f"{__name__}.{name}").FORMAT
    return found


def read_trace(
    path: Path | str,
    *,
    format: str | LogFormat | None = None,  # noqa: A002  (the word users type)
    strict: bool = False,
    cores_per_node: int | None = None,
    nodes: int | None = None,
    zone: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Trace:
    """Read a job log of any known format.

    Parameters
    ----------
    path
        The file, or the folder where a format has folders (a journal).
    format
        Name of its format, or a format of your own (default: told by the file's content).
    strict
        Refuse a file with records that would be dropped or repaired.
    cores_per_node
        Matters where a log counts processors: always in SWF and GWF (default: as the header says), in Slurm dumps
        without a column of nodes (default: 1).
    nodes
        Nodes of the machine that the jobs are for, where they are known already.
    zone
        Matters where a log has local times, as Slurm's dumps do: their zone, like ``Europe/Paris`` (default: they are
        taken as UTC).
    columns
        Makes any CSV or Parquet table a log: Wattline's name of a column → the table's own, with its unit after a
        colon where the values do not say it, ``{"submit_s": "submit", "request_s": "limit:h"}``.
    """
    if zone is not None:
        from wattline.reading.calendar import check_zone

        check_zone(zone)
    options = ReadOptions(strict, cores_per_node, nodes, zone, columns=columns or None)
    if columns:
        _check_table(path, columns, format)
        format = TABLE  # noqa: A001  (the word users type)
    if format is not None:
        known = find_format(format) if isinstance(format, str) else format
        return _of_clocks(apart(_of_zone(known.read(path, options), zone), path, strict=strict))
    name, raw = _guess(path)
    try:
        found = find_format(name).read(path, replace(options, raw=raw))
        return _of_clocks(apart(_of_zone(found, zone), path, strict=strict))
    except TraceError as problem:
        raise TraceError(f"{problem}; taken for {name} by its content").about(
            problem.file, problem.line, problem.field, problem.value
        ) from None


def _check_table(path: Path | str, columns: Mapping[str, str], format: str | LogFormat | None) -> None:  # noqa: A002
    """Refuse columns for what is no table of CSV or Parquet."""
    from wattline.formats.jobs.table.columns import check_columns

    check_columns(columns)
    named = format if isinstance(format, str) or format is None else format.name
    if named not in (None, TABLE):
        raise InputError(f"columns go with tables (CSV, Parquet), not with the format {named!r}; leave one out")
    if Path(path).is_dir():
        raise TraceError.at(path, "is a folder: columns go with a table in CSV or Parquet", hint="leave them out")


def guess_format(path: Path | str) -> str:
    """Tell the format of a file by its content, or raise an error that says what was seen and what to do."""
    return _guess(path)[0]


def _guess(path: Path | str) -> tuple[str, bytes | None]:
    """Return the format of a file, and its content if all of it had to be read to tell."""
    head = Head(path)
    likeness = {name: find_format(name).looks_like(head) for name in FORMATS}
    most = max(likeness.values())
    if most == Likeness.NO:
        raise _unknown(path, head)
    best = [name for name, found in likeness.items() if found == most]
    if len(best) > 1:
        raise TraceError.at(path, f"may be {' or '.join(best)}", hint="name it with --format (in a scenario: format)")
    return best[0], head.raw


def _unknown(path: Path | str, head: Head) -> TraceError:
    """Return the error for a file or folder that looks like no format."""
    from wattline.journal.unfinished import is_unfinished
    from wattline.reading.notes import quote

    if head.is_folder and is_unfinished(Path(path)):
        return TraceError.at(path, "holds a run that was cut off", hint=f"`wattline report {path}` makes its journal")
    if head.is_folder:
        return TraceError.at(path, "is a directory without a journal in it, expected a file")
    hint = f"name it with --format (in a scenario: format), one of {', '.join(FORMATS)}"
    return TraceError.at(path, f"cannot tell its format from {quote(head.line)!r}", hint=hint)


def _of_zone(trace: Trace, zone: str | None) -> Trace:
    """Mention a zone that was given for a log without local times, or whose zone is known."""
    if zone is None or trace.zone == zone:
        return trace
    from wattline.reading.notes import Note

    known = "the log has no local times" if trace.zone is None else f"the log's times are those of {trace.zone}"
    note = Note("kept", f"{known}: zone changes nothing", len(trace.jobs), f"zone = {zone}")
    return replace(trace, notes=(*trace.notes, note))


def _of_clocks(trace: Trace) -> Trace:
    """Mention times so far apart that they are hardly those of one clock, like seconds since a start beside dates."""
    import numpy as np

    gap_s = np.diff(trace.jobs.submit_s)
    if not gap_s.size or gap_s.max() < HARDLY_S:
        return trace
    from wattline.reading.notes import Note

    after = int(gap_s.argmax()) + 1
    told = f"submitted {gap_s[after - 1] / YEAR_S:.0f} years or more after all others: times of two clocks?"
    note = Note("kept", told, len(trace.jobs) - after, f"job {trace.jobs.job_id[after]}")
    return replace(trace, notes=(*trace.notes, note))


def apart(trace: Trace, path: Path | str = "", *, strict: bool = False) -> Trace:
    """Give jobs whose number another has a number of their own: tables of a journal know jobs by their numbers.

    The first of them keeps it; the others have numbers above all of the log, or unused ones where none are above.
    """
    import numpy as np

    from wattline.reading.notes import Finding, settle
    from wattline.reading.rows import MAX_WHOLE

    numbers = trace.jobs.job_id
    if (numbers[1:] > numbers[:-1]).all():
        return trace
    ordered = np.sort(numbers)
    if not (ordered[1:] == ordered[:-1]).any():
        return trace
    again = np.ones(numbers.size, dtype=bool)
    again[np.unique(numbers, return_index=True)[1]] = False
    count, first = int(again.sum()), int(numbers[again][0])
    free = np.arange(ordered[-1] + 1, ordered[-1] + 1 + count)
    if free[-1] >= MAX_WHOLE:  # which readers refuse
        free = np.setdiff1d(np.arange(1, 2 * numbers.size), numbers)[:count]
    reason = f"another job has the same number: it is given one of its own, from {free[0]} on"
    found = Finding("repaired", reason, count, None, "job_id", first, f"job {first}")
    renumbered = numbers.copy()
    renumbered[again] = free
    told = settle(path, [found], strict=strict)
    return replace(trace, jobs=trace.jobs.with_columns(job_id=renumbered), notes=(*trace.notes, *told))
