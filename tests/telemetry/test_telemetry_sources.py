"""The same samples from Parquet, CSV, folders and databases, in any notation: the same is read."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from telemetry_world import IDLE_W, energy_of, world

from wattline.errors import InputError, TraceError
from wattline.telemetry.cleaning.faults import Fault
from wattline.telemetry.cleaning.rules import Rules
from wattline.telemetry.join import Split
from wattline.telemetry.made.inject import inject
from wattline.telemetry.made.sample import Plan, draw_samples, write_samples
from wattline.telemetry.nodes.work import Work
from wattline.telemetry.read import check, join, open_source
from wattline.telemetry.sources import sort as telemetry_sort
from wattline.telemetry.sources import source as telemetry_source
from wattline.telemetry.sources import sql as telemetry_sql
from wattline.telemetry.sources.columns import Wanted

DAY_S = 86400.0
EPOCH = 1_400_000_000.0


@pytest.fixture
def clean() -> tuple[Work, pl.DataFrame]:
    """A day of samples of nodes, every five minutes."""
    work, series = world()
    samples = draw_samples(work, energy_of(work.trace.jobs, series), Plan(noise=0.02), 0.0, DAY_S, series)
    return work, samples.frame(work.trace.jobs)


def series_of(source: Any, work: Work, **more: Any) -> list[float]:
    """Return the power of all jobs and steps."""
    found = join(source, work, Split(300.0, IDLE_W), **more)
    assert not any(found.reading.facts()["faults"].values())
    assert found.trace.jobs.series is not None
    return found.trace.jobs.series.watts.tolist()


def test_files_and_folders_and_databases_hold_the_same(clean: tuple[Work, pl.DataFrame], tmp_path: Path) -> None:
    """Parquet, CSV, packed CSV, SQLite, a folder of days, one of nodes and a file sorted by node: one result."""
    work, frame = clean
    for name in ("p.parquet", "p.csv", "p.csv.gz", "p.db"):
        write_samples(frame, tmp_path / name)
    days = [frame.filter(pl.col("time_s") // 7200 == part) for part in range(12)]
    for folder, parts in (("days", days), ("nodes", frame.partition_by("node", maintain_order=True))):
        (tmp_path / folder).mkdir()
        for i, part in enumerate(parts):
            part.write_parquet(tmp_path / folder / f"{99 - i:02d}.parquet")
    frame.sort("node", "time_s").write_parquet(tmp_path / "by-node.parquet")
    expected = series_of(open_source(str(tmp_path / "p.parquet")), work)
    for name in ("p.csv", "p.csv.gz", "p.db", "days", "nodes"):
        assert series_of(open_source(str(tmp_path / name)), work) == expected
    assert series_of(open_source(str(tmp_path / "by-node.parquet"), sort=True), work) == expected


def test_small_pieces_change_nothing(
    clean: tuple[Work, pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are read in pieces whose size does not matter, and sorted through as many temporary files as it takes."""
    work, frame = clean
    write_samples(frame, tmp_path / "p.csv")
    frame.sort("node", "time_s").write_parquet(tmp_path / "by-node.parquet")
    expected = series_of(open_source(str(tmp_path / "p.csv")), work)
    monkeypatch.setattr(telemetry_source, "ROWS", 333)
    monkeypatch.setattr(telemetry_source, "_BLOCK", 1000)
    monkeypatch.setattr(telemetry_sort, "SPILL", 1500)
    monkeypatch.setattr(telemetry_sort, "BUCKET", 700)
    assert series_of(open_source(str(tmp_path / "p.csv")), work) == expected
    assert series_of(open_source(str(tmp_path / "by-node.parquet"), sort=True), work) == expected


def test_a_file_that_lies_sensor_by_sensor_is_suspected(clean: tuple[Work, pl.DataFrame], tmp_path: Path) -> None:
    """Read as if it had come in that order, nearly all of it is late; the remark says what to do."""
    _, frame = clean
    frame.sort("node", "time_s").write_parquet(tmp_path / "by-node.parquet")
    facts = check(open_source(str(tmp_path / "by-node.parquet"))).facts()
    assert facts["faults"]["clock"] > 0.9 * facts["samples"]
    assert "give --sort" in facts["remarks"][0]


