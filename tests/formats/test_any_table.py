"""Any table is a log: columns of other names, with dates, durations and units as they come."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wattline as wl
from wattline.errors import InputError, TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.table.columns import ALIASES, KINDS, TAKEN
from wattline.model.jobs import ARRAY_COLUMNS

EPOCH = datetime(2024, 8, 30, tzinfo=UTC)

TABLE = """\
Job,Submitted,Began,Finished,Limit,Width,Who,Mean kW,Used
7,2024-08-30 00:02:00,2024-08-30 00:05:00,2024-08-30 01:05:00,1-02:00:00,4,ann,1.2,3 kWh
8,2024-08-30 00:01:00,2024-08-30 00:01:00,2024-08-30 00:01:30,90 min,1,bob,0.3,9000 J
9,2024-08-30T00:03:00,2024-08-30 00:03:30,2024-08-31 00:03:30,UNLIMITED,2,,0.35,
"""
COLUMNS = {
    "job_id": "Job",
    "submit_s": "submitted",
    "start_s": "Began",
    "end_s": "Finished",
    "request_s": "Limit",
    "nodes": "Width",
    "user": "Who",
    "job_w": "Mean kW:kW",
    "energy_j": "Used",
}


def twin(path: Path) -> list[dict[str, Any]]:
    """Read the table above by the csv module alone and compute what Wattline should: one dict a job, by submission."""
    packed = path.read_bytes()
    text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    spans = {"1-02:00:00": 93600.0, "90 min": 5400.0, "UNLIMITED": math.inf}
    energies = {"3 kWh": 10.8e6, "9000 J": 9000.0, "": math.nan}
    jobs = []
    for row in rows:
        begin, end, come = (datetime.fromisoformat(row[name]) for name in ("Began", "Finished", "Submitted"))
        jobs.append(
            {
                "job_id": int(row["Job"]),
                "at": come,
                "work_s": (end - begin).total_seconds(),
                "recorded_wait_s": (begin - come).total_seconds(),
                "request_s": spans[row["Limit"]],
                "nodes": int(row["Width"]),
                "user": row["Who"] or None,
                "draw_w": float(row["Mean kW"]) * 1000.0 / int(row["Width"]),
                "recorded_energy_j": energies[row["Used"]],
            }
        )
    first = min(job["at"] for job in jobs)
    for job in jobs:
        job["submit_s"] = (job.pop("at") - first).total_seconds()
    return sorted(jobs, key=lambda job: job["submit_s"])


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.csv.gz"])
def test_a_csv_of_other_names_holds_what_a_plain_reader_finds(tmp_path: Path, name: str) -> None:
    """Dates, clocks, words with units and kilowatts of a CSV are the seconds, watts and joules of a plain reader."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(TABLE.encode()) if name.endswith("gz") else TABLE.encode())
    trace = read_trace(path, columns=COLUMNS)
    wanted = twin(path)
    for column in wanted[0]:
        found = getattr(trace.jobs, column).tolist()
        if column == "user":
            found = [trace.jobs.users[code] if code >= 0 else None for code in found]
        assert found == pytest.approx([job[column] for job in wanted], nan_ok=True), column
    assert trace.jobs.epoch_unix_s == datetime(2024, 8, 30, 0, 1, tzinfo=UTC).timestamp()
    assert (trace.zone, trace.zone_assumed) == ("UTC", True)
    assert trace.columns == COLUMNS


def test_local_dates_are_of_the_zone_that_is_said(tmp_path: Path) -> None:
    """Dates without an offset count in the zone that is given; those with one, and Unix times, say it themselves."""
    local, away = tmp_path / "local.csv", tmp_path / "away.csv"
    local.write_text("t,r,nodes\n2024-07-01 00:00,60,1\n2024-07-01 00:00:30.5,60,1\n")
    away.write_text("t,r,nodes\n2024-06-30T22:00Z,60,1\n2024-07-01 03:30:30.5+05:30,60,1\n")
    columns = {"submit_s": "t", "work_s": "r"}
    one = read_trace(local, columns=columns, zone="Europe/Paris")
    other = read_trace(away, columns=columns)
    paris = datetime(2024, 7, 1, tzinfo=ZoneInfo("Europe/Paris")).timestamp()
    assert one.jobs.epoch_unix_s == other.jobs.epoch_unix_s == paris
    assert one.jobs.submit_s.tolist() == other.jobs.submit_s.tolist() == [0.0, 30.5]
    assert (one.zone, one.zone_assumed, other.zone) == ("Europe/Paris", False, None)


