"""A figure as plotly.js takes it: plain dictionaries of traces and layout, and the few calls that figures here need."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

NESTED = ("line", "marker", "title")
"""Attributes whose parts may be given by keyword: ``title_text="x"`` says ``title={"text": "x"}``."""

INTEGERS, FLOATS = ("i1", "u1", "i2", "u2", "i4", "u4"), ("f4", "f8")
"""Types of numbers that plotly.js reads from base64, smallest first."""


class Figure:
    """Traces (``data``) and ``layout`` of a figure, under the names that plotly.js gives to attributes.

    Nothing is checked here: plotly's Python objects would, but take half a second to load, so the tests ask them
    instead.
    """

    def __init__(self, layout: Mapping[str, Any] | None = None) -> None:
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}
        self._cells: dict[tuple[int, int], str] = {(1, 1): ""}
        self.update_layout(**(layout or {}))

    def split(
        self,
        rows: int,
        columns: int = 1,
        *,
        shared_xaxes: bool = False,
        horizontal_spacing: float = 0.0,
        vertical_spacing: float = 0.0,
        row_heights: Sequence[float] | None = None,
    ) -> None:
        """Divide the figure into cells with axes of their own, numbered by rows from the top left.

        Spacings and heights are shares of the figure. Shared x axes move together and are labelled in the last row.
        """
        across = _spans([1.0] * columns, horizontal_spacing)
        # Heights count from the bottom, rows from the top.
        upward = _spans(list(row_heights or [1.0] * rows)[::-1], vertical_spacing)[::-1]
        self._cells = {}
        for row, height in enumerate(upward, 1):
            for column, width in enumerate(across, 1):
                number = (row - 1) * columns + column
                name = self._cells[row, column] = str(number) if number > 1 else ""
                self.update_xaxes(anchor=f"y{name}", domain=width, row=row, col=column)
                self.update_yaxes(anchor=f"x{name}", domain=height, row=row, col=column)
                if shared_xaxes and row < rows:
                    last = f"x{(rows - 1) * columns + column}"
                    self.update_xaxes(matches=last, showticklabels=False, row=row, col=column)

    def add_scatter(self, *, row: int | None = None, col: int | None = None, **trace: Any) -> None:
        """Add lines or markers, in a cell if one is named."""
        self._add("scatter", row, col, trace)

    def add_bar(self, *, row: int | None = None, col: int | None = None, **trace: Any) -> None:
        """Add bars, in a cell if one is named."""
        self._add("bar", row, col, trace)

    def add_heatmap(self, *, row: int | None = None, col: int | None = None, **trace: Any) -> None:
        """Add a raster, in a cell if one is named."""
        self._add("heatmap", row, col, trace)

    def add_vrect(self, x0: float, x1: float, **shape: Any) -> None:
        """Add a rectangle from ``x0`` to ``x1`` over the whole height of every cell."""
        corners = {"type": "rect", "x0": x0, "x1": x1, "y0": 0, "y1": 1}
        for name in self._cells.values():
            place = corners | {"xref": f"x{name}", "yref": f"y{name} domain"}
            self.layout.setdefault("shapes", []).append(_merged(place, shape))

    def add_heading(self, text: str, *, row: int, col: int) -> None:
        """Write above a cell what it shows."""
        name = self._cells[row, col]
        place = {
            "xref": f"x{name} domain",
            "yref": f"y{name} domain",
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "bottom",
        }
        self.layout.setdefault("annotations", []).append({"text": text, "showarrow": False} | place)

    def update_xaxes(self, *, row: int | None = None, col: int | None = None, **changes: Any) -> None:
        """Change the x axes of all cells, or of a row, a column, a cell."""
        self._update_axes("xaxis", row, col, changes)

    def update_yaxes(self, *, row: int | None = None, col: int | None = None, **changes: Any) -> None:
        """Change the y axes of all cells, or of a row, a column, a cell."""
        self._update_axes("yaxis", row, col, changes)

    def update_layout(self, **changes: Any) -> None:
        """Change what belongs to the figure as a whole."""
        self.layout = _merged(self.layout, changes)

    def to_json(self) -> str:
        """Return the specification as JSON: arrays packed, and null for what is no number, as JSON has no NaN."""
        spec = {"data": self.data, "layout": self.layout}
        try:
            return json.dumps(spec, default=_encoded, separators=(",", ":"), allow_nan=False)
        except ValueError:  # rare, and looking at every number first would cost more than trying
            return json.dumps(_finite(spec), separators=(",", ":"), allow_nan=False)

    def _add(self, kind: str, row: int | None, col: int | None, trace: Mapping[str, Any]) -> None:
        place = {"type": kind}
        if row is not None or col is not None:
            name = self._cells[row or 1, col or 1]
            place |= {"xaxis": f"x{name}", "yaxis": f"y{name}"}
        self.data.append(_merged(place, trace))

    def _update_axes(self, kind: str, row: int | None, col: int | None, changes: Mapping[str, Any]) -> None:
        for (r, c), name in self._cells.items():
            if row in (None, r) and col in (None, c):
                self.layout[f"{kind}{name}"] = _merged(self.layout.get(f"{kind}{name}", {}), changes)


def _spans(sizes: Sequence[float], spacing: float) -> list[list[float]]:
    """Return begin and end of parts of such relative sizes, side by side between 0 and 1."""
    unit = (1.0 - spacing * (len(sizes) - 1)) / sum(sizes)
    begins = [sum(sizes[:i]) * unit + i * spacing for i in range(len(sizes))]
    # plotly.js ignores a span that rounding pushed past 1.
    return [[begin, min(begin + size * unit, 1.0)] for begin, size in zip(begins, sizes, strict=True)]


def _merged(old: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with changes, dictionaries merged and never shared.

    >>> _merged({"title": {"side": "top"}}, {"title_text": "busy", "error_x": {"width": 4}})
    {'title': {'side': 'top', 'text': 'busy'}, 'error_x': {'width': 4}}
    """
    new = dict(old)
    for key, value in changes.items():
        outer, _, inner = key.partition("_")
        if inner and outer in NESTED:
            new[outer] = _merged(new.get(outer, {}), {inner: value})
        elif isinstance(value, Mapping):
            new[key] = _merged(new.get(key, {}), value)
        else:
            new[key] = value
    return new


def _encoded(value: Any) -> Any:
    """Return numpy's values as JSON can hold them: arrays in base64 where plotly.js reads their type, in lists
    otherwise.
    """
    if isinstance(value, np.ndarray) and value.size:
        kind = value.dtype.str[1:]
        if value.dtype.kind in "iu":  # plotly.js has no integers of 64 bits, and counts fit into fewer
            low, high = value.min(), value.max()
            kind = next((k for k in INTEGERS if np.iinfo(k).min <= low and high <= np.iinfo(k).max), "")
        if kind in (*INTEGERS, *FLOATS):
            packed = {"dtype": kind, "bdata": b64encode(value.astype(f"<{kind}").tobytes()).decode("ascii")}
            return packed if value.ndim == 1 else packed | {"shape": ", ".join(map(str, value.shape))}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a figure cannot hold {type(value).__name__}")


def _finite(value: Any) -> Any:
    """Return a specification in which null stands for NaN and the infinities."""
    if isinstance(value, np.ndarray | np.generic):
        value = _encoded(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
