"""Rows of the benchmark table."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]


def row(what: str, shown: str, goal: str = "", *, met: bool | None = None, **numbers: float) -> dict[str, Any]:
    """Return one line of the table."""
    return {"what": what, "shown": shown, "goal": goal, "met": met, **numbers}
