"""Worlds that follow a power target: some hundreds at random against plain twins, wrong twins, and worlds that were
wrong once.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from differential import market
from differential.market import World, check, draw, shrink
from reference import gps, qoscap, slackline, target, track

SEEDS, WORLDS = range(8), 40


@pytest.mark.parametrize("seed", SEEDS)
def test_random_worlds_run_as_the_plain_twins_say(seed: int) -> None:
    """Whoever starts, pauses, resumes and ends does so when the documented rules say, with that energy and power."""
    rng = np.random.default_rng(seed)
    before = market.SEEN.copy()
    for _ in range(WORLDS):
        world = draw(rng, "small")
        assert check(world) is None, world
    assert market.SEEN["unclear"] - before["unclear"] < WORLDS / 4


def test_deep_worlds_run_as_the_plain_twins_say() -> None:
    """So it is with many jobs, kinds and nodes."""
    rng = np.random.default_rng(99)
    for _ in range(12):
        world = draw(rng, "deep")
        assert check(world) is None, world


def test_a_world_can_be_read_back() -> None:
    """What is printed of a world evaluates to the same world, and worlds are drawn by their seed alone."""
    rng, again = np.random.default_rng(5), np.random.default_rng(5)
    for size in ("small", "deep"):
        world = draw(rng, size)
        assert eval(repr(world), {"World": World}) == world == draw(again, size)  # noqa: S307
        assert ast.parse(repr(world))


def test_worlds_are_nasty() -> None:
    """Every policy, parameter and trouble is drawn: pauses, standby jobs, jumps of the target, outages, kills, wide
    jobs.
    """
    rng = np.random.default_rng(1)
    worlds = [draw(rng, "small") for _ in range(300)]
    assert {w.select for w in worlds} == {"gps", "slackline", "tracking-only", "energyqare", "qoscap"}
    assert {dict(w.params).get("largest") for w in worlds} >= {0.0, 1.0, 2.0}
    assert {dict(w.params).get("hold") for w in worlds if w.select == "qoscap"} == {0.0, 1.0}
    assert {dict(w.params).get("preempt") for w in worlds} >= {0.0, 1.0, 2.0}
    assert sum(dict(w.params).get("stop", 0.0) > 0.0 for w in worlds) > 20
    assert {w.cap for w in worlds} == {"none", "match-target"}
    assert {w.ties for w in worlds} == {"instant", "event"}
    assert min(w.nodes for w in worlds) == 1
    assert max(w.nodes for w in worlds) > 30
    for trouble in ("outages", "limits", "kill", "stop_cost"):
        assert sum(bool(getattr(w, trouble)) for w in worlds) > 20, trouble
    assert any(job[2] == 0.0 for w in worlds for job in w.jobs)
    assert any(job[3] > w.nodes for w in worlds for job in w.jobs)
    assert any(kind[7] for w in worlds for kind in w.kinds)
    assert any(bid[1] is None for w in worlds for bid in w.bids)
    assert any({-1.0, 1.0} <= set(w.signal) for w in worlds)
    assert sum(any(w.curves) for w in worlds) > 20


# ------------------------------------------------------------------ a wrong twin is caught


def _rounds_up(m: Any, x: Any, *_: Any) -> int:
    return -(-x // 1)


def _never_holds(**params: Any) -> Any:
    return RIGHT["by_need"](**{**params, "hold": 9.0})


def _passes_the_hungry(m: Any) -> Any:
    plan = track.all_that_fits(m)
    plan.uncapped = False
    return plan


def _half_as_much(m: Any, over: int) -> float:
    return 0.5 * RIGHT["suffering"](m, over)


def _over(wrong: int, right: int) -> Any:
    return lambda m, over: RIGHT["suffering"](m, wrong if over == right else over)


def _by_degradation(m: Any, mean: Any, lines: Any) -> int:
    return max((k for k, line in lines.items() if line), key=lambda k: mean[k])


def _spares_nobody(m: Any, mean: Any, meets: float) -> set[int]:
    return set()


def _waiting_alone(m: Any) -> Any:
    on_nodes, m.on_nodes = m.on_nodes, []
    try:
        return RIGHT["averages"](m)
    finally:
        m.on_nodes = on_nodes


def _never_near(**params: Any) -> Any:
    return RIGHT["sparing"](**{**params, "near": 99.0})


def _passes(**params: Any) -> Any:
    return RIGHT["sparing"](**{**params, "hold": False})


def _one_second_early(self: Any, job: Any) -> float:
    return RIGHT["end_of"](self, job) - (0.5 if job.rate < 1.0 else 0.0)


def _straight(job: Any, watts: float) -> Any:
    return RIGHT["longer"](replace(job, curve=()), watts)


def _first_in_the_trace(jobs: Any, value: Any) -> Any:
    return sorted(jobs, key=lambda j: j.number)


def _fresh(m: Any, job: Any) -> Fraction:
    return Fraction(0)


def _by_number(self: Any, jobs: Any, sign: int) -> Any:
    return sorted(jobs, key=lambda j: sign * j.number)


RIGHT: dict[str, Any] = {
    "whole": gps.whole,
    "by_need": slackline.by_need,
    "below_target": track.below_target,
    "suffering": track.suffering,
    "end_of": target.Machine.end_of,
    "longer": target.longer,
    "by_danger": target.Machine.by_danger,
    "averages": qoscap.averages,
    "sparing": qoscap.sparing,
}


OF_TWIN: dict[Any, tuple[str, ...]] = {
    gps: ("gps",),
    slackline: ("slackline",),
    track: ("tracking-only", "energyqare"),
    qoscap: ("qoscap",),
}
"""Policies whose rule is in a twin's file; the machine's is everybody's."""


