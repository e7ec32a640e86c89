"""Configurations of the applications of the RMAP study: measured ones where they are at hand, and a stated stand-in.

The thesis measured eight applications on 64 nodes and published none of the tables. The data that are public hold
twelve codes on up to 32 nodes: there the study runs on 32 nodes with halved bounds. The stand-in has the thesis's grid
(8 to 64 nodes, 8 to 16 cores, 51 to 115 W) and follows a formula: Amdahl's law in nodes and cores, memory bandwidth
shared by cores, frequency by the cube root of the power above idle, turbo 15 % faster, communication that grows with
nodes. It is a model, and labelled so.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from wattline.model.configurations import Configurations, Moldable
from wattline.systems.at_hand import data_file

MEASURED, STAND_IN = "32 nodes, measured", "64 nodes, stand-in"
FILE = "powercap/rzmerl_powercap_configs.csv.gz"
LEFT_OUT = ("nas-sp.mpi", "sphot-mpi")
"""Codes measured on one or two numbers of nodes: there is nothing to choose."""

MODEL, OUR_MODEL = "log-quadratic", "mixed"
TURBO_W, CAPS_W = 115.0, (51.0, 65.0, 80.0, 95.0, 115.0)
BOUNDS_W = (6500.0, 8000.0, 10_000.0, 12_000.0, 14_000.0, 14_720.0)


@dataclass(frozen=True)
class Machine:
    """A machine of the study: its nodes, its bounds and what its jobs may look like."""

    nodes: int
    bounds_w: tuple[float, ...]
    tables: tuple[Configurations, ...]


@dataclass(frozen=True)
class Shape:
    """A stand-in application: seconds of work on one core, parts that do not scale, share of memory, cost of
    communication.
    """

    name: str
    core_s: float
    serial: float
    memory: float
    chatter: float
    draw: float
    """Part of a socket's greatest power that it draws uncapped with all cores."""


SHAPES = (
    Shape("SPhot-like", 60_000.0, 0.0005, 0.05, 0.0, 0.72), Shape("BT-MZ-like", 40_000.0, 0.002, 0.35, 0.02, 0.74),
    Shape("SP-MZ-like", 55_000.0, 0.001, 0.55, 0.03, 0.81), Shape("LU-MZ-like", 50_000.0, 0.0008, 0.30, 0.02, 0.76),
    Shape("SC-like", 30_000.0, 0.0001, 0.0, 0.0, 0.70), Shape("NSC-like", 25_000.0, 0.01, 0.0, 0.15, 0.57),
    Shape("SM-like", 45_000.0, 0.0002, 0.9, 0.0, 0.78), Shape("NSM-like", 35_000.0, 0.01, 0.9, 0.15, 0.70),
)  # fmt: skip


def stand_in(shape: Shape) -> Configurations:
    """Return the table of a stand-in application."""
    grid = np.array([(n, c, p) for n in range(8, 65, 4) for c in range(8, 17, 2) for p in CAPS_W])
    nodes, cores, cap_w = grid.T
    wants_w = TURBO_W * shape.draw * (0.25 + 0.75 * cores / 16.0)
    power_w = np.minimum(cap_w, wants_w)
    idle_w = 20.0
    frequency = np.minimum(1.0, ((power_w - idle_w) / (wants_w - idle_w)) ** (1.0 / 3.0))
    frequency = np.where(cap_w == TURBO_W, 1.15, frequency)
    compute = (1.0 - shape.memory) / (cores * frequency) + shape.memory / np.minimum(cores, 8.0)
    time_s = shape.core_s * (
        shape.serial / frequency + compute / nodes * (1.0 + shape.chatter * np.log2(nodes / 8.0 + 1.0))
    )
    total_w = nodes * 2.0 * np.where(cap_w == TURBO_W, np.minimum(TURBO_W, wants_w), power_w)
    return Configurations(
        shape.name, nodes.astype(np.int64), cores.astype(np.int64), cap_w, time_s, total_w, turbo_w=TURBO_W
    )


@functools.lru_cache(maxsize=1)
def machines() -> dict[str, Machine]:
    """Return the machines of the study."""
    found = {STAND_IN: Machine(64, BOUNDS_W, tuple(stand_in(shape) for shape in SHAPES))}
    path = data_file(FILE)
    if path is not None:
        from wattline.formats.tables.configurations import read_configurations

        measured = read_configurations(path).tables.values()
        tables = tuple(t.take(np.flatnonzero(t.nodes > 1)) for t in measured if t.application not in LEFT_OUT)
        found[MEASURED] = Machine(32, tuple(w / 2 for w in BOUNDS_W), tables)
    return found


@functools.lru_cache(maxsize=8)
def moldable(name: str, source: str) -> tuple[Moldable, ...]:
    """Return the applications of a machine as policies are told of them: the truth, or what a model fitted to a tenth
    predicts.

    ``exact``, ``model`` (the thesis's: means), ``upper`` (ours: mean times, and the highest power that a prediction
    interval from so few measurements can tell of) or ``predicted`` (what the thesis's model predicts is what happens).
    """
    tables = machines()[name].tables
    if source == "exact":
        return tuple(Moldable(table) for table in tables)
    from wattline.learn.configs import fit
    from wattline.learn.configs.errors import draw, sample_size

    found = []
    for i, table in enumerate(tables):
        rows = draw(table, sample_size(len(table), 0.1), np.random.default_rng([7, i]))
        fitted = fit(table, rows, OUR_MODEL if source == "upper" else MODEL)
        time_s, power_w = fitted.predict(table.nodes, table.cores, table.cap_w)
        if source == "upper":
            power_w = fitted.interval(table.nodes, table.cores, table.cap_w, 2.0 / (rows.size + 1)).most_w
        told = Configurations(table.application, table.nodes, table.cores, table.cap_w, time_s, power_w, table.turbo_w)
        found.append(Moldable(told) if source == "predicted" else Moldable(table, told))
    return tuple(found)