@pytest.mark.parametrize("offset", ["+25:00", "-30:00", "+99:99", "+01:75", "+15", "+2460"])
def test_offsets_that_no_clock_has_are_not_read(tmp_path: Path, offset: str) -> None:
    """A date with an offset that is none is dropped and counted; it moved by hours or days."""
    path = tmp_path / "jobs.csv"
    sound = "2024-01-05T08:00:00+00:00,60,1\n2024-01-05T22:45:00+14:45,60,1\n"
    path.write_text(f"t,r,nodes\n2024-01-05T08:00:00{offset},60,1\n{sound}")
    trace = read_trace(path, columns={"submit_s": "t", "work_s": "r"})
    assert trace.jobs.submit_s.tolist() == [0.0, 0.0]
    assert [note.count for note in trace.notes if note.action == "dropped"] == [1]


@pytest.mark.parametrize(
    ("cell", "unit", "seconds"),
    [
        ("05:30", ":HH:MM", 19800.0),
        ("05:30", ":MM:SS", 330.0),
        ("26:03:04", "", 93784.0),
        ("1-02", "", 93600.0),
        ("1-02:03", "", 93780.0),
        ("2 days 03:04:05.5", "", 183845.5),
        ("1 day, 2:03:04", "", 93784.0),
        ("P1DT1H30M5.5S", "", 91805.5),
        ("1.5 hours", "", 5400.0),
        ("7", ":d", 604800.0),
        ("1500", ":ms", 1.5),
    ],
)
def test_durations_as_they_come(tmp_path: Path, cell: str, unit: str, seconds: float) -> None:
    """A duration is understood in the notations of Slurm, pandas, Python and ISO, and in the unit that is said."""
    path = tmp_path / "jobs.csv"
    path.write_text(f't,r,nodes\n0,"{cell}",1\n')
    assert read_trace(path, columns={"submit_s": "t", "work_s": f"r{unit}"}).jobs.work_s.tolist() == [seconds]


def test_days_and_a_number_without_a_unit_are_no_duration(tmp_path: Path) -> None:
    """``1 day 5`` does not say of what there are five: it was taken for hours."""
    path = tmp_path / "jobs.csv"
    path.write_text("t,r,nodes\n0,60,1\n1,1 day 5,1\n2,1 day 05:00,1\n")
    trace = read_trace(path, columns={"submit_s": "t", "work_s": "r"})
    assert trace.jobs.work_s.tolist() == [60.0, 104400.0]
    assert [note.count for note in trace.notes if note.action == "dropped"] == [1]


@pytest.mark.parametrize("quote", ["", '"'])
def test_the_header_of_another_table_is_refused(tmp_path: Path, quote: str) -> None:
    """Its columns come in another order: what was below was read as what it is not. Users may be called as columns."""
    path = tmp_path / "jobs.csv"
    rows = ["t,r,nodes,user", "0,10,2,nodes", "user,t,r,nodes", "a,5,3,20"]
    path.write_text("\n".join(",".join(f"{quote}{cell}{quote}" for cell in row.split(",")) for row in rows) + "\n")
    with pytest.raises(TraceError, match=r"jobs.csv:3: is the header line of another table"):
        read_trace(path, columns={"submit_s": "t", "work_s": "r"})
    path.write_text("\n".join(rows[:2]) + "\n")
    assert read_trace(path, columns={"submit_s": "t", "work_s": "r"}).jobs.work_s.tolist() == [10.0]


def test_nodes_come_from_processors(tmp_path: Path) -> None:
    """Processors make whole nodes of as many as are said; a job's own power is shared by them."""
    path = tmp_path / "jobs.csv"
    path.write_text("t,r,cpus,p\n0,1,37,100\n1,1,36,100\n")
    columns = {"submit_s": "t", "work_s": "r", "processors": "cpus", "job_w": "p"}
    trace = read_trace(path, columns=columns, cores_per_node=36)
    assert trace.jobs.nodes.tolist() == [2, 1]
    assert trace.jobs.draw_w.tolist() == [50.0, 100.0]
    rounded = [(note.action, note.reason, note.count) for note in trace.notes if "rounded" in note.reason]
    assert rounded == [("kept", "not whole nodes of 36 processors: rounded up", 1)]


