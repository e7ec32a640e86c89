"""Less to draw, nothing lost that the eye looks for: envelopes of step functions, points of an ECDF, raster of a
Gantt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints


@dataclass(frozen=True)
class Envelope:
    """A step function in equal bins of time: lowest, highest and mean value in each (``edges`` has one more entry)."""

    edges: Floats
    low: Floats
    high: Floats
    mean: Floats

    @property
    def middle(self) -> Floats:
        """The middle of every bin."""
        return 0.5 * (self.edges[:-1] + self.edges[1:])


def envelope(time_s: Floats, duration_s: Floats, values: Floats, bins: int) -> Envelope:
    """Reduce a step function (``values[i]`` from ``time_s[i]`` on) to bins; peaks of any width survive.

    Rows that held for no time are left out. A bin takes the rows inside it and the one in force at its left edge.
    """
    held = duration_s > 0
    time_s, duration_s, values = time_s[held], duration_s[held], values[held]
    if time_s.size == 0:
        empty = np.empty(0)
        return Envelope(empty, empty, empty, empty)
    edges = np.linspace(time_s[0], time_s[-1] + duration_s[-1], bins + 1)
    first = np.maximum(np.searchsorted(time_s, edges[:-1], side="right") - 1, 0)
    last = np.maximum(np.searchsorted(time_s, edges[1:], side="left") - 1, first)
    # The last edge may fall a rounding short of the last row, which would then be lost.
    last[-1] = time_s.size - 1
    slices = np.column_stack([first, last + 1]).ravel()
    padded = np.append(values, values[-1])
    area = np.concatenate([[0.0], np.cumsum(values * duration_s)])
    mean = np.diff(np.interp(edges, np.append(time_s, time_s[-1] + duration_s[-1]), area)) / np.diff(edges)
    low, high = (reduce.reduceat(padded, slices)[::2] for reduce in (np.minimum, np.maximum))
    return Envelope(edges, low, high, np.clip(mean, low, high))


def ecdf(values: npt.ArrayLike, points: int) -> tuple[Floats, Floats]:
    """Return at most ``points`` true points (value, share of the sample at or below it), both extremes among them."""
    sample = np.asarray(values, dtype=np.float64)
    sample = np.sort(sample[~np.isnan(sample)])
    if sample.size == 0:
        return sample, sample
    rank = np.unique(np.linspace(0, sample.size - 1, min(points, sample.size)).round().astype(np.int64))
    rank = np.searchsorted(sample, sample[rank], side="right") - 1  # a tie counts with all its like
    rank = np.unique(rank)
    return sample[rank], (rank + 1) / sample.size


def raster(
    start_s: Floats, end_s: Floats, first_node: Ints, count: Ints, time_edges: Floats, node_edges: Floats
) -> Floats:
    """Return the busy share of every cell (node range × time bin), exact to rounding; both edges must be even.

    A rectangle is the product of two intervals, and an interval of bins is the running sum of four entries, so that a
    million rectangles cost sixteen passes over them and one double running sum, however many cells they cover.
    """
    columns = _interval_entries(start_s, end_s, time_edges)
    rows = _interval_entries(first_node.astype(np.float64), (first_node + count).astype(np.float64), node_edges)
    wide, tall = time_edges.size + 1, node_edges.size + 1
    cells = np.zeros(wide * tall)
    for row_at, row_by in rows:
        for column_at, column_by in columns:
            cells += np.bincount(row_at * wide + column_at, weights=row_by * column_by, minlength=wide * tall)
    summed = cells.reshape(tall, wide).cumsum(axis=0).cumsum(axis=1)
    share: Floats = np.clip(summed[: tall - 2, : wide - 2], 0.0, 1.0)
    return share


def _interval_entries(low: Floats, high: Floats, edges: Floats) -> list[tuple[Ints, Floats]]:
    """Return (bin, amount) entries whose running sum is the share of every bin that [low, high) covers."""
    entries = []
    bins = edges.size - 1
    for at, sign in ((low, 1.0), (high, -1.0)):
        position = np.clip((at - edges[0]) / (edges[-1] - edges[0]) * bins, 0.0, float(bins))
        whole = np.floor(position).astype(np.int64)
        part = position - whole
        entries += [(whole, sign * (1.0 - part)), (whole + 1, sign * part)]
    return entries
