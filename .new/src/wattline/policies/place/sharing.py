"""Ways to share out a job's nodes: among the routers of a group, and among groups."""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel


@kernel
def tightest(free: Any, n: int) -> int:
    """Return the router with the fewest free nodes that hold a job (-1: none does)."""
    best = -1
    for r in range(free.shape[0]):
        if free[r] >= n and (best < 0 or free[r] < free[best]):
            best = r
    return best


@kernel
def pack(free: Any, take: Any, first: int, last: int, n: float) -> None:
    """Take n nodes from as few of the routers ``first … last - 1`` as can be: the tightest that holds the rest,
    else the freest.
    """
    for r in range(first, last):
        take[r] = 0.0
    while n > 0.0:
        best = -1
        for r in range(first, last):
            if take[r] > 0.0 or free[r] == 0.0:
                continue
            if best < 0:
                best = r
            elif free[best] >= n:
                if n <= free[r] < free[best]:
                    best = r
            elif free[r] > free[best]:
                best = r
        take[best] = min(free[best], n)
        n -= take[best]


@kernel
def _level(free: Any, first: int, last: int, n: float) -> float:
    """Return the greatest whole number such that so many of every entry, or all that it has, are n at most."""
    low = 0.0
    high = n + 1.0
    while high - low > 1.0:
        middle = (low + high) // 2.0
        held = 0.0
        for r in range(first, last):
            held += min(free[r], middle)
        if held <= n:
            low = middle
        else:
            high = middle
    return low


@kernel
def balance(free: Any, take: Any, first: int, last: int, n: float) -> None:
    """Take n nodes from the routers ``first … last - 1`` alike; what does not divide comes from the freest."""
    level = _level(free, first, last, n)
    for r in range(first, last):
        take[r] = min(free[r], level)
        n -= take[r]
    while n > 0.0:
        best = -1
        for r in range(first, last):
            if take[r] == level and free[r] > level and (best < 0 or free[r] > free[best]):
                best = r
        take[best] += 1.0
        n -= 1.0


@kernel
def deal(free: Any, picked: Any, share: Any, room: Any, k: int, n: float) -> None:
    """Deal n nodes to the first k groups picked alike, as far as they have free ones; what does not divide goes to
    the first.
    """
    for m in range(k):
        room[m] = free[int(picked[m])]
    level = _level(room, 0, k, n)
    for m in range(k):
        i = int(picked[m])
        share[i] = min(free[i], level)
        n -= share[i]
    for m in range(k):
        i = int(picked[m])
        if n > 0.0 and free[i] > level:
            share[i] += 1.0
            n -= 1.0
