"""Configurations that jobs chose: what is counted of them, and in words why each was the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.report.show import number, show

if TYPE_CHECKING:
    import polars as pl

    from wattline.report.count.run import Run


@dataclass(frozen=True)
class AppShapes:
    """What jobs of one application chose, on average: nodes asked for and taken, cores, part that was capped, time over
    that as asked.
    """

    application: str
    jobs: int
    asked_nodes: float
    nodes: float
    cores: float
    capped: float
    time_over_asked: float


@dataclass(frozen=True)
class Shapes:
    """Moldable jobs that started: counts by what made their configuration the best, and how far what was told is off.

    ``power_too_low`` is the share of jobs that draw more than policies were told, ``power_lowest`` by how much at worst
    (a share of what they draw); ``time_error`` the mean size of the error of times told.
    """

    jobs: int
    share: int
    room: int
    asked: int
    least: int
    other: int
    time_error: float
    power_too_low: float
    power_lowest: float
    applications: tuple[AppShapes, ...]


def count_shapes(run: Run) -> Shapes | None:
    """Count the configurations of a run; None where there was nothing to choose."""
    rows = run.shapes
    if rows is None:
        return None
    by_rule = dict(rows["rule"].value_counts().iter_rows())
    time_s, told_s, power_w, told_w = (rows[name].to_numpy() for name in ("time_s", "told_s", "power_w", "told_w"))
    low = 1.0 - told_w / power_w
    return Shapes(
        rows.height,
        **{rule: int(by_rule.get(rule, 0)) for rule in ("share", "room", "asked", "least", "other")},
        time_error=float(np.abs(told_s / time_s - 1.0).mean()),
        power_too_low=float((low > 1e-9).mean()),
        power_lowest=max(0.0, float(low.max())),
        applications=tuple(_application(*pair) for pair in _by_application(rows)),
    )


def _by_application(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(str(part["application"][0]), part) for part in rows.partition_by("application", maintain_order=True)]


def _application(name: str, rows: pl.DataFrame) -> AppShapes:
    mean = {column: float(rows[column].to_numpy().mean()) for column in ("asked_nodes", "nodes", "cores", "turbo")}
    ratio = float((rows["told_s"] / rows["asked_told_s"]).to_numpy().mean())
    return AppShapes(name, rows.height, mean["asked_nodes"], mean["nodes"], mean["cores"], 1.0 - mean["turbo"], ratio)


def shape_words(row: Mapping[str, Any]) -> str:
    """Return a configuration as people write it: 8 × 12 at 65 W."""
    cap = "uncapped" if row["turbo"] else f"at {row['cap_w']:g} W"
    return f"{row['nodes']} × {row['cores']} {cap}"


def why_words(row: Mapping[str, Any]) -> str:
    """Return why a job took its configuration, in one sentence without its end."""
    share = "" if row["share_w"] is None else f"its fair share of {_watts(row['share_w'])}"
    rule = row["rule"]
    if rule == "asked":
        told = f"as asked for, on up to {row['asked_nodes']} nodes"
        return told + (_against(row, "share", f", {{}} than {share} would take") if share else "")
    if row["share_w"] is None:
        return "fastest of all: there was no limit" + _against(row, "asked", "; {} than as asked")
    left = f"the {_watts(row['room_w'])} and {row['room_nodes']} nodes that were left"
    if rule == "share":
        return f"fastest under {share}" + _against(row, "asked", "; {} than as asked")
    if rule == "room":
        return f"fastest with {left}" + _against(row, "share", f"; {{}} than {share} would take")
    if rule == "least":
        return f"of least power: nothing fits under {share}"
    return f"least time for all who waited, with {left}" + _against(row, "share", f"; {{}} than {share} would take")


def _against(row: Mapping[str, Any], other: str, text: str) -> str:
    """Return a comparison with another configuration, nothing where that is the same one."""
    if row[f"{other}_shape"] == shape_words(row):
        return ""
    ratio = row["told_s"] / row[f"{other}_told_s"] - 1.0
    if not math.isfinite(ratio):
        return ""
    size = (
        "the same time" if abs(ratio) < 5e-4 else f"{show(abs(ratio), 'share')} {'less' if ratio < 0 else 'more'} time"
    )
    return f"{text.format(size)} ({row[f'{other}_shape']})"


def _watts(watts: float) -> str:
    return f"{number(round(watts))} W"
