"""The bus of a node as its file asks for it: each node has an end of its own, with its own key."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.agent.config import AgentSettings
from wattline.live.bus.base import Arrived, Bus
from wattline.live.clock import Clock
from wattline.live.secret import handed_over

Will = tuple[str, bytes]
"""Topic and message that a broker sends when the connection dies."""
OpenBus = Callable[[AgentSettings, str, Clock, Will], Bus]
"""Settings, name of the node, clock, last will → its end of the bus."""

PATHS = ("key", "known", "password", "authority")
"""Keys of [bus] that are paths."""


class Silent:
    """No bus: nobody is heard and nobody is told. The agent keeps its safe cap."""

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:  # noqa: ARG002
        """Drop the message."""
        return True

    def subscribe(self, prefix: str) -> None:
        """Ask nobody."""

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Wait."""
        time.sleep(timeout_s)
        return []

    def counts(self) -> dict[str, int]:
        """Return nothing."""
        return {}

    def close(self) -> None:
        """Do nothing."""


def open_bus(settings: AgentSettings, node: str, clock: Clock, will: Will) -> Bus:
    """Open a node's end of the bus."""
    if settings.bus is None:
        return Silent()
    form = bus_form(settings, node)
    bus: Bus = importlib.import_module("wattline.live.bus.open").open_bus(form, "agent", node, clock, will=will)
    return bus


def bus_form(settings: AgentSettings, node: str) -> Any:
    """Return what [bus] says for a node, checked; ``{node}`` in a path is the node's name."""
    table: dict[str, Any] = {"site": settings.site, **(settings.bus or {})}
    base = Path(settings.file).resolve().parent
    for key in PATHS:
        if isinstance(table.get(key), str):
            table[key] = handed_over(base / table[key].replace("{node}", node))
    try:
        forms = importlib.import_module("wattline.live.bus.settings")
    except ModuleNotFoundError as problem:
        raise InputError(f"{settings.file}: [bus]: this installation has no bus ({problem})") from None
    try:
        return forms.BusSettings(**table)
    except ValueError as problem:
        raise InputError(f"{settings.file}: [bus]: {_first(problem)}") from None


def _first(problem: ValueError) -> str:
    """Return the first mistake of a form in one line."""
    details: list[Any] = getattr(problem, "errors", list)()
    if not details:
        return " ".join(str(problem).split())
    key = ".".join(str(part) for part in details[0]["loc"])
    text = str(details[0]["msg"]).removeprefix("Value error, ")
    return f"{key}: {text}" if key else text
