"""Runs whose jobs respond to caps along points, and their digests; run as a script it prints those of its process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.regulated import FILLER, FIRM, SMALL, WIDE, machine, options, signal, table_of
from engine.worlds import digest, policies
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid
from wattline.sim.simulate import Simulation

KINDS = tuple(replace(kind, arrival_per_s=0.05) for kind in (SMALL, WIDE, FIRM, FILLER))


def straight(kind: Kind) -> Kind:
    """Return the kind as it is: by the linear rule."""
    return kind


def two_points(kind: Kind) -> Kind:
    """Return a kind with the two ends of the linear rule as points."""
    return _with(kind)


def on_line(kind: Kind) -> Kind:
    """Return a kind with a point on the line between its ends."""
    return _with(kind, (0.3, 0.7))


def bent(kind: Kind) -> Kind:
    """Return a kind whose run time grows late as power falls, and steeply at the end."""
    return _with(kind, (0.25, 0.4), (0.6, 0.1))


def _with(kind: Kind, *knees: tuple[float, float]) -> Kind:
    """Return a kind with points between its ends, each a share of its power and of its slowdown."""
    if not kind.floor_w < kind.draw_w:
        return kind
    range_w, more = kind.draw_w - kind.floor_w, kind.stretch - 1.0
    between = tuple((kind.floor_w + a * range_w, 1.0 + b * more) for a, b in knees)
    return replace(kind, response=((kind.floor_w, kind.stretch), *between, (kind.draw_w, 1.0)))


def simulation(select: str, bend: Callable[[Kind], Kind], cap: str = "match-target") -> Simulation:
    """Return a run that follows a target, or stays under a limit that jumps."""
    kinds = tuple(bend(kind) for kind in KINDS)
    random = np.random.default_rng(5)
    rows = sorted((float(random.uniform(0, 300)), kinds[random.integers(0, 4)].name) for _ in range(60))
    how = options(kinds, signal(*random.uniform(-1, 1, 100)), (0.0, Bid(1500.0, 300.0)), until_s=500.0)
    if cap == "under-limit":
        how = replace(how, limit_w=[(50.0 * k, float(random.uniform(1200, 2400))) for k in range(10)])
    return Simulation(table_of(kinds, *rows), machine(), policies({}, select=select, cap=cap), how)


def fingerprints() -> list[str]:
    """Return the digests of some runs."""
    return [
        digest(simulation(*which).run())
        for which in (("slackline", bent), ("gps", bent), ("easy", bent, "under-limit"))
    ]


if __name__ == "__main__":
    print(*fingerprints())  # noqa: T201
