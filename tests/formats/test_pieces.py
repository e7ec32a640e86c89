"""Columns that grow by pieces against all pieces at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import examples
from wattline.reading.pieces import Pieces

VALUES = {
    "f": st.sampled_from([0.0, 1.5, float("nan"), 0.1, 2.0**25 + 1]),
    "i": st.sampled_from([0, 1, -1, 2**31 - 1]),
    "l": st.sampled_from([0, 1, 2**40]),
    "?": st.booleans(),
}
TYPES = {"f": np.float64, "i": np.int32, "l": np.int64, "?": np.bool_}


@st.composite
def columns(draw: st.DrawFn) -> list[np.ndarray]:
    """Return pieces of a column, many of them of one value; whole numbers may need more room later."""
    kind = draw(st.sampled_from(["f", "i", "il", "?"]))
    pieces = []
    for _ in range(draw(st.integers(1, 7))):
        of = draw(st.sampled_from(kind))
        size = draw(st.integers(0, 5))
        values = VALUES[of]
        found = [draw(values)] * size if draw(st.booleans()) else draw(st.lists(values, min_size=size, max_size=size))
        pieces.append(np.array(found, dtype=TYPES[of]))
    return pieces


@given(columns())
@examples(400)
def test_a_column_is_what_its_pieces_are(pieces: list[np.ndarray]) -> None:
    """Whatever was put together, in whichever room it is kept."""
    kept = Pieces()
    for i, piece in enumerate(pieces):
        kept.add("x", piece)
        so_far = np.concatenate(pieces[: i + 1])
        if so_far.size:
            np.testing.assert_array_equal(kept.at("x", np.arange(so_far.size)[::2]), so_far[::2])
    whole = np.concatenate(pieces)
    found = kept.take("x")
    np.testing.assert_array_equal(found, whole)
    assert found.dtype.kind == whole.dtype.kind
    found[:1] = found[-1:]  # whoever takes it may write to it
    assert "x" not in kept


@pytest.mark.parametrize("value", [np.nan, 7.0])
def test_a_column_of_one_value_takes_no_room(value: float) -> None:
    """As an empty one does."""
    kept = Pieces()
    for _ in range(100):
        kept.add("x", np.full(1000, value))
    assert kept._columns["x"].nbytes <= 8
    np.testing.assert_array_equal(kept.take("x"), np.full(100_000, value))
