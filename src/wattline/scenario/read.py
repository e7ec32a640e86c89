"""Scenario text to a checked ``Spec``: overrides applied, every problem said with its file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wattline.errors import InputError, ScenarioError, cut, did_you_mean, shorten
from wattline.files import open_regular
from wattline.memory import show_bytes
from wattline.scenario.lines import Path as KeyPath
from wattline.scenario.lines import key_lines
from wattline.scenario.toml_read import MOST_BYTES, check_size, loads

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from wattline.model.mechanism import Mechanism
    from wattline.reading.notes import Trace
    from wattline.scenario.section import Section
    from wattline.scenario.spec import Spec

Checked = TypeVar("Checked", bound="Section")

LONGEST = 200
"""Characters of an override or a flag that a message repeats."""

MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From layout n to n + 1: every layout ever released stays readable."""


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
        told = ScenarioError(f"{where}: {'' if flag or self.is_program else _name(path)}{problem}")
        return told.about(None if self.is_program else self.file, self.line(path), ".".join(map(str, path)) or None)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of what it is in."""
        return next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)


@dataclass(frozen=True)
class Given:
    """What a program hands over where a file could only name it: jobs that are in memory, policies that are objects."""

    trace: Callable[[int | None], tuple[Trace, str]] | None = None
    """Asked with the nodes of the machine, if they are known: the jobs, and the hash of the file they came from."""
    policies: Mapping[tuple[str, str], Mechanism] = field(default_factory=dict)
    """(slot, name) → policy."""


@dataclass(frozen=True)
class Document:
    """A read scenario: the plain data after overrides, the checked spec, and where everything stands."""

    data: dict[str, Any]
    spec: Spec
    source: Source
    text: str
    base: Path
    given: Given = field(default_factory=Given)

    def located(self, path: tuple[str | int, ...], make: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call something; an input error of it is said to come from this key."""
        try:
            return make(*args, **named)
        except InputError as problem:
            found = problem.preceded(f"{self.source.where(path)}: ")
            source = None if self.source.is_program else self.source.file
            raise found.about(source, self.source.line(path), ".".join(map(str, path))) from None


def read_scenario(path: Path | str, overrides: Sequence[str] = ()) -> Document:
    """Read and check a scenario file; ``overrides`` are ``key.path=value``."""
    data, source, text = read_toml(path, overrides)
    data.setdefault("name", Path(path).stem)
    return document(data, source, text="" if source.overrides else text, base=Path(path).parent)


def read_toml(
    path: Path | str, overrides: Sequence[str] = (), what: str = "scenario"
) -> tuple[dict[str, Any], Source, str]:
    """Read a TOML file with overrides: the plain data, where everything stands, and the text."""
    where = Path(path)
    try:
        with open_regular(where) as file:
            raw = file.read(MOST_BYTES + 1)  # devices never end
        if len(raw) > MOST_BYTES:
            raise ScenarioError(f"{path}: is larger than {show_bytes(MOST_BYTES)}, expected a TOML {what}")
        text = raw.decode("utf-8-sig")  # editors of Windows put a mark before the first letter
    except FileNotFoundError:
        hint = "; `wattline examples` copies those that ship with Wattline" if "examples" in where.parts else ""
        raise ScenarioError(f"{path}: no such {what} file{hint}") from None
    except IsADirectoryError:
        raise ScenarioError(f"{path}: is a folder, expected a {what} file") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text, expected a TOML {what}") from None
    except (OSError, ValueError) as problem:
        raise ScenarioError(f"{path}: cannot be read ({getattr(problem, 'strerror', None) or problem})") from None
    data, lines = _parse(str(path), text)
    applied = {}
    for override in overrides:
        applied[_override(data, override)] = f"--set {override}"
    return data, Source(str(path), lines, applied), text


def document(
    data: dict[str, Any], source: Source, *, text: str = "", base: Path | None = None, given: Given | None = None
) -> Document:
    """Check plain data; without a ``text`` it is written out as TOML."""
    from wattline.scenario.checks import cross_check
    from wattline.scenario.toml_text import to_toml

    data = _migrate(data, source)
    spec = validate(data, source)
    for path, problem in cross_check(spec, source.overrides):
        raise source.error(path, problem)
    return Document(data, spec, source, text or to_toml(data), base or Path(), given or Given())


def validate(data: Mapping[str, Any], source: Source) -> Spec:
    """Check plain data against the spec; the first problem in the file is the error."""
    from wattline.scenario.spec import Spec

    return validate_as(Spec, data, source)


def validate_as(model: type[Checked], data: Mapping[str, Any], source: Source) -> Checked:
    """Check plain data against any form of file; the first problem in it is the error."""
    from pydantic import ValidationError

    try:
        return model.model_validate(data)
    except ValidationError as problem:
        details = problem.errors(include_url=False)
        details.sort(key=lambda d: (d["type"] != "extra_forbidden", source.lines.get(_place(d), 1 << 30)))
        raise _explain(details[0], source, model) from None


