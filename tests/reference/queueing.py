"""Closed forms of classic queues: waits that simulations are held against."""

from __future__ import annotations

import math

from wattline.errors import InputError


def erlang_c(load: float, servers: int) -> float:
    """Return the probability that a customer of an M/M/c queue waits; ``load`` = λ/μ in servers, below ``servers``.

    >>> erlang_c(0.5, 1)
    0.5
    """
    _need_below(load / servers, "M/M/c")
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked / (1.0 - load / servers * (1.0 - blocked))


def mmc_wait_mean_s(arrival_rate_per_s: float, mean_service_s: float, servers: int) -> float:
    """Return the mean wait in an M/M/c queue."""
    load = arrival_rate_per_s * mean_service_s
    return erlang_c(load, servers) * mean_service_s / (servers - load)


def mmc_wait_tail(arrival_rate_per_s: float, mean_service_s: float, servers: int, wait_s: float) -> float:
    """Return P{wait > ``wait_s``} in an M/M/c queue served in order of arrival."""
    load = arrival_rate_per_s * mean_service_s
    return erlang_c(load, servers) * math.exp(-(servers - load) * wait_s / mean_service_s)


def mg1_wait_mean_s(arrival_rate_per_s: float, service_moments: tuple[float, float]) -> float:
    """Return the mean wait in M/G/1 (Pollaczek–Khinchine) from E[S] and E[S²]."""
    mean, square = service_moments
    _need_below(arrival_rate_per_s * mean, "M/G/1")
    return arrival_rate_per_s * square / (2.0 * (1.0 - arrival_rate_per_s * mean))


def mg1_vacation_wait_mean_s(
    arrival_rate_per_s: float, service_moments: tuple[float, float], vacation_moments: tuple[float, float]
) -> float:
    """Return the mean wait in M/G/1 whose server, when empty, takes vacations until it finds somebody waiting.

    Pollaczek–Khinchine plus the mean residual vacation E[V²]/(2E[V]).
    """
    mean, square = vacation_moments
    return mg1_wait_mean_s(arrival_rate_per_s, service_moments) + square / (2.0 * mean)


def mg1_setup_wait_mean_s(
    arrival_rate_per_s: float, service_moments: tuple[float, float], setup_moments: tuple[float, float]
) -> float:
    """Return the mean wait in M/G/1 whose server sleeps when empty and needs a setup D to wake for the first
    arrival.
    """
    mean, square = setup_moments
    extra = (2.0 * mean + arrival_rate_per_s * square) / (2.0 * (1.0 + arrival_rate_per_s * mean))
    return mg1_wait_mean_s(arrival_rate_per_s, service_moments) + extra


def mg1_lcfs_sojourn_mean_s(arrival_rate_per_s: float, mean_service_s: float) -> float:
    """Return the mean sojourn in M/G/1, last come first served, preemptive-resume: the service law does not matter."""
    _need_below(arrival_rate_per_s * mean_service_s, "M/G/1")
    return mean_service_s / (1.0 - arrival_rate_per_s * mean_service_s)


def mm1_by_size_wait_mean_s(arrival_rate_per_s: float, mean_service_s: float, *, longest: bool = False) -> float:
    """Return the mean wait in M/M/1 that takes the shortest (or longest) waiting job first, without preemption.

    A job of size x waits E[residual work]/(1 − σ(x))², σ(x) the load of the jobs that go before it.
    """
    from scipy.integrate import quad

    load = arrival_rate_per_s * mean_service_s
    _need_below(load, "M/M/1")

    def wait(size: float) -> float:  # in mean services, weighted by the density of sizes
        above = load * (1.0 + size) * math.exp(-size)
        before = above if longest else load - above
        return load / (1.0 - before) ** 2 * math.exp(-size)

    return float(quad(wait, 0.0, math.inf, epsabs=0.0, epsrel=1e-10)[0]) * mean_service_s


def _need_below(load: float, queue: str) -> None:
    if not 0.0 <= load < 1.0:
        raise InputError(
            f"{queue}: the load per server must be at least 0 and below 1 for a steady state, got {load:g}"
        )
