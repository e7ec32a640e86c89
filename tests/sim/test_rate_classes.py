"""Jobs of one speed are found column by column, with the classes and the order that sorting whole rows gives."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.wiring.setup import _rate_classes


@pytest.mark.parametrize("count", [0, 1, 2, 40, 3000])
@pytest.mark.parametrize("variety", [1, 4, 1000])
def test_classes_are_the_distinct_rows_in_order(count: int, variety: int) -> None:
    """Every distinct row is a class, sorted by pool, kind, draw, floor and stretch; every job has the class of its
    row.
    """
    rng = np.random.default_rng(count + variety)
    pool, kind = rng.integers(0, 3, count), rng.integers(-1, min(variety, 4), count)
    draw_w = rng.choice(rng.uniform(100.0, 300.0, variety), count)
    floor_w, stretch = draw_w * rng.choice([0.5, 0.7], count), rng.choice([0.0, -0.0, 1.0, 1.5], count)
    table = np.column_stack([pool, kind, draw_w, floor_w, stretch])
    rows, base_class = _rate_classes(pool, kind, draw_w, floor_w, stretch, 3, by_profile=True)
    distinct, inverse = np.unique(table, axis=0, return_inverse=True)
    np.testing.assert_array_equal(rows, distinct)
    np.testing.assert_array_equal(base_class, inverse.reshape(-1))
    np.testing.assert_array_equal(rows[base_class], table)
