"""What a journal of a live run says of the bid that it followed: the manifest's entry, and a row of accounts.

The power that counts is what meters said, and what the model says where nobody was heard. Prices are the default ones:
a machine does not know its bill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.market.bill import Bids, bill_hours, columns_of, flat_book
from wattline.model.regulation import Bid, Signal
from wattline.wiring.manifest import regulation_entry

STEP_S = 0.25
"""How finely targets are told."""


def followed(
    timeline: Mapping[str, Floats], measured: Floats, bids: Bids, span: tuple[float, float]
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the manifest's entry and the columns of the table ``hours``; None and nothing without a bid.

    ``measured`` has a line for each tick: when, watts (NaN: not known), nodes, target, limit.
    """
    held = np.isfinite(bids.mean_w) & (bids.time_s < span[1])
    if not held.any():
        return None, {}
    begin_s, end_s = max(span[0], float(bids.time_s[held][0])), span[1]
    only = len(set(zip(bids.mean_w.tolist(), bids.reserve_w.tolist(), strict=True))) == 1
    bid = Bid(float(bids.mean_w[0]), float(bids.reserve_w[0])) if only else None
    entry = regulation_entry(bid, None, [(begin_s, end_s)], (begin_s, end_s), {"law": "live", "step_s": STEP_S})
    time_s, power_w = _power(timeline, measured)
    if not (len(measured) and end_s - begin_s > STEP_S and time_s[0] <= begin_s):
        return entry, {}
    signal = _signal(measured, bids, begin_s, end_s)
    rows = bill_hours(time_s, power_w, np.array([begin_s, end_s]), flat_book(), signal=signal, bids=bids)
    return entry, columns_of(rows)


def _power(timeline: Mapping[str, Floats], measured: Floats) -> tuple[Floats, Floats]:
    """Return power as steps: measured from the first reading on, modelled before it and where nobody was heard."""
    time_s, model_w = timeline["time_s"], timeline["power_w"]
    if not len(measured) or not len(time_s):
        return time_s, model_w
    read_s, read_w = measured[:, 0], measured[:, 1]
    at = np.clip(np.searchsorted(time_s, read_s, side="right") - 1, 0, None)
    read_w = np.where(np.isnan(read_w), model_w[at], read_w)
    before = time_s < read_s[0]
    return np.concatenate([time_s[before], read_s]), np.concatenate([model_w[before], read_w])


def _signal(measured: Floats, bids: Bids, begin_s: float, end_s: float) -> Signal:
    """Return y(t) from the targets that control had."""
    grid_s = begin_s + STEP_S * np.arange(int(np.ceil((end_s - begin_s) / STEP_S - 1e-9)))
    target_w = measured[np.clip(np.searchsorted(measured[:, 0], grid_s, side="right") - 1, 0, None), 3]
    bid = np.clip(np.searchsorted(bids.time_s, grid_s, side="right") - 1, 0, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = (target_w - bids.mean_w[bid]) / bids.reserve_w[bid]
    return Signal(begin_s, STEP_S, np.clip(np.where(np.isfinite(y), y, 0.0), -1.0, 1.0))
