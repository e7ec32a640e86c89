"""From delay tails to promises: α from what was observed, the rate a promise needs, the least weights that keep it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.model.regulation import Bid
from wattline.theory.gps_moments import Gaussian, LogMgf, PoissonBatch
from wattline.theory.gps_roots import convex_root, expanded, net, net_peak, net_slope
from wattline.theory.gps_tails import Flow, Theory


def exceedance(degradation: npt.ArrayLike, type_index: npt.ArrayLike, limit: npt.ArrayLike) -> tuple[Floats, Ints]:
    """Return, for each type, the share of its jobs with Q ≥ limit (0 without jobs) and how many jobs it has."""
    kind, bound = np.asarray(type_index, dtype=np.int64), np.asarray(limit, dtype=np.float64)
    late = np.asarray(degradation, dtype=np.float64) >= bound[kind]
    count = np.bincount(kind, minlength=bound.size)
    return np.bincount(kind, weights=late, minlength=bound.size) / np.maximum(count, 1), count


LEAST = 1e-3
"""Share of late jobs that counts where none was seen: its logarithm exists, and no promise of a published workload is
so strict that it would seem broken by it.
"""


def fit_log_alpha(
    observed: npt.ArrayLike, rate_per_s: npt.ArrayLike, limit_s: npt.ArrayLike, least: npt.ArrayLike = LEAST
) -> Floats:
    """Return ln α from α = Ŝ(D_max)·e^{D_max·θ*}: the predicted tail meets the observed one at the promise.

    Ŝ counts as at ``least`` something, so that its logarithm exists. α itself overflows for rates that the paper's
    theory gives; hence its logarithm.
    """
    seen = np.maximum(np.asarray(observed, dtype=np.float64), least)
    found: Floats = np.log(seen) + _finite(rate_per_s) * np.asarray(limit_s, dtype=np.float64)
    return found


def fit_log_alpha_to_curve(curve: npt.ArrayLike, rate_per_s: npt.ArrayLike, delay_s: npt.ArrayLike) -> Floats:
    """Return ln α of the line ln α − θ*·d that is nearest to ln Ŝ(d), by least squares (AQA §3.5).

    ``curve`` and ``delay_s`` have a row for each of some delays, a column for each type: the share of jobs that were
    delayed at least so long. The slope is the theory's, so only the line's height is fitted.
    """
    seen = np.maximum(np.asarray(curve, dtype=np.float64), LEAST)
    found: Floats = (np.log(seen) + _finite(rate_per_s) * np.asarray(delay_s, dtype=np.float64)).mean(axis=0)
    return found


def _finite(rate_per_s: npt.ArrayLike) -> Floats:
    """Return rates, 0 for those without end: whatever α is, their tails are 0."""
    rate = np.asarray(rate_per_s, dtype=np.float64)
    return np.where(np.isinf(rate), 0.0, rate)


def needed_rate(theory: Theory, log_alpha: Floats) -> Floats:
    """Return δ_D = −ln(δ/α)/D_max (AQA eq. 19): the promise holds where θ* ≥ δ_D; ≤ 0 where it holds for any rate."""
    return (log_alpha - np.log(theory.types.share)) / theory.types.limit_s


def weight_bound(theory: Theory, flow: Flow, log_alpha: Floats) -> Floats:
    """Return w*, the least weight of each type that keeps its promise (thesis eqs. 2.42–2.43, for m nodes a job).

    With Λ_A(κ) = δ_D and u the smaller solution of g(u) = δ_D it is u/κ; load/n_μ where α ≤ δ, and inf where g stays
    below δ_D (eq. 2.42 fails: the servers vary too much for any weight) or n_μ is not positive.
    """
    rate, load = needed_rate(theory, log_alpha), theory.load
    start = float(net_slope(theory.signal, flow.mean, flow.spread, np.array(0.0)))
    if not start > 0.0:
        return np.full(load.shape, np.inf)
    active = rate > 0.0
    level = np.where(active, rate, 1.0)
    u, kappa = _smaller_rise(theory.signal, flow, level), _inverse(theory.arrival_law, level)
    return np.where(active, u / kappa, load / start)


@dataclass(frozen=True)
class Shares:
    """Weights in proportion to the least ones, and ``total``, the least ones' sum: some weights keep all promises iff ≤
    1.
    """

    weights: Floats
    total: float


def least_shares(theory: Theory, bid: Bid, log_alpha: Floats) -> Shares:
    """Solve w = w* for a bid, though w* depends on w.

    n_μ and n_σ both go as 1/D, hence w* = D·c with c free of w. So weights c/Σc are as good as any, and weights with
    w ≥ w* exist exactly if Σ c·(p − p_idle) ≤ 1, whatever is done with the slack (no type may draw less than idle).
    """
    flow = Flow(bid.mean_w - theory.servers * theory.idle_w, bid.reserve_w, 1.0)
    c = weight_bound(theory, flow, log_alpha)
    if not np.isfinite(c).all():
        return Shares(np.full(c.shape, np.nan), np.inf)
    return Shares(c / c.sum(), float(c @ (theory.types.power_w - theory.idle_w)))


def _inverse(law: LogMgf, level: Floats) -> Floats:
    """Return κ > 0 with Λ_A(κ) = level."""
    if isinstance(law, PoissonBatch):
        return np.log1p(level / law.rate_per_s) / law.work
    every = np.ones(level.shape, dtype=np.bool_)

    def value(theta: Floats) -> Floats:
        return law.value(theta) - level

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        upper = expanded(value, np.full(level.shape, 1e-9))
        return convex_root(value, law.slope, np.zeros(level.shape), upper, every)


def _smaller_rise(signal: LogMgf, flow: Flow, level: Floats) -> Floats:
    """Return the smaller u with g(u) = level, inf where g stays below it."""
    if isinstance(signal, Gaussian):
        mean, variance = flow.mean + flow.spread * signal.mean, signal.variance * flow.spread**2
        room = mean**2 - 2.0 * level * variance
        return np.where(room >= 0.0, 2.0 * level / (mean + np.sqrt(np.maximum(room, 0.0))), np.inf)
    peak = net_peak(signal, flow.mean, flow.spread)

    def short(u: Floats) -> Floats:
        return np.where(u < peak, net(signal, flow.mean, flow.spread, u) - level, np.inf)

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        top = np.minimum(expanded(short, np.full(level.shape, 1e-9)), peak)
        reached = net(signal, flow.mean, flow.spread, top) >= level
        # seen from the top going down, level − g is convex and rises through 0 once
        back = convex_root(
            lambda x: level - net(signal, flow.mean, flow.spread, top - x),
            lambda x: net_slope(signal, flow.mean, flow.spread, top - x),
            np.zeros(level.shape),
            top,
            reached,
        )
    return np.where(reached, top - back, np.inf)
