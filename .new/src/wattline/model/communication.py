"""What jobs send over a network."""

from __future__ import annotations

from dataclasses import dataclass

from wattline.errors import InputError

MOST_BYTES_PER_S = 1e13


@dataclass(frozen=True)
class Communication:
    """What jobs of a kind send: bytes that each of their nodes sends a second while they work at full speed.

    ``share`` is the part of their time that they communicate with nobody in the way; above 0, their speed depends on
    where they run and on who sends over the same links. ``pattern`` (one of the packet engine's) matters to
    ``network check`` alone.

    A ``sensitive`` kind suffers from the traffic of others: one that spends more than 5 % of its time in collective
    operations, or whose MPI time is mostly waiting.
    """

    kind: str
    bytes_per_s: float = 0.0
    sensitive: bool = False
    share: float = 0.0
    pattern: str = "all-to-all"

    def __post_init__(self) -> None:
        if not 0 <= self.bytes_per_s <= MOST_BYTES_PER_S:
            raise InputError(
                f"communication of {self.kind!r}: a node sends 0 to {MOST_BYTES_PER_S:g} bytes a second, "
                f"got {self.bytes_per_s:g}"
            )
        if not 0 <= self.share <= 1:
            raise InputError(
                f"communication of {self.kind!r}: the share of time in communication is 0 to 1, got {self.share:g}"
            )
        if self.share > 0 and self.bytes_per_s == 0:
            raise InputError(
                f"communication of {self.kind!r}: they communicate, but send nothing; say how much (traffic)"
            )
