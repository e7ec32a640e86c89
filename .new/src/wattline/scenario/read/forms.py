"""The sections and keys of a form of file, found by walking through its spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def sections_of(
    model: type[BaseModel], path: tuple[str, ...] = (), *, repeated: bool = False
) -> Iterator[tuple[tuple[str, ...], bool, type[BaseModel]]]:
    """Yield (path, whether it is an array of tables, model) of every section, outermost first."""
    yield path, repeated, model
    for key, info in model.model_fields.items():
        inner, many = model_of(info.annotation)
        if inner is not None and inner.__name__ != "MechanismSpec":
            yield from sections_of(inner, (*path, info.alias or key), repeated=many)


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a section by the keys that a file has for them."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def keys_of(path: tuple[str, ...], top: type[BaseModel]) -> list[str]:
    """Return the keys that a section knows (none for an unknown section)."""
    return next((list(fields_of(model)) for where, _, model in sections_of(top) if where == path), [])


def model_of(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Return the model that a field holds, if any, and whether it holds a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    if get_origin(annotation) is list:
        return model_of(get_args(annotation)[0])[0], True
    for part in get_args(annotation):
        found, many = model_of(part)
        if found is not None:
            return found, many
    return None, False
