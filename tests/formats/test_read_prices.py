"""Series of prices and carbon intensities from tables: what is read, what is told, what is refused."""

from __future__ import annotations

import gzip
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from wattline.errors import InputError, TraceError
from wattline.formats.series.prices import CAPACITY, CARBON, ENERGY, PERFORMANCE, HeldTrace, Reading, read_held
from wattline.reading.calendar import clock_of, local_to_unix, offset_at, unix_of

JULY = unix_of("2022-07-01T04:00Z", "UTC")
PJM = "datetime_beginning_utc,datetime_beginning_ept,pnode_name,total_lmp_rt,total_lmp_da\n"
NEW_YORK = "America/New_York"


def read(tmp_path: Path, text: str, **told: Any) -> HeldTrace:
    """Write a table and read it."""
    (tmp_path / "p.csv").write_text(text)
    return read_held(tmp_path / "p.csv", Reading(**told), known=ENERGY)


def test_a_table_of_pjm(tmp_path: Path) -> None:
    """Known columns are found, Universal Time before Eastern; a negative price is a price; the last holds for a
    step.
    """
    text = PJM + "7/1/2022 4:00:00 AM,7/1/2022 12:00:00 AM,X,50.5,40\n7/1/2022 5:00:00 AM,7/1/2022 1:00:00 AM,X,-3,41\n"
    trace = read(tmp_path, text)
    assert (trace.column, trace.placed, trace.notes) == ("total_lmp_rt", "date", ())
    assert trace.held.time_s.tolist() == [JULY, JULY + 3600.0]
    assert trace.held.values.tolist() == [50.5, -3.0]
    assert trace.held.end_s == JULY + 7200.0
    assert read(tmp_path, text, column="total_lmp_da").held.values.tolist() == [40.0, 41.0]
    eastern = read(tmp_path, text, time="datetime_beginning_ept")
    assert eastern.held.time_s.tolist() == trace.held.time_s.tolist()


def test_every_notation_of_an_hour_is_the_same_hour(tmp_path: Path) -> None:
    """Offsets, Universal Time, a zone, Unix seconds, Parquet's own times, gzip: all name one instant."""
    forms = {
        "time,price\n2022-07-01T00:00:00-04:00,1\n2022-07-01 01:00:00-04:00,2\n": {},
        "time,price\n2022-07-01T04:00:00Z,1\n2022-07-01T05:00:00Z,2\n": {},
        "timestamp,price\n2022-07-01 04:00:00+00:00,1\n2022-07-01 05:00:00+00:00,2\n": {},
        "time,price\n2022-07-01 00:00,1\n2022-07-01 01:00,2\n": {"zone": NEW_YORK},
        "time,price\n2022-07-01 00:00,1\n2022-07-01 01:00,2\n#": {"zone": "-04:00"},
        f"unix,price\n{JULY:.0f},1\n{JULY + 3600:.0f},2\n": {},
    }
    for text, told in forms.items():
        assert read(tmp_path, text.rstrip("#"), **told).held.time_s.tolist() == [JULY, JULY + 3600.0]
    begin = datetime(2022, 7, 1, 4, tzinfo=UTC)
    table = pl.DataFrame({"time": [begin, begin + timedelta(hours=1)], "price": [1.0, 2.0]})
    for zone in ("UTC", NEW_YORK):
        table.with_columns(pl.col("time").dt.convert_time_zone(zone)).write_parquet(tmp_path / "p.parquet")
        assert read_held(tmp_path / "p.parquet").held.time_s.tolist() == [JULY, JULY + 3600.0]
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b"time,price\n2022-07-01T04:00:00Z,1\n2022-07-01T05:00:00Z,2\n"))
    assert read_held(tmp_path / "p.csv.gz").held.values.tolist() == [1.0, 2.0]


def test_dates_without_a_zone_are_said_to_be_taken_as_universal_time(tmp_path: Path) -> None:
    """Nobody has to guess what was guessed."""
    trace = read(tmp_path, "time,price\n2022-07-01 04:00,1\n2022-07-01 05:00,2\n")
    assert trace.held.time_s[0] == JULY
    assert [(n.action, n.count) for n in trace.notes] == [("kept", 2)]
    assert "taken as UTC" in trace.notes[0].reason


