"""Can the cluster reach what a bid may ask of it? What cannot be reached, and what that alone does to the error.

QoSG demands that the whole range can be reached: P̄ + R ≤ N·p_max and P̄ − R ≥ N·p_idle (thesis eqs. 2.22–2.23); that
is ``strict``. AQA drops both, and most of its published costs need bids that break them. ``paper`` therefore refuses
only a mean power outside [N·p_idle, N·p_max], a reserve above N·p_max, and a bid whose unreachable part alone
breaks the tracking constraint. Either way the reach is returned, to be reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError, did_you_mean
from wattline.market.tracking import MARGIN, SHARE
from wattline.model.regulation import Bid, Signal
from wattline.units import in_full

Mode = Literal["strict", "paper"]
MODES: tuple[Mode, ...] = ("strict", "paper")
_SLACK = 1e-9
"""Relative room for rounding at a bound."""


@dataclass(frozen=True)
class Reach:
    """The part of a bid's targets that lies outside [low_w, high_w], as shares of time.

    ``exceed_share``: outside by more than margin·R, which is what reach alone adds to Prob[ε > margin]; 0 without a
    reserve. ``mean_error``: what it alone adds to ε̄, 0 without a reserve. A perfect policy has just these.
    """

    below_share: float
    above_share: float
    exceed_share: float
    mean_error: float
    low_w: float
    high_w: float

    @property
    def outside_share(self) -> float:
        """Share of time in which the target cannot be reached."""
        return self.below_share + self.above_share


def reach(bid: Bid, signal: Signal | Floats, low_w: float, high_w: float, margin: float = MARGIN) -> Reach:
    """Hold the targets of a bid against the power range; the signal may be given as equally likely values.

    >>> reach(Bid(100.0, 50.0), np.array([-1.0, 0.0, 0.5, 1.0]), 80.0, 130.0).outside_share
    0.5
    """
    _check_range(low_w, high_w)
    values = signal.values if isinstance(signal, Signal) else signal
    target = bid.target_w(values)
    missing = np.maximum(low_w - target, target - high_w)
    exceeds = bool(bid.reserve_w > 0)
    return Reach(
        below_share=float(np.mean(target < low_w)),
        above_share=float(np.mean(target > high_w)),
        exceed_share=float(np.mean(missing > margin * bid.reserve_w)) if exceeds else 0.0,
        mean_error=float(np.maximum(missing, 0.0).mean() / bid.reserve_w) if exceeds else 0.0,
        low_w=low_w,
        high_w=high_w,
    )


def misfit(mean_w: float, reserve_w: float, idle_w: float, max_w: float) -> Literal["", "mean", "reserve"]:
    """Return which part of a bid the machine cannot have, from all idle to all at full power; "" if it can keep it.

    Guard, files of bids and scenarios all ask here.

    >>> misfit(100.0, 50.0, 80.0, 140.0), misfit(150.0, 50.0, 80.0, 140.0), misfit(100.0, 150.0, 80.0, 140.0)
    ('', 'mean', 'reserve')
    """
    slack_w = _SLACK * max_w
    if not idle_w - slack_w <= mean_w <= max_w + slack_w:
        return "mean"
    return "" if 0.0 <= reserve_w <= max_w else "reserve"


def check_bid(
    bid: Bid,
    signal: Signal | Floats,
    idle_w: float,
    max_w: float,
    mode: str = "strict",
    *,
    margin: float = MARGIN,
    share: float = SHARE,
) -> Reach:
    """Refuse a bid that the cluster, from all idle to all at full power, cannot keep; return its reach otherwise."""
    if mode not in MODES:
        raise InputError(f"reach must be strict or paper (got {mode!r}){did_you_mean(mode, MODES)}")
    found = reach(bid, signal, idle_w, max_w, margin)
    wrong = misfit(bid.mean_w, bid.reserve_w, idle_w, max_w)
    if wrong == "mean":
        raise InputError(
            f"bid: mean power {in_full(bid.mean_w)} W is outside what the cluster can draw, {in_full(idle_w)} "
            "W (all idle) to "
            f"{in_full(max_w)} W (all at full power); choose a mean between them"
        )
    if mode == "strict":
        _check_strict(bid, idle_w, max_w)
    elif wrong:
        raise InputError(
            f"bid: reserve {in_full(bid.reserve_w)} W is more than the {in_full(max_w)} W that the cluster "
            "draws at full power; "
            "lower the reserve"
        )
    elif found.exceed_share >= share:
        raise InputError(
            f"bid: with mean {in_full(bid.mean_w)} W and reserve {in_full(bid.reserve_w)} W the target lies "
            f"more than {in_full(margin)} R "
            f"outside {in_full(idle_w)} W to {in_full(max_w)} W for {found.exceed_share:.1%} of the signal, "
            f"and {share:.0%} is the "
            "limit; lower the reserve"
        )
    return found


def _check_strict(bid: Bid, idle_w: float, max_w: float) -> None:
    """Refuse targets that may leave the power range at either end (thesis eqs. 2.22–2.23)."""
    slack = _SLACK * max_w
    most = max(min(bid.mean_w - idle_w, max_w - bid.mean_w), 0.0)
    advice = f'lower the reserve to at most {in_full(most)} W, move the mean, or take reach = "paper"'
    if bid.mean_w - bid.reserve_w < idle_w - slack:
        raise InputError(
            f"bid: mean {in_full(bid.mean_w)} W − reserve {in_full(bid.reserve_w)} W = "
            f"{in_full(bid.mean_w - bid.reserve_w)} W is below the "
            f"{in_full(idle_w)} W that the idle cluster draws; {advice}"
        )
    if bid.mean_w + bid.reserve_w > max_w + slack:
        raise InputError(
            f"bid: mean {in_full(bid.mean_w)} W + reserve {in_full(bid.reserve_w)} W = "
            f"{in_full(bid.mean_w + bid.reserve_w)} W is above the "
            f"{in_full(max_w)} W that the cluster draws at full power; {advice}"
        )


def _check_range(low_w: float, high_w: float) -> None:
    if not (0 <= low_w <= high_w < np.inf):
        raise InputError(
            f"reach: the power range must run upward from 0 W or more (got {in_full(low_w)} W to {in_full(high_w)} W)"
        )
