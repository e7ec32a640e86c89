"""Find mechanisms: built-in ones by name, a user's by the path of its file."""

from __future__ import annotations

import copyreg
import functools
import importlib.util
import sys
from pathlib import Path

from wattline import learn, policy
from wattline.errors import PolicyError, did_you_mean
from wattline.model.codes import SLOT_NAMES
from wattline.model.mechanism import Mechanism


@functools.cache
def catalog() -> dict[str, dict[str, Mechanism]]:
    """Return the built-in mechanisms: slot → name → mechanism."""
    table: dict[str, dict[str, Mechanism]] = {slot: {} for slot in SLOT_NAMES}
    for mechanism in [*policy.builtin(), *learn.builtin()]:
        table[mechanism.slot][mechanism.name] = mechanism
    return table


def _reduce(mechanism: Mechanism) -> tuple[object, tuple[str, str]]:
    """Pickle a mechanism by where it is found: its function is hidden behind it in its module."""
    if mechanism.builtin:
        return find, (mechanism.slot, mechanism.name)
    return find, (mechanism.slot, f"{mechanism.file}:{mechanism.name}")


copyreg.pickle(Mechanism, _reduce)  # type: ignore[arg-type]  # find returns a Mechanism


def find(slot: str, name: str, *, base: Path | None = None) -> Mechanism:
    """Return the mechanism of a slot: a built-in name, or ``path/to/file.py`` or ``path/to/file.py:name``."""
    known = catalog()[slot]
    if name in known:
        return known[name]
    path, _, wanted = name.partition(".py")
    if not _ and "/" not in name:
        raise PolicyError(f"unknown {slot} policy {name!r}{did_you_mean(name, known)}, or the path of a .py file")
    file = (base or Path()) / f"{path}.py"
    found = [m for m in load(file) if m.slot == slot and wanted in ("", f":{m.name}")]
    if len(found) != 1:
        names = ", ".join(m.name for m in found) or "none"
        raise PolicyError(
            f"{file}: expected one {slot} policy{' called ' + wanted[1:] if wanted else ''}, found {names}"
        )
    return found[0]


def load(file: Path) -> list[Mechanism]:
    """Import a user's file and return the policies declared in it."""
    if not file.is_file():
        raise PolicyError(f"{file}: no such policy file")
    name = f"wattline_user_{file.stem}_{abs(hash(file.resolve())):x}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise PolicyError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # compiled functions are found again by their module's name
    try:
        spec.loader.exec_module(module)
    except PolicyError as problem:
        raise PolicyError(f"{file}: {problem}") from None
    except SyntaxError as problem:
        raise PolicyError(f"{file}:{problem.lineno}: {problem.msg}") from None
    except Exception as problem:
        raise PolicyError(f"{file}: importing it failed: {type(problem).__name__}: {problem}") from problem
    found = [value for value in vars(module).values() if isinstance(value, Mechanism) and not value.builtin]
    if not found:
        raise PolicyError(f"{file}: no policy in it; mark a function with @wattline.policy.policy(slot=...)")
    return found