def test_many_jobs_that_are_rounded_up_are_told_loudly() -> None:
    """Tables of processors warn as logs of other formats do; jobs that are left out do not count."""
    import wattline as wl

    frame = {"t": [100.0 * (i // 3) for i in range(60)], "r": [60.0] * 59 + [-1.0], "cpus": [17] * 60}
    columns = {"submit_s": "t", "work_s": "r", "processors": "cpus"}
    trace = wl.from_frame(frame, columns=columns, cores_per_node=16)
    assert [note.count for note in trace.notes if "rounded up" in note.reason] == [59]
    with pytest.warns(wl.WattlineWarning, match="MANY JOBS ROUNDED UP: 59 of 59"):
        wl.simulate(trace, wl.Machine(nodes=4))


def test_power_comes_from_energy(tmp_path: Path) -> None:
    """Where a table has energies and no power, a job draws its energy over its nodes and its run time."""
    path = tmp_path / "jobs.csv"
    path.write_text("t,r,nodes,e\n0,100,2,1\n1,0,2,1\n2,50,1,\n")
    trace = read_trace(path, columns={"submit_s": "t", "work_s": "r", "energy_j": "e:kJ"})
    assert trace.jobs.draw_w.tolist() == pytest.approx([5.0, math.nan, math.nan], nan_ok=True)
    assert trace.jobs.recorded_energy_j.tolist() == pytest.approx([1000.0, 1000.0, math.nan], nan_ok=True)


AMBIGUOUS = [
    ("t\n03/04/2024 10:00", "submit_s=t", r"jobs.csv:2: field 't': submit_s: day or month .* :%d/%m/%Y"),
    ("t,limit\n0,05:30", "request_s=limit", r":2: field 'limit': request_s: it may be minutes .* :MM:SS or :HH:MM"),
    ("t,limit\n0,90 min", "request_s=limit:h", r"it says its unit itself: leave :h out"),
    ("t,limit\n0,1:00:00", "request_s=limit:min", r"it is written as a clock: leave :min out"),
    ("t\n2024-01-01 00:00\n2024-01-01 00:00Z", "submit_s=t", r"some times have an offset from UTC.*--zone"),
    ("t\n2024-01-01 00:00\n17", "submit_s=t", r"some times are dates, others numbers"),
    ("t\n20240830000262", "submit_s=t", r"are no Unix times; say their unit, like --column submit_s=t:ms, or their"),
    ("t\n20240830000202", "submit_s=t", r"may be dates, or seconds; .*--column submit_s=t:%Y%m%d%H%M%S, or t:s"),
    (
        "t\n0\n20240830\n20240831",
        "submit_s=t",
        r"numbers like 20240830 may be dates, .*--column submit_s=t:%Y%m%d, or t:s",
    ),
    ("t\n202408300002", "submit_s=t", r"may be dates, or seconds; .*--column submit_s=t:%Y%m%d%H%M, or t:s"),
    (
        "t\n20240131\n20240201",
        "submit_s=t",
        r"field 't': submit_s: numbers like 20240131 may be dates, or seconds; say which",
    ),
    ("t,s\n2024-01-01,30", "start_s=s", r"submit_s are dates, start_s are seconds from another origin"),
    ("t,limit,limit:h\n0,1,2", "request_s=limit:h", r"there is a column 'limit:h' and a column 'limit'"),
    (
        "t,limit\n0,1",
        "request_s=limit:fortnight",
        r"request_s: unknown unit 'fortnight' of column 'limit'; expec",
    ),
    ("t,p\n0,1", "draw_w=p:MB", r"draw_w: unknown unit 'MB' of column 'p'; expected one of W, kW"),
    ("t,who\n0,1", "user=who:h", r"user: unknown unit 'h' of column 'who'; expected none: user is a name"),
    ("t,limit\n0,1", "request_s=limt", r"no column 'limt', asked for as request_s; did you mean 'limit'\?"),
    ("t,a\n0,1", "request_s=t", r"field 't': asked for as submit_s and as request_s; leave one out"),
    ("t,cpus\n0,8", "processors=cpus", r"processors are no nodes; say how many processors make a node"),
]


@pytest.mark.parametrize(("text", "flag", "told"), AMBIGUOUS, ids=[flag for _, flag, _ in AMBIGUOUS])
def test_what_may_mean_two_things_is_refused(tmp_path: Path, text: str, flag: str, told: str) -> None:
    """A value, a unit or a column that may mean two things is refused in one line that says what to do."""
    path = tmp_path / "jobs.csv"
    head, *lines = text.split("\n")
    with_nodes = "" if flag.startswith("processors") else ",nodes"
    path.write_text("\n".join([f"{head},r{with_nodes}", *(f"{line},60{',1' if with_nodes else ''}" for line in lines)]))
    name, _, own = flag.partition("=")
    with pytest.raises(InputError) as caught:
        read_trace(path, columns={"submit_s": "t", "work_s": "r", name: own})
    assert "\n" not in str(caught.value)
    assert re.search(told, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"walltime": "x"}, "no such column of a job table: 'walltime'; Wattline calls it 'request_s'"),
        ({"sumbit_s": "x"}, "did you mean 'submit_s'?"),
        ({"work_s": "x", "runtime_s": "y"}, "work_s and runtime_s are the same; leave one out"),
        ({"nodes": "x", "processors": "y"}, "nodes and processors say the same in two ways"),
        ({"nodes": " "}, "expected the name of the table's column"),
    ],
)
def test_names_that_no_job_table_has_are_refused(tmp_path: Path, columns: dict[str, str], told: str) -> None:
    """A column that Wattline does not know, or one thing asked for twice, is refused before the table is read."""
    with pytest.raises(InputError, match=re.escape(told)):
        read_trace(tmp_path / "none.csv", columns=columns)


