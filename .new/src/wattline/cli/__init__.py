"""The command line: parse, call, show. Errors are one line on standard error, with an exit code."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import importlib
import os
import re
import signal
import sys
import types
import warnings
from pathlib import Path
from typing import Any

from wattline.cli.apart import results_apart
from wattline.cli.complaints import BAD_INPUT, BROKEN_PIPE, FAILED, INTERRUPTED, complain, said, show_warning
from wattline.errors import InputError, RunError, WattlineError, cut, shorten
from wattline.memory import require_room

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why a file cannot be written although it is open."""

MOST = 2**53
"""The largest whole number that any flag takes: larger ones are not all numbers that a float can have."""

LONGEST = 100
"""Characters of a flag and its value that a message repeats."""


_ended: list[int] = []
"""The exit code of a command of this process that is over and wants no more of Python."""


@atexit.register
def _leave() -> None:
    """Leave the memory of a process to the system: Python would take a thousand modules apart first, a twentieth of a
    short run.

    All threads have ended by now, and who registered after this module was called before.
    """
    if _ended:
        _flush()
        os._exit(_ended[0])


def _flush() -> None:
    """Write what is held back; what a policy's file wants done at the end may have closed a stream."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def main() -> None:
    """Run the command line of this process."""
    # Nearly all that a command makes is modules, which stay. Looking through them for garbage takes a tenth of a short
    # run while they load, and more when Python ends, though the system takes all memory back anyway.
    gc.set_threshold(500_000)
    # The matrices here are small: threads for their algebra only wait for one another, many times as long as one
    # computes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # We use no plug-ins of pydantic; it would look for them in everything that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    simulates = False
    if "--help" not in sys.argv and len(sys.argv) > 1:
        from wattline.sim.early import COMMANDS, begin

        begin(sys.argv[1:])
        simulates = sys.argv[1] in COMMANDS
    from wattline import process

    process.own = True
    code = call(sys.argv[1:])
    gc.freeze()
    stopped = code in (INTERRUPTED, 128 + signal.SIGTERM)
    # Compiled code that nobody can stop, or runs that are not waited for: do not take their memory from under them.
    if _left_behind() or (simulates and stopped):
        _flush()
        os._exit(code)
    if simulates:
        _ended.append(code)
    _guard_the_end()
    sys.exit(code)


def _guard_the_end() -> None:
    """Guard what files of users want done when Python ends (``atexit``), and keep it from the results."""
    guard = sys.modules.get("wattline.control.users.guard")
    if guard is None:
        return
    with contextlib.suppress(Exception):  # of numpy, say, from which a policy took functions away
        guard.guard_the_end()
    if "--json" in sys.argv:
        with contextlib.suppress(OSError, ValueError):  # nobody reads the results any more
            sys.stdout.flush()
            os.dup2(2, 1)


def call(arguments: list[str]) -> int:
    """Run a command line; return its exit code."""
    warnings.showwarning = show_warning
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? instead of failing
    said.clear()
    earlier = len(_left_behind())
    try:
        _refuse_bytes(arguments)
        if "--help" not in arguments:
            require_room()
        with results_apart(wanted="--json" in arguments):
            code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # whoever read our output has seen enough; keep the interpreter from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt as problem:
        return complain(_last_of(earlier) or str(problem) or "interrupted", INTERRUPTED)
    except WattlineError as problem:
        return complain(str(problem), FAILED if isinstance(problem, RunError) else BAD_INPUT)
    except OSError as problem:
        if os.environ.get("WATTLINE_DEBUG"):
            raise
        if problem.filename is None and problem.errno in NO_ROOM and _is_full(sys.stdout):
            return complain(f"standard output: cannot be written ({problem.strerror or problem})", BAD_INPUT)
        where = f"{shorten(str(problem.filename))}: " if problem.filename is not None else ""
        return complain(f"{where}{problem.strerror or problem}", BAD_INPUT)
    except MemoryError:
        return complain("out of memory: this machine has too little for so much at once", FAILED)
    except Exception as problem:
        if os.environ.get("WATTLINE_DEBUG"):
            raise
        what = " ".join(f"{type(problem).__name__}: {problem}".split())
        return complain(f"internal error: {what} (WATTLINE_DEBUG=1 shows where; please report it)", FAILED)
    except BaseException as problem:  # what polars raises when it gives up is no Exception
        if os.environ.get("WATTLINE_DEBUG") or type(problem).__name__ != "PanicException":
            raise
        return complain(f"the reader of tables gave up: {' '.join(str(problem).split())}", FAILED)
    if code == INTERRUPTED and not said:  # the parser turns Ctrl-C into this code, without a word
        complain(_last_of(earlier) or "interrupted", INTERRUPTED)
    return code


def _refuse_bytes(arguments: list[str]) -> None:
    """Refuse names that are no text, which no journal or page could hold once all is computed, and numbers without
    end.
    """
    for before, argument in zip(["", *arguments], arguments, strict=False):
        value = argument.partition("=")[2] if argument.startswith("--") else argument if before.startswith("-") else ""
        if re.fullmatch(r"[+-]?\d{16,}", value) and (len(value) > 20 or abs(int(value)) > MOST):
            flag = argument.partition("=")[0] if argument.startswith("--") else before
            raise InputError(f"{flag} {value[:20]}…: is too large a number; at most {MOST}")
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{shorten(argument)}: is not UTF-8 text; rename it, or give another name") from None


def _left_behind() -> list[str]:
    """Return what was said of users' policies that did not come back in this process."""
    return list(getattr(sys.modules.get("wattline.wiring.watched"), "left_behind", []))


