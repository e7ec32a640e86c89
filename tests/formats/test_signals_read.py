"""Regulation signals from files: layouts, notations of time, and everything that can be wrong with them."""

from __future__ import annotations

import datetime as dt
import gzip
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wattline.errors import InputError, TraceError
from wattline.formats.series.signals import Repairs, SignalTrace, read_signal, read_signals, require

LONG = "t_s,regd\n0,-0.5\n2,0\n4,0.25\n6,1\n"


def write(tmp_path: Path, text: str, name: str = "signal.csv") -> Path:
    """Write a file."""
    path = tmp_path / name
    path.write_text(text)
    return path


def told(trace: SignalTrace) -> dict[str, int]:
    """Return the counts of the notes by action and the beginning of their reasons."""
    return {f"{note.action}: {note.reason.split(':')[0]}": note.count for note in trace.notes}


def test_a_plain_file(tmp_path: Path) -> None:
    """Times and values are taken as they are; nothing is noted."""
    trace = read_signal(write(tmp_path, LONG), strict=True)
    assert (trace.signal.start_s, trace.signal.step_s) == (0.0, 2.0)
    assert trace.signal.values.tolist() == [-0.5, 0.0, 0.25, 1.0]
    assert (trace.notes, trace.column, trace.records) == ((), "regd", 4)
    assert math.isnan(trace.epoch_unix_s)


@pytest.mark.parametrize(
    "change", ["gzip", "crlf", "bom", "tab", "semicolon", "capitals", "quotes", "blank line on top"]
)
def test_layouts_that_change_nothing(tmp_path: Path, change: str) -> None:
    """Packing, line ends, separators, capitals and quotes make no difference."""
    text = {
        "crlf": LONG.replace("\n", "\r\n"),
        "bom": "\ufeff" + LONG,
        "tab": LONG.replace(",", "\t"),
        "semicolon": LONG.replace(",", ";"),
        "capitals": LONG.upper(),
        "quotes": LONG.replace("t_s", '"t_s"').replace("0.25", '"0.25"'),
        "blank line on top": "\n" + LONG,
    }.get(change, LONG)
    path = tmp_path / "signal"
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if change == "gzip" else text.encode())
    assert read_signal(path).signal.values.tolist() == [-0.5, 0.0, 0.25, 1.0]


@pytest.mark.parametrize(
    ("name", "times", "start_s", "epoch"),
    [
        ("time", ["10", "14"], 10.0, None),
        ("t_ms", ["10000", "14000"], 10.0, None),
        ("Seconds", ["-4.0", "0"], -4.0, None),
        ("time", ["16:00:00", "16:00:04"], 57600.0, None),
        ("time", ["23:59:58", "0:00:02"], 86398.0, None),
        ("timestamp", ["2020-07-16T00:00:10Z", "2020-07-16T00:00:14Z"], 10.0, "2020-07-16"),
        ("datetime", ["2020-07-16 00:00:10", "2020-07-16 00:00:14.000"], 10.0, "2020-07-16"),
        ("datetime_beginning_ept", ["8/1/2022 4:00:00 AM", "8/1/2022 4:00:04 AM"], 14400.0, "2022-08-01"),
        ("date", ["7/31/2022 16:00", "7/31/2022 17:00"], 57600.0, "2022-07-31"),
        ("unix", ["1594857610", "1594857614"], 10.0, "2020-07-16"),
        ("epoch", ["1594857610000", "1594857614000"], 10.0, "2020-07-16"),
    ],
)
def test_notations_of_time(tmp_path: Path, name: str, times: list[str], start_s: float, epoch: str | None) -> None:
    """Seconds, milliseconds, times of day, dates and Unix times are read; dates count from their first midnight."""
    trace = read_signal(write(tmp_path, f"{name},value\n{times[0]},0.1\n{times[1]},0.2\n"), strict=True)
    assert trace.signal.start_s == start_s
    assert trace.signal.step_s == (3600.0 if name == "date" else 4.0)
    day = math.nan if epoch is None else dt.datetime.fromisoformat(epoch).replace(tzinfo=dt.UTC).timestamp()
    assert trace.epoch_unix_s == pytest.approx(day, nan_ok=True)


