"""What may be dropped before drawing, and what may not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.report.figures.reduce import ecdf, envelope, raster

STEPS = st.lists(st.tuples(st.floats(0, 50).map(lambda s: round(s, 6)), st.floats(-1e3, 1e3)), min_size=1, max_size=60)


def brute_force_cells(rows: list[tuple[float, float, int, int]], times: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Overlap of every rectangle with every cell, one by one."""
    cells = np.zeros((nodes.size - 1, times.size - 1))
    for i in range(nodes.size - 1):
        for j in range(times.size - 1):
            for start, end, first, count in rows:
                width = max(0.0, min(end, times[j + 1]) - max(start, times[j])) / (times[j + 1] - times[j])
                height = max(0.0, min(first + count, nodes[i + 1]) - max(first, nodes[i])) / (nodes[i + 1] - nodes[i])
                cells[i, j] += width * height
    return cells


@given(STEPS, st.integers(1, 40))
def test_envelope_keeps_peaks_and_area(steps: list[tuple[float, float]], bins: int) -> None:
    """The lowest and the highest value survive any reduction, and so does the integral."""
    duration, values = (np.array(column) for column in zip(*steps, strict=True))
    time = np.concatenate([[0.0], np.cumsum(duration)[:-1]])
    if duration.sum() < 1e-3:
        return
    found = envelope(time, duration, values, bins)
    shown = values[duration > 0]
    assert found.high.max() == shown.max()
    assert found.low.min() == shown.min()
    assert np.all(found.low <= found.mean)
    assert np.all(found.mean <= found.high)
    assert found.mean @ np.diff(found.edges) == pytest.approx(values @ duration, rel=1e-9, abs=1e-6)


def test_envelope_takes_the_row_in_force() -> None:
    """A bin in which nothing changes shows the value that holds there."""
    found = envelope(np.array([0.0, 9.0]), np.array([9.0, 1.0]), np.array([5.0, 7.0]), 10)
    assert found.low.tolist() == [5.0] * 9 + [7.0]
    assert found.high.tolist() == [5.0] * 9 + [7.0]


def test_envelope_of_nothing() -> None:
    """A timeline without duration has an empty envelope."""
    assert envelope(np.array([1.0]), np.array([0.0]), np.array([5.0]), 10).low.size == 0


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200), st.integers(2, 30))
def test_ecdf_points_are_true(sample: list[int], points: int) -> None:
    """Every point that is drawn lies on the ECDF of the whole sample; the extremes are drawn."""
    x, share = ecdf(sample, points)
    assert x.size <= points
    assert (x[0], x[-1]) == (min(sample), max(sample))
    for value, at in zip(x, share, strict=True):
        assert at == pytest.approx(np.mean(np.array(sample) <= value))


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 5), st.integers(0, 7)), min_size=1, max_size=6),
    st.integers(1, 7),
    st.integers(1, 5),
)
@settings(max_examples=50)
def test_raster_is_exact(jobs: list[tuple[float, float, int]], columns: int, ranges: int) -> None:
    """Cells hold the very share of node-time that rectangles which do not overlap cover."""
    # One job a node row, so that no two overlap.
    rows = [(start, start + length, i, 1) for i, (start, length, _) in enumerate(jobs)]
    start, end, first, count = (np.array(column) for column in zip(*rows, strict=True))
    times, nodes = np.linspace(0, 12, columns + 1), np.linspace(0, 8, ranges + 1)
    found = raster(start, end, first, count, times, nodes)
    assert found == pytest.approx(brute_force_cells(rows, times, nodes), abs=1e-9)