def test_columns_go_with_tables_only(tmp_path: Path) -> None:
    """Columns are refused for another format and for a folder."""
    path = tmp_path / "log.swf"
    path.write_text("1 0 0 10 1\n")
    with pytest.raises(InputError, match="not with the format 'swf'"):
        read_trace(path, format="swf", columns={"submit_s": "t"})
    with pytest.raises(InputError, match="is a folder: columns go with a table"):
        read_trace(tmp_path, columns={"submit_s": "t"})


def test_a_table_without_told_columns_says_how_to_tell_them(tmp_path: Path) -> None:
    """The error about a missing column names the flags that would say it, where names tell."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit time,Elapsed,num_nodes\n0,1,1\n")
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert "--column work_s=elapsed --column nodes=num_nodes" in str(caught.value)


def test_own_names_are_taken_and_the_rest_is_said(tmp_path: Path) -> None:
    """Columns of Wattline's own names are taken without being asked for; others are not used, which a note says."""
    path = tmp_path / "jobs.csv"
    path.write_text("t,r,nodes,user,mem,job_id\n0,60,2,ann,9,a.1\n5,60,3,bob,9,a.2\n")
    trace = read_trace(path, columns={"submit_s": "t", "work_s": "r"})
    assert trace.jobs.nodes.tolist() == [2, 3]
    assert trace.jobs.users == ("ann", "bob")
    assert trace.jobs.job_id.tolist() == [1, 2]
    said = {note.reason: note.example for note in trace.notes}
    assert said["columns that nobody asked for are not used"] == "mem"
    assert "job numbers are texts: jobs are counted instead" in said


def test_rows_that_are_no_jobs_are_quoted_in_their_own_words(tmp_path: Path) -> None:
    """A value that cannot be read drops its row, counted, with the line and the table's own name in strict reading."""
    path = tmp_path / "jobs.csv"
    path.write_text("t,r,nodes\n0,60,1\nsoon,60,1\n9,a while,1\n")
    columns = {"submit_s": "t", "work_s": "r"}
    trace = read_trace(path, columns=columns)
    assert [(n.action, n.reason, n.count) for n in trace.notes if n.action == "dropped"] == [
        ("dropped", "malformed: not a time", 1),
        ("dropped", "malformed: not a duration", 1),
    ]
    with pytest.raises(InputError, match=r"jobs.csv:3: field 't': malformed: not a time \(got 'soon'\)"):
        read_trace(path, columns=columns, strict=True)


def test_everything_a_job_table_holds_can_be_asked_for() -> None:
    """Each column of a job table, and each one that is taken unasked, is one that can be told."""
    assert set(ARRAY_COLUMNS) <= set(KINDS)
    assert set(TAKEN) == set(KINDS) | set(ALIASES)


