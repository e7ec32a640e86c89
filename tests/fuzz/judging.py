"""Is what a reader did with a file right? Right, repaired with a count, refused in one line, or wrong."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.texts import Read, Row, Text
from wattline.errors import InputError, WattlineError


class Wrong(Exception):  # noqa: N818  (a verdict)
    """A reader returned what the file does not say, or failed otherwise than by one line."""


def attempt(read: Callable[[Path], Any], path: Path) -> Any:
    """Return what a reader returns, or the line it refuses the file with, as an exception of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return read(path)
        except InputError as problem:
            text = str(problem)
            if "\n" in text or len(text) > 2000 or not text.strip():
                raise Wrong(f"the refusal is not one line: {text[:200]!r}") from None
            return problem
        except WattlineError as problem:
            raise Wrong(f"{type(problem).__name__} instead of a refusal: {problem}") from None
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # a panic of a library is no Exception
            raise Wrong(f"internal error: {type(problem).__name__}: {str(problem)[:200]}") from problem


def plain(rows: list[Row]) -> Counter[Row]:
    """Return rows as Python's own numbers and texts, counted."""
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return float(f"{float(value):.12g}")


def must_be(text: Text, path: Path, expected: list[Row], *, may_refuse: bool = False, may_note: bool = False) -> str:
    """Judge a file whose content is known exactly."""
    found = attempt(text.read, path)
    if isinstance(found, InputError):
        if may_refuse:
            return "refused"
        raise Wrong(f"refused, though it is sound: {found}")
    return _same(found, plain(expected), may_note=may_note)


def _same(found: Read, expected: Counter[Row], *, may_note: bool) -> str:
    rows = plain(found.rows)
    if rows == expected:
        return "repaired" if found.noted or found.dropped else "right"
    missing, extra = list((expected - rows).elements()), list((rows - expected).elements())
    if may_note and len(extra) <= found.noted and len(missing) <= found.noted + found.dropped:
        return "repaired"
    raise Wrong(
        f"not said by the file: {extra[:3]}; missing: {missing[:3]} (dropped {found.dropped}, noted {found.noted})"
    )


def must_not_lie(text: Text, path: Path, content: bytes, before: list[Row]) -> str:
    """Judge a damaged file: what it still says, what is left out with a count, or a refusal."""
    found = attempt(text.read, path)
    if isinstance(found, InputError):
        return "refused"
    lines, whole = text.says(content)
    said = [line for line in lines if line is not None]
    if whole:
        return _same(found, plain(said), may_note=True)
    # of a damaged header every other column must be as it was, and what has lost its name unknown
    columns, known = (
        list(zip(*found.rows, strict=True)),
        list(zip(*(before if len(before) == len(lines) else said), strict=True)),
    )
    if not known:
        raise Wrong(f"read {len(found.rows)} rows of a file that says nothing")
    for i, column in enumerate(columns):
        counts, right = plain([(v,) for v in column]), plain([(v,) for v in known[i]])
        if (
            counts != right
            and any(value not in (None, "", 0.0, -1.0) and value == value for (value,) in counts - right)
            and not (found.noted or found.dropped)
        ):
            raise Wrong(
                f"column {i} of a file with a damaged header holds what was not there: {list(counts - right)[:3]}"
            )
    return "repaired" if found.dropped or found.noted else "right"
