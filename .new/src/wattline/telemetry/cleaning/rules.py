"""What samples are allowed: rules that a user gives, and those that follow from the period found in the first
window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import TraceError
from wattline.telemetry.cleaning.faults import Tally

PATIENCE, STUCK = 5.0, 12.0
"""Usual patience and time after which a value is stuck, in periods."""
SHORTEST_S = 1e-6
"""Shortest period of a sensor."""
ENOUGH = 20
"""Steps from which a sensor has a period of its own."""


@dataclass(frozen=True)
class Rules:
    """What is allowed: ``None`` is found in the first window (``period_s``) or follows from the period.

    ``hold``: periods that a sample holds at most. ``most_w``: maximum of a sensor. ``ahead_s``: what a clock may be
    ahead of the others.
    """

    period_s: float | None = None
    hold: float = 1.5
    patience_s: float | None = None
    stuck_s: float | None = None
    most_w: float = np.inf
    ahead_s: float = 86400.0


@dataclass(frozen=True)
class Settled:
    """Rules without gaps, periods of sensors that have their own, and how long samples are kept back to be certain."""

    rules: Rules
    own_s: dict[int, float]
    depth_s: float
    remarks: tuple[str, ...]

    def periods(self, first: int, count: int) -> Floats:
        """Return the periods of ``count`` sensors from number ``first`` on."""
        usual = self.rules.period_s or np.nan
        return np.array([self.own_s.get(code, usual) for code in range(first, first + count)], dtype=np.float64)


def settle(rules: Rules, code: Ints, time_s: Floats, power_w: Floats, tally: Tally) -> Settled:
    """Find the period, and what follows from it, in the samples of the first window."""
    order = np.lexsort((time_s, code))
    s, t, w = code[order], time_s[order], power_w[order]
    step_s = np.diff(t)
    beside = (np.diff(s) == 0) & (step_s > 0)
    usual_s = rules.period_s
    own_s: dict[int, float] = {}
    if usual_s is None:
        if not beside.any():
            problem = "no sensor has two samples, so their period cannot be told"
            raise TraceError.at(tally.where, problem, hint="give --period")
        usual_s = float(np.median(step_s[beside]))
        own_s = _own_periods(s[1:][beside], step_s[beside])
    if not usual_s >= SHORTEST_S:
        told = f"samples of a sensor are {usual_s:g} s apart, which no sensor does"
        raise TraceError.at(tally.where, told, hint="give --period, and --time-unit if times are in another one")
    equal = float(np.mean((w[1:] == w[:-1])[beside])) if beside.any() else 0.0
    stuck_s, remarks = _limit_of_stuck(rules, usual_s, equal)
    patience_s = PATIENCE * usual_s if rules.patience_s is None else rules.patience_s
    longest_s = max(usual_s, *own_s.values()) if own_s else usual_s
    kept_s = 0.0 if np.isinf(stuck_s) else stuck_s * longest_s / usual_s
    whole = replace(rules, period_s=usual_s, patience_s=patience_s, stuck_s=stuck_s)
    return Settled(whole, own_s, patience_s + kept_s + rules.hold * longest_s, remarks)


def _limit_of_stuck(rules: Rules, usual_s: float, equal: float) -> tuple[float, tuple[str, ...]]:
    """Return how long a value may repeat: where most repeat the one before, nothing can be told from that."""
    if rules.stuck_s is not None:
        return rules.stuck_s, ()
    if equal > 0.5:
        told = (
            f"{100 * equal:.0f} % of samples repeat the one before: stuck sensors cannot be told (--stuck TIME insists)"
        )
        return np.inf, (told,)
    return STUCK * usual_s, ()


def _own_periods(code: Ints, step_s: Floats) -> dict[int, float]:
    """Return the median step of sensors with enough of them, if most are near it."""
    order = np.lexsort((step_s, code))
    sensors, begin, count = np.unique(code, return_index=True, return_counts=True)
    middle = step_s[order][begin + count // 2]
    which = np.repeat(np.arange(sensors.size), count)
    near = np.bincount(which, weights=np.abs(step_s[order] - middle[which]) <= 0.5 * middle[which])
    own = (count >= ENOUGH) & (near >= 0.5 * count)
    return dict(zip(sensors[own].tolist(), middle[own].tolist(), strict=True))