def _clock(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def _words(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    return f"{days} days {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


Write = Callable[[int], Any]

INSTANTS: dict[str, tuple[Write, str]] = {
    "iso": (lambda s: (EPOCH + timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%S"), ""),
    "blank": (lambda s: (EPOCH + timedelta(seconds=s)).strftime("%Y-%m-%d %H:%M:%S"), ""),
    "zoned": (
        lambda s: (EPOCH + timedelta(seconds=s)).astimezone(timezone(timedelta(hours=2))).isoformat(),
        "",
    ),
    "unix": (lambda s: int(EPOCH.timestamp()) + s, ""),
    "unix ms": (lambda s: (int(EPOCH.timestamp()) + s) * 1000, ""),
    "unix ms said": (lambda s: (int(EPOCH.timestamp()) + s) * 1000, ":ms"),
    "form": (lambda s: (EPOCH + timedelta(seconds=s)).strftime("%d.%m.%Y %H:%M:%S"), ":%d.%m.%Y %H:%M:%S"),
    "typed": (lambda s: (EPOCH + timedelta(seconds=s)).replace(tzinfo=None), ""),
    "typed and zoned": (lambda s: EPOCH + timedelta(seconds=s), ""),
}
SPANS: dict[str, tuple[Write, str]] = {
    "seconds": (lambda s: s, ""),
    "clock": (_clock, ""),
    "words": (_words, ""),
    "unit": (lambda s: f"{s} s", ""),
    "minutes": (lambda s: s / 60, ":min"),
    "iso": (lambda s: f"PT{s}S", ""),
    "typed": (lambda s: timedelta(seconds=s), ""),
}
POWERS: dict[str, tuple[Write, str]] = {
    "watts": (lambda w: w, ""),
    "kilowatts": (lambda w: w / 1000, ":kW"),
    "words": (lambda w: f"{w} W", ""),
}


@st.composite
def odd_tables(draw: st.DrawFn) -> dict[str, Any]:
    """Draw jobs and a way in which somebody may have written them down."""
    size = draw(st.integers(1, 12))
    jobs = {
        "submit": [0, *draw(st.lists(st.integers(0, 10**6), min_size=size - 1, max_size=size - 1))],
        "run": draw(st.lists(st.integers(1, 10**6), min_size=size, max_size=size)),
        "watts": draw(st.lists(st.integers(1, 2000), min_size=size, max_size=size)),
        "nodes": draw(st.lists(st.integers(1, 500), min_size=size, max_size=size)),
    }
    names = draw(
        st.lists(
            st.text(st.characters(categories=("L", "N"), include_characters=" _:./"), min_size=1, max_size=12).filter(
                lambda name: name.strip() == name and name.lower() not in TAKEN
            ),
            min_size=4,
            max_size=4,
            unique_by=lambda name: name.lower(),
        )
    )
    ways = [draw(st.sampled_from(sorted(how))) for how in (INSTANTS, SPANS, POWERS)]
    return {"jobs": jobs, "names": names, "ways": ways, "form": draw(st.sampled_from([",", ";", "\t", "parquet"]))}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(odd_tables())
def test_odd_tables_hold_the_jobs_that_were_written(tmp_path: Path, odd: dict[str, Any]) -> None:
    """However dates, durations and powers are written, whatever the columns are called, the jobs are the same."""
    jobs, names = odd["jobs"], odd["names"]
    kinds = (INSTANTS, SPANS, POWERS)
    writers = [how[way] for how, way in zip(kinds, odd["ways"], strict=True)]
    cells = [[write(v) for v in jobs[key]] for (write, _), key in zip(writers, ("submit", "run", "watts"), strict=True)]
    units = [unit for _, unit in writers]
    columns = dict(zip(("submit_s", "work_s", "draw_w"), map(str.__add__, names[:3], units), strict=True))
    columns["nodes"] = names[3]
    frame = pl.DataFrame(dict(zip(names, [*cells, jobs["nodes"]], strict=True)), strict=False)
    if odd["form"] == "parquet":
        path = tmp_path / "odd.parquet"
        frame.write_parquet(path)
    else:
        path = tmp_path / "odd.csv"
        texts = [pl.col(name).dt.total_seconds() for name in names if isinstance(frame[name].dtype, pl.Duration)]
        plain = io.StringIO()
        out = csv.writer(plain, delimiter=odd["form"])
        out.writerow(names)
        out.writerows(frame.with_columns(texts).iter_rows())
        path.write_text(plain.getvalue())
    trace = read_trace(path, columns=columns)
    order = np.argsort(jobs["submit"], kind="stable")
    assert trace.jobs.submit_s.tolist() == [jobs["submit"][i] for i in order]
    assert trace.jobs.work_s.tolist() == pytest.approx([jobs["run"][i] for i in order], rel=1e-12)
    assert trace.jobs.draw_w.tolist() == pytest.approx([jobs["watts"][i] for i in order], rel=1e-12)
    assert trace.jobs.nodes.tolist() == [jobs["nodes"][i] for i in order]
    assert trace.jobs.epoch_unix_s == EPOCH.timestamp()


_CELLS = st.one_of(
    st.text(st.characters(codec="ascii", exclude_characters='\r\n\x00"'), max_size=12),
    st.sampled_from(
        ["0", "1", "-3", "1e400", "9" * 70, "nan", "2024-02-30", "2024-01-01 25:00", "0000-01-01", "24:61:00"]
    ),
    st.integers(-(10**19), 10**19).map(str),
    st.dates().map(str),
    st.timedeltas().map(str),
)
_TYPES = [
    pl.Series([1, None, 3]),
    pl.Series([1.5, math.nan, math.inf]),
    pl.Series([True, False, None]),
    pl.Series([[1], [2, 3], None]),
    pl.Series([b"a", b"b", None]),
    pl.Series([{"a": 1}, {"a": 2}, None]),
    pl.Series([EPOCH.date(), None, EPOCH.date()]),
    pl.Series([EPOCH.time(), None, EPOCH.time()]),
    pl.Series([EPOCH, None, EPOCH]),
    pl.Series([timedelta(days=-1), None, timedelta(seconds=1)]),
    pl.Series(["a", "b", None], dtype=pl.Categorical),
    pl.Series([None, None, None]),
    pl.Series([1, 2, None], dtype=pl.Decimal(10, 2)),
    pl.Series(["2024-01-01", "12:00", "x"]),
]
_TOLD = ["submit_s=a", "work_s=b", "nodes=c"]
_MORE = ["start_s=d", "end_s=d:ms", "request_s=d:h", "user=d", "job_w=d:kW", "energy_j=d", "job_id=d", "after=d"]


def _refused(read: Callable[[], object]) -> str:
    """Return the error that reading ends in ("": it does not)."""
    try:
        read()
    except InputError as problem:
        return str(problem)
    return ""


def _told(*flags: str) -> dict[str, str]:
    return dict(flag.split("=") for flag in flags)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(_CELLS, min_size=4, max_size=4), max_size=5), st.sampled_from(_MORE), st.booleans())
def test_no_text_ends_in_a_traceback(tmp_path: Path, rows: list[list[str]], more: str, zoned: bool) -> None:
    """Whatever stands in the cells of a text: jobs, or an error of one line."""
    path = tmp_path / "wild.csv"
    text = io.StringIO()
    csv.writer(text).writerows([list("abcd"), *rows])
    path.write_text(text.getvalue())
    zone = "Europe/Paris" if zoned else None
    assert "\n" not in _refused(lambda: read_trace(path, columns=_told(*_TOLD, more), zone=zone))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(_TYPES), min_size=4, max_size=4), st.sampled_from(_MORE))
