"""A regulation signal fitted to a given one: its distribution, its saturation and its autocorrelation.

The model is a *translation process*: y(t) = Q(z(t)), with z a stationary normal process of variance 1 and Q the given
signal's quantile function after the normal distribution function. Whatever z's correlation, y has the given marginal
distribution, atoms at ±1 included: they are the flat ends of Q. Correlations ρ of z become G(ρ) = Σ c_k² ρ^k / Σ c_k²
in y (Mehler), c_k the coefficients of Q in normalised Hermite polynomials, k ≥ 1. Q never falls, so G rises and is
inverted lag by lag: no iteration, and no surrogate as long as the original, as shuffling phases would need. Lags beyond
``memory_s`` fade out; frequencies that the inversion leaves with negative power get none (on PJM's signals that is <
0.1 % of it).

What a normal process cannot have is not reproduced: the asymmetry of rise and fall, and bursts. A signal that stands
still for long and then jumps gets the same variance of changes spread evenly, hence more mileage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.market.signal_law import autocorrelation
from wattline.model.regulation import Signal

MEMORY_S = 3600.0
_KNOTS = np.linspace(-5.0, 5.0, 5001)
"""Where Q is tabulated; 5 standard deviations are left once in 20 days of a signal at 2 s."""
_SHARES = np.array([0.5 * math.erfc(-z / math.sqrt(2.0)) for z in _KNOTS])
_DEGREE = 200


@dataclass(frozen=True)
class SignalFit:
    """What is kept of a signal: Q at ``knots`` and the latent correlations at lags of 0, 1, 2 … steps."""

    step_s: float
    knots: Floats
    values: Floats
    correlation: Floats

    def sample(self, random: np.random.Generator, count: int) -> Floats:
        """Draw ``count`` values of the latent process z, by circulant embedding."""
        size = 1 << (2 * max(count, self.correlation.size) - 1).bit_length()
        circle = np.zeros(size)
        circle[: self.correlation.size] = self.correlation
        circle[size - self.correlation.size + 1 :] = self.correlation[:0:-1]
        power = np.maximum(np.fft.rfft(circle).real, 0.0)
        power /= np.fft.irfft(power, size)[0]
        noise = np.fft.rfft(random.standard_normal(size))
        return np.asarray(np.fft.irfft(noise * np.sqrt(power), size)[:count], dtype=np.float64)


def fit_signal(signal: Signal, memory_s: float = MEMORY_S) -> SignalFit:
    """Fit a translation process to a signal; correlations count fully up to half of ``memory_s`` and fade out by it."""
    if not memory_s >= 4 * signal.step_s:
        raise InputError(f"fit: memory_s must span some steps of {signal.step_s:g} s (got {memory_s:g})")
    if signal.values.size < 100 or not signal.values.std() > 0:
        told = f"{signal.values.size} values" if signal.values.std() > 0 else "a constant signal"
        raise InputError(f"fit: needs at least 100 values that vary (got {told})")
    lags = min(round(memory_s / signal.step_s), signal.values.size // 2)
    values = np.quantile(signal.values, _SHARES, method="hazen")
    return _faded(signal.step_s, values, autocorrelation(signal.values, lags))


def fit_to(step_s: float, values: Floats, weights: Floats, correlation: Floats) -> SignalFit:
    """Fit a translation process to a distribution, ``values`` in order with a weight each, and correlations at lags of
    0, 1, 2 … steps, which fade out over the second half of them.
    """
    # the quantile of each value lies in the middle of its weight, as Hazen has it
    at = np.cumsum(weights) - 0.5 * weights
    return _faded(step_s, np.interp(_SHARES, at / weights.sum(), values), correlation)


def _faded(step_s: float, values: Floats, wanted: Floats) -> SignalFit:
    lags = wanted.size - 1
    late = np.maximum(2.0 * np.arange(lags + 1) / lags - 1.0, 0.0)
    return SignalFit(step_s, _KNOTS, values, _invert(values, wanted) * 0.5 * (1.0 + np.cos(np.pi * late)))


def _invert(values: Floats, wanted: Floats) -> Floats:
    """Return the latent correlations that become ``wanted`` ones through Q."""
    # dense where both are near 1, since the smoothness of the signal depends on it
    near = np.geomspace(1e-9, 1.0, 2000)
    rho = np.concatenate([near[:-1] - 1.0, [0.0], (1.0 - near[:-1])[::-1], [1.0]])
    became = _carry(values, rho)
    return np.asarray(np.interp(wanted, became, rho), dtype=np.float64)


def _carry(values: Floats, rho: Floats) -> Floats:
    """Return G(ρ), the correlation that latent ones turn into."""
    weight = np.exp(-0.5 * _KNOTS**2) * (_KNOTS[1] - _KNOTS[0]) / math.sqrt(2.0 * math.pi)
    centred = values - weight @ values / weight.sum()
    before, now = np.ones_like(_KNOTS), _KNOTS
    shares = np.empty(_DEGREE)
    for k in range(1, _DEGREE + 1):
        shares[k - 1] = (weight * centred @ now) ** 2
        before, now = now, (_KNOTS * now - math.sqrt(k) * before) / math.sqrt(k + 1)
    # the sum is cut off: what is missing goes to the last power, so that G(1) = 1
    shares[-1] += max(float(weight @ centred**2) - float(shares.sum()), 0.0)
    carried = np.zeros_like(rho)
    for share in shares[::-1]:
        carried = (carried + share) * rho
    return np.asarray(np.maximum.accumulate(carried / shares.sum()), dtype=np.float64)