def test_the_hour_that_clocks_show_twice(tmp_path: Path) -> None:
    """In November 01:00 comes twice in New York: the first is summer time, and no hour is lost or doubled."""
    local = [f"2022-11-06 {hour:02}:00" for hour in (0, 1, 1, 2, 3)]
    text = "time,price\n" + "".join(f"{at},{i}\n" for i, at in enumerate(local))
    trace = read(tmp_path, text, zone=NEW_YORK)
    assert np.diff(trace.held.time_s).tolist() == [3600.0] * 4
    assert trace.notes == ()
    with pytest.raises(TraceError, match=r"p\.csv:4: field 'time': time is listed twice .*give their zone"):
        read(tmp_path, text)
    alone = read(tmp_path, text.replace("2022-11-06 01:00,2\n", ""), zone=NEW_YORK, gaps="hold")
    assert [(n.action, n.count) for n in alone.notes] == [("kept", 1), ("repaired", 1)]


@pytest.mark.parametrize("minutes", [60, 30, 15])
def test_the_hour_that_clocks_show_twice_newest_first(tmp_path: Path, minutes: int) -> None:
    """A table with the newest row first has the same prices as the same table the other way round."""
    unix = np.arange(unix_of("2024-10-26T20:00Z", "UTC"), unix_of("2024-10-27T04:00Z", "UTC"), 60.0 * minutes)
    lines = [f"{text[:16]},{i}\n" for i, text in enumerate(clock_of(unix, "Europe/Berlin"))]
    for order in (lines, lines[::-1]):
        trace = read(tmp_path, "time,price\n" + "".join(order), zone="Europe/Berlin")
        assert trace.held.time_s.tolist() == unix.tolist()
        assert trace.held.values.tolist() == list(range(unix.size))


def test_a_day_of_25_hours_is_no_gap(tmp_path: Path) -> None:
    """Days of the calendar follow one another, also where clocks are set back or forward; a day that lacks is a gap."""
    for first in (25, 28):  # of October, and of March
        month = "10" if first == 25 else "03"
        days = [f"2024-{month}-{day:02} 00:00,{day}\n" for day in range(first, first + 6) if day < 32]
        trace = read(tmp_path, "time,price\n" + "".join(days), zone="Europe/Berlin")
        assert len(trace.held.values) == len(days)
        assert trace.notes == ()
        with pytest.raises(TraceError, match=r"steps of 86400 s are missing after this"):
            read(tmp_path, "time,price\n" + "".join(days[:2] + days[3:]), zone="Europe/Berlin")


def test_equal_hours_in_no_order_are_refused(tmp_path: Path) -> None:
    """Where rows are shuffled nobody knows which of two equal local times is summer time."""
    hours = ("04:00,5", "02:00,3", "00:00,1", "02:00,2", "03:00,4", "01:00,1")
    text = "time,price\n" + "".join(f"2024-10-27 {hour}\n" for hour in hours)
    with pytest.raises(TraceError, match=r"p\.csv:3: field 'time': clocks of Europe/Berlin show this time twice, and"):
        read(tmp_path, text, zone="Europe/Berlin")
    with pytest.raises(TraceError, match=r"sort the table by time, or give times in UTC"):
        read(tmp_path, text, zone="Europe/Berlin", twice="first", gaps="hold")


def test_the_hour_that_clocks_skip(tmp_path: Path) -> None:
    """In March 02:00 does not come: without it the hours follow each other; with it the row is refused or left out."""
    local = [f"2022-03-13 {hour:02}:00" for hour in (0, 1, 3, 4)]
    text = "time,price\n" + "".join(f"{at},{i}\n" for i, at in enumerate(local))
    assert np.diff(read(tmp_path, text, zone=NEW_YORK).held.time_s).tolist() == [3600.0] * 3
    with pytest.raises(TraceError, match=r"p\.csv:3: field 'time': steps of 3600 s are missing after this"):
        read(tmp_path, text)
    wrong = text.replace("03:00", "02:00")
    with pytest.raises(TraceError, match="clocks of America/New_York skip this time"):
        read(tmp_path, wrong, zone=NEW_YORK)
    held = read(tmp_path, wrong, zone=NEW_YORK, gaps="hold")
    assert held.held.values.tolist() == [0.0, 1.0, 3.0]
    assert [(n.action, n.count) for n in held.notes] == [("dropped", 1), ("repaired", 1)]


HOLES = (
    "time,price\n2022-07-01T04:00Z,1\n2022-07-01T05:00Z,much\n2022-07-01T06:00Z,\n"
    "2022-07-01T07:00Z,4\n2022-07-01T10:00Z,5\n"
)


