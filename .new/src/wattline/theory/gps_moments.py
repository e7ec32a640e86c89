"""Log-moment-generating functions: how much work arrives and how the grid's signal moves, per second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError

# e^x overflows a little above this; a law is +inf there
_LARGEST_EXPONENT = 700.0


class LogMgf(Protocol):
    """Λ(θ) = ln E[e^{θX}] for one second X of a process; if seconds are correlated, the limit of (1/t)·ln E[e^{θ·sum}].

    Arrivals: X is work in node-seconds, θ has one entry a type. Signal: X is y, θ has any shape. Both functions work
    entry by entry; ``value`` is convex, 0 at θ = 0 and +inf where the expectation is; ``slope`` is its derivative.
    """

    def value(self, theta: Floats) -> Floats:
        """Return Λ(θ)."""
        ...

    def slope(self, theta: Floats) -> Floats:
        """Return Λ'(θ); at 0 it is the mean."""
        ...


@dataclass(frozen=True)
class PoissonBatch:
    """Poisson arrivals of equal jobs: Λ_A(θ) = λ(e^{θ m T} − 1), AQA eq. 20; ``work`` = m·T in node-seconds."""

    rate_per_s: Floats
    work: Floats

    def value(self, theta: Floats) -> Floats:
        """Return Λ_A(θ)."""
        return self.rate_per_s * np.expm1(theta * self.work)

    def slope(self, theta: Floats) -> Floats:
        """Return Λ_A'(θ)."""
        return self.rate_per_s * self.work * np.exp(theta * self.work)


@dataclass(frozen=True)
class GammaBatch:
    """Poisson arrivals of jobs whose work is gamma-distributed with a mean and a coefficient of variation (1:
    exponential).
    """

    rate_per_s: Floats
    work: Floats
    variation: Floats

    def _log_mgf_of_work(self, theta: Floats, extra: float) -> Floats:
        spread = self.variation**2
        left = theta * self.work * spread
        inside = left < 1.0
        power = np.log1p(-np.where(inside, left, 0.0)) * (-1.0 / spread - extra)
        return np.where(inside, power, np.inf)

    def value(self, theta: Floats) -> Floats:
        """Return λ((1 − θ m T c²)^{−1/c²} − 1), infinite beyond the pole."""
        return self.rate_per_s * np.expm1(self._log_mgf_of_work(theta, 0.0))

    def slope(self, theta: Floats) -> Floats:
        """Return the derivative."""
        return self.rate_per_s * self.work * np.exp(self._log_mgf_of_work(theta, 1.0))


