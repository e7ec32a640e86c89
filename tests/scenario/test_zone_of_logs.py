"""Logs with local times on prices by date: their zone is given, or it is said loudly that UTC was taken."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import wattline as wl
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.export import write_trace
from wattline.scenario import read_scenario, variants, wire

DUMP = "JobID|Submit|Start|Elapsed|AllocNodes|State\n1|2024-07-01T12:00:00|2024-07-01T12:00:00|01:00:00|1|COMPLETED\n"
PRICES = "time,price\n" + "".join(f"2024-07-01T{h:02}:00:00Z,{h}\n" for h in range(24))
SCENARIO = """\
name = "local"
[trace]
file = "s.txt"
[cluster]
nodes = 1
idle = 0
max = 1000
[prices]
zone = "Europe/Berlin"
energy = {file = "e.csv", unit = "$/kWh"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of one hour from noon, in local time, prices that are the hour of UTC, and a scenario."""
    (tmp_path / "s.txt").write_text(DUMP)
    (tmp_path / "e.csv").write_text(PRICES)
    (tmp_path / "s.toml").write_text(SCENARIO)
    return tmp_path


def billed(folder: Path, **more: str) -> tuple[float, str, list[str]]:
    """Return what a kWh costs, by which clock, and what is said loudly."""
    document = read_scenario(folder / "s.toml", [f"{key}={value}" for key, value in more.items()])
    study = wire(variants(document)[0])
    assert study.billing is not None
    assert study.billing.clock is not None
    begin_s = float(study.trace.jobs.submit_s[0])
    price = float(study.billing.book.prices["energy"].at(begin_s))
    return price, study.billing.about["start"], list(study.billing.warnings)


def test_the_zone_of_a_log_puts_it_on_the_clock_of_prices(folder: Path) -> None:
    """Noon in Berlin is 10 o'clock UTC in July; with a zone nothing is assumed."""
    assert billed(folder, **{"trace.zone": '"Europe/Berlin"'}) == (10.0, "2024-07-01T12:00+02:00", [])
    assert billed(folder, **{"trace.zone": '"+02:00"'}) == (10.0, "2024-07-01T12:00+02:00", [])
    assert billed(folder, **{"trace.zone": '"UTC"'}) == (12.0, "2024-07-01T14:00+02:00", [])


def test_a_log_without_a_zone_is_taken_as_utc_and_that_is_said(folder: Path) -> None:
    """Nobody is charged the price of another hour in silence."""
    price, start, said = billed(folder)
    assert (price, start) == (12.0, "2024-07-01T14:00+02:00")
    assert len(said) == 1
    assert "taken as UTC" in said[0]
    assert "[trace] zone" in said[0]
    assert billed(folder, **{"prices.start": '"2024-07-01T12:00:00+02:00"'})[2] == []


def test_python_reads_logs_in_their_zone(folder: Path) -> None:
    """``read_trace(zone=…)`` says it for programs; without it a run warns and remembers."""
    settings = {"prices.energy": {"file": str(folder / "e.csv"), "unit": "$/kWh"}}
    machine = wl.Machine(nodes=1, idle=0, max=1000)
    log = wl.read_trace(folder / "s.txt", zone="Europe/Berlin")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = wl.simulate(log, machine, settings=settings, progress=False)
    assert run.hours["energy_price_per_kwh"].to_list() == [10.0]
    with pytest.warns(match="taken as UTC"):
        run = wl.simulate(wl.read_trace(folder / "s.txt"), machine, settings=settings, progress=False)
    assert run.hours["energy_price_per_kwh"].to_list() == [12.0]
    assert any("taken as UTC" in line for line in run.remarks)
    with pytest.raises(wl.InputError, match="no such time zone: 'Mars/Olympus'"):
        wl.read_trace(folder / "s.txt", zone="Mars/Olympus")


def test_a_date_that_rests_on_an_assumed_zone_is_said_where_it_is_written(folder: Path) -> None:
    """Who converts a log of local times writes a date; without a zone that is told."""
    for name in ("x.swf", "x.parquet"):
        told = write_trace(read_trace(folder / "s.txt"), folder / name)
        assert [note.reason[:31] for note in told] == ["local times were taken as UTC: "]
        said = write_trace(read_trace(folder / "s.txt", zone="Europe/Berlin"), folder / name)
        lost = ["written without the zone of the log"] if name == "x.swf" else []
        assert [note.reason.partition(":")[0] for note in said] == lost


def test_a_zone_for_a_log_without_local_times_is_said_to_change_nothing(folder: Path) -> None:
    """Unix times, and logs without dates, have no zone."""
    (folder / "u.txt").write_text("JobID|Submit|ElapsedRaw|NNodes\n1|1700000000|5|1\n")
    trace = read_trace(folder / "u.txt", zone="Europe/Paris")
    assert "the log has no local times: zone changes nothing" in [note.reason for note in trace.notes]
    assert not read_trace(folder / "u.txt").zone_assumed


TARIFF = "time,price\n" + "".join(f"{h:02}:00,{h}\n" for h in range(24))
BY_DAY = 'prices.energy={file = "t.csv", unit = "$/kWh", repeat = true}'


def tariff(folder: Path, *sets: str) -> tuple[float, str | None, list[str]]:
    """Return what a kWh costs by a tariff whose price is the hour of the day, by which clock, and what is said."""
    (folder / "t.csv").write_text(TARIFF)
    text = SCENARIO.replace('zone = "Europe/Berlin"\n', "")
    (folder / "s.toml").write_text(text)
    study = wire(variants(read_scenario(folder / "s.toml", [BY_DAY, *sets]))[0])
    assert study.billing is not None
    price = float(study.billing.book.prices["energy"].at(float(study.trace.jobs.submit_s[0])))
    return price, study.billing.about["start"], list(study.billing.warnings)


def test_a_tariff_by_time_of_day_begins_when_the_log_does(folder: Path) -> None:
    """The date that a log knows places times of day too, on the log's own clock, which needs no zone for that."""
    assert tariff(folder) == (12.0, "2024-07-01T12:00+00:00", [])
    assert tariff(folder, "trace.zone=Europe/Berlin") == (12.0, "2024-07-01T12:00+02:00", [])
    both = ("trace.zone=UTC", "prices.zone=Europe/Berlin")
    assert tariff(folder, *both) == (14.0, "2024-07-01T14:00+02:00", [])
    price, _, said = tariff(folder, "prices.zone=Europe/Berlin")
    assert price == 14.0
    assert len(said) == 1
    assert "taken as UTC" in said[0]
    swf = "; UnixStartTime: 1719835200\n; MaxNodes: 1\n1 0 0 3600 1 -1 -1 1 3600 -1 1 1 1 1 1 1 -1 -1\n"
    (folder / "l.swf").write_text(swf)
    assert tariff(folder, "trace.file=l.swf") == (12.0, "2024-07-01T12:00+00:00", [])


def test_flat_prices_stand_on_the_clock_of_the_log(folder: Path) -> None:
    """Accounts with a number for a price show the date of a log that has one, and say nothing of zones."""
    assert tariff(folder, "prices.energy=0.1")[1:] == ("2024-07-01T12:00+00:00", [])


def test_a_zone_for_a_run_without_a_date_is_said_to_change_nothing(folder: Path) -> None:
    """Without a date there is no clock that a zone could tell of."""
    (folder / "j.csv").write_text("submit_s,work_s,nodes\n0,3600,1\n")
    price, start, said = tariff(folder, "trace.file=j.csv", "prices.zone=Europe/Berlin")
    assert (price, start) == (0.0, None)
    assert len(said) == 1
    assert "zone changes nothing" in said[0]
