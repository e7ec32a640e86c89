"""Laws of a signal: what draws the signal of an hour from a seed, by a generator or out of a recorded signal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.model.regulation import Signal

SignalLaw = Callable[[float, int], Signal]
"""Makes a signal from time 0 on, of a given length in seconds, from a seed."""


@dataclass(frozen=True)
class GaussianLaw:
    """The law of the generated signal: mean-reverting, Gaussian, energy-neutral by the hour unless told otherwise."""

    std: float = 0.40
    time_constant_s: float = 200.0
    step_s: float = 2.0
    energy_neutral: bool = True

    def __call__(self, duration_s: float, seed: int) -> Signal:
        """Draw a signal."""
        return generate_signal(GaussianSignal(duration_s, **vars(self), seed=seed))


@dataclass(frozen=True, eq=False)
class RecordedLaw:
    """The law that plays a recorded signal from a place that the seed picks, over and over.

    Whatever the seeds, all hours come from one record, and they overlap: hours of other days are not among them.
    """

    signal: Signal

    def __call__(self, duration_s: float, seed: int) -> Signal:
        """Cut a stretch out of the record."""
        step_s, values = self.signal.step_s, self.signal.values
        first = int(np.random.default_rng([seed, 4]).integers(values.size))
        return Signal(0.0, step_s, np.take(values, first + np.arange(math.ceil(duration_s / step_s)), mode="wrap"))


def recorded(signal: Signal) -> SignalLaw:
    """Return the law that plays a recorded signal."""
    return RecordedLaw(signal)
