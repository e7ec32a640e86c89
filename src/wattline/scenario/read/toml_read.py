"""The one door for TOML: what is too deep, too long or too large is refused in a line before the standard reader sees
it.

The standard reader takes time and memory by the square of a dotted key's depth, recurses into every bracket and trips
over numbers of thousands of digits. One pass over the text, which skips strings and comments, counts all of that first.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from wattline.errors import ScenarioError
from wattline.memory import show_bytes

MOST_BYTES = 1_000_000
"""Length of a file; tables belong into files of their own."""

MOST_KEYS, MOST_NESTED, MOST_LETTERS = 12, 12, 200
"""Parts of a dotted key, brackets within brackets, characters of a key or a number; ours need 5, 5 and 40."""

_TOKEN = re.compile(
    r'''(?P<string>"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|\'\'\'(?:[^']|'(?!\'\'))*'{3,5}|"(?!"")(?:[^"\\\n]|\\.)*"|'(?!\'\')[^'\n]*')'''
    r"|(?P<comment>\#[^\n]*)|(?P<word>[\w+:-]+)|(?P<open>[\[{])|(?P<close>[\]}])"
    r"|(?P<dot>\.)|(?P<gap>[ \t\r]+)|(?P<mark>[=,\n])|(?P<wrong>.)",
    re.DOTALL,
)


def loads(text: str, where: str = "") -> dict[str, Any]:
    """Return what a TOML text says; ``where`` stands before what is wrong with its size.

    Raises ``ScenarioError`` for what is too much and ``tomllib.TOMLDecodeError`` for what is no TOML.
    """
    check_size(text, where)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError, OverflowError) as problem:  # dates that no calendar has, and the like
        raise tomllib.TOMLDecodeError(" ".join(str(problem).split())) from None


def value_of(text: str, where: str) -> Any:
    """Return the one value that a text is in TOML; raises as ``loads`` does, and where something follows the value."""
    found = loads(f"v = {text}", where)
    if len(found) > 1:
        raise ScenarioError(f"{where}expected one value, and another line follows it; set each key by itself")
    return found["v"]


def check_size(text: str, where: str = "") -> None:
    """Refuse a text that is too large, nested too deeply, or has keys that are too deep or too long."""
    if len(text) > MOST_BYTES:
        raise ScenarioError(f"{where}is larger than {show_bytes(MOST_BYTES)}; tables belong into files of their own")
    nested = parts = 0
    long_at = -1
    after_dot = False
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "gap":
            continue
        if kind == "wrong":
            return  # no TOML, or a text that does not end: the standard reader stops here at the latest, and says why
        if long_at >= 0 and (kind == "dot" or found[0] == "="):
            _refuse(text, long_at, where, f"a key has more than {MOST_LETTERS} characters")
        long_at = found.start() if kind == "string" and found.end() - found.start() > MOST_LETTERS else -1
        if kind in ("word", "string"):
            if kind == "word" and found.end() - found.start() > MOST_LETTERS:
                _refuse(text, found.start(), where, f"a key or number has more than {MOST_LETTERS} characters")
            parts = parts + 1 if after_dot else 1
            if parts > MOST_KEYS:
                _refuse(text, found.start(), where, f"a dotted key has more than {MOST_KEYS} parts")
        elif kind == "open":
            nested += 1
            if nested > MOST_NESTED:
                _refuse(text, found.start(), where, f"more than {MOST_NESTED} brackets are open at once")
        elif kind == "close":
            nested = max(0, nested - 1)
        after_dot = kind == "dot"


def _refuse(text: str, at: int, where: str, problem: str) -> None:
    line = text.count("\n", 0, at) + 1
    place = f"{where.removesuffix(': ')}:{line}: " if where and not where.startswith("--") else where
    raise ScenarioError(f"{place}{problem}; no scenario needs that")