def _last_of(earlier: int) -> str:
    """Return what was said last of one that did not come back in this call, not earlier (nothing: an empty text)."""
    return next(reversed(_left_behind()[earlier:]), "")


def _is_full(stream: Any) -> bool:
    """Tell whether nothing can be written to a stream, as where its disk is full: an end of a line is tried."""
    try:
        stream.flush()
        os.write(stream.fileno(), b"\n")
    except ValueError:  # it is closed, or no file
        return False
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what it holds is let go
        return True
    return False


def _dispatch(arguments: list[str]) -> int:
    import typer

    from wattline.cli.app import app_for

    if not arguments or "--help" in arguments:
        _skip_markdown()
    command: Any = typer.main.get_command(app_for(arguments))
    try:
        got = command.main(args=arguments, prog_name="wattline", standalone_mode=False)
    except (BrokenPipeError, KeyboardInterrupt, WattlineError):
        raise
    except SystemExit as problem:  # how the parser ends where nobody reads on
        if isinstance(problem.__context__, BrokenPipeError):
            raise problem.__context__ from None
        raise
    except Exception as problem:
        if type(problem).__name__ == "Abort":  # how the parser passes Ctrl-C on, and files that end too early
            if isinstance(problem.__cause__, EOFError):
                raise problem.__cause__ from None
            raise KeyboardInterrupt from None
        if type(problem).__name__ == "Exit":
            return int(getattr(problem, "exit_code", 0))
        if not hasattr(problem, "format_message"):
            raise
        return _usage(problem, arguments)
    return int(got or 0)


def _skip_markdown() -> None:
    """Load what draws the help without the readers of Markdown and of tracebacks, which take as long as all the rest.

    Neither is used: our help is in rich's own markup, and errors are one line.
    """
    unused = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}
    absent = [name for name in unused if name not in sys.modules]
    for name in absent:
        sys.modules[name] = types.ModuleType(name)
        setattr(sys.modules[name], unused[name], type(unused[name], (), {}))
    try:
        importlib.import_module("typer.rich_utils")
    finally:
        for name in absent:
            del sys.modules[name]


def _usage(problem: Any, arguments: list[str]) -> int:
    """Say in one line what is wrong with the flags."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        return BAD_INPUT  # the help was shown
    message = problem.format_message()
    if any("@" in given or "=" in given or ":/" in given for given in arguments):
        from wattline.telemetry.sources.connection import may_be_secret

        for given in arguments:
            message = message.replace(given, "…") if may_be_secret(given) else message
    message = " ".join(message.split()).rstrip(".")
    path = getattr(getattr(problem, "ctx", None), "command_path", "wattline")
    return complain(f"{_in_our_words(problem, message, arguments)}; see {path} --help", BAD_INPUT)


_WORDS = (
    (r"Input should be a valid integer.*", "expected a whole number"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be greater than or equal to (\S+)", r"must be at least \1"),
    (r"(?:Value error, )?'.*' is not one of (.*)", r"expected one of \1"),
)
"""What the parser says about a value, and what we say."""


def _in_our_words(problem: Any, message: str, arguments: list[str]) -> str:
    """Return the value as it was typed and what was expected, for the mistakes that we know."""
    options = list(getattr(getattr(problem, "param", None), "opts", ()))
    flag = next((a for a in arguments if a.partition("=")[0] in options and a.startswith("-")), None)
    said = message.partition(": ")[2]
    for pattern, words in _WORDS:
        if flag is not None and re.fullmatch(pattern, said):
            value = "" if "=" in flag else " " + next(iter(arguments[arguments.index(flag) + 1 :]), "")
            typed = f"{flag}{value}"
            return f"{cut(typed, LONGEST)}: {re.sub(pattern, words, said)}"
    return message
