"""One number for one joule: jobs, node classes, totals, timeline, journal, summary and bill agree, in random worlds of
every family.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from differential import energy
from differential.energy import FAMILIES, World

WORLDS = 8
"""Of each family; WATTLINE_EXAMPLES times as many others are drawn where that is set."""


def worlds(family: str) -> list[World]:
    """Return the worlds of a family, the same ones every time, or as many new ones as are asked for."""
    more = os.environ.get("WATTLINE_EXAMPLES")
    first, count = (WORLDS, WORLDS * int(more)) if more else (0, WORLDS)
    keys = [(FAMILIES.index(family), k) for k in range(first, first + count)]
    return [energy.draw(np.random.default_rng(key), family=family) for key in keys]


@pytest.mark.parametrize("family", FAMILIES)
def test_energy_agrees_on_every_path(family: str) -> None:
    """Whatever sleeps, wakes, is capped, stopped, paused, killed, cut off or carried on, a joule is counted once and
    everywhere.
    """
    for world in worlds(family):
        found = energy.check(world)
        assert found is None, f"{found}\n{world!r}"


@pytest.mark.parametrize("until", [20.0, 30.0, 45.0, 95.0])
def test_a_market_run_may_end_before_or_in_an_hour(until: float) -> None:
    """A run that ends before its first job, or in the middle of a billed hour, has a bill, a summary and promises that
    agree.
    """
    rows = tuple((t, 1.0, 1, 1.0, 120.0, 0, ()) for t in (30.0, 44.0, 80.0, 85.0))
    world = World("target", rows, select="gps", cap="match-target", tick=1.0, until=until, unit=97.0)
    assert energy.check(world) is None


def test_jobs_that_never_started_used_no_energy() -> None:
    """A run that ends before its first job starts has groups of jobs with 0 J, which is known, and not with none."""
    assert energy.check(World("rigid", ((10.0, 2.0, 1, 7.0, 200.0, 0, ()),), begin=0.0, until=0.0)) is None


def test_a_world_is_written_as_it_is_read() -> None:
    """What a failure prints is the world that failed, and every smaller one is another."""
    for family in FAMILIES:
        world = energy.draw(np.random.default_rng(5), family=family)
        again = eval(repr(world), {"World": World})  # noqa: S307
        assert repr(again) == repr(world)
        assert all(repr(smaller) != repr(world) for smaller in energy.shrink(world))


def test_the_accountant_finds_a_joule_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a path counts otherwise, the check says which: here jobs that wake are charged their class's greatest
    power.
    """
    monkeypatch.setattr("wattline.wiring.tables.waking_energy_j", lambda s: np.zeros(s.nodes.size))
    asleep = World(
        "rigid", ((0.0, 1.0, 1, 5.0, 120.0, 0, ()), (20.0, 9.0, 2, 20.0, 400.0, 0, ())), sleeps=True, until=23.0
    )
    found = energy.check(asleep)
    assert found is not None
    assert found.startswith("energy of job 1: 0.0, the books say 2400.0")
    monkeypatch.undo()
    assert energy.check(asleep) is None
    assert energy.check(replace(asleep, until=40.0)) is None
