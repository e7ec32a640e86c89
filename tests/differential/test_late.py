"""Worlds in which starts and caps are late, at random against the plain twins; twins that are late otherwise."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from differential import market, moldable
from differential.market import check, draw_late
from engine.worlds import accounted_energy_j, check_structure, timeline_energy_j
from reference import target
from wattline.model import codes

SEEDS, WORLDS = range(8), 40


@pytest.mark.parametrize("seed", SEEDS)
def test_late_worlds_run_as_the_plain_twins_say(seed: int) -> None:
    """Jobs that are there late and caps that are in force late change starts, ends, energy and power as the rules
    say.
    """
    rng = np.random.default_rng([seed, 18])
    before = market.SEEN.copy()
    for _ in range(WORLDS):
        world = draw_late(rng, "small")
        assert check(world) is None, world
    assert market.SEEN["unclear"] - before["unclear"] < WORLDS / 2


def test_deep_late_worlds_run_as_the_plain_twins_say() -> None:
    """So it is with many jobs, kinds and nodes."""
    rng = np.random.default_rng(98)
    for _ in range(12):
        world = draw_late(rng, "deep")
        assert check(world) is None, world


def test_late_worlds_are_nasty() -> None:
    """Delays are drawn shorter and longer than a control period, fixed and at random, of starts, caps or both."""
    rng = np.random.default_rng(1)
    worlds = [draw_late(rng, "small") for _ in range(200)]
    assert sum(w.late_start[1] > w.tick for w in worlds) > 20
    assert sum(w.late_cap[1] > w.tick and w.cap == "match-target" for w in worlds) > 20
    assert sum(w.late_cap[0] == w.late_cap[1] > 0 for w in worlds) > 20
    assert sum(w.late_start[1] == 0 for w in worlds) > 20
    assert sum(bool(w.limits) and w.late_cap[1] > 0 for w in worlds) > 10
    assert sum(bool(w.outages) and w.late_start[1] > 0 for w in worlds) > 10


@pytest.mark.parametrize("seed", range(4))
def test_late_moldable_worlds_are_sound(seed: int) -> None:
    """Jobs that choose a configuration and are late, lose nodes meanwhile or are raised later, leave nodes, queue and
    energy in order after every instant, whichever policy chooses.
    """
    rng = np.random.default_rng([seed, 19])
    seen = set()
    for _ in range(40):
        world = moldable.draw(rng, "small")
        most = float(rng.integers(1, 30)) / 4
        sim = moldable.simulation(world, late_start_s=(float(rng.choice([0.0, most])), most))
        code = codes.BUDGET
        with sim:
            while code in (codes.BUDGET, codes.LOG_FULL):
                code = sim.advance(1)
                if code == codes.LOG_FULL:
                    sim.empty_logs()
                check_structure(sim.state)
        result = sim.result()
        assert code in (codes.DONE, codes.STUCK), world
        seen |= {world.select} if code == codes.DONE else set()
        if code == codes.DONE:
            s = sim.state
            assert s.n_starting[0] == s.n_active[0] == 0
            np.testing.assert_allclose(accounted_energy_j(result), timeline_energy_j(result), rtol=1e-9, atol=1e-6)
    assert len(seen) > 3


def _in_the_order_they_were_sent(self: Any, profile: Any, ratio: float, *, surely: bool) -> None:
    line = list(self.coming.get(profile, []))
    RIGHT["send"](self, profile, ratio, surely=surely)
    if line and self.coming[profile][-1] != line[-1]:
        self.coming[profile] = [*line, (max(line[-1][0], self.coming[profile][-1][0]), self.coming[profile][-1][1])]


def _at_once(self: Any, job: Any) -> float:
    return self.in_force.get(self.profile(job), 1.0)


def _lost_on_their_way(self: Any) -> bool:
    self.coming = {profile: [cap for cap in line if cap[0] > self.now] for profile, line in self.coming.items()}
    return False


def _without_those_that_come(self: Any) -> float:
    return self.power()


RIGHT: dict[str, Any] = {"send": target.Machine.send}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("send", _in_the_order_they_were_sent),
        ("found", _at_once),
        ("committed", _without_those_that_come),
        ("rise", lambda self, job: 0.0 if job.status == "starting" else job.nodes * (job.draw - self.setup.idle)),
        ("land", _lost_on_their_way),
    ],
)
def test_a_twin_that_is_late_otherwise_is_caught(monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any) -> None:
    """A twin whose caps keep their order, that forgets what was told to start, or whose caps never come differs from
    the engine within some hundred worlds.
    """
    monkeypatch.setattr(target.Machine, name, wrong)
    rng = np.random.default_rng(3)
    worlds = itertools.islice(iter(lambda: draw_late(rng, "small"), None), 1200)
    telling = (w for w in worlds if name != "send" or w.late_cap[1] - w.late_cap[0] > w.tick)  # others overtake nobody
    assert any(check(w) is not None for w in telling)


ONCE_WRONG = {
    "qoscap did not see that a job which was starting lost its nodes and waited again": market.World(
        select="qoscap",
        params=[("near", 0.5), ("meets", 1.11), ("hold", 1.0)],
        cap="match-target",
        order="fcfs",
        nodes=3,
        idle=15.3,
        lowest_cap=64.0,
        kinds=[(1, 3.3, 334.0, 123.2, 1.5, 0.5, 0.659, False)],
        jobs=[(15.0, 0, 3.3, 1, 4.125, 334.0, 123.2, 1.5), (17.0, 0, 4.125, 1, None, 334.0, 123.2, 1.5)],
        tick=2.0,
        signal_from=-25.0,
        signal_step=10.0,
        signal=[-1.0],
        bids=[(-25.0, 1.0, 0.0)],
        limits=[],
        outages=[(23.5, 40.5, 1, 1, True), (24.5, 36.0, 1, 2, False)],
        kill=False,
        requeue=True,
        keep_progress=True,
        ties="event",
        stop_cost=0.0,
        until=37.0,
        late_start=(1.625, 1.625),
        late_cap=(0.8125, 1.625),
    ),
}


@pytest.mark.parametrize("what", ONCE_WRONG)
def test_what_was_wrong_once_is_right(what: str) -> None:
    """Late worlds in which the engine differed from its documented rules run as these say."""
    before = market.SEEN["unclear"]
    assert check(ONCE_WRONG[what]) is None
    assert market.SEEN["unclear"] == before
