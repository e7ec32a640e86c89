"""The cost that AQA descends (eq. 24) and its gradient in closed form, with the terms that the paper leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.regulation import Bid
from wattline.theory.gps_roots import NONE
from wattline.theory.gps_tails import Decay, Flow, Theory, active_servers, decay, delay_tail, to_decisions

# α is fitted at the very point where the tail may be 1: rounding must not take the gradient away there
_SATURATED = 1e-9


@dataclass(frozen=True)
class Terms:
    """Prices, and how hard broken promises press: ``beta`` in $, ``rho`` per unit of probability.

    ``shortage`` κ: where a type's share leaves the part r of its load unserved (Case III), Prob counts 1 + κ·r² times.
    So a type that the simulation shows late is pushed up, and one that is on time because others lend it nodes hardly.
    """

    beta: float
    rho: float = 50.0
    shortage: float = 5.0
    energy_price_per_kwh: float = 0.10
    reserve_price_per_kwh: float = 0.10
    error_price_per_kwh: float = 0.10
    hours: float = 1.0

    @classmethod
    def starting_at(cls, mean_w: float, energy_price_per_kwh: float = 0.10, hours: float = 1.0) -> Terms:
        """Return terms with β = 0.1·Π^P·P̄₀·H for a search that starts at P̄₀, the other prices like the energy
        price.
        """
        price = energy_price_per_kwh
        return cls(
            beta=1e-4 * price * mean_w * hours,
            energy_price_per_kwh=price,
            reserve_price_per_kwh=price,
            error_price_per_kwh=price,
            hours=hours,
        )


@dataclass(frozen=True)
class Tracking:
    """What a simulation says of Prob[ε > 0.3] at a point, and of its derivatives there (common random numbers)."""

    violation: float
    by_mean_per_w: float
    by_reserve_per_w: float
    limit: float = 0.10


@dataclass(frozen=True)
class Cost:
    """The cost in $ with its parts, and its derivatives by P̄ and R ($/W) and by every weight ($).

    ``money`` is (Π^P·P̄ − Π^R·R)·H, ``error`` C_error, ``promises`` and ``tracking`` the soft-plus terms (one a type;
    one).
    """

    money: float
    error: float
    promises: Floats
    tracking: float
    by_mean_per_w: float
    by_reserve_per_w: float
    by_weight: Floats
    tail: Floats
    decay: Decay

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.money + self.error + float(self.promises.sum()) + self.tracking


def aqa_cost(
    theory: Theory, terms: Terms, bid: Bid, weights: Floats, log_alpha: Floats, tracking: Tracking | None = None
) -> Cost:
    """Return the cost of a bid and weights with its gradient, for α held at what the last simulation gave.

    C = (Π^P·P̄ − Π^R·R)·H + C_error + β·Σ_j softplus(ρ·(Prob_j·(1 + κ·r_j²) − δ_j))
    + β·softplus(ρ·(Prob[ε > 0.3] − 0.1)).
    """
    flow = active_servers(theory, bid, weights)
    falling = decay(theory, flow, weights)
    load = theory.load
    by_mean, by_reserve = _money_slopes(terms)
    money = by_mean * bid.mean_w + by_reserve * bid.reserve_w
    error_per_w = terms.error_price_per_kwh * terms.hours * 1e-3
    idle_w = theory.servers * theory.idle_w
    error = error_per_w * (bid.mean_w - idle_w - float(load @ (theory.types.power_w - theory.idle_w)))
    tail, promises, slopes = _promises(theory, terms, flow, falling, weights, log_alpha, load)
    late = 0.0
    if tracking is not None:
        soft, pressure = _softplus(terms, tracking.violation - tracking.limit)
        late = float(soft)
        by_mean += float(pressure) * tracking.by_mean_per_w
        by_reserve += float(pressure) * tracking.by_reserve_per_w
    by_mean += error_per_w + slopes[0]
    return Cost(money, error, promises, late, by_mean, by_reserve + slopes[1], slopes[2], tail, falling)


def _money_slopes(terms: Terms) -> tuple[float, float]:
    per_w = terms.hours * 1e-3
    return terms.energy_price_per_kwh * per_w, -terms.reserve_price_per_kwh * per_w


def _promises(
    theory: Theory, terms: Terms, flow: Flow, falling: Decay, weights: Floats, log_alpha: Floats, load: Floats
) -> tuple[Floats, Floats, tuple[float, float, Floats]]:
    """Return the tails, the soft-plus of each type, and the derivatives of their sum by P̄, R and the weights."""
    limit_s = theory.types.limit_s
    tail = delay_tail(falling.rate_per_s, log_alpha, limit_s)
    bias = float(theory.signal.slope(np.zeros(1))[0])
    servers = flow.mean + flow.spread * bias
    # the part of a type's load that its share leaves unserved; 0 unless Case III
    missing = np.where(falling.case == NONE, 1.0 - servers * weights / load, 0.0)
    counted = 1.0 + terms.shortage * missing**2
    promises, pressure = _softplus(terms, tail * counted - theory.types.share)
    live = log_alpha - falling.rate_per_s * limit_s <= _SATURATED
    by_rate = -pressure * np.where(live, limit_s * tail, 0.0)
    # r = 1 − n_μ·w/load falls with either; θ* is 0 wherever r is not, so the two never multiply
    by_share = -2.0 * terms.shortage * pressure * tail * missing / load
    through_mean = float(by_share @ weights)
    slopes = to_decisions(
        theory,
        flow,
        float(by_rate @ falling.by_mean) + through_mean,
        float(by_rate @ falling.by_spread) + through_mean * bias,
        by_rate * falling.by_weight + by_share * servers,
    )
    return tail, promises, slopes


def _softplus(terms: Terms, excess: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return β·ln(1 + e^{ρx}) and its derivative by x."""
    z = terms.rho * np.asarray(excess, dtype=np.float64)
    return terms.beta * np.logaddexp(0.0, z), terms.beta * terms.rho * 0.5 * (1.0 + np.tanh(0.5 * z))


def project_simplex(point: npt.ArrayLike, floor: float = 1e-3) -> Floats:
    """Return the nearest weights that sum to 1 with none below ``floor``.

    >>> project_simplex([0.5, 0.5, -1.0], floor=0.1).round(6).tolist()
    [0.45, 0.45, 0.1]
    """
    v = np.asarray(point, dtype=np.float64)
    room = 1.0 - v.size * floor
    if v.ndim != 1 or v.size == 0 or not np.isfinite(v).all() or room < 0.0:
        raise InputError(f"weights: cannot project {v.size} values on shares of at least {floor:g} that sum to 1")
    falling = np.sort(v)[::-1]
    shift = (np.cumsum(falling - floor) - room) / np.arange(1, v.size + 1)
    last = int(np.count_nonzero(falling - floor > shift))
    shares: Floats = np.maximum(v - shift[max(last, 1) - 1], floor)
    return shares
