"""The ``[manager]`` section of a controller's file: which resource manager, and the keys of every kind of them.

A folder beside this file is a kind. Its ``kind.py`` holds ``MANAGER``, an object that keeps the rules of
``ManagerKind``; it loads little, so that the other kinds cost nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field

from wattline.live.forms import Duration, Power, Section

if TYPE_CHECKING:
    from wattline.live.clock import Clock
    from wattline.live.machine.base import ResourceManager

MANAGERS = tuple(sorted(found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if found.ispkg))
"""Names of all kinds, as ``kind`` takes them."""
SHARED = frozenset({"kind", "timeout"})
"""Keys that every kind has."""

if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[MANAGERS]


class ManagerSpec(Section):
    """The resource manager; a key belongs to all kinds (``SHARED``) or to one, whose ``keys`` name it."""

    kind: Kind = "launcher"
    run_dir: str | None = None
    timeout: Duration = 5.0
    conf: str | None = None
    bin: str | None = None
    rest: str | None = None
    token: str | None = None
    partitions: list[str] = Field([])
    leave_partitions: list[str] = Field([])
    leave_accounts: list[str] = Field([])
    leave_users: list[str] = Field([])
    stop: Literal["single", "all", "never"] = "single"
    stop_again: Duration = 10.0
    limit_again: Duration = 60.0
    most_per_second: int = Field(100, ge=1)
    power: dict[str, Power] = Field({})


class ManagerKind(Protocol):
    """A kind of resource manager: its keys of ``[manager]``, and how one is opened.

    ``wattline.testing.check_manager`` checks what it opens.
    """

    @property
    def name(self) -> str:
        """The word that users type, and the name of its folder."""

    @property
    def words(self) -> str:
        """What it is called in a sentence (``the launcher``)."""

    @property
    def one(self) -> str:
        """What one of its kind is called (``a launcher``)."""

    @property
    def by_the_wall(self) -> bool:
        """Whether its clock is the wall's, so that the machine's cannot go faster."""

    @property
    def keys(self) -> frozenset[str]:
        """Its own keys of ``[manager]``; no other kind has them."""

    @property
    def needs(self) -> Mapping[str, str]:
        """Those of its keys that must be given, and what each of them is."""

    def problems(self, spec: ManagerSpec) -> Iterator[tuple[str, str]]:
        """Yield what is wrong across its keys, as (key, problem)."""

    def open(self, spec: ManagerSpec, base: Path, clock: Clock, *, timeout_s: float, act: bool) -> ResourceManager:
        """Open one; relative paths count from ``base``. One that does not act only looks."""

    def where(self, spec: ManagerSpec, base: Path) -> str:
        """Return in a line which one is meant."""


def find_manager(name: str) -> ManagerKind:
    """Return the kind of a name, which is one of ``MANAGERS``."""
    found: ManagerKind = importlib.import_module(f"{__package__}.{name}.kind").MANAGER
    return found


def problems(spec: ManagerSpec) -> Iterator[tuple[str, str]]:
    """Yield what is wrong across keys, as (key, problem): keys that are missing, that are another kind's, the rest."""
    kind = find_manager(spec.kind)
    for key, what in kind.needs.items():
        if getattr(spec, key) is None:
            yield key, f"is missing, {what}"
    for key in sorted(spec.model_fields_set - SHARED - kind.keys):
        other = next(name for name in MANAGERS if key in find_manager(name).keys)
        yield key, f'is a key of kind = "{other}", this is {kind.one}'
    yield from kind.problems(spec)
