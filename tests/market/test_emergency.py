"""Emergency curtailment: bills by hand, against a plain twin, and in a scenario."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.emergency import Steps, emergency_bill
from wattline.errors import InputError
from wattline.journal.journal import open_journal
from wattline.market.bill import Book, bill_hours, hour_edges
from wattline.market.held import Held, constant
from wattline.market.products.emergency import Emergency, due
from wattline.scenario import read_scenario, variants, wire


def held(*steps: tuple[float, float]) -> Held:
    """Return a step function."""
    return Held(*(np.array(column, dtype=np.float64) for column in zip(*steps, strict=True)))


def test_a_request_by_hand() -> None:
    """20 kW asked for from minute 10 to 40, notice 10 min: 20 min due; half of them at 60 of 70 kW, half at 45."""
    series = {
        "energy": constant(0.1),
        "request": held((0.0, 0.0), (600.0, 20e3), (2400.0, 0.0)),
        "baseline": constant(70e3),
        "pay": constant(0.6),
        "penalty": constant(3.0),
    }
    power = np.array([0.0, 1200.0, 1800.0, 2400.0]), np.array([70e3, 60e3, 45e3, 80e3])
    (row,) = bill_hours(*power, hour_edges(0.0, 3600.0, 0.0), Book(Emergency(600.0), series))
    assert row.performance_credit == pytest.approx(0.01 * 20 * 20)  # a cent per kW and minute
    assert row.error_cost == pytest.approx(0.05 * 10 * 10)  # ten of the twenty kW, for ten minutes
    assert row.cost == pytest.approx(row.drawn_cost - 4.0 + 5.0)
    assert (row.capacity_credit, row.error_price_per_kwh) == (0.0, 3.0)
    assert math.isnan(row.mean_w)


def test_a_notice_reaches_over_the_hour_and_the_end_of_a_series() -> None:
    """What is asked for just before an hour is due in it; a request that repeats is due a notice after each
    beginning.
    """
    asked = held((0.0, 0.0), (3500.0, 10.0))
    assert [due(asked, 200.0).at(t) for t in (3500.0, 3699.0, 3700.0)] == [0.0, 0.0, 10.0]
    again = Held(np.array([0.0, 50.0]), np.array([10.0, 0.0]), 100.0, repeat=True)
    assert [due(again, 20.0).at(t) for t in (10.0, 30.0, 60.0, 110.0, 130.0)] == [0.0, 10.0, 0.0, 0.0, 10.0]


def steps(last: int, most: float) -> st.SearchStrategy[list[tuple[int, float]]]:
    """Draw a step function from second 0 on."""
    step = st.tuples(st.integers(1, last), st.floats(0.0, most))
    first = st.floats(0.0, most).map(lambda value: (0, value))
    later = st.lists(step, max_size=6, unique_by=lambda s: s[0]).map(sorted)
    return st.tuples(first, later).map(lambda both: [both[0], *both[1]])


@settings(max_examples=80, deadline=None)
@given(steps(400, 9e4), steps(400, 5e4), steps(400, 9e4), st.tuples(*[st.floats(0.0, 1.0)] * 3), st.integers(0, 90))
def test_any_request_is_billed_as_second_by_second(
    power: Steps, request: Steps, baseline: Steps, prices: tuple[float, float, float], notice_s: int
) -> None:
    """Energy, pay and penalty are those of a plain loop over seconds, whatever is asked for and drawn."""
    series = {"energy": constant(prices[0]), "request": held(*request), "baseline": held(*baseline)}
    series |= {"pay": constant(prices[1]), "penalty": constant(prices[2])}
    drawn = held(*power)
    rows = bill_hours(
        drawn.time_s, drawn.values, np.array([0.0, 150.0, 450.0]), Book(Emergency(float(notice_s)), series)
    )
    wanted = emergency_bill(power, request, baseline, prices, notice_s, 450)
    found = [sum(getattr(row, name) for row in rows) for name in ("energy_cost", "performance_credit", "error_cost")]
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


SCENARIO = """\
seed = 1
kinds = "W14"
[trace]
generator = "kinds"
duration = "2 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[run]
until = "2 h"
[prices]
rules = "emergency"
energy = 0.1
baseline = "9 kW"
pay = "0.01 $/kW-min"
penalty = "0.05 $/kW-min"
notice = "10 min"
request = {file = "calls.csv", gaps = "hold"}
"""


def test_a_scenario_sells_a_reduction(tmp_path: Path) -> None:
    """The journal has what was paid for the call, at prices per kWh, and its manifest the keys as they were given."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "calls.csv").write_text("time,reduction\n0,0\n3600,1500\n6000,0\n86400,0\n")
    study = wire(variants(read_scenario(tmp_path / "s.toml"))[0])
    study.write(study.simulate(), tmp_path / "out")
    journal = open_journal(tmp_path / "out")
    hours = journal.read("hours")
    assert hours["performance_credit"].to_list() == pytest.approx([0.0, 0.01 * 1.5 * 30])
    assert (hours["performance_price_per_kwh"] == 0.6).all()
    assert journal.manifest["accounts"]["rules"] == "emergency"
    assert journal.manifest["accounts"]["series"]["pay"] == {"value": 0.01, "unit": "$/kW-min"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ('request = {file = "calls.csv", gaps = "hold"}\n', ""),
            '[prices] rules: rules = "emergency" needs request: request = …',
        ),
        (("penalty = ", "reserve = "), '[prices] reserve: does not go with rules = "emergency"'),
        (('rules = "emergency"\n', ""), '[prices] request: does not go with rules = "paper"'),
        (('"10 min"', '"-10 min"'), "notice"),
        (('"9 kW"', '"9 $/kWh"'), "[prices] baseline: unknown unit '$/kWh' in '9 $/kWh'"),
        (("[prices]", "[regulation]\n[prices]"), 'rules = "emergency" settles no bid, and there is a [regulation]'),
    ],
)
def test_what_cannot_be_sold_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    """Keys that are missing or do not go with a reduction are named, with their line."""
    (tmp_path / "s.toml").write_text(SCENARIO.replace(*change))
    (tmp_path / "calls.csv").write_text("time,reduction\n0,0\n3600,1500\n7200,0\n")
    with pytest.raises(InputError) as caught:
        wire(variants(read_scenario(tmp_path / "s.toml"))[0])
    assert said in str(caught.value)
