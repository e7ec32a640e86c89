"""The job table: what is known of every job before the first second is simulated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.names import Names
from wattline.model.series import PowerSeries
from wattline.units import MOST_S, in_full

MOST_W = 1e9
"""Powers per node beyond this are no facts about jobs; sums of larger ones would lose watts."""

UNKNOWN = -1
"""Code of an unknown user, group, kind, partition or predecessor."""


@dataclass(frozen=True)
class JobTable:
    """One row a job, sorted by submit time (ties in the order given); columns are contiguous arrays.

    Times are seconds since ``epoch_unix_s`` (NaN when the log does not say). NaN means *not known* in float columns.

    * ``work_s``: run time on its nodes at full speed (rate 1). For a service-rate system it is the job amount.
    * ``request_s``: the user's limit; ``recorded_wait_s`` and ``recorded_energy_j``: what the log says it waited and
      took (all its nodes together), for comparison only.
    * ``after``: row of the job that must end first, ``think_s`` seconds before this one may enter the queue.
    * ``draw_w``: power per node when uncapped; ``floor_w``: power per node at its lowest cap; ``stretch``: run time at
      ``floor_w`` divided by run time at ``draw_w``. NaN takes the node class's value. ``peak_w``: the greatest
      power per node that was measured while it ran, for those who look at logs; nothing is simulated with it.
    * ``user``, ``group``, ``kind``, ``partition`` are codes into the sequences of names beside them.
    * ``series``: power per node over the run of each job, where it is known to change; ``draw_w`` is then its mean.

    A column that nobody gave takes no memory until it is first asked for.
    """

    job_id: Ints
    submit_s: Floats
    work_s: Floats
    nodes: Ints
    request_s: Floats
    user: Ints
    group: Ints
    kind: Ints
    partition: Ints
    priority: Floats
    after: Ints
    think_s: Floats
    draw_w: Floats
    floor_w: Floats
    stretch: Floats
    recorded_wait_s: Floats
    peak_w: Floats
    recorded_energy_j: Floats
    users: Sequence[str] = ()
    groups: Sequence[str] = ()
    kinds: Sequence[str] = ()
    partitions: Sequence[str] = ()
    epoch_unix_s: float = float("nan")
    series: PowerSeries | None = None

    def __len__(self) -> int:
        return len(self.job_id)

    def __post_init__(self) -> None:
        for name in ARRAY_COLUMNS:
            column = getattr(self, name)
            if column.shape != self.job_id.shape:
                raise InputError(f"job table: column {name!r} has {column.size} rows, expected {self.job_id.size}")
        for name, column in ((name, getattr(self, name)) for name in ARRAY_COLUMNS):
            if column.size > 1 and column.strides == (
                0,
            ):  # one value for all: made when it is asked for if it is the default
                given, default = column[0], ARRAY_COLUMNS[name][1]
                if given == default or (given != given and default != default):
                    object.__delattr__(self, name)
                else:
                    object.__setattr__(self, name, np.array(column))
        for name, (most, unit) in _BOUNDS.items():
            if name not in self.__dict__:
                continue
            column = getattr(self, name)
            if not column.size or (np.fmax.reduce(column) <= most and np.fmin.reduce(column) >= -most):
                continue  # nothing as large as the column is made for what is not there
            far = (column > most) | (column < -most)  # false for NaN
            if name == "request_s":
                far &= column < np.inf  # inf says that there is no limit
            if np.any(far):
                j = int(np.argmax(far))
                told = f"{name} is {in_full(column[j])} {unit}, at most {in_full(most)} makes sense"
                raise InputError(f"job {self.job_id[j]}: {told}")
        if self.series is not None and len(self.series) != len(self):
            raise InputError(f"job table: power series of {len(self.series)} jobs, expected {len(self)}")
        if np.any(self.submit_s[1:] < self.submit_s[:-1]):
            raise InputError("job table: rows must be sorted by submit_s (JobTable.build sorts them)")

    if not TYPE_CHECKING:  # so that misspelt names are still found

        def __getattr__(self, name: str) -> Any:
            """Make a column that nobody gave."""
            if name not in ARRAY_COLUMNS or "job_id" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            dtype, default = ARRAY_COLUMNS[name]
            object.__setattr__(self, name, np.full(self.job_id.size, default, dtype=dtype))
            return self.__dict__[name]

    @classmethod
    def build(
        cls,
        *,
        submit_s: npt.ArrayLike,
        work_s: npt.ArrayLike,
        nodes: npt.ArrayLike,
        users: Sequence[str] = (),
        groups: Sequence[str] = (),
        kinds: Sequence[str] = (),
        partitions: Sequence[str] = (),
        epoch_unix_s: float = float("nan"),
        series: PowerSeries | None = None,
        **columns: npt.ArrayLike,
    ) -> JobTable:
        """Make a table from the columns at hand: missing ones get *unknown*, rows are sorted by submit time.

        >>> JobTable.build(submit_s=[5, 0], work_s=[10, 20], nodes=[1, 2]).nodes.tolist()
        [2, 1]
        """
        names = {"users": users, "groups": groups, "kinds": kinds, "partitions": partitions}
        given = {"submit_s": submit_s, "work_s": work_s, "nodes": nodes, **columns, **names}
        return cls.taking(given | {"epoch_unix_s": epoch_unix_s, "series": series})

    @classmethod
    def taking(cls, columns: dict[str, Any]) -> JobTable:
        """Make a table as ``build`` does from columns which nobody else needs: each goes as soon as it is used."""
        names: dict[str, Any] = {
            name: _kept(columns.pop(name, ())) for name in ("users", "groups", "kinds", "partitions")
        }
        epoch_unix_s, series = columns.pop("epoch_unix_s", math.nan), columns.pop("series", None)
        unknown = set(columns) - set(ARRAY_COLUMNS)
        if unknown:
            raise InputError(f"job table: unknown column {sorted(unknown)[0]!r}; known: {', '.join(ARRAY_COLUMNS)}")
        submit = np.ascontiguousarray(columns["submit_s"], dtype=np.float64)
        full: dict[str, Any] = {}
        for name, (dtype, _) in ARRAY_COLUMNS.items():
            if name in columns:
                full[name] = np.ascontiguousarray(columns.pop(name), dtype=dtype)
            elif name == "job_id":
                full[name] = np.arange(1, submit.size + 1, dtype=np.int64)
        if np.any(submit[1:] < submit[:-1]):
            table_order = np.argsort(submit, kind="stable")
            del submit
            for name in full:
                full[name] = np.ascontiguousarray(full[name][table_order])
            if "after" in full:
                inverse = np.empty_like(table_order)
                inverse[table_order] = np.arange(table_order.size)
                linked = full["after"] >= 0
                full["after"][linked] = inverse[full["after"][linked]]
            series = None if series is None else series.take(table_order)
        full = _defaults(full["submit_s"].size) | full
        return cls(**full, **names, epoch_unix_s=epoch_unix_s, series=series)

    def take(self, rows: npt.ArrayLike) -> JobTable:
        """Return the given rows (a mask or increasing indices); links to rows left out are cut."""
        index = np.asarray(rows)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        where = np.full(len(self) + 1, UNKNOWN, dtype=np.int64)
        where[index] = np.arange(index.size)
        picked = {name: np.ascontiguousarray(column[index]) for name, column in self._given().items()}
        if "after" in picked:
            picked["after"] = np.where(picked["after"] >= 0, where[picked["after"]], UNKNOWN)
        series = None if self.series is None else self.series.take(index)
        return replace(self, **(_defaults(index.size) | picked), series=series)

    def with_columns(self, **columns: Any) -> JobTable:
        """Return a copy with some columns (arrays of the same length) or name tuples replaced."""
        changed = {
            name: np.ascontiguousarray(value, dtype=ARRAY_COLUMNS[name][0]) if name in ARRAY_COLUMNS else value
            for name, value in columns.items()
        }
        return replace(self, **(_defaults(len(self)) | self._given() | changed))

    def _given(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns that somebody gave or asked for."""
        return {name: self.__dict__[name] for name in ARRAY_COLUMNS if name in self.__dict__}

    @property
    def span_s(self) -> float:
        """Seconds from the first to the last submission."""
        return float(self.submit_s[-1] - self.submit_s[0]) if len(self) else 0.0


