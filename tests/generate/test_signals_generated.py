"""Synthetic regulation signals: of the stated spread and memory, neutral by the hour, and like the real ones fitted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.generate.signal import FittedSignal, GaussianSignal, generate_signal
from wattline.generate.signal_fit import fit_signal
from wattline.market.signal_law import autocorrelation
from wattline.model.regulation import Signal

LAGS_S = (2, 4, 10, 20, 50, 100, 200, 300, 400, 600, 800)


def by_hour(signal: Signal) -> np.ndarray:
    """Return whole hours as rows."""
    per_hour = round(3600.0 / signal.step_s)
    return signal.values[: signal.values.size // per_hour * per_hour].reshape(-1, per_hour)


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest difference of two distribution functions (Kolmogorov and Smirnov's)."""
    at = np.concatenate([first, second])
    share = [np.searchsorted(np.sort(values), at, side="right") / values.size for values in (first, second)]
    return float(np.abs(share[0] - share[1]).max())


def test_the_default_hour() -> None:
    """An hour has 1,800 values of 2 s within [−1, 1] and averages to zero."""
    signal = generate_signal(GaussianSignal())
    assert (signal.values.size, signal.step_s, signal.start_s, signal.end_s) == (1800, 2.0, 0.0, 3600.0)
    assert abs(signal.values.mean()) < 1e-9
    assert signal.covers(0.0, 3600.0)


@pytest.mark.parametrize("neutral", [True, False])
@pytest.mark.parametrize(("std", "tau_s"), [(0.05, 200.0), (0.40, 20.0), (0.40, 200.0), (0.40, 800.0), (0.80, 200.0)])
def test_spread_comes_out_as_asked(std: float, tau_s: float, neutral: bool) -> None:
    """Over many hours the standard deviation is the wanted one within 2 %, clipped and shifted or not."""
    hours = 400 if tau_s < 800 else 1200
    signal = generate_signal(GaussianSignal(hours * 3600.0, std, tau_s, energy_neutral=neutral))
    assert signal.values.std() == pytest.approx(std, rel=0.02)
    assert np.abs(signal.values).max() <= 1.0


def test_memory_is_the_time_constant() -> None:
    """Without neutrality the autocorrelation is exp(−lag / time constant)."""
    law = GaussianSignal(1000 * 3600.0, 0.3, 300.0, step_s=4.0, energy_neutral=False)
    found = autocorrelation(generate_signal(law).values, 200)
    assert found[[25, 75, 200]] == pytest.approx(np.exp(-np.array([100.0, 300.0, 800.0]) / 300.0), abs=0.03)


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.05, 0.95),
    st.floats(1.0, 7200.0),
    st.sampled_from([0.5, 2.0, 4.0, 60.0, 1800.0]),
    st.integers(0, 2**40),
    st.integers(1, 5),
)
def test_every_hour_is_neutral(std: float, tau_s: float, step_s: float, seed: int, hours: int) -> None:
    """Whatever the parameters, every whole hour averages to less than 1e-9."""
    law = GaussianSignal(hours * 3600.0, std, tau_s, step_s, seed=seed)
    assert np.abs(by_hour(generate_signal(law)).mean(axis=1)).max() < 1e-9


def test_same_seed_same_signal() -> None:
    """A generator is a function of its parameters; a longer normal signal begins like a shorter one."""
    short, again = generate_signal(GaussianSignal(5000.0)), generate_signal(GaussianSignal(5000.0))
    longer = generate_signal(GaussianSignal(20_000.0))
    assert np.array_equal(short.values, again.values)
    assert np.array_equal(short.values, longer.values[: short.values.size])
    assert not np.array_equal(short.values, generate_signal(GaussianSignal(5000.0, seed=2)).values)


def test_any_length_step_and_start() -> None:
    """The signal covers the time asked for, however it divides."""
    signal = generate_signal(GaussianSignal(4001.0, step_s=4.0, start_s=-100.0))
    assert signal.covers(-100.0, 3901.0)
    assert signal.values.size == 1001
    assert generate_signal(GaussianSignal(100.0, step_s=7.0, energy_neutral=False)).values.size == 15


def square_waves() -> Signal:
    """Return a signal that saturates for half of the time, with a level in between."""
    random = np.random.default_rng(5)
    return Signal(0.0, 2.0, np.repeat(random.choice([-1.0, 0.1, 0.3, 1.0], 2000), 20))


