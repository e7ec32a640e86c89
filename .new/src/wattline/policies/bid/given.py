"""Bids that are given: a table made before the run."""

from __future__ import annotations

from typing import Any

from wattline.model.mechanism import mechanism
from wattline.model.state.record import State


@mechanism("bid", "given", wake=0)
def given(s: State, hour: int, param: Any, memory: Any) -> int:
    """Keep to the bids of the scenario, made before the run."""
    return 0
