"""Quantities are what their decimals say, to the nearest float: 2.2 h are 7,920 s and not a hair more, which would put
a limit, an outage or a bid behind the job that is submitted then.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wattline as wl
from wattline.arrays import in_units
from wattline.formats.jobs import read_trace
from wattline.units import ENERGY_UNITS, POWER_UNITS, TIME_UNITS, duration_s, energy_j, power_w

UNITS = [(duration_s, TIME_UNITS), (power_w, POWER_UNITS), (energy_j, ENERGY_UNITS)]


@pytest.mark.parametrize(("read", "units"), UNITS, ids=["time", "power", "energy"])
@given(st.integers(0, 10**7), st.integers(0, 6))
def test_quantities_are_exact(read: object, units: dict[str, float], number: int, places: int) -> None:
    """Of any unit, with any number of decimals."""
    text = f"{number // 10**places}.{number % 10**places:0{places}d}" if places else str(number)
    for unit, factor in units.items():
        assert read(f"{text} {unit}") == float(Fraction(text) * Fraction(repr(factor)))  # type: ignore[operator]


@given(st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 6)), min_size=1, max_size=20))
def test_columns_are_exact(numbers: list[tuple[int, int]]) -> None:
    """As single numbers are, while all is well below fifteen digits."""
    texts = [f"{n}e-{places}" for n, places in numbers]
    for factor in (3600.0, 60.0, 86400.0, 1e-3, 1e3, 1e-6):
        expected = [float(Fraction(text) * Fraction(repr(factor))) for text in texts]
        found = in_units(np.array([float(text) for text in texts]), factor).tolist()
        assert [a for a, b in zip(found, expected, strict=True) if abs(b) > 1e-7 or b == 0.0] == [
            b for b in expected if abs(b) > 1e-7 or b == 0.0
        ]


def test_numbers_of_many_digits_stay_as_they_are() -> None:
    """Unix times with microseconds have more than fifteen digits; nan, endless and empty columns pass."""
    values = np.array([1711846200123.456, 1711846200123.457, np.nan, np.inf, -np.inf, 0.0, 1e300])
    found = in_units(values, 1e-3)
    assert np.isnan(found[2])
    assert found[[3, 4, 5]].tolist() == [np.inf, -np.inf, 0.0]
    known = found[[0, 1]]
    assert (np.abs(known - [1711846200.123456, 1711846200.123457]) < 5e-7).all()
    assert known[0] < known[1]
    assert in_units(np.zeros(0), 60.0).size == 0


def test_a_limit_holds_from_the_moment_that_its_decimals_say(tmp_path: Path) -> None:
    """A job that is submitted as it begins is under it. It drew 1,200 W below a limit of 800 W for its whole run."""
    (tmp_path / "j.csv").write_text("submit_s,work_s,nodes\n0,100,4\n7920,5000,4\n")
    starts = []
    for begins in ('"2.2 h"', '"132 min"', "7920"):
        (tmp_path / "l.toml").write_text(
            '[trace]\nfile = "j.csv"\n[cluster]\nnodes = 4\nidle = "100 W"\nmax = "300 W"\n'
            f'[limit]\nsteps = [["0 s", "off"], [{begins}, "800 W"], ["5 h", "off"]]\n'
        )
        run = wl.simulate(wl.load(tmp_path / "l.toml"))
        starts.append(run.jobs["start_s"].to_list())
        assert run.summary.power.above_limit_s == 0.0
    assert starts == [[0.0, 18000.0]] * 3


def test_columns_in_hours_are_exact(tmp_path: Path) -> None:
    """Of a job table: a run of 2.2 h ends when one of 132 min does."""
    (tmp_path / "jobs.csv").write_text("at,len,nodes\n1.1,2.2,1\n4.1,0.3,1\n")
    found = read_trace(tmp_path / "jobs.csv", columns={"submit_s": "at:h", "work_s": "len:h", "nodes": "nodes"}).jobs
    assert np.diff(found.submit_s).tolist() == [10800.0]
    assert found.work_s.tolist() == [7920.0, 1080.0]
