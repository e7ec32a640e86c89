"""What a response to caps is: how much longer a job runs on less power.

A response is one file of this folder: a frozen dataclass, called ``RESPONSE`` there, that inherits ``Response``. It
says its ``points``, powers of a node with the run time there, and all else follows from these: between two points
*run time* is a straight line over power. The engine keeps the same points and the same lines, so that what a response
says here is what a run does. A law that bends says as many points as it takes. ``wattline.testing.check_response``
tells whether a response keeps the rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.cap_points import Points, check_points
from wattline.model.kinds import Kind


@dataclass(frozen=True)
class Given:
    """What a kind of job says of caps; None: nothing.

    ``draw_w`` and ``floor_w`` are the power of a node without a cap and at its lowest one, ``stretch`` is the run time
    there over the uncapped one. ``columns`` are those of the file that was named, by their names in small letters.
    """

    draw_w: float | None = None
    floor_w: float | None = None
    stretch: float | None = None
    columns: Mapping[str, Floats] = field(default_factory=dict)


class Response(ABC):
    """Speed (1: uncapped) over the power of a node; it grows strictly from ``floor_w`` to ``draw_w``."""

    name: ClassVar[str]
    """what ``response`` of a ``[[kind]]`` says; its file has the same name, with underscores"""
    about: ClassVar[str]
    """what it says of run time and power, in a line"""
    columns: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """columns of the CSV files that it is read from, one tuple for each layout; none where it is read from no file"""

    @classmethod
    @abstractmethod
    def of(cls, given: Given) -> Self:
        """Return the response that a kind of job means.

        Raise ``PointError`` for a row of the columns that is wrong, ``InputError`` for anything else.
        """

    @abstractmethod
    def points(self) -> Points:
        """Return the powers of a node at which the run time is known, lowest first, with run time over the uncapped."""

    @property
    def floor_w(self) -> float:
        """The power of a node at its lowest cap."""
        return self.points()[0][0]

    @property
    def draw_w(self) -> float:
        """The power of a node without a cap."""
        return self.points()[-1][0]

    @property
    def stretch(self) -> float:
        """Run time at ``floor_w`` over run time at ``draw_w``."""
        return self.points()[0][1]

    def speed(self, power_w: npt.ArrayLike) -> Floats:
        """Return the speed at a power of a node; more than ``draw_w`` gives no more, less than ``floor_w`` no less."""
        at_w, times = self._arrays()
        watts = np.clip(np.asarray(power_w, dtype=np.float64), at_w[0], at_w[-1])
        if at_w.size == 1:
            return np.ones_like(watts)
        high = np.clip(np.searchsorted(at_w, watts, side="right"), 1, at_w.size - 1)
        low = high - 1
        depth = (at_w[high] - watts) / (at_w[high] - at_w[low])
        speeds: Floats = 1.0 / (times[high] + (times[low] - times[high]) * depth)
        return speeds

    def power(self, speed: npt.ArrayLike) -> Floats:
        """Return the least power of a node that gives a speed; ``floor_w`` for all that are slower than it gives."""
        at_w, times = self._arrays()
        wanted = np.asarray(speed, dtype=np.float64)
        if not ((wanted > 0.0) & (wanted <= 1.0)).all():
            raise InputError(
                f"speeds are above 0 and at most 1 (uncapped), got {wanted[~((wanted > 0) & (wanted <= 1))][0]:g}"
            )
        if times[0] == 1.0:
            return np.full_like(wanted, at_w[0])
        longer = np.clip(1.0 / wanted, 1.0, times[0])
        high = np.clip(np.searchsorted(-times, -longer, side="right"), 1, at_w.size - 1)
        low = high - 1
        share = (times[low] - longer) / (times[low] - times[high])
        watts: Floats = at_w[low] + share * (at_w[high] - at_w[low])
        return watts

    def on(self, kind: Kind) -> Kind:
        """Return a kind of job with this response.

        Two points make one straight line, which the engine knows by ``draw_w``, ``floor_w`` and ``stretch`` alone.
        """
        points = self.points()
        check_points(points)
        kept = points if len(points) > 2 else ()
        return replace(kind, draw_w=self.draw_w, floor_w=self.floor_w, stretch=self.stretch, response=kept)

    def _arrays(self) -> tuple[Floats, Floats]:
        at_w, times = (np.array(column, dtype=np.float64) for column in zip(*self.points(), strict=True))
        return at_w, times
