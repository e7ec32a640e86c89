"""The response to caps as it was measured: run times at some powers of a node, and straight lines between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from wattline.errors import InputError
from wattline.model.cap_points import PointError, Points, check_points
from wattline.physics.responses.base import Given, Response

SAME = 0.01
"""Powers that differ by less than this share are one point of a sweep: the rest is noise."""


@dataclass(frozen=True)
class Table(Response):
    """Power of a node and run time, in any unit, wherever it was measured, lowest power first."""

    name: ClassVar[str] = "table"
    about: ClassVar[str] = "run times measured at some powers, with straight lines between them"
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("power_w", "time_s"), ("power_w", "speed"))

    measured: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        check_points(self.points())
        if len(self.measured) < 2:
            raise InputError("a table of run times under caps needs at least two powers")

    @classmethod
    def of(cls, given: Given) -> Self:
        """Return the table of a file's columns: rows in any order, the highest power is uncapped."""
        field = next((name for name in ("time_s", "speed") if name in given.columns), None)
        if field is None or "power_w" not in given.columns:
            raise InputError("a table is read from a file of power_w, and time_s or speed")
        power_w, values = given.columns["power_w"], given.columns[field]
        for name, column in (("power_w", power_w), (field, values)):
            if not (column > 0).all():
                raise PointError("must be above 0", int(np.argmin(column > 0)), name)
        order = np.argsort(power_w, kind="stable")
        times = values if field == "time_s" else 1.0 / values
        for before, row in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
            if power_w[row] == power_w[before]:
                raise PointError(f"there are two rows of {power_w[row]:g} W", max(row, before), "power_w")
            if not times[row] < times[before]:
                told = f"is no faster at {power_w[row]:g} W ({values[row]:g}) than at {power_w[before]:g} W"
                hint = "where a cap does not bind leave rows out, so that more power is always faster"
                raise PointError(f"{told} ({values[before]:g}); {hint}", row, field)
        return cls(tuple(zip(power_w[order].tolist(), times[order].tolist(), strict=True)))

    @classmethod
    def swept(cls, power_w: npt.ArrayLike, time_s: npt.ArrayLike) -> Self:
        """Return the table of a sweep over caps, as meters give it: what a node drew, and how long the job took.

        Caps that do not bind give the same power and time: they are one point. A slower row at more power is left out.
        """
        kept: list[tuple[float, float]] = []
        watts, times = (np.asarray(column, dtype=np.float64) for column in (power_w, time_s))
        for drawn_w, took_s in sorted(zip(watts.tolist(), times.tolist(), strict=True)):
            if not kept or (drawn_w > kept[-1][0] * (1.0 + SAME) and took_s < kept[-1][1]):
                kept.append((drawn_w, took_s))
        if len(kept) < 2:
            raise InputError(f"no cap of this sweep slows the job: of {watts.size} rows {len(kept)} differ")
        return cls(tuple(kept))

    def points(self) -> Points:
        """Return what was measured, with run times over that at the highest power."""
        return tuple((power_w, time / self.measured[-1][1]) for power_w, time in self.measured)


RESPONSE = Table