@pytest.mark.parametrize(
    "times",
    [
        [dt.datetime(2020, 7, 16, 0, 0, s, tzinfo=dt.UTC) for s in (0, 4)],
        [dt.timedelta(seconds=s) for s in (0, 4)],
        [dt.time(0, 0, s) for s in (0, 4)],
        [0, 4],
        [0.0, 4.0],
    ],
    ids=["datetime", "duration", "time", "whole", "float"],
)
def test_parquet(tmp_path: Path, times: list[object]) -> None:
    """Parquet's own types of time are read, and packed Parquet too."""
    frame = pl.DataFrame({"Time": times, "RegD": [0.5, -1]})
    frame.write_parquet(tmp_path / "signal.parquet")
    trace = read_signal(tmp_path / "signal.parquet", strict=True)
    assert (trace.signal.start_s, trace.signal.step_s, trace.signal.values.tolist()) == (0.0, 4.0, [0.5, -1.0])
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress((tmp_path / "signal.parquet").read_bytes(), mtime=0))
    assert read_signal(packed).signal.values.tolist() == [0.5, -1.0]


def test_values_alone_need_a_step(tmp_path: Path) -> None:
    """A column of values, with or without a name, is a signal once its step is told."""
    for text in ("0.5\n-0.5\n1\n", "regd\n0.5\n-0.5\n1\n", "whatever\n0.5\n-0.5\n1\n"):
        trace = read_signal(write(tmp_path, text), step_s=4.0, start_s=100.0, strict=True)
        assert (trace.signal.start_s, trace.signal.values.tolist()) == (100.0, [0.5, -0.5, 1.0])
        with pytest.raises(TraceError, match=r"no column of times in .*; give the step"):
            read_signal(tmp_path / "signal.csv")


def test_an_empty_line_among_values_is_a_missing_value(tmp_path: Path) -> None:
    """Without times the line says when a value holds, so nothing moves forward by a lost one."""
    trace = read_signal(write(tmp_path, "0.5\n\n1\nx,y\n0.25\n"), step_s=2.0)
    assert trace.signal.values.tolist() == [0.5, 0.5, 1.0, 1.0, 0.25]
    assert told(trace) == {"dropped: malformed": 1, "repaired: steps missing after this": 2}
    assert "signal.csv:4" in trace.notes[0].example
    assert trace.records == 4


def test_two_columns_without_names(tmp_path: Path) -> None:
    """Two columns of numbers are times and values."""
    trace = read_signal(write(tmp_path, "0,0.5\n4,1.5\n8,0\n"))
    assert (trace.signal.step_s, trace.signal.values.tolist()) == (4.0, [0.5, 1.0, 0.0])
    assert "signal.csv:2" in trace.notes[0].example


WIDE = ",8/1/2017,8/2/2017\n23:59:56,-1,0.5\n23:59:58,-0.5,0.25\n0:00:00,0,0\n"


def test_a_wide_file_has_a_day_a_column(tmp_path: Path) -> None:
    """PJM's raw layout: one signal a date, over midnight, at its time of day."""
    path = write(tmp_path, WIDE)
    days = read_signals(path, strict=True)
    assert list(days) == ["8/1/2017", "8/2/2017"]
    assert days["8/1/2017"].signal.values.tolist() == [-1.0, -0.5, 0.0]
    assert days["8/2/2017"].signal.start_s == 86396.0
    assert days["8/2/2017"].epoch_unix_s - days["8/1/2017"].epoch_unix_s == 86400.0
    one = read_signal(path, column="8/2/2017", start_s=0.0)
    assert (one.signal.start_s, one.signal.values[0]) == (0.0, 0.5)
    assert one.epoch_unix_s == dt.datetime(2017, 8, 2, 23, 59, 56, tzinfo=dt.UTC).timestamp()
    with pytest.raises(TraceError, match="several columns that may be the signal: 8/1/2017, 8/2/2017; name one"):
        read_signal(path)


def test_several_signals_side_by_side(tmp_path: Path) -> None:
    """Of RegA and RegD one must be named; labels beside a known name do not matter."""
    path = write(tmp_path, "time,rega,regd,label\n0,0.1,0.2,a\n2,0.3,0.4,b\n")
    assert read_signal(path, column="RegA").signal.values.tolist() == [0.1, 0.3]
    assert list(read_signals(path)) == ["rega", "regd"]
    with pytest.raises(TraceError, match="several columns"):
        read_signal(path)


def test_gaps_are_held_or_refused(tmp_path: Path) -> None:
    """Missing steps and missing values keep the last value, counted; told so, they are refused."""
    path = write(tmp_path, "t,y\n0,0.1\n2,0.2\n8,0.3\n10,\n12,nan\n14,word\n16,0.5\n")
    trace = read_signal(path)
    assert trace.signal.values.tolist() == [0.1, 0.2, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3, 0.5]
    assert told(trace) == {"repaired: value is not a number": 3, "repaired: steps missing after this": 2}
    assert [note.example.split(": ")[0] for note in trace.notes] == ["signal.csv:5", "signal.csv:3"]
    with pytest.raises(TraceError, match=r"signal.csv:3: field 't': steps missing after this.*2 such records"):
        read_signal(path, repairs=Repairs(gaps="refuse"))


