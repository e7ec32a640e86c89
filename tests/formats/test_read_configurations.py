"""Tables of configurations: what is read, how trials are reduced, and one clear line for everything that is wrong."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wattline.errors import InputError, TraceError
from wattline.formats.tables.configuration_rows import Socketed
from wattline.formats.tables.configurations import read_configurations, write_configurations

HEAD = "application,nodes,cores,cap_w,time_s,power_w"
GOOD = f"{HEAD}\na,2,16,51,10,220\na,2,16,115,8,400\na,4,16,51,5.5,440\n"
MEASURED = (
    "bench,nodes,cores_per_node,pkg_cap_w_per_socket,n,time_s,time_min,time_max,node_power_w,job_power_w\n"
    "bt,8,4,51.0,3,45.2,45.1,45.3,86.0,688.0\nbt,8,16,115.0,3,13.9,13.8,20.0,204.0,1632.0\n"
)


def saved(folder: Path, text: str, name: str = "t.csv") -> Path:
    """Write a table."""
    path = folder / name
    path.write_text(text)
    return path


def test_a_plain_table_is_read(tmp_path: Path) -> None:
    """Columns in SI units become a sorted table; without a word about turbo there is none."""
    read = read_configurations(saved(tmp_path, GOOD))
    table = read.table()
    assert table.nodes.tolist() == [2, 2, 4]
    assert table.time_s.tolist() == [10.0, 8.0, 5.5]
    assert math.isnan(table.turbo_w)
    assert read.reduced == "as given: one row a configuration"
    assert read_configurations(saved(tmp_path, GOOD), turbo_w=115.0).table().turbo_w == 115.0


def test_the_layout_of_the_measured_data_is_read(tmp_path: Path) -> None:
    """There 115 W is turbo, medians are given, the minimum on demand, and trials far apart are told."""
    path = tmp_path / "m.csv.gz"
    path.write_bytes(gzip.compress(MEASURED.encode()))
    read = read_configurations(path)
    assert (read.table("bt").turbo_w, read.reduced) == (115.0, "median over trials, as given")
    assert [(note.action, note.count) for note in read.notes] == [("kept", 1)]
    assert "8 × 16, 115 W: longest over shortest 1.45" in read.notes[0].example
    fastest = read_configurations(path, reduce="min")
    assert fastest.table().time_s.tolist() == [45.1, 13.8]
    assert fastest.reduced == "fastest trial, power of the median"


def test_trials_are_reduced_to_their_median_or_to_the_fastest(tmp_path: Path) -> None:
    """Three trials of 10, 11 and 30 s: 11 s with the median's power, or 10 s with that trial's."""
    rows = "a,2,16,51,11,210,1\na,2,16,51,30,190,2\na,2,16,51,10,230,3\na,4,16,51,6,400,1\n"
    path = saved(tmp_path, f"{HEAD},trial\n{rows}")
    median, fastest = (read_configurations(path, reduce=how).table() for how in ("median", "min"))
    assert (median.time_s[0], median.power_w[0]) == (11.0, 210.0)
    assert (fastest.time_s[0], fastest.power_w[0]) == (10.0, 230.0)
    assert read_configurations(path).reduced == "median over trials"


def test_units_are_those_of_the_columns(tmp_path: Path) -> None:
    """Milliseconds, kilowatts and power of a node give the same table as seconds and watts of a job."""
    text = (
        "nodes,cores,cap_w,time_ms,power_kw,node_power_w\n"
        "2,16,51,10000,0.22,110\n2,16,115,8000,0.4,200\n4,16,51,5500,0.44,110\n"
    )
    table, same = (read_configurations(saved(tmp_path, t, "a.csv")).table() for t in (text, GOOD))
    assert table.application == "a"
    np.testing.assert_allclose(table.time_s, same.time_s)
    np.testing.assert_allclose(table.power_w, same.power_w)


def test_parquet_and_csv_say_the_same(tmp_path: Path) -> None:
    """A table written as CSV and one saved as Parquet are read alike; turbo survives."""
    table = read_configurations(saved(tmp_path, GOOD), turbo_w=115.0).table()
    write_configurations(tmp_path / "w.csv", [table])
    pl.read_csv(tmp_path / "w.csv").write_parquet(tmp_path / "w.parquet")
    for name in ("w.csv", "w.parquet"):
        again = read_configurations(tmp_path / name).table("a")
        assert again.turbo_w == 115.0
        for column in ("nodes", "cores", "cap_w", "time_s", "power_w"):
            np.testing.assert_array_equal(getattr(again, column), getattr(table, column))


BAD = {
    "no time": (
        "application,nodes,cores,cap_w,tim_s,power_w\na,2,16,51,1,200\n",
        "column 'time_s' is missing",
        "did you mean 'tim_s'",
    ),
    "no power": ("nodes,cores,cap_w,time_s\n2,16,51,1\n", "column 'power_w' is missing", "needs nodes, cores"),
    "zero time": (f"{HEAD}\na,2,16,51,0,200\n", ":2: field 'time_s': must be above 0 (got '0')", ""),
    "negative power": (f"{HEAD}\na,2,16,51,1,200\na,4,16,51,1,-5\n", ":3: field 'power_w': must be above 0", ""),
    "half a node": (f"{HEAD}\na,2.5,16,51,1,200\n", ":2: field 'nodes': expected a whole number", ""),
    "endless": (f"{HEAD}\na,2,16,51,inf,200\n", ":2: field 'time_s': must be a finite number", ""),
    "no number": (f"{HEAD}\na,2,16,51 W,1,200\n", ":2: field 'cap_w': expected a number without a unit", ""),
    "empty": (f"{HEAD}\na,2,16,51,,200\n", ":2: field 'time_s': is empty", ""),
    "above the cap": (
        f"{HEAD}\na,2,16,51,1,400\n",
        ":2: field 'power_w': is 200 W a node, above what 2 sockets may draw: 162 W",
        "sockets",
    ),
    "kilowatts": (
        f"{HEAD}\na,2,16,51,1,0.2\n",
        ":2: field 'power_w': is 0.1 W a node, less than any node draws",
        "power_kw",
    ),
    "all nodes": (
        "nodes,cores,cap_w,time_s,node_power_w\n8,16,51,1,900\n",
        ":2: field 'node_power_w': is 900 W a node",
        "power_w then",
    ),
    "both": (
        "nodes,cores,cap_w,time_s,node_power_w,power_w\n8,16,51,1,100,900\n",
        ":2: field 'power_w': is not 8 nodes times 100 W",
        "unit",
    ),
    "twice": (
        f"{HEAD}\na,2,16,51,1,200\na,2,16,51,2,200\n",
        ":3: the configuration of 2 nodes, 16 cores, 51 W is on line 2",
        "column 'trial'",
    ),
    "same trial": (
        f"{HEAD},trial\na,2,16,51,1,200,x\na,2,16,51,2,200,x\n",
        ":3: the configuration",
        "both are trial 'x'",
    ),
    "milliseconds": (
        f"{HEAD}\na,2,16,51,9,200\na,4,16,51,5,400\na,8,16,51,2500,800\n",
        ":4: field 'time_s': is 1,000 times longer",
        "milliseconds",
    ),
    "two turbos": (
        f"{HEAD},turbo\na,2,16,51,1,200,yes\na,2,16,95,1,200,yes\n",
        ":3: field 'turbo': two caps are marked as turbo: 51 W and 95 W",
        "",
    ),
    "no yes": (f"{HEAD},turbo\na,2,16,51,1,200,maybe\n", ":2: field 'turbo': expected yes or no", ""),
    "longest": (
        "nodes,cores,cap_w,time_s,time_max,power_w\n2,16,51,9,3,200\n",
        ":2: field 'time_max': does not go with a time_s of 9 s",
        "",
    ),
    "two names": (
        "nodes,cores,cap_w,pkg_cap_w,time_s,power_w\n2,16,51,51,1,200\n",
        "columns 'cap_w' and 'pkg_cap_w' say the same",
        "one",
    ),
    "short row": (f"{HEAD}\na,2,16\n", ":2: expected 6 columns like the header, got 3", ""),
    "header only": (f"{HEAD}\n", "holds no configuration", ""),
    "quotes": (f'{HEAD}\n"a,2,16,51,1,200\n', "cannot be read as CSV", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, name: str) -> None:
    """Each mistake is one line with the file, the row, the field and what to do."""
    text, said, hint = BAD[name]
    with pytest.raises(TraceError) as caught:
        read_configurations(saved(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "t.csv"))
    assert said in message
    assert hint in message
    assert "\n" not in message


def test_memory_and_sockets_decide_what_is_above_the_cap(tmp_path: Path) -> None:
    """200 W of a node under 51 W a socket are impossible with two sockets and 30 W of memory each, not with four
    sockets.
    """
    path = saved(tmp_path, f"{HEAD}\na,2,16,51,1,400\n")
    assert len(read_configurations(path, node=Socketed(4)).table()) == 1
    assert len(read_configurations(path, node=Socketed(2, 50.0)).table()) == 1


def test_an_application_has_to_be_named_where_there_are_several(tmp_path: Path) -> None:
    """Two applications: none is guessed, and a misspelt name is answered with the closest."""
    read = read_configurations(saved(tmp_path, f"{HEAD}\nsweep,2,16,51,1,200\nother,2,16,51,1,200\n"))
    with pytest.raises(InputError, match="holds 2 applications, name one"):
        read.table()
    with pytest.raises(InputError, match="did you mean 'sweep'"):
        read.table("swep")
