"""Least-Contention: of the ways it weighs, it takes the cheapest, by a cost worked out link by link."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.worlds import policies
from wattline.errors import InputError
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.communication import Communication
from wattline.model.jobs import JobTable
from wattline.model.networks.base import Network
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.fat_tree_3 import FatTree3
from wattline.model.networks.flat import Flat
from wattline.physics.link_loads import capacities, link_shares
from wattline.policies.place.allocate import OnLinks, allocate, allocate_all
from wattline.policies.place.weighing import OVERLOAD
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options

THREE = Dragonfly(nodes_per_router=2, routers_per_group=2, groups=3)
"""Twelve nodes: routers 0 1 | 2 3 | 4 5, two nodes each; links carry 1 GB/s."""
INTACT, ROOM = 0.2, 2.0
HERE = Path(__file__).parent
GB = 1e9
Floats = npt.NDArray[np.float64]


def place(network: Network, free: object, n: int, links: OnLinks, seed: int = 0) -> list[int]:
    """Place one job."""
    return allocate("least-contention", network, free, n, seed, links=links).tolist()  # type: ignore[arg-type]


def quiet(network: Network, bytes_per_s: float = 0.6 * GB, waiting: tuple[int, ...] = ()) -> OnLinks:
    """Return links that carry nothing yet."""
    return OnLinks(np.zeros(capacities(network).shape), bytes_per_s, waiting=waiting)


def cost(network: Network, free: list[int], nodes: list[int], links: OnLinks) -> float:
    """Work out what a placement costs: bytes on every link, routers broken up, waiting jobs without room."""
    room = capacities(network)
    near = network.link_tables().room_bytes_per_s[0]
    own = link_shares(network, np.array(nodes)).minimal * (len(nodes) * links.bytes_per_s)
    used = own > 0
    waits = (own[used] * (2 * links.loads[used] + own[used]) / room[used]).sum()
    full = ((links.loads + own / links.share) / room)[used].max(initial=1.0)
    left = sorted(set(free) - set(nodes))
    squares = [sum(c * c for c in counts(network.router_of, which)) for which in (free, left)]
    later = INTACT * (squares[0] - squares[1]) / network.nodes_per_router
    small = [n for n in links.waiting if n <= network.nodes_per_router]
    middle = [n for n in links.waiting if network.nodes_per_router < n <= network.nodes_per_group]
    for jobs, level in ((small, network.router_of), (middle, network.group_of)):
        if jobs:
            mean = -(-sum(jobs) // len(jobs))
            later += ROOM * mean * max(0, len(jobs) - sum(c // mean for c in counts(level, left)))
    return float((waits + OVERLOAD * own.sum() * (full - 1.0)) / near + later)


def counts(level: object, nodes: list[int]) -> list[int]:
    """Return how many nodes each router, or group, has."""
    return np.bincount([level(node) for node in nodes]).tolist() if nodes else []  # type: ignore[operator]


def router_choices(network: Network, free: list[int], group: int, n: int) -> Iterator[list[int]]:
    """Yield the two ways of taking n nodes of a group: from few routers, and from all alike."""
    held = {
        r: [x for x in free if network.router_of(x) == r]
        for r in {network.router_of(x) for x in free if network.group_of(x) == group}
    }
    even: dict[int, int] = dict.fromkeys(held, 0)
    for _ in range(n):  # one after another from the router that gave least, of those the freest one
        r = min((r for r in held if even[r] < len(held[r])), key=lambda r: (even[r], -len(held[r]), r))
        even[r] += 1
    yield [x for r in held for x in held[r][: even[r]]]
    few: list[int] = []
    rest = dict(held)
    while len(few) < n:
        fits = [r for r in rest if len(rest[r]) >= n - len(few)]
        r = min(fits, key=lambda r: (len(rest[r]), r)) if fits else max(rest, key=lambda r: (len(rest[r]), -r))
        few += rest.pop(r)[: n - len(few)]
    yield few


def test_hand_worked_cases() -> None:
    """On three groups with nodes 0 and 5 taken: the tightest router, the whole one, the whole group, all groups."""
    free = [n for n in range(12) if n not in {0, 5}]
    links = quiet(THREE)
    assert place(THREE, free, 1, links) == [1]
    assert place(THREE, free, 2, links) == [2, 3]
    assert place(THREE, free, 3, links) == [1, 2, 3]  # breaks the group that is broken already
    assert place(THREE, free, 4, links) == [8, 9, 10, 11]
    assert len(place(THREE, free, 7, links)) == 7


@st.composite
def cases(draw: st.DrawFn) -> tuple[Network, list[int], int, OnLinks]:
    """Draw a machine, its free nodes, a job that fits on them, loads of links and who waits."""
    p, a = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    network: Network = Dragonfly(
        p, a, a * draw(st.integers(0, 2)) + 1, global_bps=draw(st.sampled_from((2e9, 8e9, 32e9)))
    )
    if draw(st.booleans()):
        network = draw(st.sampled_from([FatTree(p, a * draw(st.integers(1, 4)), 2), FatTree3(4, spine_bps=2e9)]))
    free = draw(st.sets(st.integers(0, network.nodes - 1), min_size=1))
    loads = (
        np.random.default_rng(draw(st.integers(0, 99))).integers(0, 2 * 10**9, capacities(network).shape).astype(float)
    )
    waiting = draw(st.lists(st.integers(1, network.nodes), max_size=5))
    share = draw(st.sampled_from((1.0, 0.25)))
    links = OnLinks(
        loads * draw(st.sampled_from((0.0, 1.0))), draw(st.sampled_from((0.1, 0.7))) * GB * share, share, waiting
    )
    return network, sorted(free), draw(st.integers(1, len(free))), links


@settings(deadline=None, max_examples=200)  # the first call compiles
@given(case=cases(), seed=st.integers(0, 2**53 - 1))
def test_it_takes_the_cheapest_of_what_it_weighs(case: tuple[Network, list[int], int, OnLinks], seed: int) -> None:
    """A job gets exactly n free nodes: the tightest router; the cheapest choice in a group; or none that all free
    groups would beat.
    """
    network, free, n, links = case
    got = place(network, free, n, links, seed)
    assert len(set(got)) == n == len(got)
    assert set(got) <= set(free)
    assert got == place(network, free, n, links, seed)
    held = np.bincount([network.router_of(x) for x in free], minlength=network.routers)
    groups = np.bincount([network.group_of(x) for x in free], minlength=network.groups)
    if held.max() >= n:
        assert len({network.router_of(x) for x in got}) == 1
        assert held[network.router_of(got[0])] == min(c for c in held if c >= n)
        return
    mine = cost(network, free, got, links)
    if groups.max() >= n:
        others = [way for i in np.flatnonzero(groups >= n) for way in router_choices(network, free, int(i), n)]
        assert mine <= min(cost(network, free, way, links) for way in others) * (1 + 1e-9) + 1e-9
        return
    shared = dict.fromkeys(np.flatnonzero(groups).tolist(), 0)
    for _ in range(n):  # all groups that have free nodes, alike: one of the choices but for whom the odd nodes fall to
        i = min((i for i in shared if shared[i] < groups[i]), key=lambda i: shared[i])
        shared[i] += 1
    if len(set(shared.values())) == 1:
        for choice in range(2):
            way = [x for i, c in shared.items() for x in list(router_choices(network, free, i, c))[choice]]
            assert mine <= cost(network, free, way, links) * (1 + 1e-9) + 1e-9


def test_no_choice_of_groups_is_cheaper() -> None:
    """Amid links loaded at random, of all sets of groups that share a job alike hardly one is cheaper than what it
    finds.
    """
    network = Dragonfly(2, 2, 5)
    rng = np.random.default_rng(4)
    over = []
    for _ in range(40):
        loads = rng.integers(0, 10**9, capacities(network).shape).astype(float)
        links = OnLinks(loads, 0.6 * GB)
        free = list(range(20))
        got = cost(network, free, place(network, free, 6, links), links)
        ways = [
            [x for i in groups for x in list(router_choices(network, free, i, 6 // k))[packed]]
            for k in (2, 3)
            for groups in combinations(range(5), k)
            for packed in range(2)
        ]
        over.append(got / min(cost(network, free, way, links) for way in ways))
    assert np.quantile(over, 0.7) <= 1 + 1e-9
    assert max(over) < 1.6


def test_a_single_group_has_links_too() -> None:
    """On one group of many routers, as large as a cabinet, jobs are shared out among them and nothing else is
    touched.
    """
    network = Dragonfly(4, 96, 1)
    placed = allocate_all("least-contention", network, [30, 64, 5, 200])
    assert sorted(np.concatenate(placed).tolist()) == sorted(set(np.concatenate(placed).tolist()))
    assert [nodes.size for nodes in placed] == [30, 64, 5, 200]


def test_it_keeps_away_from_loaded_links() -> None:
    """Of two groups that hold a job, the one whose links are idle; loads turn a choice round."""
    for busy in (0, 1, 2):
        loads = np.zeros(capacities(THREE).shape)
        loads[[2 * i + r for i in range(3) if i != busy for r in (0, 1)]] = 0.9 * GB
        assert {THREE.group_of(x) for x in place(THREE, range(12), 4, OnLinks(loads, 0.6 * GB))} == {busy}


def test_who_waits_keeps_a_group_whole() -> None:
    """A job that would be spread over all groups leaves one for a waiting job that fits a group, and none for one that
    does not.
    """
    network = Dragonfly(2, 2, 5)
    alone = place(network, range(20), 8, quiet(network))
    assert len({network.group_of(x) for x in alone}) == 5
    thoughtful = place(network, range(20), 8, quiet(network, waiting=(4, 4)))
    left = np.bincount([network.group_of(x) for x in set(range(20)) - set(thoughtful)], minlength=5)
    assert (left == 4).sum() >= 2
    assert place(network, range(20), 8, quiet(network, waiting=(9, 12))) == alone


def test_jobs_that_send_nothing_take_what_is_left_over() -> None:
    """They fill the routers with the fewest free nodes and leave whole ones to others."""
    assert place(THREE, [1, 2, 3, 4, 6, 7, 9], 3, quiet(THREE, 0.0)) == [1, 4, 9]


def test_the_scheduler_places_as_the_library_does() -> None:
    """In a run it knows the loads of links and who waits: jobs get what ``allocate`` gives them when told the same."""
    network, nodes, rate, share = Dragonfly(4, 4, 9), [30, 7, 50, 3, 16], 1e8, 0.25
    jobs = JobTable.build(
        submit_s=np.zeros(5), work_s=np.full(5, 100.0), nodes=nodes, kind=np.zeros(5, dtype=int), kinds=("k",)
    )
    cluster = Cluster((NodeClass("n", 144, 100.0, 300.0),), network=network)
    sends = [Communication("k", rate, share=share)]
    result = simulate(jobs, cluster, policies(place="least-contention"), Options(communication=sends), seed=11)
    free, loads = np.ones(144, dtype=bool), np.zeros(capacities(network).shape)
    for j, n in enumerate(nodes):
        expected = allocate(
            "least-contention", network, free, n, 11, job=j, links=OnLinks(loads, rate, share, nodes[j + 1 :])
        )
        mine = result.logs["px_job"] == j
        extents = zip(result.logs["px_first"][mine], result.logs["px_count"][mine], strict=True)
        assert sorted(x for first, count in extents for x in range(first, first + count)) == expected.tolist()
        loads = loads + (link_shares(network, expected).minimal * n * rate).round()
        free[expected] = False


def test_what_it_cannot_know_is_refused() -> None:
    """Without loads, with loads of another machine, on a flat network, or where nobody says what jobs send: one
    line.
    """
    with pytest.raises(InputError, match="goes by the loads of links: give them"):
        allocate("least-contention", THREE, range(12), 3)
    with pytest.raises(InputError, match="a finite number for each of"):
        place(THREE, range(12), 3, OnLinks(np.zeros((2, 2)), GB))
    with pytest.raises(InputError, match="a flat network has none"):
        place(Flat(12), range(12), 3, OnLinks(np.zeros((1, 0)), GB))
    with pytest.raises(InputError, match="in a share of its time above 0"):
        place(THREE, range(12), 3, OnLinks(np.zeros(capacities(THREE).shape), GB, 0.0))
    jobs = JobTable.build(submit_s=[0.0], work_s=[1.0], nodes=[1], kind=[0], kinds=("k",))
    for network, sent, said in (
        (THREE, Communication("k", 1e6), "say what kinds of job send"),
        (Flat(12), Communication("k", 1e6, share=0.5), "a flat network has none"),
    ):
        cluster = Cluster((NodeClass("n", 12, 100.0, 300.0),), network=network)
        with pytest.raises(InputError, match=said):
            simulate(jobs, cluster, policies(place="least-contention"), Options(communication=[sent]))


def placements() -> str:
    """Return some placements as text."""
    network, rng = Dragonfly(4, 4, 9), np.random.default_rng(8)
    told = []
    for n in (3, 6, 11, 20, 64):
        loads = rng.integers(0, 10**9, capacities(network).shape).astype(float)
        free = np.flatnonzero(rng.random(144) < 0.7)
        told.append(place(network, free, n, OnLinks(loads, 0.5 * GB, 0.7, (2, 5, 9)), 3))
    return str(told)


def test_compiled_and_plain_code_agree() -> None:
    """Where nothing is compiled, the same source picks the same nodes."""
    done = subprocess.run(
        [sys.executable, "-c", "import test_least_contention as t; print(t.placements())"],
        env=os.environ
        | {
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, sys.path)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == placements()
