"""Where the values of a file come from, so that every message can say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.errors import InputError, ScenarioError, cut, one_line
from wattline.scenario.read.base import KeyPath

LONGEST = 200
"""Characters of an override or a flag that a message repeats."""


@dataclass(frozen=True)
class Source:
    """Where values come from, for messages: a file with lines, and overrides or flags as they were typed."""

    file: str
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    overrides: Mapping[KeyPath, str] = field(default_factory=dict)
    is_program: bool = False
    """Whether a program gave the values as arguments, and no file."""

    def where(self, path: KeyPath) -> str:
        """Return ``file:line`` of a key, or the override that set it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.overrides:
                given = self.overrides[path[:end]]
                return cut(given, LONGEST)
            if path[:end] in self.lines:
                return f"{self.file}:{self.lines[path[:end]]}"
        return self.file

    def error(self, path: KeyPath, problem: str) -> ScenarioError:
        """Return the error of a key: where, section and key (a flag says that itself), what is wrong."""
        where = self.where(path)
        flag = where.startswith("--") and not where.startswith("--set ")
        told = ScenarioError(f"{where}: {'' if flag or self.is_program else _name(path)}{one_line(problem)}")
        return told.about(None if self.is_program else self.file, self.line(path), ".".join(map(str, path)) or None)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of what it is in."""
        return next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)


@dataclass(frozen=True)
class Context:
    """All that the build function of a section knows beside its own keys and what it is handed."""

    source: Source
    base: Path
    """Folder from which relative paths are found."""
    seed: int
    """Seed of the scenario, for sections that have none of their own."""

    def seed_of(self, own: int | None) -> int:
        """Return a section's own seed, or that of the scenario."""
        return self.seed if own is None else own

    def error(self, path: KeyPath, problem: str) -> ScenarioError:
        """Return the error of a key; see ``Source.error``."""
        return self.source.error(path, problem)

    def located(self, path: KeyPath, make: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call something; an input error of it is said to come from the place of this key."""
        try:
            return make(*args, **named)
        except InputError as problem:
            found = problem.preceded(f"{self.source.where(path)}: ")
            file = None if self.source.is_program else self.source.file
            raise found.about(file, self.source.line(path), ".".join(map(str, path))) from None

    def keyed(self, path: KeyPath, make: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call something; an input error of it is said to be an error of this key, which is named."""
        try:
            return make(*args, **named)
        except InputError as problem:
            raise self.error(path, str(problem)) from None


def _name(path: KeyPath) -> str:
    """Return section and key as a reader of the file sees them, followed by a colon."""
    if not path:
        return ""
    keys = [p for p in path if isinstance(p, str)]
    section = ".".join(keys[:-1])
    return f"[{section}] {keys[-1]}: " if section else f"{keys[-1]}: "