def test_what_is_missing_is_refused_or_held(tmp_path: Path) -> None:
    """Words, empty cells and missing rows: refused with the line, or the value before holds, counted."""
    text = HOLES.replace("Z,", ":00Z,")
    with pytest.raises(TraceError, match=r"p\.csv:3: field 'price': is not a number \(2 times, .*\(got 'much'\)"):
        read(tmp_path, text)
    trace = read(tmp_path, text, gaps="hold")
    assert [trace.held.at(JULY + 3600.0 * k) for k in range(7)] == [1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 5.0]
    assert [(n.action, n.count) for n in trace.notes] == [("repaired", 2), ("repaired", 2)]
    unread = text.replace("2022-07-01T05:00:00Z", "noon")
    with pytest.raises(TraceError, match=r"p\.csv:3: field 'time': the time cannot be read"):
        read(tmp_path, unread)
    assert ("dropped", 1) in [(n.action, n.count) for n in read(tmp_path, unread, gaps="hold").notes]


def test_order_and_doubles_as_told(tmp_path: Path) -> None:
    """Times that go back are sorted and counted, or refused; of two values the first, the last or their mean."""
    back = "time,price\n0,1\n7200,3\n3600,2\n"
    trace = read(tmp_path, back)
    assert trace.held.values.tolist() == [1.0, 2.0, 3.0]
    assert [n.reason for n in trace.notes] == ["time goes back: sorted"]
    with pytest.raises(TraceError, match=r"p\.csv:4: field 'time': time goes back .*order = \"sort\""):
        read(tmp_path, back, order="refuse")
    double = "time,price\n0,1\n3600,2\n3600,4\n7200,3\n"
    for told, value in (("first", 2.0), ("last", 4.0), ("mean", 3.0)):
        trace = read(tmp_path, double, twice=told)
        assert trace.held.values.tolist() == [1.0, value, 3.0]
        assert [(n.action, n.count) for n in trace.notes] == [("repaired", 1)]


def test_rows_may_be_chosen(tmp_path: Path) -> None:
    """A table with several nodes is read for one of them; a misspelt one is answered with those that exist."""
    text = PJM + "".join(
        f"7/1/2022 {h:02}:00,7/1/2022 00:00,{n},{h}{i},0\n" for h in (4, 5) for i, n in enumerate("AB")
    )
    assert read(tmp_path, text, where={"pnode_name": "B"}).held.values.tolist() == [41.0, 51.0]
    with pytest.raises(TraceError, match="choose with where"):
        read(tmp_path, text)
    with pytest.raises(TraceError, match=r"no row has this \(it has A, B\)"):
        read(tmp_path, text, where={"pnode_name": "C"})
    with pytest.raises(TraceError, match="field 'node': no such column"):
        read(tmp_path, text, where={"node": "C"})


def test_any_step_and_no_dates(tmp_path: Path) -> None:
    """Seconds since the run began, values alone with a step, and a table of the day in which 06:00 is six o'clock."""
    trace = read(tmp_path, "time_s,price\n0,1\n300,2\n600,3\n")
    assert (trace.placed, trace.held.end_s) == ("run", 900.0)
    alone = read(tmp_path, "price\n1\n2\n", step_s=900.0)
    assert (alone.placed, alone.held.time_s.tolist(), alone.held.end_s) == ("run", [0.0, 900.0], 1800.0)
    day = read(tmp_path, "time,price\n00:00,0.1\n06:00,0.3\n22:00,0.1\n")
    assert (day.placed, day.held.time_s.tolist(), day.held.end_s) == ("day", [0.0, 21600.0, 79200.0], 86400.0)
    minutes = "time,price\n00:00:00,1\n00:15:00,2\n"
    assert read(tmp_path, minutes, step_s=900.0).held.end_s == 1800.0


