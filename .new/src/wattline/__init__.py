"""Wattline: schedule an HPC cluster inside a power envelope, in simulation and on the real machine.

What a notebook, a script or a policy needs is here: ``import wattline as wl``. Nothing is loaded before it is used. The
guide is ``docs/python.md``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wattline.version import __version__

if TYPE_CHECKING:
    from wattline.api.asked.whatif import WhatIf, whatif
    from wattline.api.bids import BidResult, bid
    from wattline.api.checks import check
    from wattline.api.compared import Comparison, compare
    from wattline.api.machine import Machine
    from wattline.api.runs import Run, read_run
    from wattline.api.simulating import simulate
    from wattline.api.studies import Study, load
    from wattline.api.sweeps.sweep import Sweep
    from wattline.api.trace import Trace, draw_trace, from_frame, read_trace
    from wattline.errors import (
        InputError,
        PolicyError,
        RunError,
        ScenarioError,
        TraceError,
        WattlineError,
        WattlineWarning,
    )
    from wattline.model import codes
    from wattline.model.mechanism import Memory, Param, policy
    from wattline.policies.helpers import (
        estimated_wall_s,
        free_extents,
        headroom_w,
        look,
        propose,
        router_traffic,
        start_increase_w,
        uniform,
        waiting,
    )

__all__ = [
    "BidResult",
    "Comparison",
    "InputError",
    "Machine",
    "Memory",
    "Param",
    "PolicyError",
    "Run",
    "RunError",
    "ScenarioError",
    "Study",
    "Sweep",
    "Trace",
    "TraceError",
    "WattlineError",
    "WattlineWarning",
    "WhatIf",
    "__version__",
    "bid",
    "check",
    "codes",
    "compare",
    "draw_trace",
    "estimated_wall_s",
    "free_extents",
    "from_frame",
    "headroom_w",
    "load",
    "look",
    "policy",
    "propose",
    "read_run",
    "read_trace",
    "router_traffic",
    "simulate",
    "start_increase_w",
    "uniform",
    "waiting",
    "whatif",
]

_ROOMS = {
    "wattline.api.asked.whatif": "WhatIf whatif",
    "wattline.api.bids": "BidResult bid",
    "wattline.api.checks": "check",
    "wattline.api.compared": "Comparison compare",
    "wattline.api.machine": "Machine",
    "wattline.api.runs": "Run read_run",
    "wattline.api.simulating": "simulate",
    "wattline.api.studies": "Study load",
    "wattline.api.sweeps.sweep": "Sweep",
    "wattline.api.trace": "Trace draw_trace from_frame read_trace",
    "wattline.errors": "InputError PolicyError RunError ScenarioError TraceError WattlineError WattlineWarning",
    "wattline.model.mechanism": "Memory Param policy",
    "wattline.policies.helpers": "estimated_wall_s free_extents headroom_w look propose router_traffic "
    "start_increase_w uniform waiting",
}
"""Module → what it gives, loaded when it is first asked for."""

_WHERE = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load what is asked for."""
    if name == "codes":
        return importlib.import_module("wattline.model.codes")
    if name not in _WHERE:
        raise AttributeError(f"module 'wattline' has no attribute {name!r}")
    found = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
