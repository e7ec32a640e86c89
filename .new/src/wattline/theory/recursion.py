"""The fast FCFS delay recursion: Kiefer–Wolfowitz with customers that hold several servers at once.

It shares no line with the engine, so that a test can hold one against the other. Importing this module imports numba:
import it inside the function that needs it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.kernel.compiled import library


def fcfs_starts(arrival_s: npt.ArrayLike, service_s: npt.ArrayLike, width: npt.ArrayLike, servers: int) -> Floats:
    """Return when each customer starts, in order of arrival, on ``servers`` servers of which it holds ``width`` at
    once.

    Absolute times, not the workload vector of eq. 13: an end is then exactly ``start + service``, as in the engine,
    and long traces lose no digits to repeated subtraction.

    >>> fcfs_starts([0, 1, 2], [5, 5, 1], [1, 2, 1], servers=2).tolist()
    [0.0, 5.0, 10.0]
    """
    arrival = np.ascontiguousarray(arrival_s, dtype=np.float64)
    service = np.ascontiguousarray(service_s, dtype=np.float64)
    widths = np.ascontiguousarray(width, dtype=np.int64)
    _check(arrival, service, widths, servers)
    start = np.empty_like(arrival)
    _fill_starts(arrival, service, widths, np.full(servers, -np.inf), start)
    return start


def fcfs_delays(arrival_s: npt.ArrayLike, service_s: npt.ArrayLike, width: npt.ArrayLike, servers: int) -> Floats:
    """Return each customer's delay: its start minus its arrival, in seconds."""
    return fcfs_starts(arrival_s, service_s, width, servers) - np.asarray(arrival_s, dtype=np.float64)


def vector_starts(
    arrival_s: npt.ArrayLike, service_s: npt.ArrayLike, wants: npt.ArrayLike, totals: npt.ArrayLike
) -> Floats:
    """Return when each customer starts, in order of arrival, where a customer is a vector: it holds ``wants[i, r]`` of
    every resource r at once, of which there are ``totals[r]`` (§V of the recursion model).

    >>> vector_starts([0, 1, 2], [5, 5, 1], [[1, 3], [1, 2], [1, 1]], [2, 4]).tolist()
    [0.0, 5.0, 5.0]
    """
    arrival = np.ascontiguousarray(arrival_s, dtype=np.float64)
    service = np.ascontiguousarray(service_s, dtype=np.float64)
    want = np.ascontiguousarray(wants, dtype=np.int64)
    total = np.ascontiguousarray(totals, dtype=np.int64)
    _check(arrival, service, np.ones(arrival.shape, dtype=np.int64), 1)
    if want.shape != (arrival.size, total.size):
        raise InputError(
            f"delay recursion: wants must have a row a customer and a column a resource, got {want.shape} for "
            f"{arrival.size} customers and {total.size} resources"
        )
    bad = np.flatnonzero(((want < 0) | (want > total)).any(axis=1))
    if bad.size:
        raise InputError(f"delay recursion: customer {bad[0]} asks for less than nothing, or for more than there is")
    start = np.empty_like(arrival)
    _fill_vector_starts(arrival, service, want, total.copy(), start)
    return start


def arrivals_from_gaps(gap_s: npt.ArrayLike) -> Floats:
    """Return arrival times when ``gap_s[i]`` is the time from customer i to customer i + 1, the first one arriving at
    0.

    This is how hpcwld reads its ``interarrival`` column; the last gap is not used.
    """
    gaps = np.asarray(gap_s, dtype=np.float64)
    return np.concatenate([np.zeros(min(1, gaps.size)), np.cumsum(gaps[:-1])])


def _check(arrival: Floats, service: Floats, width: Ints, servers: int) -> None:
    if not arrival.shape == service.shape == width.shape or arrival.ndim != 1:
        raise InputError(
            "delay recursion: arrivals, services and widths must be columns of one length, "
            f"got {arrival.shape}, {service.shape} and {width.shape}"
        )
    if not (np.all(np.isfinite(arrival)) and np.all(np.diff(arrival) >= 0)):
        raise InputError(
            "delay recursion: arrival times must be finite and must not decrease; sort the customers first"
        )
    if not np.all((service >= 0) & np.isfinite(service)):
        raise InputError("delay recursion: service times must be finite and not negative")
    bad = np.flatnonzero((width < 1) | (width > servers))
    if bad.size:
        raise InputError(
            f"delay recursion: customer {bad[0]} asks for {width[bad[0]]} servers, must be 1 to {servers}; drop "
            "it first"
        )


@library
def _fill_starts(arrival: Floats, service: Floats, width: Ints, free_at: Floats, start: Floats) -> None:
    """Fill ``start``; ``free_at`` holds, in ascending order, when each server is free of all customers so far."""
    servers = free_at.size
    for i in range(arrival.size):
        n = width[i]
        begin = max(arrival[i], free_at[n - 1])
        end = begin + service[i]
        start[i] = begin
        # The n earliest servers leave at the front and come back as n equal entries: merge, no sort.
        j = n
        while j < servers and free_at[j] < end:
            free_at[j - n] = free_at[j]
            j += 1
        for k in range(j - n, j):
            free_at[k] = end


@library
def _fill_vector_starts(arrival: Floats, service: Floats, want: Ints, free: Ints, start: Floats) -> None:
    """Fill ``start``; ``free`` is what no customer holds when the one before starts."""
    held = np.empty(arrival.size, dtype=np.int64)  # who is served, by the end of service
    end = np.empty(arrival.size)
    first = 0
    begin = -np.inf
    for i in range(arrival.size):
        begin = max(begin, arrival[i])
        short = True
        while short:
            while first < i and end[held[first]] <= begin:
                for r in range(free.size):
                    free[r] += want[held[first], r]
                first += 1
            short = False
            for r in range(free.size):
                short = short or want[i, r] > free[r]
            if short:
                begin = end[held[first]]
        start[i] = begin
        end[i] = begin + service[i]
        for r in range(free.size):
            free[r] -= want[i, r]
        at = i
        while at > first and end[held[at - 1]] > end[i]:
            held[at] = held[at - 1]
            at -= 1
        held[at] = i