@pytest.mark.parametrize(
    ("text", "told", "said"),
    [
        ("time,a,b\n0,1,2\n3600,1,2\n", {}, "several columns may be meant: a, b; name one"),
        ("time,a\n0,1\n3600,1\n", {"column": "b"}, "field 'b': no such column"),
        ("time,a\n0,1\n3600,1\n", {"time": "hour"}, "field 'hour': no such column"),
        ("a,b\n1,2\n", {"column": "b"}, "no column of times"),
        ("time,a\n0,1\n", {}, "cannot tell how long a value holds from 1 value; give step"),
        ("time,a\n0,1\n3600,1\n", {"zone": "UTC"}, "a zone goes with dates"),
        ("time,a\n2022-07-01T00:00:00Z,1\n2022-07-01T01:00:00Z,1\n", {"zone": "UTC"}, "its times say their zone"),
        ("time,a\n2022-07-01 00:00,1\n2022-07-01 01:00,1\n", {"zone": "Mars/Base"}, "no such time zone: 'Mars/Base'"),
        ("time,a\n0,x\n3600,y\n", {"gaps": "hold"}, r"no value in it \(2 × is not a number"),
        ("time,a\n0,x\n", {"step_s": -1.0}, "the step must be at least 1 s"),
        ("time,a\n0,1\n3600,1e300\n", {}, r"p\.csv:3: field 'a': must not be beyond 1,000,000,000 \(got '1e300'\)"),
        ("time,a\n00:00,1\n25:00,2\n", {}, r"p\.csv:3: field 'time': no day has such a time \(got '25:00:00'\)"),
        ("time,a\n2022-07-01 00:00,1\n2022-07-01 01:00,1\n", {"zone": "+99:99"}, "no such time zone: '.99:99'"),
    ],
)
def test_bad_tables_are_one_line(tmp_path: Path, text: str, told: dict[str, Any], said: str) -> None:
    """What cannot be read is refused in one line."""
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, text, **told)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("values", [[[1.0], [2.0]], [{"x": 1}, {"x": 2}], [b"1", b"2"], [False, True]])
def test_columns_that_hold_no_numbers_are_named(tmp_path: Path, values: list[Any]) -> None:
    """Lists, structures, bytes and truth values are neither prices nor times."""
    pl.DataFrame({"time": [0, 3600], "price": values}).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(TraceError, match=r"p\.parquet: field 'price': column must hold numbers, not "):
        read_held(tmp_path / "p.parquet")
    pl.DataFrame({"time": values, "price": [1, 2]}).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(TraceError, match=r"p\.parquet: field 'time': column must hold times, not "):
        read_held(tmp_path / "p.parquet")


def test_what_cannot_be_negative_is_refused(tmp_path: Path) -> None:
    """Prices may be negative, carbon may not."""
    (tmp_path / "c.csv").write_text("time,carbon_intensity\n0,300\n3600,-4\n")
    assert read_held(tmp_path / "c.csv").held.values.tolist() == [300.0, -4.0]
    with pytest.raises(TraceError, match=r"c\.csv:3: field 'carbon_intensity': must not be below 0 \(got '-4'\)"):
        read_held(tmp_path / "c.csv", known=CARBON, least=0.0)


def test_a_clock_shows_seconds_where_they_are_not_0() -> None:
    """To the millisecond, in zones by name and by offset, so that no two rows of an hour show the same."""
    unix = np.array([1656648000.0, 1656648030.0, 1656648000.25, 1656647999.9999999, 1656648060.001])
    for zone in ("UTC", "+00:00"):
        assert clock_of(unix, zone) == [
            "2022-07-01T04:00+00:00",
            "2022-07-01T04:00:30+00:00",
            "2022-07-01T04:00:00.25+00:00",
            "2022-07-01T04:00+00:00",
            "2022-07-01T04:01:00.001+00:00",
        ]
    for zone in ("America/New_York", "Australia/Lord_Howe", "+05:30"):
        again = [unix_of(text, "UTC") for text in clock_of(unix, zone)]
        assert again == pytest.approx(unix.tolist(), abs=6e-4)
    assert offset_at(1656648030.5, "Australia/Lord_Howe") == 37800.0


def test_clocks() -> None:
    """Local times and instants are each other's inverse but for the hours that do not exist."""
    unix = np.arange(1.64e9, 1.68e9, 36000.0)
    for zone in (NEW_YORK, "Asia/Kolkata", "UTC", "+02:00"):
        local = np.array([unix_of(f"{text[:16]}Z", "UTC") for text in clock_of(unix, zone)])
        found, guessed, skipped, unclear = local_to_unix(local, zone)
        assert not unclear.any()
        assert not skipped.any()
        assert np.abs(found - unix)[~guessed].max() < 60.0
    assert offset_at(JULY, NEW_YORK) == -4 * 3600.0
    assert offset_at(JULY, "+05:30") == 19800.0
    assert math.isnan(local_to_unix(np.array([math.nan]), NEW_YORK)[0][0])
    with pytest.raises(InputError, match="clocks of America/New_York skip 2022-03-13T02:30"):
        unix_of("2022-03-13T02:30", NEW_YORK)
    with pytest.raises(InputError, match="expected a date and time like"):
        unix_of("next week", "UTC")


