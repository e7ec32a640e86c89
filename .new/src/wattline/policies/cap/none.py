"""No capping."""

from __future__ import annotations

from typing import Any

from wattline.model.mechanism import mechanism
from wattline.model.state.record import State


@mechanism("cap", "none", wake=0)
def none(s: State, mask: int, param: Any, memory: Any) -> int:
    """Leave every cap and level as it is."""
    return 0
