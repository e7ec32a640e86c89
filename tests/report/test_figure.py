"""What a figure promises: names and nesting as plotly has them, cells in order, and JSON that any browser reads."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from synthetic import block_schedule, frames_of, write_synthetic
from test_html import figures_of

from wattline.journal.journal import open_journal, write_journal
from wattline.report.count.metrics import Summary
from wattline.report.figures.figure import Figure
from wattline.report.figures.over_time import RECTANGLES
from wattline.report.figures.style import split_figure
from wattline.report.pages.comparison import write_comparison
from wattline.report.pages.run import write_report


def validate(path: Path) -> list[str]:
    """Show every figure of a page to plotly, which refuses names and values it does not know; return kinds of
    traces.
    """
    kinds = []
    for figure in figures_of(path):
        checked = go.Figure({"data": figure["data"], "layout": figure["layout"]})
        kinds += [trace.type for trace in checked.data]
    return kinds


def test_every_figure_of_a_report_is_valid(tmp_path: Path, out: Path) -> None:
    """Plotly accepts all figures of a run with a limit for part of it, sleeping and broken nodes and two speeds."""
    frames, manifest = frames_of(**block_schedule(200, 6, 2, 1), limit_w=3000.0)
    line = frames["timeline"]
    line["asleep_nodes"] = line["down_nodes"] = np.minimum(line["queued_jobs"], 1)
    line["rate"] = np.where(line["queued_jobs"] > 1, 2.66, 2.0)
    line["limit_w"] = np.where(np.arange(len(line["limit_w"])) % 9 < 5, line["limit_w"], np.inf)
    write_journal(tmp_path / "j", frames, manifest)
    write_report(open_journal(tmp_path / "j"), out)
    assert {"scatter", "bar"} == set(validate(out))
    names = {trace.get("name") for figure in figures_of(out) for trace in figure["data"]}
    assert {"limit", "asleep", "out of service", "rate", "remaining work", "wait", "node-seconds"} <= names


def test_the_figures_of_a_long_run_are_valid(tmp_path: Path, out: Path) -> None:
    """Plotly accepts the bands and the raster that stand for too many changes and placements."""
    write_report(write_synthetic(tmp_path / "j", **block_schedule(RECTANGLES + 1, 10, 4, 3)), out)
    assert "heatmap" in validate(out)


def test_every_figure_of_a_comparison_is_valid(labelled: dict[str, list[Summary]], out: Path) -> None:
    """Plotly accepts the bars of a comparison."""
    write_comparison(labelled, out)
    assert set(validate(out)) == {"bar"}


@pytest.mark.parametrize("wrong", [{"title_txt": "x"}, {"rangemod": "tozero"}, {"ticks": "everywhere"}])
def test_validation_finds_misspelt_attributes(wrong: dict[str, Any]) -> None:
    """An axis with a name or a value that plotly does not know is refused."""
    figure = Figure()
    figure.update_xaxes(**wrong)
    with pytest.raises(ValueError, match=r"(?i)invalid"):
        go.Figure(json.loads(figure.to_json()))


@pytest.mark.parametrize(
    ("rows", "columns", "split"),
    [
        (1, 2, {"horizontal_spacing": 0.1}),
        (2, 1, {"shared_xaxes": True, "vertical_spacing": 0.06, "row_heights": [0.68, 0.32]}),
        (3, 2, {"shared_xaxes": True, "vertical_spacing": 0.07, "horizontal_spacing": 0.13}),
    ],
)
def test_cells_are_those_of_plotly(rows: int, columns: int, split: dict[str, Any]) -> None:
    """A split figure has the axes that plotly's ``make_subplots`` gives it, and traces land on the same ones."""
    from plotly.subplots import make_subplots

    theirs = make_subplots(rows=rows, cols=columns, figure=go.Figure(layout={"template": {}}), **split)
    ours = Figure()
    ours.split(rows, columns, **split)
    for figure in (theirs, ours):
        figure.add_scatter(x=[0], y=[1], row=rows, col=columns)
    expected = json.loads(theirs.to_json())
    found = json.loads(ours.to_json())
    assert found["data"] == expected["data"]
    for name in ours.layout:
        domain = found["layout"][name].pop("domain")
        assert domain == pytest.approx(expected["layout"][name].pop("domain"))
        assert 0 <= min(domain) < max(domain) <= 1
        assert found["layout"][name] == expected["layout"][name]


def test_updates_reach_the_cells_that_were_named() -> None:
    """Without a place all axes change, with a row, a column or both only those; what was set before stays."""
    figure = split_figure(300, 2, 2)
    figure.update_yaxes(title_text="all")
    figure.update_yaxes(title_text="below", row=2)
    figure.update_yaxes(title_text="one", row=2, col=2)
    axes = [figure.layout[name] for name in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    assert [axis["title"]["text"] for axis in axes] == ["all", "all", "below", "one"]
    assert {axis["nticks"] for axis in axes} == {7}


def test_arrays_are_packed_and_come_back() -> None:
    """Numbers go as base64 of the smallest type that holds them, text and truth as lists, tables with their shape."""
    arrays = {
        "f8": np.array([0.1, np.nan, np.inf]),
        "i2": np.array([-1, 300]),
        "i1": np.arange(6).reshape(2, 3),
        "u4": np.array([2**31]),
        "f4": np.float32([0.5, 1.5])[::-1],
    }
    figure = Figure()
    figure.add_scatter(
        **arrays, text=np.array(["a", "b"]), none=np.array([]), truth=np.array([True]), big=np.array([2**60])
    )
    (trace,) = json.loads(figure.to_json())["data"]
    for kind, values in arrays.items():
        assert trace[kind]["dtype"] == kind
        back = np.frombuffer(base64.b64decode(trace[kind]["bdata"]), kind)
        assert np.array_equal(back, values.ravel(), equal_nan=kind[0] == "f")
    assert trace["i1"]["shape"] == "2, 3"
    assert (trace["text"], trace["none"], trace["truth"], trace["big"]) == (["a", "b"], [], [True], [2**60])


def test_what_is_no_number_is_null() -> None:
    """NaN and infinities in lists become null: JSON has no words for them; numbers beside them stay as they are."""
    figure = Figure()
    figure.add_bar(
        x=[1.0, float("nan"), (np.float32("inf"),), np.int64(3)], y=np.array([1.0, None, np.nan]), z=np.arange(2)
    )
    (trace,) = json.loads(figure.to_json())["data"]
    assert trace["x"] == [1.0, None, [None], 3]
    assert trace["y"] == [1.0, None, None]
    assert trace["z"]["dtype"] == "i1"


def test_figures_share_nothing() -> None:
    """What is given to two traces or axes can be changed in one of them alone."""
    line = {"color": "red"}
    figure = split_figure(300, 1, 2)
    figure.add_scatter(line=line, line_width=2)
    figure.add_scatter(line=line)
    assert line == {"color": "red"}
    assert [trace["line"] for trace in figure.data] == [{"color": "red", "width": 2}, {"color": "red"}]


def test_a_figure_holds_only_what_json_can() -> None:
    """An object that is neither number, text nor array is refused by its type."""
    figure = Figure()
    figure.add_bar(x=[Path()])
    with pytest.raises(TypeError, match=r"cannot hold .*Path"):
        figure.to_json()
