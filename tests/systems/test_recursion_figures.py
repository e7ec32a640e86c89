"""The figures of the service-rate system, drawn of small runs."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from wattline.report.figures.style import Drawn
from wattline.systems.recursion import data, model
from wattline.systems.recursion import figures as draw
from wattline.systems.recursion.study import Curve, Ensemble


@pytest.fixture(scope="module")
def drawn() -> dict[str, Drawn]:
    """All figures, by name."""
    result = model.run(data.generate_customers(3, 900), log=True)
    x = np.linspace(1.0, 2.0, 5)
    curve = Curve(x, x, x, x, x)
    found = {"energy": 1.0, "workload": 2.0}
    return {
        "workload": draw.draw_workload(model.epochs(result)),
        "schedule": draw.draw_schedule(result, 100, "as an example"),
        "curve": draw.draw_curve(curve, curve),
        "ensemble": draw.draw_ensemble(Ensemble(2, x, *[(x, 0.1 * x)] * 5)),
        "trade": draw.draw_trade({(line, rule): found for line in ("FCFS", "BF") for rule in ("r_L", "work")}, curve),
    }


def test_every_figure_is_valid(drawn: dict[str, Drawn]) -> None:
    """Plotly, which refuses names and values it does not know, accepts every figure."""
    for name, figure in drawn.items():
        assert go.Figure(json.loads(figure.figure.to_json())).data, name


def test_shades_cover_both_rows(drawn: dict[str, Drawn]) -> None:
    """Times at the high rate are shaded from top to bottom in both rows of the first figure."""
    layout = drawn["workload"].figure.layout
    spans = [(shape["xref"], shape["x0"], shape["x1"]) for shape in layout["shapes"]]
    assert len(spans) > 2
    assert [span[1:] for span in spans if span[0] == "x"] == [span[1:] for span in spans if span[0] == "x2"]
    assert {(shape["yref"], shape["y0"], shape["y1"]) for shape in layout["shapes"]} == {
        ("y domain", 0, 1),
        ("y2 domain", 0, 1),
    }
    assert all(begin <= end for _, begin, end in spans)
