"""Kinds of job: what a job of a kind is, and the service that was promised to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.cap_points import PointError, Points, check_points
from wattline.model.jobs import JobTable


@dataclass(frozen=True)
class Kind:
    """One kind of job (an application on a number of nodes).

    QoS degradation of a job is Q = (end - submit - work) / work, where ``work_s`` is its run time uncapped. The
    promise: at most ``share`` of the jobs reach Q ≥ ``limit``, or (``average``) the mean of Q does not exceed it.
    Without a cap a node draws ``draw_w``; at ``floor_w`` the run time is ``stretch`` times as long, and it grows
    linearly in between, unless ``response`` has points of it (``model.cap_points``). ``weight`` counts where nodes
    are shared by weights. A ``standby`` kind was promised nothing: its jobs run only to fill a power target.
    """

    name: str
    nodes: int
    work_s: float
    draw_w: float
    floor_w: float
    stretch: float = 1.0
    limit: float = float("inf")
    share: float = 0.10
    weight: float = 0.0
    standby: bool = False
    arrival_per_s: float = 0.0
    average: bool = False
    response: Points = ()

    def __post_init__(self) -> None:
        what = f"kind {self.name!r}"
        if self.nodes < 1:
            raise InputError(f"{what}: a job needs at least one node, got {self.nodes}")
        if not (np.isfinite(self.work_s) and self.work_s > 0):
            raise InputError(f"{what}: the run time must be positive, got {self.work_s:g} s")
        if not (np.isfinite(self.draw_w) and np.isfinite(self.floor_w) and self.draw_w >= self.floor_w >= 0):
            raise InputError(f"{what}: need 0 <= lowest power <= power, got {self.floor_w:g} W and {self.draw_w:g} W")
        if not self.stretch >= 1.0:
            raise InputError(f"{what}: a cap cannot make a job faster, got a run time factor of {self.stretch:g}")
        if not np.isfinite(self.stretch * self.work_s):
            raise InputError(f"{what}: at its lowest power it would never end, a run time factor of {self.stretch:g}")
        if not self.limit > 0:
            raise InputError(f"{what}: the limit of its QoS degradation must be above 0, got {self.limit:g}")
        if not 0 < self.share <= 1:
            raise InputError(f"{what}: the share of jobs beyond the limit must be in (0, 1], got {self.share:g}")
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise InputError(f"{what}: the weight must be a number from 0 on, got {self.weight:g}")
        if not (np.isfinite(self.arrival_per_s) and self.arrival_per_s >= 0):
            raise InputError(f"{what}: the arrival rate must be a number from 0 on, got {self.arrival_per_s:g} per s")
        if self.response:
            self._check_response(what)

    def _check_response(self, what: str) -> None:
        try:
            check_points(self.response)
        except PointError as problem:
            raise InputError(f"{what}: response, point {problem.point}: {problem}") from None
        if (self.response[0], self.response[-1]) != ((self.floor_w, self.stretch), (self.draw_w, 1.0)):
            (low_w, longest), (high_w, _) = self.response[0], self.response[-1]
            raise InputError(
                f"{what}: its response goes from {low_w:g} W (run time × {longest:g}) to {high_w:g} W, and the kind "
                f"from {self.floor_w:g} W (× {self.stretch:g}) to {self.draw_w:g} W"
            )


def kind_entry(kind: Kind) -> dict[str, Any]:
    """Return what a journal keeps of a kind; the points of a response only where there are any."""
    entry = asdict(kind)
    if not kind.response:
        del entry["response"]
    return entry


def column(kinds: Sequence[Kind], name: str) -> Floats:
    """Return one property of all kinds as an array."""
    return np.array([float(getattr(kind, name)) for kind in kinds])


def degradation(jobs: JobTable, end_s: Floats) -> Floats:
    """Return the QoS degradation of every job, NaN for jobs without an end."""
    q: Floats = (end_s - jobs.submit_s - jobs.work_s) / jobs.work_s
    return q
