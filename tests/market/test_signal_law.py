"""Figures of regulation signals: as a plain count has them, without what was missing, and laws told apart by them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.formats.series.records import read_records
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.market.signal_law import (
    Law,
    autocorrelation,
    differs,
    law_of,
    pooled,
    signal_law_of,
    spreads,
    strangers,
    time_constant_s,
)
from wattline.model.regulation import Record, Signal


def wandering(seed: int, count: int) -> np.ndarray:
    """Return a signal that remembers some steps and reaches its ends."""
    noise = np.random.default_rng(seed).normal(0, 1, count + 9)
    return np.clip(np.convolve(noise, np.ones(10) / 10**0.5, "valid")[:count] * 0.6, -1, 1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([10.0, 20.0, 60.0]), st.integers(0, 900), st.integers(1, 400))
def test_figures_agree_with_a_plain_count(seed: int, step_s: float, begin: int, length: int) -> None:
    """Mean, std, ends, mileage and the spread of hours are those of the values that are there, one by one."""
    values = wandering(seed, 1500)
    begin_s, end_s = begin * step_s, (begin + length) * step_s
    record = Record("r", Signal(0.0, step_s, values), ((begin_s, end_s),))
    law = law_of(record)
    there = [k for k in range(values.size) if not begin <= k < begin + length]
    known = [float(values[k]) for k in there]
    mean = math.fsum(known) / len(known)
    assert law.mean == pytest.approx(mean, abs=1e-12)
    assert law.std == pytest.approx(math.sqrt(math.fsum((y - mean) ** 2 for y in known) / len(known)))
    assert law.ends == pytest.approx(sum(abs(y) >= 0.999 for y in known) / len(known))
    ways = [abs(values[k + 1] - values[k]) for k in there if k + 1 in set(there)]
    assert law.mileage_per_h == pytest.approx(math.fsum(ways) / len(ways) * 3600.0 / step_s)
    assert law.hours == pytest.approx(len(known) * step_s / 3600.0)
    per_hour = round(3600.0 / step_s)
    hours = [range(a, a + per_hour) for a in range(0, values.size - per_hour + 1, per_hour)]
    means = [values[list(h)].mean() for h in hours if not any(begin <= k < begin + length for k in h)]
    assert law.hour_std == pytest.approx(np.std(means, ddof=1) if len(means) > 1 else math.nan, nan_ok=True)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 100), st.integers(0, 60))
def test_autocorrelation_counts_pairs_that_are_there(seed: int, begin: int, length: int) -> None:
    """With values missing it is the mean product of the pairs that are left, shrunk with the lag as without gaps."""
    values = wandering(seed, 200)
    there = np.ones(200, dtype=bool)
    there[begin : begin + length] = False
    x = values - values[there].mean()
    expected = []
    for lag in range(31):
        pairs = [x[k] * x[k + lag] for k in range(200 - lag) if there[k] and there[k + lag]]
        expected.append((200 - lag) * math.fsum(pairs) / len(pairs) if pairs else 0.0)
    assert autocorrelation(values, 30, there) == pytest.approx(np.array(expected) / expected[0], abs=1e-9)
    if not length:
        assert autocorrelation(values, 30) == pytest.approx(np.array(expected) / expected[0], abs=1e-9)


def test_time_constant_of_a_known_process() -> None:
    """A signal drawn with a time constant has it, and keeps it where hours of it are lost."""
    signal = generate_signal(GaussianSignal(40 * 86400.0, time_constant_s=150.0, energy_neutral=False, step_s=10.0))
    assert time_constant_s(signal.values, 10.0) == pytest.approx(150.0, rel=0.05)
    lost = tuple((k * 7200.0, k * 7200.0 + 1800.0) for k in range(480))
    held = signal.values.copy()
    for begin_s, end_s in lost:
        held[int(begin_s / 10) : int(end_s / 10)] = 1.0
    whole, part = signal_law_of(signal), law_of(Record("part", Signal(0.0, 10.0, held), lost))
    assert part.time_constant_s == pytest.approx(whole.time_constant_s, rel=0.05)
    assert part.std == pytest.approx(whole.std, rel=0.02)


def test_signals_that_hardly_move() -> None:
    """A signal that never moves has no time constant; one that moves once a day has an endless one."""
    still = signal_law_of(Signal(0.0, 60.0, np.full(1440, 0.25)))
    assert math.isnan(still.time_constant_s)
    assert (still.std, still.mileage_per_h, still.hour_std) == (0.0, 0.0, 0.0)
    once = signal_law_of(Signal(0.0, 60.0, np.repeat([-0.5, 0.5], 720)))
    assert once.time_constant_s == math.inf
    assert differs(still, still) == []
    assert "its standard deviation is 0.50, not 0.00" in differs(once, still)
    assert "its time constant is endless, not none" in differs(once, still)
    with pytest.raises(InputError, match="the signal is missing all the time"):
        law_of(Record("r", Signal(0.0, 60.0, np.zeros(60)), ((0.0, 3600.0),)))


def law(name: str = "r", hours: float = 24.0, **figures: float) -> Law:
    """Return figures of a day of RegD, but for some."""
    usual = {"mean": -0.05, "std": 0.6, "time_constant_s": 200.0, "ends": 0.18, "mileage_per_h": 25.0, "hour_std": 0.15}
    return Law(name, **(usual | figures), hours=hours)


def test_allowances_are_those_stated() -> None:
    """Days of one law differ by up to the stated allowances; beyond each of them a sentence says so."""
    for figure, within, beyond in (
        ("mean", 0.099, 0.101),
        ("std", 0.719, 0.721),
        ("std", 0.501, 0.499),
        ("time_constant_s", 299.0, 301.0),
        ("ends", 0.279, 0.281),
    ):
        assert differs(law(**{figure: within}), law()) == differs(law(), law(**{figure: within})) == []
        assert len(differs(law(**{figure: beyond}), law())) == len(differs(law(), law(**{figure: beyond}))) == 1
    assert differs(law(hours=6.0, mean=0.24), law()) == [], "a quarter of a day may differ by twice as much"
    assert differs(law(hours=6.0, mean=0.26), law()) == ["its mean is 0.26, not -0.05"]


def test_pooled_figures_are_weighted_by_hours() -> None:
    """Records together have the means of their figures by time; their range and spread are told beside it."""
    laws = [law(hours=24.0, std=0.6), law(hours=12.0, std=0.9, hour_std=math.nan)]
    together = pooled(laws)
    assert (together.std, together.hours, together.records) == (pytest.approx(0.7), 36.0, 2)
    assert together.hour_std == pytest.approx(0.15)
    assert (spreads(laws)["std"].low, spreads(laws)["std"].high) == (0.6, 0.9)
    assert spreads(laws)["std"].std == pytest.approx(0.15 * math.sqrt(2.0))
    with pytest.raises(InputError, match="there is no record"):
        pooled([])


def test_the_stranger_is_the_one_that_differs_from_most() -> None:
    """Among three records two of which agree the third is the stranger, wherever it stands."""
    other = law("b", std=0.3)
    for k in range(3):
        laws = [law("a", std=0.6), law("c", std=0.64)]
        laws.insert(k, other)
        assert strangers(laws) == {
            k: "record 'b' differs in law from 2 others: its standard deviation is 0.30, not 0.60 to 0.64"
        }
    assert strangers([law("a"), other]) == {
        1: "record 'b' differs in law from 'a': its standard deviation is 0.30, not 0.60"
    }
    assert strangers([]) == {}


def test_a_stranger_is_none_of_the_others() -> None:
    """A record at the edge of what is usual is held against the others, and is not counted among them."""
    laws = [law("a", mean=0.0), *(law(f"b{k}", mean=-0.1) for k in range(3)), law("c", mean=0.14)]
    assert strangers(laws) == {4: "record 'c' differs in law from 4 others: its mean is 0.14, not -0.10 to 0.00"}


@pytest.fixture(scope="module")
def products(data_dir: Path) -> dict[str, list[Law]]:
    """Return the figures of the recorded signals, and of the papers' one."""
    folder = data_dir / "regulation"
    found = {
        name: list(read_records(sorted(folder.glob(pattern))).laws)
        for name, pattern in (("RegD 2020", "pjm_regd_2020*"), ("RegD 2016", "pjm_regd_2016*"), ("RegA", "pjm_rega*"))
    }
    found["normal"] = [signal_law_of(generate_signal(GaussianSignal(86400.0, seed=k))) for k in range(5)]
    return found


