"""What an operator asks, as keys of a scenario: a limit, sleep, more nodes, another policy, growth."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wattline.errors import InputError, shorten
from wattline.units import duration_s, power_w, show_duration, show_power

AS_IT_IS = "as it is"
"""The log without any change."""

ASLEEP, WAKE_S = 0.1, 180.0
"""Assumed of nodes that sleep: the part of their idle power that they draw, and the seconds that waking takes."""


@dataclass(frozen=True)
class Change:
    """One thing that is asked: what it is about, in words, and the keys that it sets."""

    about: str
    words: str
    keys: Mapping[str, Any]


@dataclass(frozen=True)
class Ground:
    """The log as it is: what relative questions are relative to."""

    nodes: int
    idle_w: float
    peak_w: float
    """What the machine drew at most (NaN: no watts)."""
    load_on: Callable[[int], float]
    """The load of the jobs on so many nodes."""
    unit: str = "node"


def percent(text: str) -> float | None:
    """Return the part that ``+20%`` or ``-20 %`` adds; None for what is no percentage.

    >>> percent("+20%"), percent("-5 %"), percent("30 kW")
    (0.2, -0.05, None)
    """
    found = re.fullmatch(r"\s*([+-]?\d+(?:\.\d+)?)\s*%\s*", text)
    return float(found.group(1)) / 100.0 if found else None


def ask_limit(text: str | float, ground: Ground) -> Change:
    """Return the change to a power limit: watts, or a part of the peak, like ``-20%``."""
    part = percent(text) if isinstance(text, str) else None
    if part is None:
        watts, of = power_w(text), ""
    else:
        if not part < 0.0:
            raise InputError(f"limit: expected a power, or a part below the peak like -20%, got {shorten(text)}")
        watts = ground.peak_w * (1.0 + part)
        of = f", {-part:.0%} below the {show_power(ground.peak_w)} that it draws at most"
    if not watts > 0.0 or math.isinf(watts):
        raise InputError(f"limit: expected a power above 0, got {shorten(text)}")
    return Change("limit", f"a limit of {show_power(watts)}{of}", {"limit.power": float(round(watts))})


def ask_sleep(after: str | float, ground: Ground, power: str | float | None, wake: str | float | None) -> Change:
    """Return the change to nodes that sleep when they were idle for a time."""
    idle_s = duration_s(after)
    asleep_w = ASLEEP * ground.idle_w if power is None else power_w(power)
    wake_s = WAKE_S if wake is None else duration_s(wake)
    keys = {"power": asleep_w, "after": idle_s, "exit": wake_s}
    words = f"{ground.unit}s that sleep after {show_duration(idle_s)} idle (at {show_power(asleep_w)}"
    return Change("sleep", f"{words}, {show_duration(wake_s)} to wake)", {"cluster.sleep": keys})


def ask_nodes(text: str | int, ground: Ground) -> Change:
    """Return the change to another number of nodes: a count, or ``+20%``."""
    part = percent(text) if isinstance(text, str) else None
    try:
        count = math.ceil(ground.nodes * (1.0 + part) - 1e-9) if part is not None else int(text)
    except ValueError:
        raise InputError(f"nodes: expected a count like 128, or a part like +20%, got {shorten(text)}") from None
    if isinstance(text, str) and part is None and text.strip()[:1] in "+-":
        count += ground.nodes
    if count < 1:
        raise InputError(f"nodes: a machine of {ground.nodes:,} cannot have {shorten(text)}")
    more = count - ground.nodes
    words = f"{abs(more):,} {ground.unit}s {'more' if more >= 0 else 'less'} ({count:,})"
    return Change("nodes", words, {"cluster.nodes": count})


def ask_growth(factor: str | float) -> Change:
    """Return the change to more work: the same jobs, submitted in a shorter time."""
    try:
        by = float(factor)
    except ValueError:
        raise InputError(f"growth: expected a factor like 1.3, got {shorten(factor)}") from None
    if not (by > 0.0 and math.isfinite(by)):
        raise InputError(f"growth: expected a factor above 0, got {shorten(factor)}")
    return Change("growth", f"{by:g} times the load", {"trace.load": by})


def ask_policies(text: str | Sequence[str]) -> list[Change]:
    """Return the changes to other policies that say which waiting jobs start."""
    names = [name.strip() for name in text.split(",")] if isinstance(text, str) else list(text)
    return [Change("policy", f"{name}", {"policy.select": name}) for name in names]


def rows(changes: Sequence[Change], ground: Ground) -> dict[str, dict[str, Any]]:
    """Return the runs to make: each change alone, and all of them together; settings by label."""
    found = {change.words: _tied(change.keys, ground) for change in changes}
    groups: dict[str, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.about, []).append(change)
    if len(groups) > 1:
        for parts in itertools.product(*groups.values()):
            keys: dict[str, Any] = {}
            for part in parts:
                keys |= part.keys
            found[" and ".join(part.words for part in parts)] = _tied(keys, ground)
    return found


def _tied(keys: Mapping[str, Any], ground: Ground) -> dict[str, Any]:
    """Return keys with growth as a load, which is a part of the machine: gaps shrink alike on machines of all sizes."""
    found = dict(keys)
    if "trace.load" in found:
        found["trace.load"] *= ground.load_on(found.get("cluster.nodes", ground.nodes))
    return found
