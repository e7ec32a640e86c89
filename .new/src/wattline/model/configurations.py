"""Configurations of an application: how long it takes and what it draws on so many nodes and cores under a cap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError


@dataclass(frozen=True, eq=False)
class Configurations:
    """A row a configuration (n × c, p) of one application, sorted by nodes, cores and cap; no two rows are alike.

    ``cores`` are those used on each node, ``cap_w`` is the cap of a processor (socket), ``power_w`` what all nodes
    of the job draw together. ``turbo_w`` is the cap that means *uncapped, with turbo*: a level of its own, between
    which and the others nothing may be interpolated (NaN: there is none).
    """

    application: str
    nodes: Ints
    cores: Ints
    cap_w: Floats
    time_s: Floats
    power_w: Floats
    turbo_w: float = float("nan")

    def __post_init__(self) -> None:
        for name in ("cores", "cap_w", "time_s", "power_w"):
            if getattr(self, name).shape != self.nodes.shape:
                raise InputError(
                    f"{self.application}: {name} has {getattr(self, name).size} rows, expected {self.nodes.size}"
                )
        if self.nodes.size == 0:
            raise InputError(f"{self.application}: there is no configuration")
        for name, least in (("nodes", 1), ("cores", 1), ("cap_w", 0), ("time_s", 0), ("power_w", 0)):
            column = getattr(self, name)
            bad = ~(np.isfinite(column) & (column >= least if name in ("nodes", "cores") else column > least))
            if bad.any():
                row = int(np.argmax(bad))
                raise InputError(
                    f"{self.application}: row {row + 1}: {name} must be above {least if least == 0 else 0}, got "
                    f"{column[row]:g}"
                )
        keys = np.column_stack([self.nodes, self.cores, self.cap_w])
        order = np.lexsort(keys.T[::-1])
        twin = np.flatnonzero((np.diff(keys[order], axis=0) == 0).all(axis=1))
        if twin.size:
            n, c, p = keys[order[twin[0]]]
            raise InputError(f"{self.application}: two rows for {n:g} nodes, {c:g} cores, {p:g} W")
        if np.any(np.diff(order) != 1):
            for name in ("nodes", "cores", "cap_w", "time_s", "power_w"):
                object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)[order]))

    def __len__(self) -> int:
        return int(self.nodes.size)

    def take(self, rows: Ints) -> Configurations:
        """Return the table of these rows."""
        turbo_w = self.turbo_w if np.any(self.cap_w[rows] == self.turbo_w) else float("nan")
        return Configurations(
            self.application,
            self.nodes[rows],
            self.cores[rows],
            self.cap_w[rows],
            self.time_s[rows],
            self.power_w[rows],
            turbo_w,
        )

    def best(self, bound_w: float, most_nodes: int | None = None) -> int:
        """Return the row of the shortest time under a power bound (the least power at ties), or -1 if none fits.

        >>> table = Configurations("x", np.array([1, 2, 2]), np.array([8, 8, 8]), np.array([51.0, 51.0, 80.0]),
        ...                        np.array([10.0, 6.0, 5.0]), np.array([100.0, 200.0, 260.0]))
        >>> table.best(210.0), table.best(50.0)
        (1, -1)
        """
        fits = self.power_w <= bound_w
        if most_nodes is not None:
            fits &= self.nodes <= most_nodes
        rows = np.flatnonzero(fits)
        return int(rows[np.lexsort((self.power_w[rows], self.time_s[rows]))[0]]) if rows.size else -1


@dataclass(frozen=True, eq=False)
class Moldable:
    """An application whose jobs may run in any of its configurations.

    ``told`` is what policies believe of them (None: the truth).
    """

    truth: Configurations
    told: Configurations | None = None

    def __post_init__(self) -> None:
        if self.told is None:
            return
        for name in ("nodes", "cores", "cap_w"):
            if not np.array_equal(getattr(self.truth, name), getattr(self.told, name)):
                raise InputError(
                    f"{self.truth.application}: what policies are told must have the configurations of the truth"
                )