def test_no_type_ends_in_a_traceback(columns: list[pl.Series], more: str) -> None:
    """Whatever types the columns of a frame have: jobs, or an error of one line."""
    frame = pl.DataFrame([column.alias(name) for column, name in zip(columns, "abcd", strict=True)])
    assert "\n" not in _refused(lambda: wl.from_frame(frame, columns=_told(*_TOLD, more)))


def test_columns_of_two_clocks_are_refused(tmp_path: Path) -> None:
    """Submissions with an offset beside begins without one may be hours apart: the zone has to be said."""
    asked = {"submit_s": "s", "start_s": "b", "end_s": "e", "nodes": "n"}
    path = tmp_path / "t.csv"
    path.write_text("s,b,e,n\n2024-08-30T10:00:00+02:00,2024-08-30 10:00:05,2024-08-30 10:10:05,1\n")
    said = r"field 'b': submit_s has an offset from UTC, start_s has none; say the zone of the others"
    with pytest.raises(InputError, match=said):
        read_trace(path, columns=asked)
    assert read_trace(path, columns=asked, zone="Europe/Berlin").jobs.recorded_wait_s.tolist() == [5.0]
    at = datetime(2024, 8, 30, 10, 0)  # noqa: DTZ001  (that is the point)
    table = pl.DataFrame({"s": [at], "b": [at], "e": [at + timedelta(hours=1)], "n": [1]})
    table = table.with_columns(pl.col("s").dt.replace_time_zone("Europe/Berlin"))
    with pytest.raises(InputError, match="submit_s has an offset from UTC, start_s has none"):
        wl.from_frame(table, columns=asked)


@pytest.mark.parametrize("power", ["draw_w", "job_w"])
@pytest.mark.parametrize("empty", ["", "0", "N/A"])
def test_power_of_single_jobs_comes_from_their_energy(tmp_path: Path, power: str, empty: str) -> None:
    """A job whose power is not told draws its energy over nodes and run time, also where others have theirs."""
    path = tmp_path / "a.csv"
    path.write_text(f"t,r,n,p,e\n0,100,2,400,9\n1,100,2,{empty},60000\n2,100,2,{empty},\n3,0,1,{empty},5\n")
    columns = {"submit_s": "t", "work_s": "r", "nodes": "n", power: "p", "energy_j": "e"}
    trace = read_trace(path, columns=columns)
    first_w = 400.0 if power == "draw_w" else 200.0
    assert trace.jobs.draw_w.tolist() == pytest.approx([first_w, 300.0, math.nan, math.nan], nan_ok=True)
    told = {note.reason: note.count for note in trace.notes}
    assert told["draw_w: from the energy of jobs, over their nodes and run time"] == 1


