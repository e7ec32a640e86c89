"""What readers of large files take: at most twice the unpacked file and 300 MB, whatever the format."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wattline.errors import TraceError
from wattline.formats.jobs import read_trace

SIZE = 40_000_000
SLOW = {"quoted table": 25_000_000, "sacct": 30_000_000}
"""Formats whose reading takes longer: as large as is needed to tell."""
PROGRAM = """
path = {path!r}
{read}
most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(most.split()[1], {count})
"""
TRACE = "from wattline.formats.jobs import read_trace; found = read_trace(path)", "len(found.jobs)"
SIGNAL = (
    "from wattline.formats.series.signals import read_signal; found = read_signal(path)",
    "found.signal.values.size",
)
PRICES = "from wattline.formats.series.prices import read_held; found = read_held(path)", "found.held.values.size"
SAMPLES = (
    (
        "from wattline.telemetry.read import *; found = sum(f.height for f in open_source(path).batches(['node', "
        "'time_s', 'power_w'], 'time_s'))"
    ),
    "found",
)


def jobs(i: pl.Expr) -> list[pl.Expr]:
    """Return the columns of a job table."""
    return [
        i.alias("job_id"),
        (i * 7).alias("submit_s"),
        (100 + i % 97).alias("work_s"),
        (1 + i % 64).alias("nodes"),
        (3600 + i % 2).alias("request_s"),
        (pl.lit("u") + (i % 90).cast(pl.String)).alias("user"),
    ]


def swf(i: pl.Expr) -> list[pl.Expr]:
    """Return the 18 fields of a record."""
    known = {
        0: i,
        1: i * 7,
        2: i % 50,
        3: 100 + i % 97,
        4: 1 + i % 64,
        8: pl.lit(3600),
        11: i % 90,
        12: i % 9,
        13: i % 30,
    }
    return [known.get(field, pl.lit(1)).alias(f"field {field}") for field in range(18)]


def sacct(i: pl.Expr) -> list[pl.Expr]:
    """Return the columns of a Slurm dump."""
    begin = pl.from_epoch(1_704_067_200 + i).dt.strftime("%Y-%m-%dT%H:%M:%S")
    return [
        i.alias("JobIDRaw"),
        begin.alias("Submit"),
        begin.alias("Start"),
        (100 + i % 97).alias("ElapsedRaw"),
        (1 + i % 64).alias("AllocNodes"),
        (60 + i % 9).alias("TimelimitRaw"),
        (i % 90).alias("User"),
        (i % 300).alias("JobName"),
        pl.lit("COMPLETED").alias("State"),
    ]


def krc(i: pl.Expr) -> list[pl.Expr]:
    """Return the columns of hpcwld's table."""
    numbers = {"interarrival": i % 97, "service": 100 + i % 977, "cores_used": 1 + i % 64, "delays": i % 13}
    return [(value * 1.0).alias(name) for name, value in numbers.items()]


def signal(i: pl.Expr) -> list[pl.Expr]:
    """Return times and values."""
    return [(i * 2).alias("time_s"), ((i % 201 - 100) / 100).alias("value")]


def prices(i: pl.Expr) -> list[pl.Expr]:
    """Return dates and prices."""
    return [
        pl.from_epoch(1_577_836_800 + 300 * i).dt.strftime("%Y-%m-%d %H:%M:%S").alias("datetime_beginning_utc"),
        (20 + i % 977 / 10).alias("lmp"),
    ]


def zoned_prices(i: pl.Expr) -> list[pl.Expr]:
    """Return dates with their zone, and prices."""
    return [
        pl.from_epoch(1_577_836_800 + 300 * i).dt.strftime("%Y-%m-%dT%H:%M:%SZ").alias("time"),
        (20 + i % 977 / 10).alias("lmp"),
    ]