def test_recorded_days_of_one_product_agree(products: dict[str, list[Law]]) -> None:
    """Each of the seven RegD days of 2020 agrees with the six others, and so do all days that are drawn alike."""
    for name in ("RegD 2020", "normal"):
        days = products[name]
        assert [differs(day, pooled([other for other in days if other is not day])) for day in days] == [[]] * len(days)
    assert strangers(products["RegA"]) == strangers(products["RegD 2020"]) == {}


def test_products_differ_in_law(products: dict[str, list[Law]]) -> None:
    """RegD of 2020 and of 2016, RegA and the papers' normal signal all differ in law, each record from each set."""
    for one, days in products.items():
        for other, laws in products.items():
            if one != other:
                assert all(differs(day, pooled(laws)) for day in days), (one, other)


def test_a_day_of_another_product_is_said_loudly(data_dir: Path) -> None:
    """A record of another product in a set is kept, and told by name with its figures and the others' range."""
    folder = data_dir / "regulation"
    found = read_records([*sorted(folder.glob("pjm_regd_2020*")), *folder.glob("pjm_regd_2016*")])
    (name,) = found.strangers
    assert name == "pjm_regd_2016-01_one-day_2s_noise0.05"
    assert "its standard deviation is 0.30, not 0.60 to 0.64" in found.strangers[name]
    assert len(found.records) == 8
