"""Plain data against the spec of a file: the first problem is said with its place, its key and what was expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from wattline.errors import ScenarioError, did_you_mean, shorten
from wattline.scenario.read.base import KeyPath, Section
from wattline.scenario.read.forms import keys_of
from wattline.scenario.read.source import Source

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Checked = TypeVar("Checked", bound=Section)

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


def validate_as(model: type[Checked], data: Mapping[str, Any], source: Source) -> Checked:
    """Check plain data against any form of file; the first problem in it is the error."""
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        details = problem.errors(include_url=False)
        details.sort(key=lambda d: (d["type"] != "extra_forbidden", source.lines.get(_place(d), 1 << 30)))
        raise _explain(details[0], source, model) from None


def _place(detail: ErrorDetails) -> KeyPath:
    return tuple(detail["loc"])


def _explain(detail: ErrorDetails, source: Source, model: type[Section]) -> ScenarioError:
    path, kind, value = _place(detail), detail["type"], detail["input"]
    context = detail.get("ctx") or {}
    if kind == "extra_forbidden":
        return _unknown_key(path, source, model)
    if kind == "missing":
        section = ".".join(p for p in path[:-1] if isinstance(p, str))
        return ScenarioError(f"{source.where(path[:-1])}: key {path[-1]!r} is missing in {_section(section)}")
    if kind in ("quantity", "policy"):
        return source.error(path, f"{context['text']}{_in_turn(path, value, model)}")
    if kind in _EXPECTED:
        return source.error(path, f"expected {_EXPECTED[kind]}, got {shorten(value)}{_in_turn(path, value, model)}")
    if kind == "literal_error":
        hint = did_you_mean(value, re.findall(r"'([^']*)'", str(context["expected"]))) if isinstance(value, str) else ""
        known = "" if hint.startswith("; known") else hint
        return source.error(path, f"expected {context['expected']}, got {shorten(value)}{known}")
    message = re.sub(r"^Input should be ", "must be ", detail["msg"]).replace("greater than or equal to", "at least")
    message = message.replace("less than or equal to", "at most")
    return source.error(path, f"{message}, got {shorten(value)}")


def _in_turn(path: KeyPath, value: Any, model: type[Section]) -> str:
    """Return how a key takes several values in turn, where a list was given to one that takes none."""
    if not isinstance(value, list) or not value or "sweep" not in model.model_fields:
        return ""
    if not all(isinstance(part, str) for part in path):
        return ""
    name = ".".join(map(str, path))
    return f"; several values in turn: wattline sweep or compare with --vary {name}=…,…, or [sweep] {name} = […, …]"


def _unknown_key(path: KeyPath, source: Source, model: type[Section]) -> ScenarioError:
    section = tuple(p for p in path[:-1] if isinstance(p, str))
    hint = did_you_mean(str(path[-1]), keys_of(section, model))
    return ScenarioError(
        f"{source.where(path)}: unknown key {shorten(str(path[-1]))} in {_section('.'.join(section))}{hint}"
    )


def _section(name: str) -> str:
    return f"[{name}]" if name else "the top level"
