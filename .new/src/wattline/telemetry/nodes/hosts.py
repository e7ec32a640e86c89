"""Lists of hosts as Slurm writes them, ``node[001-004,007],login1`` → names, exactly."""

from __future__ import annotations

import re

from wattline.errors import InputError, shorten

MOST_NAMES = 10_000_000
"""A list that names more hosts than any machine has is a slip of the keyboard."""

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def expand_hosts(text: str) -> list[str]:
    """Return the names in a host list, in the order written; repeated ones stay.

    >>> expand_hosts("node[001-003,007],login1")
    ['node001', 'node002', 'node003', 'node007', 'login1']
    >>> expand_hosts("r[0-1]n[8-10]-ib")
    ['r0n8-ib', 'r0n9-ib', 'r0n10-ib', 'r1n8-ib', 'r1n9-ib', 'r1n10-ib']
    """
    names: list[str] = []
    for part in _split(text):
        names.extend(_expand(text, part))
        if len(names) > MOST_NAMES:
            raise InputError(f"host list {shorten(text)} names more than {MOST_NAMES:,} hosts")
    return names


def _split(text: str) -> list[str]:
    """Return the parts between commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        if c == "[":
            depth += 1
        elif c == "]":
            depth -= 1
        if depth not in (0, 1):
            raise InputError(f"host list {shorten(text)}: brackets do not match at character {i + 1}")
        if c == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    if depth:
        raise InputError(f"host list {shorten(text)}: a bracket is not closed")
    stripped = [part.strip() for part in (*parts, text[begin:])]
    if not all(stripped):
        raise InputError(f"host list {shorten(text)}: a name is empty")
    return stripped


def _expand(text: str, part: str) -> list[str]:
    """Return the names of one part, the last bracket counting fastest."""
    names = [""]
    for i, piece in enumerate(re.split(r"\[([^\]]*)\]", part)):
        choices = [piece] if i % 2 == 0 else _numbers(text, piece)
        if len(names) * len(choices) > MOST_NAMES:
            raise InputError(f"host list {shorten(text)} names more than {MOST_NAMES:,} hosts")
        names = [name + choice for name in names for choice in choices]
    if any(c.isspace() for c in part):
        raise InputError(f"host list {shorten(text)}: a blank inside the name {shorten(part)}")
    return names


def _numbers(text: str, inside: str) -> list[str]:
    found: list[str] = []
    for item in inside.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            raise InputError(f"host list {shorten(text)}: expected numbers like 001-004,007 in brackets, got {item!r}")
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise InputError(f"host list {shorten(text)}: the range {item.strip()} runs backwards")
        if int(high) - int(low) >= MOST_NAMES:
            raise InputError(f"host list {shorten(text)} names more than {MOST_NAMES:,} hosts")
        # zeros in front are part of the name, as wide as the first number of the range
        width = len(low) if low.startswith("0") or len(low) == len(high) else 0
        found.extend(str(number).zfill(width) for number in range(int(low), int(high) + 1))
    return found