def _defaults(size: int) -> dict[str, Any]:
    """Return columns that nobody gave; they take no memory."""
    return {n: np.broadcast_to(np.array(default, dtype=dtype), size) for n, (dtype, default) in ARRAY_COLUMNS.items()}


def _kept(names: Sequence[str]) -> Sequence[str]:
    return names if isinstance(names, Names) else tuple(names)


ARRAY_COLUMNS: dict[str, tuple[type, float]] = {
    "job_id": (np.int64, UNKNOWN),
    "submit_s": (np.float64, 0.0),
    "work_s": (np.float64, 0.0),
    "nodes": (np.int64, 1),
    "request_s": (np.float64, np.nan),
    "user": (np.int64, UNKNOWN),
    "group": (np.int64, UNKNOWN),
    "kind": (np.int64, UNKNOWN),
    "partition": (np.int64, UNKNOWN),
    "priority": (np.float64, 0.0),
    "after": (np.int64, UNKNOWN),
    "think_s": (np.float64, 0.0),
    "draw_w": (np.float64, np.nan),
    "floor_w": (np.float64, np.nan),
    "stretch": (np.float64, np.nan),
    "recorded_wait_s": (np.float64, np.nan),
    "peak_w": (np.float64, np.nan),
    "recorded_energy_j": (np.float64, np.nan),
}
"""Array columns of a job table: name → (dtype, value when missing)."""

_BOUNDS = {
    **dict.fromkeys(("submit_s", "work_s", "request_s", "think_s"), (MOST_S, "s")),
    **dict.fromkeys(("draw_w", "floor_w", "peak_w"), (MOST_W, "W a node")),
}

assert [f.name for f in fields(JobTable)][: len(ARRAY_COLUMNS)] == list(ARRAY_COLUMNS)
