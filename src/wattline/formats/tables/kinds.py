"""Kinds of job as a file: a CSV with one row a kind, which ``kinds = "file.csv"`` in a scenario reads.

Needed are ``name``, ``nodes``, ``work_s`` and ``draw_w``; the other columns are those of ``model.kinds.Kind``. Empty
means: ``floor_w`` as ``draw_w`` (it cannot be capped), ``stretch`` in proportion to power, no ``limit``, the usual
``share``. ``jobs`` (how many of the log are of this kind) and ``power_from`` (where its power comes from) are for
readers of the file.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wattline.errors import InputError, TraceError, did_you_mean
from wattline.files import write_whole
from wattline.model.kinds import Kind
from wattline.reading.notes import listed
from wattline.reading.source import read_utf8

SUFFIXES = (".csv", ".csv.gz")
NEEDED = ("name", "nodes", "work_s", "draw_w")
COLUMNS = (*NEEDED, "floor_w", "stretch", "limit", "share", "average", "weight", "standby", "arrival_per_s")
TOLD = ("jobs", "power_from")
WEIGHT_SLACK = 1e-6
"""By how much weights may miss a sum of 1."""


@dataclass(frozen=True)
class KindRow:
    """A kind, how many jobs of a log are of it, and where its power comes from."""

    kind: Kind
    jobs: int = 0
    power_from: str = ""


def kinds_beside(jobs: Path) -> Path:
    """Return the name of the file of kinds that goes with a file of jobs, which must be one that holds power.

    >>> kinds_beside(Path("out/log.parquet")).name
    'log.kinds.csv'
    """
    if not jobs.name.endswith((".parquet", *SUFFIXES)):
        raise InputError(f"{jobs}: end the name in .parquet, .csv or .csv.gz, which hold the power of jobs")
    stem = jobs.name.removesuffix(".gz").removesuffix(".parquet").removesuffix(".csv")
    return jobs.with_name(f"{stem}.kinds.csv")


def write_kinds(rows: Iterable[KindRow], path: Path | str) -> None:
    """Write kinds; numbers are written so that reading them gives the same ones."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow((*COLUMNS, *TOLD))
    for row in rows:
        kind = row.kind
        if kind.response:
            raise InputError(
                f"{path}: kind {kind.name!r} has points of its response to caps, which no file of kinds holds"
            )
        table.writerow(
            (
                kind.name,
                kind.nodes,
                repr(kind.work_s),
                repr(kind.draw_w),
                repr(kind.floor_w),
                repr(kind.stretch),
                repr(kind.limit) if math.isfinite(kind.limit) else "",
                repr(kind.share),
                "yes" if kind.average else "",
                repr(kind.weight) if kind.weight else "",
                "yes" if kind.standby else "",
                repr(kind.arrival_per_s),
                row.jobs,
                row.power_from,
            )
        )
    write_whole(path, out.getvalue().encode())


def read_kinds(path: Path | str) -> tuple[Kind, ...]:
    """Read kinds of job; every problem is said with its line."""
    text = read_utf8(path)
    table = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next(table)
        names = _header(path, header)
        kinds = [_kind(path, table.line_num, names, cells) for cells in table if any(cell.strip() for cell in cells)]
    except csv.Error as problem:
        raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=table.line_num) from None
    if not kinds:
        raise TraceError.at(path, "holds no kinds, only a header line")
    _check_together(path, kinds)
    return tuple(kinds)


def _header(path: Path | str, cells: Sequence[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    for needed in NEEDED:
        if needed not in names:
            found = f"column {needed!r} is missing: found {listed(names)}"
            raise TraceError.at(path, found, line=1, hint=f"kinds need {', '.join(NEEDED)}")
    for name in names:
        if name not in (*COLUMNS, *TOLD):
            raise TraceError.at(path, f"unknown column{did_you_mean(name[:60], COLUMNS)}", line=1, field=name[:60])
        if names.count(name) > 1:
            raise TraceError.at(path, "column is named twice in the header line", line=1, field=name)
    return names


def _kind(path: Path | str, line: int, names: Sequence[str], cells: Sequence[str]) -> Kind:
    if len(cells) != len(names):
        raise TraceError.at(path, f"expected {len(names)} columns like the header, got {len(cells)}", line=line)
    given = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
    values: dict[str, Any] = {}
    for name, parse in _PARSERS.items():
        text = given.get(name, "")
        if not text and name in NEEDED:
            raise TraceError.at(path, "is empty", line=line, field=name)
        if text:
            try:
                values[name] = parse(
                    text if name == "name" or (text.isascii() and "_" not in text) else "no number"
                )  # Python's own digit groups
            except ValueError:
                told = "expected yes or no" if parse is _yes else f"expected a {'whole ' if parse is int else ''}number"
                raise TraceError.at(path, told, line=line, field=name, value=text) from None
    if values.get("standby") and math.isfinite(values.get("limit", math.inf)):
        raise TraceError.at(path, "nothing is promised to a standby kind", line=line, field="limit")
    if "floor_w" not in values and values.get("stretch", 1.0) != 1.0:
        raise TraceError.at(path, "goes with floor_w, at which a job is so slow", line=line, field="stretch")
    values.setdefault("floor_w", values["draw_w"])
    capped = values["floor_w"] < values["draw_w"]
    values.setdefault("stretch", values["draw_w"] / values["floor_w"] if capped and values["floor_w"] > 0 else 1.0)
    try:
        return Kind(**values)
    except InputError as problem:
        raise TraceError.at(path, str(problem), line=line) from None


def _yes(text: str) -> bool:
    if text.lower() not in ("yes", "no", "true", "false", "1", "0"):
        raise ValueError(text)
    return text.lower() in ("yes", "true", "1")


_PARSERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(COLUMNS, float),
    "name": str,
    "nodes": int,
    "average": _yes,
    "standby": _yes,
}


def _check_together(path: Path | str, kinds: Sequence[Kind]) -> None:
    """Refuse a name that comes twice, and weights that only some kinds have or that do not sum to 1."""
    seen: set[str] = set()
    for kind in kinds:
        if kind.name in seen:
            raise TraceError.at(path, f"kind {kind.name[:60]!r} is declared twice")
        seen.add(kind.name)
    promised = [kind for kind in kinds if not kind.standby]
    without = [kind.name for kind in promised if not kind.weight]
    total = sum(kind.weight for kind in promised)
    if total and without:
        raise TraceError.at(path, f"weights are given to some kinds, but not to {without[0][:60]!r}", field="weight")
    if total and abs(total - 1.0) > WEIGHT_SLACK:
        raise TraceError.at(path, f"the weights must sum to 1, they sum to {total:.9g}", field="weight")
