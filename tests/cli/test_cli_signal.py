"""``wattline signal``: recorded days by their figures, in a table and as JSON; bad sets are one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from calling import Call

from wattline.generate.signal import GaussianSignal, generate_signal


@pytest.fixture
def days(folder: Path) -> Path:
    """Return a folder, which is here, with three days of one law and one of another."""
    for k, std in enumerate((0.4, 0.4, 0.4, 0.7)):
        values = generate_signal(GaussianSignal(86400.0, std=std, step_s=10.0, seed=k)).values
        rows = [f"{10 * i},{y}" for i, y in enumerate(values) if k != 1 or not 5000 <= 10 * i < 5100]
        (folder / f"{k}.csv").write_text("t_s,y\n" + "\n".join(rows) + "\n")
    return folder


def test_a_row_a_record(days: Path, wattline: Call) -> None:
    """The table has a row for each record with its usable hours and figures, and one for all of them."""
    answer = wattline("signal", "0.csv", "1.csv", "2.csv")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert [line.split()[0] for line in lines] == ["record", "0", "1", "2", "all,", "std"]
    assert "23 of 24" in lines[2]
    assert "WARNING" not in answer.err
    assert all(len(line) <= 80 for line in lines)


def test_the_stranger_is_named(days: Path, wattline: Call) -> None:
    """A day of another law is named in a loud line, on standard error and in JSON, and is no mistake."""
    answer = wattline("signal", "0.csv", "1.csv", "2.csv", "3.csv", "--json")
    assert answer.code == 0
    assert "WARNING: record '3' differs in law from 3 others: its standard deviation is" in " ".join(answer.err.split())
    found = json.loads(answer.out)
    assert list(found["strangers"]) == ["3"]
    values = np.loadtxt(days / "0.csv", delimiter=",", skiprows=1)[:, 1]
    first = found["records"][0]
    assert (first["name"], first["whole_hours"], first["usable_hours"], first["step_s"]) == ("0", 24, 24, 10.0)
    assert (first["mean"], first["std"]) == (pytest.approx(values.mean()), pytest.approx(values.std()))
    assert found["records"][1]["gaps"] == [[5000.0, 5100.0]]
    assert found["together"]["records"] == 4
    assert found["between"]["std"]["low"] < 0.45 < 0.6 < found["between"]["std"]["high"]


def test_bad_sets_end_with_2(days: Path, wattline: Call) -> None:
    """What is no set of records is one line and exit code 2."""
    for files, said in (
        (["0.csv", "0.csv"], "0.csv: is listed twice"),
        (["0.csv", "none.csv"], "none.csv: no such file"),
        (["0.csv", "--step", "soon"], "expected a duration"),
        (["0.csv", "--column", "regd"], "field 'regd': no such column: found t_s, y"),
    ):
        answer = wattline("signal", *files)
        assert answer.code == 2
        assert said in answer.err
        assert len(answer.err.splitlines()) <= 3
