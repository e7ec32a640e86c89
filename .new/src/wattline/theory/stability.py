"""The stability criterion of the simultaneous-service queue: the largest load that FCFS can carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError


@dataclass(frozen=True)
class Stability:
    """Whether a FCFS queue of customers that hold several servers at once settles.

    ``load`` = (λ/μ)·C; below 1 the queue is stable. ``coefficient`` is C: the mean time between departures of a
    saturated system, in mean service times. Exact for renewal arrivals and exponential services that do not depend
    on the width; for a recorded trace it is an estimate, as good as that assumption.
    """

    arrival_rate_per_s: float
    service_rate_per_s: float
    coefficient: float

    @property
    def load(self) -> float:
        """(λ/μ)·C."""
        return self.arrival_rate_per_s / self.service_rate_per_s * self.coefficient

    @property
    def stable(self) -> bool:
        """Whether the load is below 1."""
        return self.load < 1.0

    @property
    def critical_arrival_rate_per_s(self) -> float:
        """The arrival rate at which the load is 1."""
        return self.service_rate_per_s / self.coefficient


def stability_coefficient(width_law: npt.ArrayLike) -> float:
    """Return C for a law of widths, ``width_law[k - 1]`` = probability that a customer needs k of c = len(law) servers.

    C = Σ_j (1/j)·P{the first j customers of a saturated line fit, the next does not}; the law of their summed width
    is the j-fold convolution, done exactly (no transform).

    >>> stability_coefficient([0.5, 0.5])
    0.875
    """
    law = _checked_law(width_law)
    servers = law.size
    # overflow[i]: probability that a customer does not fit beside i busy servers, P{N > c - i}
    overflow = np.concatenate([[0.0], np.cumsum(law[::-1])])
    single = np.concatenate([[0.0], law])
    busy = np.zeros(servers + 1)
    busy[0] = 1.0
    total = 0.0
    for count in range(1, servers + 1):
        busy = np.convolve(busy, single)[: servers + 1]
        total += float(busy @ overflow) / count
        if not busy.any():
            break
    return total


def width_law(width: npt.ArrayLike, servers: int) -> Floats:
    """Return the share of customers that need 1, 2, … ``servers`` servers."""
    widths = np.asarray(width, dtype=np.int64)
    if widths.size == 0 or widths.min() < 1 or widths.max() > servers:
        raise InputError(f"stability: need at least one customer, each with 1 to {servers} servers")
    return np.bincount(widths - 1, minlength=servers) / widths.size


def stability(
    arrival_s: npt.ArrayLike, amount: npt.ArrayLike, width: npt.ArrayLike, servers: int, rate: float = 1.0
) -> Stability:
    """Estimate the criterion from a trace: its mean gap, its mean job amount at ``rate`` (r_H), its widths."""
    arrival, work = np.asarray(arrival_s, dtype=np.float64), np.asarray(amount, dtype=np.float64)
    if arrival.size < 2 or not arrival[-1] > arrival[0]:
        raise InputError("stability: need at least two customers that arrive at different times")
    if not work.mean() > 0 or not rate > 0:
        raise InputError("stability: the mean job amount and the rate must be above 0")
    arrival_rate = (arrival.size - 1) / float(arrival[-1] - arrival[0])
    return Stability(arrival_rate, rate / float(work.mean()), stability_coefficient(width_law(width, servers)))


def _checked_law(law: npt.ArrayLike) -> Floats:
    probability = np.asarray(law, dtype=np.float64)
    if probability.ndim != 1 or probability.size == 0 or np.any(probability < 0):
        raise InputError("stability: the law of widths must be a list of probabilities, one for each width 1 … c")
    if not np.isclose(probability.sum(), 1.0, rtol=0.0, atol=1e-9):
        raise InputError(f"stability: the law of widths must sum to 1, got {probability.sum():g}")
    return probability
