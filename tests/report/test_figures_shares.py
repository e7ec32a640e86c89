"""Distributions with the lines that they must not cross, tails beside the theory, and the history of weights."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from wattline.model.regulation import Bid
from wattline.report.figures.bid import draw_tails, draw_weights
from wattline.report.figures.shares import POINTS, Curve, Service, draw_error_shares, draw_services
from wattline.report.figures.style import KINDS, Drawn
from wattline.theory.gps_observed import Predicted, Tail

RANDOM = np.random.default_rng(3)


def valid(drawn: Drawn) -> list[dict[str, object]]:
    """Show a figure to plotly, which refuses what it does not know; return its traces."""
    assert go.Figure(json.loads(drawn.figure.to_json())).data
    return drawn.figure.data


def test_error_curves_are_true_shares_of_time() -> None:
    """Few points are drawn; each is the share of time at or below its error; curves rise; groups share colours."""
    seconds, error = RANDOM.exponential(2.0, 5000), RANDOM.exponential(0.2, 5000)
    curves = {
        "a": Curve(seconds, error, "one"),
        "b": Curve(seconds, 2 * error, "one", "dot"),
        "c": Curve(seconds, error),
    }
    traces = valid(draw_error_shares(curves, "errors", "caption"))
    one, two, other = traces[:3]
    assert one["line"]["color"] == two["line"]["color"] != other["line"]["color"]
    assert two["line"]["dash"] == "dot"
    x, y = one["x"] / 100, one["y"] / 100
    assert 100 < x.size <= POINTS
    assert np.all(np.diff(x) > 0)
    assert np.all(np.diff(y) > 0)
    for level, share in list(zip(x, y, strict=True))[::40]:
        assert share == pytest.approx(seconds[error <= level * (1 + 1e-12)].sum() / seconds.sum())


def test_a_huge_error_does_not_squeeze_the_curve() -> None:
    """The axis ends at five times the margin; what lies beyond shows as what is missing at the right edge."""
    drawn = draw_error_shares({"a": Curve(np.ones(10), np.linspace(0, 40, 10))}, "t", "c")
    assert drawn.figure.layout["xaxis"]["range"] == [0, 150.0]


def test_service_has_a_panel_a_kind_with_its_promise() -> None:
    """Curves are the shares of jobs, never falling; jobs that never ended are missing at the top; the corner is the
    promise.
    """
    q = np.append(RANDOM.exponential(1.0, 300), np.full(100, np.inf))
    services = [Service(f"kind {i}", 1.0 + i, 0.1, {"AQA": q, "other": q[:50]}) for i in range(5)]
    drawn = draw_services(services, "service", "caption")
    traces = valid(drawn)
    assert [trace["name"] for trace in traces if trace["showlegend"]] == ["AQA", "other"]
    headings = [heading["text"] for heading in drawn.figure.layout["annotations"]]
    assert headings == [f"kind {i}" for i in range(5)]
    second = [trace for trace in traces if trace["xaxis"] == "x2"]
    curve = second[0]
    assert np.all(np.diff(curve["y"]) >= 0)
    assert curve["y"][-1] == pytest.approx(100 * np.mean(q <= 4.0))
    assert second[2]["x"] == [2.0, 2.0]
    assert second[3]["y"] == [90.0, 90.0]
    assert drawn.figure.layout["xaxis6"]["visible"] is False


def test_tails_cross_at_the_promise() -> None:
    """Each panel has the jobs, both laws, and the promise; laws bend where they leave 1 and pass the limit as
    fitted.
    """
    delay_s = np.sort(RANDOM.exponential(50.0, 2000))
    late = float(np.mean(delay_s >= 100.0))
    laws = {
        name: Predicted(rate, float(np.log(late) + 100.0 * rate), 2) for name, rate in (("one", 0.1), ("two", 0.01))
    }
    flat = Tail("flat", delay_s[:0], 80.0, 0.1, {"one": Predicted(0.0, -3.0, 3), "two": Predicted(np.inf, 0.0, 1)})
    drawn = draw_tails([Tail("kind", delay_s, 100.0, 0.1, laws), flat], "tails", "Twelve hours.")
    traces = valid(drawn)
    seen, one, two = traces[:3]
    assert np.all(np.diff(seen["y"]) <= 0)
    assert np.all((seen["y"] > 0) & (seen["y"] <= 1))
    for trace, name in ((one, "one"), (two, "two")):
        log_at_limit = np.interp(100.0, trace["x"], np.log(trace["y"]))
        assert log_at_limit == pytest.approx(np.log(late)), name
    assert one["x"][1] == pytest.approx(laws["one"].log_alpha / 0.1)
    assert one["y"][1] == pytest.approx(1.0)
    assert drawn.figure.layout["yaxis"]["type"] == "log"
    assert drawn.caption.startswith("Twelve hours.")
    assert "Case III" in drawn.caption
    assert drawn.caption.endswith("flat.")
    lines = [trace for trace in traces if trace["xaxis"] == "x2"]
    assert lines[1]["y"] == pytest.approx([np.exp(-3.0)] * 3)


def test_weights_are_drawn_over_the_steps_with_the_one_that_was_taken() -> None:
    """One line a kind, the bid below, a mark at the step with the bid that was chosen; none without weights."""
    history = [
        {"iteration": i, "weights": [0.5 + 0.1 * i, 0.5 - 0.1 * i], "mean_w": 9000.0 + i, "reserve_w": 100.0}
        for i in range(4)
    ]
    drawn = draw_weights(["a<b", "c"], history, Bid(9002.0, 100.0), "weights")
    assert drawn is not None
    traces = valid(drawn)
    assert [trace["name"] for trace in traces] == ["a&lt;b", "c", "P̄", "R"]
    assert traces[0]["y"].tolist() == pytest.approx([0.5, 0.6, 0.7, 0.8])
    assert {shape["x0"] for shape in drawn.figure.layout["shapes"]} == {2.0}
    other = draw_weights(["a", "c"], history, Bid(1.0, 1.0), "weights")
    assert other is not None
    assert "none of these steps" in other.caption
    fits = [{"fit": 0, "weights": None}, {"fit": 1, "weights": [1.0], "mean_w": 1.0, "reserve_w": 1.0}]
    by_fit = draw_weights(["a"], fits, Bid(1.0, 1.0), "weights")
    assert by_fit is not None
    assert by_fit.figure.layout["xaxis2"]["title"]["text"] == "fit"
    assert draw_weights(["a"], [], Bid(1.0, 1.0), "weights") is None


def test_kinds_have_colours_of_their_own() -> None:
    """Sixteen kinds, as many as the largest published workload has, are told apart, and none is grey."""
    assert len(set(KINDS)) == len(KINDS) == 16
