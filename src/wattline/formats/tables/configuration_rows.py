"""Rows of measured configurations as a file has them: names of columns, their units, and what no row may say."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wattline.errors import TraceError, did_you_mean
from wattline.formats.tables.dump import is_sql, sql_rows
from wattline.reading.notes import listed
from wattline.reading.source import PARQUET_MAGIC, as_utf8, read_bytes
from wattline.units import in_full, times

COLUMNS: dict[str, dict[str, float]] = {
    "application": {"application": 1.0, "app": 1.0, "bench": 1.0},
    "nodes": {"nodes": 1.0},
    "cores": {"cores": 1.0, "cores_per_node": 1.0},
    "cap": {"cap_w": 1.0, "pkg_cap_w": 1.0, "pkg_cap_w_per_socket": 1.0, "cap_kw": 1e3},
    "time": {"time_s": 1.0, "time_ms": 1e-3},
    "power": {"power_w": 1.0, "job_power_w": 1.0, "power_kw": 1e3, "job_power_kw": 1e3},
    "node power": {"node_power_w": 1.0, "node_power_kw": 1e3},
    "trial": {"trial": 1.0},
    "trials": {"trials": 1.0, "n": 1.0},
    "shortest": {"time_min": 1.0, "time_min_s": 1.0},
    "longest": {"time_max": 1.0, "time_max_s": 1.0},
    "turbo": {"turbo": 1.0},
}
"""What a table may hold → the names of its column, each with its factor to SI units."""

DETAILS: dict[str, dict[str, float]] = {
    "application": {"job_id": 1.0},
    "cap": {"pkg_cap": 1.0},
    "time": {"exec_time": 1.0},
    "power": {"tot_pkg": 1.0},
    "row": {"id": 1.0},
}
"""Names that a job_details_table has instead; elsewhere they mean something else."""

NEEDED = ("nodes", "cores", "cap", "time")
LAYOUT = "nodes, cores, cap_w, time_s and power_w (or node_power_w)"
LEAST_NODE_W = 1.0
"""No node that computes draws less: such numbers are kilowatts."""
APART = 100.0
"""Core-seconds of one application do not differ by more between configurations, but milliseconds are a thousand times
as many.
"""
SLACK = 0.02
"""By how much power may be above what caps and memory allow: sensors err."""
MOST_ROWS = 250_000
"""No machine has been measured so often; a row takes much more memory than its text."""
AGREE = 0.01
"""By how much the power of a job may differ from that of a node times nodes."""


@dataclass(frozen=True)
class Socketed:
    """Processors of a node, and what the memory of each may draw beside its cap."""

    sockets: int = 2
    memory_w: float = 30.0

    def most_w(self, cap_w: float) -> float:
        """Return what a node may draw under a cap.

        >>> Socketed().most_w(115.0)
        290.0
        """
        return self.sockets * (cap_w + self.memory_w)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table in SI units: NaN or "" where it says nothing."""

    line: int
    application: str
    nodes: int
    cores: int
    cap_w: float
    time_s: float
    power_w: float
    trial: str = ""
    trials: float = math.nan
    shortest_s: float = math.nan
    longest_s: float = math.nan
    turbo: bool | None = None


@dataclass(frozen=True)
class Header:
    """Columns found: what → (name, factor); names that nobody reads."""

    found: Mapping[str, tuple[str, float]]
    ignored: tuple[str, ...]


def read_rows(path: Path | str, node: Socketed) -> tuple[Header, list[Row]]:
    """Read every row of a CSV (also .gz) or Parquet file; the first bad one is the error, with its line and column."""
    names, cells = _cells(path)
    header = _header(path, names)
    rows: list[Row] = []
    for line, values in cells:
        if len(rows) == MOST_ROWS:
            told = f"holds more than {MOST_ROWS:,} configurations"
            raise TraceError.at(path, told, line=line, hint="leave out what is not needed, or reduce its trials before")
        rows.append(_row(path, line, dict(zip(names, values, strict=True)), header, node))
    if not rows:
        raise TraceError.at(path, "holds no configuration, only a header")
    _check_times(path, rows, header)
    return header, rows


