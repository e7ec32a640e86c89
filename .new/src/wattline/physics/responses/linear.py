"""The linear response to caps: one straight line of run time over power, by its two ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from wattline.errors import InputError
from wattline.model.cap_points import Points
from wattline.physics.responses.base import Given, Response


@dataclass(frozen=True)
class Linear(Response):
    """Run time grows linearly from 1 to ``longest`` as the power of a node falls from ``uncapped_w`` to ``lowest_w``.

    This is the power–time relation of the demand-response systems, whose tables have both ends measured.
    """

    name: ClassVar[str] = "linear"
    about: ClassVar[str] = "run time grows linearly from `time` to `longest` as power falls from `power` to `floor`"

    uncapped_w: float
    lowest_w: float
    longest: float

    def __post_init__(self) -> None:
        if not (0 <= self.lowest_w <= self.uncapped_w and self.longest >= 1.0):
            raise InputError(
                f"need 0 <= lowest power <= power and a run time factor >= 1, got {self.lowest_w:g} W, "
                f"{self.uncapped_w:g} W and {self.longest:g}"
            )

    @classmethod
    def of(cls, given: Given) -> Self:
        """Return the line of a kind; without a measurement speed is taken in proportion to power."""
        if given.draw_w is None:
            raise InputError("the linear response needs the power of a node without a cap")
        floor_w = given.draw_w if given.floor_w is None else given.floor_w
        stretch = given.stretch
        if stretch is None:
            stretch = given.draw_w / floor_w if floor_w > 0 else 1.0
        return cls(given.draw_w, floor_w, stretch if floor_w < given.draw_w else 1.0)

    def points(self) -> Points:
        """Return its two ends (one where it cannot be capped)."""
        top = (self.uncapped_w, 1.0)
        return ((self.lowest_w, self.longest), top) if self.lowest_w < self.uncapped_w else (top,)


RESPONSE = Linear
