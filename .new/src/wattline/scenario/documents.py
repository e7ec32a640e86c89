"""A scenario that was read and checked, and where everything in it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wattline.errors import shorten
from wattline.scenario.read.files import read_toml
from wattline.scenario.read.source import Context, Source
from wattline.scenario.read.toml_text import to_toml
from wattline.scenario.read.validation import validate_as
from wattline.scenario.sections import policy, trace
from wattline.scenario.spec import SCHEMA, Spec, cross_check


@dataclass(frozen=True)
class Given:
    """What a program hands over where a file could only name it: jobs that are in memory, policies that are objects."""

    trace: trace.Handed | None = None
    policies: policy.Handed = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A read scenario: the plain data after overrides, the checked spec, and where everything stands."""

    data: dict[str, Any]
    spec: Spec
    source: Source
    text: str
    base: Path
    given: Given = field(default_factory=Given)

    @property
    def context(self) -> Context:
        """What the sections of this scenario are built with."""
        return Context(self.source, self.base, self.spec.seed)


def read_scenario(path: Path | str, overrides: Sequence[str] = ()) -> Document:
    """Read and check a scenario file; ``overrides`` are ``key.path=value``."""
    data, source, text = read_toml(path, overrides)
    data.setdefault("name", Path(path).stem)
    return document(data, source, text="" if source.overrides else text, base=Path(path).parent)


def document(
    data: dict[str, Any], source: Source, *, text: str = "", base: Path | None = None, given: Given | None = None
) -> Document:
    """Check plain data; without a ``text`` it is written out as TOML."""
    _check_version(data, source)
    spec = validate_as(Spec, data, source)
    for path, problem in cross_check(spec, source.overrides):
        raise source.error(path, problem)
    return Document(data, spec, source, text or to_toml(data), base or Path(), given or Given())


def _check_version(data: dict[str, Any], source: Source) -> None:
    version = data.get("schema", SCHEMA)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise source.error(("schema",), f"expected a version number, got {shorten(version)}")
    if version > SCHEMA:
        raise source.error(("schema",), f"written for a newer Wattline ({version}); this one reads up to {SCHEMA}")
