"""Policies that follow a power target, by the names that the texts give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Follower:
    """A published policy: what it is called in tables, its select policy, and parameters by slot."""

    name: str
    select: str
    params: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


AQA = Follower("AQA", "gps")
QOSG = Follower("QoSG", "gps")
TRACKING_ONLY = Follower("Tracking-only", "tracking-only")
ENERGYQARE = Follower("EnergyQARE", "energyqare", {"select": {"largest": 1.0, "bounded": 1.0}})
"""As AQA §4.3 has it: its block for users acts as soon as *any* kind suffers more than the error weighs, and, once the
error weighs as much, no longer.
"""
SLACKLINE = Follower("Slackline", "slackline")
