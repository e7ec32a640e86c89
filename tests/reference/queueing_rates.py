"""Exact steady states of queues whose servers switch between two rates: numbers, time shares and power."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError


@dataclass(frozen=True)
class TwoRates:
    """Rates r_L < r_H in job amount per second, and the power of a server at each, busy e(r) and idle e_0(r)."""

    low: float
    high: float
    busy_low_w: float
    busy_high_w: float
    idle_low_w: float
    idle_high_w: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high:
            raise InputError(f"two rates: need 0 < low <= high, got {self.low:g} and {self.high:g}")


@dataclass(frozen=True)
class NumberState:
    """Steady state by number of customers; ``law[n]`` = (P{n, low}, P{n, high}) up to where the tail is geometric."""

    mean_number: float
    mean_sojourn_s: float
    mean_busy: float
    share_high: float
    power_w: float
    law: Floats


@dataclass(frozen=True)
class WorkloadState:
    """Steady state by unfinished work."""

    mean_workload: float
    share_empty: float
    share_high: float
    power_w: float


_Step = Callable[[int], Floats]
_STAY, _TO_LOW, _TO_HIGH = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])


def mmc_count_hysteresis(
    arrival_rate_per_s: float, mean_amount: float, servers: int, rates: TwoRates, low_count: float, high_count: float
) -> NumberState:
    """Solve M/M/c that turns to r_H when the number exceeds ``high_count`` and to r_L when it falls to ``low_count``.

    Both may be infinite (always r_L); with both 0 every service is at r_H and the empty system rests at r_L.
    """
    if not 0 <= low_count <= high_count:
        raise InputError(f"hysteresis: need 0 <= low_count <= high_count, got {low_count:g} and {high_count:g}")
    ever = math.isfinite(high_count)

    def at_arrival(n: int) -> Floats:
        return _TO_HIGH if n + 1 > high_count else _STAY

    def at_departure(n: int) -> Floats:
        return _TO_LOW if n <= low_count + 1 or not ever else _STAY

    uniform_from = max(servers, math.ceil(high_count), math.ceil(low_count) + 1) if ever else servers
    return _solve(arrival_rate_per_s, mean_amount, servers, rates, at_arrival, at_departure, uniform_from)


def mmc_randomized(
    arrival_rate_per_s: float, mean_amount: float, servers: int, rates: TwoRates, p_low: float, p_high: float
) -> NumberState:
    """Solve M/M/c that turns to r_H with ``p_high`` at each arrival and to r_L with ``p_low`` at each departure."""
    if not (0 <= p_low <= 1 and 0 <= p_high <= 1):
        raise InputError(f"randomized switching: probabilities must lie in [0, 1], got {p_low:g} and {p_high:g}")
    up = np.array([[1.0 - p_high, p_high], [0.0, 1.0]])
    # Never up means low for ever (the first customer finds r_L): p_low = 1 makes the chain irreducible without changing
    # it.
    down = np.array([[1.0, 0.0], [p_low, 1.0 - p_low]]) if p_high > 0 else _TO_LOW
    return _solve(arrival_rate_per_s, mean_amount, servers, rates, lambda _n: up, lambda _n: down, servers)


def _solve(
    arrival_rate: float, amount: float, servers: int, rates: TwoRates, at_arrival: _Step, at_departure: _Step, m: int
) -> NumberState:
    """Solve the chain (number, rate): linear balance up to level m, matrix-geometric tail π_{m+k} = π_m Rᵏ above."""
    speed = np.array([rates.low, rates.high]) / amount

    def up(n: int) -> Floats:
        return arrival_rate * at_arrival(n)

    def down(n: int) -> Floats:
        return np.diag(min(n, servers) * speed) @ at_departure(n)

    def out(n: int) -> Floats:
        return np.diag(arrival_rate + min(n, servers) * speed)

    tail = _tail_matrix(up(m), down(m + 1), out(m + 1))
    balance = np.zeros((m + 1, 2, m + 1, 2))
    for n in range(m + 1):
        balance[n, :, n] = -out(n)
        if n:
            balance[n - 1, :, n] = up(n - 1)
            balance[n, :, n - 1] = down(n)
    balance[m, :, m] += tail @ down(m + 1)
    beyond = np.linalg.inv(np.eye(2) - tail)
    weight = np.ones((m + 1, 2))
    weight[m] = beyond.sum(axis=1)
    # Any one balance equation follows from the others: the last gives way to the total probability.
    system = balance.reshape(2 * m + 2, 2 * m + 2)
    system[:, -1] = weight.ravel()
    law = np.linalg.solve(system.T, np.eye(2 * m + 2)[-1]).reshape(m + 1, 2)
    return _measures(arrival_rate, servers, rates, law, law[m] @ beyond, law[m] @ tail @ beyond @ beyond)


def _measures(
    arrival_rate: float, servers: int, rates: TwoRates, law: Floats, tail_mass: Floats, tail_excess: Floats
) -> NumberState:
    """Sum over levels; ``tail_mass`` is the probability from the last level on, ``tail_excess`` the mean number above
    it.
    """
    number = np.arange(len(law), dtype=np.float64)
    mass = law.copy()
    mass[-1] = tail_mass
    busy = np.minimum(number, servers) @ mass
    share = mass.sum(axis=0)
    mean = float(number @ mass.sum(axis=1) + tail_excess.sum())
    power = busy @ [rates.busy_low_w, rates.busy_high_w] + (servers * share - busy) @ [
        rates.idle_low_w,
        rates.idle_high_w,
    ]
    return NumberState(mean, mean / arrival_rate, float(busy.sum()), float(share[1]), float(power), law)


def _tail_matrix(up: Floats, down: Floats, out: Floats) -> Floats:
    """Return the least non-negative R with up − R·out + R²·down = 0; refuse a queue that has no steady state."""
    to_high, to_low = up[0, 1], down[1, 0]
    high = to_high / (to_high + to_low) if to_high > 0 else 0.0
    served = (1.0 - high) * down[0].sum() + high * down[1].sum()
    if not up[0].sum() < served:
        raise InputError(f"no steady state: {up[0].sum():g} customers/s arrive, at most {served:g}/s are served")
    rise, fall = np.linalg.solve(out, up), np.linalg.solve(out, down)
    first_passage, weight = fall, rise
    while weight.max() > 1e-18:  # logarithmic reduction: each round doubles the height of the excursions counted
        either = np.eye(2) - rise @ fall - fall @ rise
        rise, fall = np.linalg.solve(either, rise @ rise), np.linalg.solve(either, fall @ fall)
        first_passage, weight = first_passage + weight @ fall, weight @ rise
    tail: Floats = up @ np.linalg.inv(out - up @ first_passage)
    return tail


def mm1_workload_hysteresis(
    arrival_rate_per_s: float, mean_amount: float, rates: TwoRates, low_work: float, high_work: float
) -> WorkloadState:
    """Solve M/M/1 that turns to r_H when the work exceeds ``high_work`` and to r_L when it falls to ``low_work``.

    By level crossings. With G(x) = p_0·e^(−μx) + ∫ f_L(y)·e^(−μ(x−y)) dy and J = λG(high) the flow of switches:
    r_L·f_L = λG below ``low_work`` and λG − J above it; r_H·f_H grows from J at ``low_work`` by
    r_H·f_H' = (λ − μr_H)·f_H + μJ and decays by (λ/r_H − μ) above ``high_work``.
    """
    if not 0 <= low_work <= high_work or not math.isfinite(high_work):
        raise InputError(f"hysteresis: need 0 <= low_work <= high_work < inf, got {low_work:g} and {high_work:g}")
    slope_low, slope_high = (arrival_rate_per_s / r - 1.0 / mean_amount for r in (rates.low, rates.high))
    if not slope_high < 0:
        raise InputError(
            f"no steady state: work comes at {arrival_rate_per_s * mean_amount:g}/s, r_H is {rates.high:g}"
        )
    gap = high_work - low_work
    arrival_low, flow_share = arrival_rate_per_s / rates.low, _growth(slope_low, gap)
    g_low = math.exp(slope_low * low_work)  # G(low_work) with p_0 = 1
    flow = arrival_rate_per_s * g_low * math.exp(slope_low * gap) / (1.0 + arrival_low * flow_share)

    def density_low(x: float) -> float:
        if x <= low_work:
            return arrival_low * math.exp(slope_low * x)
        g = g_low * math.exp(slope_low * (x - low_work)) - flow / rates.low * _growth(slope_low, x - low_work)
        return (arrival_rate_per_s * g - flow) / rates.low

    def density_high(x: float) -> float:  # for low_work <= x <= high_work
        start = flow / rates.high
        grown = start / mean_amount * _growth(slope_high, x - low_work)
        return start * math.exp(slope_high * (x - low_work)) + grown

    low, low_moment = _integrals(density_low, 0.0, low_work, high_work)
    high, high_moment = _integrals(density_high, low_work, high_work)
    edge, decay = density_high(high_work), -slope_high
    high += edge / decay
    high_moment += edge * (high_work / decay + 1.0 / decay**2)
    total = 1.0 + low + high
    power = rates.idle_low_w + low * rates.busy_low_w + high * rates.busy_high_w
    return WorkloadState((low_moment + high_moment) / total, 1.0 / total, high / total, power / total)


def _growth(slope: float, x: float) -> float:
    """∫_0^x e^(slope·y) dy, also at slope 0."""
    return math.expm1(slope * x) / slope if slope else x


def _integrals(density: Callable[[float], float], *points: float) -> tuple[float, float]:
    """Return ∫ density and ∫ x·density over the pieces between ``points``."""
    from scipy.integrate import quad

    mass = moment = 0.0
    for a, b in itertools.pairwise(points):
        mass += quad(density, a, b, epsabs=0.0, epsrel=1e-10, limit=200)[0]
        moment += quad(lambda x: x * density(x), a, b, epsabs=0.0, epsrel=1e-10, limit=200)[0]
    return mass, moment
