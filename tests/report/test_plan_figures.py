"""Figures of a plan: plotly knows them, and the break-even line stands at 1."""

from __future__ import annotations

import json

import plotly.graph_objects as go

from wattline.market.overprovisioning import Application, Line, Question
from wattline.report.count.plan import answer
from wattline.report.pages.plan import TOP, draw_nodes, draw_sweep, draw_tornado

QUESTION = Question(7000.0, 380.0, 180.0, 0.27, 1.7)
APPS = [Application("LU", Line(-0.542, 25.93, 47)), Application("BT", Line(-0.069, 8.5, 48))]


def test_plotly_knows_every_figure() -> None:
    """Three figures, each with the line of breaking even or bars around the present ratio."""
    found = answer(QUESTION, APPS)
    for drawn in (draw_nodes(found), draw_sweep(QUESTION, [("all", APPS)], "t", "c"), draw_tornado(found)):
        assert go.Figure(json.loads(drawn.figure.to_json())).data


def test_the_sweep_has_three_panels_and_does_not_follow_a_line_to_zero() -> None:
    """Each panel has the curve, break even and the present point; the axis ends where lines stop making sense."""
    drawn = draw_sweep(QUESTION, [("LU", APPS[:1])], "t", "c")
    assert [trace["name"] for trace in drawn.figure.data] == ["LU", "break even", "here"] * 3
    assert drawn.figure.layout["yaxis"]["range"][1] <= TOP
    assert drawn.figure.data[2]["y"][0] == answer(QUESTION, APPS[:1]).plan.speedup
