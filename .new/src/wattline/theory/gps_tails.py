"""How fast delays fall off under generalized processor sharing: θ* of every type, its case and its derivatives.

Sources: AQA (the journal paper) §3.3–3.5, appendices A and B; the thesis' §2.4; where they are wrong or silent, see
``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.regulation import Bid
from wattline.theory.gps_moments import Gaussian, LogMgf, PoissonBatch
from wattline.theory.gps_roots import NONE, PEAK, net, net_slope, supremum


@dataclass(frozen=True)
class Types:
    """What the theory knows of each type of job: one entry a type.

    ``nodes`` m, ``time_s`` T uncapped, ``power_w`` p of one of its nodes uncapped, ``arrival_per_s`` λ; the promise is
    Prob[Q ≥ ``limit``] ≤ ``share`` for Q = (end − submit − T)/T.
    """

    nodes: Floats
    time_s: Floats
    power_w: Floats
    arrival_per_s: Floats
    limit: Floats
    share: Floats
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in fields(self)[:-1]:
            object.__setattr__(self, column.name, np.asarray(getattr(self, column.name), dtype=np.float64))
        if self.nodes.ndim != 1 or self.nodes.size == 0 or (self.names and len(self.names) != self.nodes.size):
            raise InputError("types of jobs: need at least one type, and one name a type if there are names")
        for column in fields(self)[:-1]:
            entries = getattr(self, column.name)
            if entries.shape != self.nodes.shape:
                raise InputError(f"types of jobs: {self.nodes.size} types, but {entries.size} values of {column.name}")
            wrong = ~(np.isfinite(entries) & (entries > 0))
            if column.name == "share":
                wrong |= entries >= 1
            if wrong.any():
                j = int(np.argmax(wrong))
                above = " and below 1" if column.name == "share" else ""
                raise InputError(f"{self.label(j)}: {column.name} must be above 0{above}, got {entries[j]:g}")

    def label(self, j: int) -> str:
        """Return what to call a type in a message."""
        return f"type {self.names[j]}" if self.names else f"type {j + 1}"

    @cached_property
    def work(self) -> Floats:
        """Node-seconds of a job, m·T."""
        return self.nodes * self.time_s

    @cached_property
    def limit_s(self) -> Floats:
        """Largest delay that keeps the promise, D_max = Q_thres·T."""
        return self.limit * self.time_s


@dataclass(frozen=True)
class Theory:
    """Types of jobs on a machine of ``servers`` equal nodes, and the laws of arrivals and signal.

    Without laws given: Poisson arrivals and the paper's Gaussian signal of standard deviation 0.40 with independent
    seconds; ``Gaussian.correlated`` is the corrected one.
    """

    types: Types
    servers: int
    idle_w: float
    signal: LogMgf = field(default_factory=lambda: Gaussian(0.40))
    arrivals: LogMgf | None = None

    def __post_init__(self) -> None:
        if self.types.nodes.max() > self.servers:
            j = int(np.argmax(self.types.nodes))
            raise InputError(
                f"{self.types.label(j)}: needs {self.types.nodes[j]:g} nodes, the machine has {self.servers}"
            )
        if not (np.isfinite(self.idle_w) and self.idle_w >= 0):
            raise InputError(f"idle power must not be negative, got {self.idle_w:g} W")

    @cached_property
    def arrival_law(self) -> LogMgf:
        """The law of arrivals."""
        return self.arrivals or PoissonBatch(self.types.arrival_per_s, self.types.work)

    @cached_property
    def load(self) -> Floats:
        """Nodes that each type keeps busy on average, Λ_A'(0); λ·m·T for Poisson arrivals."""
        return self.arrival_law.slope(np.zeros(self.types.nodes.shape))


@dataclass(frozen=True)
class Flow:
    """Servers that follow a bid, n(t) = ``mean`` + ``spread``·y(t), AQA eq. 11; ``extra_w`` is D = Σ w·p − p_idle."""

    mean: float
    spread: float
    extra_w: float


