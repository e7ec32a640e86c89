"""Place policies: which nodes a job gets."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_places import NAIVE, by_key

from wattline.errors import InputError
from wattline.model.networks.base import Network
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.flat import Flat
from wattline.policies.place.allocate import allocate, place_policies

THREE = Dragonfly(nodes_per_router=2, routers_per_group=2, groups=3)
"""Twelve nodes: routers 0 1 | 2 3 | 4 5, two nodes each."""
TAKEN = (0, 5)
FREE = [node for node in range(12) if node not in TAKEN]
COUNTERS = [5.0, 1.0, 2.0, 0.0, 4.0, 3.0]

BY_HAND = {
    "lowest": ([1], [1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 6, 7, 8]),
    "slurm": ([1], [2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 6, 7, 8]),
    "slurm-best-fit": ([1], [2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 6, 7, 8]),
    "rrn": ([1], [1, 4], [1, 2, 4, 8], [1, 2, 3, 4, 6, 8, 9]),
    "rrr": ([1], [1, 4], [1, 4, 8, 9], [1, 2, 3, 4, 6, 8, 9]),
    "jokanovic": ([1], [1, 2], [8, 9, 10, 11], [4, 6, 7, 8, 9, 10, 11]),
    "jokanovic-released": ([2], [3, 4], [1, 2, 3, 4], [4, 6, 7, 8, 9, 10, 11]),
    "level-spread": ([2], [2, 3], [8, 9, 10, 11], [1, 2, 3, 4, 6, 8, 9]),
    "fewer-router": ([2], [2, 3], [2, 3, 6, 7], [2, 3, 6, 7, 8, 9, 10]),
    "nedd": ([6], [6, 7], [2, 3, 6, 7], [2, 3, 4, 6, 7, 10, 11]),
    "low-traffic": ([6], [6, 7], [2, 3, 6, 7], [2, 3, 4, 6, 7, 10, 11]),
    "high-traffic": ([1], [1, 8], [1, 8, 9, 10], [1, 2, 4, 8, 9, 10, 11]),
    "low-stall": ([6], [6, 7], [2, 3, 6, 7], [2, 3, 4, 6, 7, 10, 11]),
}
"""Jobs of 1, 2, 4 and 7 nodes on THREE with nodes 0 and 5 taken."""


def place(name: str, network: Network, free: object, n: int, seed: int = 0, **more: object) -> list[int]:
    """Place a job with counters at hand that rise with a router's number, unless others are given."""
    rising = np.arange(network.routers, dtype=float)
    told = {"traffic": rising, "stalls": rising} | more
    return allocate(name, network, free, n, seed, **told).tolist()  # type: ignore[arg-type]


@st.composite
def machines(draw: st.DrawFn) -> tuple[Network, list[int], int]:
    """Draw a machine, its free nodes and a job that fits on them."""
    kind = draw(st.sampled_from(("dragonfly", "fat-tree", "flat")))
    p, a = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    network: Network = Dragonfly(p, a, a * draw(st.integers(0, 2)) + 1)
    if kind == "fat-tree":
        network = FatTree(p, a * draw(st.integers(1, 4)), 2)
    elif kind == "flat":
        network = Flat(p * a)
    free = draw(st.sets(st.integers(0, network.nodes - 1), min_size=1))
    return network, sorted(free), draw(st.integers(1, len(free)))


@pytest.mark.parametrize("name", BY_HAND)
def test_hand_worked_cases(name: str) -> None:
    """On three groups of two routers of two nodes, with two nodes taken, every policy picks what was worked out by
    hand.
    """
    got = [place(name, THREE, FREE, n, traffic=COUNTERS, stalls=COUNTERS) for n in (1, 2, 4, 7)]
    assert got == list(BY_HAND[name])


def test_slurm_variants_differ_where_a_later_router_is_tighter() -> None:
    """The text takes the first router that holds the job, the released code the tightest one."""
    network, free = Dragonfly(3, 1, 3), [0, 1, 2, 3, 4, 6]
    assert place("slurm", network, free, 2) == [0, 1]
    assert place("slurm-best-fit", network, free, 2) == [3, 4]


def test_released_jokanovic_keeps_the_end_of_a_fit_when_nodes_run_out() -> None:
    """Where fewer nodes are free outside the room found than the job needs, the rest of that room stays its own."""
    assert place("jokanovic-released", THREE, [0, 1, 2, 3, 4], 4) == [1, 2, 3, 4]
    assert place("jokanovic-released", THREE, [0, 1, 2, 3, 4], 3) == [2, 3, 4]


def test_level_spread_takes_the_emptiest_and_goes_round_its_routers() -> None:
    """In the group with most free nodes, routers give one node each in turn; ties go to the lowest number."""
    network = Dragonfly(4, 4, 5)
    free = [n for n in range(network.nodes) if n not in {0, 17, 33}]
    assert place("level-spread", network, free, 4) == [4, 5, 6, 7]
    assert place("level-spread", network, free, 6) == [48, 49, 52, 53, 56, 60]
    assert place("level-spread", network, range(network.nodes), 17)[:4] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", NAIVE)
@settings(deadline=None)  # the first call compiles
@given(case=machines())
def test_policies_do_what_a_plain_loop_does(name: str, case: tuple[Network, list[int], int]) -> None:
    """On any machine and any set of free nodes, a policy picks what its definition, node by node, picks."""
    network, free, n = case
    assert place(name, network, free, n) == sorted(NAIVE[name](network, free, n))


