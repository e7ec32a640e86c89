"""How metrics answer to what was varied: figures, their intervals, and values of keys as people write them."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import polars as pl
import pytest

from wattline.report.count.response import pooled, respond
from wattline.report.figures.response import draw_response
from wattline.report.pages.sweep import leading, write_sweep

POWERS, LOADS, POLICIES = ("off", "30 kW", "40kW"), (0.6, 0.7, 0.8), ("easy", "first-fit", "in-order")
KEYS = ("limit.power", "trace.load", "policy.select")
T_OF_2 = 4.302652729911275
"""The 97.5 % point of Student's t with two degrees of freedom."""


def table() -> pl.DataFrame:
    """Return a sweep of three keys and three seeds."""
    rows = [
        {
            "limit.power": power,
            "trace.load": load,
            "policy.select": policy,
            "seed": seed,
            "wait_s.mean": 100.0 * (1 + i) + 500.0 * load + 40.0 * k + (-1.0) ** (i + k) * 7.0 * seed**2,
            "utilization": load,
        }
        for i, power in enumerate(POWERS)
        for load in LOADS
        for k, policy in enumerate(POLICIES)
        for seed in (1, 2, 3)
    ]
    return pl.DataFrame(rows)


def test_names_are_points_with_intervals_and_numbers_are_joined() -> None:
    """A policy, or a limit that may be off, has no order: points, no line. A mean over other keys has its interval."""
    found = respond(table(), KEYS, {"limit.power": "W"})
    for key in ("limit.power", "policy.select"):
        figure = draw_response(found, key, "wait_s.mean").figure
        for trace in figure.data:
            assert trace["mode"] == "markers"
            assert trace["error_y"]["visible"] or trace["visible"] is False
        assert figure.layout["xaxis"]["type"] == "category"
    joined = draw_response(found, "trace.load", "wait_s.mean").figure
    assert {trace["mode"] for trace in joined.data} == {"lines+markers"}
    assert list(joined.data[0]["x"]) == list(LOADS)


def test_the_interval_of_a_mean_over_settings_is_counted_by_hand() -> None:
    """Settings of a seed are averaged, then the interval is that of three numbers."""
    frame = table()
    found = respond(frame, KEYS)
    metric = next(m for m in found.metrics if m.path == "wait_s.mean")
    for policy in POLICIES:
        one = pooled([p for p in found.points if p.setting[2] == policy], metric)
        seeds = [
            statistics.fmean(frame.filter((pl.col("policy.select") == policy) & (pl.col("seed") == s))["wait_s.mean"])
            for s in (1, 2, 3)
        ]
        assert one.mean == pytest.approx(statistics.fmean(seeds))
        assert one.half_width == pytest.approx(T_OF_2 * statistics.stdev(seeds) / math.sqrt(3))


def test_all_menus_begin_with_the_metric_of_the_sentence(tmp_path: Path) -> None:
    """Whatever changes most along a key: a reader sees one metric in all figures, that of the sentence."""
    found = respond(table(), KEYS)
    first = leading(found)
    assert first is not None
    assert first.path == "wait_s.mean"
    titles = {draw_response(found, key, first.path).figure.layout["yaxis"]["title"]["text"] for key in KEYS}
    assert len(titles) == 1
    page = write_sweep(table(), KEYS, tmp_path / "s.html", title="s", scenario="name = 1", units={"limit.power": "W"})
    text = page.read_text(encoding="utf-8")
    for part in ('<nav class="contents"', "wait, mean: from ", "limit.power 40 kW", ">All settings<", ">The scenario<"):
        assert part in text
    assert "40kW" not in text.partition("<script")[0]


def test_powers_stand_on_an_axis_of_their_unit() -> None:
    """Where every value is a power, however it is written, they have an order and a scale."""
    frame = table().filter(pl.col("limit.power") != "off")
    found = respond(frame, KEYS, {"limit.power": "W"})
    figure = draw_response(found, "limit.power", "wait_s.mean").figure
    assert list(figure.data[0]["x"]) == [30.0, 40.0]
    assert figure.layout["xaxis"]["title"]["text"] == "limit.power [kW]"
