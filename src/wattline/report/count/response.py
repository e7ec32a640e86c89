"""How metrics answer to what was varied: means over seeds with intervals, by setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wattline.report.count.compare import METRICS, Estimate, Metric, estimate

if TYPE_CHECKING:
    import polars as pl

POLICIES = "policies"


@dataclass(frozen=True)
class Point:
    """One setting: the values of its keys, and an estimate for each metric that some run has."""

    setting: tuple[Any, ...]
    estimates: dict[str, Estimate]


@dataclass(frozen=True)
class Response:
    """All settings of a sweep."""

    keys: tuple[str, ...]
    metrics: tuple[Metric, ...]
    points: tuple[Point, ...]
    seeds: int

    def values(self, key: str) -> list[Any]:
        """Return the values of a key, in the order in which they come."""
        at = self.keys.index(key)
        return list(dict.fromkeys(point.setting[at] for point in self.points))

    def moving(self) -> list[Metric]:
        """Return the metrics that are not the same everywhere."""
        return [m for m in self.metrics if len({_known(p.estimates[m.path].mean) for p in self.points}) > 1]

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


def respond(table: pl.DataFrame, keys: Sequence[str]) -> Response:
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
        Point(setting, {path: estimate(values) for path, values in columns.items()})
        for setting, columns in found.items()
    )
    seeds = max((one.count for point in points for one in point.estimates.values()), default=0)
    return Response(tuple(names), tuple(metrics), points, seeds)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
