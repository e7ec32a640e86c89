"""Jobs of the QoSG study: measured applications, three levels of QoS limits, mixes, and the grid's signals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from wattline.bidding.hours.laws import GaussianLaw, SignalLaw, recorded
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.model.kinds import Kind
from wattline.model.regulation import Signal
from wattline.systems.followers import Follower

IDLE_W = 90.0
SHARE = 0.10
NODES, UTILIZATION = 100, 0.5
STEP_S = 4.0
"""The signal of the study has a value every 4 s."""


class Application(NamedTuple):
    """Run time and power of an application on one node, without a cap and at its lowest cap (thesis table 2.2)."""

    work_s: float
    draw_w: float
    longest_s: float
    floor_w: float

    def kind(self, name: str) -> Kind:
        """Return it as a kind of job."""
        return Kind(name, 1, self.work_s, self.draw_w, self.floor_w, self.longest_s / self.work_s, share=SHARE)


APPLICATIONS = {
    "fs": Application(97.6, 142.0, 100.8, 137.0),
    "sc": Application(52.6, 221.0, 53.8, 218.0),
    "bt": Application(108.5, 279.0, 143.0, 241.0),
    "lu": Application(62.8, 262.0, 85.3, 231.0),
    "mg": Application(132.6, 309.0, 161.2, 261.0),
    "sp": Application(99.9, 290.0, 108.4, 260.0),
    "ft": Application(24.9, 281.0, 35.2, 229.0),
}
NAMES = ("fs", "sc", "bt", "lu", "mg", "sp")
STANDBY = "ft"

LEVELS: dict[str, dict[str, float]] = {
    "tight": {"fs": 0.6, "sc": 0.4, "bt": 0.8, "lu": 0.4, "mg": 0.6, "sp": 0.6},
    "medium": {"fs": 0.8, "sc": 0.5, "bt": 1.0, "lu": 0.5, "mg": 0.8, "sp": 0.8},
    "loose": {"fs": 1.6, "sc": 1.0, "bt": 2.0, "lu": 1.0, "mg": 1.6, "sp": 1.6},
}
"""QoS limits. Table 2.3 of the thesis cannot be read; these are ours.

Medium: about what the published bid and weights just keep in our simulator (its 90 % quantiles are 0.6, 0.2, 0.9, 0.35,
0.65, 0.65), rounded up; sc and lu then have the two smallest (1 + Q)·T, as the text says. Tight is about three quarters
of it (lu cannot go lower: caps alone stretch it by 0.36), loose is twice.
"""

MIXES = {
    "mix-long": (1.0, 1.0, 3.0, 1.0, 3.0, 3.0),
    "mix-even": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    "mix-short": (3.0, 3.0, 1.0, 3.0, 1.0, 1.0),
}
"""λ·T of the applications in proportion (the thesis calls them W1, W2, W3; these names are others' already)."""


def kinds_of(
    nodes: int = NODES,
    *,
    utilization: float = UTILIZATION,
    level: str = "medium",
    mix: str = "mix-even",
    only: str | None = None,
    standby: bool = True,
    factor: float = 1.0,
) -> tuple[Kind, ...]:
    """Return the kinds of job of a case: λ_j = η N r_j / (T_j Σ r), thesis eq. 2.87, and standby jobs behind them.

    QoS limits are those of the level times a factor.
    """
    names: Sequence[str] = NAMES if only is None else (only,)
    parts = MIXES[mix] if only is None else (1.0,)
    kinds = []
    for name, part in zip(names, parts, strict=True):
        kind = APPLICATIONS[name].kind(name)
        load = utilization * nodes * part / sum(parts)
        kinds.append(
            replace(kind, limit=factor * LEVELS[level][name], weight=1.0 / len(names), arrival_per_s=load / kind.work_s)
        )
    if standby:
        kinds.append(replace(APPLICATIONS[STANDBY].kind(f"standby {STANDBY}"), standby=True))
    return tuple(kinds)


def setting_of(policy: Follower, *, paper: bool = False, signal: SignalLaw | None = None, **case: Any) -> Setting:
    """Return the setting of a case; the highest power is that of its hungriest kind (eq. 2.22)."""
    kinds = kinds_of(**case)
    highest_w = max(kind.draw_w for kind in kinds)
    law = signal or GaussianLaw(step_s=STEP_S)
    named = {"name": policy.name, "params": policy.params, "signal": law, "protocol": Protocol(paper=paper)}
    return Setting.alike(kinds, case.get("nodes", NODES), IDLE_W, highest_w, policy.select, **named)


FILES = ("pjm_regd_2020-07-16_2s.csv.gz", "pjm_regd_2020-07-22_2s.csv.gz")


def recorded_signals() -> dict[str, SignalLaw]:
    """Return the recorded days under WATTLINE_DATA, each with every second value (4 s); none if they are not there."""
    from wattline.formats.series.signals import read_signal

    folder = os.environ.get("WATTLINE_DATA")
    found: dict[str, SignalLaw] = {}
    for name in FILES if folder else ():
        path = Path(folder or "") / "regulation" / name
        if path.is_file():
            day = read_signal(path).signal
            every = max(1, round(STEP_S / day.step_s))
            found[f"RegD {name[9:19]}"] = recorded(Signal(0.0, day.step_s * every, day.values[::every].copy()))
    return found
