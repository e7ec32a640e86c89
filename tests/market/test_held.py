"""Step functions of time, cut together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.market.held import Held, constant, cut, held_signal
from wattline.model.regulation import Signal

STEPS = Held(np.array([0.0, 10.0, 30.0]), np.array([1.0, 2.0, 3.0]), 40.0)


def test_a_value_holds_until_the_next_and_nowhere_else() -> None:
    """Before the first time and from the end on there is no value."""
    assert [STEPS.at(t) for t in (0.0, 9.9, 10.0, 39.0)] == [1.0, 1.0, 2.0, 3.0]
    assert math.isnan(STEPS.at(-1.0))
    assert math.isnan(STEPS.at(40.0))
    times, values = STEPS.within(-5.0, 45.0)
    assert times.tolist() == [-5.0, 0.0, 10.0, 30.0, 40.0]
    assert np.array_equal(values, [np.nan, 1.0, 2.0, 3.0, np.nan], equal_nan=True)
    assert STEPS.within(41.0, 45.0)[0].tolist() == [41.0]
    assert STEPS.covers(0.0, 40.0)
    assert not STEPS.covers(0.0, 40.1)


def test_what_repeats_has_a_value_at_every_time() -> None:
    """It begins anew at its end, and before its beginning."""
    again = Held(STEPS.time_s, STEPS.values, STEPS.end_s, repeat=True)
    assert [again.at(t) for t in (40.0, 55.0, 79.9, 80.0, -1.0, -30.0)] == [1.0, 2.0, 3.0, 1.0, 3.0, 2.0]
    times, values = again.within(35.0, 95.0)
    assert times.tolist() == [35.0, 40.0, 50.0, 70.0, 80.0, 90.0]
    assert values.tolist() == [3.0, 1.0, 2.0, 3.0, 1.0, 2.0]
    assert again.covers(-1e9, 1e9)


@settings(deadline=None)
@given(st.floats(0.1, 1e4), st.floats(-1e9, 1e9), st.floats(0.01, 300.0), st.integers(1, 5))
def test_rounding_leaves_no_hole_where_rounds_meet(step: float, begin: float, length: float, count: int) -> None:
    """Whatever the numbers, a repeated function has values only of its own, in order of time."""
    again = Held(step * np.arange(count), np.arange(count) + 1.0, step * count, repeat=True)
    times, values = again.within(begin, begin + step * length)
    assert times[0] == begin
    assert np.isfinite(values).all()
    assert (np.diff(times) >= 0).all()


def test_functions_are_cut_wherever_one_changes() -> None:
    """Pieces begin at every change; a signal changes where its steps do."""
    signal = held_signal(Signal(4.0, 4.0, np.array([0.5, -0.5, 0.0, 1.0])))
    edges, (a, y, c) = cut(5.0, 15.0, [STEPS, signal, constant(7.0)])
    assert edges.tolist() == [5.0, 8.0, 10.0, 12.0, 15.0]
    assert a.tolist() == [1.0, 1.0, 2.0, 2.0]
    assert y.tolist() == [0.5, -0.5, -0.5, 0.0]
    assert c.tolist() == [7.0] * 4


def test_shift_and_scale() -> None:
    """A function may be moved in time and multiplied."""
    moved = STEPS.shifted(100.0).scaled(-2.0)
    assert (moved.at(100.0), moved.at(139.0), moved.end_s) == (-2.0, -6.0, 140.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Held(np.zeros(2), np.zeros(1)), "2 times but 1 values"),
        (lambda: Held(np.zeros(0), np.zeros(0)), "0 times"),
        (lambda: Held(np.array([1.0, 0.0]), np.zeros(2)), "must not go back"),
        (lambda: Held(np.array([1.0]), np.zeros(1), 0.0), "must not go back"),
        (lambda: Held(np.zeros(1), np.zeros(1), repeat=True), "must begin and end"),
        (lambda: cut(1.0, 1.0, [STEPS]), "must have a length"),
    ],
)
def test_what_is_no_step_function_is_refused(make: object, said: str) -> None:
    """Times and values belong together, in order."""
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]
