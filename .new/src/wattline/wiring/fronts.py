"""Configurations in the order in which policies look them up: fronts of power and time for each number of nodes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.model.configurations import Configurations, Moldable


class Fronts:
    """The configurations of all applications, sorted so that the best under a power bound and a number of nodes is
    found at once.
    """

    def __init__(self, moldable: Sequence[Moldable]) -> None:
        self.up: list[Ints] = []
        self.least: list[int] = []
        self.sizes: list[Ints] = []
        self.rows: list[list[Ints]] = []
        """Application → number of nodes → configurations with at most that many, more power each and less time."""
        first = 0
        for m in moldable:
            told = m.told or m.truth
            order = np.lexsort((np.arange(len(told)), told.time_s, told.power_w))
            sizes = np.unique(told.nodes)
            self.sizes.append(sizes)
            self.rows.append([first + _front(order[told.nodes[order] <= n], told.time_s) for n in sizes])
            self.least.append(first + int(order[0]))
            self.up.append(_next_faster(told, order, first))
            first += len(told)

    @property
    def entries(self) -> int:
        """Entries of all fronts."""
        return sum(len(front) for fronts in self.rows for front in fronts)

    @property
    def numbers(self) -> int:
        """Numbers of nodes of all applications."""
        return sum(len(sizes) for sizes in self.sizes)


def _front(order: Ints, time_s: Floats) -> Ints:
    """Return those configurations, which come by rising power, that are faster than all before them."""
    times = time_s[order]
    before = np.concatenate([[np.inf], np.minimum.accumulate(times)[:-1]])
    return order[times < before].astype(np.int64)


def _next_faster(told: Configurations, order: Ints, first: int) -> Ints:
    """Return for each configuration the one with the same nodes and cores of least power above its own that is
    faster (-1: none).
    """
    up = np.full(len(told), -1, dtype=np.int64)
    shape = told.nodes * (int(told.cores.max()) + 1) + told.cores
    for same in np.unique(shape):
        rows = order[shape[order] == same]  # by rising power
        for i, row in enumerate(rows):
            later = rows[i + 1 :]
            faster = later[(told.time_s[later] < told.time_s[row]) & (told.power_w[later] > told.power_w[row])]
            if faster.size:
                up[row] = first + faster[0]
    return up


@functools.lru_cache(maxsize=16)
def fronts_of(moldable: tuple[Moldable, ...]) -> Fronts:
    """Return the sorted configurations of applications; runs on the same tables share them."""
    return Fronts(moldable)
