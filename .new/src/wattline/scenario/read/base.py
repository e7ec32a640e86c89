"""What all sections of a file have in common: their form, the way to a key, and a problem with one."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

KeyPath = tuple[str | int, ...]
"""Way to a value: keys of tables and positions in arrays."""

Problem = tuple[KeyPath, str]
"""A key, and what is wrong with it."""


class Section(BaseModel):
    """A table of the file: unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, validate_default=False)