def test_real_months_of_pjm(data_dir: Path) -> None:
    """July and August 2022: 744 hours each of energy and regulation prices, read without a remark."""
    july, august = unix_of("2022-07-01", NEW_YORK), unix_of("2022-08-01", NEW_YORK)
    for name, known, begin, first in (
        ("pjm_rt_hourly_lmp_PJM-RTO_2022-07.csv", ENERGY, july, 50.745045),
        ("pjm_regulation_market_results_2022-07_hourly.csv", CAPACITY, july, 20.96),
        ("pjm_regulation_market_results_2022-07_hourly.csv", PERFORMANCE, july, 1.26),
        ("pjm_da_rt_hourly_lmp_PJM_2022-08.csv", ENERGY, august, 57.569432),
    ):
        trace = read_held(data_dir / "regulation" / name, known=known)
        assert (trace.held.values.size, trace.notes, trace.placed) == (744, (), "date")
        assert (trace.held.start_s, trace.held.values[0]) == (begin, first)


def test_real_years_of_carbon(data_dir: Path) -> None:
    """The Netherlands' four years are whole; PJM's 2022 lacks 23 hours, which are refused or held and counted."""
    trace = read_held(data_dir / "carbon/NL_2021-2024_carbon.csv.gz", known=CARBON, least=0.0)
    assert (trace.held.values.size, [n.action for n in trace.notes]) == (35064, ["kept"])
    path = data_dir / "carbon/PJM_hourly_generation_mix_avgCI.csv.gz"
    with pytest.raises(TraceError, match=r":1713: field 'avg_ci': is not a number \(23 times"):
        read_held(path, known=CARBON, least=0.0)
    trace = read_held(path, Reading(gaps="hold"), known=CARBON, least=0.0)
    assert [(n.action, n.count) for n in trace.notes] == [("repaired", 23)]
    assert (trace.held.values.size, trace.held.end_s) == (8760 - 23, unix_of("2023-01-01", "UTC"))


def test_dates_that_may_begin_with_the_day_are_refused(tmp_path: Path) -> None:
    """Twelve days of March, day first, are no twelve months; names of PJM and a day above 12 tell what comes first."""

    def table(name: str, *days: str) -> str:
        return f"{name},price\n" + "".join(f"{day} 00:00,{k}\n" for k, day in enumerate(days))

    with pytest.raises(TraceError, match=r"p\.csv:2: field 'time': may begin with the month or with the day"):
        read(tmp_path, table("time", *(f"{day:02}/03/2022" for day in range(1, 13))))
    for name, days in (
        ("datetime_beginning_utc", ("03/11/2022", "03/12/2022")),
        ("time", ("03/12/2022", "03/13/2022")),
    ):
        first = datetime(2022, 3, int(days[0][3:5]), tzinfo=UTC).timestamp()
        assert read(tmp_path, table(name, *days)).held.time_s.tolist() == [first, first + 86400.0]


@pytest.mark.parametrize("parts", [1, 10**3, 10**6, 10**9])
def test_unix_times_in_any_unit_are_the_same_hours(tmp_path: Path, parts: int) -> None:
    """Milli-, micro- and nanoseconds since 1970 are told by their size."""
    first = round(JULY)
    trace = read(tmp_path, f"time,price\n{first * parts},1\n{(first + 3600) * parts},2\n")
    assert (trace.placed, trace.held.time_s.tolist(), trace.held.end_s) == ("date", [JULY, JULY + 3600], JULY + 7200)


@pytest.mark.parametrize("apart", ["0.001", "1e-4", "1e-9", "1e-300", "0.5"])
def test_rows_closer_than_a_second_are_refused(tmp_path: Path, apart: str) -> None:
    """Repeated over a run they took all memory; a price holds for a second at least."""
    with pytest.raises(TraceError, match=r"p.csv: field 'time': its rows are .* s apart, and 1 s is the least"):
        read(tmp_path, f"time,price\n0,1\n{apart},2\n")
    with pytest.raises(InputError, match="the step must be at least 1 s"):
        read(tmp_path, "price\n1\n2\n", step_s=float(apart))
    assert read(tmp_path, "time,price\n0,1\n1,2\n").held.end_s == 2.0
