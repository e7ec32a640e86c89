"""Budgets that nest: a tree of power limits that change in time, and how the parts of each share it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

from wattline.errors import InputError, did_you_mean
from wattline.units import show_power

Rule = Literal["proportional", "fixed", "demand"]


@dataclass(frozen=True)
class Steps:
    """A power over time: ``first_w`` until the first step, then what each step says."""

    first_w: float = math.inf
    steps: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        times = [time_s for time_s, _ in self.steps]
        if any(later <= earlier for earlier, later in pairwise(times)):
            raise InputError("the times of steps must increase")
        if any(not watts >= 0 for watts in (self.first_w, *(watts for _, watts in self.steps))):
            raise InputError("powers must not be negative")

    def at(self, time_s: float) -> float:
        """Return the power at a time.

        >>> Steps(5.0, ((10.0, 3.0),)).at(9.0), Steps(5.0, ((10.0, 3.0),)).at(10.0)
        (5.0, 3.0)
        """
        place = bisect_right(self._times, time_s)
        return self.steps[place - 1][1] if place else self.first_w

    @cached_property
    def _times(self) -> list[float]:
        return [time_s for time_s, _ in self.steps]

    @property
    def highest_w(self) -> float:
        """The highest power at any time."""
        values = [watts for _, watts in self.steps]
        first = [] if self.steps and self.steps[0][0] <= 0 else [self.first_w]
        return max([*first, *values])


@dataclass(frozen=True)
class Budget:
    """One budget of a tree; ``parent`` is "" for the whole.

    ``share`` is NaN unless the parent's parts have fixed ones, and ``weight`` where none is given: it counts as 1.
    """

    name: str
    parent: str = ""
    limit: Steps = field(default_factory=Steps)
    rule: Rule = "proportional"
    share: float = math.nan
    weight: float = math.nan
    demand: Steps | None = None


def _wrong(budget: Budget, problem: str) -> InputError:
    """Return the error of one budget of a tree."""
    return InputError(problem).about(value=budget.name)


@dataclass(frozen=True)
class BudgetTree:
    """Budgets by name, checked: one whole, parents that exist, no circle, shares that add up, no part above its
    whole.
    """

    budgets: tuple[Budget, ...]

    def __post_init__(self) -> None:
        names = [b.name for b in self.budgets]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"budget {name!r} is given twice")
        wholes = [b.name for b in self.budgets if not b.parent]
        if len(wholes) != 1:
            told = "none" if not wholes else " and ".join(repr(name) for name in wholes)
            raise InputError(f"one budget is the whole and has no parent; here: {told}")
        for b in self.budgets:
            self._check(b, names)

    def _check(self, b: Budget, names: Sequence[str]) -> None:
        if b.parent and b.parent not in names:
            raise _wrong(b, f"budget {b.name!r}: there is no budget {b.parent!r}{did_you_mean(b.parent, names)}")
        above, at = [b.name], b.parent
        while at:
            if at in above:
                raise _wrong(b, f"budgets {' in '.join(repr(name) for name in above)} in {at!r} go round in a circle")
            above.append(at)
            at = self.by_name[at].parent
        if b.parent and self.by_name[b.parent].limit.highest_w < b.limit.highest_w < math.inf:
            told = f"{show_power(b.limit.highest_w)} is above the {show_power(self.by_name[b.parent].limit.highest_w)}"
            raise _wrong(b, f"budget {b.name!r}: {told} that its parent {b.parent!r} ever has")
        parts = self.parts[b.name]
        if b.rule == "fixed" and parts:
            missing = next((part for part in parts if math.isnan(part.share)), None)
            if missing is not None:
                raise _wrong(missing, f"budget {missing.name!r} needs a share: the parts of {b.name!r} have fixed ones")
            total = math.fsum(part.share for part in parts)
            if total > 1.0 + 1e-12:
                raise _wrong(b, f"the shares of the parts of {b.name!r} sum to {total:.6g}, more than 1")
        for part in parts:
            if b.rule != "fixed" and not math.isnan(part.share):
                raise _wrong(part, f"budget {part.name!r}: a share goes with a parent whose parts have fixed shares")
            if b.rule != "proportional" and not math.isnan(part.weight):
                raise _wrong(part, f"budget {part.name!r}: a weight goes with a parent whose parts share by weight")
            if b.rule != "demand" and part.demand is not None:
                raise _wrong(part, f"budget {part.name!r}: a demand goes with a parent whose parts share by demand")

    @cached_property
    def by_name(self) -> Mapping[str, Budget]:
        """Budgets by name."""
        return {b.name: b for b in self.budgets}

    @cached_property
    def parts(self) -> Mapping[str, tuple[Budget, ...]]:
        """Name → the parts of a budget."""
        return {b.name: tuple(c for c in self.budgets if c.parent == b.name) for b in self.budgets}

    @cached_property
    def whole(self) -> Budget:
        """The budget that has no parent."""
        return next(b for b in self.budgets if not b.parent)

    def times_s(self) -> list[float]:
        """Return 0 and all times at which something changes, in order."""
        found = {0.0}
        for b in self.budgets:
            found.update(time_s for steps in (b.limit, b.demand) if steps is not None for time_s, _ in steps.steps)
        return sorted(found)
