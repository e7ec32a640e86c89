"""Ways to look at the RMAP study: which machine, reading, tables and seeds a statement is held against.

A statement that does not hold is tested on other views: the other reading of Adaptive, exact tables, users who ask for
twice the time, the other machine, single traces. What makes it hold is its cause, as far as that can be known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wattline.arrays import Floats
from wattline.systems.reproduction import Claim
from wattline.systems.rmap.study import GENEROUS, POWER_ONLY, Found, Study
from wattline.systems.rmap.tables import BOUNDS_W, machines


class NotRunError(LookupError):
    """A part of the study that a statement needs was not run."""


@dataclass(frozen=True)
class View:
    """A machine, what Adaptive and the others are told, how Adaptive is read, and which seeds count."""

    study: Study
    machine: str
    told: str = "exact"
    others: str = "exact"
    reading: str = ""
    seed: int | None = None

    def found(self, trace: str, bound: int, source: str) -> Found:
        """Return what was found with tables from a source."""
        for p, f in self.study.found.items():
            if (p.machine, p.trace, p.bound, p.source) == (self.machine, trace, bound, source):
                return f
        raise NotRunError(f"{trace} under bound {bound}, {source}")

    def rows(self, trace: str, bound: int, policy: str, what: str = "job_s") -> Floats:
        """Return a row a seed and a column a job of one policy."""
        adaptive = policy.startswith("Adaptive")
        values: dict[str, Floats] = getattr(self.found(trace, bound, self.told if adaptive else self.others), what)
        name = f"{policy}, {self.reading}" if adaptive and self.reading else policy
        if name not in values:
            raise NotRunError(name)
        return values[name] if self.seed is None else values[name][self.seed : self.seed + 1]

    def change(self, traces: Sequence[str], policy: str, against: str, bounds: Sequence[int] | None = None) -> Floats:
        """Return the relative change of the mean turnaround, a number for each trace and bound, means over seeds
        first.
        """
        return np.array(
            [
                self.rows(trace, bound, policy).mean() / self.rows(trace, bound, against).mean() - 1
                for trace in traces
                for bound in (self.bounds() if bounds is None else bounds)
            ]
        )

    def bounds(self) -> list[int]:
        """Return the thesis's bounds, 6,500 to 14,000 W; a sixth is the greatest power, for its figures."""
        return [bound for bound in self.study.scale.bounds if bound < len(BOUNDS_W) - 1]

    def traces(self, kind: str) -> list[str]:
        """Return the traces of a kind (large, small, random) that were run."""
        found = [trace for trace in self.study.scale.traces if trace.split()[0] == kind]
        if not found:
            raise NotRunError(kind)
        return found


Check = Callable[[View], tuple[bool, str]]
"""Tells whether a statement holds in a view, and what was found."""


def base_view(study: Study, machine: str) -> View:
    """Return the thesis's view: Adaptive is told what the model says, where that was run, the others the truth."""
    return View(study, machine, "model" if "model" in study.scale.sources else "exact")


def _others(view: View) -> dict[str, View]:
    """Return the other views of a statement by what they differ in."""
    found = {"with the power-only reading": replace(view, reading=POWER_ONLY)}
    if view.told != "exact":
        found["with exact tables"] = replace(view, told="exact")
    found[f"where users ask for {GENEROUS:g} × the time"] = replace(view, told="generous", others="generous")
    for machine in machines():
        if machine != view.machine:
            found[f"on {machine.replace(',', ' of the')} machine"] = replace(view, machine=machine)
    return found


def held(view: View, check: Check) -> bool | None:
    """Tell whether a statement holds in a view (None: it was not run)."""
    try:
        return check(view)[0]
    except NotRunError:
        return None


def cause(view: View, check: Check, *, single: bool = True) -> str:
    """Return what was tested of a statement that does not hold, and what makes it hold."""
    tried = {name: held(other, check) for name, other in _others(view).items()}
    does = [name for name, value in tried.items() if value]
    does_not = [name for name, value in tried.items() if value is False]
    told = f"it holds {', and '.join(does)}" if does else ""
    if does_not:
        told += f"{'; ' if told else ''}it does not {', nor '.join(does_not)}"
    if single:
        seeds = view.study.scale.seeds
        alone = sum(held(replace(view, seed=k), check) is True for k in range(seeds))
        told += f"; of {seeds} single traces {alone} agree (the thesis has one)"
    return told


def claim(view: View, short: str, statement: str, check: Check, *, single: bool = True) -> Claim | None:
    """Return a statement with its verdict (None where its part of the study was not run)."""
    try:
        holds, told = check(view)
    except NotRunError:
        return None
    where = view.machine.split(",")[0]
    return Claim(where, short, statement, told, holds=holds, because="" if holds else cause(view, check, single=single))
