"""Where the supremum behind a delay's decay rate lies: in closed form where there is one, bracketed otherwise.

Notation: u = θ·w, g(u) = −Λ_B(−u) = n_μ·u − Λ_y(−s·u) (concave), F(θ) = Λ_A(θ) − g(θ·w) (convex, F(0) = 0).
The supremum of g(θ·w) over F(θ) < 0 is at the peak of g (Case I) or at the positive root of F (Case II); when F never
falls below 0 there is none (Case III).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.theory.gps_moments import Gaussian, LogMgf, PoissonBatch

PEAK, ROOT, NONE = 1, 2, 3
_DOUBLINGS = 200
# a share that exceeds its load by less than this, relatively, has no root that rounding leaves intact: Case III
_MARGIN = 1e-12


def supremum(arrivals: LogMgf, signal: LogMgf, mean: float, spread: float, weights: Floats) -> tuple[Floats, Ints]:
    """Return, for each type, the θ at which the supremum is taken (0 in Case III, inf if it is infinite) and the
    case.
    """
    if isinstance(arrivals, PoissonBatch) and isinstance(signal, Gaussian):
        return poisson_gaussian(arrivals, signal, mean, spread, weights)
    return any_laws(arrivals, signal, mean, spread, weights)


def poisson_gaussian(
    arrivals: PoissonBatch, signal: Gaussian, mean: float, spread: float, weights: Floats
) -> tuple[Floats, Ints]:
    """Cases I and III in closed form, Case II by Newton's method from a bound above the root."""
    rate, work = arrivals.rate_per_s, arrivals.work
    servers, variance = mean + spread * signal.mean, signal.variance * spread**2
    load = rate * work
    # in units x = θ·m·T and F/λ: e^x − 1 = c·x − k·x²
    c = servers * weights / load
    k = 0.5 * variance * (weights / work) ** 2 / rate
    case = np.full(weights.shape, ROOT, dtype=np.int64)
    at = np.zeros(weights.shape)
    growing = c > 1.0 + _MARGIN
    case[~growing] = NONE
    if variance > 0.0:
        # λ(e^{x₀} − 1) < n_μ²/(2n_σ²) at the peak x₀, eq. 41, without the overflow
        with np.errstate(over="ignore", divide="ignore"):  # a spread of next to nothing: the peak is at infinity
            peak = np.divide(0.5 * c, k, out=np.zeros_like(c), where=growing)
            at_peak = growing & (peak < np.log1p(servers**2 / (2.0 * variance * rate)))
        case[at_peak] = PEAK
        at[at_peak] = peak[at_peak]
    roots = case == ROOT
    if roots.any():
        at[roots] = _growth_root(c[roots], k[roots])
    return at / work, case


def _growth_root(c: Floats, k: Floats) -> Floats:
    """Return the positive root of e^x − 1 = c·x − k·x² left of the parabola's peak, for c > 1 and k ≥ 0.

    Newton on the convex h(x) = x − ln(1 + c·x − k·x²), which unlike e^x is nearly straight on the right; started where
    h ≥ 0 it falls to the root without overshooting. e^x − 1 ≥ x + x²/2 and c − 1/c ≥ 2·ln c give starts; the peak is
    one.
    """
    x = np.minimum(2.0 * np.log(c), (c - 1.0) / (0.5 + k))
    x = np.minimum(x, np.divide(0.5 * c, k, out=np.full_like(c, np.inf), where=k > 1e-300))
    for _ in range(_DOUBLINGS):
        inner = x * (c - k * x)
        step = (x - np.log1p(inner)) / (1.0 - (c - 2.0 * k * x) / (1.0 + inner))
        x = x - step
        if not (step > 1e-9 * x).any():  # the next step would be the square of this one
            break
    return x