def _cells(path: Path | str) -> tuple[list[str], Iterator[tuple[int, Sequence[Any]]]]:
    """Return the names of columns, and the lines and cells of rows."""
    raw = read_bytes(path)
    if raw.startswith(PARQUET_MAGIC):
        return _parquet(path, raw)
    text = as_utf8(path, raw)
    del raw
    if is_sql(text):
        return sql_rows(path, text)
    first = text.partition("\n")[0]
    return _csv(path, text, "\t" if "\t" in first and "," not in first else ",")


def _csv(path: Path | str, text: str, between: str) -> tuple[list[str], Iterator[tuple[int, Sequence[Any]]]]:
    every = (line[0] for line in re.finditer(r"[^\n]*\n|[^\n]+", text))  # a StringIO takes four times the text
    table = csv.reader(every, strict=True, delimiter=between)

    def lines() -> Iterator[tuple[int, Sequence[str]]]:
        try:
            for cells in table:
                if any(cell.strip() for cell in cells):
                    if len(cells) != len(names):
                        told = f"expected {len(names)} columns like the header, got {len(cells)}"
                        raise TraceError.at(path, told, line=table.line_num)
                    yield table.line_num, cells
        except csv.Error as problem:
            raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=table.line_num) from None

    try:
        names = [name.strip().lower() for name in next(table)]
    except csv.Error as problem:
        raise TraceError.at(path, f"cannot be read as CSV ({problem})", line=1) from None
    return names, lines()


def _parquet(path: Path | str, raw: bytes) -> tuple[list[str], Iterator[tuple[int, Sequence[Any]]]]:
    from wattline.formats.jobs.table.read import read_parquet

    frame, _ = read_parquet(path, raw)
    return [name.strip().lower() for name in frame.columns], enumerate(frame.iter_rows(), 1)


def _header(path: Path | str, names: Sequence[str]) -> Header:
    found: dict[str, tuple[str, float]] = {}
    details = DETAILS if {"job_id", "pkg_cap"} <= set(names) else {}
    meaning = {what: COLUMNS.get(what, {}) | details.get(what, {}) for what in (*COLUMNS, *details)}
    known = [name for columns in meaning.values() for name in columns]
    for name in names:
        if names.count(name) > 1:
            raise TraceError.at(path, "column is named twice", line=1, field=name[:60])
    for what, columns in meaning.items():
        given = [name for name in names if name in columns]
        if len(given) > 1:
            raise TraceError.at(path, f"columns {given[0]!r} and {given[1]!r} say the same", hint="keep one of them")
        if given:
            found[what] = (given[0], columns[given[0]])
    ignored = tuple(name for name in names if name not in known)
    missing = [what for what in NEEDED if what not in found]
    missing += ["power"] if "power" not in found and "node power" not in found else []
    if missing:
        wanted = next(iter(COLUMNS[missing[0]]))
        close = next((did_you_mean(wanted, [name]) for name in ignored if "mean" in did_you_mean(wanted, [name])), "")
        hint = f"a table of configurations needs {LAYOUT}"
        raise TraceError.at(path, f"column {wanted!r} is missing: found {listed(names)}{close}", hint=hint)
    return Header(found, ignored)


def _row(path: Path | str, line: int, cells: Mapping[str, Any], header: Header, node: Socketed) -> Row:
    def at(what: str, problem: str, hint: str = "") -> TraceError:
        name = header.found[what][0]
        return TraceError.at(path, problem, line=line, field=name, value=cells[name], hint=hint)

    def number(what: str, *, needed: bool = True) -> float:
        if what not in header.found:
            return math.nan
        name, factor = header.found[what]
        text = str("" if cells[name] is None else cells[name]).strip()
        if not text and not needed:
            return math.nan
        try:
            value = float(text) if "_" not in text and text.isascii() else math.nan
        except ValueError:
            raise at(what, "is empty" if not text else "expected a number without a unit") from None
        if not 0 < value < math.inf:
            raise at(what, "must be above 0" if value <= 0 else "must be a finite number")
        return times(text, factor)

    def whole(what: str) -> int:
        value = number(what)
        if value != int(value) or value > 1e9:
            raise at(what, "expected a whole number")
        return int(value)

    nodes, cores, cap_w, time_s = whole("nodes"), whole("cores"), number("cap"), number("time")
    power_w = _power(number("power"), number("node power"), nodes, cap_w, node, at)
    shortest, longest = number("shortest", needed=False), number("longest", needed=False)
    if shortest > time_s * (1 + SLACK) or longest < time_s * (1 - SLACK):
        raise at(
            "shortest" if shortest > time_s else "longest",
            f"does not go with a {header.found['time'][0]} of {in_full(time_s)} s",
        )
    return Row(
        line,
        _application(path, line, cells, header),
        nodes,
        cores,
        cap_w,
        time_s,
        power_w,
        _text(cells, header, "trial"),
        number("trials", needed=False),
        shortest,
        longest,
        _yes(path, line, cells, header),
    )


