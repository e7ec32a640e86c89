"""The numbers of the overprovisioning study: what measured tables say under bounds, and what the cost model says of
lines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wattline.market.break_even import BreakEven, break_even
from wattline.market.overprovisioning import Application, Law, Line, Plan, Question, fit_line, solve
from wattline.market.overprovisioning import Measured as MeasuredLaw
from wattline.model.configuration_points import NONE, best_by_nodes, under_bound
from wattline.model.configurations import Configurations
from wattline.report.count.configurations import bounded_facts, row_of
from wattline.systems.overprovisioning.data import (
    BOUNDS_W,
    KINDS,
    NODE_MAX_W,
    TABLE_4_7,
    TABLE_4_8,
    load_measured,
)

UNLIMITED = math.inf
FIT_BOUNDS_W = (2500.0, 3500.0, 4500.0, 5500.0, 6500.0)
FREE_CAP_W = 100.0
"""The highest cap without turbo of single-node runs: it does not bite."""
NOMINAL_GHZ = 2.6
BASE_W = 90.0
"""What a node draws beside processors and memory, by the published 380 W of one whose parts draw 290 W."""


@dataclass(frozen=True)
class Improvement:
    """The best configuration under a bound against packed-max, from a measured table."""

    application: str
    bound_w: float
    best_s: float
    packed_s: float

    @property
    def less(self) -> float:
        """Share of time saved."""
        return 1.0 - self.best_s / self.packed_s


@dataclass(frozen=True)
class Fit:
    """A line through the best times by node count under a bound."""

    bound_w: float
    least_nodes: int
    line: Line
    error: float


@dataclass
class Study:
    """All that was found; without measured data only the model."""

    spaces: dict[str, Configurations] = field(default_factory=dict)
    """Name of the study → more than one node."""
    single: dict[str, Configurations] = field(default_factory=dict)
    """Name of the study → one node (another problem size)."""
    reduced: str = ""
    improvements: list[Improvement] = field(default_factory=list)
    fits: list[Fit] = field(default_factory=list)
    turbo_ghz: dict[int, float] = field(default_factory=dict)
    plans: dict[str, dict[str, Plan]] = field(default_factory=dict)
    """Application → reading of "faster" → plan."""
    even: dict[str, dict[str, BreakEven]] = field(default_factory=dict)
    by_table: Plan | None = None
    """The published example with BT-MZ's measured table in the place of its line."""

    @property
    def measured(self) -> bool:
        """Whether measured data are at hand."""
        return bool(self.spaces)


def run_study() -> Study:
    """Compute everything; it takes seconds."""
    study = Study()
    for reading in ("time", "speed"):
        question = reading_of(reading)
        for name, line in TABLE_4_8.items():
            apps = [Application(name, line)]
            study.plans.setdefault(name, {})[reading] = solve(question, apps)
            study.even.setdefault(name, {})[reading] = break_even(question, apps)
    data = load_measured()
    if data is None:
        return study
    study.reduced = data.reduced
    for source, name in KINDS.items():
        table = data.tables[source]
        study.spaces[name] = table.take(np.flatnonzero(table.nodes > 1))
        if (table.nodes == 1).any():
            study.single[name] = table.take(np.flatnonzero(table.nodes == 1))
    study.improvements = [
        found
        for bound_w in (*BOUNDS_W, UNLIMITED)
        for name, t in study.spaces.items()
        if (found := _improve(name, t, bound_w))
    ]
    bt = study.spaces["BT-MZ"]
    study.fits = [_fit(bt, bound_w, least) for least in (8, 16) for bound_w in FIT_BOUNDS_W]
    study.turbo_ghz = _turbo(study.single["SC"])
    law: Law = MeasuredLaw(bt, BASE_W)
    study.by_table = solve(TABLE_4_7, [Application("BT-MZ", law)])
    return study


def reading_of(reading: str) -> Question:
    """Return the published example under a reading of "27 % faster"."""
    q = TABLE_4_7
    return Question(
        q.power_w, q.node_max_w, q.node_min_w, q.faster, q.cost_ratio, None, "time" if reading == "time" else "speed"
    )


def _improve(name: str, table: Configurations, bound_w: float) -> Improvement | None:
    found = under_bound(table, bound_w, NODE_MAX_W)
    packed = found.canonical["packed-max"]
    if NONE in (found.best, packed):
        return None
    return Improvement(name, bound_w, float(table.time_s[found.best]), float(table.time_s[packed]))


def _fit(table: Configurations, bound_w: float, least_nodes: int) -> Fit:
    line, error = fit_line(table, bound_w, least_nodes)
    return Fit(bound_w, least_nodes, line, error)


def _turbo(table: Configurations) -> dict[int, float]:
    """Return the frequency under turbo by cores: nominal, times how much faster a loop runs than at a cap that does not
    bite.
    """
    found = {}
    for cores in np.unique(table.cores):
        free, turbo = (row_of(table, 1, cores, cap_w) for cap_w in (FREE_CAP_W, table.turbo_w))
        if NONE not in (free, turbo):
            found[int(cores)] = NOMINAL_GHZ * float(table.time_s[free] / table.time_s[turbo])
    return found


def line_error(study: Study, bound_w: float, least_nodes: int) -> float:
    """Return how far the published line of BT-MZ is from its measured best times by node count."""
    bt, line = study.spaces["BT-MZ"], TABLE_4_8["BT-MZ"]
    rows = best_by_nodes(bt, bound_w)
    rows = rows[bt.nodes[rows] >= least_nodes]
    said = np.array([line.time_s(int(n), 0.0) for n in bt.nodes[rows]])
    return float(np.mean(np.abs(said / bt.time_s[rows] - 1.0)))


def numbers(study: Study) -> dict[str, Any]:
    """Return everything for ``--json``."""
    model = {
        name: {
            reading: {
                "n_wc": p.worst_case_nodes,
                "n_lim": p.node_limit,
                "c_wc": p.cost_units,
                "n_ovp": p.nodes,
                "t_ovp_s": p.outcomes[0].overprovisioned_s,
                "t_wc_s": p.outcomes[0].worst_case_s,
                "s_ovp": p.speedup,
                "break_even_cost_ratio": study.even[name][reading].cost_ratio,
                "break_even_faster": study.even[name][reading].faster,
            }
            for reading, p in by.items()
        }
        for name, by in study.plans.items()
    }
    found: dict[str, Any] = {"cost_model": model}
    if study.measured:
        found["times"] = study.reduced
        found["under_bounds"] = {
            name: {f"{bound_w:.0f} W": bounded_facts(t, bound_w, NODE_MAX_W) for bound_w in (*BOUNDS_W, 4500.0)}
            for name, t in study.spaces.items()
        }
        found["less_time_than_packed_max"] = [
            {"application": i.application, "bound_w": i.bound_w if math.isfinite(i.bound_w) else None, "less": i.less}
            for i in study.improvements
        ]
        found["lines"] = [
            {
                "bound_w": f.bound_w,
                "least_nodes": f.least_nodes,
                "slope_s": f.line.slope_s,
                "intercept_s": f.line.intercept_s,
                "error": f.error,
            }
            for f in study.fits
        ]
        found["turbo_ghz"] = study.turbo_ghz
        found["bt_mz_by_table"] = None if study.by_table is None else study.by_table.speedup
    return found