def test_values_outside_are_clipped_or_refused(tmp_path: Path) -> None:
    """Values beyond ±1 are clipped and counted; told so, refused with line and value. Rounding is no fault."""
    path = write(tmp_path, "t,y\n0,0.1\n2,1.5\n4,-3\n6,0\n8,1.0000000001\n")
    trace = read_signal(path)
    assert trace.signal.values.tolist() == [0.1, 1.0, -1.0, 0.0, 1.0]
    assert told(trace) == {"repaired: value outside [-1, 1]": 2}
    for refusing in ({"repairs": Repairs(outside="refuse")}, {"strict": True}):
        with pytest.raises(TraceError, match=r"signal.csv:3: field 'y': value outside .*got '1.5'"):
            read_signal(path, **refusing)  # type: ignore[arg-type]


def test_per_cent_are_not_clipped_away(tmp_path: Path) -> None:
    """When most values lie outside, the unit is another: refused, and right with a scale."""
    path = write(tmp_path, "t,y\n0,10\n2,-50\n4,100\n")
    with pytest.raises(TraceError, match=r"half of all values reach 50 or beyond; .* is it in per cent"):
        read_signal(path)
    assert read_signal(path, scale=0.01).signal.values.tolist() == [0.1, -0.5, 1.0]


def test_times_out_of_order_are_sorted_or_refused(tmp_path: Path) -> None:
    """Rows are sorted by time, of two at one time the last counts; told so, refused."""
    path = write(tmp_path, "t,y\n0,0.1\n4,0.3\n2,0.2\n6,0.4\n6,0.5\n8,0.6\n")
    trace = read_signal(path)
    assert trace.signal.values.tolist() == [0.1, 0.2, 0.3, 0.5, 0.6]
    assert told(trace) == {"repaired: time goes back": 1, "dropped: time is repeated": 1}
    with pytest.raises(TraceError, match=r"signal.csv:4: field 't': time goes back"):
        read_signal(path, repairs=Repairs(order="refuse"))


def test_jitter_is_moved_to_the_grid(tmp_path: Path) -> None:
    """Times a little off their step belong to the nearest one, counted."""
    trace = read_signal(write(tmp_path, "t,y\n0,0.1\n2,0.2\n4.3,0.3\n6,0.4\n8,0.5\n"))
    assert (trace.signal.step_s, trace.signal.values.tolist()) == (2.0, [0.1, 0.2, 0.3, 0.4, 0.5])
    assert told(trace) == {"repaired: time is not on the grid of 2 s": 1}


@pytest.mark.parametrize("step_s", [2.0, 0.2])
def test_a_clock_that_moves_by_half_a_step_loses_no_values(tmp_path: Path, step_s: float) -> None:
    """Times halfway between two steps all belong to the later one: none meets another, and none is left without."""
    times = [step_s * (k if k < 50 else k + 0.5) for k in range(200)]
    path = write(tmp_path, "t,y\n" + "".join(f"{t:.6g},{k / 1000}\n" for k, t in enumerate(times)))
    trace = read_signal(path)
    assert trace.signal.values[[0, 49, 50, 51, 200]] == pytest.approx([0.0, 0.049, 0.049, 0.05, 0.199])
    assert trace.signal.values.size == 201
    at = f"{step_s:g} s"
    assert told(trace) == {f"repaired: time is not on the grid of {at}": 150, "repaired: steps missing after this": 1}


def test_truth_values_are_no_signal(tmp_path: Path) -> None:
    """A column of Parquet that holds true and false is refused, as it is in CSV."""
    path = tmp_path / "s.parquet"
    pl.DataFrame({"t": [0, 2, 4], "y": [True, False, True]}).write_parquet(path)
    with pytest.raises(TraceError, match="field 'y': column must hold numbers, not truth values"):
        read_signal(path)