def american_prices(i: pl.Expr) -> list[pl.Expr]:
    """Return dates as PJM writes them, and prices."""
    return [
        pl.from_epoch(1_577_836_800 + 300 * i).dt.strftime("%-m/%-d/%Y %-I:%M:%S %p").alias("datetime_beginning_utc"),
        (20 + i % 977 / 10).alias("lmp"),
    ]


def samples(i: pl.Expr) -> list[pl.Expr]:
    """Return samples of nodes."""
    return [(i % 90).alias("node"), (i * 10).alias("time_s"), pl.lit(250.5).alias("power_w")]


pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
Columns = Callable[[pl.Expr], list[pl.Expr]]
TEXTS: dict[str, tuple[Columns, str, str, tuple[str, str]]] = {
    "swf": (swf, " ", "never", TRACE),
    "table": (jobs, ",", "never", TRACE),
    "quoted table": (jobs, ",", "non_numeric", TRACE),
    "sacct": (sacct, "|", "never", TRACE),
    "krc": (krc, ",", "never", TRACE),
    "signal": (signal, ",", "never", SIGNAL),
    "prices": (prices, ",", "never", PRICES),
    "zoned prices": (zoned_prices, ",", "never", PRICES),
    "american prices": (american_prices, ",", "never", PRICES),
    "samples": (samples, ",", "never", SAMPLES),
}


def frame(columns: Columns, rows: int) -> pl.DataFrame:
    """Return so many rows."""
    return pl.DataFrame({"i": np.arange(1, rows + 1)}).select(columns(pl.col("i")))


def peak(path: Path, reading: tuple[str, str]) -> tuple[int, int]:
    """Return the most memory of a process that does nothing but read a file, and how many rows it has read.

    The system's own count of it (``getrusage``) begins with that of the process which started it.
    """
    code = PROGRAM.format(path=str(path), read=reading[0], count=reading[1])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    most, count = map(int, done.stdout.split())
    return most * 1024, count


def write(path: Path, name: str) -> int:
    """Write a file of about so many bytes, and return its rows."""
    columns, separator, quotes, _ = TEXTS[name]
    sample = frame(columns, 100_000).tail(50_000)
    rows = SLOW.get(name, SIZE) * 50_000 // len(sample.write_csv(separator=separator, quote_style=quotes))  # type: ignore[arg-type]
    header = name != "swf"
    frame(columns, rows).write_csv(path, separator=separator, quote_style=quotes, include_header=header)  # type: ignore[arg-type]
    return rows


@pytest.mark.parametrize("name", TEXTS)
def test_a_large_text_takes_at_most_twice_its_size_and_300_mb(tmp_path: Path, name: str) -> None:
    """The peak of a process that does nothing but read a text of 25 to 40 MB stays below twice that and 300 MB."""
    path = tmp_path / "large"
    rows = write(path, name)
    most, count = peak(path, TEXTS[name][3])
    assert count == rows
    assert most < 2 * path.stat().st_size + 300e6


def test_a_packed_table_takes_at_most_twice_its_unpacked_size_and_300_mb(tmp_path: Path) -> None:
    """A gzip file is unpacked in parts, so its bound is the same."""
    path = tmp_path / "large"
    rows = write(path, "table")
    (tmp_path / "packed").write_bytes(gzip.compress(path.read_bytes(), 1))
    most, count = peak(tmp_path / "packed", TRACE)
    assert count == rows
    assert most < 2 * path.stat().st_size + 300e6


def test_a_parquet_table_takes_at_most_twice_its_columns_and_300_mb(tmp_path: Path) -> None:
    """The size of a Parquet file is that of its columns in memory."""
    table = frame(jobs, 1_200_000).with_columns(pl.col("user").str.slice(1).cast(pl.Int64))
    table.write_parquet(tmp_path / "large")
    most, count = peak(tmp_path / "large", TRACE)
    assert count == table.height
    assert most < 2 * table.estimated_size() + 300e6


