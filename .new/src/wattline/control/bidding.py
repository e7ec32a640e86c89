"""Bids made during a run: the loop stops at a bidding time, the bid policy proposes, the guard disposes.

Bids are made once an hour, so this is no part of the compiled loop; a real cluster calls it the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattline.control.every_run import begin_period_now
from wattline.control.logs import log_event_now, record_now
from wattline.control.users.compile import callable_from_python
from wattline.control.users.complaints import where
from wattline.errors import PolicyError
from wattline.market.reach import misfit
from wattline.model import codes
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import State
from wattline.model.state.spare import CALLS, WHO


def is_due(s: State) -> bool:
    """Tell whether the loop waits for a bid."""
    return bool(s.bid_open[0] == 1 and s.bidding_s[0] <= s.now[0])


def make(s: State, policy: Mechanism, param: Any, memory: Any) -> None:
    """Ask the policy for the bid of the next period, judge it and note it.

    A policy that returns 0 stays out of the market for that period, and so does one whose bid is refused.
    """
    hour = int(s.bidding_k[0])
    holds_from_s = float(s.bid_first_s[0] + hour * s.bid_every_s[0])
    s.bidding_k[0] = hour + 1
    s.bidding_s[0] = max(float(s.now[0]), holds_from_s + float(s.bid_every_s[0]) - float(s.bid_lead_s[0]))
    if holds_from_s >= s.bidding_until_s[0] or not policy.wake & codes.BIDDING:
        s.bidding_s[0] = np.inf
    if holds_from_s < s.bidding_until_s[0] and policy.wake & codes.BIDDING:
        _note(s, holds_from_s, _ask(s, hour, policy, param, memory))
    s.schedule_s[0] = min(s.schedule_s[0], s.bidding_s[0], s.next_bid_s[0])


def stay_out(s: State) -> None:
    """Let the period that was just asked for have no bid: its policy failed, and the machine has to be driven on."""
    s.words[WHO] = 0
    _note(s, float(s.bid_first_s[0] + (s.bidding_k[0] - 1) * s.bid_every_s[0]), kept=False)
    s.schedule_s[0] = min(s.schedule_s[0], s.bidding_s[0], s.next_bid_s[0])


def _ask(s: State, hour: int, policy: Mechanism, param: Any, memory: Any) -> bool:
    """Let the policy write the bid it wants; tell whether there is one that can be kept."""
    s.want_mean_w[0], s.want_reserve_w[0] = np.nan, 0.0
    policy_call = callable_from_python(policy)
    s.words[CALLS] += 1
    s.words[WHO] = 0 if policy.builtin else 1 + codes.BID
    wants = policy_call(s, hour, param, memory)
    s.words[WHO] = 0
    if wants not in (0, 1):
        raise PolicyError(
            f"{where(policy)} returned {wants}; 0 is right to stay out of the market, or 1 after writing "
            "s.want_mean_w and s.want_reserve_w"
        )
    if wants == 0:
        return False
    verdict = judge(s)
    _record(s, verdict)
    return verdict == codes.OK


def judge(s: State) -> int:
    """Return the verdict on the wanted bid: it must be one that the machine can keep, idle or busy."""
    idle_w, max_w = float(np.sum(s.pool_count * s.idle_w)), float(np.sum(s.pool_count * s.max_w))
    wrong = misfit(float(s.want_mean_w[0]), float(s.want_reserve_w[0]), idle_w, max_w)
    return codes.BAD_BID if wrong else codes.OK


def _record(s: State, verdict: int) -> None:
    """Add the wanted bid to the decision log: its mean power with the verdict, and its reserve."""
    record_now(s, codes.ACT_BID, -1, 0, s.want_mean_w[0], codes.CHOSEN, verdict)
    record_now(s, codes.ACT_RESERVE, -1, 0, s.want_reserve_w[0], codes.CHOSEN, codes.OK)


def _note(s: State, holds_from_s: float, kept: bool) -> None:
    """Put the wanted bid, or none, in force when its period begins."""
    mean_w, reserve_w = (float(s.want_mean_w[0]), float(s.want_reserve_w[0])) if kept else (np.nan, 0.0)
    s.next_mean_w[0], s.next_reserve_w[0] = mean_w, reserve_w
    s.next_bid_s[0] = holds_from_s
    if holds_from_s <= s.now[0]:
        begin(s)


def begin(s: State) -> None:
    """Let the bid that was made last hold from now on."""
    s.next_bid_s[0] = np.inf
    begin_period_now(s)
    put_in_force(s, float(s.next_mean_w[0]), float(s.next_reserve_w[0]))


def put_in_force(s: State, mean_w: float, reserve_w: float) -> None:
    """Let a bid (mean power NaN: none) hold from now on; the pass that follows sees its target."""
    s.mean_w[0], s.reserve_w[0] = mean_w, reserve_w
    s.target_w[0] = mean_w + reserve_w * s.signal[max(0, int(s.signal_at[0]) - 1)]
    s.happened[0] |= codes.ENVELOPE
    log_event_now(s, codes.EV_BID, -1, 0, mean_w)
    log_event_now(s, codes.EV_RESERVE, -1, 0, reserve_w)
