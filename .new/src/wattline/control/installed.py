"""Policies that installed packages bring: entry points of the group ``wattline.policies``.

An entry point names an object of ``wl.policy``, or a module that holds some. A package that cannot be loaded is said
in one line and keeps nobody else from being found.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING

from wattline.errors import PolicyError, cut
from wattline.model.mechanism import Mechanism

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "wattline.policies"
"""Group of the entry points."""


@dataclass(frozen=True)
class Installed:
    """Policies of packages, and a line for each package, or part of one, that brings none."""

    policies: tuple[Mechanism, ...] = ()
    broken: tuple[str, ...] = ()

    def named(self, name: str, slot: str | None = None) -> list[Mechanism]:
        """Return the policies that a name means: a policy's own, or ``package:name``."""
        wanted = [m for m in self.policies if slot in (None, m.slot)]
        return [m for m in wanted if name in (m.name, f"{m.package}:{m.name}")]


def installed() -> Installed:
    """Return the policies of all installed packages; they are looked for again where the import path has changed."""
    return _installed(tuple(sys.path))


@functools.lru_cache(maxsize=4)
def _installed(_path: tuple[str, ...]) -> Installed:
    from importlib.metadata import entry_points

    found: dict[tuple[str, str, str], Mechanism] = {}
    broken: list[str] = []
    for point in sorted(set(entry_points(group=GROUP)), key=lambda one: (_package(one), one.name)):
        try:
            for m in _policies_of(point):
                found.setdefault((m.package, m.slot, m.name), m)
        except PolicyError as problem:
            broken.append(str(problem))
    return Installed(tuple(found.values()), tuple(broken))


def one_of(slot: str, name: str) -> Mechanism | None:
    """Return the policy of a package that a name means in a slot; None if no package has one."""
    found = installed().named(name, slot)
    if len(found) > 1:
        names = " or ".join(f"{m.package}:{m.name}" for m in found)
        raise PolicyError(f"several packages have a {slot} policy {name!r}; name one as {names}")
    return found[0] if found else None


def broken_words() -> str:
    """Return what to add to a message on an unknown policy: packages that could not be loaded ("": none)."""
    broken = installed().broken
    return f"; {'; '.join(broken)}" if broken else ""


def _policies_of(point: EntryPoint) -> Iterator[Mechanism]:
    """Load what an entry point names; yield its policies, marked with their package."""
    package = _package(point)
    where = f"package {package}, entry point {point.name!r}"
    try:
        held = point.load()
    except (Exception, SystemExit) as problem:  # whatever a package does when it is imported
        text = (str(problem).splitlines() or [""])[0]
        raise PolicyError(
            f"{where}: importing {cut(point.value)} failed: {type(problem).__name__}: {cut(text, 200)}"
        ) from None
    there = [held] if isinstance(held, Mechanism) else vars(held).values() if isinstance(held, ModuleType) else []
    policies = [value for value in there if isinstance(value, Mechanism) and not value.builtin]
    if not policies:
        raise PolicyError(
            f"{where}: {cut(point.value)} is no policy of its own: expected an object of wl.policy or a module that "
            "holds some"
        )
    for policy in policies:
        yield replace(policy, package=package)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "(unknown)"
