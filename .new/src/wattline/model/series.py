"""Power of jobs over their run: what each draws per node in each step of its work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wattline.arrays import Ints
from wattline.errors import InputError

Watts = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PowerSeries:
    """Power per node, uncapped, in steps of ``step_s`` seconds of a job's work; the last value stays to its end.

    Values of job ``j`` are ``watts[first[j] : first[j + 1]]``. A job without values draws its constant power.
    """

    step_s: float
    first: Ints
    watts: Watts

    def __post_init__(self) -> None:
        if not 0.0 < self.step_s < np.inf:
            raise InputError(f"power series: the step must be a positive time, got {self.step_s:g} s")
        if self.first.ndim != 1 or self.first.size == 0 or self.first[0] != 0 or self.first[-1] != self.watts.size:
            raise InputError("power series: offsets must run from 0 to the number of values")
        if np.any(np.diff(self.first) < 0):
            raise InputError("power series: offsets must not fall")
        if not np.all(np.isfinite(self.watts) & (self.watts >= 0)):
            bad = self.watts[np.argmin(np.isfinite(self.watts) & (self.watts >= 0))]
            raise InputError(f"power series: every value must be a power of 0 W or more, got {bad:g}")

    def __len__(self) -> int:
        return self.first.size - 1

    @classmethod
    def build(cls, step_s: float, rows: Iterable[Sequence[float] | npt.NDArray[np.floating]]) -> PowerSeries:
        """Make the series from the values of every job, in the order of the table.

        >>> PowerSeries.build(300.0, [[50.0, 60.0], [], [55.0]]).first.tolist()
        [0, 2, 2, 3]
        """
        parts = [np.asarray(row, dtype=np.float32) for row in rows]
        first = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)]).astype(np.int64)
        return cls(float(step_s), first, np.concatenate([*parts, np.empty(0, dtype=np.float32)]))

    def of(self, row: int) -> Watts:
        """Return the values of one job."""
        return self.watts[self.first[row] : self.first[row + 1]]

    def take(self, rows: Ints) -> PowerSeries:
        """Return the series of the given jobs, in that order."""
        counts = np.diff(self.first)[rows]
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        inside = np.arange(first[-1]) - np.repeat(first[:-1], counts)
        return PowerSeries(self.step_s, first, self.watts[np.repeat(self.first[:-1][rows], counts) + inside])