def test_rows_that_cannot_be_placed_are_dropped(tmp_path: Path) -> None:
    """Unreadable times, rows of another width and what stands before the first value are dropped and counted."""
    trace = read_signal(write(tmp_path, "t,y\n0,\n2,0.2\nnoon,0.3\n4,0.4,5\n4,0.5\n6,0.1\n"))
    assert trace.signal.start_s == 2.0
    assert trace.signal.values.tolist() == [0.2, 0.5, 0.1]
    counts = told(trace)
    assert counts["dropped: no value yet"] == 1
    assert sum(note.count for note in trace.notes if "malformed" in note.reason) == 2


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("t,y\n", {}, "no value in it"),
        ("t,y\n0,\n2,x\n", {}, "no value in it"),
        ("t,y\nx,0.1\ny,0.2\n", {}, "no value in it (2 × malformed: the time cannot be read"),
        (
            "t,y\n0,0.1\n2,0.2\n4,0.1\n",
            {"step_s": 100.0},
            "2 of 3 values fall onto the step of 100 s of another; is the step right?",
        ),
        ("t,y\n0,0.1\n", {}, "cannot tell its step from 1 value at one time; give the step"),
        ("t,y\n0,0.1\n0,0.2\n", {}, "cannot tell its step from 2 values at one time"),
        ("t,y\n0,0.1\n2,0.2\n4,0.1\n1e10,0.3\n", {}, "signal.csv:4: field 't': more steps of 2 s are missing"),
        ("t,y\n0,0.1\n2,\n4,\n6,\n8,0\n", {}, "more values are missing (3) than there are"),
        ("t,y\n0,0.1\n2,0.2\n", {"column": "regd"}, "field 'regd': no such column: found t, y"),
        ("t,y\n0,0.1\n2,0.2\n", {"time_column": "when"}, "field 'when': no such column"),
        ("a,b\n0,0.1\n2,0.2\n", {}, "several columns that may be the signal: a, b; name one"),
        ("time,date\n0,0.1\n2,0.2\n", {}, "no signal in time, date"),
        ("", {}, "the file is empty"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, text: str, options: dict[str, str], said: str) -> None:
    """What cannot be a signal is refused in one line that names the file and what to do."""
    with pytest.raises(TraceError) as caught:
        read_signal(write(tmp_path, text), **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert said in message
    assert "signal.csv" in message
    assert "\n" not in message
    assert len(message) < 600


def test_wrong_options_are_named(tmp_path: Path) -> None:
    """Options outside their range are refused."""
    path = write(tmp_path, LONG)
    with pytest.raises(InputError, match="step_s must be positive"):
        read_signal(path, step_s=0.0)
    with pytest.raises(InputError, match="scale must be a number other than 0"):
        read_signal(path, scale=0.0)
    with pytest.raises(InputError, match="gaps must be hold or refuse"):
        Repairs(gaps="fill")  # type: ignore[arg-type]
    with pytest.raises(TraceError, match="no such file"):
        read_signal(tmp_path / "missing.csv")


def test_a_file_shorter_than_the_hour(tmp_path: Path) -> None:
    """A signal that does not last the hour asked for is refused in one line."""
    signal = read_signal(write(tmp_path, LONG)).signal
    require(signal, 0.0, 8.0)
    with pytest.raises(InputError, match="lasts from 0 s to 8 s, but 0 s to 3600 s is asked for"):
        require(signal, 0.0, 3600.0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_bytes_make_it_stumble(tmp_path: Path, junk: bytes) -> None:
    """Any bytes are a signal or one clear line."""
    path = tmp_path / "junk.csv"
    path.write_bytes(b"t,y\n0,0.1\n" + junk)
    try:
        outcome = str(read_signal(path).signal.values.size)
    except InputError as problem:
        outcome = str(problem)
    assert outcome != "0"
    assert "\n" not in outcome


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 30), st.floats(-1.5, 1.5)), min_size=3, max_size=40))
def test_repairs_agree_with_a_plain_loop(tmp_path: Path, rows: list[tuple[int, float]]) -> None:
    """However rows are shuffled, repeated and lost, each step has the last value given at or before it."""
    if len({k for k, _ in rows}) < 2:
        return
    path = write(tmp_path, "t,y\n" + "".join(f"{2 * k},{y!r}\n" for k, y in rows))
    latest = dict(rows)
    first, last = min(latest), max(latest)
    if np.median([abs(y) for _, y in rows]) > 1 or last - first + 1 - len(latest) > len(rows):
        return
    expected, held = [], 0.0
    for k in range(first, last + 1):
        held = latest.get(k, held)
        expected.append(min(max(held, -1.0), 1.0))
    assert read_signal(path, step_s=2.0).signal.values == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("pjm_regd_2016-01_one-day_2s_noise0.05.csv.gz", 43200),
        ("pjm_regd_2020-07-16_2s.csv.gz", 43200),
        ("pjm_regd_2020-07-22_2s.csv.gz", 43200),
    ],
)
def test_real_days(data_dir: Path, name: str, count: int) -> None:
    """PJM's RegD days are whole and need no repair."""
    trace = read_signal(data_dir / "regulation" / name, strict=True)
    assert (trace.signal.values.size, trace.signal.step_s, trace.notes) == (count, 2.0, ())
    require(trace.signal, 0.0, 86400.0)


