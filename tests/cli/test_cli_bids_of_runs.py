"""Bids that policies make, on the command line: what a run shows of them, as a file and back, and mistakes told in one
line.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from calling import Call

DAY = """name = "day"
seed = 2
kinds = "meggie-like"
[trace]
generator = "meggie-like"
duration = "1 d"
[cluster]
nodes = 728
idle = "31 W"
max = "165 W"
[policy]
select = "qoscap"
cap = "match-target"
bid = ["adaptive", "quantile"]
[regulation]
warmup = "21 h"
baseline = "easy"
control = "4 s"
[prices]
start = 2022-07-01T05:00:00Z
"""


@pytest.fixture
def day(folder: Path) -> Path:
    """A scenario of a day, three hours of which are billed, in which one of two policies makes bids."""
    (folder / "day.toml").write_text(DAY)
    return folder


def test_bids_as_a_file_and_back(wattline: Call, day: Path) -> None:
    """The bids of a run become a file; a run that is given the file costs the same to the last digit."""
    ran = wattline("run", "day.toml", "--set", "policy.bid=adaptive", "--no-report", "--json", "--quiet")
    assert ran.code == 0, ran.err
    written = wattline("report", "out/day", "--bids", "bids.csv")
    assert written.code == 0, written.err
    assert "bids     bids.csv: 24 bids" in written.out
    with (day / "bids.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["clock"] for row in rows[:3]] == [
        "2022-07-01T05:00+00:00",
        "2022-07-01T06:00+00:00",
        "2022-07-01T07:00+00:00",
    ]
    sets = ("--set", "policy.bid=given", "--set", "regulation.bids=bids.csv")
    again = wattline("run", "day.toml", *sets, "--out", "out/again", "--no-report", "--json", "--quiet")
    assert again.code == 0, again.err
    first, second = (json.loads(answer.out)["summary"] for answer in (ran, again))
    assert first["accounts"] == second["accounts"]
    assert first["regulation"] == second["regulation"]


def test_the_summary_shows_bids_by_hour(wattline: Call, day: Path) -> None:
    """The title names who makes bids; every billed hour has its own, on the wall clock, within 80 columns."""
    shown = wattline("run", "day.toml", "--set", "policy.bid=quantile", "--no-report")
    assert shown.code == 0, shown.err
    assert "day (fcfs, qoscap, bids quantile, seed 2)" in shown.out
    hours = [line for line in shown.out.splitlines() if line.startswith("2022-07-02 ")]
    assert [line[:16] for line in hours] == ["2022-07-02 02:00", "2022-07-02 03:00", "2022-07-02 04:00"]
    assert all(" ± " in line and "$" in line and "…" not in line for line in hours)
    assert max(map(len, shown.out.splitlines())) <= 80


def test_a_comparison_begins_with_no_market(wattline: Call, day: Path) -> None:
    """Where a baseline is named, the same jobs in no market stand first, and reserve and service beside the cost."""
    found = wattline("compare", "day.toml", "--json", "--quiet")
    assert found.code == 0, found.err
    told = json.loads(found.out)["comparison"]
    assert told["labels"] == ["no market (easy)", "adaptive", "quantile"]
    rows = {row["path"]: [estimate["mean"] for estimate in row["estimates"]] for row in told["metrics"]}
    assert rows["regulation.reserve_w"][0] is None
    assert rows["regulation.reserve_w"][2] > rows["regulation.reserve_w"][1] > 0
    assert rows["cost"][0] > rows["cost"][1]
    assert "worst_mean_q" in rows
    again = wattline("report", "out/day-comparison", "--json", "--quiet")
    assert json.loads(again.out)["comparison"] == told
    refused = wattline("report", "out/day-comparison", "--bids", "b.csv")
    assert (refused.code, "is a comparison; --bids takes the journal of one of its runs" in refused.err) == (2, True)


def test_a_run_in_no_market_has_no_bids(wattline: Call, folder: Path) -> None:
    """Asked for the bids of a run without any, the answer is one line and no file."""
    assert wattline("run", "small.toml", "--no-report", "--quiet").code == 0
    answer = wattline("report", "out/small", "--bids", "bids.csv")
    assert (answer.code, answer.err) == (
        2,
        "wattline: out/small: there is no bid in this run: it took part in no market\n",
    )
    assert not (folder / "bids.csv").exists()


def test_a_policy_that_never_bids_is_said(wattline: Call, day: Path) -> None:
    """A run in which the bid policy stayed out throughout says so, and bills what was drawn."""
    (day / "mine.py").write_text(
        "from wattline import policy\n@policy('bid')\ndef mine(s, hour, param, memory):\n    return 0\n"
    )
    answer = wattline("run", "day.toml", "--set", "policy.bid=mine.py")
    assert answer.code == 0, answer.err
    assert "bid           none in any of 3 billed hours: energy is paid as drawn" in answer.out
    assert "; what is promised" not in answer.err
    told = json.loads(wattline("report", "out/day", "--json", "--quiet").out)["summary"]
    assert told["regulation"]["cost"] == told["accounts"]["total"]["cost"] == told["accounts"]["total"]["drawn_cost"]


def test_nobody_who_follows_is_said(wattline: Call, day: Path) -> None:
    """Bids that no policy follows are simulated, and it is said that they are met by chance."""
    sets = ("--set", "policy.select=easy", "--set", "policy.cap=none", "--set", "policy.bid=adaptive")
    answer = wattline("run", "day.toml", *sets, "--no-report")
    assert answer.code == 0
    assert "neither select = 'easy' nor cap = 'none' follows a target" in answer.err


@pytest.mark.parametrize(
    ("command", "sets", "said"),
    [
        (
            "run",
            (),
            (
                "2 combinations of policies are listed; compare them with wattline compare, or pick one with --set "
                "policy.bid=…"
            ),
        ),
        ("run", ("policy.bid=adaptve",), "unknown bid policy 'adaptve'; did you mean 'adaptive'?"),
        (
            "run",
            ("policy.bid=qoscap",),
            "unknown bid policy 'qoscap'; known: adaptive, day-budget, fixed-heuristic, given, quantile",
        ),
        (
            "run",
            ('policy.bid={name="quantile",shar=1}',),
            "bid policy 'quantile' has no parameter 'shar'; did you mean 'share'?",
        ),
        (
            "bid",
            ("policy.bid=adaptive",),
            "wattline bid chooses one bid for all hours, 'adaptive' makes others hour by hour",
        ),
        (
            "run",
            ("policy.bid=fixed-heuristic", "kinds=rateless.csv"),
            "'fixed-heuristic' goes by the arrival rates of kinds, and no kind has one",
        ),
        ("compare", ("policy.bid=fixed-heuristic", "kinds=rateless.csv"), "as wattline trace kinds writes it"),
    ],
)
def test_mistakes_are_told_before_the_run(
    wattline: Call, day: Path, command: str, sets: tuple[str, ...], said: str
) -> None:
    """A wrong name, a list to run, kinds without rates: one line that says what to do, and nothing is written."""
    (day / "rateless.csv").write_text("name,nodes,work_s,draw_w\nx,1,60,100\n")
    (day / "log.csv").write_text("submit_s,work_s,nodes,kind\n0,60,1,x\n86400,60,1,x\n")
    logged = ("trace={file='log.csv'}",) if "kinds=rateless.csv" in sets else ()
    answer = wattline(command, "day.toml", *(word for text in (*sets, *logged) for word in ("--set", text)))
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.splitlines()[-1].startswith("wattline: ")
    assert not (day / "out" / "day").exists()


def test_a_bid_policy_without_kinds_or_market(wattline: Call, folder: Path) -> None:
    """What a bid policy needs and does not find is said with the key that names it."""
    alone = wattline("run", "small.toml", "--set", "policy.bid=adaptive")
    assert "bids need a market: add [regulation]" in alone.err
    kindless = wattline("run", "small.toml", "--set", "policy.bid=adaptive", "--set", "regulation.warmup=0")
    assert "[policy] bid: 'adaptive' treats jobs by their kinds: give [[kind]] tables" in kindless.err