def _place(detail: ErrorDetails) -> KeyPath:
    return tuple(detail["loc"])


def _parse(file: str, text: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Return what a text says, and the lines on which it does."""
    try:
        return loads(text, f"{file}: "), key_lines(text)
    except tomllib.TOMLDecodeError as problem:
        found = re.search(r"\(at line (\d+), column \d+\)", str(problem))
        message = re.sub(r"\s*\(at .*\)", "", str(problem))
        line = found.group(1) if found else text.count("\n") + 1
        raise ScenarioError(f"{file}:{line}: not valid TOML: {message}") from None


def _override(data: dict[str, Any], text: str) -> KeyPath:
    """Set one value; return its path."""
    dotted, equals, raw = text.partition("=")
    shown = f"--set {cut(text)}: "
    check_size(dotted, shown)
    if not equals or not dotted.strip():
        raise ScenarioError(f"--set {text}: expected key=value, like --set cluster.nodes=64")
    try:
        value: Any = loads(f"v = {raw}", shown)["v"]
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    return set_key(data, dotted, value, f"--set {cut(text)}")


def set_key(data: dict[str, Any], dotted: str, value: Any, shown: str) -> KeyPath:
    """Set one value by the names of its sections and its key; return its path.

    ``shown`` is what was typed, for messages.
    """
    *parents, last = [part.strip().strip('"') for part in dotted.strip().split(".")]
    path: KeyPath = ()
    table: Any = data
    for part in parents:
        path = (*path, _step(table, part, shown))
        table = table.setdefault(part, {}) if isinstance(table, dict) else table[path[-1]]
    key = _step(table, last, shown)
    table[key] = value
    return (*path, key)


def _step(table: Any, part: str, shown: str) -> str | int:
    if isinstance(table, dict):
        return part
    if isinstance(table, list):
        if part.isdigit() and int(part) < len(table):
            return int(part)
        raise ScenarioError(f"{shown}: {part!r} is not a position in a list of {len(table)} (they count from 0)")
    raise ScenarioError(f"{shown}: {part!r} is inside {shorten(table)}, which has no keys")


def _migrate(data: dict[str, Any], source: Source) -> dict[str, Any]:
    from wattline.scenario.spec import SCHEMA

    version = data.get("schema", SCHEMA)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise source.error(("schema",), f"expected a version number, got {shorten(version)}")
    if version > SCHEMA:
        raise source.error(("schema",), f"written for a newer Wattline ({version}); this one reads up to {SCHEMA}")
    for step in range(version, SCHEMA):
        data = MIGRATIONS[step](data)
    return data


def _name(path: KeyPath) -> str:
    """Return section and key as a reader of the file sees them, followed by a colon."""
    if not path:
        return ""
    keys = [p for p in path if isinstance(p, str)]
    section = ".".join(keys[:-1])
    return f"[{section}] {keys[-1]}: " if section else f"{keys[-1]}: "


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": 'text in "quotes"',
    "list_type": "a list",
    "model_type": "a table",
    "dict_type": "a table",
    "model_attributes_type": "a table",
}


def _explain(detail: ErrorDetails, source: Source, model: type[Section]) -> ScenarioError:
    path, kind, value = _place(detail), detail["type"], detail["input"]
    context = detail.get("ctx") or {}
    if kind == "extra_forbidden":
        return _unknown_key(path, source, model)
    if kind == "missing":
        section = ".".join(p for p in path[:-1] if isinstance(p, str))
        return ScenarioError(f"{source.where(path[:-1])}: key {path[-1]!r} is missing in {_section(section)}")
    if kind in ("quantity", "policy"):
        return source.error(path, str(context["text"]))
    if kind in _EXPECTED:
        return source.error(path, f"expected {_EXPECTED[kind]}, got {shorten(value)}")
    if kind == "literal_error":
        hint = did_you_mean(value, re.findall(r"'([^']*)'", str(context["expected"]))) if isinstance(value, str) else ""
        known = "" if hint.startswith("; known") else hint
        return source.error(path, f"expected {context['expected']}, got {shorten(value)}{known}")
    message = re.sub(r"^Input should be ", "must be ", detail["msg"]).replace("greater than or equal to", "at least")
    message = message.replace("less than or equal to", "at most")
    return source.error(path, f"{message}, got {shorten(value)}")


def _unknown_key(path: KeyPath, source: Source, model: type[Section]) -> ScenarioError:
    from wattline.scenario.reference import keys_of

    section = tuple(p for p in path[:-1] if isinstance(p, str))
    hint = did_you_mean(str(path[-1]), keys_of(section, model))
    return ScenarioError(
        f"{source.where(path)}: unknown key {shorten(str(path[-1]))} in {_section('.'.join(section))}{hint}"
    )


def _section(name: str) -> str:
    return f"[{name}]" if name else "the top level"
