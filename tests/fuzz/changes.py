"""Changes of a text file whose effect is known, and damage whose effect plain rules can tell."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fuzz.texts import Row, Text

Rows = list[list[str]]


@dataclass(frozen=True)
class Change:
    """A changed file: its bytes, the rows that it now holds, and whether a reader may also refuse or remark."""

    content: bytes
    rows: list[Row]
    may_refuse: bool = False
    may_note: bool = False


def _rows(text: Text, rows: Sequence[Sequence[str]]) -> list[Row]:
    found = [text.row(dict(zip(text.columns, row, strict=True))) for row in rows]
    return [row for row in found if row is not None]


def _plain(text: Text, rows: Rows, content: bytes, **more: bool) -> Change:
    return Change(content, _rows(text, rows), **more)


def _ends(text: Text, rows: Rows, rng: random.Random) -> Change:
    end = rng.choice(text.ends)
    # samples stream: lines that end in CR alone may be refused, never misread
    return _plain(
        text, rows, text.write(rows).replace("\n", end).encode(), may_refuse=text.name == "samples" and end == "\r"
    )


def _mark(text: Text, rows: Rows, _: random.Random) -> Change:
    return _plain(text, rows, b"\xef\xbb\xbf" + text.write(rows).encode())


def _packed(text: Text, rows: Rows, rng: random.Random) -> Change:
    content = text.write(rows).encode()
    cut = rng.randrange(len(content))
    parts = (content,) if rng.random() < 0.5 else (content[:cut], content[cut:])
    return _plain(text, rows, b"".join(gzip.compress(part, mtime=0) for part in parts))


def _blanks(text: Text, rows: Rows, rng: random.Random) -> Change:
    lines = text.write(rows).splitlines()
    blank = rng.choice(["", " ", "\t"]) if text.separator != "\t" else ""
    return _plain(text, rows, "\n".join(line + blank * rng.randrange(3) for line in lines).encode() + b"\n")


def _empty_lines(text: Text, rows: Rows, rng: random.Random) -> Change:
    lines = text.write(rows).splitlines()
    for _ in range(rng.randrange(1, 4)):
        lines.insert(rng.randrange(1, len(lines) + 1), "")
    return _plain(text, rows, "\n".join(lines).encode() + b"\n")


def _no_end(text: Text, rows: Rows, _: random.Random) -> Change:
    return _plain(text, rows, text.write(rows).rstrip("\n").encode())


def _case(text: Text, rows: Rows, rng: random.Random) -> Change:
    names = ["".join(rng.choice((c.lower(), c.upper())) for c in name) for name in text.columns]
    return _plain(text, rows, text.write(rows, names).encode())


def _columns(text: Text, rows: Rows, rng: random.Random) -> Change:
    order = list(range(len(text.columns)))
    rng.shuffle(order)
    moved = [[row[i] for i in order] for row in rows]
    fixed = text.name == "limits"  # its first line is fixed
    return _plain(text, rows, text.write(moved, [text.columns[i] for i in order]).encode(), may_refuse=fixed)


def _quoted(text: Text, rows: Rows, rng: random.Random) -> Change:
    quoted = [[f'"{cell}"' if rng.random() < 0.5 else cell for cell in row] for row in rows]
    return _plain(text, rows, text.write(quoted).encode())


def _spaces(text: Text, rows: Rows, rng: random.Random) -> Change:
    spaced = [[" " * rng.randrange(3) + cell + " " * rng.randrange(3) for cell in row] for row in rows]
    return _plain(text, rows, text.write(spaced).encode())


def _comments(text: Text, rows: Rows, rng: random.Random) -> Change:
    lines = text.write(rows).splitlines()
    for _ in range(rng.randrange(1, 4)):
        lines.insert(rng.randrange(len(lines) + 1), f"{text.comment} says nothing")
    return _plain(text, rows, "\n".join(lines).encode() + b"\n")


def _again(text: Text, rows: Rows, rng: random.Random) -> Change:
    """A row twice: two rows, or one and a remark, or a refusal; never silently something else."""
    at = rng.randrange(len(rows))
    more = [*rows[: at + 1], rows[at], *rows[at + 1 :]]
    return Change(text.write(more).encode(), _rows(text, more), may_refuse=True, may_note=True)


def _order(text: Text, rows: Rows, rng: random.Random) -> Change:
    moved = list(rows)
    rng.shuffle(moved)
    return _plain(text, rows, text.write(moved).encode())


def _clock(text: Text, rows: Rows, rng: random.Random) -> Change:
    i = text.columns.index(text.time)
    shift = 600 * rng.randrange(1, 10_000)
    moved = [[*row[:i], str(float(row[i]) + shift), *row[i + 1 :]] for row in rows]
    return Change(text.write(moved).encode(), _rows(text, moved))


def _zone(text: Text, rows: Rows, rng: random.Random) -> Change:
    i = text.columns.index(text.iso)
    hours = rng.randrange(-11, 13)
    sign = "-" if hours < 0 else "+"

    def moved(stamp: str) -> str:
        return f"{(datetime.fromisoformat(stamp) + timedelta(hours=hours)).isoformat()}{sign}{abs(hours):02d}:00"

    same = [[*row[:i], moved(row[i]), *row[i + 1 :]] for row in rows]
    return _plain(text, rows, text.write(same).encode(), may_refuse=True)


def _kilowatts(text: Text, rows: Rows, _: random.Random) -> Change:
    same = [[node, time, repr(float(power) / 1e3)] for node, time, power in rows]
    return _plain(text, rows, text.write(same, ["node", "time_s", "power_kw"]).encode())


def _milliseconds(text: Text, rows: Rows, _: random.Random) -> Change:
    same = [[node, str(int(time) * 1000), power] for node, time, power in rows]
    return _plain(text, rows, text.write(same, ["node", "time_ms", "power_w"]).encode())


Apply = Callable[[Text, Rows, random.Random], Change]
ALWAYS: dict[str, Apply] = {
    "line ends": _ends,
    "byte order mark": _mark,
    "gzip": _packed,
    "blanks at ends": _blanks,
    "empty lines": _empty_lines,
    "no last newline": _no_end,
    "a row twice": _again,
}


def changes_of(text: Text) -> dict[str, Apply]:
    """Return the changes that make sense for a format."""
    found = dict(ALWAYS)
    if text.header:
        found |= {"case of names": _case, "order of columns": _columns}
    if text.quotes:
        found |= {"quotes": _quoted}
    if text.separator != " ":
        found |= {"spaces": _spaces}
    if text.comment:
        found |= {"comments": _comments}
    if text.unordered:
        found |= {"order of rows": _order}
    if text.time:
        found |= {"clock": _clock}
    if text.iso:
        found |= {"zone": _zone}
    if text.name == "samples":
        found |= {"kilowatts": _kilowatts, "milliseconds": _milliseconds}
    return found


def damage(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return a damaged file and how: a flipped bit, bytes put in, left out or changed, a cut, a stretch twice."""
    at = rng.randrange(len(content))
    how = rng.choice(["flip", "insert", "delete", "replace", "cut", "repeat", "zeros"])
    if how == "flip":
        return how, content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
    if how == "insert":
        junk = rng.choice(
            [
                b"x",
                b"\xff",
                b'"',
                b",",
                b"|",
                b"-",
                b".",
                b"e",
                b" ",
                b"\n",
                b"\r",
                b"1",
                b"_",
                b"nan",
                b"inf",
                b"\xc3\xa9",
                b";",
                b"#",
            ]
        )
        return how, content[:at] + junk + content[at:]
    if how == "delete":
        return how, content[:at] + content[at + rng.randrange(1, 9) :]
    if how == "replace":
        return how, content[:at] + rng.randbytes(rng.randrange(1, 4)) + content[at + 3 :]
    if how == "cut":
        return how, content[:at]
    if how == "repeat":
        return how, content[:at] + content[max(0, at - rng.randrange(1, 60)) :]
    return how, content[:at] + b"\0" * rng.randrange(1, 5) + content[at + 4 :]
