"""What went wrong in a user's policy, in one line: file, line, the source of that line, and what to do."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from wattline.control.users import faults
from wattline.errors import PolicyError, did_you_mean
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import State
from wattline.model.state.spare import FAULT, WHAT, WHO

READ_ONLY = (
    "only the engine writes that, or a policy of another slot; a policy proposes (p_job, want_cap_w, …) and "
    "keeps its own state in memory"
)

_IN_PLACE = "'NoneType' object has no attribute 'args'"
"""What numba says where ``+=`` changes a read-only array in place, or one whose kind cannot hold the result."""

NOT_KNOWN = "numba does not know what is asked for here; write it in another way, or leave compiled=True out"
"""What is said where numba fails without a word."""

LONGEST = 200
"""Characters of an exception's own text that are told."""


def code_of(function: Callable[..., Any]) -> CodeType:
    """Return the code that the user wrote, also of a function that was wrapped to be watched."""
    code: CodeType = inspect.unwrap(function).__code__
    return code


def where(mechanism: Mechanism) -> str:
    """Return file and line of a mechanism, for messages."""
    code = code_of(mechanism.function)
    return f"{code.co_filename}:{code.co_firstlineno}: policy {mechanism.called!r}"


def failed_call(function: Callable[..., Any], name: str, problem: BaseException) -> PolicyError:
    """Return the error for an exception inside a plain-Python policy."""
    return PolicyError(f"{_place(problem.__traceback__, function)}: policy {name!r}: {_meaning(problem)}")


def failed_run(problem: Exception, s: State, slots: Sequence[Mechanism], jobs: JobTable) -> PolicyError | None:
    """Return the error for an exception out of the compiled loop if a user's policy was being called, else None."""
    who = int(s.words[WHO])
    if who == 0:
        return None
    policy = slots[who - 1]
    if s.words[FAULT] != 0:
        return PolicyError(f"{where(policy)} {_fault(s, jobs, int(s.words[FAULT]), int(s.words[WHAT]))}")
    return failed_call(policy.function, policy.called, problem)


_RIGHT_ANSWERS = {
    codes.ORDER: "0 is right, or 1 after writing the keys of all waiting jobs",
    codes.CAP: "1 is right where it wants something changed, else 0",
    codes.LEARN: "0 is right",
    codes.PROFILE: "0 is right",
}


def _fault(s: State, jobs: JobTable, fault: int, what: int) -> str:
    """Return what a policy wrote or returned that nobody can use."""
    counts = {
        faults.STARTS: ("returned {} proposals", s.p_job.size),
        faults.STOPS: ("put {} jobs on the stop list (n_stop)", s.stop_job.size),
        faults.RESUMES: ("wants {} jobs resumed (n_resume)", s.resume_job.size),
        faults.RECAPS: ("wants {} jobs capped (n_recap)", s.recap_job.size),
        faults.EXTENTS: ("returned {} extents of nodes", s.place_a.size),
    }
    if fault in counts:
        text, room = counts[fault]
        return f"{text.format(what)}; there is room for 0 … {room}"
    if fault == faults.ANSWER:
        return f"returned {what}; {_RIGHT_ANSWERS[int(s.words[WHO]) - 1]}"
    if fault == faults.REASON:
        return f"gave {what} as reason for a start (p_why); codes.CHOSEN is right for most"
    if fault == faults.MARGIN:
        return f"set s.margin[0] to {s.margin[0]:g}; a number from 0 on is needed"
    if fault == faults.TIMER:
        own = int(s.words[WHO]) - 1
        return f"set the timer of {codes.SLOT_NAMES[what]} policies (wake_at_s[{what}]); its own is wake_at_s[{own}]"
    name, array = {
        faults.ESTIMATE: ("estimate_s", s.estimate_s),
        faults.PROFILE: ("profile_w", s.profile_w),
        faults.SPREAD: ("spread_w", s.spread_w),
        faults.LEVEL: ("profile_from", s.profile_from),
    }[fault]
    least = f"0 to {s.profile.shape[1] + 1}" if fault == faults.LEVEL else "0 on"
    return f"gave job {jobs.job_id[what]} s.{name} = {array[what]:g}; a number from {least} is needed"


def failed_compile(mechanism: Mechanism, problem: Exception) -> PolicyError:
    """Return the error for a policy that numba refuses, with numba's pages cut to the line that says why."""
    text = str(problem)
    file = code_of(mechanism.function).co_filename
    line = _line_told(text, file) or _line_being_compiled(problem.__traceback__, file)
    place = f"{_spot(file, line)}: policy {mechanism.called!r}" if line else where(mechanism)
    return PolicyError(f"{place} cannot be compiled: {_gist(text) or NOT_KNOWN}")


