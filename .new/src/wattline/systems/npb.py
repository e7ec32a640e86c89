"""Measured applications and workloads of the demand-response studies, as published (columns of the tables reconciled).

Power is per node. ``cg.C.4`` was measured one watt higher under its lowest cap than without: it cannot be capped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from wattline.errors import InputError, did_you_mean
from wattline.model.kinds import Kind


class Application(NamedTuple):
    """An application on some nodes: run time and power per node uncapped, the same at the lowest cap, and its QoS
    limit.
    """

    nodes: int
    work_s: float
    draw_w: float
    longest_s: float
    floor_w: float
    limit: float

    def kind(self, name: str) -> Kind:
        """Return it as a kind of job."""
        floor_w = min(self.floor_w, self.draw_w)
        stretch = self.longest_s / self.work_s if floor_w < self.draw_w else 1.0
        return Kind(name, self.nodes, self.work_s, self.draw_w, floor_w, stretch, self.limit)


APPLICATIONS: dict[str, Application] = {
    "bt.C.16": Application(1, 73.0, 339.0, 86.0, 249.0, 2.5),
    "bt.C.25": Application(1, 53.0, 402.0, 70.0, 276.0, 4.7),
    "mg.D.16": Application(1, 84.0, 380.0, 105.0, 266.0, 2.8),
    "sp.C.16": Application(1, 54.0, 375.0, 62.0, 267.0, 7.1),
    "ep.D.88": Application(4, 40.0, 360.0, 53.0, 237.0, 6.3),
    "is.D.32": Application(3, 42.0, 249.0, 42.0, 241.0, 5.6),
    "bt.C.36": Application(2, 38.0, 343.0, 46.0, 249.0, 3.1),
    "bt.D.49": Application(2, 551.0, 391.0, 729.0, 250.0, 5.6),
    "ep.D.64": Application(3, 54.0, 353.0, 70.0, 237.0, 3.9),
    "sp.D.100": Application(4, 343.0, 399.0, 381.0, 264.0, 3.3),
    "lu.D.224": Application(8, 89.0, 400.0, 119.0, 250.0, 7.6),
    "ep.D.28": Application(1, 124.0, 383.0, 175.0, 238.0, 5.9),
    "cg.C.4": Application(1, 28.0, 238.0, 28.0, 239.0, 4.0),
    "bt.D.25": Application(1, 1022.0, 402.0, 1370.0, 254.0, 3.2),
    "lu.D.28": Application(1, 763.0, 429.0, 954.0, 270.0, 5.0),
    "mg.D.8": Application(1, 141.0, 297.0, 151.0, 258.0, 2.9),
    "sp.D.16": Application(1, 1165.0, 355.0, 1302.0, 270.0, 5.5),
    "is.D.4": Application(1, 122.0, 204.0, 123.0, 194.0, 7.3),
    "cg.D.16": Application(1, 743.0, 326.0, 823.0, 253.0, 7.3),
    "ep.D.56": Application(2, 64.0, 383.0, 90.0, 238.0, 2.0),
    "ft.D.64": Application(3, 284.0, 321.0, 313.0, 247.0, 3.1),
    "ft.D.128": Application(6, 165.0, 321.0, 179.0, 242.0, 7.7),
    "sp.D.196": Application(8, 329.0, 370.0, 352.0, 253.0, 3.7),
    "lu.C.28": Application(1, 29.0, 413.0, 43.0, 255.0, 6.9),
    "cg.D.128": Application(6, 231.0, 336.0, 242.0, 246.0, 4.0),
    "cg.D.32": Application(3, 364.0, 281.0, 390.0, 246.0, 5.5),
    "ep.D.100": Application(4, 36.0, 366.0, 49.0, 238.0, 4.5),
    "is.D.64": Application(4, 27.0, 287.0, 28.0, 228.0, 3.1),
    "lu.D.112": Application(4, 164.0, 405.0, 222.0, 251.0, 4.1),
    "mg.D.32": Application(2, 49.0, 378.0, 58.0, 266.0, 5.0),
    "sp.C.64": Application(3, 31.0, 371.0, 32.0, 258.0, 2.2),
}
"""NAS parallel benchmarks on servers that idle at 169 W."""


class Workload(NamedTuple):
    """A published workload: what it stands for, the share of busy nodes it asks for, its applications."""

    about: str
    utilization: float
    applications: tuple[str, ...]


WORKLOADS: dict[str, Workload] = {
    "W1": Workload(
        "Mix", 0.5, ("is.D.32", "bt.D.49", "mg.D.8", "is.D.4", "ep.D.100", "is.D.64", "lu.D.112", "mg.D.32")
    ),
    "W2": Workload(
        "Single", 0.5, ("bt.C.16", "bt.C.25", "sp.C.16", "bt.D.25", "mg.D.8", "sp.D.16", "cg.D.16", "lu.C.28")
    ),
    "W3": Workload(
        "LargeSize", 0.5, ("ep.D.88", "sp.D.100", "lu.D.224", "ft.D.128", "sp.D.196", "cg.D.128", "ep.D.100", "is.D.64")
    ),
    "W4": Workload(
        "ShortTime", 0.5, ("mg.D.16", "sp.C.16", "is.D.32", "ep.D.64", "cg.C.4", "lu.C.28", "is.D.64", "mg.D.32")
    ),
    "W5": Workload(
        "LongTime", 0.5, ("bt.D.49", "sp.D.100", "ep.D.28", "bt.D.25", "mg.D.8", "is.D.4", "cg.D.128", "cg.D.32")
    ),
    "W6": Workload("LessType", 0.5, ("bt.C.36", "lu.D.28")),
    "W7": Workload(
        "MoreType",
        0.5,
        (
            "bt.C.16",
            "bt.C.25",
            "mg.D.16",
            "sp.C.16",
            "is.D.32",
            "bt.C.36",
            "bt.D.49",
            "ep.D.64",
            "sp.D.100",
            "bt.D.25",
            "mg.D.8",
            "sp.D.16",
            "cg.D.16",
            "ft.D.64",
            "ft.D.128",
            "mg.D.32",
        ),
    ),
    "W8": Workload(
        "LowPower", 0.5, ("bt.C.16", "is.D.32", "bt.C.36", "cg.C.4", "mg.D.8", "cg.D.16", "cg.D.128", "cg.D.32")
    ),
    "W9": Workload(
        "HighPower", 0.5, ("mg.D.16", "sp.C.16", "bt.D.49", "ep.D.64", "sp.D.100", "ep.D.28", "bt.D.25", "mg.D.32")
    ),
    "W10": Workload(
        "TightQoS", 0.5, ("bt.C.16", "mg.D.16", "bt.C.36", "bt.D.25", "mg.D.8", "ft.D.64", "ep.D.100", "lu.D.112")
    ),
    "W11": Workload(
        "SlackQoS", 0.5, ("sp.C.16", "is.D.32", "bt.D.49", "lu.D.224", "sp.D.16", "cg.D.16", "cg.D.32", "mg.D.32")
    ),
    "W12": Workload(
        "Util-25%", 0.25, ("is.D.32", "bt.D.49", "mg.D.8", "is.D.4", "ep.D.100", "is.D.64", "lu.D.112", "mg.D.32")
    ),
    "W13": Workload(
        "Util-90%", 0.9, ("is.D.32", "bt.C.36", "bt.D.49", "mg.D.8", "is.D.4", "ep.D.100", "lu.D.112", "mg.D.32")
    ),
    "W14": Workload("ExtraTight", 0.5, ("ep.D.56", "sp.C.64", "bt.C.16")),
}

NODES, IDLE_W, HIGHEST_W = 36, 169.0, 429.0
"""The cluster of the study: servers, their idle power, and the most that any application draws on one."""


def kinds_of(
    workload: str, *, nodes: int = NODES, scale: int = 1, utilization: float | None = None
) -> tuple[Kind, ...]:
    """Return the kinds of job of a workload, each with an equal part of the utilization and an equal weight.

    λ_j = η N / (m_j T_j J): utilization counts busy nodes (the published equation lacks m_j). ``scale`` multiplies the
    nodes of every job.
    """
    if workload not in WORKLOADS:
        raise InputError(f"unknown workload {workload!r}{did_you_mean(workload, WORKLOADS)}")
    names = WORKLOADS[workload].applications
    busy = nodes * (WORKLOADS[workload].utilization if utilization is None else utilization)
    kinds = []
    for name in names:
        kind = APPLICATIONS[name].kind(name)
        width = kind.nodes * scale
        rate = busy / (width * kind.work_s * len(names))
        kinds.append(replace(kind, nodes=width, weight=1.0 / len(names), arrival_per_s=rate))
    return tuple(kinds)


def standby(application: str = "bt.C.16") -> Kind:
    """Return an application as a standby kind of one node, to which nothing was promised."""
    kind = APPLICATIONS[application].kind(f"standby {application}")
    return replace(kind, nodes=1, limit=float("inf"), standby=True)
