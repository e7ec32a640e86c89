"""``wattline trace kinds``: from a log to a scenario that promises something to its jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call

DUMP = "JobID|Submit|Start|ElapsedRaw|AllocNodes|User|JobName|State|ConsumedEnergyRaw\n" + "".join(
    f"{i}|2024-03-01T0{i % 10}:00:00|2024-03-01T0{i % 10}:05:00|{600 + 10 * i}|{2 + 2 * (i % 2)}|ann|"
    f"{'cfd' if i % 3 else ''}|COMPLETED|{(600 + 10 * i) * (2 + 2 * (i % 2)) * (100 - i)}\n"
    for i in range(30)
)
SCENARIO = """kinds = "jobs.kinds.csv"
[trace]
file = "jobs.parquet"
[cluster]
nodes = 16
idle = "40 W"
max = "120 W"
[policy]
select = "energyqare"
cap = "match-target"
[regulation]
mean = "1 kW"
reserve = "100 W"
"""


def test_from_a_log_to_a_run(wattline: Call, folder: Path) -> None:
    """The two files that are written are all that a scenario needs to hold a log's jobs against a promise."""
    (folder / "log.txt").write_text(DUMP)
    answer = wattline("trace", "kinds", "log.txt", "--out", "jobs.parquet", "--limit", "2", "--idle", "40 W")
    assert answer.code == 0
    assert 'In a scenario: kinds = "jobs.kinds.csv" and, under [trace], file = "jobs.parquet"' in answer.out
    assert "has no name: jobs of one user and one number of nodes are a type" in answer.err
    assert "cfd@4" in answer.out
    (folder / "s.toml").write_text(SCENARIO)
    ran = wattline("run", "s.toml", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["summary"]["jobs"]["finished"] == 30


def test_json_has_every_kind(wattline: Call, folder: Path) -> None:
    """Programs get all kinds with their numbers, the files, and the notes."""
    (folder / "log.txt").write_text(DUMP)
    found = json.loads(wattline("trace", "kinds", "log.txt", "--json", "--quiet").out)
    assert {kind["name"] for kind in found["kinds"]} == {"cfd@2", "cfd@4", "user ann@2", "user ann@4"}
    assert found["kinds_file"] is None
    assert found["mean_busy_nodes"] == pytest.approx(
        sum(k["arrival_per_s"] * k["nodes"] * k["work_s"] for k in found["kinds"])
    )
    assert {kind["power_from"] for kind in found["kinds"]} == {"observed"}
    assert {kind["average"] for kind in found["kinds"]} == {False}
    mean = json.loads(wattline("trace", "kinds", "log.txt", "--average", "--json", "--quiet").out)
    assert {kind["average"] for kind in mean["kinds"]} == {True}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("log.txt", "--out", "jobs.swf"),
            "jobs.swf: end the name in .parquet, .csv or .csv.gz, which hold the power of jobs",
        ),
        (("log.txt", "--idle", "warm"), "--idle: expected a power like '12 MW', got 'warm'"),
        (("log.txt", "--idle", "500 W"), "need 0 <= idle power <= busy power, got 500 W and 300 W"),
        (("log.txt", "--rates-until", "soon"), "--rates-until: expected a duration"),
        (("log.txt", "--limit", "0"), "the limit of the QoS degradation must be above 0, got 0"),
        (("small.toml",), "small.toml: is a scenario, not a job log"),
        (("missing.txt",), "missing.txt: no such file"),
    ],
)
def test_bad_questions_get_one_line(wattline: Call, folder: Path, arguments: tuple[str, ...], said: str) -> None:
    """What cannot be done is said in one line, with exit code 2, and nothing is written."""
    (folder / "log.txt").write_text(DUMP)
    answer = wattline("trace", "kinds", *arguments)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not list(folder.glob("*.kinds.csv"))


def test_days_of_a_cluster_with_their_kinds(wattline: Call, folder: Path) -> None:
    """``generate meggie-like`` writes jobs and kinds that a scenario takes as they are."""
    answer = wattline("trace", "generate", "meggie-like", "jobs.parquet", "--days", "1", "--seed", "3")
    assert answer.code == 0
    assert "48 kinds in jobs.kinds.csv" in answer.out
    assert 'kinds = "jobs.kinds.csv"' in answer.out
    text = SCENARIO.replace("nodes = 16", "").replace('"40 W"', '"31 W"').replace('"120 W"', '"160 W"')
    (folder / "s.toml").write_text(text.replace('"1 kW"', '"50 kW"').replace('"100 W"', '"5 kW"'))
    ran = wattline("run", "s.toml", "--json", "--set", "regulation.control=10 s")
    assert ran.code == 0, ran.err
    drawn = json.loads(wattline("trace", "generate", "emmy-like", "e.csv", "--days", "2", "--own-power", "--json").out)
    assert (drawn["kinds"], drawn["nodes"], drawn["kinds_file"]) == (64, 560, "e.kinds.csv")
    kinds = json.loads(wattline("trace", "kinds", "e.csv", "--json").out)["kinds"]
    assert {"observed", "mean, linear-cap"} >= {kind["power_from"] for kind in kinds}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("meggie-like", "m.parquet", "--jobs", "5"), "--jobs does not go with meggie-like"),
        (("poisson", "p.swf", "--days", "5"), "--days does not go with poisson"),
        (("emmy-like", "e.swf"), "e.swf: end the name in .parquet, .csv or .csv.gz"),
        (("emmy-like", "e.csv", "--nodes", "8"), "its jobs need up to 64 nodes, got a machine of 8"),
    ],
)
def test_what_a_generator_does_not_know_is_refused(wattline: Call, arguments: tuple[str, ...], said: str) -> None:
    """Options of other generators and files that cannot hold power are refused in one line."""
    answer = wattline("trace", "generate", *arguments)
    assert answer.code == 2
    assert said in answer.err


def test_a_log_is_never_written_over(wattline: Call, folder: Path) -> None:
    """Neither kinds nor a conversion may replace the file that they are made from."""
    text = "submit_s,work_s,nodes\n0,9,1\n5,9,1\n"
    (folder / "log.csv").write_text(text)
    for arguments in (["kinds", "log.csv", "--out", "./log.csv"], ["convert", "log.csv", "log.csv"]):
        answer = wattline("trace", *arguments)
        assert answer.code == 2
        assert answer.err == "wattline: log.csv: is the file that is read; give another name for the result\n"
    assert (folder / "log.csv").read_text() == text


def test_names_cannot_paint_the_terminal(wattline: Call, folder: Path) -> None:
    """Control characters of a log are shown as such, and markup as it stands."""
    rows = "".join(f"{i},60,1,{name}\n" for i in range(9) for name in ("\x1b[31mred", "[bold]x[/bold]"))
    (folder / "log.csv").write_text("submit_s,work_s,nodes,kind\n" + rows)
    answer = wattline("trace", "kinds", "log.csv")
    assert "\x1b" not in answer.out + answer.err
    assert "�[31mred@1" in answer.out
    assert "[bold]x[/bold]@1" in answer.out
