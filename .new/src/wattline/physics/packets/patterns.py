"""Patterns of communication as rounds of (sender, receiver) pairs, for any number of tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from wattline.arrays import Ints
from wattline.physics.packets.jobs import Communicate

Pairs = tuple[Ints, Ints]


def most_square(n: int) -> tuple[int, int]:
    """Return the two factors of n that are nearest to each other, the smaller one first.

    >>> most_square(128), most_square(34), most_square(7)
    ((8, 16), (2, 17), (1, 7))
    """
    low = next(f for f in range(math.isqrt(n), 0, -1) if n % f == 0)
    return low, n // low


def most_cubic(n: int) -> tuple[int, int, int]:
    """Return the three factors of n with the least sum, that is, the least surface, in ascending order.

    >>> most_cubic(128), most_cubic(64), most_cubic(34)
    ((4, 4, 8), (4, 4, 4), (1, 2, 17))
    """
    found = (1, *most_square(n))
    for low in range(2, round(n ** (1 / 3)) + 1):
        if n % low == 0:
            candidate = tuple(sorted((low, *most_square(n // low))))
            if sum(candidate) < sum(found):
                found = (candidate[0], candidate[1], candidate[2])
    return found


def most_tesseract(n: int) -> tuple[int, ...]:
    """Return the four factors of n with the least sum, in ascending order.

    >>> most_tesseract(128), most_tesseract(34)
    ((2, 4, 4, 4), (1, 1, 2, 17))
    """
    found: tuple[int, ...] = (1, *most_cubic(n))
    for low in range(2, round(n**0.25) + 1):
        if n % low == 0:
            found = min(found, tuple(sorted((low, *most_cubic(n // low)))), key=sum)
    return found


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _broadcast(n: int, _step: Communicate) -> Iterator[Pairs]:
    """Binary tree from rank 0: level by level, a parent sends to its two children when it has the data."""
    level = 0
    while 2 * (1 << level) - 1 < n:
        first = (1 << level) - 1
        parents = np.arange(first, min(2 * first + 1, n))
        children = np.stack([2 * parents + 1, 2 * parents + 2], axis=1).ravel()
        keep = children < n
        yield np.repeat(parents, 2)[keep], children[keep]
        level += 1


def _grid_pairs(shape: tuple[int, ...], move: tuple[int, ...], *, periodic: bool) -> Pairs:
    """Return all (rank, neighbour) pairs of a move on a grid."""
    ranks = np.arange(math.prod(shape))
    place = np.stack(np.unravel_index(ranks, shape)) + np.array(move)[:, None]
    if periodic:
        place %= np.array(shape)[:, None]
    inside = ((place >= 0) & (place < np.array(shape)[:, None])).all(axis=0)
    neighbour = np.ravel_multi_index(tuple(place[:, inside]), shape)
    source = ranks[inside]
    other = source != neighbour
    return source[other], neighbour[other].astype(np.int64)


def _joined(parts: list[Pairs]) -> Pairs:
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def _halo(shape: tuple[int, ...], step: Communicate) -> Iterator[Pairs]:
    """Neighbours along the axes, one axis after the other."""
    for axis in range(len(shape) - 1, -1, -1):
        moves = [tuple(sign * (i == axis) for i in range(len(shape))) for sign in (-1, 1)]
        yield _joined([_grid_pairs(shape, move, periodic=step.periodic) for move in moves])


def _halo2d(n: int, step: Communicate) -> Iterator[Pairs]:
    yield from _halo(most_square(n), step)


def _halo3d(n: int, step: Communicate) -> Iterator[Pairs]:
    yield from _halo(most_cubic(n), step)


def _halo3d26(n: int, step: Communicate) -> Iterator[Pairs]:
    """All neighbours of a cube, also those across edges and corners, posted at once."""
    shape = most_cubic(n)
    moves = [move for move in itertools.product((-1, 0, 1), repeat=3) if any(move)]
    yield _joined([_grid_pairs(shape, move, periodic=step.periodic) for move in moves])


def _halo4d(n: int, step: Communicate) -> Iterator[Pairs]:
    """Neighbours along four axes, posted at once."""
    shape = most_tesseract(n)
    moves = [tuple(sign * (i == axis) for i in range(4)) for axis in range(4) for sign in (-1, 1)]
    yield _joined([_grid_pairs(shape, move, periodic=step.periodic) for move in moves])


def _allreduce(n: int, _step: Communicate) -> Iterator[Pairs]:
    """Recursive doubling; with n no power of two, the first ranks fold in pairs before and unfold after."""
    power = 1 << (n.bit_length() - 1)
    extra = n - power
    even, odd = np.arange(0, 2 * extra, 2), np.arange(1, 2 * extra, 2)
    if extra:
        yield even, odd
    virtual = np.arange(power)
    real = np.where(virtual < extra, 2 * virtual + 1, virtual + extra)
    distance = 1
    while distance < power:
        yield real, real[virtual ^ distance]
        distance *= 2
    if extra:
        yield odd, even


def _barrier(n: int, _step: Communicate) -> Iterator[Pairs]:
    """Dissemination: in round k a message to the rank 2^k further on."""
    ranks = np.arange(n)
    distance = 1
    while distance < n:
        yield ranks, (ranks + distance) % n
        distance *= 2


def _random_ring(n: int, step: Communicate) -> Iterator[Pairs]:
    """Ranks in a random ring; each exchanges messages with both its neighbours at once."""
    ring = np.random.default_rng(step.seed).permutation(n)
    ahead = np.roll(ring, -1)
    if n == 2:
        yield ring, ahead
    elif n > 2:
        yield np.concatenate([ring, ahead]), np.concatenate([ahead, ring])


ROUNDS: dict[str, Callable[[int, Communicate], Iterator[Pairs]]] = {
    "broadcast": _broadcast,
    "halo2d": _halo2d,
    "halo3d": _halo3d,
    "halo3d26": _halo3d26,
    "halo4d": _halo4d,
    "allreduce": _allreduce,
    "barrier": _barrier,
    "random-ring": _random_ring,
}
"""Patterns that are lists of messages: rounds for a number of tasks."""
