"""``wattline trace generate mira-like`` and ``wattline trace power``: power over time in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call

SWF = "; MaxNodes: 4096\n" + "".join(
    f"{i} {60 * i} -1 {600 + 60 * i} 512 -1 -1 512 7200 -1 1 {i % 3} {i % 2} {i % 4} -1 -1 -1 -1\n"
    for i in range(1, 40)
)


def test_a_month_is_drawn_and_looked_at(wattline: Call, folder: Path) -> None:
    """A generated trace says which machine it is for, and trace info tells of its power over time."""
    answer = wattline(
        "trace", "generate", "mira-like", "m.parquet", "--days", "30", "--full-machine", "0.01", "--seed", "3"
    )
    assert answer.code == 0, answer.err
    assert 'In a scenario: [cluster] nodes = 49152, idle = "0 W", max = "97.65625 W"' in answer.out
    shown = wattline("trace", "info", "m.parquet")
    assert "values of" in shown.out
    assert "over time" in shown.out
    facts = json.loads(wattline("trace", "info", "m.parquet", "--json").out)
    assert facts["series_w"]["step_s"] == 300.0
    assert facts["series_w"]["jobs"] == facts["jobs"]
    assert facts["nodes"]["max"] == 49152
    assert facts["header"]["FullMachine"] == "0.01"


def test_other_formats_say_what_they_lose(wattline: Call, folder: Path) -> None:
    """Written as SWF the jobs are there, and that their power is not is said."""
    answer = wattline("trace", "generate", "mira-like", "m.swf", "--days", "5")
    assert answer.code == 0
    assert "Standard Workload Format has no place for power over time" in answer.err


def test_a_log_gets_power(wattline: Call, folder: Path) -> None:
    """An SWF becomes a table with power over time, scaled to the nodes, by group, user and executable."""
    (folder / "log.swf").write_text(SWF)
    answer = wattline("trace", "power", "log.swf", "--out", "jobs.parquet", "--max", "380 W", "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    facts = json.loads(wattline("trace", "info", "jobs.parquet", "--json").out)
    assert told["values"] == facts["series_w"]["known"] > 39
    assert told["max_w"] == 380.0
    assert 100 < facts["draw_w"]["mean"] < 380
    assert wattline("trace", "power", "log.swf", "--out", "again.parquet", "--max", "380 W").code == 0
    assert (folder / "again.parquet").read_bytes() == (folder / "jobs.parquet").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("power", "log.swf", "--out", "jobs.csv"), "jobs.csv: end the name in .parquet, which holds power over time"),
        (("power", "log.swf", "--out", "j.parquet", "--max", "much"), "--max: expected a power like"),
        (("power", "log.swf", "--out", "j.parquet", "--max", "0 W"), "the greatest power of a node must be positive"),
        (("power", "small.toml", "--out", "j.parquet"), "small.toml: is a scenario, not a job log"),
        (("power", "none.swf", "--out", "j.parquet"), "none.swf: no such file"),
        (("generate", "mira-like", "m.parquet", "--full-machine", "2"), "must be in [0, 1), got 2"),
        (("generate", "mira-like", "m.parquet", "--jobs", "5"), "--jobs does not go with mira-like"),
        (("generate", "mira-like", "m.parquet", "--own-power"), "--own-power does not go with mira-like"),
        (
            ("generate", "meggie-like", "m.parquet", "--full-machine", "0.1"),
            "--full-machine does not go with meggie-like",
        ),
        (("generate", "lublin", "m.parquet", "--days", "5"), "--days does not go with lublin"),
    ],
)
def test_bad_questions_get_one_line(wattline: Call, folder: Path, words: tuple[str, ...], said: str) -> None:
    """What cannot be done is said in one line, with exit code 2, and nothing is written."""
    (folder / "log.swf").write_text(SWF)
    answer = wattline("trace", *words)
    assert answer.code == 2
    assert said in answer.err.splitlines()[-1]
    assert not list(folder.glob("*.parquet"))
