"""What power hardware is to an agent: readings in joules or watts, and limits that may be refused or clamped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Reading:
    """Mean power of a node's parts since the reading before."""

    time_s: float
    cpu_w: float
    """All processor packages."""
    memory_w: float
    """All memory; NaN where the hardware does not tell."""
    server_w: float
    """The whole server, where a meter of its own tells; otherwise NaN (a model estimates it)."""
    gpu_w: float = 0.0
    """All GPUs that are read beside the packages; 0 where none are."""


class HardwareError(Exception):
    """A reading or a write that failed, in one line; the agent counts it and goes on."""


def own_limits(limits: dict[str, float], kind: str) -> dict[str, float]:
    """Return limits that were found by a hardware under its own names; those of another hardware are refused."""
    others = sorted(key for key in limits if not key.startswith(f"{kind}/"))
    if others:
        raise HardwareError(f"{others[0]} was found by another hardware than {kind}; put it back by that one first")
    return {key.removeprefix(f"{kind}/"): value for key, value in limits.items()}


class Hardware(Protocol):
    """A node's meters and limits. Only the constructor and ``restore`` raise: faults later on are counted."""

    whole_server: bool
    """Whether its limit is one of the whole server, as a BMC keeps it; otherwise it is one of all packages together,
    and the agent finds the limit at which the server has the power that is wanted.
    """
    every_s: float
    """How often there is a new reading (0: whenever somebody asks)."""
    step_w: float
    """How finely limits are kept: what is in force may differ from what was written by so much."""

    def read(self, now_s: float) -> Reading | None:
        """Return the power since the last call; None for the first one, and after a counter that made no sense."""

    def limits_w(self) -> float:
        """Return the power limit in force (of the server, or on all packages together), as the hardware says.

        Infinite where there is none, or none on one of the packages; NaN where the hardware does not tell.
        """

    def bounds_w(self) -> tuple[float, float]:
        """Return the least and the greatest limit that the hardware takes."""

    def set_limit(self, watts: float) -> float:
        """Limit the server, or all packages together; return the limit in force afterwards, read back."""

    def found(self) -> dict[str, float]:
        """Return the limits as they are, to be restored later; numbers of at least 0."""

    def loosest(self) -> dict[str, float]:
        """Return what to restore where nobody knows any more what was found: the greatest limits, or none."""

    def restore(self, limits: dict[str, float]) -> None:
        """Put back limits that ``found`` returned; what cannot be put back is a ``HardwareError``, after the rest."""

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met, by a short word ("sensor-stuck", "write-refused", "clamped", …)."""

    def facts(self) -> dict[str, Any]:
        """Return what it is and what it found out about the hardware, for people."""

    def close(self) -> None:
        """Let go of connections; limits stay as they are. Twice is as good as once."""
