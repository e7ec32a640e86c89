"""Observed delays beside the tails that the theory predicts for them, type by type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.model.regulation import Bid
from wattline.theory.gps_bounds import exceedance, fit_log_alpha
from wattline.theory.gps_moments import LogMgf
from wattline.theory.gps_tails import Theory, active_servers, decay, delay_tail


@dataclass(frozen=True)
class Predicted:
    """The theory's tail of one type, Prob[delay ≥ d] = min(1, α·e^{−θ*·d}), and the case in which θ* was found."""

    rate_per_s: float
    log_alpha: float
    case: int

    def tail(self, delay_s: npt.ArrayLike) -> Floats:
        """Return the probability of such a delay or a longer one."""
        return delay_tail(self.rate_per_s, self.log_alpha, delay_s)


@dataclass(frozen=True)
class Tail:
    """Delays Q·T of the jobs of a type, in order (inf: never finished), its promise, and what was predicted, by law."""

    name: str
    delay_s: Floats
    limit_s: float
    share: float
    predicted: Mapping[str, Predicted]

    @property
    def late(self) -> float:
        """Share of the jobs that were delayed by the limit or longer (0 without jobs)."""
        return float(np.mean(self.delay_s >= self.limit_s)) if self.delay_s.size else 0.0

    def survival(self, points: int) -> tuple[Floats, Floats]:
        """Return at most ``points`` true points (delay, share of jobs with this delay or a longer one), dense in the
        tail.

        >>> Tail("a", np.array([0.0, 2.0, 2.0, 5.0]), 4.0, 0.1, {}).survival(9)
        (array([0., 2., 5.]), array([1.  , 0.75, 0.25]))
        """
        n, ended = self.delay_s.size, int(np.isfinite(self.delay_s).sum())
        if ended == 0:
            return np.empty(0), np.empty(0)
        left = np.unique(np.geomspace(n - ended + 1, n, points).round().astype(np.int64))[::-1]
        first = np.unique(np.searchsorted(self.delay_s, self.delay_s[n - left], side="left"))
        return self.delay_s[first], (n - first) / n


def observed_tails(
    theory: Theory,
    laws: Mapping[str, LogMgf],
    bid: Bid,
    weights: Floats,
    degradation: Floats,
    type_index: npt.ArrayLike,
) -> tuple[Tail, ...]:
    """Hold the QoS degradation Q of jobs against the theory under each of some laws of the signal.

    α is fitted to these very jobs: every prediction meets them at the promise, whatever it says elsewhere.
    """
    types, kind = theory.types, np.asarray(type_index, dtype=np.int64)
    seen, _ = exceedance(degradation, kind, types.limit)
    found: list[dict[str, Predicted]] = [{} for _ in seen]
    for name, law in laws.items():
        under = replace(theory, signal=law)
        fall = decay(under, active_servers(under, bid, weights), weights)
        log_alpha = fit_log_alpha(seen, fall.rate_per_s, types.limit_s)
        for j, by_law in enumerate(found):
            by_law[name] = Predicted(float(fall.rate_per_s[j]), float(log_alpha[j]), int(fall.case[j]))
    # rounding leaves a job that was never held up a little below zero
    delay_s = np.maximum(np.asarray(degradation, dtype=np.float64) * types.time_s[kind], 0.0)
    names = types.names or tuple(types.label(j) for j in range(seen.size))
    return tuple(
        Tail(names[j], np.sort(delay_s[kind == j]), float(types.limit_s[j]), float(types.share[j]), found[j])
        for j in range(seen.size)
    )
