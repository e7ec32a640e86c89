"""The state that a controller begins with: the machine of its scenario, and nothing known of jobs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from wattline.api.site.plan import Planned

if TYPE_CHECKING:
    from wattline.model.regulation import Bidding, Signal
    from wattline.wiring.bound import Bound

KEPT_PERIODS = 4
"""Periods of bids of which a state has room for the signal: a policy looks at the one that ends."""


def make_bound(planned: Planned) -> Bound:
    """Return the state of the machine before anything is known of its jobs, with the policies bound to it."""
    import numpy as np

    from wattline.model.jobs import JobTable
    from wattline.wiring.bound import Bound

    spec, study = planned.spec, planned.study
    bidding = None if spec.bid is not None else study.options.bidding
    options = replace(
        study.options,
        signal=None if bidding is None else _blank_signal(bidding, spec.control.period),
        bids=(),
        bidding=None if bidding is None else replace(bidding, first_s=0.0, until_s=math.inf),
        limit_w=(),
        start_s=0.0,
        until_s=math.inf,
        tick_s=spec.control.period,
        spare_rows=spec.control.rows,
        outside=True,
        late_start_s=(0.0, spec.control.start_late),
        late_cap_s=(0.0, 0.0),  # the machine is late by itself
        noise=0.0,
        timeline=True,
        placements=True,
        decisions=True,
    )
    nobody = JobTable.build(submit_s=np.zeros(0), work_s=np.zeros(0), nodes=np.zeros(0, dtype=np.int64))
    return Bound(nobody, study.cluster, study.policies, options, seed=study.seed)


def _blank_signal(bidding: Bidding, step_s: float) -> Signal:
    """Return room for what is heard of the signal in the last periods of bids."""
    import numpy as np

    from wattline.model.regulation import Signal

    return Signal(0.0, step_s, np.zeros(KEPT_PERIODS * max(2, math.ceil(bidding.every_s / step_s))))
