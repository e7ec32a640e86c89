"""Emergency curtailment billed second by second, in plain Python: every step of every series is at a whole second."""

from __future__ import annotations

from collections.abc import Sequence

Steps = Sequence[tuple[int, float]]
"""A step function: (from when, value) in order of time."""


def value_at(steps: Steps, second: int) -> float:
    """Return the value that holds in a second; 0 before the first."""
    return next((value for time_s, value in reversed(steps) if time_s <= second), 0.0)


def emergency_bill(
    power: Steps, request: Steps, baseline: Steps, prices: tuple[float, float, float], notice_s: int, end_s: int
) -> tuple[float, float, float]:
    """Return what energy costs, what is paid and what the penalty is, at prices of energy, pay and penalty per kWh."""
    energy = paid = penalty = 0.0
    for second in range(end_s):
        drawn = value_at(power, second)
        asked = [value_at(request, earlier) for earlier in range(second - notice_s, second + 1)]
        due = min(asked)
        reduction = max(0.0, value_at(baseline, second) - drawn)
        missed = max(0.0, due - reduction)
        energy += prices[0] * drawn / 3.6e6
        paid += prices[1] * due / 3.6e6
        penalty += prices[2] * missed / 3.6e6
    return energy, paid, penalty