def test_fitted_signals_are_reproducible_and_neutral_if_asked() -> None:
    """The same seed draws the same; asked for, hours average to zero and saturated values stay at the limits."""
    fit = fit_signal(square_waves())
    first, again = (generate_signal(FittedSignal(fit, 7200.0, energy_neutral=True)) for _ in range(2))
    assert np.array_equal(first.values, again.values)
    assert np.abs(by_hour(first).mean(axis=1)).max() < 1e-9
    assert (np.abs(first.values) == 1.0).mean() > 0.2
    assert not np.array_equal(first.values, generate_signal(FittedSignal(fit, 7200.0, True, seed=2)).values)


def test_a_fit_of_a_made_signal_finds_it_again() -> None:
    """Fitted to a long normal signal, the generator has its spread, its clipping and its memory."""
    source = generate_signal(GaussianSignal(300 * 3600.0, 0.6, 150.0, energy_neutral=False))
    made = generate_signal(FittedSignal(fit_signal(source), 300 * 3600.0))
    assert distance(source.values, made.values) < 0.02
    expected, found = autocorrelation(source.values, 400), autocorrelation(made.values, 400)
    assert np.abs(expected - found).max() < 0.03


REAL = {
    "regd 2016": ("pjm_regd_2016-01_one-day_2s_noise0.05.csv.gz", "regd"),
    "regd 2020-07-16": ("pjm_regd_2020-07-16_2s.csv.gz", "regd"),
    "regd 2020-07-22": ("pjm_regd_2020-07-22_2s.csv.gz", "regd"),
    "rega 2017-08-01": ("pjm_rega_2017-08-01_02_16h-24h_2s_raw.csv.gz", "8/1/2017"),
}


@pytest.mark.parametrize("name", REAL)
def test_like_the_real_day(data_dir: Path, name: str) -> None:
    """Eight drawn days have the real one's distribution, share of saturation and autocorrelation from 2 s to 800 s."""
    file, column = REAL[name]
    real = Signal(0.0, 2.0, pl.read_csv(data_dir / "regulation" / file)[column].cast(pl.Float64).to_numpy())
    length_s = real.end_s
    fit = fit_signal(real)
    days = [generate_signal(FittedSignal(fit, length_s, seed=seed)).values for seed in range(8)]
    made = np.concatenate(days)
    assert distance(real.values, made) < 0.05
    for limit in (-1.0, 1.0):
        assert (made == limit).mean() == pytest.approx((real.values == limit).mean(), abs=0.03)
    lags = np.array(LAGS_S) // 2
    expected = autocorrelation(real.values, 400)[lags]
    found = np.mean([autocorrelation(day, 400) for day in days], axis=0)[lags]
    short = np.array(LAGS_S) <= 20
    assert np.abs(expected - found)[short].max() < 0.01
    assert np.abs(expected - found).max() < 0.08  # a day has few independent stretches of 800 s
    hours = np.concatenate([by_hour(Signal(0.0, 2.0, day)).mean(axis=1) for day in days])
    assert hours.std() == pytest.approx(by_hour(real).mean(axis=1).std(), rel=0.35)


ALL_LOW = Signal(0.0, 2.0, -0.2 - 0.5 * np.random.default_rng(1).random(500))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GaussianSignal(std=1.2), r"std must lie in \[1e-06, 0.95\]"),
        (lambda: GaussianSignal(std=0.0), "std must lie in"),
        (lambda: GaussianSignal(std=1e-300), "std must lie in"),
        (lambda: GaussianSignal(time_constant_s=1e300), "a time constant of 1e.300 s is more than 1e.07 s"),
        (lambda: GaussianSignal(duration_s=-1.0), "duration_s must be positive"),
        (lambda: GaussianSignal(time_constant_s=0.0), "time_constant_s must be positive"),
        (lambda: GaussianSignal(step_s=7.0), "steps of 7 s do not fill an hour"),
        (lambda: GaussianSignal(step_s=3600.0), "steps of 3600 s do not fill an hour"),
        (lambda: generate_signal(GaussianSignal(seed=-1)), "a seed is a whole number from 0"),
        (lambda: fit_signal(Signal(0.0, 2.0, np.zeros(500))), "got a constant signal"),
        (lambda: fit_signal(Signal(0.0, 2.0, np.array([0.0, 1.0]))), "got 2 values"),
        (lambda: fit_signal(ALL_LOW, memory_s=1.0), "memory_s must span"),
        (lambda: generate_signal(FittedSignal(fit_signal(ALL_LOW), 3600.0, True)), "cannot average to zero"),
        (lambda: FittedSignal(fit_signal(ALL_LOW), 0.0), "duration_s must be positive"),
    ],
)
def test_wrong_parameters_are_named(make: object, said: str) -> None:
    """A parameter outside its range is refused in one line."""
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]
