"""The worlds of the contest: signals, pauses, responses to caps, and QoSG's twelve servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from wattline.bidding.hours.setting import Setting
from wattline.bidding.searches.choice import PAPER, STRICT
from wattline.model.kinds import Kind
from wattline.model.regulation import Record
from wattline.physics.responses.table import Table
from wattline.systems.aqa import study as aqa
from wattline.systems.at_hand import data_file
from wattline.systems.followers import SLACKLINE, Follower
from wattline.systems.npb import kinds_of
from wattline.systems.qosg import jobs as qosg

GAUSSIAN, PAUSES, CAPS, DAYS, TWELVE = "gaussian", "pauses", "measured caps", "recorded days", "twelve servers"
"""The Gaussian signal; the same where both may pause jobs; where jobs answer to caps as measured; recorded days; QoSG's
jobs on its twelve servers.
"""

STOP = 0.9
"""Part of its slack up to which Slackline pauses a job, in the world with pauses."""

SWEEPS = "powercap/rzmerl_powercap_configs.csv.gz"
SWEPT = {
    "bt": "bt-mz.C",
    "cg": "nas-cg.mpi",
    "ep": "nas-ep.mpi",
    "ft": "nas-ft.mpi",
    "lu": "nas-lu.mpi",
    "mg": "nas-mg.mpi",
    "sp": "nas-sp.mpi",
}
"""Applications of the study whose like was measured under caps; ``is`` was not."""
SWEPT_NODES, SWEPT_CORES = 16, 16


@dataclass(frozen=True)
class Case:
    """One comparison: in a world, of a workload (or QoSG's jobs)."""

    world: str
    of: str

    def __str__(self) -> str:
        return f"{self.of}, {self.world}"

    @property
    def reaches(self) -> tuple[str, ...]:
        """The reaches with which it is made."""
        return {GAUSSIAN: (PAPER, STRICT), TWELVE: (STRICT,)}.get(self.world, (PAPER,))


def variants(policy: Follower, case: Case) -> list[Follower]:
    """Return a policy as it may act in a case: AQA by both readings of a share that is no whole number of jobs;
    Slackline, where limits are hardly above what caps cost (QoSG's), also with all of that set aside.
    """
    paused = case.world == PAUSES
    if policy is SLACKLINE and case.world == TWELVE:
        return [policy, replace(policy, params={"select": {"slow": 1.0}})]
    if policy is SLACKLINE:
        return [replace(policy, params={"select": {"stop": STOP}}) if paused else policy]
    preempt = {"preempt": 1.0} if paused else {}
    return [replace(policy, params={"select": {"rounding": float(r), **preempt}}) for r in (0, 1)]


def setting_of(case: Case, policy: Follower) -> Setting:
    """Return what a bid of a case is made for."""
    if case.world == TWELVE:
        return qosg.setting_of(policy, nodes=12)
    more: dict[str, Any] = {"kinds": measured(kinds_of(case.of))} if case.world == CAPS else {}
    return aqa.setting_of(case.of, policy, **more)


def measured(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Return kinds that answer to caps as their like did in measured sweeps.

    Powers without a cap and at the lowest one stay as published; in between, and at the lowest cap, run time grows as
    it did in the sweep at the same part of the way. Kinds that cannot be capped, and those not measured, stay.
    """
    curves = sweeps()
    return tuple(_on_curve(kind, curves.get(SWEPT.get(kind.name[:2], ""))) for kind in kinds)


def _on_curve(kind: Kind, curve: Table | None) -> Kind:
    if curve is None or kind.floor_w >= kind.draw_w:
        return kind
    low_w, high_w = curve.measured[0][0], curve.measured[-1][0]
    part = (kind.draw_w - kind.floor_w) / (high_w - low_w)
    return Table(tuple((kind.floor_w + part * (w - low_w), time_s) for w, time_s in curve.measured)).on(kind)


@cache
def sweeps() -> dict[str, Table]:
    """Return the measured sweeps by application, at one number of nodes and cores (none if they are not there)."""
    path = data_file(SWEEPS)
    return {} if path is None else read_sweeps(path)


def read_sweeps(path: Path) -> dict[str, Table]:
    """Read them."""
    from wattline.formats.tables.configurations import read_configurations
    from wattline.physics.cap_response import rows_without_turbo

    found = {}
    for name, table in read_configurations(path).tables.items():
        if name in SWEPT.values():
            rows = rows_without_turbo(table, SWEPT_NODES, SWEPT_CORES)
            found[name] = Table.swept(table.power_w[rows] / SWEPT_NODES, table.time_s[rows])
    return found


@cache
def days() -> tuple[Record, ...]:
    """Return the recorded days under WATTLINE_DATA (none if they are not there)."""
    folder = data_file("regulation")
    files = sorted(folder.glob("pjm_regd_2020-07-*.csv.gz")) if folder is not None else []
    if not files:
        return ()
    from wattline.formats.series.records import read_records

    return read_records(files).records
