"""Tables of placements and sensors that are wrong: each row is refused, or left out and counted."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from wattline.errors import InputError, TraceError
from wattline.telemetry.join import Split
from wattline.telemetry.nodes.work import Machine, Work, load_work
from wattline.telemetry.read import Joined, join, open_source

JOBS = "job_id,submit_s,work_s,nodes\n" + "".join(f"{i},{300 * i},300,2\n" for i in range(4))
HEAD = "job_id,first_node,count,start_s,end_s\n"
ROWS = [f"{i},0,2,{300 * i},{300 * i + 300}" for i in range(4)]
SENSORS = "sensor,first_node,count\na,0,2\nb,2,2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four jobs of two nodes, one after the other, and samples of 100 W a node."""
    (tmp_path / "jobs.csv").write_text(JOBS)
    samples = "".join(f"{t},{n},{100 + (t + n) % 7}\n" for t in range(0, 1200, 10) for n in range(4))
    (tmp_path / "samples.csv").write_text("time_s,node,power_w\n" + samples)
    return tmp_path


def loaded(folder: Path, text: str, *, strict: bool = False, sensors: str | None = None) -> Work:
    """Return jobs with placements, on a machine of four nodes."""
    (folder / "pl.csv").write_text(text)
    if sensors is not None:
        (folder / "se.csv").write_text(sensors)
    machine = Machine(nodes=4, sets=None if sensors is None else folder / "se.csv")
    return load_work(folder / "jobs.csv", folder / "pl.csv", machine, strict=strict)


def joined(folder: Path, text: str) -> Joined:
    """Return the jobs with the power of their samples."""
    return join(open_source(str(folder / "samples.csv")), loaded(folder, text), Split(300.0))


def power(found: Joined) -> list[float]:
    """Return the mean power of the jobs."""
    return [float(w) for w in found.trace.jobs.draw_w]


def test_a_row_that_stands_there_twice_changes_nothing(folder: Path) -> None:
    """Its power is not halved; that it was left out is told with its line."""
    sound = power(joined(folder, HEAD + "\n".join(ROWS)))
    assert all(90 < watts < 110 for watts in sound)
    found = joined(folder, HEAD + "\n".join([*ROWS[:2], "", ROWS[1], *ROWS[2:]]))
    assert power(found) == sound
    told = [note for note in found.trace.notes if "twice" in note.reason]
    assert [(note.count, note.reason) for note in told] == [(1, "a row that stands there twice: not used")]
    assert told[0].example.startswith("pl.csv:5:")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,0,3,300,600", "a job on more or fewer nodes than the job log says"),
        ("1,0,1,300,600", "a job on more or fewer nodes than the job log says"),
        ("1,0,99,300,600", "the nodes go beyond the machine, which has 4"),
        ("1,99,2,300,600", "the nodes go beyond the machine, which has 4"),
        ("1,-1,2,300,600", "number of the first node is not a whole number from 0 on"),
        ("1,0,-1,300,600", "count of nodes is not a whole number from 1 on"),
        ("1,0,1.5,300,600", "count of nodes is not a whole number from 1 on"),
        ("1,x,2,300,600", "malformed: not a number"),
        ("1,,2,300,600", "number of the first node is missing"),
        ("1,1e30,2,300,600", "number of the first node is too large a number"),
        ("1,0,2,300,x", "the time is missing or cannot be read"),
        ("1,0,2,,600", "the time is missing or cannot be read"),
        ("1,0,2,300,1e400", "the time is missing or cannot be read"),
        ("1x,0,2,300,600", "job number is not a whole number"),
        ("99999999999999999999,0,2,300,600", "job number is not a whole number"),
        ("1,0,2,600,300", "range of nodes without time or nodes"),
        (ROWS[1] + "\n1,2,2,300,599", "a job that is in two places at once"),
    ],
)
def test_a_range_that_cannot_be_is_left_out_and_counted(folder: Path, row: str, reason: str) -> None:
    """The job gets no power from it, the others keep theirs, and the notes say why; strictly it is an error."""
    sound = power(joined(folder, HEAD + "\n".join(ROWS)))
    text = HEAD + "\n".join([ROWS[0], row, *ROWS[2:]])
    found = joined(folder, text)
    assert [note.reason for note in found.trace.notes if note.reason.endswith("not used")] == [f"{reason}: not used"]
    watts = power(found)
    assert [watts[i] for i in (0, 2, 3)] == [sound[i] for i in (0, 2, 3)]
    assert watts[1] != watts[1]  # not known
    if "without time" not in reason:
        with pytest.raises(TraceError, match=r"pl\.csv:3: "):
            loaded(folder, text, strict=True)


@pytest.mark.parametrize("text", ["", "None assigned", "(null)"])
def test_lists_that_name_no_node_are_counted(folder: Path, text: str) -> None:
    """Jobs that never had nodes stand in Slurm's dumps: they are told, with the first of them."""
    rows = [f"{i}|n[0-1]|{300 * i}|{300 * i + 300}" for i in range(4)]
    rows[1] = f"1|{text}|300|600"
    work = loaded(folder, "JobID|NodeList|Start|End\n" + "\n".join(rows))
    assert [(note.count, note.reason) for note in work.notes] == [(1, "no node is named: not used")]


