"""Formats that are text: how a file is made, what it says by plain rules, and how Wattline reads it.

What a file says is told by ``says``, which knows nothing of Wattline's readers: fields between separators, a number
where a number must be. A damaged file may say something else than before; then that is its right content.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]
PYTHONS_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
BLANKS = "".join(c for c in PYTHONS_BLANKS if c not in "\x1c\x1d\x1e\x1f")
"""What Unicode calls white space; the control characters that Python strips too are not."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass
class Read:
    """What a reader returned: rows in any order, how many it says it dropped, and on how many it remarked otherwise."""

    rows: list[Row]
    dropped: int = 0
    noted: int = 0


@dataclass(frozen=True)
class Text:
    """A format: columns as they are written, the separator, how rows are drawn, read, and said by plain rules."""

    name: str
    columns: tuple[str, ...]
    separator: str
    draw: Callable[[random.Random], list[list[str]]]
    row: Callable[[dict[str, str]], Row | None]
    read: Callable[[Path], Read]
    header: bool = True
    comment: str = ""
    comments: str = ""
    quotes: bool = False
    time: str = ""
    """Column of times in seconds, which may be shifted."""
    iso: str = ""
    """Column of ISO times, which may be given in another zone."""
    blanks: str = BLANKS
    """What belongs to no field where it stands at its end or beginning."""
    unordered: bool = False
    """Rows may stand in any order."""
    ends: tuple[str, ...] = ("\n", "\r\n", "\r")
    command: tuple[str, ...] = field(default=())

    def write(self, rows: Sequence[Sequence[str]], columns: Sequence[str] | None = None) -> str:
        """Return a file in the plainest notation."""
        lines = [self.separator.join(self.columns if columns is None else columns)] if self.header else []
        return self.comments + "".join(f"{line}\n" for line in [*lines, *(self.separator.join(row) for row in rows)])

    def says(self, content: bytes) -> tuple[list[Row | None], bool]:
        """Return what every line says that is neither blank nor a comment (None: nothing), and whether the header is
        whole.
        """
        text = (
            content.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        )
        lines = [
            line
            for line in text.split("\n")
            if line.strip() and not (self.comment and line.lstrip().startswith(self.comment))
        ]
        names = list(self.columns)
        if self.header:
            if not lines:
                return [], False
            names = [self._unquoted(name).lower() for name in lines.pop(0).split(self.separator)]
        whole = sorted(names) == sorted(self.columns)
        if not whole:  # a name is damaged, or what stands before the rows: their fields are where they were
            names = list(self.columns)
        return [self._says(names, line) for line in lines], whole

    def _says(self, names: list[str], line: str) -> Row | None:
        cells = line.split(self.separator) if self.separator != " " else line.split()
        if len(cells) != len(names):
            return None
        try:
            return self.row(dict(zip(names, map(self._unquoted, cells), strict=True)))
        except (ValueError, KeyError, OverflowError):
            return None

    def _unquoted(self, cell: str) -> str:
        bare = cell.strip(self.blanks)
        return bare[1:-1].strip(self.blanks) if len(bare) > 1 and bare[0] == bare[-1] == '"' else bare


def number(text: str) -> float:
    """Return a number written with ASCII digits; nothing else is one."""
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _maybe(text: str) -> float | None:
    try:
        return number(text)
    except ValueError:
        return None


def _trace(path: Path, kind: str) -> Any:
    from wattline.formats.jobs import read_trace

    return read_trace(path, format=kind)


def _of(trace: Any, rows: list[Row]) -> Read:
    return Read(rows, trace.count("dropped"), trace.count("repaired") + trace.count("kept"))


def _names(jobs: Any, code: str, names: str) -> list[str]:
    listed = getattr(jobs, names)
    return [listed[c] if c >= 0 else "" for c in getattr(jobs, code)]


# ------------------------------------------------------------------ job logs


def _draw_swf(rng: random.Random) -> list[list[str]]:
    rows, at = [], rng.randrange(1000)
    for i in range(rng.randrange(3, 12)):
        at += rng.randrange(1, 500)
        size = rng.randrange(1, 64)
        values = [
            i + 1,
            at,
            rng.randrange(900),
            rng.randrange(1, 9000),
            size,
            -1,
            -1,
            size,
            rng.randrange(60, 9000),
            -1,
            1,
        ]
        rows.append([str(v) for v in (*values, rng.randrange(1, 99), rng.randrange(1, 9), 1, 1, 1, -1, -1)])
    return rows


