"""``wattline configs``: measured configurations at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call

TABLE = "application,nodes,cores,cap_w,time_s,power_w,turbo\n" + "".join(
    f"{name},{n},{c},{p},{work / (n * c) * slow},{n * (40 + 4 * c * p / 50)},{'yes' if p == 115 else 'no'}\n"
    for name, work in (("one", 640), ("two", 6400))
    for n in (2, 4, 8)
    for c in (4, 16)
    for p, slow in ((51, 1.3), (95, 1.0), (115, 0.9))
)


@pytest.fixture
def table(folder: Path) -> str:
    """A table of two applications."""
    (folder / "t.csv").write_text(TABLE)
    return "t.csv"


def test_an_overview_of_all_applications(wattline: Call, table: str) -> None:
    """Every application is a row, in 80 columns; how trials were reduced is said."""
    answer = wattline("configs", "show", table)
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines()[1:3]] == ["one", "two"]
    assert "time [s]" not in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "times: as given" in answer.err


def test_the_best_under_a_bound_with_reasons_and_a_page(wattline: Call, table: str, folder: Path) -> None:
    """The named points with units in the header, sentences that say why, JSON with the same, and a page with
    figures.
    """
    shown = wattline("configs", "show", table, "--app", "two", "--bound", "900 W", "--out", "page.html")
    assert "time [s]" in shown.out
    assert "less time under the same bound" in " ".join(shown.out.split())
    assert max(map(len, shown.out.splitlines())) <= 80
    assert (folder / "page.html").read_text().count("<figure") == 2
    found = json.loads(wattline("configs", "show", table, "--app", "two", "--bound", "900 W", "--json").out)
    point = found["applications"][0]["bounds"][0]["points"]["best"]
    assert point["power_w"] <= 900 == point["power_w"] + point["wasted_w"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--app", "on"), "no application 'on'; did you mean 'one'?"),
        (("--bound", "0 W"), "--bound 0 W: must be above 0"),
        (("--bound", "3 apples"), "--bound: unknown unit 'apples'"),
        (("--least-nodes", "9"), "--least-nodes 9: t.csv has no configuration on so many nodes"),
        (("--out", "t.csv"), "is the file that is read"),
    ],
)
def test_mistakes_are_one_line(wattline: Call, table: str, more: tuple[str, ...], said: str) -> None:
    """What is wrong with a flag is said in one line, exit code 2."""
    answer = wattline("configs", "show", table, *more)
    assert answer.code == 2
    assert said in answer.err.splitlines()[-1]


def test_a_job_log_is_refused(wattline: Call) -> None:
    """A file that is no table of configurations is refused with the columns that are missing."""
    answer = wattline("configs", "show", "small.swf")
    assert answer.code == 2
    assert "column 'nodes' is missing" in answer.err


def test_small_tables_and_no_bound_at_all(wattline: Call, folder: Path) -> None:
    """One row, no turbo, an endless bound, a bound too low: each is answered, also as JSON."""
    (folder / "one.csv").write_text("nodes,cores,cap_w,time_s,power_w\n4,8,60,10,400\n")
    endless = wattline("configs", "show", "one.csv", "--bound", "inf")
    assert "one without a bound" in endless.out
    assert (
        json.loads(wattline("configs", "show", "one.csv", "--bound", "inf", "--json").out)["applications"][0]["bounds"][
            0
        ]["bound_w"]
        is None
    )
    assert (
        "No configuration of the table draws as little as 10 W."
        in wattline("configs", "show", "one.csv", "--bound", "10 W").out
    )
    assert (
        "1 node of 290 W (the table has none as small)"
        in wattline("configs", "show", "one.csv", "--bound", "500 W").out
    )
    assert "1 configuration; nothing beats" in wattline("configs", "show", "one.csv").out