def any_laws(arrivals: LogMgf, signal: LogMgf, mean: float, spread: float, weights: Floats) -> tuple[Floats, Ints]:
    """Return the same as ``supremum`` for laws that only give their value and slope."""
    zero = np.zeros(weights.shape)
    at, case = zero.copy(), np.full(weights.shape, NONE, dtype=np.int64)

    def value(theta: Floats) -> Floats:
        return arrivals.value(theta) - net(signal, mean, spread, theta * weights)

    def slope(theta: Floats) -> Floats:
        return arrivals.slope(theta) - weights * net_slope(signal, mean, spread, theta * weights)

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        falls = slope(zero) < -_MARGIN * arrivals.slope(zero)
        if not falls.any():
            return at, case
        peak = net_peak(signal, mean, spread)
        upper = np.where(falls, peak / weights, 1.0) if np.isfinite(peak) else expanded(value, np.ones_like(zero))
        at_peak = falls & ~(value(upper) >= 0.0)
        roots = falls & ~at_peak
        case[at_peak], case[roots] = PEAK, ROOT
        at[at_peak] = upper[at_peak] if np.isfinite(peak) else np.inf
        lower = _shrunk(value, upper, roots)
        at[roots] = convex_root(value, slope, lower, upper, roots)[roots]
    return at, case


def net(signal: LogMgf, mean: float, spread: float, u: Floats) -> Floats:
    """Return g(u) = −Λ_B(−u), Λ_B(θ) = n_μ·θ + Λ_y(s·θ): the law of n_μ + s·y servers."""
    return mean * u - signal.value(-spread * u)


def net_slope(signal: LogMgf, mean: float, spread: float, u: Floats) -> Floats:
    """Return g'(u)."""
    return mean + spread * signal.slope(-spread * u)


def net_peak(signal: LogMgf, mean: float, spread: float) -> float:
    """Return the u at which g is largest; inf if it rises for ever (servers never all idle), 0 if it never rises."""
    if isinstance(signal, Gaussian) and signal.variance * spread > 0.0:
        return max(0.0, (mean + spread * signal.mean) / (signal.variance * spread**2))

    def rise(v: float) -> float:  # in v = s·u, the signal's own scale
        return float(mean + spread * signal.slope(np.array(-v)))

    if rise(0.0) <= 0.0:
        return 0.0
    upper = 1.0
    for _ in range(_DOUBLINGS):
        if spread <= 0.0 or rise(upper) <= 0.0:
            break
        upper *= 2.0
    if spread <= 0.0 or rise(upper) > 0.0:
        return np.inf
    from scipy.optimize import brentq

    return float(brentq(rise, 0.0, upper, xtol=1e-300, rtol=1e-15)) / spread


def convex_root(
    value: Callable[[Floats], Floats],
    slope: Callable[[Floats], Floats],
    lower: Floats,
    upper: Floats,
    wanted: npt.NDArray[np.bool_],
) -> Floats:
    """Return roots of convex functions between ``lower`` (value < 0) and ``upper`` (value ≥ 0), entry by entry.

    A Newton step from the right stays right of the root and a chord ends left of it; a bisection first, so that the
    bracket at least halves where the function is infinite or bends sharply.
    """
    for _ in range(_DOUBLINGS):
        middle = 0.5 * (lower + upper)
        below = value(middle) < 0.0
        lower, upper = np.where(below, middle, lower), np.where(below, upper, middle)
        at_lower, at_upper = value(lower), value(upper)
        newton = upper - at_upper / slope(upper)
        chord = lower - at_lower * (upper - lower) / (at_upper - at_lower)
        upper = np.where((newton > lower) & (newton < upper), newton, upper)
        lower = np.where((chord > lower) & (chord < upper), chord, lower)
        if not (upper - lower > 1e-15 * upper)[wanted].any():
            break
    return upper


def expanded(value: Callable[[Floats], Floats], upper: Floats) -> Floats:
    """Double until the value is not negative; an entry that never gets there ends far out."""
    for _ in range(_DOUBLINGS):
        low = value(upper) < 0.0
        if not low.any():
            break
        upper = np.where(low, 2.0 * upper, upper)
    return upper


def _shrunk(value: Callable[[Floats], Floats], lower: Floats, wanted: npt.NDArray[np.bool_]) -> Floats:
    """Halve until the value is negative."""
    for _ in range(_DOUBLINGS):
        high = wanted & ~(value(lower) < 0.0)
        if not high.any():
            break
        lower = np.where(high, 0.5 * lower, lower)
    return lower