def test_times_come_in_pairs_and_rows_are_needed(folder: Path) -> None:
    """Half of the times would be mixed with those of the log; a header alone places nobody."""
    only = "job_id,first_node,count,start_s\n" + "\n".join(row.rpartition(",")[0] for row in ROWS)
    with pytest.raises(TraceError, match=r"column 'end_s' is missing.*give both times, or none"):
        loaded(folder, only)
    with pytest.raises(TraceError, match="no row in it, only a header"):
        loaded(folder, HEAD)
    with pytest.raises(TraceError, match=r"no job with known nodes and times in it \(1 × malformed"):
        loaded(folder, HEAD + "1,x,2,300,600\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sensor,first_node,count\na,0,2\nb,x,2\n", r"se\.csv:3: field 'first_node': malformed: not a number"),
        (
            "sensor,first_node,count\na,0,2\nb,2,1.5\n",
            r"se\.csv:3: field 'count': count of nodes is not a whole",
        ),
        ("sensor,first_node,count\na,0,2\nb,2,\n", r"se\.csv:3: field 'count': count of nodes is missing"),
        ("sensor,first_node,count\na,-1,2\n", r"se\.csv:2: field 'first_node': number of the first node is not"),
        ("sensor,first_node,count\na,0,99\n", r"se\.csv:2: field 'count': the nodes go beyond the machine"),
        ("sensor,first_node,count\na,1e30,1\n", r"se\.csv:2: field 'first_node': .* too large"),
        ("sensor,first_node,count\n,0,2\n", r"se\.csv:2: field 'sensor': the sensor has no name"),
        ("sensor,first_node,count\na,0,2\nb,1,2\n", r"se\.csv: node 1 belongs to two sensors"),
        ("sensor,first_node,count\n", r"se\.csv: no row in it"),
        ("sensor,nodes\na,n99999999999999999999\n", r"se\.csv:2: field 'nodes': host"),
        ("sensor,nodes\na,\n", r"se\.csv"),
    ],
)
def test_sensors_that_cannot_be_are_refused(folder: Path, text: str, said: str) -> None:
    """A table of sensors is short: what is wrong in it is said with its line."""
    with pytest.raises(InputError, match=said) as caught:
        loaded(folder, HEAD + "\n".join(ROWS), sensors=text)
    assert "\n" not in str(caught.value)


def test_a_sensor_that_stands_there_twice_is_counted(folder: Path) -> None:
    """It measures its nodes once."""
    work = loaded(folder, HEAD + "\n".join(ROWS), sensors=SENSORS + "a,0,2\n")
    assert [note.count for note in work.notes if "twice" in note.reason] == [1]
    coverage = work.coverage("rack")
    assert coverage is not None
    assert coverage.sizes.tolist() == [2, 2]


N = 4
ODD = {
    "list": pl.Series([[1.0]] * N),
    "array": pl.Series([[1.0, 2.0]] * N, dtype=pl.Array(pl.Float64, 2)),
    "struct": pl.Series([{"a": 1}] * N),
    "binary": pl.Series([b"\xff\x00"] * N),
    "duration": pl.Series([dt.timedelta(hours=1)] * N),
}


def _of_parquet(folder: Path, machine: Machine) -> Joined:
    work = load_work(folder / "jobs.csv", folder / "pl.parquet", machine)
    return join(open_source(str(folder / "samples.parquet")), work, Split(300.0))


@pytest.mark.parametrize("odd", ODD)
def test_columns_of_other_kinds_are_refused(folder: Path, odd: str) -> None:
    """Parquet may hold lists, records and bytes: one line names the column, in samples, placements and sensors."""
    places = pl.read_csv((HEAD + "\n".join(ROWS)).encode())
    samples = pl.DataFrame({"time_s": [0.0, 10.0, 20.0, 30.0], "node": [0, 1, 0, 1], "power_w": [9.0, 8.0, 7.0, 6.0]})
    sets = pl.DataFrame({"sensor": ["a", "b", "c", "d"], "first_node": [0, 1, 2, 3], "count": [1] * N})
    for name, frame in (("pl", places), ("samples", samples), ("se", sets)):
        for column in frame.columns:
            for other, whole in (("pl", places), ("samples", samples), ("se", sets)):
                whole.write_parquet(folder / f"{other}.parquet")
            frame.with_columns(ODD[odd].alias(column)).write_parquet(folder / f"{name}.parquet")
            machine = Machine(nodes=4, sets=folder / "se.parquet")
            with pytest.raises(TraceError, match=rf"{name}\.parquet: field '{column}': column must hold") as caught:
                _of_parquet(folder, machine)
            assert "\n" not in str(caught.value)


def test_categories_are_texts(folder: Path) -> None:
    """What a writer numbered to save room is read as the texts that it stands for."""
    text = HEAD + "\n".join(ROWS)
    expected = power(joined(folder, text))
    kinds = (pl.Categorical(), pl.Enum(sorted({cell for row in ROWS for cell in row.split(",")})))
    for kind in kinds:
        frame = pl.read_csv(text.encode(), infer_schema=False).with_columns(pl.all().cast(kind))
        frame.write_parquet(folder / "pl.parquet")
        samples = pl.read_csv(folder / "samples.csv", infer_schema=False).with_columns(pl.all().cast(pl.Categorical))
        samples.write_parquet(folder / "samples.parquet")
        assert power(_of_parquet(folder, Machine(nodes=4))) == expected
