"""Worlds that start over: the same bytes as a run of its own, whatever was run before, in threads too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.regulated import FILLER, SMALL, WIDE, machine, options, signal, table_of
from engine.worlds import digest, policies
from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Outage
from wattline.model.jobs import JobTable
from wattline.model.mechanism import policy
from wattline.model.regulation import Bid
from wattline.sim.ensemble import World, in_threads
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

KINDS = (SMALL, WIDE, FILLER)
BIDS = (Bid(1200.0, 300.0), Bid(900.0, 250.0), Bid(1500.0, 500.0))
UNTIL_S = 200.0


def jobs(seed: int = 0, count: int = 40) -> JobTable:
    """Return a random mix."""
    rng = np.random.default_rng(seed)
    names = rng.choice([kind.name for kind in KINDS], count)
    return table_of(KINDS, *zip(np.sort(rng.uniform(0, 150, count)).tolist(), names.tolist(), strict=True))


def how(bid: Bid | None = BIDS[0], seed: int = 0, kinds: Any = KINDS, **more: Any) -> Options:
    """Return options with a random signal."""
    y = np.random.default_rng(seed + 99).uniform(-1, 1, 40)
    return options(kinds, signal(*y, step_s=5.0), (0.0, bid), stop_cost_s=1.0, until_s=UNTIL_S, **more)


def chosen(preempt: float = 1.0, carry: float = 1.0, **slots: Any) -> Policies:
    """Return policies with memory and pauses."""
    return policies(
        {"select": {"preempt": preempt, "carry": carry}} if not slots else {},
        **{"select": "gps", "cap": "match-target", **slots},
    )


NODES = machine(9, outages=(Outage(40.0, 70.0, 2, 2), Outage(90.0, 120.0, 0, 3, drain=True)))


def alone(bid: Bid | None = BIDS[0], seed: int = 0, weights: Floats | None = None, **params: float) -> str:
    """Return the digest of a fresh run."""
    kinds = (
        KINDS if weights is None else tuple(replace(k, weight=float(w)) for k, w in zip(KINDS, weights, strict=True))
    )
    return digest(Simulation(jobs(seed), NODES, chosen(**params), how(bid, seed, kinds)).run())


def again(world: World, **changes: Any) -> str:
    """Return the digest of a world that has started over."""
    world.start_over(**changes)
    assert world.run_until(UNTIL_S) is True
    return digest(world.simulation.result())


def test_a_world_that_starts_over_leaves_the_bytes_of_a_run_of_its_own() -> None:
    """Run once, again and a third time it says what a fresh run says."""
    world = World(jobs(), NODES, chosen(), how())
    assert [again(world) for _ in range(3)] == [alone()] * 3


def test_nothing_of_other_bids_weights_and_parameters_is_left() -> None:
    """What was given for one run does not hold for the next, which says what a fresh run says."""
    world = World(jobs(), NODES, chosen(), how())
    weights = np.array([0.2, 0.8, 0.0])
    first = alone()
    assert again(world, bid=BIDS[1]) == alone(BIDS[1]) != first
    assert again(world, bid=BIDS[2], weights=weights) == alone(BIDS[2], weights=weights)
    assert again(world, params={"select": (0.0, 0.0, 0.0)}) == alone(preempt=0.0, carry=0.0) != first
    assert again(world) == first


def test_a_run_that_was_never_asked_to_start_over_leaves_nothing_either() -> None:
    """Also a world that was run straight away begins from the start when it starts over."""
    world = World(jobs(), NODES, chosen(), how())
    world.run_until(77.0)
    assert again(world, bid=BIDS[1]) == alone(BIDS[1])


def test_a_run_broken_off_leaves_nothing() -> None:
    """Starting over in the middle, with paused and running jobs, is starting over."""
    world = World(jobs(), NODES, chosen(), how())
    for time_s in (33.0, 61.5, 140.0):
        world.start_over(bid=BIDS[1])
        assert world.run_until(time_s) is True
        assert world.state.now[0] == time_s
    assert again(world) == alone()


def test_a_bid_that_ends_still_ends() -> None:
    """Another bid takes the place of those that hold; where none held, none holds."""
    ending = replace(how(), bids=((0.0, BIDS[0]), (100.0, None)))
    other = replace(how(), bids=((0.0, BIDS[1]), (100.0, None)))
    world = World(jobs(), NODES, chosen(), ending)
    assert again(world, bid=BIDS[1]) == digest(Simulation(jobs(), NODES, chosen(), other).run())
    assert np.isnan(world.state.target_w[0])


def test_what_cannot_be_given_is_said() -> None:
    """A bid where none can hold, and weights for other kinds than there are, are errors."""
    plain = World(jobs(), NODES, policies(), Options(kinds=KINDS))
    with pytest.raises(InputError, match="no bid"):
        plain.start_over(bid=BIDS[0])
    with pytest.raises(InputError, match="2 weights for 3 kinds"):
        plain.start_over(weights=np.ones(2))


def test_stopping_on_the_way_changes_nothing() -> None:
    """A run in steps, with looks at the timeline, is the run in one go."""
    world = World(jobs(), NODES, chosen(), how(log_rows=64))
    world.start_over()
    for time_s in np.arange(7.0, 200.0, 7.0):
        world.run_until(float(time_s))
        assert np.all(np.diff(world.timeline()[:, codes.TL_TIME]) >= 0)
    world.run_until(UNTIL_S)
    assert digest(world.simulation.result()) == alone()


def test_the_end_is_told() -> None:
    """Where nothing is left to happen before the time asked for, the run says so."""
    few = table_of(KINDS, (0.0, "small"), (3.0, "wide"))
    world = World(few, machine(), chosen(), options(KINDS, signal(0.0), (0.0, Bid(9000.0, 0.0))))
    world.start_over()
    assert world.run_until(10.0) is True
    assert world.run_until(500.0) is False
    assert world.state.end_s.tolist() == [20.0, 33.0]
    rows = world.timeline()
    assert (rows[0, codes.TL_TIME], rows[-1, codes.TL_TIME]) == (0.0, 33.0)


def test_threads_give_the_same_bytes_in_order() -> None:
    """Worlds of other seeds and bids run in threads, each over and over, say what each says alone."""
    worlds = [World(jobs(seed), NODES, chosen(), how(seed=seed)) for seed in range(4)]

    def all_bids(world: World) -> list[str]:
        return [again(world, bid=bid) for bid in BIDS]

    expected = [[alone(bid, seed) for bid in BIDS] for seed in range(4)]
    assert in_threads(all_bids, worlds, workers=4) == expected
    assert in_threads(all_bids, worlds, workers=1) == expected
    assert in_threads(all_bids, []) == []


def test_an_error_in_a_thread_comes_out() -> None:
    """What goes wrong in one run is raised, not lost."""

    def fail(item: int) -> int:
        if item == 2:
            raise InputError("the third")
        return item

    with pytest.raises(InputError, match="the third"):
        in_threads(fail, range(4), workers=2)


@policy("select", wake="tick")
def first(s: Any, mask: int, param: Any, memory: Any) -> int:
    """Start the first job that waits."""
    waiting = [j for j in s.queue[s.q_head[0] : s.q_tail[0]] if j >= 0 and s.nodes[j] <= s.free[0]]
    for j in waiting[:1]:
        s.p_job[0], s.p_nodes[0], s.p_cap_w[0], s.p_why[0] = j, s.nodes[j], np.inf, codes.CHOSEN
    return len(waiting[:1])


def test_plain_python_policies_start_over_too() -> None:
    """A world may be run by a policy that is not compiled."""
    slots: Mapping[str, Any] = {"select": first}
    fresh = digest(Simulation(jobs(), NODES, chosen(**slots), how()).run())
    world = World(jobs(), NODES, chosen(**slots), how())
    assert [again(world), again(world)] == [fresh, fresh]
