"""Hourly prices of energy and regulation from tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.errors import InputError, TraceError
from wattline.traces.prices import read_prices

ENERGY = "datetime_beginning_utc,total_lmp_rt,total_lmp_da\n7/1/2022 04:00,50.5,40\n7/1/2022 05:00,-3,41\n"
REGULATION = (
    "datetime_beginning_utc,reg_ccp,reg_pcp\n7/1/2022 5:00:00 AM,10.5,1.5\n7/1/2022 4:00:00 AM,20,1\n"
    "7/1/2022 6:00:00 AM,30,2\n"
)


def write(tmp_path: Path, **texts: str) -> list[Path]:
    """Write tables and return their paths."""
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return [tmp_path / f"{name}.csv" for name in texts]


def test_two_tables_are_matched_by_hour(tmp_path: Path) -> None:
    """Prices of one hour belong together whatever notation and order the files have; a lone hour is dropped, counted."""
    trace = read_prices(write(tmp_path, energy=ENERGY, regulation=REGULATION))
    assert trace.prices.energy_per_mwh.tolist() == [50.5, -3.0]
    assert trace.prices.capacity_per_mw.tolist() == [20.0, 10.5]
    assert trace.prices.performance_per_mw.tolist() == [1.0, 1.5]
    assert trace.prices.epoch_unix_s == 1656648000.0
    assert [(note.action, note.count) for note in trace.notes] == [("dropped", 1), ("dropped", 1)]
    with pytest.raises(TraceError, match="hour lacks another price"):
        read_prices([tmp_path / "energy.csv", tmp_path / "regulation.csv"], strict=True)


def test_the_energy_price_may_be_chosen(tmp_path: Path) -> None:
    """Real time stands before day ahead unless told otherwise."""
    paths = write(tmp_path, energy=ENERGY, regulation=REGULATION)
    assert read_prices(paths, energy_column="total_lmp_da").prices.energy_per_mwh.tolist() == [40.0, 41.0]


@pytest.mark.parametrize(
    ("energy", "said"),
    [
        ("datetime_beginning_utc,price\n7/1/2022 04:00,1\n", "no column of energy prices"),
        ("datetime_beginning_utc,lmp\n7/1/2022 04:00,1\n7/1/2022 04:00,2\n", "energy.csv:3: .*hour is listed twice"),
        ("datetime_beginning_utc,lmp\n7/1/2022 04:30,1\n", "not the beginning of an hour"),
        ("datetime_beginning_utc,lmp\n7/1/2022 04:00,much\n", "energy.csv:2: field 'lmp': is not a price"),
        ("hour_of_day,lmp\n4,1\n", "no column of times"),
        ("datetime_beginning_utc,lmp\n7/1/2021 04:00,1\n", "no hour has all three prices"),
        ("datetime_beginning_utc,lmp\n7/1/2022 04:00,1\n7/1/2022 06:00,1\n", "hours are missing between 2022-07-01T04"),
    ],
)
def test_bad_prices_are_one_line(tmp_path: Path, energy: str, said: str) -> None:
    """What is missing or doubled is refused in one line."""
    with pytest.raises(InputError, match=said) as caught:
        read_prices(write(tmp_path, energy=energy, regulation=REGULATION))
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="at least one file"):
        read_prices([])


def test_a_real_month(data_dir: Path) -> None:
    """PJM's July 2022: 744 hours of energy and regulation prices."""
    names = ("pjm_rt_hourly_lmp_PJM-RTO_2022-07.csv", "pjm_regulation_market_results_2022-07_hourly.csv")
    trace = read_prices([data_dir / "regulation" / name for name in names], strict=True)
    assert len(trace.prices) == 744
    first = trace.prices.at(0.0)
    assert (first.energy_per_mwh, first.capacity_per_mw, first.performance_per_mw) == (50.745045, 20.96, 1.26)
