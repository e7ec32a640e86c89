"""Statements of the QoSG study in words: savings, worst kinds, cases."""

from __future__ import annotations

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.outcome import Outcome, is_promised
from wattline.systems.qosg.jobs import NAMES
from wattline.systems.qosg.study import Study, saving
from wattline.systems.reproduction import Claim
from wattline.systems.tuned import Tuned

LIMITS = "the thesis' QoS limits cannot be read, and ours decide which mean power is needed"


def claim(
    where: str,
    short: str,
    statement: str,
    ours: str,
    holds: bool,  # noqa: FBT001  (as in a claim)
    because: str = "",
    proviso: str = "",
) -> Claim:
    """Return a statement; ``because`` is said where it does not hold, ``proviso`` where it does."""
    return Claim(where, short, statement, ours, bool(holds), proviso if holds else because)


def percent(outcome: Outcome, against: str = "drawn_cost") -> str:
    """Return the saving of an outcome in words, with its interval where there are several hours."""
    found, low, high = saving(outcome, against)
    return minus(found) if np.isnan(low) else f"{minus(found)} ({low:.1%}…{high:.1%})"


def minus(part: float) -> str:
    """Return a saving in words.

    >>> minus(0.144), minus(-0.02)
    ('−14.4%', '+2.0%')
    """
    return f"−{part:.1%}" if part >= 0 else f"+{-part:.1%}"


def shares(outcome: Outcome) -> str:
    """Return the worst kind and the tracking of an outcome in words."""
    late = outcome.shares()
    k = int(np.argmax(late))
    return f"worst kind {outcome.kinds[k].name} {late[k]:.1%}, ε > 0.3 {outcome.exceed.share:.1%}"


def breaks_qos(outcome: Outcome) -> bool:
    """Tell whether more jobs of some kind are late than it was promised."""
    late = outcome.shares()
    return any(is_promised(kind) and part > kind.share for kind, part in zip(outcome.kinds, late, strict=True))


def weights_of(found: Tuned) -> Floats:
    """Return the weights of the kinds that something was promised to."""
    weights = found.choice.weights
    return np.zeros(0) if weights is None else weights[: len(NAMES)]


def at(study: Study, case: str) -> Tuned:
    """Return QoSG as it was tuned in a case."""
    return study.found[case]["QoSG"]


def saved(study: Study, case: str) -> float:
    """Return the part of the cost that QoSG saves in a case."""
    return saving(at(study, case).choice.outcome)[0]
