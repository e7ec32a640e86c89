"""Days that are nearly copies of each other are no two days; days of one law are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wattline.errors import TraceError
from wattline.formats.series.alike import ALIKE, MEAN_S, PIECE_S, nearly_repeated
from wattline.formats.series.records import read_records

STEP_S = 4.0
HOUR = int(3600 / STEP_S)


def day(seed: int, memory_s: float = 60.0, hours: int = 24) -> np.ndarray:
    """Return a day of a signal that forgets in some time (an Ornstein–Uhlenbeck process, cut at ±1)."""
    draws = np.random.default_rng(seed).normal(size=hours * HOUR)
    keep = np.exp(-STEP_S / memory_s)
    values = np.empty(draws.size)
    now = draws[0]
    for k, draw in enumerate(draws):
        now = keep * now + np.sqrt(1 - keep * keep) * draw
        values[k] = now
    return np.clip(0.4 * values, -1.0, 1.0)


def draws(scale: float, size: int) -> np.ndarray:
    """Return noise."""
    return np.random.default_rng(99).normal(size=size) * scale


ONE = day(1)
COPIES: dict[str, Callable[[], np.ndarray]] = {
    "noise": lambda: ONE + draws(0.2, ONE.size),
    "scaled": lambda: 0.7 * ONE,
    "rounded": lambda: np.round(ONE, 1),
    "held": lambda: np.repeat(ONE[::3], 3),
    "smoothed": lambda: np.convolve(ONE, np.ones(8) / 8, "same"),
    "another clock": lambda: np.interp(np.arange(ONE.size) * 1.0005, np.arange(ONE.size), ONE),
    "later": lambda: np.roll(ONE, 1234) + draws(0.05, ONE.size),
    "the other way": lambda: draws(0.05, ONE.size) - ONE,
    "half of it": lambda: np.concatenate([ONE[: 12 * HOUR], day(7, hours=12)]) + draws(0.02, ONE.size),
}


@pytest.mark.parametrize("how", COPIES)
def test_nearly_a_copy_is_found(how: str) -> None:
    """Whatever was done to a day: it is the same one."""
    found = nearly_repeated([day(2), ONE, day(3), COPIES[how]()], STEP_S)
    assert found is not None
    assert (found.first, found.other) == (1, 3)
    assert found.share >= (0.5 if how == "half of it" else 0.8)


@pytest.mark.parametrize("memory_s", [10.0, 60.0, 300.0, 1800.0])
def test_days_of_one_law_are_different(memory_s: float) -> None:
    """Days drawn from one law stay two, also where they remember for long."""
    assert nearly_repeated([day(seed, memory_s) for seed in range(10)], STEP_S) is None


def test_what_does_not_move_or_is_short_is_not_judged() -> None:
    """There is nothing to compare."""
    assert nearly_repeated([], STEP_S) is None
    assert nearly_repeated([np.zeros(0), ONE], STEP_S) is None
    assert nearly_repeated([np.full(ONE.size, 0.3), np.full(ONE.size, 0.7)], STEP_S) is None
    assert nearly_repeated([ONE[:HOUR], 0.9 * ONE[:HOUR]], STEP_S) is None


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_a_plain_search(seed: int) -> None:
    """The share of pieces is that of a loop over all times with numpy's correlation coefficient."""
    rng = np.random.default_rng(seed)
    first, other = day(seed, hours=10), day(seed + 50, hours=9)
    begin, size = int(rng.integers(0, 2 * HOUR)), int(rng.integers(3, 8)) * HOUR
    copied = 0.8 * first[2 * HOUR - begin // 2 :][: min(size, other.size - begin)]
    other[begin : begin + copied.size] = copied + draws(0.05, copied.size)
    averaged = [v[: v.size // 5 * 5].reshape(-1, 5).mean(axis=1) for v in (first, other)]
    length = int(PIECE_S / MEAN_S)
    pieces = [averaged[1][i : i + length] for i in range(0, averaged[1].size - length + 1, length)]
    best = [
        max(abs(np.corrcoef(piece, averaged[0][t : t + length])[0, 1]) for t in range(averaged[0].size - length + 1))
        for piece in pieces
    ]
    share = np.mean(np.array(best) >= ALIKE)
    found = nearly_repeated([first, other], STEP_S)
    assert (found.share if found is not None else 0.0) == pytest.approx(share)


def test_a_set_with_a_near_copy_is_one_line(tmp_path: Path) -> None:
    """The reader of records refuses it with both names."""
    for name, values in (("a", ONE), ("b", day(2)), ("c", np.round(0.999 * ONE, 5))):
        rows = "\n".join(f"{k * STEP_S:g},{y}" for k, y in enumerate(values.tolist()))
        (tmp_path / f"{name}.csv").write_text(f"t_s,regd\n{rows}\n")
    with pytest.raises(TraceError, match=r"'c' repeats 'a': 100% of it goes up and down as pieces of that do") as said:
        read_records([tmp_path / f"{name}.csv" for name in "abc"])
    assert "\n" not in str(said.value)
    assert len(read_records([tmp_path / "a.csv", tmp_path / "b.csv"]).records) == 2
