"""The one exception tree: everything Wattline raises on purpose.

::

    WattlineError               shown as one line, exit code 2
    ├── InputError              something a user wrote or gave us is wrong
    │   ├── ScenarioError       a scenario file, a ``--set`` or a flag
    │   ├── TraceError          a job log, a signal, a journal: file, line, field, value
    │   └── PolicyError         a user's policy: file, what is wrong, what to do
    │       └── EndlessError    one that did not come back
    └── RunError                a run could not go on
        ├── StuckError          jobs wait and nothing can happen any more
        └── PoisonedError       a state left half-way by an exception was used again
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Self


class WattlineError(Exception):
    """Base of all errors a user may see; its text is one line that says what to do.

    Where they are known, ``file`` and ``line`` say where, ``field`` names the key, column or parameter, ``value`` is
    what was found there.
    """

    file: str | None = None
    line: int | None = None
    field: str | None = None
    value: object = None

    def about(
        self, file: Path | str | None = None, line: int | None = None, field: str | None = None, value: object = None
    ) -> Self:
        """Note what is known of where the mistake is; what is noted already stays."""
        self.file = self.file if self.file is not None else None if file is None else str(file)
        self.line = self.line if self.line is not None else line
        self.field = self.field if self.field is not None else field
        self.value = self.value if self.value is not None else value
        return self

    def preceded(self, text: str) -> Self:
        """Return the same error with a text before its own."""
        found = type(self)(f"{text}{self}")
        return found.about(self.file, self.line, self.field, self.value)


class WattlineWarning(UserWarning):
    """What nobody should overlook although the run goes on: watts that were assumed, results that are hard to
    believe.
    """


class InputError(WattlineError):
    """Something given to Wattline is wrong."""


class ScenarioError(InputError):
    """A scenario file, an override or a flag is wrong."""


class TraceError(InputError):
    """A file on disk is not what its format says."""

    @classmethod
    def at(
        cls,
        path: Path | str,
        problem: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
        hint: str = "",
    ) -> TraceError:
        """Build the house form: ``file:line: field 'x': problem (got 'value'); hint``."""
        where = f"{one_line(path)}:{line}" if line is not None else one_line(path)
        what = f" field {field!r}:" if field is not None else ""
        got = f" (got {shorten(value)})" if value is not None else ""
        return cls(f"{where}:{what} {problem}{got}{'; ' + hint if hint else ''}").about(path, line, field, value)


class PolicyError(InputError):
    """A policy given by a user cannot be used."""


class EndlessError(PolicyError):
    """A user's policy did not come back from a call."""


class RunError(WattlineError):
    """A run could not be carried on."""


class StuckError(RunError):
    """Jobs are waiting and no event is left that could start them."""


class PoisonedError(RunError):
    """The state was left half-way through a step by an exception and cannot be resumed."""


def shorten(value: object, limit: int = 60) -> str:
    """Return ``repr(value)`` cut to ``limit`` characters, so that one bad field cannot flood a terminal."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # thousands of digits, lists in lists without end
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 2]}…'"


def cut(text: str, limit: int = 60) -> str:
    """Return a text as it was typed, cut to ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


LONGEST_NAME = 100
"""Characters of a name that tables have room for."""


def unfit_name(text: str) -> str:
    """Return why a name cannot be read in a table: empty, of several lines, or too long (nothing: it can)."""
    if not text.strip():
        return "must not be empty"
    if not text.isprintable():
        return f"must be printable text in one line, got {shorten(text)}"
    return "" if len(text) <= LONGEST_NAME else f"must have at most {LONGEST_NAME} characters, got {len(text)}"


def one_line(given: object) -> str:
    """Return a text that was given, a name say, with its line breaks shown as such."""
    return str(given).replace("\n", "\\n").replace("\r", "\\r")


def printable(text: str) -> str:
    """Return a text with what a terminal would obey written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the closest known name, or the list of what is known."""
    names = sorted(known)
    close = difflib.get_close_matches(name if isinstance(name, str) else shorten(name), names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""
