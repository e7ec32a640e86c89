"""``wattline configs response`` at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call

from wattline.formats.tables.responses import read_response, write_response
from wattline.physics.responses.linear import Linear

TABLE = """application,nodes,cores,cap_w,time_s,power_w,turbo
a,2,8,50,90,200,no
a,2,8,65,60,300,no
a,2,8,80,50,400,no
a,2,8,95,50.1,401,no
a,2,8,115,45,500,yes
a,4,8,80,30,800,no
"""


@pytest.fixture
def table(folder: Path) -> str:
    """A table of one application: caps that bind, one that does not, and turbo."""
    (folder / "t.csv").write_text(TABLE)
    return "t.csv"


def test_measured_configurations_become_a_response(wattline: Call, table: str) -> None:
    """Power is that of a node, turbo is left out, caps that do not bind are one point; a kind takes the file."""
    words = ("configs", "response", table, "--nodes", "2", "--cores", "8", "--out", "a.csv")
    found = json.loads(wattline(*words, "--json").out)
    assert found["points"] == [[100.0, 1.8], [150.0, 1.2], [200.0, 1.0]]
    assert read_response("a.csv").points() == ((100.0, 1.8), (150.0, 1.2), (200.0, 1.0))
    said = wattline(*words)
    assert said.code == 0
    assert "a, 2 × 8: 3 of 4 rows in a.csv" in said.out
    assert "150.0 W a node: run time × 1.200" in said.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--nodes", "3", "--cores", "8", "--out", "a.csv"), "a: 3 nodes × 8 cores was not measured; near it: 4 × 8"),
        (("--nodes", "4", "--cores", "8", "--out", "a.csv"), "t.csv: a, 4 × 8: no cap of this sweep slows the job"),
        (("--nodes", "2", "--cores", "8", "--out", "a.txt"), "--out: end the name in .csv, got 'a.txt'"),
        (("--nodes", "2", "--cores", "8", "--out", "t.csv"), "t.csv"),
    ],
)
def test_what_gives_no_response_is_one_line(wattline: Call, table: str, more: tuple[str, ...], said: str) -> None:
    """Counts that were not measured, caps that change nothing and names that cannot be written end with 2."""
    answer = wattline("configs", "response", table, *more)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.strip().splitlines()) == 1


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Any response can be written; reading it gives the same points."""
    line = Linear(123.4, 56.7, 1.9)
    write_response(tmp_path / "r.csv", line)
    assert read_response(tmp_path / "r.csv").points() == line.points()