NOTATIONS = {
    "seconds": lambda t: t,
    "unix": lambda t: t + EPOCH,
    "milliseconds": lambda t: ((t + EPOCH) * 1e3).cast(pl.Int64),
    "iso": lambda t: pl.Series([datetime.fromtimestamp(x, UTC).isoformat() for x in (t + EPOCH).to_list()]),
    "iso without zone": lambda t: pl.Series(
        [datetime.fromtimestamp(x, UTC).strftime("%Y-%m-%d %H:%M:%S") for x in (t + EPOCH).to_list()]
    ),
    "seconds as texts": lambda t: t.cast(pl.Int64).cast(pl.String),  # 900 comes before 1200
    "dates": lambda t: ((t + EPOCH) * 1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC")),
}


@pytest.mark.parametrize(
    ("notation", "ending"),
    [(n, e) for n in NOTATIONS for e in ("parquet", "csv", "db") if (n, e) != ("dates", "db")],  # SQLite has no dates
)
def test_times_in_any_notation(notation: str, ending: str, clean: tuple[Work, pl.DataFrame], tmp_path: Path) -> None:
    """Seconds, Unix time, milliseconds, ISO's dates and Parquet's own: told by themselves; kW and names of hosts
    too.
    """
    work, frame = clean
    renamed = pl.DataFrame(
        {
            "Hostname": frame["node"].cast(pl.String).str.zfill(3) + pl.Series(["-ib"]),
            "timestamp": NOTATIONS[notation](frame["time_s"]),
            "power_kW": frame["power_w"] / 1e3,
        }
    ).with_columns(("cn" + pl.col("Hostname")).alias("Hostname"))
    write_samples(frame, tmp_path / "p.parquet")
    write_samples(renamed, tmp_path / f"q.{ending}")
    dated = Work(**{**vars(work), "epoch_unix_s": EPOCH})
    expected = series_of(open_source(str(tmp_path / "p.parquet")), work)
    np.testing.assert_allclose(series_of(open_source(str(tmp_path / f"q.{ending}")), dated), expected, rtol=1e-6)


def test_unix_times_need_an_epoch(clean: tuple[Work, pl.DataFrame], tmp_path: Path) -> None:
    """Where jobs count from zero and samples from 1970, somebody must say when zero was."""
    work, frame = clean
    write_samples(frame.with_columns(pl.col("time_s") + EPOCH), tmp_path / "p.parquet")
    with pytest.raises(TraceError, match=r"count from 1970.*give --epoch"):
        join(open_source(str(tmp_path / "p.parquet")), work, Split(300.0))


def test_a_database_in_the_order_of_receipt(clean: tuple[Work, pl.DataFrame], tmp_path: Path) -> None:
    """By default a table is read by time; a column that says when rows were received brings late ones to light."""
    _, frame = clean
    late = frame.with_columns(pl.Series("received", np.arange(frame.height)))
    moved = np.arange(40, frame.height - 400, 500)
    received = late["received"].to_numpy().copy()
    received[moved] += 32 * 3
    late = late.with_columns(pl.Series("received", received.astype(np.float64)))
    telemetry_sql.write_sqlite(tmp_path / "p.db", "power", late)
    assert check(open_source(str(tmp_path / "p.db"))).facts()["faults"]["late"] == 0
    found = check(open_source(str(tmp_path / "p.db"), order="received")).facts()["faults"]
    assert found["late"] == moved.size
    query = "SELECT node, time_s, power_w FROM power WHERE node < 4"
    assert check(open_source(str(tmp_path / "p.db"), query=query)).facts()["sensors"] == 4


def test_a_text_among_numbers_of_a_database_is_no_zero(tmp_path: Path) -> None:
    """SQLite would turn a word into 0 W; here it is not a number."""
    import sqlite3

    base = sqlite3.connect(tmp_path / "p.db")
    base.execute("CREATE TABLE power (node, time, power)")
    rows = [(0, 60.0 * i, 100 + i if i % 2 else 100.5 + i) for i in range(50)] + [(0, 3000.0, "n/a"), (0, 3060.0, None)]
    base.executemany("INSERT INTO power VALUES (?, ?, ?)", rows)
    base.execute("CREATE TABLE other (x)")
    base.commit()
    base.close()
    with pytest.raises(TraceError, match=r"p.db: it has 2 tables.*--table"):
        open_source(str(tmp_path / "p.db"))
    facts = check(open_source(str(tmp_path / "p.db"), table="power")).facts()
    assert (facts["faults"]["nan"], facts["good"]) == (2, 50)
    with pytest.raises(TraceError, match=r"the database says: .*no such table: nothing"):
        open_source(str(tmp_path / "p.db"), table="nothing")


def test_without_the_drivers_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases are an extra; without it the error names the command that brings it."""
    write_samples(pl.DataFrame({"node": [0], "time_s": [0.0], "power_w": [1.0]}), tmp_path / "p.db")
    blocked: Any = None
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite", blocked)
    with pytest.raises(InputError, match=r"pip install wattline\[sql\]"):
        open_source(str(tmp_path / "p.db"))


@pytest.mark.parametrize("kind", ["timestamptz", "double precision", "text"])
def test_postgresql(kind: str, clean: tuple[Work, pl.DataFrame], tmp_path: Path, postgres: str) -> None:
    """Samples from a PostgreSQL server give what those from a file do."""
    work, frame = clean
    write_samples(frame, tmp_path / "p.parquet")
    expected = series_of(open_source(str(tmp_path / "p.parquet")), work)
    table = f"wattline_test_{os.getpid()}"
    source = telemetry_sql.SqlSource(postgres, query="SELECT 1 AS one")
    rows = ",".join(f"('n{n}', {t}, {w!r})" for n, t, w in frame.iter_rows())
    stamp = f"to_timestamp(t + {EPOCH})" if kind == "timestamptz" else "t"
    text = f"""DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (node text, time {kind}, power numeric);
        INSERT INTO {table} SELECT n, {stamp}, w FROM (VALUES {rows}) AS v (n, t, w)"""  # noqa: S608
    with source._connected() as connection:
        for part in text.split(";"):
            telemetry_sql._execute(connection, part)
    try:
        dated = Work(**{**vars(work), "epoch_unix_s": EPOCH})
        got = series_of(open_source(postgres, table=table), dated)
        np.testing.assert_allclose(got, expected, rtol=1e-6)
        with pytest.raises(TraceError, match=r"the database says: .*does not exist"):
            open_source(postgres, table="no_such_table_here")
    finally:
        with source._connected() as connection:
            telemetry_sql._execute(connection, f"DROP TABLE {table}")


def test_a_server_that_is_not_there_is_one_line() -> None:
    """A connection that fails is an error without the password."""
    with pytest.raises(TraceError, match=r"^postgresql://me@127.0.0.1:9/x: the database says: ") as told:
        open_source("postgresql://me:secret@127.0.0.1:9/x")
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)


COLUMNS: dict[str, tuple[dict[str, list[Any]], Wanted, str]] = {
    "no sensor": (
        {"x": [1], "time": [1], "power": [1]},
        Wanted(),
        "no column that names a node or rack or job: found x, time, power",
    ),
    "no time": ({"node": [1], "power": [1]}, Wanted(), "no column of times"),
    "no power": ({"node": [1], "time": [1]}, Wanted(), "no column of powers"),
    "megawatts": (
        {"node": [1], "time": [1], "power_mw": [1]},
        Wanted(),
        "no column of powers: found node, time, power_mw",
    ),
    "a limit": ({"node": [1], "time": [1], "power_limit": [1]}, Wanted(), "no column of powers"),
    "misspelt": (
        {"node": [1], "time": [1], "power": [1]},
        Wanted(power=("powr",)),
        "field 'powr': no such column.*did you mean 'power'",
    ),
    "what is it": ({"x": [1], "time": [1], "power": [1]}, Wanted(sensor="x"), "say --by node, rack or job"),
    "two units": ({"node": [1], "time": [1], "cpu_kw": [1], "mem_w": [1]}, Wanted(), "different units"),
    "odd unit": ({"node": [1], "time": [1], "power": [1]}, Wanted(unit="hp"), "--unit hp"),
    "dates as numbers": (
        {"node": [1, 1], "time": [20240131235950, 20240201000000], "power": [1, 2]},
        Wanted(),
        "numbers like 20240131235950 may be dates",
    ),
    "odd time unit": ({"node": [1], "time": [1], "power": [1]}, Wanted(time_unit="h"), "--time-unit h"),
    "one sample": ({"node": [1], "time": [1], "power": [1]}, Wanted(), "period cannot be told; give --period"),
    "no rows": ({"node": [], "time": [], "power": []}, Wanted(), "no samples in it"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_that_are_none(name: str, tmp_path: Path) -> None:
    """What is not a table of samples is refused in one line that says what was found and what to do."""
    columns, wanted, told = COLUMNS[name]
    pl.DataFrame(columns).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(InputError, match=told):
        check(open_source(str(tmp_path / "p.parquet")), wanted)


def test_damaged_files(tmp_path: Path) -> None:
    """Missing, empty, cut-off and malformed files are refused with their name, and the line where there is one."""
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + b"x" * 100)
    (tmp_path / "odd.csv").write_text("node,time,power\n1,0,5\n1,60,5,7\n")
    (tmp_path / "twice.csv").write_text("node,node,power\n1,0,5\n")
    (tmp_path / "none").mkdir()
    for name, told in (
        ("nope", "nope: no such file or folder"),
        ("empty.csv", "the file is empty"),
        ("cut.parquet", "not a whole Parquet file"),
        ("odd.csv", "odd.csv:3: expected 3 columns"),
        ("twice.csv", "twice.csv:1: the header line must name every column once"),
        ("none", "no file of samples in this folder"),
    ):
        with pytest.raises(TraceError, match=told):
            check(open_source(str(tmp_path / name)), rules=Rules(period_s=60.0))
    with pytest.raises(InputError, match="--table is for databases"):
        open_source(str(tmp_path / "odd.csv"), table="x")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("layout", ["nodes", "days", "both"])
def test_faults_in_a_folder_are_those_of_the_one_file(
    layout: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However samples are cut into files, a clock far ahead or set back in one of them drops those samples and no
    others.
    """
    monkeypatch.setattr(telemetry_source, "LEAST_ROWS", 50)
    monkeypatch.setattr(telemetry_source, "LEAST_BYTES", 1500)
    work, series = world(16)
    clean = draw_samples(work, energy_of(work.trace.jobs, series), Plan(noise=0.02), 0.0, DAY_S, series)
    classes = (Fault.AHEAD, Fault.NAN, Fault.MISSING, Fault.CLOCK, Fault.NO_TIME)
    spoilt = inject(clean, dict.fromkeys(classes, 0.003), 300.0)
    frame = spoilt.samples.frame(work.trace.jobs).with_row_index("row")
    part = pl.lit(0) if layout == "days" else pl.col("node") // 4
    piece = pl.lit(0) if layout == "nodes" else pl.col("row") * 5 // frame.height
    keyed = frame.with_columns(part.alias("a"), piece.alias("b"))
    for i, rows in enumerate(keyed.partition_by("a", "b", maintain_order=True)):
        write_samples(rows.drop("a", "b", "row"), tmp_path / f"{(i * 7) % 20:02d}.{ending}")
    assert len(list(tmp_path.iterdir())) > 3
    found = join(open_source(str(tmp_path)), work, Split(300.0, IDLE_W))
    told = {k: v for k, v in found.reading.facts()["faults"].items() if v}
    assert told == {**spoilt.counts, "missing": spoilt.holes}


def test_a_thousand_files_are_read_in_small_pieces(tmp_path: Path) -> None:
    """Files that lie side by side share the room of one; those that follow each other are opened one by one."""
    for i in range(40):
        pl.DataFrame(
            {"node": [i] * 9000, "time_s": np.arange(9000.0), "power_w": np.random.default_rng(i).uniform(5, 9, 9000)}
        ).write_parquet(tmp_path / f"{i}.parquet")
    sizes = [frame.height for frame in open_source(str(tmp_path)).batches(["node", "time_s", "power_w"], "time_s")]
    assert sum(sizes) == 40 * 9000
    assert max(sizes) <= 40 * telemetry_source.LEAST_ROWS


def test_files_written_elsewhere(tmp_path: Path) -> None:
    """Blanks beside the marks, two characters at the end of a line and quoted names are nobody's fault."""
    rows = "".join(f'"n{i % 2}", {60 * (i // 2)} , {50 + i} \r\n' for i in range(40))
    (tmp_path / "p.csv").write_bytes(b"node , time , power\r\n" + rows.encode())
    facts = check(open_source(str(tmp_path / "p.csv"))).facts()
    assert (facts["samples"], facts["good"], facts["sensors"]) == (40, 40, 2)


def test_other_hosts_are_not_nodes(clean: tuple[Work, pl.DataFrame], tmp_path: Path) -> None:
    """Of a name the last number counts, but login1 is not node 1: names unlike most are strangers."""
    work, frame = clean
    named = frame.with_columns(("cn" + pl.col("node").cast(pl.String)).alias("node"))
    login = named.filter(pl.col("node") == "cn1").with_columns(pl.lit("login1").alias("node"))
    both = pl.concat([named, login]).sort("time_s", maintain_order=True)
    write_samples(both, tmp_path / "p.parquet")
    found = join(open_source(str(tmp_path / "p.parquet")), work, Split(300.0, IDLE_W)).reading
    assert {k: v for k, v in found.facts()["faults"].items() if v} == {"unknown": login.height}
    assert found.facts()["worst"][0]["sensor"] == "login1"
