"""How metrics answer to what was varied: means over seeds with intervals, by setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wattline.errors import InputError
from wattline.report.count.compare import METRICS, Estimate, Metric, estimate
from wattline.units import read_quantity, write_quantity

if TYPE_CHECKING:
    import polars as pl

POLICIES = "policies"


@dataclass(frozen=True)
class Point:
    """One setting: the values of its keys, and an estimate for each metric that some run has."""

    setting: tuple[Any, ...]
    estimates: dict[str, Estimate]
    runs: dict[str, tuple[float, ...]]
    """Values of each metric by run, seed after seed."""


@dataclass(frozen=True)
class Response:
    """All settings of a sweep."""

    keys: tuple[str, ...]
    metrics: tuple[Metric, ...]
    points: tuple[Point, ...]
    seeds: int
    units: Mapping[str, str] = field(default_factory=dict)
    """SI units of keys that are powers and durations."""

    def values(self, key: str) -> list[Any]:
        """Return the values of a key, in the order in which they come."""
        at = self.keys.index(key)
        return list(dict.fromkeys(point.setting[at] for point in self.points))

    def words(self, key: str, value: Any) -> str:
        """Return a value of a key as people write it: powers and durations by their units."""
        unit = self.units.get(key, "")
        if not unit or isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return str(value)
        try:
            return str(write_quantity(read_quantity(value, unit), unit))
        except InputError:  # "off"
            return str(value)

    def numbers(self, key: str) -> dict[Any, float] | None:
        """Return the values of a key as numbers, in SI units; None where some value is none: they have no order."""
        found: dict[Any, float] = {}
        unit = self.units.get(key, "")
        for value in self.values(key):
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                return None
            try:
                found[value] = read_quantity(value, unit) if unit and isinstance(value, str) else float(value)
            except (ValueError, InputError):
                return None
        return found if all(math.isfinite(number) for number in found.values()) else None

    def moving(self) -> list[Metric]:
        """Return the metrics that are not the same everywhere."""
        return [m for m in self.metrics if len({_known(p.estimates[m.path].mean) for p in self.points}) > 1]

    def told(self) -> list[Metric]:
        """Return the metrics that a table tells: those that differ, or all that are known of a single setting."""
        if len(self.points) > 1:
            return self.moving()
        return [m for m in self.metrics if any(math.isfinite(p.estimates[m.path].mean) for p in self.points)]

    def largest(self, metric: Metric, key: str) -> float:
        """Return by how much a metric changes along a key at most, the other keys staying as they are, as a part of
        its largest value.
        """
        at = self.keys.index(key)
        lines: dict[tuple[Any, ...], list[float]] = {}
        for point in self.points:
            rest = (*point.setting[:at], *point.setting[at + 1 :])
            mean = point.estimates[metric.path].mean
            if math.isfinite(mean):
                lines.setdefault(rest, []).append(mean)
        top = max((abs(v) for line in lines.values() for v in line), default=0.0)
        spread = max((max(line) - min(line) for line in lines.values()), default=0.0)
        return spread / top if top else 0.0


def pooled(points: Sequence[Point], metric: Metric) -> Estimate:
    """Return the mean over settings, with its interval over seeds: the settings of a seed are averaged first."""
    if len(points) == 1:
        return points[0].estimates[metric.path]
    columns = [point.runs[metric.path] for point in points]
    if len({len(column) for column in columns}) == 1:
        means = [_mean(row) for row in zip(*columns, strict=True)]
        return estimate([mean for mean in means if math.isfinite(mean)])
    return estimate([_mean([value for column in columns for value in column])])


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def respond(table: pl.DataFrame, keys: Sequence[str], units: Mapping[str, str] | None = None) -> Response:
    """Return the settings of a sweep's table with means over their seeds; policies count as a key where they differ."""
    names = [*keys, *([POLICIES] if POLICIES in table.columns else [])]
    metrics = [metric for metric in METRICS if metric.path in table.columns]
    found: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for row in table.iter_rows(named=True):
        columns = found.setdefault(tuple(row[name] for name in names), {metric.path: [] for metric in metrics})
        for metric in metrics:
            value = row[metric.path]
            columns[metric.path].append(math.nan if value is None else float(value))
    points = tuple(
        Point(
            setting,
            {path: estimate(values) for path, values in columns.items()},
            {path: tuple(values) for path, values in columns.items()},
        )
        for setting, columns in found.items()
    )
    seeds = max((one.count for point in points for one in point.estimates.values()), default=0)
    return Response(tuple(names), tuple(metrics), points, seeds, units or {})


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