@dataclass(frozen=True)
class Bursts:
    """Arrivals in a calm and a busy phase of exponential lengths, Poisson in each (a two-phase MMPP), of equal jobs.

    Λ is the larger eigenvalue of the phases' generator plus diag(rate)·(e^{θ m T} − 1).
    """

    calm_per_s: Floats
    busy_per_s: Floats
    calm_s: Floats
    busy_s: Floats
    work: Floats

    def _parts(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        growth = np.expm1(np.minimum(theta * self.work, _LARGEST_EXPONENT))
        calm = self.calm_per_s * growth - 1.0 / self.calm_s
        busy = self.busy_per_s * growth - 1.0 / self.busy_s
        half = 0.5 * (calm + busy)
        root = np.hypot(0.5 * (calm - busy), np.sqrt(1.0 / (self.calm_s * self.busy_s)))
        # near θ = 0 half + root cancels: there take the determinant over the other eigenvalue
        flow = self.calm_per_s / self.busy_s + self.busy_per_s / self.calm_s
        low = np.minimum(growth, 1e100)  # keeps the unused branch from overflowing
        small = low * (self.calm_per_s * self.busy_per_s * low - flow) / (np.minimum(half, 0.0) - root)
        return growth, calm, busy, np.where(half > 0.0, half + root, small)

    def value(self, theta: Floats) -> Floats:
        """Return the larger eigenvalue."""
        return np.where(theta * self.work < _LARGEST_EXPONENT, self._parts(theta)[3], np.inf)

    def slope(self, theta: Floats) -> Floats:
        """Return the derivative of the eigenvalue, from its characteristic equation."""
        growth, calm, busy, top = self._parts(theta)
        by_growth = (self.calm_per_s * (top - busy) + self.busy_per_s * (top - calm)) / (2.0 * top - calm - busy)
        return np.where(theta * self.work < _LARGEST_EXPONENT, by_growth * self.work * (growth + 1.0), np.inf)


@dataclass(frozen=True)
class PerType:
    """Types whose arrivals follow laws of different families: one law (of one type each) a type."""

    laws: tuple[LogMgf, ...]

    def value(self, theta: Floats) -> Floats:
        """Return each type's Λ at its own θ."""
        return np.concatenate([law.value(theta[j : j + 1]) for j, law in enumerate(self.laws)])

    def slope(self, theta: Floats) -> Floats:
        """Return each type's Λ' at its own θ."""
        return np.concatenate([law.slope(theta[j : j + 1]) for j, law in enumerate(self.laws)])


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian signal: Λ_y(θ) = mean·θ + ½·memory_s·std²·θ²; the servers it moves have AQA's Λ_B, eq. 23.

    ``memory_s`` is the variance of the signal's sum over a long time, per second of it and per std²: 1 says that
    seconds are independent (the paper's theory), 2τ that correlation falls as e^{−t/τ} (the corrected one). ``std`` = 0
    is a signal that does not move.
    """

    std: float
    mean: float = 0.0
    memory_s: float = 1.0

    @classmethod
    def correlated(cls, std: float, tau_s: float) -> Gaussian:
        """Return the law of a mean-reverting signal with a time constant: asymptotic variance 2τ·std²."""
        return cls(std, memory_s=2.0 * tau_s)

    @property
    def variance(self) -> float:
        """Asymptotic variance per second."""
        return self.memory_s * self.std**2

    def value(self, theta: Floats) -> Floats:
        """Return Λ_y(θ)."""
        return theta * (self.mean + 0.5 * self.variance * theta)

    def slope(self, theta: Floats) -> Floats:
        """Return Λ_y'(θ)."""
        return self.mean + self.variance * theta


@dataclass(frozen=True)
class Blocks:
    """The law of a recorded signal: stretches of ``span_s`` are taken as independent, within them it is as recorded.

    ``sums`` are the signal's integrals over the stretches. A span of one step is the paper's independence with the true
    distribution; a long span keeps correlation and bounds, but has few stretches to learn large deviations from.
    """

    sums: Floats
    span_s: float

    @classmethod
    def of(cls, values: npt.ArrayLike, step_s: float, span_s: float) -> Blocks:
        """Cut a recorded signal into stretches; what is left over at the end is not used."""
        means, per_block = _block_means(np.asarray(values, dtype=np.float64), step_s, span_s)
        return cls(means * per_block * step_s, per_block * step_s)

    def value(self, theta: Floats) -> Floats:
        """Return (1/span)·ln mean(e^{θ·sum})."""
        exponent = np.asarray(theta)[..., None] * self.sums
        top = exponent.max(axis=-1)
        mean: Floats = np.mean(np.exp(exponent - top[..., None]), axis=-1)
        rate: Floats = (top + np.log(mean)) / self.span_s
        return rate

    def slope(self, theta: Floats) -> Floats:
        """Return the tilted mean of the sums per second."""
        exponent = np.asarray(theta)[..., None] * self.sums
        tilt = np.exp(exponent - exponent.max(axis=-1)[..., None])
        tilted: Floats = (tilt @ self.sums) / tilt.sum(axis=-1) / self.span_s
        return tilted


def memory_s(values: npt.ArrayLike, step_s: float, window_s: float) -> float:
    """Return how long a recorded signal remembers, for ``Gaussian``: window · Var(mean over a window) / Var(y).

    It grows with the window to 2τ if correlation falls as e^{−t/τ}; a signal that is energy-neutral over a window has 0
    there, so the window should be about as long as the delays of interest.
    """
    y = np.asarray(values, dtype=np.float64)
    means, per_block = _block_means(y, step_s, window_s)
    variance = float(np.var(y))
    if not variance > 0.0:
        raise InputError("memory of a signal: its values are all the same")
    return per_block * step_s * float(np.var(means)) / variance


def _block_means(values: Floats, step_s: float, span_s: float) -> tuple[Floats, int]:
    per_block = round(span_s / step_s)
    if per_block < 1 or values.size < 2 * per_block:
        raise InputError(
            f"signal of {values.size} values, one every {step_s:g} s: a stretch must be at least one step "
            f"and at most half the signal, got {span_s:g} s"
        )
    whole = values.size // per_block
    return values[: whole * per_block].reshape(whole, per_block).mean(axis=1), per_block