def test_links_and_priorities_of_own_names_are_taken(tmp_path: Path) -> None:
    """One column of another name does not lose what the others say."""
    path = tmp_path / "a.csv"
    path.write_text(
        "when,work_s,nodes,after,think_s,priority,floor_w,stretch,draw_w\n"
        "0,100,1,,0,1,90,1.5,200\n5,10,1,0,7,2,80,2,300\n"
    )
    jobs = read_trace(path, columns={"submit_s": "when"}).jobs
    for name, wanted in {
        "after": [-1, 0],
        "think_s": [0.0, 7.0],
        "priority": [1.0, 2.0],
        "floor_w": [90.0, 80.0],
        "stretch": [1.5, 2.0],
    }.items():
        assert getattr(jobs, name).tolist() == wanted
    path.write_text(path.read_text().replace("when", "submit_s"))
    same = read_trace(path).jobs
    assert all(np.array_equal(getattr(same, name), getattr(jobs, name), equal_nan=True) for name in ARRAY_COLUMNS)


def test_begin_end_and_energy_of_own_names_are_taken(tmp_path: Path) -> None:
    """One column of another name is told; run times, waits and power follow from the others."""
    path = tmp_path / "a.csv"
    path.write_text("submit_s,start_s,end_s,n,energy_j\n0,10,110,2,60000\n")
    jobs = read_trace(path, columns={"nodes": "n"}).jobs
    found = [float(getattr(jobs, name)[0]) for name in ("work_s", "recorded_wait_s", "recorded_energy_j", "draw_w")]
    assert found == [100.0, 10.0, 60000.0, 300.0]
    path.write_text("when,work_s,processors,nodes,job_w,draw_w\n0,100,64,2,600,250\n")
    jobs = read_trace(path, columns={"submit_s": "when"}).jobs
    assert (jobs.nodes[0], jobs.draw_w[0]) == (2, 250.0)
    path.write_text("start_s,work_s,nodes\n0,100,2\n")
    jobs = read_trace(path, columns={"submit_s": "start_s"}).jobs  # told to be something else: not taken as begin, too
    assert np.isnan(jobs.recorded_wait_s[0])


def test_empty_cells_are_computed_from_begin_and_end(tmp_path: Path) -> None:
    """Run time and wait of single jobs follow from begin and end where they are not told; what cannot be read is not
    empty.
    """
    path = tmp_path / "a.csv"
    path.write_text("s,b,e,r,w,n\n10,15,25,,,2\n11,15,22,7,4,2\n12,15,22,soon,3,2\n")
    columns = {"submit_s": "s", "start_s": "b", "end_s": "e", "work_s": "r", "wait_s": "w", "nodes": "n"}
    trace = read_trace(path, columns=columns)
    assert trace.jobs.work_s.tolist() == [10.0, 7.0]
    assert trace.jobs.recorded_wait_s.tolist() == [5.0, 4.0]
    assert [note.action for note in trace.notes].count("dropped") == 1


def test_an_end_and_a_run_time_tell_the_begin(tmp_path: Path) -> None:
    """So the wait is known; a begin that is told goes before it, and a second of rounding is none."""
    path = tmp_path / "a.csv"
    path.write_text("s,b,e,r,n\n10,,25,5,2\n11,15,22,7,2\n12,,20,8.5,2\n13,,,5,2\n14,never,25,5,2\n")
    columns = {"submit_s": "s", "end_s": "e", "work_s": "r", "nodes": "n"}
    waits = read_trace(path, columns=columns).jobs.recorded_wait_s
    np.testing.assert_array_equal(waits, [10.0, 4.0, 0.0, np.nan, 6.0])
    waits = read_trace(path, columns={**columns, "start_s": "b"}).jobs.recorded_wait_s
    np.testing.assert_array_equal(waits, [10.0, 4.0, 0.0, np.nan, np.nan])


def test_a_wait_that_is_not_the_begin_less_the_submission_is_mentioned(tmp_path: Path) -> None:
    """It is taken as it is told."""
    path = tmp_path / "a.csv"
    path.write_text("s,b,e,w,n\n0,10,110,55,2\n0,10,110,10,2\n")
    columns = {"submit_s": "s", "start_s": "b", "end_s": "e", "wait_s": "w", "nodes": "n"}
    trace = read_trace(path, columns=columns)
    assert trace.jobs.recorded_wait_s.tolist() == [55.0, 10.0]
    told = {note.reason: note.count for note in trace.notes}
    assert told["the recorded wait is not the begin less the submission: the recorded wait is taken"] == 1


