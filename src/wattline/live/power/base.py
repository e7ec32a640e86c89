"""What power hardware is to an agent: readings in joules or watts, and limits that may be refused or clamped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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


class HardwareError(Exception):
    """A reading or a write that failed, in one line; the agent counts it and goes on."""


class Hardware(Protocol):
    """A node's meters and limits. Only the constructor and ``restore`` raise: faults later on are counted."""

    def read(self, now_s: float) -> Reading | None:
        """Return the power since the last call; None for the first one, and after a counter that made no sense."""

    def limits_w(self) -> float:
        """Return the power limit in force on all packages together, as the hardware says.

        Infinite where a package is not limited at all, NaN where the hardware does not tell.
        """

    def bounds_w(self) -> tuple[float, float]:
        """Return the least and the greatest limit of all packages together that the hardware takes."""

    def set_limit(self, cpu_w: float) -> float:
        """Limit all packages together; return the limit in force afterwards, read back."""

    def found(self) -> dict[str, float]:
        """Return the limits as they are, to be restored later."""

    def restore(self, limits: dict[str, float]) -> None:
        """Put back limits that ``found`` returned; what cannot be put back is a ``HardwareError``, after the rest."""

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met, by a short word ("sensor-stuck", "write-refused", "clamped", …)."""
