"""What a typical node gives for its watts where nodes differ, from measured configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.configurations import Configurations

SAME = 0.01
"""Powers or speeds that differ by less than this share are one point of a measured response: the rest is noise."""


class SpeedCurve(Protocol):
    """Speed (1: uncapped) over the power of a typical node, strictly growing from ``floor_w`` to ``draw_w``."""

    @property
    def floor_w(self) -> float:
        """The least power under which the job is known to run."""

    @property
    def draw_w(self) -> float:
        """What it draws uncapped."""

    def speed(self, power_w: Floats) -> Floats:
        """Return the speed at a power; more than ``draw_w`` gives no more."""


def rows_without_turbo(table: Configurations, nodes: int, cores: int) -> Ints:
    """Return the rows of an application on so many nodes and cores under caps that are no turbo."""
    rows = np.flatnonzero((table.nodes == nodes) & (table.cores == cores) & (table.cap_w != table.turbo_w))
    if rows.size == 0:
        counts = sorted({(int(n), int(c)) for n, c in zip(table.nodes, table.cores, strict=True)})
        near = min(counts, key=lambda at: abs(np.log(at[0] / nodes)) + abs(np.log(at[1] / cores)))
        raise InputError(
            f"{table.application}: {nodes} nodes × {cores} cores was not measured; near it: {near[0]} × {near[1]}"
        )
    return rows


@dataclass(frozen=True)
class MeasuredResponse:
    """Speeds measured at some powers, and straight lines between them."""

    power_w: Floats
    speeds: Floats

    @property
    def floor_w(self) -> float:
        """The least power that was measured."""
        return float(self.power_w[0])

    @property
    def draw_w(self) -> float:
        """What it draws uncapped."""
        return float(self.power_w[-1])

    def speed(self, power_w: Floats) -> Floats:
        """Return the speed at a power."""
        return np.interp(power_w, self.power_w, self.speeds)

    @classmethod
    def of(cls, table: Configurations, nodes: int, cores: int) -> MeasuredResponse:
        """Return the response of an application on so many nodes and cores, from its rows without turbo.

        Caps that do not bind give the same power and speed: they are one point. A slower row at more power is left out.
        """
        rows = rows_without_turbo(table, nodes, cores)
        power_w, speeds = table.power_w[rows] / nodes, table.time_s[rows].min() / table.time_s[rows]
        kept: list[tuple[float, float]] = []
        for watts, speed in sorted(zip(power_w.tolist(), speeds.tolist(), strict=True)):
            if not kept or (watts > kept[-1][0] * (1.0 + SAME) and speed > kept[-1][1]):
                kept.append((watts, speed))
        w, s = (np.array(column) for column in zip(*kept, strict=True))
        return cls(w, s / s[-1])
