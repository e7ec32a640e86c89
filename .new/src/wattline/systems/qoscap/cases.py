"""The cases of the study: pairs of policies, published figures, and machines with their days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wattline.bidding.hours.days import GIVEN, NONE, Days, Pair
from wattline.generate.rrze import EmmyLike, MeggieLike, RrzeLike
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.units import DAY_S

WARM_DAYS, AFTER_DAYS = 4, 3
"""Days before the measured one, and after it, in which its jobs finish."""

ENERGYQARE: Mapping[str, Any] = {"select": "energyqare", "params": {"select": {"largest": 2.0}}}
"""It acts on the mean over all jobs here."""

QOSCAP: Mapping[str, Any] = {"select": "qoscap"}
PAIRS = (
    Pair("EnergyQARE + FH", bid="fixed-heuristic", **ENERGYQARE),
    Pair("EnergyQARE + FES", bid=GIVEN, **ENERGYQARE),
    Pair("EnergyQARE + Adaptive", bid="adaptive", **ENERGYQARE),
    Pair("QoSCap + FH", bid="fixed-heuristic", **QOSCAP),
    Pair("QoSCap + FES", bid=GIVEN, **QOSCAP),
    Pair("QoSCap + Adaptive", bid="adaptive", **QOSCAP),
)
OURS = Pair("Slackline + quantile", "slackline", "quantile")
OUT = Pair("no market", "easy", NONE, cap="none")
PUBLISHED_PAIR = "QoSCap + Adaptive"

PUBLISHED: dict[str, dict[str, tuple[float, float, float | None]]] = {
    "meggie, Feb 5": {
        "EnergyQARE + FH": (0.077, 4.0, None),
        "EnergyQARE + FES": (0.181, 1.8, None),
        "EnergyQARE + Adaptive": (0.020, 5.8, None),
        "QoSCap + FH": (0.093, 1.5, 124),
        "QoSCap + FES": (0.203, 1.4, None),
        "QoSCap + Adaptive": (0.010, 1.9, 122),
    },
    "meggie, Jan 16": {
        "EnergyQARE + FH": (0.022, 3.0, None),
        "EnergyQARE + FES": (0.002, 4.8, None),
        "EnergyQARE + Adaptive": (0.019, 2.6, None),
        "QoSCap + FH": (0.180, 2.0, None),
        "QoSCap + FES": (0.041, 1.9, 151),
        "QoSCap + Adaptive": (0.002, 2.0, 166),
    },
    "emmy, Nov 15": {
        "EnergyQARE + FH": (0.739, 2.2, None),
        "EnergyQARE + FES": (0.008, 1.0, 115),
        "EnergyQARE + Adaptive": (0.001, 2.1, None),
        "QoSCap + FH": (0.704, 1.9, None),
        "QoSCap + FES": (0.028, 2.1, None),
        "QoSCap + Adaptive": (0.007, 2.0, 119),
    },
}
"""Machine and day → pair → share of time with a large tracking error, worst average QoS degradation, cost in $."""

LAWS: dict[str, tuple[type[RrzeLike], float]] = {
    "meggie, Feb 5": (MeggieLike, 0.68),
    "meggie, Jan 16": (MeggieLike, 0.85),
    "emmy, Nov 15": (EmmyLike, 0.65),
}
"""Generated stand-ins: the machine, and a load at which an uncapped day costs about what the published one did."""

THETA = "Theta"


def machine(kinds: tuple[Kind, ...], nodes: int, idle_w: float, max_w: float) -> Cluster:
    """Return a cluster whose nodes take any cap that its jobs can follow."""
    lowest_w = min(kind.floor_w for kind in kinds)
    return Cluster((NodeClass("node", nodes, idle_w, max_w, min_cap_w=min(max_w, lowest_w)),))


def stretch(name: str, kinds: tuple[Kind, ...], jobs: JobTable, cluster: Cluster, seed: int) -> Days:
    """Return warm-up, measured day and the days after it, under a Gaussian signal."""
    last_s = (WARM_DAYS + 1 + AFTER_DAYS) * DAY_S
    signal = generate_signal(GaussianSignal(last_s, seed=seed))
    return Days(name, kinds, jobs, cluster, signal, WARM_DAYS * DAY_S, (WARM_DAYS + 1) * DAY_S, last_s)
