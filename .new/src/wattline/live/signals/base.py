"""What a grid's signal is to the controller: a number now, and how old it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Sample:
    """The last that a source has said."""

    value: float
    """Regulation signal y from -1 to 1, or a power limit in watts."""
    time_s: float
    """When it was true, by the machine's clock."""


class Source(Protocol):
    """Where a signal comes from."""

    def last(self, now_s: float) -> Sample | None:
        """Return the newest sample that is not of the future; None before the first."""

    def problems(self) -> dict[str, int]:
        """Return how many samples were refused, by reason (not a number, out of range, of the future, out of order)."""

    def close(self) -> None:
        """Let go of files, sockets and threads."""
