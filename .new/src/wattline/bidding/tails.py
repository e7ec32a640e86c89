"""Delays of simulated hours beside the tails that the theory of sharing by weights predicts for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wattline.arrays import Floats
from wattline.bidding.hours.laws import GaussianLaw, SignalLaw
from wattline.bidding.hours.observed import Observed
from wattline.bidding.hours.setting import Setting
from wattline.bidding.searches.aqa import theory_of
from wattline.model.kinds import column
from wattline.model.regulation import Bid
from wattline.theory.gps_moments import Gaussian, memory_s
from wattline.theory.gps_observed import Tail, observed_tails

AS_PUBLISHED, CORRECTED = "theory as published", "theory corrected"
"""Laws of the signal: seconds independent of each other, and with the variance that sums over a long time have."""

LAW_S = 48 * 3600.0
"""Length of the signal from which the moments of a law that is no Gaussian one are taken."""


def delay_tails(setting: Setting, seen: Observed, bid: Bid, weights: Floats | None = None) -> tuple[Tail, ...]:
    """Return the delays of every promised kind on hours that were seen under a bid, beside the theory of sharing by
    weights.

    The theory is taken twice, with the law of the signal as published (eq. 23) and with the corrected one. Weights are
    those of the kinds unless given.
    """
    theory, rows = theory_of(setting)
    mine = np.isin(seen.kind, rows)
    shares = (column(setting.kinds, "weight") if weights is None else weights)[rows]
    laws = signal_laws(setting.signal, float(theory.types.limit_s.max()))
    place = np.searchsorted(rows, seen.kind[mine])
    return observed_tails(theory, laws, bid, shares / shares.sum(), seen.degradation[mine], place)


def signal_laws(law: SignalLaw, window_s: float) -> Mapping[str, Gaussian]:
    """Return the Gaussian laws by which the theory knows a signal: as published, and corrected for its memory.

    The memory of a generated Gaussian signal is twice its time constant; that of any other is measured on sums over a
    window, which should be about as long as the delays of interest.
    """
    if isinstance(law, GaussianLaw):
        std, mean, memory = law.std, 0.0, 2.0 * law.time_constant_s
    else:
        signal = law(LAW_S, 0)
        std, mean = float(signal.values.std()), float(signal.values.mean())
        longest_s = 0.5 * signal.values.size * signal.step_s
        memory = memory_s(signal.values, signal.step_s, float(np.clip(window_s, signal.step_s, longest_s)))
    return {AS_PUBLISHED: Gaussian(std, mean), CORRECTED: Gaussian(std, mean, memory)}
