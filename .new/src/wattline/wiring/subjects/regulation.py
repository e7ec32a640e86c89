"""Lay out kinds of job, the regulation signal and the bids in a state."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError, did_you_mean
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.mechanism import Mechanism
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.model.state.record import State
from wattline.units import in_full

MOST_COMPARED = 1000
"""Names among which one that is close is looked for."""


def kind_codes(jobs: JobTable, kinds: Sequence[Kind]) -> Ints:
    """Return every job's kind as an index into the declared kinds; without any, as the job table has it."""
    if not kinds:
        return jobs.kind
    place: dict[str, int] = {}
    for k, kind in enumerate(kinds):
        if place.setdefault(kind.name, k) != k:
            raise InputError(f"kind {kind.name!r} is declared twice")
    if np.any(jobs.kind < 0):
        j = int(np.argmax(jobs.kind < 0))
        raise InputError(f"job {jobs.job_id[j]} has no kind; declared are {_some(place)}")
    for code in np.unique(jobs.kind):
        if jobs.kinds[code] not in place:
            close = did_you_mean(jobs.kinds[code], list(place)[:MOST_COMPARED])
            hint = close if len(close) < 200 else f"; declared are {_some(place)}"
            raise InputError(f"kind {jobs.kinds[code]!r} of the jobs is not declared{hint}")
    translate = np.array([place.get(name, -1) for name in jobs.kinds], dtype=np.int64)
    codes: Ints = translate[jobs.kind] if len(jobs) else jobs.kind
    return codes


def _some(names: Collection[str]) -> str:
    """Return a few names, and how many more there are."""
    shown = list(names)[:8]
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more


def check_periods(tick_s: float, stop_cost_s: float) -> None:
    """Refuse a control period or a cost of stopping that makes no sense."""
    if not tick_s > 0:
        raise InputError(f"the control period must be above 0, got {in_full(tick_s)} s")
    if not 0 <= stop_cost_s < np.inf:
        raise InputError(f"the work that a stop costs must not be negative, got {in_full(stop_cost_s)} s")


def check_weights(policy: str, kinds: Sequence[Kind]) -> None:
    """Refuse kinds that a policy which shares by weights would never start."""
    for kind in kinds:
        if not kind.standby and not kind.weight > 0:
            raise InputError(
                f"select policy {policy!r} shares nodes by weights: kind {kind.name!r} has none, so none of its jobs "
                "would start"
            )


def check_kinds(policy: Mechanism, kinds: Sequence[Kind]) -> None:
    """Refuse a policy that treats jobs by their kinds where none is declared."""
    if policy.kinds and not kinds:
        raise InputError(f"{policy.slot} policy {policy.called!r} treats jobs by their kinds: declare them")


def check_target(policy: Mechanism, *, followed: bool) -> None:
    """Refuse a policy that follows a power target in a run without one (``followed``: it has one)."""
    if policy.target and not followed:
        raise InputError(
            f"{policy.slot} policy {policy.called!r} follows a power target: give a regulation signal and a bid"
        )


def check_rates(policy: Mechanism, kinds: Sequence[Kind]) -> None:
    """Refuse kinds of which none is known to arrive, where a policy counts on how often they do."""
    if policy.rates and not any(kind.arrival_per_s > 0 for kind in kinds if not kind.standby):
        raise InputError(
            f"{policy.slot} policy {policy.called!r} goes by the arrival rates of kinds, and no kind has one: give "
            "rate in "
            "[[kind]], or arrival_per_s in a file of kinds, as wattline trace kinds writes it"
        )


def fill_kinds(s: State, kinds: Sequence[Kind]) -> None:
    """Write what the kinds are and what was promised to them; their jobs are there already."""
    s.k_shortest_s[:] = np.inf
    if kinds:
        known = int(s.n_jobs[0])
        np.minimum.at(s.k_shortest_s, s.kind[:known], s.work[:known])
    for k, kind in enumerate(kinds):
        s.k_nodes[k], s.k_work_s[k], s.k_draw_w[k], s.k_floor_w[k] = kind.nodes, kind.work_s, kind.draw_w, kind.floor_w
        s.k_limit[k], s.k_share[k], s.k_weight[k] = kind.limit, kind.share, kind.weight
        s.k_standby[k], s.k_average[k], s.k_rate[k] = int(kind.standby), int(kind.average), kind.arrival_per_s


def fill_regulation(
    s: State, signal: Signal | None, bids: Sequence[tuple[float, Bid | None]], bidding: Bidding | None
) -> None:
    """Write the signal, the bids and when others are made.

    The first instant brings those up to date that hold from the start.
    """
    if (bids or bidding) and signal is None:
        raise InputError("a bid needs a regulation signal to follow")
    if signal is None:
        return
    s.signal[:], s.signal_from_s[0], s.signal_step_s[0] = signal.values, signal.start_s, signal.step_s
    steps = sorted(bids, key=lambda step: step[0])
    for i, (time_s, bid) in enumerate(steps):
        s.bid_s[i] = time_s
        s.bid_mean_w[i], s.bid_reserve_w[i] = (np.nan, 0.0) if bid is None else (bid.mean_w, bid.reserve_w)
    if steps and not signal.covers(steps[0][0], steps[0][0]):
        raise InputError(
            f"the bid begins at {in_full(steps[0][0])} s, the signal has values from {in_full(signal.start_s)} s to "
            f"{in_full(signal.end_s)} s"
        )
    if bidding is not None:
        s.bid_first_s[0], s.bid_every_s[0], s.bid_lead_s[0] = bidding.first_s, bidding.every_s, bidding.lead_s
        s.bidding_until_s[0] = bidding.until_s
        # a run that begins within a period makes the bid of that period at once
        s.bidding_k[0] = max(0, int((float(s.start_s[0]) - bidding.first_s) // bidding.every_s))
        due_s = bidding.first_s + float(s.bidding_k[0]) * bidding.every_s - bidding.lead_s
        s.bidding_s[0] = max(float(s.start_s[0]), due_s)
        if not signal.covers(bidding.first_s, bidding.first_s):
            raise InputError(
                f"bids begin at {in_full(bidding.first_s)} s, the signal has values from "
                f"{in_full(signal.start_s)} s to "
                f"{in_full(signal.end_s)} s"
            )
