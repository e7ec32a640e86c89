"""The service-rate system as a recipe of mechanisms: servers with two speeds, disciplines, switching rules,
measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.control.catalog import find
from wattline.formats.jobs.krc.read import CORES
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass
from wattline.model.jobs import JobTable
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

LOW = Level(2.0, 0.034, 0.014)
HIGH = Level(2.66, 0.041, 0.018)
"""r, e(r) and e_0(r) per server. The text prints the two e(r) the other way round."""

K_LOW, K_HIGH = 1e5, 3e5
THRESHOLDS: Floats = np.arange(31, dtype=np.float64) * 1e5


@dataclass(frozen=True)
class Discipline:
    """Order and select with their parameters; ``name`` as in the paper."""

    name: str
    order: str
    select: str
    order_params: Mapping[str, float]
    select_params: Mapping[str, float]


def _by_amount(name: str, order: str, **select: float) -> Discipline:
    return Discipline(name, order, "reselect", {"truth": 1.0}, {"at_arrivals": 0.0, **select})


DISCIPLINES: dict[str, Discipline] = {
    "FCFS": Discipline("FCFS", "fcfs", "in-order", {}, {}),
    "LCFS": Discipline("LCFS, preemptive-resume", "lcfs", "reselect", {}, {}),
    "LPF": _by_amount("LPF, preemptive-resume", "longest", drift=1.0),
    "SPF": _by_amount("SPF, preemptive-resume", "shortest", drift=-1.0),
    "LPF waiting": _by_amount("LPF among the waiting", "longest", preempt=0.0),
    "SPF waiting": _by_amount("SPF among the waiting", "shortest", preempt=0.0),
    "BF": Discipline("Backfill by end (the paper's)", "fcfs", "backfill-by-end", {}, {}),
    "EASY": Discipline("EASY (with extra nodes)", "fcfs", "easy", {}, {}),
    "conservative": Discipline("Conservative backfilling", "fcfs", "conservative", {}, {}),
}
"""Queueing disciplines of §III-B, and two more."""


@dataclass(frozen=True)
class Switching:
    """A rule that sets the rate; ``levels`` are the speeds it may choose from."""

    name: str
    cap: str
    params: Mapping[str, float]
    levels: tuple[Level, ...] = (LOW, HIGH)


def workload(k_low: float, k_high: float, *, as_printed: bool = False) -> Switching:
    """Workload-hysteretic switching (§III-C); ``as_printed`` puts the switch where the text's formula puts it."""
    params = {"k_low": k_low, "k_high": k_high, "as_printed": float(as_printed)}
    return Switching(f"work {k_low:,.0f}/{k_high:,.0f}", "workload-hysteresis", params)


SWITCHINGS: dict[str, Switching] = {
    "r_L": Switching("constant r_L", "none", {}, (LOW,)),
    "r_H": Switching("constant r_H", "none", {}, (HIGH,)),
    "coins": Switching("randomized ½/½", "randomized", {"p_low": 0.5, "p_high": 0.5}),
    "count": Switching("count 5/15", "count-hysteresis", {"k_low": 5.0, "k_high": 15.0}),
    "work": workload(K_LOW, K_HIGH),
}
"""Control policies of §II, §III-A and §III-C, and no control."""


def servers(levels: tuple[Level, ...] = (LOW, HIGH)) -> Cluster:
    """Return the cluster of the experiments: 80 servers that switch together."""
    top = levels[-1]
    return Cluster((NodeClass("server", CORES, top.idle_w, top.busy_w, levels=levels),), name="KRC")


def run(
    jobs: JobTable, discipline: str = "FCFS", switching: Switching | None = None, *, seed: int = 1, log: bool = False
) -> Result:
    """Simulate customers; ``log`` keeps placements and decisions as well. One pass an event, as in the recursion."""
    rule, line = switching or workload(K_LOW, K_HIGH), DISCIPLINES[discipline]
    chosen = Policies(
        find("order", line.order),
        find("select", line.select),
        find("place", "lowest"),
        find("cap", rule.cap),
        find("learn", "exact"),
        params={"order": line.order_params, "select": line.select_params, "cap": rule.params},
    )
    options = Options(ties="event", backlog=True, placements=log, decisions=log)
    return simulate(jobs, servers(rule.levels), chosen, options, seed=seed)


@dataclass(frozen=True)
class Epochs:
    """What holds from each key epoch to the next (the last has no length)."""

    time_s: Floats
    seconds: Floats
    rate: Floats
    busy: Floats
    served: Floats
    queued: Floats
    power: Floats
    workload: Floats

    def mean(self, values: Floats) -> float:
        """Eq. 12: the average over time of a per-epoch measure."""
        return float(values @ self.seconds) / float(self.seconds.sum())

    @property
    def mean_workload(self) -> float:
        """W averaged exactly: between epochs it falls at R times the customers in service."""
        return self.mean(self.workload - 0.5 * self.rate * self.served * self.seconds)

    def energy_with(self, low: Level, high: Level) -> float:
        """Eqs. 11 and 12 with other energies: the epochs do not depend on them."""
        fast = self.rate == high.rate
        busy, idle = np.where(fast, high.busy_w, low.busy_w), np.where(fast, high.idle_w, low.idle_w)
        return self.mean(self.busy * busy + (CORES - self.busy) * idle)


def epochs(result: Result) -> Epochs:
    """Return the epochs of a run."""
    rows = result.logs["timeline"]
    columns = {
        "time_s": codes.TL_TIME,
        "rate": codes.TL_RATE,
        "busy": codes.TL_BUSY,
        "served": codes.TL_RUNNING,
        "queued": codes.TL_QUEUED,
        "power": codes.TL_POWER,
        "workload": codes.TL_BACKLOG,
    }
    time_s = rows[:, codes.TL_TIME]
    return Epochs(seconds=np.diff(time_s, append=time_s[-1]), **{name: rows[:, c] for name, c in columns.items()})


def measures(result: Result) -> dict[str, Any]:
    """Return the means of a run, per customer and per system."""
    s, e = result.state, epochs(result)
    sojourn, service = s.end_s - s.submit_s, s.end_s - s.started_s
    positive = service > 0
    return {
        "energy": e.mean(e.power),
        "workload": e.mean_workload,
        "workload_eq12": e.mean(e.workload),
        "delay_s": float(np.mean(s.started_s - s.submit_s)),
        "sojourn_s": float(np.mean(sojourn)),
        "service_s": float(np.mean(service)),
        "customers": e.mean(e.served + e.queued),
        "queued": e.mean(e.queued),
        "slowdown": float(np.mean(sojourn[positive] / service[positive])),
        "budget": float(np.mean(s.energy_j)),
        "share_high": e.mean((e.rate == HIGH.rate).astype(np.float64)),
        "potential_load": e.mean(e.rate * np.where(e.queued > 0, CORES, e.busy)),
        "effective_load": e.mean(e.rate * e.busy),
        "wasting": e.mean(e.rate * (CORES - e.busy) * (e.queued > 0)),
        "preemptions": int(s.preemptions.sum()),
        "switches": int(np.sum(result.logs["ev_kind"] == codes.EV_LEVEL)),
    }