def _row_swf(cell: dict[str, str]) -> Row:
    value = [number(cell[name]) for name in SWF_FIELDS]
    return value[0], value[1], value[3], value[4], value[8] if value[8] > 0 else None


def _read_swf(path: Path) -> Read:
    trace = _trace(path, "swf")
    jobs = trace.jobs
    request = [None if math.isnan(v) else v for v in jobs.request_s]
    return _of(trace, list(zip(jobs.job_id, jobs.submit_s, jobs.work_s, jobs.nodes, request, strict=True)))


SWF_FIELDS = tuple(f"f{i}" for i in range(18))


def _draw_gwf(rng: random.Random) -> list[list[str]]:
    rows, at = [], rng.randrange(1000)
    for i in range(rng.randrange(3, 12)):
        at += rng.randrange(1, 500)
        times = [i + 1, at, rng.randrange(900), rng.randrange(1, 9000)]
        size = [rng.randrange(1, 64), -1, -1, -1, rng.randrange(60, 9000), -1, 1]
        names = [f"U{rng.randrange(9)}", f"G{rng.randrange(3)}", "app"]
        rows.append([str(v) for v in (*times, *size, *names, *[-1] * 15)])
    return rows


def _row_gwf(cell: dict[str, str]) -> Row:
    value = [number(cell[name]) for name in ("f0", "f1", "f3", "f4")]
    request = _maybe(cell["f8"])
    return *value, request if request is not None and request > 0 else None


def _read_gwf(path: Path) -> Read:
    trace = _trace(path, "gwf")
    jobs = trace.jobs
    request = [None if math.isnan(v) else v for v in jobs.request_s]
    return _of(trace, list(zip(jobs.job_id, jobs.submit_s, jobs.work_s, jobs.nodes, request, strict=True)))


GWF_FIELDS = tuple(f"f{i}" for i in range(29))


def _draw_table(rng: random.Random) -> list[list[str]]:
    rows, at = [], 0.0
    for i in range(rng.randrange(3, 12)):
        at += rng.choice([1.0, 0.5, 17.25, 300.0])
        rows.append(
            [str(i + 1), repr(at), repr(rng.uniform(1, 9000)), str(rng.randrange(1, 99)), f"user{rng.randrange(5)}"]
        )
    return rows


def _row_table(cell: dict[str, str]) -> Row:
    return (*(number(cell[name]) for name in ("job_id", "submit_s", "work_s", "nodes")), cell["user"])


def _read_table(path: Path) -> Read:
    trace = _trace(path, "table")
    jobs = trace.jobs
    columns = (jobs.job_id, jobs.submit_s, jobs.work_s, jobs.nodes, _names(jobs, "user", "users"))
    return _of(trace, list(zip(*columns, strict=True)))


def _draw_sacct(rng: random.Random) -> list[list[str]]:
    rows, at = [], datetime(2024, 3, 1, 12, tzinfo=UTC) + timedelta(seconds=rng.randrange(10**6))
    for i in range(rng.randrange(3, 12)):
        at += timedelta(seconds=rng.randrange(1, 4000))
        stamp = at.strftime("%Y-%m-%dT%H:%M:%S")
        rows.append(
            [
                str(i + 1),
                stamp,
                str(rng.randrange(1, 9000)),
                str(rng.randrange(1, 99)),
                f"user{rng.randrange(5)}",
                "COMPLETED",
            ]
        )
    return rows