@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (gps, "whole", _rounds_up),
        (slackline, "by_need", _never_holds),
        (track, "below_target", _passes_the_hungry),
        (track, "suffering", _half_as_much),
        (target.Machine, "end_of", _one_second_early),
        (target, "longer", _straight),
        (slackline, "longer", _straight),
        (target.Machine, "by_danger", _by_number),
        (slackline, "one_by_one", _first_in_the_trace),
        (slackline, "gone", _fresh),
        (track, "suffering", _over(2, 0)),
        (track, "suffering", _over(1, 0)),
        (track, "suffering", _over(0, 1)),
        (track, "suffering", _over(0, 2)),
        (qoscap, "worst", _by_degradation),
        (qoscap, "over_limit", _spares_nobody),
        (qoscap, "averages", _waiting_alone),
        (qoscap, "sparing", _never_near),
        (qoscap, "sparing", _passes),
    ],
)
def test_a_wrong_twin_is_caught(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, wrong: Any) -> None:
    """A twin that rounds, holds, passes, weighs, ends, pauses, averages or spares otherwise differs from the engine
    within some hundred worlds.
    """
    monkeypatch.setattr(where, name, wrong)
    rng = np.random.default_rng(3)
    of = ("gps",) if name == "by_danger" else OF_TWIN.get(where)
    worlds = (w for w in iter(lambda: draw(rng, "small"), None) if of is None or w.select in of)
    assert any(check(w) is not None for w in itertools.islice(worlds, 700))