def test_what_a_table_says_twice_is_mentioned(tmp_path: Path) -> None:
    """A run time that is not the end less the begin is taken, and said; power is counted for the jobs that have it."""
    asked = {"submit_s": "s", "start_s": "b", "end_s": "e", "work_s": "w", "nodes": "n"}
    path = tmp_path / "t.csv"
    path.write_text("s,b,e,w,n\n0,5,10,100,1\n1,5,10,5.5,1\n")
    trace = read_trace(path, columns=asked)
    assert trace.jobs.work_s.tolist() == [100.0, 5.5]
    told = {note.reason: note.count for note in trace.notes}
    assert told["the run time is not the end less the begin: the run time is taken"] == 1
    path.write_text("s,w,n,e\n0,0,2,1000\n1,5,1,5\n")
    found = read_trace(path, columns={"submit_s": "s", "work_s": "w", "nodes": "n", "energy_j": "e"})
    told = {note.reason: note.count for note in found.notes}
    assert told["draw_w: from the energy of jobs, over their nodes and run time"] == 1


def test_columns_that_are_no_numbers(tmp_path: Path) -> None:
    """True is no run time; names that differ in case alone are told so."""
    asked = {"submit_s": "s", "work_s": "w", "nodes": "n"}
    with pytest.raises(InputError, match="work_s: column must hold numbers or texts, not Boolean"):
        wl.from_frame({"s": [0, 1], "w": [True, False], "n": [1, 1]}, columns=asked)
    (tmp_path / "t.csv").write_text("s,W,w,n\n0,5,6,1\n")
    with pytest.raises(InputError, match="columns W and w differ in their letters' case alone; rename one of them"):
        read_trace(tmp_path / "t.csv", columns=asked)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_own_columns_may_stand_between_other_separators(tmp_path: Path, separator: str) -> None:
    """No column has to be told for that."""
    path = tmp_path / "jobs.csv"
    rows = [["submit_s", "work_s", "nodes", "user"], ["0", "10", "1", "ann"], ["5", "20", "2", "bob"]]
    path.write_text("\n".join(separator.join(row) for row in rows) + "\n")
    jobs = read_trace(path).jobs
    assert (jobs.submit_s.tolist(), jobs.work_s.tolist(), jobs.users) == ([0.0, 5.0], [10.0, 20.0], ("ann", "bob"))


def test_names_that_say_nothing_are_not_names(tmp_path: Path) -> None:
    """A dash is nobody's name; who is called Nan or Na is."""
    path = tmp_path / "jobs.csv"
    names = ["ann", "-", "None", "N/A", "null", "", "nan", "na"]
    path.write_text("t,w,n,who\n" + "".join(f"{i},10,1,{name}\n" for i, name in enumerate(names)))
    jobs = read_trace(path, columns={"submit_s": "t", "work_s": "w", "nodes": "n", "user": "who"}).jobs
    assert [jobs.users[code] if code >= 0 else None for code in jobs.user] == ["ann", *[None] * 5, "nan", "na"]


def test_a_record_over_several_lines_is_named_by_its_first(tmp_path: Path) -> None:
    """Quoted line breaks before and in a record that is left out: the line told is where it begins."""
    path = tmp_path / "jobs.csv"
    path.write_text('submit_s,work_s,nodes,user\n0,100,1,"a\nb"\n\n1,x,1,"a\nb\nc"\n2,5,1,d\n')
    trace = read_trace(path)
    told = [note.example for note in trace.notes if note.action == "dropped"]
    assert told == ["jobs.csv:5: submit_s=1, work_s=x, nodes=1, user=a b c"]
    assert len(trace.jobs) == 2


@pytest.mark.parametrize(("last", "said"), [(1_700_000_001, True), (300_000_000, False)])
def test_times_of_two_clocks_are_said(last: int, said: bool, tmp_path: Path) -> None:
    """Seconds since a start beside seconds since 1970 give a log of half a century: it is read, and said."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_s,work_s,nodes\n0,100,1\n60,100,1\n{last},5,1\n{last + 9},5,1\n")
    notes = [(note.count, note.reason, note.example) for note in read_trace(path).notes]
    told = (2, "submitted 54 years or more after all others: times of two clocks?", "job 3")
    assert (told in notes) == said
