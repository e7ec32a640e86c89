"""Signals fitted to several recorded days: drawn days differ from each other as the recorded ones do."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.formats.series.records import read_records
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.generate.signal_days import fit_days, generate_days
from wattline.generate.signal_fit import fit_signal, fit_to
from wattline.market.signal_law import Law, law_of, pooled, signal_law_of, spreads
from wattline.model.regulation import Record, Signal

DAY_S = 86400.0


def days_of(std: list[float], step_s: float = 20.0, seed: int = 0) -> list[Record]:
    """Return recorded days of a normal law, each with its own standard deviation."""
    found = []
    for k, spread in enumerate(std):
        law = GaussianSignal(DAY_S, std=spread, step_s=step_s, energy_neutral=False, seed=seed + k)
        found.append(Record(f"day {k}", generate_signal(law)))
    return found


def drawn(fit_to_days: object, count: int = 60) -> list[Law]:
    """Return the figures of drawn days."""
    return [signal_law_of(generate_days(fit_to_days, DAY_S, seed)) for seed in range(count)]  # type: ignore[arg-type]


def test_one_day_is_fitted_as_ever() -> None:
    """The fit to one record is the fit to its signal."""
    (record,) = days_of([0.5])
    expected, (found,) = fit_signal(record.signal), fit_days([record]).days
    assert found.values == pytest.approx(expected.values, abs=1e-9)
    assert found.correlation == pytest.approx(expected.correlation, abs=1e-9)


def test_a_weighted_distribution_is_that_of_repeated_values() -> None:
    """A value of weight 3 among others counts as three equal values do, where these are many."""
    values = np.sort(np.random.default_rng(1).uniform(-1, 1, 3000))
    weights = np.random.default_rng(2).integers(1, 4, 3000)
    correlation = np.exp(-np.arange(50) / 10.0)
    one = fit_to(2.0, values, weights.astype(float), correlation)
    many = fit_to(2.0, np.repeat(values, weights), np.ones(weights.sum()), correlation)
    assert one.values == pytest.approx(many.values, abs=2e-3)


def test_days_of_one_law_are_told_to_differ_by_chance() -> None:
    """Where recorded days differ by chance alone, a drawn day hardly takes after a single one of them."""
    weights = [fit_days(days_of([0.4] * 8, seed=100 * k)).weight for k in range(4)]
    assert np.mean(weights) < 0.5


def test_days_that_differ_differ_when_drawn() -> None:
    """Where recorded days differ by more than chance, drawn ones do as much: in spread, and in the middle of it."""
    records = days_of([0.25, 0.35, 0.45, 0.55, 0.65, 0.30, 0.60])
    fit = fit_days(records)
    assert fit.weight > 0.6
    recorded, found = [law_of(record) for record in records], drawn(fit)
    assert pooled(found).std == pytest.approx(pooled(recorded).std, rel=0.1)
    assert spreads(found)["std"].std == pytest.approx(spreads(recorded)["std"].std, rel=0.35)


def test_long_signals_have_days_of_their_own() -> None:
    """A drawn signal of several days changes its law from day to day, and is the same for the same seed."""
    fit = fit_days(days_of([0.2, 0.2, 0.2, 0.7, 0.7, 0.7]))
    signal = generate_days(fit, 20 * DAY_S, 5)
    assert (signal.step_s, signal.values.size) == (20.0, 20 * 4320)
    stds = signal.values.reshape(20, 4320).std(axis=1)
    assert stds.max() > 1.8 * stds.min()
    assert generate_days(fit, 20 * DAY_S, 5).values.tolist() == signal.values.tolist()
    assert generate_days(fit, DAY_S, 6).values.tolist() != generate_days(fit, DAY_S, 7).values.tolist()
    neutral = generate_days(fit, 3 * DAY_S, 5, energy_neutral=True).values.reshape(72, 180).mean(axis=1)
    assert np.abs(neutral).max() < 1e-9


def test_missing_signal_is_left_out_of_the_fit() -> None:
    """A day half of which was held at +1 is fitted to its other half."""
    (record,) = days_of([0.3])
    held = record.signal.values.copy()
    held[:2160] = 1.0
    gap = Record("half", Signal(0.0, 20.0, held), ((0.0, 43200.0),))
    values = fit_days([gap]).days[0].values
    assert values.std() == pytest.approx(fit_days([record]).days[0].values.std(), rel=0.2)
    assert np.mean(values == 1.0) < 0.1


def test_what_cannot_be_fitted_is_refused() -> None:
    """No record, and a record that never moves, are refused by name."""
    with pytest.raises(InputError, match="there is no record to fit to"):
        fit_days([])
    still = Record("still", Signal(0.0, 20.0, np.zeros(4320)))
    with pytest.raises(InputError, match="record 'still' needs at least 100 values that vary"):
        fit_days([*days_of([0.4]), still])


def test_many_days_keep_some_values_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many days some values of each are kept; the law hardly changes."""
    from wattline.generate import signal_days

    records = days_of([0.3, 0.4, 0.5])
    whole = fit_days(records)
    monkeypatch.setattr(signal_days, "MOST_VALUES", 1)
    part = fit_days(records)
    for one, other in zip(whole.days, part.days, strict=True):
        assert np.abs(one.values - other.values)[1500:3500].max() < 0.01, "within two standard deviations"


def test_days_like_recorded_regd(data_dir: Path) -> None:
    """Days drawn after seven of RegD have their figures, and differ in mean, spread, time constant and spread of hours
    as these do, within what seven days can tell (99 % of the law of a variance with six degrees of freedom).
    """
    records = read_records(sorted((data_dir / "regulation").glob("pjm_regd_2020-07-*.csv.gz")))
    found = drawn(fit_days(records.records), 60)
    together, recorded = pooled(found), records.law
    assert together.mean == pytest.approx(recorded.mean, abs=0.015)
    assert together.std == pytest.approx(recorded.std, rel=0.02)
    assert together.ends == pytest.approx(recorded.ends, abs=0.01)
    assert together.time_constant_s == pytest.approx(recorded.time_constant_s, rel=0.06)
    assert together.hour_std == pytest.approx(recorded.hour_std, rel=0.15)
    low, high = (math.sqrt(x / 6.0) for x in (0.676, 18.548))
    for figure in ("mean", "std", "time_constant_s", "hour_std"):
        ratio = spreads(records.laws)[figure].std / spreads(found)[figure].std
        assert low < ratio < high, figure
