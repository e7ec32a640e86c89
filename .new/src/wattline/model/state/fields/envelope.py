"""The envelope over time: limits, signal and bids; node changes and timers."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.state.fields.field import Field


class EnvelopeFields:
    """The envelope over time: limits, signal and bids; node changes and timers."""

    # -- envelope, node changes, timers
    env_s: Annotated[Floats, Field("E", "s", "times at which the power limit changes", fixed=True)]
    env_w: Annotated[Floats, Field("E", "W", "the limit from then on", fixed=True)]
    env_at: Annotated[Ints, Field("1", "", "next envelope step")]
    signal: Annotated[Floats, Field("G", "", "regulation signal, within [-1, 1]", fixed=True, entered=True)]
    signal_from_s: Annotated[Floats, Field("1", "s", "when its first value begins", fixed=True)]
    signal_step_s: Annotated[Floats, Field("1", "s", "how long each value holds", fixed=True, nothing=1.0)]
    signal_at: Annotated[Ints, Field("1", "", "next step of the signal")]
    bid_s: Annotated[Floats, Field("M", "s", "times from which bids hold", fixed=True)]
    bid_mean_w: Annotated[Floats, Field("M", "W", "their mean powers (NaN: no bid)", fixed=True)]
    bid_reserve_w: Annotated[Floats, Field("M", "W", "their reserves", fixed=True)]
    bid_at: Annotated[Ints, Field("1", "", "next bid")]
    bidding_s: Annotated[Floats, Field("1", "s", "when the bid policy is asked next (inf: never)", nothing=np.inf)]
    bidding_k: Annotated[Ints, Field("1", "", "number of that bid")]
    bidding_until_s: Annotated[Floats, Field("1", "s", "no bid holds from this time on", fixed=True, nothing=np.inf)]
    bid_first_s: Annotated[Floats, Field("1", "s", "when the first of them begins to hold", fixed=True, entered=True)]
    bid_every_s: Annotated[Floats, Field("1", "s", "how long a bid of the bid policy holds", fixed=True)]
    bid_lead_s: Annotated[Floats, Field("1", "s", "how long before its hour a bid is made", fixed=True)]
    bid_open: Annotated[Ints, Field("1", "", "1 while the loop waits for a bid; the pass of the instant follows it")]
    next_bid_s: Annotated[
        Floats, Field("1", "s", "when the bid made last gets into force (inf: it has)", nothing=np.inf)
    ]
    next_mean_w: Annotated[Floats, Field("1", "W", "its mean power (NaN: no bid)", nothing=np.nan)]
    next_reserve_w: Annotated[Floats, Field("1", "W", "its reserve")]
    period_exceed_s: Annotated[Floats, Field("1", "s", "exceed_s when the bid of the bid policy that holds began to")]
    period_signal: Annotated[Ints, Field("1", "", "steps of the signal that had begun before then")]
    change_s: Annotated[Floats, Field("K", "s", "times of node changes", fixed=True)]
    change_kind: Annotated[Ints, Field("K", "", "drain, down or up", fixed=True)]
    change_a: Annotated[Ints, Field("K", "", "first node", fixed=True)]
    change_b: Annotated[Ints, Field("K", "", "one past the last node", fixed=True)]
    change_at: Annotated[Ints, Field("1", "", "next node change")]
    wake_at_s: Annotated[
        Floats,
        Field(
            "6",
            "s",
            "timers that policies set, one a slot (inf: none)",
            nothing=np.inf,
            writers="order select place cap learn profile",
        ),
    ]
    timer_last_s: Annotated[Floats, Field("1", "s", "when a timer last fired")]
    timer_slot: Annotated[Ints, Field("1", "", "the slot whose timer that was")]
    tick_s: Annotated[Floats, Field("1", "s", "control period (inf: none)", fixed=True, nothing=np.inf)]
    schedule_s: Annotated[Floats, Field("1", "s", "next envelope step, node change or tick", nothing=np.inf)]
    until_s: Annotated[Floats, Field("1", "s", "when the run is stopped (inf: never)", fixed=True, nothing=np.inf)]
    go_on_s: Annotated[
        Floats, Field("1", "s", "the run goes on up to here though no job is left", fixed=True, nothing=-np.inf)
    ]
    tick_k: Annotated[Ints, Field("1", "", "number of the next tick")]
    again_s: Annotated[
        Floats, Field("1", "s", "when a pass last called for another in the same instant", nothing=-np.inf)
    ]
