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