def test_real_evenings(data_dir: Path) -> None:
    """PJM's raw RegA file holds two evenings, 16 h to midnight with both ends."""
    days = read_signals(data_dir / "regulation/pjm_rega_2017-08-01_02_16h-24h_2s_raw.csv.gz", strict=True)
    assert list(days) == ["8/1/2017", "8/2/2017"]
    for trace in days.values():
        assert (trace.signal.start_s, trace.signal.step_s, trace.signal.values.size) == (57600.0, 2.0, 14401)
        assert trace.signal.values.mean() == pytest.approx(-0.5, abs=0.05)


def test_times_with_one_colon_are_refused(tmp_path: Path) -> None:
    """They may be hours and minutes, or minutes and seconds: a day of minutes was taken for 24 minutes."""
    path = tmp_path / "day.csv"
    rows = "".join(f"{k // 60:02d}:{k % 60:02d},{(k % 7) / 7:.3f}\n" for k in range(1440))
    path.write_text("time,signal\n" + rows)
    with pytest.raises(TraceError, match=r"day\.csv:2: field 'time': may be minutes and seconds or hours and minutes"):
        read_signal(path)
    path.write_text("time,signal\n" + rows.replace(",", ":00,"))
    assert read_signal(path).signal.step_s == 60.0


@pytest.mark.parametrize("parts", [1, 10**3, 10**6, 10**9])
def test_unix_times_in_any_unit_are_the_same_instants(tmp_path: Path, parts: int) -> None:
    """Milli-, micro- and nanoseconds since 1970 are told by their size; others by the end of the column's name."""
    first = 1_595_030_400
    text = "time,regd\n" + "".join(f"{(first + 2 * i) * parts},0.{i}\n" for i in range(5))
    trace = read_signal(write(tmp_path, text))
    midnight = first // 86_400 * 86_400
    assert (trace.epoch_unix_s, trace.signal.start_s, trace.signal.step_s) == (midnight, first - midnight, 2.0)
    ending = {1: "s", 10**3: "ms", 10**6: "us", 10**9: "ns"}[parts]
    text = f"t_{ending},regd\n" + "".join(f"{2 * i * parts},0.{i}\n" for i in range(5))
    trace = read_signal(write(tmp_path, text))
    assert (trace.signal.start_s, trace.signal.step_s, math.isnan(trace.epoch_unix_s)) == (0.0, 2.0, True)


@pytest.mark.parametrize(
    ("rows", "apart_s", "said"),
    [
        (5, 2 * 10**12, "signal.csv:3: field 't': lies more than 1e+11 s from the beginning"),
        (100, 2 * 10**9, "signal.csv:53: field 't': lies more than 1e+11 s from the beginning"),
        (10, 2 * 10**9, "its step is 2,000,000,000 s, and no regulation signal has one of more than a day"),
    ],
)
def test_times_in_an_unknown_unit_are_refused(tmp_path: Path, rows: int, apart_s: int, said: str) -> None:
    """Nanoseconds since the beginning look like thousands of years: they took all memory, or no time told."""
    text = "t,regd\n" + "".join(f"{apart_s * i},0.{i % 10}\n" for i in range(rows))
    with pytest.raises(TraceError) as caught:
        read_signal(write(tmp_path, text))
    assert said in str(caught.value)
    assert "let the column's name end in _ms, _us or _ns" in str(caught.value)


@pytest.mark.parametrize("form", ["%Y%m%d%H%M%S", "%Y%m%d%H%M", "%Y%m%d%H", "%Y%m%d"])
def test_dates_written_as_one_number_are_refused(tmp_path: Path, form: str) -> None:
    """20240131235900 is no time in milliseconds: values two seconds apart would be held for two thousandths."""
    rows = [
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i)).strftime(form) + f",0.{i % 10}\n"
        for i in range(72)
    ]
    said = f"signal.csv:2: field 't': may be a date, or a number of seconds (got '{rows[0].split(',')[0]}')"
    with pytest.raises(TraceError) as caught:
        read_signal(write(tmp_path, "t,regd\n" + "".join(rows)))
    assert said in str(caught.value)