def _application(path: Path | str, line: int, cells: Mapping[str, Any], header: Header) -> str:
    """Return the name of an application; that of a job_details_table is a number, however it is written."""
    text = _text(cells, header, "application")
    if "application" not in header.found or header.found["application"][0] not in DETAILS["application"]:
        return text
    try:
        number = float(text) if "_" not in text and text.isascii() else math.nan
    except ValueError:
        number = math.nan
    if not 0 <= number < 2**53 or number != int(number):
        name = header.found["application"][0]
        hint = "give names of applications in a second file, or in a column application"
        raise TraceError.at(path, "expected the number of an application", line=line, field=name, value=text, hint=hint)
    return str(int(number))


def _power(job_w: float, node_w: float, nodes: int, cap_w: float, node: Socketed, at: Any) -> float:
    """Return what all nodes draw, after comparing both columns with each other and with the cap."""
    what = "node power" if math.isnan(job_w) else "power"
    if not math.isnan(job_w) and not math.isnan(node_w) and abs(job_w - nodes * node_w) > AGREE * job_w:
        raise at(
            "power", f"is not {nodes} nodes times {in_full(node_w)} W of a node", "is one of them in another unit?"
        )
    each_w = node_w if math.isnan(job_w) else job_w / nodes
    most_w = node.most_w(cap_w)
    if each_w < LEAST_NODE_W:
        raise at(
            what,
            f"is {in_full(each_w, 3)} W a node, less than any node draws",
            "in kilowatts? name the column power_kw then",
        )
    if each_w > most_w * (1 + SLACK):
        told = (
            f"is {in_full(each_w, 4)} W a node, above what {node.sockets} sockets may draw: {in_full(most_w)} "
            "W under a cap of "
            f"{in_full(cap_w)} W "
            f"and {in_full(node.memory_w)} W of memory each"
        )
        hint = "give the number of sockets and the power of their memory"
        if what == "node power" and nodes > 1 and each_w / nodes <= most_w:
            hint = "is it the power of all nodes? name the column power_w then"
        raise at(what, told, hint)
    return each_w * nodes if math.isnan(job_w) else job_w


def _text(cells: Mapping[str, Any], header: Header, what: str) -> str:
    cell = cells[header.found[what][0]] if what in header.found else None
    return "" if cell is None else str(cell).strip()


def _yes(path: Path | str, line: int, cells: Mapping[str, Any], header: Header) -> bool | None:
    text = _text(cells, header, "turbo").lower()
    if text not in ("", "yes", "no", "true", "false", "1", "0"):
        raise TraceError.at(path, "expected yes or no", line=line, field="turbo", value=text)
    return text in ("yes", "true", "1") if "turbo" in header.found else None


def _check_times(path: Path | str, rows: Sequence[Row], header: Header) -> None:
    """Refuse a time that is far from all others of its application: milliseconds among seconds, or the other way
    round.
    """
    by: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        by.setdefault(row.application, []).append((row.time_s * row.nodes * row.cores, row))
    for pairs in by.values():
        middle = sorted(work for work, _ in pairs)[len(pairs) // 2]
        for work, row in pairs:
            if len(pairs) > 2 and not middle / APART < work < middle * APART:
                much = work / middle if work > middle else middle / work
                raise TraceError.at(
                    path,
                    f"is {much:,.0f} times {'longer' if work > middle else 'shorter'} than the application's other "
                    "times (in core-seconds)",
                    line=row.line,
                    field=header.found["time"][0],
                    value=row.time_s,
                    hint="milliseconds among seconds?",
                )
