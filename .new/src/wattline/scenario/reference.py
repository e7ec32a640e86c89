"""The reference of every section and key of a scenario, from the spec itself."""

from __future__ import annotations

import inspect
import json
import math
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from wattline.scenario.read.forms import fields_of, model_of, sections_of
from wattline.scenario.read.quantities import Words
from wattline.scenario.spec import Spec

_PLAIN = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def reference_markdown(top: type[BaseModel] = Spec) -> str:
    """Return all sections of a form of file as Markdown tables.

    ``docs/scenario.md`` prints those of a scenario, the page on plans those of a plan.
    """
    parts = []
    titles: dict[type[BaseModel], list[str]] = {}
    for path, repeated, model in sections_of(top):
        name = ".".join(path)
        title = (f"`[[{name}]]`" if repeated else f"`[{name}]`") if path else "Top level"
        titles.setdefault(model, []).append(title)
    shown = set()
    for path, _, model in sections_of(top):
        if model in shown:  # sections of one form are described together
            continue
        shown.add(model)
        title = ", ".join(titles[model])
        rows = [
            f"| `{key}` | {_type(info)} | {_default(info)} | {info.description} |"
            for key, info in fields_of(model).items()
            if path or model_of(info.annotation)[0] is None
        ]
        about = _paragraphs(model.__doc__ or "")
        parts.append(
            f"### {title}\n\n{about}\n\n| key | takes | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows)
        )
    return "\n\n".join(parts) + "\n"


def _paragraphs(docstring: str) -> str:
    """Return a docstring with one line a paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(docstring).split("\n\n"))


def _type(info: FieldInfo) -> str:
    words = [m.text for m in info.metadata if isinstance(m, Words)]
    return words[0] if words else _words(info.annotation)


def _words(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return next((m.text for m in parts[1:] if isinstance(m, Words)), _words(parts[0]))
    if origin is Literal:
        return ", ".join(f'`"{part}"`' for part in parts)
    if origin in (Union, types.UnionType):
        return _words(next(part for part in parts if part is not type(None)))
    if origin is list:
        inner = model_of(parts[0])[0]
        return "tables" if inner else f"list of {_words(parts[0])}"
    if origin is dict:
        return f"table of {_words(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return _PLAIN.get(annotation, str(annotation))


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "*required*"
    value = info.get_default(call_default_factory=True)
    if isinstance(value, list) and value:
        return f"`{json.dumps(value[0].name if hasattr(value[0], 'name') else value)}`"
    if value is None or value == "" or isinstance(value, list | BaseModel):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return f"`{json.dumps(int(value) if isinstance(value, float) and value == int(value) else value)}`"