@settings(deadline=None)  # the first call compiles
@given(case=machines(), data=st.data())
def test_counters_decide_router_by_router(case: tuple[Network, list[int], int], data: st.DataObject) -> None:
    """Sensitive jobs fill the routers with least traffic first, insensitive ones the busiest; ties go by number."""
    network, free, n = case
    key = data.draw(st.lists(st.integers(0, 3).map(float), min_size=network.routers, max_size=network.routers))
    busiest = [-x for x in key]
    assert place("nedd", network, free, n, traffic=key) == sorted(by_key(key)(network, free, n))
    assert place("nedd", network, free, n, traffic=key, sensitive=False) == sorted(by_key(busiest)(network, free, n))
    assert place("low-traffic", network, free, n, traffic=key) == sorted(by_key(key)(network, free, n))
    assert place("high-traffic", network, free, n, traffic=key) == sorted(by_key(busiest)(network, free, n))
    assert place("low-stall", network, free, n, stalls=key) == sorted(by_key(key)(network, free, n))


@pytest.mark.parametrize("name", ["rdn", "rdr", "rdg"])
@settings(deadline=None)  # the first call compiles
@given(case=machines(), seed=st.integers(0, 2**53 - 1), job=st.integers(0, 2**31))
def test_random_policies_pick_distinct_free_nodes(
    name: str, case: tuple[Network, list[int], int], seed: int, job: int
) -> None:
    """A random policy returns exactly n distinct free nodes, the same for the same seed and job."""
    network, free, n = case
    got = place(name, network, free, n, seed, job=job)
    assert len(set(got)) == n == len(got)
    assert set(got) <= set(free)
    assert got == place(name, network, free, n, seed, job=job)
    if name != "rdn":  # all but one router (group) is taken as a whole
        level = network.router_of if name == "rdr" else network.group_of
        there, used = Counter(map(level, free)), Counter(map(level, got))
        assert sum(used[unit] != there[unit] for unit in used) <= 1


def test_random_nodes_are_uniform() -> None:
    """Every choice of 2 out of 6 nodes (and of 4, which are drawn by what is left out) comes up equally often."""
    machine = Dragonfly(1, 2, 3)
    for n in (2, 4):
        drawn = Counter(tuple(place("rdn", machine, range(6), n, 3, job=job)) for job in range(6000))
        assert set(drawn) == set(combinations(range(6), n))
        statistic = sum((count - 400) ** 2 / 400 for count in drawn.values())
        assert statistic < 36.1  # chi-square with 14 degrees of freedom exceeds it once in a thousand


def test_random_routers_and_groups_are_uniform() -> None:
    """Each router, and each group, is drawn first equally often."""
    for name, units in (("rdr", 6), ("rdg", 3)):
        size = 12 // units
        drawn = Counter(place(name, THREE, range(12), 1, 5, job=job)[0] // size for job in range(600 * units))
        statistic = sum((drawn[unit] - 600) ** 2 / 600 for unit in range(units))
        assert statistic < 20.5  # chi-square with 5 degrees of freedom exceeds it once in a thousand


def test_seeds_and_jobs_change_what_is_drawn() -> None:
    """Another seed, or another job, draws other nodes."""
    machine = Dragonfly(4, 4, 17)
    picks = {tuple(place("rdn", machine, range(272), 30, seed, job=job)) for seed in range(5) for job in range(5)}
    assert len(picks) == 25


def test_a_fat_tree_spreads_over_its_leaves() -> None:
    """On a fat tree a leaf is a router and a group: large jobs go round the leaves, or to the far end of the
    machine.
    """
    tree = FatTree(4, 3, 2)
    assert place("level-spread", tree, range(12), 6) == [0, 1, 4, 5, 8, 9]
    assert place("rrn", tree, range(12), 4) == [0, 1, 4, 8]
    assert place("jokanovic", tree, range(12), 5) == [7, 8, 9, 10, 11]
    assert place("jokanovic", tree, range(1, 12), 4) == [4, 5, 6, 7]


def test_threads_do_not_disturb_each_other() -> None:
    """Two threads that place at once get what each gets alone."""
    machine = Dragonfly(4, 8, 33)
    found: list[list[list[int]]] = []

    def place_forty() -> None:
        found.append([place("rdr", machine, range(1056), 100 + k, 1, job=k) for k in range(40)])

    place_forty()
    work = [threading.Thread(target=place_forty) for _ in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert found == [found[0]] * 5


@pytest.mark.parametrize("name", place_policies())
def test_jobs_that_do_not_fit_are_refused(name: str) -> None:
    """A job of more nodes than are free, or of none, is refused in one line."""
    for n in (0, 11):
        with pytest.raises(InputError, match=f"cannot place a job of {n} nodes: 10 of 12 nodes are free"):
            place(name, THREE, FREE, n)


@pytest.mark.parametrize(
    ("name", "told", "said"),
    [
        ("level-sprea", {}, "did you mean 'level-spread'"),
        ("nedd", {"traffic": None}, "goes by the traffic of routers"),
        ("low-stall", {"stalls": [1.0]}, "each of 6 routers, got 1"),
        ("nedd", {"traffic": [np.nan] * 6}, "a finite number"),
        ("rdn", {"seed": -1}, "a seed is a whole number"),
        ("rdn", {"free": [3, 12]}, "numbered 0 … 11"),
        ("rdn", {"free": [True, False]}, "each of 12 nodes"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, told: dict[str, object], said: str) -> None:
    """Unknown names, missing counters, bad seeds and nodes that do not exist are refused in one line."""
    free = told.pop("free", FREE)
    with pytest.raises(InputError, match=said):
        place(name, THREE, free, 1, **told)  # type: ignore[arg-type]
