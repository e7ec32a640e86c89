"""A day is known again by its sketch, whatever was done to it; other days are not taken for it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from test_nearly_copies import COPIES, HOUR, ONE, STEP_S, day, draws

from wattline.formats.series.records import read_records
from wattline.formats.series.sketch import LETTERS, is_sketch, is_sketched, sketch_of
from wattline.model.regulation import Signal

MORE = {
    "a little later": np.append(ONE[40:], draws(0.3, 40)),
    "its first half": ONE[: 12 * HOUR],
    "some of its hours": ONE[7 * HOUR + 11 : 13 * HOUR],
    "coarser": ONE[::7],
}


def signal(values: np.ndarray, step_s: float = STEP_S) -> Signal:
    """Return values as a signal."""
    return Signal(0.0, step_s, np.clip(values, -1.0, 1.0))


def test_a_sketch_is_the_means_of_five_minutes() -> None:
    """A letter stands for each, from the lowest of the day to the highest."""
    text = sketch_of(signal(ONE))
    means = ONE.reshape(288, -1).mean(axis=1)
    levels = np.array([LETTERS.index(letter) for letter in text])
    assert (text[means.argmin()], text[means.argmax()]) == ("A", "/")
    assert np.abs(levels / 63 - (means - means.min()) / np.ptp(means)).max() <= 0.5 / 63 + 1e-9
    assert is_sketch(text)
    assert not is_sketch(text + " ")


@pytest.mark.parametrize("how", [*COPIES, *MORE])
def test_a_near_copy_is_known_by_the_sketch(how: str) -> None:
    """Rounded, scaled, smoothed, with noise, shifted, in part: it is the same day."""
    values = COPIES[how]() if how in COPIES else MORE[how]
    made = signal(values, 7 * STEP_S if how == "coarser" else STEP_S)
    assert is_sketched(made, [sketch_of(signal(day(2))), sketch_of(signal(ONE))])
    assert not is_sketched(made, [sketch_of(signal(day(2)))])
    assert is_sketched(signal(ONE), [sketch_of(made)])


@pytest.mark.parametrize("hours", [2, 3, 5, 24])
@pytest.mark.parametrize("memory_s", [10.0, 60.0, 300.0, 1800.0])
def test_days_of_one_law_are_not_taken_for_copies(memory_s: float, hours: int) -> None:
    """Days drawn from one law stay two, whatever their length and memory; short ones that forget soon are known."""
    days = [signal(day(seed, memory_s, hours)) for seed in range(8)]
    texts = [sketch_of(one) for one in days]
    for k, one in enumerate(days):
        assert not is_sketched(one, texts[:k] + texts[k + 1 :])
        assert is_sketched(signal(one.values.round(2)), texts) or memory_s * 24 > hours * 3600


def test_what_does_not_move_or_is_short_is_not_known() -> None:
    """There is nothing to compare."""
    still, short = signal(np.full(ONE.size, 0.3)), signal(ONE[: HOUR // 20])
    assert not is_sketched(still, [sketch_of(still), sketch_of(signal(ONE)), ""])
    assert not is_sketched(signal(ONE), [sketch_of(still), sketch_of(short), ""])
    assert not is_sketched(short, [sketch_of(short), sketch_of(signal(ONE))])


@pytest.mark.skipif("WATTLINE_DATA" not in os.environ, reason="needs recorded signals")
def test_recorded_days_are_told_apart() -> None:
    """Of all recorded days none is taken for another, as it was or rounded; each is known when it is rounded."""
    files = sorted((Path(os.environ["WATTLINE_DATA"]) / "regulation").glob("*_2s*.csv.gz"))
    days = [record.signal for path in files for record in read_records(path).records]
    if len(days) < 2:
        pytest.skip("no recorded signals there")
    texts = [sketch_of(one) for one in days]
    rounded = [signal(one.values.round(2), one.step_s) for one in days]
    for k, one in enumerate(days):
        others = texts[:k] + texts[k + 1 :]
        assert not is_sketched(one, others)
        assert not is_sketched(rounded[k], others)
    for copy, text in zip(rounded, texts, strict=True):
        assert is_sketched(copy, [text])
