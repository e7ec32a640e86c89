"""Free extents, held against a plain set of free nodes."""

from __future__ import annotations

import itertools
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.kernel.compiled import JIT
from wattline.model.state.layout import allocate
from wattline.model.state.record import State
from wattline.model.state.sizes import Sizes
from wattline.model.state.switches import OPT_SLEEP
from wattline.model.structures import nodes
from wattline.model.structures.bits import highest_bit, lowest_bit
from wattline.policies.helpers import free_extents
from wattline.testing.plain import plain

TAKE, GIVE, IS_FREE, FALL_ASLEEP = range(4)


def act(s: Any, what: int, p: int, a: int, b: int) -> int:
    """Carry out one step."""
    if what == TAKE:
        return nodes.take(s, p, a, b)
    if what == GIVE:
        nodes.give(s, p, a, b)
        return 0
    if what == IS_FREE:
        return 1 if nodes.is_free(s, p, a, b) else 0
    return nodes.fall_asleep(s, False)


ways = {"plain": plain(act), "compiled": numba.njit(act) if JIT else act}


class Twin:
    """A state's free extents beside a set of free nodes, each with the time it came free and whether it sleeps."""

    def __init__(self, way: str, counts: list[int], *, sleep_s: float = 0.0) -> None:
        self.act: Any = ways[way]
        self.state: State = allocate(Sizes(J=1, N=sum(counts), P=len(counts), C=1, L=1, E=0, K=0))
        s, first = self.state, 0
        self.free: dict[int, tuple[float, int]] = {}
        for p, count in enumerate(counts):
            s.pool_first[p], s.pool_count[p] = first, count
            nodes.lay_out_free(s, p, [(first, first + count)])
            self.free |= dict.fromkeys(range(first, first + count), (0.0, 0))
            first += count
        s.option[OPT_SLEEP] = int(sleep_s > 0)
        s.sleep_after_s[:] = sleep_s

    def span(self, p: int) -> range:
        """Return the nodes of a class."""
        return range(int(self.state.pool_first[p]), int(self.state.pool_first[p] + self.state.pool_count[p]))

    def take(self, p: int, a: int, b: int) -> None:
        """Take nodes from both, or none from either."""
        wanted = range(a, b)
        fits = len(wanted) > 0 and all(node in self.free and node in self.span(p) for node in wanted)
        assert self.act(self.state, IS_FREE, p, a, b) == int(fits)
        expected = sum(self.free.pop(node)[1] for node in wanted) if fits else -1
        assert self.act(self.state, TAKE, p, a, b) == expected

    def give(self, p: int, a: int, b: int) -> None:
        """Give those nodes of a range back that are not free, each run of them at once."""
        missing = [node for node in range(a, b) if node in self.span(p) and node not in self.free]
        for first, last in runs(missing):
            self.act(self.state, GIVE, p, first, last)
            self.free |= {node: (float(self.state.now[0]), 0) for node in range(first, last)}

    def wait(self, dt_s: float) -> None:
        """Let time pass; who has been free for long falls asleep."""
        s = self.state
        s.now[0] += dt_s
        old = sum(asleep for _, asleep in self.free.values())
        self.free = {
            node: (since_s, int(asleep or since_s + s.sleep_after_s[0] <= s.now[0]))
            for node, (since_s, asleep) in self.free.items()
        }
        assert self.act(s, FALL_ASLEEP, 0, 0, 0) == sum(asleep for _, asleep in self.free.values()) - old

    def compare(self) -> None:
        """Assert that both say the same, and that neighbours are one extent unless sleep tells them apart."""
        s = self.state
        asleep = {p: sum(self.free[n][1] for n in self.span(p) if n in self.free) for p in range(s.free.size)}
        for p in range(s.free.size):
            mine = [node for node in self.span(p) if node in self.free]
            assert s.free[p] == len(mine)
            assert s.asleep[p] == asleep[p]
            extents = list(free_extents(s, p))
            assert [node for a, b in extents for node in range(a, b)] == mine
            for a, b in extents:
                told = {self.free[node] for node in range(a, b)}
                assert len(told) == 1 if s.option[OPT_SLEEP] else b - a >= 1
                if s.option[OPT_SLEEP]:
                    assert told == {(s.fx_since_s[a], s.fx_asleep[a])}
            if not s.option[OPT_SLEEP]:
                assert extents == runs(mine)


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return rising numbers as runs: the first and one past the last."""
    grouped = itertools.groupby(enumerate(numbers), lambda at: at[1] - at[0])
    rows = [[n for _, n in group] for _, group in grouped]
    return [(row[0], row[-1] + 1) for row in rows]


steps = st.lists(
    st.tuples(st.sampled_from("tttgggw"), st.integers(0, 1), st.integers(-3, 400), st.integers(0, 90)), max_size=60
)


@pytest.mark.parametrize("way", ways)
@pytest.mark.parametrize("sleep_s", [0.0, 5.0])
@settings(max_examples=150, deadline=None)
@given(counts=st.lists(st.sampled_from([1, 5, 63, 64, 65, 130]), min_size=2, max_size=3), steps=steps)
def test_extents_are_a_set_of_nodes(way: str, sleep_s: float, counts: list[int], steps: list[Any]) -> None:
    """Whatever is taken and given back, extents are the runs of free nodes of a class; what is not free is not
    taken.
    """
    twin = Twin(way, counts, sleep_s=sleep_s)
    for what, p, a, width in steps:
        if what == "t":
            twin.take(p, a, a + width)
        elif what == "g":
            twin.give(p, a, a + width)
        elif sleep_s > 0:
            twin.wait(float(width % 4))
        twin.compare()


@pytest.mark.parametrize("way", ways)
def test_wide_machines(way: str) -> None:
    """An extent is found across thousands of nodes that are all taken, forwards by who places, backwards by who
    takes from its middle.
    """
    n = 20_000
    twin = Twin(way, [n])
    twin.take(0, 0, n)
    assert list(free_extents(twin.state, 0)) == []
    twin.give(0, 2, 3)
    twin.give(0, 19_000, n)
    assert list(free_extents(twin.state, 0)) == [(2, 3), (19_000, n)]
    twin.take(0, 19_990, 19_995)
    twin.take(0, 10_000, 10_001)
    twin.take(0, n - 1, n + 1)
    twin.compare()
    twin.give(0, 0, n)
    assert list(free_extents(twin.state, 0)) == [(0, n)]


def test_what_no_class_has_is_not_free() -> None:
    """Nodes below, beyond or across classes, and extents of no nodes, are refused and nothing changes."""
    twin = Twin("compiled", [4, 4])
    for p, a, b in (
        (0, -1, 2),
        (0, 3, 5),
        (0, 4, 6),
        (1, 2, 6),
        (1, 6, 9),
        (0, 2, 2),
        (0, 3, 1),
        (1, 10**12, 10**12 + 1),
    ):
        twin.take(p, a, b)
        twin.compare()
    with pytest.raises(IndexError, match="node class"):
        list(free_extents(twin.state, 2))


def test_free_nodes_are_laid_out() -> None:
    """Laying out some extents of a class leaves those of the others as they are."""
    twin = Twin("plain", [70, 10])
    nodes.lay_out_free(twin.state, 0, [(0, 1), (3, 70)])
    assert [list(free_extents(twin.state, p)) for p in range(2)] == [[(0, 1), (3, 70)], [(70, 80)]]
    assert twin.state.free.tolist() == [68, 10]
    nodes.lay_out_free(twin.state, 1, np.empty((0, 2)))
    assert [list(free_extents(twin.state, p)) for p in range(2)] == [[(0, 1), (3, 70)], []]


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1).filter(bool))
def test_bits(word: int) -> None:
    """The lowest and the highest bit of 64 are told alike by plain and compiled code."""
    lowest, highest = _bits(np.int64(word))
    assert (lowest_bit(word), highest_bit(np.int64(word))) == (lowest, highest)
    told = f"{word & (2**64 - 1):064b}"[::-1]
    assert (lowest, highest) == (told.index("1"), told.rindex("1"))


def _two(word: int) -> tuple[int, int]:
    return lowest_bit(word), highest_bit(word)


_bits: Any = numba.njit(_two) if JIT else _two
