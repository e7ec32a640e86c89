"""Random worlds by number: the engine schedules as plain twins do; and the tester itself is able to fail."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from differential import FAMILIES, classic, toy
from differential.__main__ import main
from differential.drawing import DEEP_EVERY, SEED_STRIDE, Family, family, size_of, verdict, world
from differential.shrinking import as_test, fewer, simpler, smallest
from differential.soaking import soak
from policies.naive_places import NAIVE
from reference import selects
from reference.at_random import AT_RANDOM
from reference.scheduler import Scheduler
from reference.select_backfill import by_end
from wattline.kernel.compiled import JIT
from wattline.model.structures import fitindex

SUITE = SEED_STRIDE
"""Number of the suite's first world: those of seed 1."""
BLOCKS = 8
SMALL, DEEP = {"classic": 2000}, {"classic": 48}
"""Worlds of the suite by family (300 and 8 where a family is not named); few where nothing is compiled."""


def numbers(name: str, size: str, block: int) -> list[int]:
    """Return the numbers of a block of the suite's worlds."""
    count = SMALL.get(name, 300) if size == "small" else DEEP.get(name, 8)
    count = count // BLOCKS if JIT else int(size == "small") * 3
    of_size = (n for n in itertools.count(SUITE) if size_of(n) == size)
    return list(itertools.islice(of_size, block * count, (block + 1) * count))


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("size", ["small", "deep"])
@pytest.mark.parametrize("name", FAMILIES)
def test_engine_and_twin_agree(name: str, size: str, block: int) -> None:
    """On random worlds, small ones and such with deep queues, the engine does exactly what the plain twin does."""
    source = family(name)
    for number in numbers(name, size, block):
        told = verdict(source, world(source, number))
        assert told is None, f"{told}\nscripts/soak --family {name} --world {number}"


def test_the_suite_draws_every_policy() -> None:
    """Two thousand small worlds have every select, order, place, learner and rule, and every pair of select and
    order.
    """
    drawn = [world(classic, SUITE + i) for i in range(2000)]
    pairs = {(w.select, w.order) for w in drawn}
    assert pairs == {
        (s, o) for s in selects.SELECTS for o in ("fcfs", "lcfs", "shortest", "longest", "priority", "wfp")
    }
    assert {w.place for w in drawn} == {*NAIVE, *AT_RANDOM, "frugal"}
    assert {w.learn for w in drawn} == {"request", "exact", "recent"}
    for name in ("limit", "outages", "kill", "exceed", "truth", "keep_progress", "sleep", "tick"):
        assert len({bool(getattr(w, name)) for w in drawn}) == 2
    assert any(len(w.classes) > 1 and w.limit and w.outages for w in drawn)
    assert any(w.sleep and w.limit for w in drawn)
    assert any(w.sleep and w.kill and w.outages and w.keep_progress for w in drawn)


