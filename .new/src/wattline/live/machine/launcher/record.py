"""What the launcher knows of a job: the content of its file, and how the job is shown to clients."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from typing import Any

from wattline.live.machine.base import Phase

HOLDING = ("starting", "running", "paused", "completing")
"""Phases in which a job has nodes."""
LABELS = ("user", "account", "partition", "kind")
"""What a job may say of itself in words."""


@dataclass
class Job:
    """A job. Times are machine time; what is not known is NaN, 0 or nothing."""

    id: str
    count: int
    """Nodes that it asks for."""
    argv: list[str]
    cwd: str
    submit_s: float
    env: dict[str, str] = field(default_factory=dict)
    output: str = ""
    """File for its output and errors, where its user wants another than ours."""
    request_s: float = math.inf
    begin_s: float = -math.inf
    after: list[str] = field(default_factory=list)
    """Jobs that must have ended before it may start."""
    user: str = ""
    account: str = ""
    partition: str = ""
    kind: str = ""
    priority: float = 0.0
    draw_w: float = math.nan
    stoppable: bool = True
    """False: its user does not want it to be stopped."""
    token: str = ""
    """The submitter's own name for this submission: when it is sent again it is the same job."""

    phase: Phase = "waiting"
    nodes: list[str] = field(default_factory=list)
    """Names of the nodes that it holds."""
    form: dict[str, float] = field(default_factory=dict)
    """The configuration that was chosen for this start (``Form``): cores, cap_w, limit_s; empty: as it asked for."""
    run: int = 0
    """How many times it was started."""
    pgid: int = 0
    start_ticks: int = 0
    keeper: int = 0
    keeper_ticks: int = 0
    boot: str = ""
    eligible_s: float = math.nan
    """Since when it waits, or waited before it was started."""
    start_s: float = math.nan
    used_s: float = 0.0
    """Seconds that it ran before ``since_s``: those in which it was stopped do not count."""
    since_s: float = math.nan
    end_s: float = math.nan
    exit: int | None = None
    reason: str = ""
    again: bool = False
    """While it completes: whether it is to wait again."""
    acknowledged: bool = False

    def to_json(self) -> bytes:
        """Return the content of its file."""
        content = {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in vars(self).items()}
        return json.dumps(content).encode() + b"\n"

    @classmethod
    def from_json(cls, content: bytes) -> Job:
        """Return the job of a file; ``ValueError`` or ``TypeError`` when it is not one of ours."""
        told = json.loads(content)
        if not isinstance(told, dict) or not {"id", "count", "argv", "cwd", "submit_s"} <= told.keys():
            raise ValueError("is not the record of a job")
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in told.items() if k in known and not (v is None and k != "exit")})

    @property
    def limit_s(self) -> float:
        """Its walltime: that of the configuration it is in, or what it asked for."""
        return self.form.get("limit_s", self.request_s)

    def run_name(self) -> str:
        """Return what names this start of the job: an earlier one is another."""
        return f"{self.id}.{self.run}"

    def ran_s(self, now_s: float) -> float:
        """Return for how many seconds it has run, without those in which it was stopped."""
        return self.used_s + (0.0 if math.isnan(self.since_s) else max(0.0, now_s - self.since_s))

    def pause_clock(self, now_s: float) -> None:
        """Let its walltime stand still."""
        self.used_s, self.since_s = self.ran_s(now_s), math.nan

    def row(self, *, stoppable: bool) -> dict[str, Any]:
        """Return what clients are told: the fields of ``JobSeen`` that are not as usual."""
        row: dict[str, Any] = {"id": self.id, "phase": self.phase, "nodes": self.count, "submit_s": self.submit_s}
        times = {"request_s": self.request_s, "start_s": self.start_s, "end_s": self.end_s, "draw_w": self.draw_w}
        if self.phase == "waiting":
            times["eligible_s"] = self.eligible_s
        row |= {name: value for name, value in times.items() if math.isfinite(value)}
        row |= {name: getattr(self, name) for name in LABELS if getattr(self, name)}
        if self.phase in HOLDING:
            row["on"] = self.nodes
        if not (self.stoppable and stoppable):
            row["stoppable"] = False
        if self.priority:
            row["priority"] = self.priority
        if self.exit is not None:
            row["exit"] = self.exit
        if self.reason:
            row["reason"] = self.reason
        return row