def texts(path: Path, name: str) -> int:
    """Write a log of which every job has names of its own, of which rows are short or out of order, or the like."""
    lines: Iterable[str]
    n = 600_000
    if name == "users of a table":
        lines = ["submit_s,work_s,nodes,user", *(f"{i},9,1,user{i:07d}" for i in range(n))]
    elif name == "three names of a table":
        lines = ["submit_s,work_s,nodes,user,group,kind", *(f"{i},9,1,u{i},g{i},k{i}" for i in range(n))]
    elif name == "names that come twice":
        lines = ["submit_s,work_s,nodes,user", *(f"{i},9,1,someone{i % (n // 2)}" for i in range(n))]
    elif name == "long names":
        lines = ["submit_s,work_s,nodes,kind", *(f"{i},9,1,{'x' * 80}{i}" for i in range(n))]
    elif name == "names of swf":
        heads = (f"; Executable: {i} job number {i}" for i in range(1, n + 1))
        lines = [*heads, *(f"{i} {i} 0 9 1 -1 -1 1 9 -1 1 {i} {i} {i} 1 1 -1 -1" for i in range(1, n + 1))]
    elif name == "names of sacct":
        at = "2024-01-01T00:00:00"
        lines = ["JobID|Submit|Start|ElapsedRaw|AllocNodes|User|JobName|State"]
        lines += [f"{i}+0|{at}.{i:06d}|{at}|9|1|user{i}|job number {i}|COMPLETED" for i in range(1, n + 1)]
    elif name == "numbers that come twice":
        lines = ["submit_s,work_s,nodes,job_id", *(f"{i},9,1,{i // 2}" for i in range(2 * n))]
    elif name == "empty columns":
        known = "submit_s,job_id,work_s,nodes,request_s,user,group,kind,partition,priority,after,draw_w,floor_w,peak_w"
        lines = [f"{known},stretch,recorded_wait_s", *(f"{i},{i},1,1{',' * 12}" for i in range(4 * n))]
    elif name == "out of order":
        lines = ["submit_s,work_s,nodes", *(f"{i * 7919 % (3 * n)},9,1" for i in range(3 * n))]
    else:
        lines = ["submit_s,work_s,nodes", *(f"{i},9,1" for i in range(5 * n))]
    path.write_text("\n".join(lines) + "\n")
    return sum(not line.startswith((";", "submit", "JobID")) for line in lines)


@pytest.mark.parametrize(
    "name",
    [
        "users of a table",
        "three names of a table",
        "names that come twice",
        "long names",
        "names of swf",
        "names of sacct",
        "numbers that come twice",
        "empty columns",
        "out of order",
        "short rows",
    ],
)
def test_names_and_rows_of_every_kind_stay_below_the_bound(tmp_path: Path, name: str) -> None:
    """Logs in which every job has names of its own, short rows and jobs out of order keep the bound too."""
    count = texts(tmp_path / "large", name)
    most, jobs = peak(tmp_path / "large", TRACE)
    assert jobs == count
    assert most < 2 * (tmp_path / "large").stat().st_size + 300e6


def test_a_parquet_table_of_names_stays_below_the_bound(tmp_path: Path) -> None:
    """Names that are texts in a Parquet table take no more."""
    table = frame(jobs, 600_000).with_columns(user=pl.lit("user ") + pl.col("job_id").cast(pl.String))
    table.write_parquet(tmp_path / "large")
    most, count = peak(tmp_path / "large", TRACE)
    assert count == table.height
    assert most < 2 * table.estimated_size() + 300e6


def test_what_is_no_log_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    """A line of 40 MB, or a header of very many keys, is refused in one line that says where."""
    path = tmp_path / "line"
    path.write_text("submit_s,work_s,nodes,user\n0,9,1," + "x" * 40_000_000 + "\n")
    with pytest.raises(TraceError, match=r"line:2: the line has more than 32 MB; is it a text at all\?"):
        read_trace(path)
    path.write_text("".join(f"; Note {i}: x\n" for i in range(20_000)) + "1 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(TraceError, match=r"field 'Note 10000': the header has more than 10000 different keys"):
        read_trace(path)