def _row_sacct(cell: dict[str, str]) -> Row:
    stamp = datetime.fromisoformat(cell["submit"])
    unix = (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
    return number(cell["jobid"]), unix, number(cell["elapsedraw"]), number(cell["nnodes"]), cell["user"]


def _read_sacct(path: Path) -> Read:
    trace = _trace(path, "sacct")
    jobs = trace.jobs
    unix = jobs.submit_s + jobs.epoch_unix_s
    return _of(trace, list(zip(jobs.job_id, unix, jobs.work_s, jobs.nodes, _names(jobs, "user", "users"), strict=True)))


def _draw_krc(rng: random.Random) -> list[list[str]]:
    return [
        [str(rng.randrange(1, 500)), str(rng.randrange(1, 9000)), str(rng.randrange(1, 80)), str(rng.randrange(90))]
        for _ in range(rng.randrange(3, 12))
    ]


def _row_krc(cell: dict[str, str]) -> Row:
    number(cell["interarrival"])
    return number(cell["service"]), number(cell["cores_used"])


def _read_krc(path: Path) -> Read:
    trace = _trace(path, "krc")
    return _of(trace, list(zip(trace.jobs.work_s, trace.jobs.nodes, strict=True)))


# ------------------------------------------------------------------ series


def _draw_signal(rng: random.Random) -> list[list[str]]:
    begin = 2 * rng.randrange(500)
    return [[str(begin + 2 * i), repr(round(rng.uniform(-1, 1), 4))] for i in range(rng.randrange(4, 20))]


def _row_signal(cell: dict[str, str]) -> Row:
    return number(cell["time_s"]), number(cell["value"])


def _read_signal(path: Path) -> Read:
    from wattline.formats.series.signals import read_signal

    found = read_signal(path)
    signal, notes = found.signal, found.notes
    times = [round(signal.start_s + i * signal.step_s, 6) for i in range(signal.values.size)]
    told = sum(note.count for note in notes)
    return Read(list(zip(times, signal.values.tolist(), strict=True)), 0, told)


def _draw_prices(rng: random.Random) -> list[list[str]]:
    begin = 300 * rng.randrange(500)
    return [[str(begin + 300 * i), repr(round(rng.uniform(-50, 300), 2))] for i in range(rng.randrange(4, 20))]


def _row_prices(cell: dict[str, str]) -> Row:
    return number(cell["time_s"]), number(cell["lmp"])


def _read_prices(path: Path) -> Read:
    from wattline.formats.series.prices import read_held

    found = read_held(path)
    told = sum(note.count for note in found.notes)
    return Read(list(zip(found.held.time_s.tolist(), found.held.values.tolist(), strict=True)), 0, told)


def _draw_limits(rng: random.Random) -> list[list[str]]:
    at, rows = 0, []
    for _ in range(rng.randrange(2, 9)):
        at += rng.randrange(1, 5000)
        rows.append([str(at), str(rng.randrange(1000, 99999))])
    return rows


def _row_limits(cell: dict[str, str]) -> Row:
    watts = cell["limit_w"]
    return number(cell["time_s"]), math.inf if watts in ("", "off", "inf") else number(watts)


def _read_limits(path: Path) -> Read:
    from wattline.formats.series.steps import read_limits

    return Read([(t, w) for t, w in read_limits(path)])


# ------------------------------------------------------------------ samples, kinds, configurations


def draw_samples(rng: random.Random) -> list[list[str]]:
    """Draw samples of some nodes at regular times."""
    nodes = rng.randrange(1, 4)
    return [
        [f"n{n}", str(60 * i), repr(round(rng.uniform(50, 400), 3))]
        for i in range(rng.randrange(3, 12))
        for n in range(nodes)
    ]


def row_samples(cell: dict[str, str]) -> Row:
    """Return node, time and power; what is no number is a sample without one."""
    return cell["node"], _maybe(cell["time_s"]), _maybe(cell["power_w"])


def read_samples(path: Path) -> Read:
    """Read samples as ``wattline telemetry`` does, and let it look for faults."""
    import numpy as np

    from wattline.telemetry.cleaning.rules import Rules
    from wattline.telemetry.read import check, open_source, read
    from wattline.telemetry.sources.columns import Wanted

    reading = read(open_source(str(path)), Wanted(), Rules(period_s=60.0))
    rows: list[Row] = []
    for frame in reading.source.batches(reading.layout.columns, reading.layout.time):
        code, time_s, power_w = reading._read(frame)
        values = [[None if not np.isfinite(v) else float(v) for v in column] for column in (time_s, power_w)]
        rows += list(zip([reading.sensors.names[c] if c >= 0 else "" for c in code], *values, strict=True))
    check(open_source(str(path)), rules=Rules(period_s=60.0))
    return Read(rows)


def _draw_kinds(rng: random.Random) -> list[list[str]]:
    return [
        [f"kind{i}", str(rng.randrange(1, 64)), str(rng.randrange(60, 9000)), str(rng.randrange(60, 400))]
        for i in range(rng.randrange(1, 6))
    ]


def _row_kinds(cell: dict[str, str]) -> Row:
    return cell["name"], *(number(cell[name]) for name in ("nodes", "work_s", "draw_w"))


def _read_kinds(path: Path) -> Read:
    from wattline.formats.tables.kinds import read_kinds

    return Read([(k.name, k.nodes, k.work_s, k.draw_w) for k in read_kinds(path)])


def _draw_responses(rng: random.Random) -> list[list[str]]:
    """Draw a response to caps: more power, less time."""
    count = rng.randrange(2, 7)
    watts, times = (sorted(rng.sample(range(50, 900), count)) for _ in range(2))
    return [[str(w), f"{t / 8:g}"] for w, t in zip(watts, reversed(times), strict=True)]


def _row_responses(cell: dict[str, str]) -> Row:
    return number(cell["power_w"]), number(cell["time_s"])


def _read_responses(path: Path) -> Read:
    from wattline.formats.tables.responses import read_response
    from wattline.physics.responses.table import Table

    found = read_response(path)
    assert isinstance(found, Table)
    return Read(list(found.measured))


def _draw_configurations(rng: random.Random) -> list[list[str]]:
    return [
        [app, str(n), str(c), "80", repr(round(rng.uniform(300, 600), 2)), repr(round(n * rng.uniform(50, 200), 1))]
        for app in ("lu", "cg")[: rng.randrange(1, 3)]
        for n in range(1, rng.randrange(2, 5))
        for c in (6, 12)
    ]


def _row_configurations(cell: dict[str, str]) -> Row:
    return cell["application"], *(number(cell[name]) for name in ("nodes", "cores", "cap_w", "time_s", "power_w"))


def _read_configurations(path: Path) -> Read:
    from wattline.formats.tables.configurations import read_configurations

    found = read_configurations(path)
    rows: list[Row] = []
    for name, t in found.tables.items():
        rows += [(name, *values) for values in zip(t.nodes, t.cores, t.cap_w, t.time_s, t.power_w, strict=True)]
    return Read(rows, 0, sum(note.count for note in found.notes))


TEXTS = {
    text.name: text
    for text in (
        Text(
            "swf",
            SWF_FIELDS,
            " ",
            _draw_swf,
            _row_swf,
            _read_swf,
            header=False,
            comment=";",
            comments="; MaxNodes: 128\n",
            time="f1",
            unordered=True,
            command=("trace", "info"),
        ),
        Text(
            "gwf",
            GWF_FIELDS,
            " ",
            _draw_gwf,
            _row_gwf,
            _read_gwf,
            header=False,
            comment="#",
            comments="# MaxNodes: 128\n",
            time="f1",
            unordered=True,
            command=("trace", "info"),
        ),
        Text(
            "sacct",
            ("jobid", "submit", "elapsedraw", "nnodes", "user", "state"),
            "|",
            _draw_sacct,
            _row_sacct,
            _read_sacct,
            iso="submit",
            unordered=True,
            command=("trace", "info"),
        ),
        Text(
            "table",
            ("job_id", "submit_s", "work_s", "nodes", "user"),
            ",",
            _draw_table,
            _row_table,
            _read_table,
            quotes=True,
            time="submit_s",
            unordered=True,
            command=("trace", "info"),
        ),
        Text(
            "krc",
            ("interarrival", "service", "cores_used", "delays"),
            ",",
            _draw_krc,
            _row_krc,
            _read_krc,
            command=("trace", "info"),
        ),
        Text(
            "signal",
            ("time_s", "value"),
            ",",
            _draw_signal,
            _row_signal,
            _read_signal,
            quotes=True,
            time="time_s",
            unordered=True,
        ),
        Text("prices", ("time_s", "lmp"), ",", _draw_prices, _row_prices, _read_prices, quotes=True, time="time_s"),
        Text(
            "limits",
            ("time_s", "limit_w"),
            ",",
            _draw_limits,
            _row_limits,
            _read_limits,
            quotes=True,
            time="time_s",
            blanks=PYTHONS_BLANKS,
        ),
        Text(
            "samples",
            ("node", "time_s", "power_w"),
            ",",
            draw_samples,
            row_samples,
            read_samples,
            quotes=True,
            time="time_s",
            blanks=" \t",
            command=("telemetry", "check", "--period", "60"),
        ),
        Text(
            "kinds",
            ("name", "nodes", "work_s", "draw_w"),
            ",",
            _draw_kinds,
            _row_kinds,
            _read_kinds,
            quotes=True,
            blanks=PYTHONS_BLANKS,
        ),
        Text(
            "responses",
            ("power_w", "time_s"),
            ",",
            _draw_responses,
            _row_responses,
            _read_responses,
            quotes=True,
            unordered=True,
        ),
        Text(
            "configurations",
            ("application", "nodes", "cores", "cap_w", "time_s", "power_w"),
            ",",
            _draw_configurations,
            _row_configurations,
            _read_configurations,
            quotes=True,
            blanks=PYTHONS_BLANKS,
        ),
    )
}
