"""The machine that jobs run on, as a program describes it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wattline.api.plain import as_plain
from wattline.errors import InputError

Quantity = str | float | int
"""A number in SI units (watts, seconds), or a text with its unit, such as "350 W"."""

Table = Mapping[str, Any]
"""A section of a scenario: its keys are those of docs/scenario.md."""


_LISTS = ("levels", "class", "outage")
"""Keys of [cluster] that an empty list leaves out."""


@dataclass(frozen=True)
class Machine:
    """A cluster: nodes and their power, in the words of a scenario's [cluster].

    What makes no sense is refused when a run asks for it.

    Parameters
    ----------
    nodes
        How many (None: as the log says, or as the network has).
    idle, max
        Power of an idle and of a busy node: ``"90 W"``, or watts.
    min_cap
        The lowest cap that a node takes, in the same way (None: only jobs with a ``floor`` of their own can be capped).
    sleep
        ``{"power", "after", "entry", "exit"}``: power asleep, and the times after which a node sleeps, falls asleep and
        wakes.
    levels
        Speeds, slowest first, ``{"rate", "busy", "idle"}`` each: progress relative to full speed, and watts. Without
        ``max`` it is that of rate 1, or else of the fastest.
    classes
        Node classes instead of ``nodes``, ``{"name", "count", "idle", "max", …}`` each.
    outages
        ``{"start", "end", "nodes"}`` each.
    failures
        ``{"mtbf", "repair"}``: mean time between failures of a node, and the time that a repair takes.
    network
        A topology (``"dragonfly:4x4x17"``), or the keys of [network].
    name
        Name in reports.
    """

    nodes: int | None = None
    idle: Quantity | None = None
    max: Quantity | None = None
    min_cap: Quantity | None = None
    sleep: Table | None = None
    levels: Sequence[Table] = ()
    classes: Sequence[Table] = ()
    outages: Sequence[Table] = ()
    failures: Table | None = None
    network: str | Table | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        """Keep lists and tables as they are now: whoever gave them may change them later."""
        for name in ("sleep", "levels", "classes", "outages", "failures", "network"):
            given = getattr(self, name)
            try:
                object.__setattr__(self, name, copy.deepcopy(given))
            except TypeError:  # a generator, which is empty once it was looked at
                raise InputError(f"{name}: expected a list or a table, got {type(given).__name__}") from None
            except RecursionError:
                raise InputError(f"{name}: lists and tables lie too deep in one another") from None

    def cluster(self) -> dict[str, Any]:
        """Return the keys of [cluster]."""
        given: dict[str, Any] = {
            "name": self.name,
            "nodes": self.nodes,
            "idle": self.idle,
            "max": self.max,
            "min_cap": self.min_cap,
            "sleep": self.sleep,
            "levels": self.levels,
            "class": self.classes,
            "outage": self.outages,
            "failures": self.failures,
        }
        from wattline.scenario.read.files import refuse_none

        plain = {key: as_plain(value) for key, value in given.items() if value is not None}
        for key, value in plain.items():
            refuse_none(key, value)
        return {key: value for key, value in plain.items() if value != [] or key not in _LISTS}

    def wires(self) -> dict[str, Any]:
        """Return the keys of [network]."""
        if self.network is None:
            return {}
        if not isinstance(self.network, Mapping):
            return {"topology": as_plain(self.network)}
        if not self.network:
            raise InputError("network: expected a topology or the keys of [network], got {}")
        from wattline.scenario.read.files import refuse_none

        keys: dict[str, Any] = as_plain(dict(self.network))
        refuse_none("network", keys)
        return keys
