"""What a site wants of its Slurm: which jobs are left alone, which may be stopped, what they draw."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from wattline.live.machine.slurm.text import JobRow

MOST_W = 1e6
"""Of a node; what says more is no power."""


@dataclass(frozen=True)
class Rules:
    """See docs/live/slurm.md for every key."""

    partitions: frozenset[str] = frozenset()
    """Only jobs of these are led; empty: of all."""
    leave_partitions: frozenset[str] = frozenset()
    leave_accounts: frozenset[str] = frozenset()
    leave_users: frozenset[str] = frozenset()
    stop: Literal["single", "all", "never"] = "single"
    power_w: Mapping[str, float] = field(default_factory=dict)
    """Watts of a node by account, for jobs that say nothing themselves."""
    most_per_s: float = 100.0
    """Commands that change something at Slurm in a second, at most; a start is two, a stop three."""
    stop_again_s: float = 10.0
    """A job that went on is not stopped again before this."""
    limit_again_s: float = 60.0
    """A job that Slurm would not start because of a limit is tried again after this."""

    def why_left(self, row: JobRow) -> str:
        """Return why a job is left alone; empty if it is led."""
        partition = row.partitions[0]
        if words(row.comment).get("wattline") == "off":
            return "opted out (comment wattline=off)"
        if row.het:
            return "heterogeneous jobs are not placed by Wattline"
        if not row.batch:
            return "interactive (salloc, srun)"
        if self.partitions and partition not in self.partitions:
            return f"partition {partition} is not led"
        for value, left, what in (
            (partition, self.leave_partitions, "partition"),
            (row.account, self.leave_accounts, "account"),
            (row.user, self.leave_users, "user"),
        ):
            if value in left:
                return f"{what} {value} is left alone"
        if row.reservation:
            return f"in reservation {row.reservation}"
        if row.features:
            return f"asks for features ({row.features})"
        if row.contiguous:
            return "asks for nodes side by side (--contiguous)"
        return ""

    def may_stop(self, row: JobRow) -> bool:
        """Tell whether a job may be stopped: one of several tasks or nodes only where the site or the job says so."""
        told = words(row.comment).get("stop")
        if self.stop == "never" or told == "no" or not row.batch:
            return False
        return self.stop == "all" or told == "yes" or (row.tasks <= 1 and row.nodes <= 1)

    def draw_w(self, row: JobRow) -> float:
        """Return watts of a node: the job's comment (power_w=350), else its account's, else NaN."""
        try:
            told_w = float(words(row.comment).get("power_w", "nan"))
        except ValueError:
            told_w = math.nan
        if 0.0 < told_w <= MOST_W:
            return told_w
        return self.power_w.get(row.account, math.nan)


def words(comment: str) -> dict[str, str]:
    """Return what a comment says as key=value, with blanks, commas or semicolons between.

    >>> words("power_w=350, kind=solver")
    {'power_w': '350', 'kind': 'solver'}
    """
    pairs = (part.partition("=") for part in re.split(r"[\s,;]+", comment))
    return {key: value for key, equals, value in pairs if equals}
