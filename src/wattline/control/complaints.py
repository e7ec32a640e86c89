"""What went wrong in a user's policy, in one line: file, line, the source of that line, and what to do."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from wattline.errors import PolicyError, did_you_mean
from wattline.model.mechanism import Mechanism

READ_ONLY = "only the engine writes that; a policy proposes (p_job, want_cap_w, …) and keeps its own state in memory"


def where(mechanism: Mechanism) -> str:
    """Return file and line of a mechanism, for messages."""
    code = mechanism.function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}: policy {mechanism.name!r}"


def failed_call(function: Callable[..., Any], name: str, problem: BaseException) -> PolicyError:
    """Return the error for an exception inside a plain-Python policy."""
    return PolicyError(f"{_place(problem.__traceback__, function)}: policy {name!r}: {_meaning(problem)}")


def failed_run(problem: Exception, mechanisms: Iterable[Mechanism]) -> PolicyError | None:
    """Return the error for an exception out of the compiled loop if a user's compiled policy raised it, else None."""
    users = [m for m in mechanisms if not m.builtin and m.compiled]
    for m in users:
        if _line(problem.__traceback__, m.function):
            return failed_call(m.function, m.name, problem)
    if not users:
        return None
    # some exceptions of compiled code (a division by zero) carry no line
    names = " or ".join(where(m) for m in users)
    return PolicyError(f"{names}: {_meaning(problem)}")


def failed_compile(mechanism: Mechanism, problem: Exception) -> PolicyError:
    """Return the error for a policy that numba refuses, with numba's pages cut to the line that says why."""
    text = str(problem)
    lines = re.findall(r'File "[^"]*", line (\d+)', text) or re.findall(r"\.py[:\s(]+(\d+)\)", text)
    file = mechanism.function.__code__.co_filename
    place = f"{_spot(file, int(lines[0]))}: policy {mechanism.name!r}" if lines else where(mechanism)
    return PolicyError(f"{place} cannot be compiled: {_gist(text)}")


# ------------------------------------------------------------------ places


def _line(trace: TracebackType | None, function: Callable[..., Any]) -> int:
    """Return the innermost line of the function's file in a traceback (0: none)."""
    file, found = Path(function.__code__.co_filename).resolve(), 0
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).resolve() == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def _place(trace: TracebackType | None, function: Callable[..., Any]) -> str:
    code = function.__code__
    line = _line(trace, function)
    return _spot(code.co_filename, line) if line else f"{code.co_filename}:{code.co_firstlineno}"


def _spot(file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()
    return f"{file}:{line}{f' ({source})' if source else ''}"


# ------------------------------------------------------------------ meanings


def _meaning(problem: BaseException) -> str:
    text = str(problem)
    if isinstance(problem, ValueError) and "read-only" in text:
        return READ_ONLY
    if isinstance(problem, AttributeError) and "'State'" in text and isinstance(problem.name, str):
        return _no_field(problem.name)
    return f"{type(problem).__name__}: {text.splitlines()[0] if text else 'no message'}"


def _no_field(name: str) -> str:
    from wattline.model.state import FIELDS

    return f"the state has no field {name!r}{_close(name, FIELDS)}"


def _close(name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known)
    return hint if "did you mean" in hint else "; the guide lists them"


def _gist(text: str) -> str:
    typo = re.search(r"Unknown attribute '(\w+)' of type State", text)
    if typo:
        return _no_field(typo.group(1))
    if "setitem" in text and re.search(r"field\([^)]*True\)", text):
        return READ_ONLY
    if "No definition for lowering State" in text:
        return "fields are arrays: write s.field[0] = …, not s.field = …"
    if "from none to int64" in text or "return type: none" in text:
        return "every path must return an int"
    if "IMPORT_NAME" in text:
        return "imports belong at the top of the file"
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
    return (lines[0] if lines else text)[:200]
