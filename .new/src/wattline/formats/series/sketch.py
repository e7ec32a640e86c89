"""Short texts by which days are known again later: rounded, scaled, with noise, smoothed, shifted, or in part.

A sketch has one character for the mean of every five minutes. Whole pieces of the shorter of sketch and day, of four
hours, are held against every piece of the other, as near copies within a set are; the five minutes of the day begin
every twenty seconds, so that a shifted copy meets those of the sketch. Pieces that are short for the memory of their
signal must be more alike.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence

import numpy as np

from wattline.arrays import Floats
from wattline.formats.series.alike import ALIKE, MEAN_S, MEMORIES, PIECE_S, SHARE, SHORTEST_S, Cut, memory
from wattline.model.regulation import Signal

SKETCH_S = 300.0
"""A character stands for the mean of so long."""
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
"""Levels from the lowest mean of a day to its highest."""
EDGE = 2
"""Means at either end of a short day that its one piece leaves out: a shifted copy lacks some."""
LEAST_MEMORIES = 12
"""Pieces that last fewer times the memory of their day are not judged."""


def sketch_of(signal: Signal) -> str:
    """Return the sketch of a day."""
    means = _means(signal, SKETCH_S)
    span = float(np.ptp(means)) if means.size else 0.0
    if span == 0.0:
        return LETTERS[0] * means.size
    levels = np.rint((means - means.min()) / span * (len(LETTERS) - 1)).astype(np.int64)
    return "".join(LETTERS[level] for level in levels)


def is_sketch(text: str) -> bool:
    """Tell whether a text may be the sketch of a day."""
    return set(text) <= set(LETTERS)


def is_sketched(signal: Signal, sketches: Sequence[str]) -> bool:
    """Tell whether a day is nearly a copy of one of which there is a sketch, or of a part of it."""
    fine = _means(signal, MEAN_S)
    if not sketches or not fine.size:
        return False
    memory_s = memory(fine - fine.mean()) * MEAN_S
    phases = [_means(signal, SKETCH_S, begin_s) for begin_s in np.arange(0.0, SKETCH_S, MEAN_S)]
    return any(_nearly(_levels(text), phases, memory_s / SKETCH_S) for text in sketches)


def _levels(text: str) -> Floats:
    return np.array([LETTERS.index(letter) for letter in text], dtype=np.float64)


def _nearly(sketch: Floats, phases: Sequence[Floats], remembered: float) -> bool:
    """Tell whether enough pieces of the shorter one stand in the other, whenever the day's five minutes begin.

    ``remembered`` is for how many values the day remembers.
    """
    within = sketch.size <= phases[0].size
    count = min(sketch.size, phases[0].size)
    wanted = max(min(int(PIECE_S / SKETCH_S), count // 2), int(SHORTEST_S / SKETCH_S), MEMORIES * remembered)
    size = min(math.ceil(wanted), count - 2 * EDGE)
    apart = min(size, size / remembered if remembered else math.inf)
    if count * SKETCH_S < SHORTEST_S or apart < LEAST_MEMORIES:
        return False
    shares = []
    for phase in phases:
        short, long = (sketch, phase) if within else (phase, sketch)
        if short.size >= size and long.size >= size:
            begin = short.size % size // 2
            pieces, other = Cut(short[begin:], size).pieces(), Cut(long - long.mean(), size)
            stretches = np.lib.stride_tricks.sliding_window_view(other.values, size)
            best = (np.abs(stretches @ pieces.T) / other.spreads(size)[:, np.newaxis]).max(axis=0)
            shares.append(float(np.mean(best >= _alike(apart))))
    return max(shares, default=0.0) > SHARE


def _alike(memories: float) -> float:
    """Return the correlation that pieces of so many memories reach by chance as rarely as long ones reach theirs."""
    return math.tanh(math.atanh(ALIKE) * math.sqrt(max(1.0, (MEMORIES - 3) / (memories - 3))))


def _means(signal: Signal, length_s: float, begin_s: float = 0.0) -> Floats:
    """Return the means over whole stretches of a length, the first from some second of the signal on."""
    times = np.arange(signal.values.size + 1) * signal.step_s
    sums = np.append(0.0, np.cumsum(signal.values)) * signal.step_s
    count = max(0, math.floor((float(times[-1]) - begin_s) / length_s * (1 + 1e-12)))
    edges = begin_s + np.arange(count + 1) * length_s
    means: Floats = np.diff(np.interp(edges, times, sums)) / length_s
    return means