def test_what_is_found_can_be_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a world that differs some smaller one does too."""
    monkeypatch.setattr(gps, "whole", _rounds_up)
    rng = np.random.default_rng(3)
    world = next(w for w in (draw(rng, "small") for _ in range(300)) if check(w))
    smaller = [w for w, _ in zip(shrink(world), range(60), strict=False) if check(w)]
    assert smaller
    assert all(w != world for w in smaller)


# ------------------------------------------------------------------ worlds that were wrong once

PLAIN = World(
    select="gps",
    params=[("carry", 0.0), ("preempt", 0.0), ("standby", 0.0)],
    cap="match-target",
    order="fcfs",
    nodes=1,
    idle=32.0,
    lowest_cap=1.0,
    kinds=[],
    jobs=[],
    tick=1.0,
    signal_from=0.0,
    signal_step=10.0,
    signal=[-1.0],
    bids=[],
    limits=[],
    outages=[],
    kill=False,
    requeue=True,
    keep_progress=True,
    ties="instant",
    stop_cost=0.0,
    until=1.0,
)
PAUSES = [("carry", 0.0), ("preempt", 1.0), ("standby", 0.0)]
FIRM, PAIR = (1, 50.0, 256.0, 256.0, 1.0, 2.0, 0.5, False), (4, 57.9, 292.0, 152.2, 1.1, 4.0, 0.437, False)
FILLER = (1, 33.6, 220.0, 165.8, 2.55, 0.5, 0.0, True)
TWO = [(1, 8.0, 256.0, 192.0, 2.0, None, 0.125, False), (1, 50.0, 512.0, 512.0, 3.0, 0.25, 0.125, False)]

ONCE_WRONG = {
    "a kind that was spared from caps since nobody of it ran was capped when it came": replace(
        PLAIN,
        select="qoscap",
        params=[("near", 0.0), ("meets", 0.375), ("hold", 0.0)],
        idle=0.0,
        lowest_cap=64.0,
        kinds=[(1, 2.0, 256.0, 192.0, 1.0, 1.0, 0.5, False), (1, 20.0, 256.0, 256.0, 1.0, 4.0, 0.5, False)],
        jobs=[(28.25, 1, 20.0, 1, None, 256.0, 256.0, 1.0), (30.75, 0, 2.0, 1, None, 256.0, 192.0, 1.0)],
        signal_from=13.0,
        signal_step=1.0,
        signal=[-0.5],
        bids=[(13.0, 80.0, 172.0)],
        until=49.0,
    ),
    "slackline set time aside for caps that no cap of the nodes or the job could cause": replace(
        PLAIN,
        select="slackline",
        params=[("force", 0.375), ("hold", 0.625), ("slow", 1.5), ("stop", 0.0), ("fill", 0.75)],
        kinds=[(1, 20.0, 256.0, 256.0, 3.0, 2.0, 0.25, False)],
        jobs=[(0.0, 0, 20.0, 1, None, 256.0, 256.0, 3.0)],
        bids=[(0.0, 91.0, 31.0)],
    ),
    "slackline counted on the lowest cap of a job where nobody sets caps": replace(
        PLAIN,
        select="slackline",
        params=[("force", 0.625), ("hold", 1.0), ("slow", 1.25), ("stop", 0.0), ("fill", 0.375)],
        cap="none",
        idle=100.0,
        kinds=[(1, 8.0, 512.0, 384.0, 1.5, 1.0, 0.5, False)],
        jobs=[(0.0, 0, 8.0, 1, None, 512.0, 384.0, 1.5)],
        signal=[0.25],
        bids=[(0.0, 510.0, 0.0)],
    ),
    "gps remembered the debt of a kind through a time without jobs": replace(
        PLAIN,
        params=[("carry", 1.0), ("preempt", 0.0), ("standby", 0.0)],
        nodes=2,
        idle=64.0,
        lowest_cap=128.0,
        kinds=TWO,
        jobs=[
            (0.0, 0, 8.0, 1, None, 256.0, 192.0, 2.0),
            (39.0, 0, 8.0, 1, None, 256.0, 192.0, 2.0),
            (39.0, 1, 50.0, 1, None, 512.0, 512.0, 3.0),
        ],
        tick=2.5,
        signal_step=5.0,
        bids=[(12.0, 347.0, 0.0)],
        signal=[0.5, 0.5, 0.5],
        until=55.75,
    ),
    "gps took paused jobs for resumed that the power limit kept paused": replace(
        PLAIN,
        params=PAUSES,
        nodes=4,
        idle=0.0,
        kinds=[FIRM],
        jobs=[(0.0, 0, 50.0, 1, None, 256.0, 256.0, 1.0)] * 2,
        signal_step=4.0,
        signal=[1.0, -1.0, 1.0],
        bids=[(0.0, 512.0, 512.0)],
        limits=[(-1.0, 1024.0), (5.0, 256.0)],
        until=12.0,
    ),
    "who of equals paused depended on who had started or left before": replace(
        PLAIN,
        params=PAUSES,
        order="lcfs",
        nodes=8,
        idle=59.9,
        kinds=[PAIR],
        jobs=[(6.0, 0, 57.9, 4, None, 292.0, 152.2, 1.1)] * 2,
        tick=0.5,
        signal_step=5.0,
        signal=[1.0],
        bids=[(0.0, None, 0.0), (22.0, 547.0, 0.0)],
        until=22.0,
    ),
    "standby jobs with a limit paused by a promise that nobody gave them": replace(
        PLAIN,
        params=PAUSES,
        nodes=28,
        idle=81.6,
        lowest_cap=64.0,
        kinds=[FILLER],
        jobs=[(0.0, 0, 33.6, 1, None, 220.0, 165.8, 2.55), (38.0, 0, 33.6, 1, None, 220.0, 165.8, 2.55)],
        signal_from=-4.0,
        signal=[0.76, -0.9, 0.97, -0.33, 0.9],
        bids=[(38.0, 2200.0, 184.0), (55.0, 4304.0, 334.0), (81.0, 1876.0, 85.0)],
        until=81.0,
    ),
    "jobs paused that draw less than an idle node at their lowest cap": replace(
        PLAIN,
        params=[("carry", 0.0), ("preempt", 2.0), ("standby", 0.0)],
        idle=81.9,
        kinds=[(1, 12.0, 349.0, 12.3, 2.08, 1.0, 0.441, False)],
        jobs=[(23.0, 0, 12.0, 1, None, 349.0, 12.3, 2.08)],
        tick=0.5,
        signal_from=-23.0,
        bids=[(-23.0, 1687.0, 0.0), (29.0, 845.0, 1316.0)],
        until=29.0,
    ),
}
"""What was wrong, and a small world that shows it."""


@pytest.mark.parametrize("what", ONCE_WRONG)
def test_what_was_wrong_once_is_right(what: str) -> None:
    """Worlds in which the engine differed from its documented rules run as these say, and none of them is unclear."""
    before = market.SEEN["unclear"]
    assert check(ONCE_WRONG[what]) is None
    assert market.SEEN["unclear"] == before
