"""A TOML file with overrides: its plain data, and where every value of it stands."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wattline.errors import ScenarioError, cut, one_line, shorten
from wattline.files import open_regular
from wattline.memory import show_bytes
from wattline.scenario.read.base import KeyPath
from wattline.scenario.read.lines import key_lines
from wattline.scenario.read.source import Source
from wattline.scenario.read.toml_read import MOST_BYTES, check_size, loads, value_of

LONGEST_PATH = 1000
"""Characters of a path that messages show."""


def read_toml(
    path: Path | str, overrides: Sequence[str] = (), what: str = "scenario"
) -> tuple[dict[str, Any], Source, str]:
    """Read a TOML file with overrides: the plain data, where everything stands, and the text."""
    where, shown = Path(path), cut(one_line(path), LONGEST_PATH)
    try:
        with open_regular(where) as file:
            raw = file.read(MOST_BYTES + 1)  # devices never end
        if len(raw) > MOST_BYTES:
            raise ScenarioError(f"{shown}: is larger than {show_bytes(MOST_BYTES)}, expected a TOML {what}")
        text = raw.decode("utf-8-sig")  # editors of Windows put a mark before the first letter
    except FileNotFoundError:
        hint = "; `wattline examples` copies those that ship with Wattline" if "examples" in where.parts else ""
        raise ScenarioError(f"{shown}: no such {what} file{hint}") from None
    except IsADirectoryError:
        raise ScenarioError(f"{shown}: is a folder, expected a {what} file") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{shown}: is not UTF-8 text, expected a TOML {what}") from None
    except (OSError, ValueError) as problem:
        raise ScenarioError(f"{shown}: cannot be read ({getattr(problem, 'strerror', None) or problem})") from None
    data, lines = _parse(str(path), text)
    applied: dict[KeyPath, str] = {}
    for override in overrides:
        key = _override(data, override)
        refuse_replaced(f"--set {cut(override)}", key, applied)
        applied[key] = f"--set {override}"
    return data, Source(str(path), lines, applied), text


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
        value: Any = value_of(raw, shown)
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    return set_key(data, dotted, value, f"--set {cut(text)}")


def set_key(data: dict[str, Any], dotted: str, value: Any, shown: str) -> KeyPath:
    """Set one value by the names of its sections and its key; return its path.

    ``shown`` is what was typed, for messages.
    """
    refuse_none(shown, value)
    *parents, last = [part.strip().strip('"') for part in dotted.strip().split(".")]
    path: KeyPath = ()
    table: Any = data
    for part in parents:
        path = (*path, _step(table, part, shown, path))
        table = table.setdefault(part, {}) if isinstance(table, dict) else table[path[-1]]
    key = _step(table, last, shown, path)
    table[key] = value
    return (*path, key)


def refuse_replaced(shown: str, path: KeyPath, before: Mapping[KeyPath, str]) -> None:
    """Refuse a table that takes back a key of it which was set before."""
    lost = next((typed for one, typed in before.items() if len(one) > len(path) and one[: len(path)] == path), None)
    if lost is not None:
        raise ScenarioError(f"{shown}: replaces the whole table, and with it {cut(lost)}; give the table first")


def refuse_none(shown: str, value: Any) -> None:
    """Refuse None, and tables with None in them: it would count as not given."""
    if value is None:
        raise ScenarioError(f"{shown}: expected a value, got None")
    if isinstance(value, dict):
        for key, item in value.items():
            refuse_none(f"{shown}: {shorten(key)}" if item is None else shown, item)
    elif isinstance(value, list):
        for item in value:
            refuse_none(shown, item)


def _step(table: Any, part: str, shown: str, path: KeyPath) -> str | int:
    """Return the key or position that a part of a dotted name stands for in the table at ``path``."""
    if isinstance(table, dict):
        return part
    if isinstance(table, list):
        if part.isdecimal() and len(part) < 10 and int(part) < len(table):
            return int(part)
        raise ScenarioError(f"{shown}: {part!r} is not a position in a list of {len(table)} (they count from 0)")
    hint = ""
    if isinstance(table, str) and len(path) == 2 and path[0] == "policy":
        hint = f"""; parameters stand beside the name: {path[0]}.{path[1]}={{name = {json.dumps(table)}, {part} = …}}"""
    raise ScenarioError(f"{shown}: {part!r} is inside {shorten(table)}, which has no keys{hint}")
