"""Write nested plain data as TOML: what a run was really made of, after overrides and without a file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(data: Mapping[str, Any]) -> str:
    """Return TOML that reads back as the same data.

    >>> print(to_toml({"name": "x", "a": {"b": [1, 2.5], "c": [{"d": True}]}}))
    name = "x"
    <BLANKLINE>
    [a]
    b = [1, 2.5]
    <BLANKLINE>
    [[a.c]]
    d = true
    <BLANKLINE>
    """
    lines: list[str] = []
    _table(lines, "", data)
    return "\n".join(lines) + "\n"


def _table(lines: list[str], path: str, table: Mapping[str, Any]) -> None:
    inner = {k: v for k, v in table.items() if isinstance(v, Mapping) or _is_tables(v)}
    lines.extend(f"{_key(k)} = {_value(v)}" for k, v in table.items() if k not in inner)
    for key, value in inner.items():
        name = f"{path}.{_key(key)}" if path else _key(key)
        for part in value if isinstance(value, list) else [value]:
            lines.extend([""] * bool(lines) + [f"[[{name}]]" if isinstance(value, list) else f"[{name}]"])
            _table(lines, name, part)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return str(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace(
        "\x7f", "\\u007f"
    )  # the one control character JSON leaves alone
