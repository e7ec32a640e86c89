"""Synthetic regulation signals: normal and mean-reverting as the papers assume, or fitted to a real one.

Both are a latent normal process z pushed through a function Q that never falls: a clipped line for the normal signal,
the fitted quantile function for the other. *Energy-neutral* means that every hour, counted from the start, averages to
zero: z is shifted within the hour until it does (|mean| < 1e-9), so saturation stays saturation; from one hour to the
next the signal may jump a little.

*Spread of the normal signal.* Clipping takes variance away, and so does the shift (the variance of an hour's mean,
known in closed form). The line's slope makes up for both, so that ``std`` is what comes out on average over many hours;
single hours scatter about it, as real ones do.

*Time constant.* Autocorrelation falls to 1/e after 94 s (RegD, January 2016), 198 s and 220 s (RegD, July 2020), 468 s
and 868 s (RegA, August 2017). The default, 200 s, is that of the later RegD, the signal made for loads that can follow
quickly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.generate.laws import check_positive, stream
from wattline.generate.signal_fit import SignalFit
from wattline.memory import require_bytes
from wattline.model.regulation import Signal
from wattline.units import HOUR_S

MIN_STD, MAX_STD = 1e-6, 0.95
LONGEST_S = 1e7
"""Time constant beyond which a signal stands still, and floats cannot tell how little it moves in an hour."""
_NEUTRAL = 1e-12
VALUE_BYTES = 100
"""What a value takes while it is drawn: its noise, and copies of the hour that it is balanced in."""


@dataclass(frozen=True)
class GaussianSignal:
    """A normal signal that reverts to 0 (Ornstein–Uhlenbeck, discretised exactly), clipped to [−1, 1]."""

    duration_s: float = HOUR_S
    std: float = 0.40
    time_constant_s: float = 200.0
    step_s: float = 2.0
    energy_neutral: bool = True
    start_s: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("duration_s", "time_constant_s", "step_s"):
            check_positive(f"signal: {name}", getattr(self, name))
        if not MIN_STD <= self.std <= MAX_STD:
            raise InputError(
                f"signal: std must lie in [{MIN_STD:g}, {MAX_STD}] for a signal within [-1, 1] (got {self.std:g})"
            )
        if self.time_constant_s > LONGEST_S:
            raise InputError(
                f"signal: a time constant of {self.time_constant_s:g} s is more than {LONGEST_S:g} s: it would not move"
            )
        _per_hour(self.step_s, energy_neutral=self.energy_neutral)


@dataclass(frozen=True)
class FittedSignal:
    """A signal drawn from a fit (see ``fit_signal``), at its step.

    Energy-neutral only if asked, as real ones are not.
    """

    fit: SignalFit
    duration_s: float = HOUR_S
    energy_neutral: bool = False
    start_s: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        check_positive("signal: duration_s", self.duration_s)
        _per_hour(self.fit.step_s, energy_neutral=self.energy_neutral)


def generate_signal(law: GaussianSignal | FittedSignal) -> Signal:
    """Draw the signal that the parameters describe, the same for the same seed.

    A longer Gaussian signal begins like a shorter one of the same seed; a fitted one does not.
    """
    step_s = law.step_s if isinstance(law, GaussianSignal) else law.fit.step_s
    count = max(1, math.ceil(law.duration_s / step_s - 1e-9))
    per_hour = _per_hour(step_s, energy_neutral=law.energy_neutral)
    whole = math.ceil(count / per_hour) * per_hour if per_hour else count
    require_bytes(whole * VALUE_BYTES, f"a signal of {count:,} values")
    random = stream(law.seed)
    if isinstance(law, GaussianSignal):
        latent = _reverting(random, whole, math.exp(-law.step_s / law.time_constant_s))
        slope = _slope(law, per_hour)
        knots, values = np.array([-1.0, 1.0]) / slope, np.array([-1.0, 1.0])
    else:
        latent, knots, values = law.fit.sample(random, whole), law.fit.knots, law.fit.values
    made = _neutral(latent, per_hour, knots, values) if per_hour else np.interp(latent, knots, values)
    return Signal(law.start_s, step_s, np.clip(made[:count], -1.0, 1.0))


def _per_hour(step_s: float, *, energy_neutral: bool) -> int:
    """Return the steps of an hour if hours are to be neutral, else 0."""
    if not energy_neutral:
        return 0
    steps = HOUR_S / step_s
    if abs(steps - round(steps)) > 1e-9 * steps or round(steps) < 2:
        raise InputError(
            f"signal: steps of {step_s:g} s do not fill an hour, two of them at least, so that it can be neutral; "
            "choose another, or a signal that is not neutral"
        )
    return round(steps)


def _reverting(random: np.random.Generator, count: int, keep: float) -> Floats:
    """Return z_k = keep·z_(k−1) + noise with variance 1 from the first value on."""
    values = random.standard_normal(count)
    values[1:] *= math.sqrt(1.0 - keep * keep)
    shift, factor = 1, keep
    while shift < count and factor > 1e-18:  # after each turn, sums over twice as many past noises
        values[shift:] = values[shift:] + factor * values[:-shift]
        shift, factor = 2 * shift, factor * factor
    return np.asarray(values, dtype=np.float64)


def _slope(law: GaussianSignal, per_hour: int) -> float:
    """Return the slope of the line that gives the wanted spread after shifting and clipping."""
    lost = _mean_variance(math.exp(-law.step_s / law.time_constant_s), per_hour) if per_hour else 0.0
    low, high = law.std, 1e6
    while high > low * (1.0 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _clipped_variance(middle) < law.std**2 else (low, middle)
    return low / math.sqrt(1.0 - lost)


def _mean_variance(keep: float, count: int) -> float:
    """Return the variance of the mean of ``count`` neighbours whose correlations are keep^lag."""
    gap = 1.0 - keep
    return (1.0 + keep) / (count * gap) - 2.0 * keep * (1.0 - keep**count) / (count * gap) ** 2


def _clipped_variance(sigma: float) -> float:
    """Return the variance of a normal value of mean 0 after clipping to [−1, 1]."""
    law, edge = NormalDist(), 1.0 / sigma
    inside = 2.0 * law.cdf(edge) - 1.0
    return sigma**2 * (inside - 2.0 * edge * law.pdf(edge)) + 1.0 - inside


def _neutral(latent: Floats, per_hour: int, knots: Floats, values: Floats) -> Floats:
    """Push z through Q with z shifted in every hour so that the hour averages to zero (bracketed secant steps)."""
    if not values[0] < 0 < values[-1]:
        span = f"{values[0]:g} to {values[-1]:g}"
        raise InputError(f"signal: values of {span} cannot average to zero; choose a signal that is not neutral")
    hours = latent.reshape(-1, per_hour)

    def mean(shift: Floats) -> Floats:
        return np.asarray(np.interp(hours - shift[:, None], knots, values).mean(axis=1), dtype=np.float64)

    low, high = hours.min(axis=1) - knots[-1], hours.max(axis=1) - knots[0]  # all at the top, all at the bottom
    above, below = mean(low), mean(high)
    shift = hours.mean(axis=1)
    for turn in range(200):
        off = mean(shift)
        done = np.abs(off) < _NEUTRAL
        if done.all():
            break
        low, above = np.where(off > 0, shift, low), np.where(off > 0, off, above)
        high, below = np.where(off > 0, high, shift), np.where(off > 0, below, off)
        secant = low + (high - low) * above / np.where(above > below, above - below, 1.0)
        # an hour that is done stays as it is, however many others there are
        shift = np.where(done, shift, secant if turn % 3 else 0.5 * (low + high))
    return np.asarray(np.interp(hours - shift[:, None], knots, values).ravel(), dtype=np.float64)
