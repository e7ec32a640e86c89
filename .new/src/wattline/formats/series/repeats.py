"""Series that stand in each other: found by their values alone, from whatever time on, without comparing every pair.

Every stretch of 32 values that moves is turned into a number by its values. Of very many, one in some is kept, and
which one depends on the number itself: a copy that begins elsewhere keeps the same ones. Two series that share more
than a little of what is kept are no two days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats

WINDOW, MOVES = 32, 8
"""Values of a stretch, and changes in one that moves at least."""
MOST = 1 << 21
"""About as many stretches are kept at most, of all series together."""
LEAST = 8
"""Stretches that two series must have before they are compared; of others all values must be the same."""

SHARE = 0.1
"""Two series are copies if more of the stretches of the shorter one than this stand in the other."""

Prints = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Repeat:
    """Two series by their positions, and the share of stretches of the shorter one that stand in the other."""

    first: int
    other: int
    share: float


def repeated(series: Sequence[Floats]) -> Repeat | None:
    """Return the first two series of which a part of one stands in the other, None if there are none."""
    part = 1 + sum(values.size for values in series) // MOST
    prints = [_prints(values, part) for values in series]
    sizes = np.array([own.size for own in prints], dtype=np.int64)
    every = np.concatenate([*prints, np.empty(0, dtype=np.uint64)])
    owner = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((owner, every))
    every, owner = every[order], owner[order]
    if every.size:
        new = np.append(True, every[1:] != every[:-1])
        first = owner[np.flatnonzero(new)[np.cumsum(new) - 1]]  # the first series that has it
        shared = np.column_stack([first, owner])[first != owner]
        pairs, counts = np.unique(shared, axis=0, return_counts=True)
        for (one, other), count in zip(pairs.tolist(), counts.tolist(), strict=True):
            least = int(min(sizes[one], sizes[other]))
            if least >= LEAST and count > SHARE * least:
                return Repeat(one, other, count / least)
    seen: dict[bytes, int] = {}
    for k, values in enumerate(series):
        same = k if sizes[k] >= LEAST else seen.setdefault(values.tobytes(), k)
        if same != k:
            return Repeat(same, k, 1.0)
    return None


def _prints(values: Floats, part: int) -> Prints:
    """Return numbers of the stretches of a series, one in ``part``, in order and each once."""
    count = values.size - WINDOW + 1
    if count < 1:
        return np.empty(0, dtype=np.uint64)
    bits = (values + 0.0).view(np.uint64)  # of two zeros one
    told = np.zeros(count, dtype=np.uint64)
    for j in range(WINDOW):
        told *= np.uint64(0x9E3779B97F4A7C15)
        told += bits[j : j + count]
    # the low bits of these sums are those of the values: mix them
    told ^= told >> np.uint64(29)
    told *= np.uint64(0xBF58476D1CE4E5B9)
    told ^= told >> np.uint64(32)
    moves = np.append(0, np.cumsum(values[1:] != values[:-1]))
    moving = moves[WINDOW - 1 :] - moves[:count] >= MOVES
    return np.unique(told[moving & (told % np.uint64(part) == 0)])
