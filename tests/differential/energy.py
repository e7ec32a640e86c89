"""Energy on every path: random worlds in which jobs, classes, totals, timeline, journal, summary and bill must have the
same joules.

The engine is held against a plain accountant that watches the same run (tests/reference/accountant.py). ``check``
returns what differs in one line, or None.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from differential.energy_paths import disagreements
from differential.energy_worlds import FAMILIES, Row, World, simulation, times
from engine.worlds import digest
from reference.accountant import Accountant, Progress
from wattline.journal.unfinished import Flush
from wattline.model import codes
from wattline.sim.keeping import _at, _pieces, cut_result, layout, restore
from wattline.sim.simulate import Simulation

__all__ = ["FAMILIES", "NAME", "World", "check", "draw", "shrink"]

NAME = "energy"
MOST_INSTANTS = 20_000


# ------------------------------------------------------------------ drawing


MOST_JOBS = {"small": 14, "deep": 60}
"""Jobs of the largest worlds, by size."""


def draw(rng: np.random.Generator, size: str = "small", family: str = "") -> World:
    """Return a random world of a size, of a family or of any."""
    family = family or str(rng.choice(FAMILIES))
    world = World(family, _jobs(rng, family, MOST_JOBS[size]), seed=int(rng.integers(0, 10_000)))
    some = {
        "kill": rng.random() < 0.4,
        "requeue": rng.random() < 0.7,
        "keep": rng.random() < 0.4,
        "ties": "event" if rng.random() < 0.2 else "instant",
        "log_rows": 1 if rng.random() < 0.2 else 65536,
        "outages": tuple(_outage(rng) for _ in range(rng.integers(0, 3))),
        "order": str(rng.choice(["fcfs", "lcfs", "shortest", "wfp"])),
        "unit": float(rng.choice([1.0, 97.0])),
    }
    if rng.random() < 0.5:
        some["until"] = _soon(rng, world)
    if rng.random() < 0.15:
        some["begin"] = float(rng.integers(-9, 1))
    if rng.random() < 0.25:
        some["cut"] = _soon(rng, world)
    if rng.random() < 0.5:
        some["limit"] = (
            (0.0, float(rng.integers(14, 26) * 100)),
            (20.0, float(rng.integers(11, 20) * 100)),
            (60.0, 2600.0),
        )
    return replace(world, **some | _of_family(rng, family, limited="limit" in some))


def _of_family(rng: np.random.Generator, family: str, *, limited: bool) -> dict[str, Any]:
    """Return what is told of a family: they exclude each other."""
    pick = lambda *names: str(rng.choice(names))  # noqa: E731
    tick = (None, 2.5, 7.0)[int(rng.integers(0, 3))]
    selects = ("in-order", "first-fit", "easy", "backfill-by-end", "conservative", "window", "reselect")
    if family == "rigid":
        return {
            "select": pick(*selects),
            "sleeps": rng.random() < 0.8,
            "tick": tick,
            "stop_cost": float(rng.integers(0, 3)),
        }
    if family == "capped":
        return {"select": pick(*selects), "cap": "whims", "sleeps": rng.random() < 0.5, "tick": 2.5}
    if family == "series":
        shed = limited and rng.random() < 0.4
        quantum = rng.random() < 0.2
        return {
            "select": pick(*selects),
            "cap": pick("none", "under-limit", "lone-whims"),
            "sleeps": rng.random() < 0.4,
            "profile": pick(
                "known", "known", "maximum", "oracle", "t-test", "quantile", "pooled", "measured", "t-test-per-job"
            ),
            "sample": float(rng.choice([0.0, 3.0, 7.5])),
            "shed": shed,
            "exceed": limited,
            "quantum": quantum,
            "tick": 2.5 if quantum else tick,
            "stop_cost": float(rng.integers(0, 3)),
        }
    if family == "paused":
        return {
            "select": "fickle",
            "sleeps": rng.random() < 0.5,
            "cap": pick("none", "lone-whims"),
            "tick": 2.5,
            "stop_cost": float(rng.integers(0, 3)),
            "limit": (),
            "sample": 5.0,
        }
    if family == "target":
        return {
            "select": pick("gps", "tracking-only", "energyqare", "slackline"),
            "cap": "match-target",
            "tick": 1.0,
            "limit": (),
            "until": float(rng.integers(20, 160)),
            "stop_cost": float(rng.integers(0, 2)),
            "ties": "instant",
            "order": "fcfs",
        }
    if family == "network":
        return {"select": pick("easy", "first-fit", "conservative"), "limit": ()}
    shapes = ("rmap-traditional", "rmap-naive", "rmap-adaptive", "surplus")
    cap = "none" if family == "varied" or rng.random() < 0.3 else "leftover"
    return {
        "select": pick(*shapes),
        "cap": cap,
        "limit": ((0.0, 700.0), (30.0, 1100.0)),
        "kill": False,
        "order": "fcfs",
        "ties": "instant",
    }


def _jobs(rng: np.random.Generator, family: str, most_jobs: int) -> tuple[Row, ...]:
    rows = []
    for t in sorted(rng.integers(0, 60, rng.integers(1, most_jobs + 1)).tolist()):
        work = float(rng.choice([0.0, *rng.integers(0, 25, 3), np.round(rng.uniform(0, 25), 2)]))
        which = int(rng.integers(0, 4 if family in ("target", "network") else 2))
        slack = (None, 0.0, 1.0, 5.0, 30.0, -3.0)[int(rng.integers(0, 6))]
        series: tuple[float, ...] = ()
        if family in ("series", "paused") and rng.random() < 0.8:
            series = tuple(np.round(rng.uniform(90.0, 320.0, int(work / 4.0) + 1), 1).tolist())
        most = {"moldable": 8, "varied": 8, "network": 9}.get(family, 4 - which if which < 2 else 1)
        watts = float(np.mean(series)) if series else float(rng.choice([120.0, 200.0, 300.0, 350.0, 400.0]))
        request = None if slack is None else max(0.0, work + slack)
        rows.append((float(t), work, int(rng.integers(1, most + 1)), request, watts, which, series))
    return tuple(rows)


def _soon(rng: np.random.Generator, world: World) -> float:
    """Return a time at which jobs wake, run or have ended: some time after one was submitted."""
    submit = world.jobs[int(rng.integers(0, len(world.jobs)))][0]
    if rng.random() < 0.03:
        return 0.0
    return float(np.round(submit + rng.uniform(0.1, rng.choice([6.0, 12.0, 40.0])), 1))


def _outage(rng: np.random.Generator) -> tuple[float, float, int, int, bool]:
    begin = float(rng.integers(0, 60))
    return (
        begin,
        begin + float(rng.integers(1, 15)),
        int(rng.integers(0, 6)),
        int(rng.integers(1, 3)),
        rng.random() < 0.4,
    )


# ------------------------------------------------------------------ checking


def check(world: World) -> str | None:
    """Run a world, watched by the accountant; return what differs, or None."""
    watched = simulation(world)
    books, progress = Accountant(), Progress()
    books.look(watched.state)
    with watched:
        code, instants = codes.BUDGET, 0
        while code in (codes.BUDGET, codes.LOG_FULL):
            code = watched.advance(1)
            if code == codes.BUDGET:
                books.look(watched.state)
                progress.look(watched.state)
                instants += 1
                if instants > MOST_INSTANTS:
                    return "the run does not come to an end"
        if code == codes.STUCK:
            return None  # a job that nothing lets start: said elsewhere, and no matter of energy
        watched.explain(code)
    stopped = "until" if code == codes.UNTIL else "done"
    result = watched.result(stopped)
    ledger = books.close(float(result.state.now[0]))
    wrong = [*books.wrong, *progress.wrong]
    if wrong:
        return wrong[0]
    with tempfile.TemporaryDirectory() as folder:
        found = disagreements(result, ledger, Path(folder))
        if found is None and world.cut is not None:
            found = _cut_and_carried_on(world, Path(folder), digest(result))
    return found or _without_logs(world, watched)


def _without_logs(world: World, logged: Simulation) -> str | None:
    """Say whether a run that logs nothing has other energies, bit for bit."""
    quiet = simulation(world, timeline=False, placements=False, decisions=False)
    quiet.run()
    for name in ("energy_j", "node_j", "node_s", "now", "end_s"):
        if not np.array_equal(getattr(quiet.state, name), getattr(logged.state, name), equal_nan=True):
            return f"without logs {name} differs"
    return None


def _cut_and_carried_on(world: World, folder: Path, whole: str) -> str | None:
    """Cut a run off, keep it, look at what was kept, carry it on: the same books at the cut, the same bits at the
    end.
    """
    first = simulation(world)
    cut_s = float(first.state.start_s[0]) + world.cut * world.unit
    books = Accountant()
    books.look(first.state)
    with first:
        code = codes.BUDGET
        while code in (codes.BUDGET, codes.LOG_FULL):
            code = first.advance(1, until_s=min(cut_s, times(world.until, world.unit)), short=True)
            if code == codes.BUDGET:
                books.look(first.state)
        if code != codes.UNTIL or cut_s > times(world.until, world.unit):
            return None
        first.empty_logs()
        arrays = {name: array.copy() for name, array in {**_pieces(first), **_at(first, cut_s)}.items()}
        logs = {name: list(pieces) for name, pieces in first.chunks.items()}
    record = {"cut_s": cut_s, "start_s": float(first.state.start_s[0]), "wall_s": 0.0, "layout_of_state": layout()}
    flush = Flush(record, arrays, logs)
    kept = cut_result(flush, first.jobs, first.cluster, first.policies, first.options, first.seed)
    found = disagreements(kept, books.close(cut_s), folder / "cut")
    if found is not None:
        return f"cut at {cut_s} s: {found}"
    again = simulation(world)
    restore(again, flush)
    return None if digest(again.run()) == whole else f"cut at {cut_s} s and carried on: other bits"


def shrink(world: World) -> Iterator[World]:
    """Yield smaller worlds: fewer jobs, shorter ones, less that is switched on."""
    n = len(world.jobs)
    for size in (n // 2, n // 4, 1):
        for first in range(0, n, max(1, size)) if size else ():
            yield replace(world, jobs=world.jobs[:first] + world.jobs[first + size :])
    for name, value in vars(World(world.family, ())).items():
        if name not in ("family", "jobs", "tick", "select", "cap", "until") and getattr(world, name) != value:
            yield replace(world, **{name: value})
    if world.until is not None and world.family != "target":
        yield replace(world, until=None)
    for i, row in enumerate(world.jobs):
        for smaller in ((0.0, *row[1:]), (row[0], math.floor(row[1] / 2), *row[2:]), (*row[:2], 1, *row[3:])):
            if smaller != row and not row[6]:
                yield replace(world, jobs=(*world.jobs[:i], smaller, *world.jobs[i + 1 :]))