def test_deep_worlds_fill_the_queue_empty_it_and_fill_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues of deep worlds pass the index's threshold, fall below a quarter of it, and pass it again."""
    depth: list[int] = []
    do_pass = Scheduler.do_pass
    monkeypatch.setattr(Scheduler, "do_pass", lambda m, h: (depth.append(len(m.queue)), do_pass(m, h)))
    for number in itertools.islice((n for n in itertools.count(SUITE) if size_of(n) == "deep"), 40):
        depth.clear()
        classic.scheduled(world(classic, number))
        met = [d >= fitindex.DEEP for d in depth if d >= fitindex.DEEP or d < fitindex.DEEP // 4]
        turns = [deep for deep, _ in itertools.groupby(met)]
        if turns.count(True) > 1:
            return
    raise AssertionError("no queue rises twice")


def test_a_world_is_known_by_its_number() -> None:
    """A number gives the same world every time, and its repr evaluates back to it."""
    for name in FAMILIES:
        source = family(name)
        for number in (SUITE, SUITE + DEEP_EVERY - 1):
            drawn = world(source, number)
            assert drawn == world(source, number) != world(source, number + 1)
            assert eval(repr(drawn), vars(source)) == drawn  # noqa: S307


def find(source: Family, select: str, most: int) -> tuple[int, Any]:
    """Return the first world of a select policy that fails."""
    for number in range(SUITE, SUITE + most):
        drawn = world(source, number)
        if drawn.select == select and size_of(number) == "small" and verdict(source, drawn) is not None:
            return number, drawn
    raise AssertionError("nothing found")


@pytest.mark.skipif(not JIT, reason="hundreds of runs")
def test_a_wrong_rule_is_found_shrunk_and_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin of EASY that forgets the extra nodes differs soon, on four jobs at most, and the printed test fails with
    it.
    """
    right = selects.SELECTS["easy"]
    monkeypatch.setitem(selects.SELECTS, "easy", by_end)
    number, drawn = find(classic, "easy", 2000)
    small = smallest(classic, drawn)
    assert len(small.jobs) <= 4
    assert not small.outages
    assert (small.order, small.place) == ("fcfs", "lowest")
    text = as_test(classic, small, str(verdict(classic, small)), number)
    space: dict[str, Any] = {}
    exec(text, space)  # noqa: S102
    test = space[f"test_classic_world_{number}"]
    with pytest.raises(AssertionError):
        test()
    monkeypatch.setitem(selects.SELECTS, "easy", right)
    test()


def _never_sleeps(self: Scheduler) -> dict[int, float]:
    return {}


def _waking_is_run_time(self: Scheduler, job: Any) -> None:
    job.ran += max(0.0, job.since - job.taken)
    STOP(self, job)


STOP = Scheduler.stop


@pytest.mark.skipif(not JIT, reason="thousands of runs")
@pytest.mark.parametrize(("name", "wrong"), [("sleepy", _never_sleeps), ("stop", _waking_is_run_time)])
def test_a_twin_that_is_wrong_about_sleep_is_caught(monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any) -> None:
    """Nodes that never sleep, or waking that counts against a request, differ within the suite's worlds."""
    monkeypatch.setattr(Scheduler, name, wrong)
    drawn = (world(classic, SUITE + i) for i in range(16000))
    asleep = (w for w in drawn if w.sleep and (name != "stop" or (w.kill and w.outages and w.keep_progress)))
    assert any(verdict(classic, w) is not None for w in asleep)


def test_a_twin_that_does_not_wait_for_ticks_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With passes at ticks alone, a twin that passes at once starts somebody too early."""
    drawn = [w for w in (world(classic, SUITE + i) for i in range(300)) if w.tick > 0.0][:5]
    assert any(classic._difference(w, *classic.simulate(w), classic.scheduled(replace(w, tick=0.0))) for w in drawn)


def test_what_raises_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that raises counts as a difference, told in one line, and is shrunk to one that raises the same."""

    def explode(drawn: toy.World) -> str | None:
        if 7 in drawn.numbers:
            raise ValueError("seven\nis bad")
        return None

    monkeypatch.setattr(toy, "check", explode)
    drawn = toy.World([5, 7, 900])
    assert verdict(toy, drawn) == "raises ValueError: seven is bad"
    assert smallest(toy, drawn) == toy.World([7])


def test_shrinking_ends_in_the_smallest_world() -> None:
    """Of two hundred numbers one is left, as small as it can be; and the time that shrinking takes is bounded."""
    drawn = toy.World([*range(0, 991, 10), 999, *range(50)])
    assert smallest(toy, drawn) == toy.World([991])
    assert smallest(toy, drawn, seconds=0.0) == drawn


def test_what_is_left_out_and_what_is_simpler() -> None:
    """Rows are left out by halves, quarters and single ones, never all; numbers become smaller or whole."""
    assert list(fewer(4)) == [[0, 1], [2, 3], [0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    assert list(fewer(1)) == []
    assert list(simpler(0.0)) == []
    assert list(simpler(2.5)) == [0.0, 1.0, 2.0, 3.0]
    assert Counter(map(type, simpler(9))) == {int: 4}


def test_soaking_counts_ends_in_time_and_tells_what_it_finds(capsys: pytest.CaptureFixture[str]) -> None:
    """A soak ends with 1 and the smallest world as a test where something is wrong."""
    assert soak(["toy"], 0, 30.0, 1) == 1
    out = capsys.readouterr().out
    assert "DIFFERENT  toy" in out
    assert "numbers=[991]" in out
    assert "assert check(world) is None" in out


def test_one_world_again(capsys: pytest.CaptureFixture[str]) -> None:
    """``--world`` runs one world of a family by its number; without a family it is refused."""
    assert main(["--family", "classic", "--world", str(SUITE)]) == 0
    assert "engine and twin agree" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--world", "3"])


@pytest.mark.skipif(not JIT, reason="the suite compiles nothing then")
def test_a_short_soak_from_the_command_line() -> None:
    """``scripts/soak`` runs for the minutes it is given, says how many worlds it ran, in 80 columns, and ends with
    0.
    """
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "differential", "--minutes", "0.05", "--workers", "1"],
        cwd=tests,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "engine and twins agree on all of them" in done.stdout
    assert max(map(len, (done.stdout + done.stderr).splitlines())) <= 80
    assert np.any([line.startswith("classic: ") for line in done.stdout.splitlines()])
