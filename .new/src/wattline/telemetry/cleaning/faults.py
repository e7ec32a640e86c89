"""What can be wrong with a sample of power, how often it was, and with which sensors."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import TraceError

Mask = npt.NDArray[np.bool_]
WORST = 5
"""Sensors that a report names."""


class Fault(IntEnum):
    """Classes of fault, in the order in which they are looked for: a sample has at most one of time and one of
    value.
    """

    NO_TIME = 0
    UNKNOWN = 1
    AHEAD = 2
    CLOCK = 3
    TOO_LATE = 4
    DUPLICATE = 5
    LATE = 6
    NAN = 7
    NEGATIVE = 8
    OVER = 9
    STUCK = 10
    ZERO = 11
    MISSING = 12

    @property
    def word(self) -> str:
        """The name that people see and type."""
        return self.name.lower().replace("_", "-")


WHAT: dict[Fault, tuple[str, str]] = {
    Fault.NO_TIME: ("dropped", "the time cannot be read"),
    Fault.UNKNOWN: ("dropped", "no such node, rack or job"),
    Fault.AHEAD: ("dropped", "far ahead of all that came around it"),
    Fault.CLOCK: ("dropped", "the sensor's clock went back beyond the patience"),
    Fault.TOO_LATE: ("dropped", "came after the patience was over"),
    Fault.DUPLICATE: ("dropped", "the sensor has a sample of that time already"),
    Fault.LATE: ("sorted in", "came after a later sample of the sensor"),
    Fault.NAN: ("dropped", "not a number"),
    Fault.NEGATIVE: ("dropped", "negative"),
    Fault.OVER: ("clipped", "above the device's maximum"),
    Fault.STUCK: ("dropped", "repeats the same value for too long"),
    Fault.ZERO: ("dropped", "0 W while a job held the nodes"),
    Fault.MISSING: ("missing", "did not come: the power is unknown there"),
}
"""Fault → what is done about it, and what it means."""


class Example(NamedTuple):
    """The first sample with a fault."""

    sensor: str
    time_s: float
    power_w: float


class Tally:
    """Faults counted by class and sensor. ``strict``: the first one is an error instead."""

    def __init__(self, where: str, *, strict: bool = False) -> None:
        self.where, self.strict = where, strict
        self.names: list[str] = []
        self.counts = np.zeros((len(Fault), 0), dtype=np.int64)
        self.strangers: dict[str, int] = {}
        self.unnamed = np.zeros(len(Fault), dtype=np.int64)
        self.examples: dict[Fault, Example] = {}
        self.samples = self.used = 0
        self.missing_s = 0.0

    def grow(self, names: list[str]) -> None:
        """Make room for sensors; ``names`` is the list that grows with them."""
        self.names = names
        new = len(names) - self.counts.shape[1]
        if new > 0:
            # doubling: a chunk with a few new jobs must not copy the counts of all
            room = max(new, self.counts.shape[1])
            self.counts = np.concatenate([self.counts, np.zeros((len(Fault), room), dtype=np.int64)], axis=1)

    def add(self, fault: Fault, code: Ints, time_s: Floats, power_w: Floats, weight: Ints | None = None) -> None:
        """Count faulty samples; codes below 0 belong to no known sensor."""
        if not code.size:
            return
        known = code >= 0
        many = np.ones(code.size, dtype=np.int64) if weight is None else weight
        np.add.at(self.counts[fault], code[known], many[known])
        self.unnamed[fault] += int(many[~known].sum())
        if fault not in self.examples:
            name = self.names[code[0]] if code[0] >= 0 else next(iter(self.strangers), "?")
            self.examples[fault] = Example(name, float(time_s[0]), float(power_w[0]))
        if self.strict:
            self.refuse(fault)

    def stranger(self, name: str, count: int) -> None:
        """Remember the name of an unknown sensor, the first thousand of them."""
        if name in self.strangers or len(self.strangers) < 1000:
            self.strangers[name] = self.strangers.get(name, 0) + count

    def refuse(self, fault: Fault) -> None:
        """Raise the error that strict reading makes of a fault."""
        sensor, time_s, power_w = self.examples[fault]
        done, meaning = WHAT[fault]
        raise TraceError.at(
            self.where,
            f"{fault.word}: {meaning}; sensor {sensor} at {time_s:,.10g} s",
            field="power",
            value=power_w,
            hint=f"without --strict it would be {'counted' if done == 'missing' else done}",
        )

    def total(self, fault: Fault) -> int:
        """Return how many samples had a fault."""
        return int(self.counts[fault].sum() + self.unnamed[fault])

    def by_class(self, classes: Ints, names: tuple[str, ...]) -> dict[str, dict[str, int]]:
        """Return the counts of each class of sensors; ``classes`` has the class of every sensor."""
        found: dict[str, dict[str, int]] = {}
        here = self.counts[:, : classes.size]
        for c, name in enumerate(names):
            found[name] = {f.word: int(here[f, classes == c].sum()) for f in Fault}
        if self.unnamed.any():
            found["unknown"] = {f.word: int(self.unnamed[f]) for f in Fault}
        return found

    def worst(self) -> list[dict[str, Any]]:
        """Return the sensors with most faults, and unknown ones among them."""
        totals = self.counts[:, : len(self.names)].sum(axis=0)
        order = np.argsort(-totals, kind="stable")[:WORST]
        found: list[dict[str, Any]] = [
            {"sensor": self.names[i], "faults": int(totals[i]), "most": Fault(int(np.argmax(self.counts[:, i]))).word}
            for i in order
            if totals[i]
        ]
        found += [{"sensor": k, "faults": n, "most": Fault.UNKNOWN.word} for k, n in self.strangers.items()]
        return sorted(found, key=lambda row: -row["faults"])[:WORST]
