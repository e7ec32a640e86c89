"""Series that are nearly copies of each other: scaled, rounded, with noise, smoothed, on a clock that is a little off.

A piece of four hours of one series is held against every piece of that length of the other, by the correlation
coefficient of averages over twenty seconds. Pieces of different days of a regulation signal reach 0.6 at the best of
all times; those of copies stay above 0.9. A piece must be long against the memory of the signal, or chance makes
pieces alike: of a slow signal longer pieces are taken, and one that is too short for its memory is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats
from wattline.formats.series.repeats import Repeat
from wattline.units import HOUR_S

MEAN_S = 20.0
"""Averages are taken over so long."""
PIECE_S, SHORTEST_S = 4 * HOUR_S, 2 * HOUR_S
"""A piece; a series that is shorter is one piece if it has this length at least."""
MEMORIES = 48
"""A piece lasts at least so many times the memory of its series."""
ALIKE = 0.9
"""Pieces are copies if their correlation coefficient, or that with the other's negative, reaches this."""
STILL = 1e-6
"""A stretch whose spread is below this does not move."""
SHARE = 0.25
"""Two series are copies if more of the pieces of one than this are copies of a piece of the other."""


@dataclass(frozen=True)
class Cut:
    """A series as averages, less their mean, and as pieces of some length (0: too short to be judged)."""

    values: Floats
    size: int

    def pieces(self) -> Floats:
        """Return the pieces less their means, each scaled to length 1; those that do not move are zero."""
        count = self.values.size // self.size if self.size else 0
        cut = self.values[: count * self.size].reshape(count, max(1, self.size))
        deviation = cut - cut.mean(axis=1, keepdims=True)
        spread = np.sqrt((deviation * deviation).sum(axis=1, keepdims=True))
        scaled: Floats = np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > STILL)
        return scaled

    def spreads(self, size: int) -> Floats:
        """Return the spread of every stretch of a size, infinite where it does not move."""
        sums = np.append(0.0, np.cumsum(self.values))
        squares = np.append(0.0, np.cumsum(self.values * self.values))
        total = sums[size:] - sums[:-size]
        spread = np.sqrt(np.maximum(squares[size:] - squares[:-size] - total * total / size, 0.0))
        return np.where(spread > STILL, spread, np.inf)


def nearly_repeated(series: Sequence[Floats], step_s: float) -> Repeat | None:
    """Return the first two series that are nearly copies, None if there are none."""
    cuts = [_cut(values, step_s) for values in series]
    room = max((cut.values.size for cut in cuts), default=0)
    if not any(cut.size for cut in cuts):
        return None
    waves = [np.fft.rfft(cut.values, room) for cut in cuts]
    pieces = [np.conj(np.fft.rfft(cut.pieces(), room, axis=1)) for cut in cuts]
    spreads: dict[tuple[int, int], Floats] = {}
    for k, other in enumerate(cuts):
        for first in range(k):
            short, long = (k, first) if other.values.size <= cuts[first].values.size else (first, k)
            size = cuts[short].size
            if not size:
                continue
            found = np.fft.irfft(waves[long] * pieces[short], room, axis=1)[:, : cuts[long].values.size - size + 1]
            if (long, size) not in spreads:
                spreads[long, size] = cuts[long].spreads(size)
            best = (np.abs(found) / spreads[long, size]).max(axis=1)
            share = float(np.mean(best >= ALIKE))
            if share > SHARE:
                return Repeat(first, k, share)
    return None


def _cut(values: Floats, step_s: float) -> Cut:
    count = max(1, round(MEAN_S / step_s))
    means = values[: values.size // count * count].reshape(-1, count).mean(axis=1)
    means = means - means.mean() if means.size else means
    size = min(int(PIECE_S / (count * step_s)), means.size)
    size = max(size, int(np.ceil(MEMORIES * memory(means))))
    judged = size * count * step_s >= SHORTEST_S and size <= means.size
    return Cut(means, size if judged else 0)


def memory(means: Floats) -> float:
    """Return for how many values the series remembers: the time in which its correlation with itself falls to 1/e."""
    power = float(means @ means)
    if power == 0.0:
        return 0.0
    size = 2 * means.size
    own = np.fft.irfft(np.abs(np.fft.rfft(means, size)) ** 2, size)[: means.size] / power
    below = np.flatnonzero(own < np.exp(-1.0))
    return float(below[0]) if below.size else float(means.size)