@dataclass(frozen=True)
class Decay:
    """θ* of every type and how it changes with n_μ (``by_mean``), s = R/D (``by_spread``) and the type's own weight.

    Prob[delay ≥ d] falls as e^{−θ*·d}. ``case``: 1 the signal alone decides, 2 arrivals and signal, 3 the share does
    not carry the load (θ* = 0). ``at`` is the θ of the supremum, per node-second.
    """

    rate_per_s: Floats
    case: Ints
    at: Floats
    by_mean: Floats
    by_spread: Floats
    by_weight: Floats


def active_servers(theory: Theory, bid: Bid, weights: npt.ArrayLike) -> Flow:
    """Return n_μ and R/D (AQA eqs. 21–22: n_σ = y_σ·R/D) for a bid and weights."""
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != theory.types.nodes.shape:
        raise InputError(f"weights: {theory.types.nodes.size} types, but {w.size} weights")
    extra_w = float(w @ theory.types.power_w) - theory.idle_w
    if not extra_w > 0.0:
        raise InputError(
            f"weights: a node at work draws {extra_w + theory.idle_w:g} W on average, no more than an idle one "
            f"({theory.idle_w:g} W); starting jobs could not raise the power"
        )
    return Flow((bid.mean_w - theory.servers * theory.idle_w) / extra_w, bid.reserve_w / extra_w, extra_w)


def decay(theory: Theory, flow: Flow, weights: Floats) -> Decay:
    """Return θ* = sup{−Λ_B(−θw): Λ_A(θ) + Λ_B(−θw) < 0} of every type (AQA eqs. 9–10) with its derivatives."""
    law, signal = theory.arrival_law, theory.signal
    at, case = supremum(law, signal, flow.mean, flow.spread, weights)
    endless = np.isinf(at)
    theta = np.where(endless, 0.0, at) if endless.any() else at
    u = theta * weights
    peak, none = case == PEAK, case == NONE
    # implicit function theorem on Λ_A(Θ) = g(Θ·w): θ* = Λ_A(Θ); at the peak g' = 0 and the factor is 1
    rise = np.where(peak, 0.0, net_slope(signal, flow.mean, flow.spread, u))
    arriving = law.slope(theta)
    at_pole = np.isinf(arriving)  # the factor's limit is 1 there
    beside = np.where(at_pole, 1.0, arriving)
    factor = np.where(peak | at_pole, 1.0, beside / np.where(none, 1.0, beside - weights * rise))
    factor[none | endless] = 0.0
    # both sides are equal at Θ: the flatter one tells θ*, since beside a pole of Λ_A rounding of Θ decides its value
    flat = peak | (np.abs(weights * rise) < arriving)
    rate = np.where(flat, net(signal, flow.mean, flow.spread, u), law.value(np.where(flat, 0.0, theta)))
    rate[endless] = np.inf
    by_mean = factor * u
    by_spread = by_mean * signal.slope(-flow.spread * u)
    return Decay(rate, case, at, by_mean, by_spread, factor * theta * rise)


def to_decisions(
    theory: Theory, flow: Flow, by_mean: float, by_spread: float, by_weight: Floats
) -> tuple[float, float, Floats]:
    """Carry derivatives by n_μ, R/D and w over to P̄, R and every w_k, all of which move D or its numerators."""
    through_extra = (flow.mean * by_mean + flow.spread * by_spread) / flow.extra_w
    return by_mean / flow.extra_w, by_spread / flow.extra_w, by_weight - through_extra * theory.types.power_w


def delay_tail(rate_per_s: npt.ArrayLike, log_alpha: npt.ArrayLike, delay_s: npt.ArrayLike) -> Floats:
    """Return Prob[D ≥ d] = min(1, α·e^{−θ*·d}), AQA eq. 8; broadcasts (types by delays, say)."""
    rate, delay = np.asarray(rate_per_s, dtype=np.float64), np.asarray(delay_s, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        exponent = np.where(np.isinf(rate), -np.inf, np.asarray(log_alpha, dtype=np.float64) - rate * delay)
    return np.exp(np.minimum(exponent, 0.0))
