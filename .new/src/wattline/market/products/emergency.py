"""Emergency curtailment: the grid asks for a reduction of power below a baseline, pays for it, and charges what is
missed.

A request is a step function: the reduction that is asked for, 0 where nothing is. It is due after a notice: at any time
the least reduction that was asked for during the last ``notice`` seconds, so a rise is due a notice later and a fall at
once. With D the reduction due, B the baseline and P the power, both credits and penalty are integrals over time:

    energy Π^P·E, credit pay·D, penalty·min(D, max(0, D − (B − P))).

Who draws more than the baseline has missed all that is due and no more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wattline.errors import InputError
from wattline.market.held import Held
from wattline.market.products.base import Charges, Key, Product
from wattline.market.span import Span, total_of


@dataclass(frozen=True)
class Emergency(Product):
    """Pay and penalty per kW and minute of a requested reduction, after a notice in seconds."""

    notice: float = 0.0

    name: ClassVar = "emergency"
    about: ClassVar = "energy as drawn, `pay` and `penalty` for a reduction on `request`"
    keys: ClassVar = (
        Key("energy", "energy", column="energy_price_per_kwh", default=None),
        Key("request", "reduction that the grid asks for, 0 while it asks for none (emergency)", "power", default=None),
        Key("baseline", "power from which the reduction is counted (emergency)", "power", default=None),
        Key(
            "pay",
            'reduction that was due, paid to us, like `"0.01 $/kW-min"` (emergency)',
            column="performance_price_per_kwh",
            default=None,
        ),
        Key(
            "penalty",
            "part of it that was missed, charged to us (emergency; default: 0)",
            column="error_price_per_kwh",
        ),
        Key("notice", "time from a request until it is due (emergency; default: 0)", "span"),
    )
    follows: ClassVar = False
    scored: ClassVar = False

    def __post_init__(self) -> None:
        if not (self.notice >= 0 and math.isfinite(self.notice)):
            raise InputError(f"emergency: notice must not be negative (got {self.notice} s)")

    def series(self, given: Mapping[str, Held]) -> Mapping[str, Held]:
        """Return the series with what is due beside what is asked for."""
        return {**given, "due": due(given["request"], self.notice)}

    def bill(self, span: Span) -> Charges:
        """Return the energy drawn, the pay for what was due, and the penalty for what of it was missed."""
        due_w, given_w = span.prices["due"], span.prices["baseline"] - span.power_w
        missed_w = np.minimum(due_w, np.maximum(0.0, due_w - given_w))
        pay = total_of(span.prices["pay"] * due_w / 1e3 * span.hours)
        penalty = total_of(span.prices["penalty"] * missed_w / 1e3 * span.hours)
        return Charges(span.drawn_cost, 0.0, pay, penalty)


def due(request: Held, notice_s: float) -> Held:
    """Return the least that was requested during the last ``notice_s`` seconds; before the first row nothing was.

    >>> asked = Held(np.array([0.0, 60.0, 300.0]), np.array([0.0, 50.0, 0.0]))
    >>> [due(asked, 120.0).at(t) for t in (100.0, 200.0, 310.0)]
    [0.0, 50.0, 0.0]
    """
    if request.always:
        return request
    times, values = request.within(request.start_s - notice_s, request.end_s)
    values = np.where(np.isnan(values), 0.0, values)
    until_s = np.append(times[1:], math.inf) + notice_s  # a step counts until the notice after its end
    changes = np.unique(np.concatenate([[request.start_s], times, until_s]))
    changes = changes[(changes >= request.start_s) & (changes < request.end_s)]
    first, behind = until_s.searchsorted(changes, side="right"), times.searchsorted(changes, side="right")
    least = [values[i:j].min() for i, j in zip(first.tolist(), behind.tolist(), strict=True)]
    return Held(changes, np.array(least), request.end_s, request.repeat)


PRODUCT = Emergency
