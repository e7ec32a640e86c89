"""Find mechanisms: built-in ones and those of installed packages by name, a user's by the path of its file."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import importlib
import importlib.util
import re
import sys
import traceback
from pathlib import Path

from wattline import learn, policies
from wattline.control import installed
from wattline.errors import LONGEST_NAME, PolicyError, cut, did_you_mean
from wattline.files import is_file
from wattline.model.codes import SLOT_NAMES
from wattline.model.mechanism import Mechanism

MODULES = policies.BUILTIN | learn.BUILTIN
"""Slot → name → module of every built-in mechanism."""


@functools.cache
def _builtin(slot: str, name: str) -> Mechanism:
    """Import the module of a built-in mechanism, and no other: all of them take a fifth of a second."""
    found = vars(importlib.import_module(MODULES[slot][name])).values()
    return next(m for m in found if isinstance(m, Mechanism) and (m.slot, m.name) == (slot, name))


@functools.cache
def catalog() -> dict[str, dict[str, Mechanism]]:
    """Return the built-in mechanisms: slot → name → mechanism."""
    return {slot: {name: _builtin(slot, name) for name in MODULES[slot]} for slot in SLOT_NAMES}


def _reduce(mechanism: Mechanism) -> tuple[object, tuple[str, str]]:
    """Pickle a mechanism by where it is found: its function is hidden behind it in its module."""
    if mechanism.builtin:
        return find, (mechanism.slot, mechanism.name)
    if mechanism.package:
        return find, (mechanism.slot, f"{mechanism.package}:{mechanism.name}")
    return find, (mechanism.slot, f"{mechanism.file}:{mechanism.name}")


copyreg.pickle(Mechanism, _reduce)  # type: ignore[arg-type]  # find returns a Mechanism


def find(slot: str, name: str, *, base: Path | None = None) -> Mechanism:
    """Return the mechanism of a slot: a built-in name, that of an installed package (or ``package:name``), or
    ``path/to/file.py`` or ``path/to/file.py:name``.
    """
    known = MODULES[slot]
    if name in known:
        return _builtin(slot, name)
    told, wanted = named(name)
    if not told.endswith(".py"):
        brought = installed.one_of(slot, name)
        if brought is not None:
            return brought
        brought_in = [m for m in installed.installed().policies if m.slot == slot]
        there = (*known, *(f"{m.package}:{m.name}" if m.name in known else m.name for m in brought_in))
        raise PolicyError(
            f"unknown {slot} policy {name!r}{did_you_mean(name, there)} (a policy of your own is named by the path of "
            f"its .py file){installed.broken_words()}"
        )
    file = (base or Path()) / told
    held = [m for m in load(file) if m.slot == slot]
    found = [m for m in held if wanted in (None, m.name)]
    if len(found) != 1:
        which = f" called {wanted!r}" if wanted else ""
        names = ", ".join(m.name for m in held) or "none"
        hint = f"; name one as {told}:{held[0].name}" if len(held) > 1 else ""
        raise PolicyError(f"{file}: expected one {slot} policy{which}, it has {names}{hint}")
    return found[0]


def named(text: str) -> tuple[str, str | None]:
    """Return the file and the policy in it that ``file.py`` or ``file.py:name`` names (None: whichever is there).

    >>> named("mine.py:first"), named("my.py:s/mine.py"), named("easy")
    (('mine.py', 'first'), ('my.py:s/mine.py', None), ('easy', None))
    """
    path = re.fullmatch(r"(.+\.py)(?::(.*))?", text)
    return (path[1], path[2]) if path else (text, None)


def load(file: Path) -> list[Mechanism]:
    """Import a user's file and return the policies declared in it."""
    if not is_file(file):
        raise PolicyError(f"{cut(str(file), LONGEST_NAME)}: no such policy file")
    name = f"wattline_user_{file.stem}_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise PolicyError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    from wattline.control.users.guard import reading  # it knows numba, as the file does
    from wattline.control.users.streams import own_streams
    from wattline.kernel.indices import importing

    sys.modules[name] = module  # compiled functions are found again by their module's name
    try:
        with own_streams("it"), reading(str(file)), importing():
            spec.loader.exec_module(module)
    except SyntaxError as problem:
        where = f"{problem.filename or file}" + (f":{problem.lineno}" if problem.lineno else "")
        raise PolicyError(f"{where}: {problem.msg}") from None
    except PolicyError as problem:
        raise PolicyError(f"{file}:{_line_in(file, problem)}: {problem}") from None
    except (Exception, SystemExit) as problem:
        what = f"{type(problem).__name__}: {problem}"
        raise PolicyError(f"{file}:{_line_in(file, problem)}: importing it failed: {what}") from problem
    found = [value for value in vars(module).values() if isinstance(value, Mechanism) and not value.builtin]
    if not found:
        raise PolicyError(f"{file}: no policy in it; mark a function with @wattline.policy(slot=...)")
    return found


def _line_in(file: Path, problem: BaseException) -> int:
    """Return the line of the file at which importing it went wrong."""
    lines = [f.lineno for f in traceback.extract_tb(problem.__traceback__) if Path(f.filename) == file]
    return (lines[-1] if lines else None) or 1
