"""``wattline configs fit`` and ``variability`` at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call


def cell(n: int, c: int, p: int) -> tuple[float, float]:
    """Return time and power by a law: caps cut what more than 30 + 8 W a core would draw, turbo adds a quarter."""
    free_w = (30 + 8 * c) * (1.25 if p == 115 else 1.0)
    node_w = free_w if p == 115 else min(free_w, 2.0 * p + 10)
    return 6400 / (n * c) * (free_w / node_w) * (0.85 if p == 115 else 1.0), n * node_w


GRID = [(n, c, p) for n in (2, 4, 8, 16) for c in (4, 8, 12, 16) for p in (40, 51, 65, 95, 115)]
TABLE = "application,nodes,cores,cap_w,time_s,power_w,turbo\n" + "".join(
    f"made,{n},{c},{p},{cell(n, c, p)[0]},{cell(n, c, p)[1]},{'yes' if p == 115 else 'no'}\n" for n, c, p in GRID
)


@pytest.fixture
def table(folder: Path) -> str:
    """A table of one application on a full grid."""
    (folder / "t.csv").write_text(TABLE)
    return "t.csv"


@pytest.mark.parametrize("model", ["mixed", "physical", "log-quadratic"])
def test_errors_are_shown_with_power_too_low_first(wattline: Call, table: str, model: str) -> None:
    """The first thing said of a model is how often, and by how much, power was promised too low; 80 columns hold it."""
    shown = wattline("configs", "fit", table, "--model", model, "--share", "0.4", "--draws", "3")
    assert shown.code == 0
    title, low, *_ = shown.out.splitlines()
    assert title == f"made by {model}: 35 of 80 measurements, median of 3 draws"
    assert low.startswith("power predicted more than 10 % too low: ")
    assert max(map(len, shown.out.splitlines())) <= 80
    found = json.loads(wattline("configs", "fit", table, "--model", model, "--json").out)
    assert found["judged"] == "80 measurements, 10 folds"
    assert next(iter(found["errors"])) == "power_too_low"
    assert found["errors"]["time_mean"] < (0.12 if model == "log-quadratic" else 0.02)


def test_rows_may_be_chosen_instead_of_drawn(wattline: Call, table: str) -> None:
    """With ``--chosen`` the title says that rows were chosen, and a line the largest error of the worst draw; it goes
    with ``--share``.
    """
    shown = wattline("configs", "fit", table, "--share", "0.4", "--draws", "2", "--chosen")
    assert shown.out.splitlines()[0] == "made by mixed: 35 chosen of 80 measurements, median of 2 draws"
    assert "largest time error of the worst draw: " in shown.out
    refused = wattline("configs", "fit", table, "--chosen")
    assert refused.code == 2
    assert "--chosen: goes with --share" in refused.err


def test_all_applications_are_judged_in_one_table(wattline: Call, table: str, folder: Path) -> None:
    """Without a name each application is a row, in 80 columns; one with too few rows is named and left out."""
    header, *rows = TABLE.splitlines()
    more = [row.replace("made,", "other,") for row in rows] + [row.replace("made,", "tiny,") for row in rows[:5]]
    (folder / "two.csv").write_text("\n".join([header, *rows, *more]) + "\n")
    shown = wattline("configs", "fit", "two.csv")
    assert [line.split()[0] for line in shown.out.splitlines()[1:3]] == ["made", "other"]
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "left out: tiny: " in shown.err
    assert "too few" in shown.err
    assert list(json.loads(wattline("configs", "fit", "two.csv", "--json").out)["applications"]) == ["made", "other"]
    refused = wattline("configs", "fit", "two.csv", "--next", "1")
    assert refused.code == 2
    assert "holds 3 applications, name one" in refused.err


def test_the_predicted_table_can_be_read_like_a_measured_one(wattline: Call, table: str, folder: Path) -> None:
    """A grid of our own is written with bounds around each value; ``configs show`` reads it, turbo included."""
    said = wattline("configs", "fit", table, "--nodes", "4,6-8/2", "--caps", "51,80,115", "--out", "p.parquet")
    assert "36 configurations in p.parquet, 16 of them measured" in said.out
    import polars as pl

    frame = pl.read_parquet(folder / "p.parquet")
    assert sorted(frame["nodes"].unique()) == [4, 6, 8]
    assert frame.filter(pl.col("turbo") == "yes").height == 12
    for low, value, high in (("time_least_s", "time_s", "time_most_s"), ("power_least_w", "power_w", "power_most_w")):
        assert (
            (frame[low] <= frame[high]) & (frame[low] <= frame[value] * 1.05) & (frame[high] >= frame[value] * 0.95)
        ).all()
    assert not frame["beyond"].any()
    assert said.err == ""
    row = frame.filter((pl.col("nodes") == 6) & (pl.col("cores") == 8) & (pl.col("cap_w") == 51.0))
    assert row["time_s"][0] == pytest.approx(cell(6, 8, 51)[0], rel=0.03)
    assert wattline("configs", "show", "p.parquet", "--bound", "1 kW").code == 0


def test_what_lies_beyond_the_measurements_is_marked(wattline: Call, table: str, folder: Path) -> None:
    """Twice the nodes, or a lower cap: predicted, marked in a column, and said, for bounds promise nothing there."""
    said = wattline(
        "configs", "fit", table, "--nodes", "16,32", "--cores", "8", "--caps", "30,51,115", "--out", "p.parquet"
    )
    assert "4 configurations lie beyond what was measured" in said.err
    import polars as pl

    beyond = pl.read_parquet(folder / "p.parquet").filter("beyond")
    assert set(zip(beyond["nodes"], beyond["cap_w"], strict=True)) == {(16, 30.0), (32, 30.0), (32, 51.0), (32, 115.0)}


def test_the_next_configurations_are_named(wattline: Call, table: str, folder: Path) -> None:
    """Of a half-measured table, three configurations that are not in it; cheap ones if node-time counts."""
    lines = TABLE.splitlines()
    (folder / "half.csv").write_text("\n".join([lines[0], *lines[1::2]]) + "\n")
    known = {tuple(line.split(",")[1:4]) for line in lines[1::2]}
    found = json.loads(wattline("configs", "fit", "half.csv", "--next", "3", "--json").out)["next"]
    assert len(found) == 3
    assert not {(str(r["nodes"]), str(r["cores"]), f"{r['cap_w']:g}") for r in found} & known
    cheap = json.loads(wattline("configs", "fit", "half.csv", "--next", "3", "--cost", "node-time", "--json").out)[
        "next"
    ]
    assert sum(r["nodes"] * r["time_s"] for r in cheap) <= sum(r["nodes"] * r["time_s"] for r in found)
    assert "1. measure " in wattline("configs", "fit", "half.csv", "--next", "1").out


def test_caps_of_equal_speed_for_measured_nodes(wattline: Call, table: str, folder: Path) -> None:
    """Factors 1, 1, 1.2 and 0.8 under 480 W: caps of 120, 120, 144 and 96 W, printed by name; frugal nodes do without
    the thirsty one.
    """
    (folder / "nodes.csv").write_text("node,power_w\na,100\nb,100\nc,120\nd,80\ne,100\n")
    words = (
        "configs",
        "variability",
        table,
        "--nodes",
        "4",
        "--cores",
        "16",
        "--bound",
        "480 W",
        "--factors",
        "nodes.csv",
    )
    found = json.loads(wattline(*words, "--json").out)
    assert found["caps_w"] == pytest.approx({"a": 120.0, "b": 120.0, "c": 144.0, "d": 96.0})
    # the law is proportional below 158 W: at 120 typical watts against the 100 that c has under an equal cap
    assert found["slower_equal_speed"] == pytest.approx(158 / 120, rel=0.01)
    assert found["slower_equal_caps"] == pytest.approx(158 / 100, rel=0.01)
    assert "node c: cap 144.0 W" in wattline(*words).out
    fewer = json.loads(wattline(*words, "--frugal", "--json").out)
    assert sorted(fewer["caps_w"]) == ["a", "b", "d", "e"]
    assert fewer["slower_equal_speed"] < found["slower_equal_speed"]


def test_drawn_machines_lose_less_with_caps_of_equal_speed(wattline: Call, table: str) -> None:
    """Over machines that differ by 23 %, time is saved in nine of ten; none if nodes are alike."""
    words = (
        "configs",
        "variability",
        table,
        "--nodes",
        "4",
        "--cores",
        "16",
        "--bound",
        "480 W",
        "--draws",
        "50",
        "--json",
    )
    found = json.loads(wattline(*words).out)
    assert 0.0 < found["gain_low"] < found["gain"] < found["gain_high"] < 0.15
    assert json.loads(wattline(*words, "--spread", "0").out)["gain"] == pytest.approx(0.0, abs=1e-9)


def test_machines_that_equal_caps_cannot_run_are_counted(wattline: Call, table: str) -> None:
    """A node needs 90 W at the lowest measured speed: equal shares of 390 W are below that for thirsty nodes, caps of
    equal speed are not.
    """
    words = ("configs", "variability", table, "--nodes", "4", "--cores", "16", "--bound", "390 W", "--draws", "200")
    found = json.loads(wattline(*words, "--json").out)
    assert 0 < found["too_low"] < 200
    assert f"left out: {found['too_low']:,} machines where an equal cap is below" in wattline(*words).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fit", "t.csv", "--share", "1.5"), "--share: must lie between 0 and 1, got 1.5"),
        (("fit", "t.csv", "--miss", "1.5"), "--miss 1.5: must be a probability between 0 and 1"),
        (("fit", "t.csv", "--nodes", "8,16"), "--nodes 8,16: goes with --out or --next"),
        (("fit", "t.csv", "--nodes", "8-4"), "--nodes: expected numbers above 0 that grow, got '8-4'"),
        (("fit", "t.csv", "--cores", "many"), "--cores: expected numbers like 8,16 or 8-64/8, got 'many'"),
        (("fit", "t.csv", "--nodes", "1.5", "--next", "1"), "--nodes: expected whole numbers, got 1.5"),
        (
            ("fit", "t.csv", "--miss", "0.001", "--out", "p.parquet"),
            "--miss: 80 measurements cannot promise less than 0.0247",
        ),
        (("fit", "t.csv", "--out", "p.csv"), "p.csv: end the name in .parquet"),
        (("fit", "t.csv", "--out", "t.csv"), "is the file that is read"),
        (("fit", "t.csv", "--next", "81"), "0 configurations are not measured, got 81"),
        (("fit", "t.csv", "--nodes", "1-100000", "--next", "1"), "is too large, at most 200,000"),
        (
            ("variability", "t.csv", "--nodes", "3", "--cores", "16", "--bound", "480 W"),
            "3 nodes × 16 cores was not measured; near it: 4 × 16",
        ),
        (
            ("variability", "t.csv", "--nodes", "4", "--cores", "16", "--bound", "100 W"),
            "a bound of 100 W is too low: 4 nodes need",
        ),
        (
            ("variability", "t.csv", "--nodes", "4", "--cores", "4", "--bound", "480 W"),
            "no cap was measured that slows 4 × 4",
        ),
        (
            ("variability", "t.csv", "--nodes", "4", "--cores", "16", "--bound", "480 W", "--frugal"),
            "--frugal: needs --factors",
        ),
        (
            ("variability", "t.csv", "--nodes", "4", "--cores", "16", "--bound", "480 W", "--factors", "bad.csv"),
            "bad.csv:2: field 'factor': must be above 0",
        ),
        (
            ("variability", "t.csv", "--nodes", "4", "--cores", "16", "--bound", "480 W", "--factors", "few.csv"),
            "few.csv has 1 nodes, the job needs 4",
        ),
    ],
)
def test_mistakes_are_one_line(wattline: Call, table: str, folder: Path, words: tuple[str, ...], said: str) -> None:
    """What is wrong is said in one line, exit code 2."""
    (folder / "bad.csv").write_text("node,factor\na,-1\n")
    (folder / "few.csv").write_text("factor\n1.0\n")
    answer = wattline("configs", *words)
    assert answer.code == 2
    assert said in answer.err.splitlines()[-1]
    assert "Traceback" not in answer.err