def refused(mechanism: Mechanism, file: str, line: int, said: str) -> PolicyError:
    """Return the error for a policy that would be compiled, but does what a policy must not."""
    return PolicyError(f"{_spot(file, line)}: policy {mechanism.called!r} cannot be compiled: {said}")


# ------------------------------------------------------------------ places


def _line(trace: TracebackType | None, function: Callable[..., Any]) -> int:
    """Return the innermost line of the function's file in a traceback (0: none)."""
    file, found = Path(code_of(function).co_filename).resolve(), 0
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).resolve() == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def _line_told(text: str, file: str) -> int:
    """Return the first line of the user's file that numba names (0: none); it names those of other files too."""
    named = re.findall(r'File "([^"]*)", line (\d+)', text) or re.findall(r"([^\s\"(]+\.py)[:\s(]+(\d+)\)", text)
    own = Path(file).resolve()
    return next((int(line) for path, line in named if Path(path).resolve() == own), 0)


def _line_being_compiled(trace: TracebackType | None, file: str) -> int:
    """Return the line of the user's file that numba looked at when something inside it failed (0: unknown)."""
    found = 0
    while trace is not None:
        loc = getattr(trace.tb_frame.f_locals.get("self"), "loc", None)
        if getattr(loc, "filename", None) == file:
            found = int(loc.line)  # type: ignore[union-attr]
        trace = trace.tb_next
    return found


def _place(trace: TracebackType | None, function: Callable[..., Any]) -> str:
    code = code_of(function)
    line = _line(trace, function)
    return _spot(code.co_filename, line) if line else f"{code.co_filename}:{code.co_firstlineno}"


def _spot(file: str, line: int) -> str:
    linecache.checkcache(file)
    source = linecache.getline(file, line).strip()
    return f"{file}:{line}{f' ({source})' if source else ''}"


# ------------------------------------------------------------------ meanings


def _meaning(problem: BaseException) -> str:
    try:
        text = str(problem)
    except Exception:  # a class of the user's
        text = ""
    if type(problem).__module__.startswith("numba."):  # a helper that was given what no helper takes
        return _gist(text)
    if isinstance(problem, ValueError) and "read-only" in text:
        return READ_ONLY
    if isinstance(problem, AttributeError) and text.startswith("fields are arrays"):
        return text
    if isinstance(problem, AttributeError) and "'State'" in text and isinstance(problem.name, str):
        return _no_field(problem.name)
    first = text.splitlines()[0] if text else "no message"
    return f"{type(problem).__name__}: {first if len(first) <= LONGEST else first[: LONGEST - 1] + '…'}"


def _no_field(name: str) -> str:
    from wattline.model.state.record import FIELDS

    return f"the state has no field {name!r}{_close(name, FIELDS)}"


def _close(name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known)
    return hint if "did you mean" in hint else "; the guide lists them"


def _gist(text: str) -> str:
    from wattline.kernel.frozen import CAST, CONSTANT

    for ours in (CAST, CONSTANT):
        if ours in text:
            return ours
    typo = re.search(r"Unknown attribute '(\w+)' of type State", text)
    if typo:
        return _no_field(typo.group(1))
    field = re.search(r"field\((?:(s\.\w+)[\w ]*: )?[^)]*True\)", text)
    if field and ("setitem" in text or "readonly" in text):
        return f"{field[1]}: {READ_ONLY}" if field[1] else READ_ONLY
    if re.search(r"setitem.*readonly array", text, re.DOTALL):
        return READ_ONLY
    if text == _IN_PLACE:
        return f"{READ_ONLY}; an array of its own, whose kind cannot hold the result, is changed by a[:] = a + b"
    if re.search(r"getitem.*float\d+\)", text, re.DOTALL):
        return "an index must be an int, not a float"
    if "No definition for lowering State" in text:
        return "fields are arrays: write s.field[0] = …, not s.field = …"
    if "from none to int64" in text or "return type: none" in text:
        return "every path must return an int"
    if "OverloadSelector object" in text:
        return "a constant is of a kind that compiled code cannot hold (a list, say); use a tuple or an array"
    if text.startswith("The truth value of an array"):
        return "a method of an array in another module: import the array by its name (from module import ARRAY)"
    if "IMPORT_NAME" in text:
        return "imports belong at the top of the file"
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
    return (lines[0] if lines else text)[:200]
