"""No result is written over what it is made from, nor over what somebody else wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from calling import SCENARIO, Call

from wattline.errors import WattlineError

MARKET = """\
name = "sold"
kinds = "W14"
[trace]
generator = "kinds"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
[regulation]
mean = "8.5 kW"
reserve = "1.5 kW"
[bid]
hours = 2
"""
GIVEN = ("--method", "given", "--quiet")


def test_a_bid_replaces_only_files_that_bids_made(folder: Path, wattline: Call) -> None:
    """``bid --write`` replaces what it made for this scenario; a scenario written by hand, also the one that is read
    and whatever name leads to it, only with ``--force``.
    """
    (folder / "sold.toml").write_text(MARKET)
    (folder / "hand.toml").write_text("# mine\n" + MARKET)
    os.link(folder / "sold.toml", folder / "linked.toml")
    (folder / "notes.txt").write_text("[[[ no TOML")
    hint = "; --force overwrites it, or give another name"
    for name, said in (
        ("hand.toml", "is there and not a file that wattline bid --write made"),
        ("notes.txt", "is there and not a file that wattline bid --write made"),
        ("sold.toml", "is the scenario that is read"),
        ("linked.toml", "is the scenario that is read"),
    ):
        before = (folder / name).read_bytes()
        answer = wattline("bid", "sold.toml", *GIVEN, "--write", name)
        assert (answer.code, answer.err) == (2, f"wattline: {name}: {said}{hint}\n")
        assert (folder / name).read_bytes() == before
    for _ in range(2):
        assert wattline("bid", "sold.toml", *GIVEN, "--write", "new.toml").code == 3  # two hours certify nothing
    answer = wattline("bid", "sold.toml", *GIVEN, "--write", "new.toml", "--set", 'name="other"')
    assert (answer.code, answer.err) == (2, f"wattline: new.toml: holds the bid of 'sold', not of 'other'{hint}\n")
    assert wattline("bid", "sold.toml", *GIVEN, "--write", "hand.toml", "--force").code == 3
    assert (folder / "hand.toml").read_text().startswith("# Made by wattline bid --write")
    answer = wattline("bid", "new.toml", *GIVEN, "--write", "new.toml")
    assert (answer.code, answer.err) == (2, f"wattline: new.toml: is the scenario that is read{hint}\n")


def test_a_bid_of_a_program_replaces_only_files_that_bids_made(folder: Path) -> None:
    """``wl.bid(…).write`` asks for ``force`` where the command does."""
    import wattline as wl

    (folder / "sold.toml").write_text(MARKET)
    found = wl.bid("sold.toml", method="given", progress=False)
    with pytest.raises(WattlineError, match="is the scenario that is read; force overwrites it"):
        found.write("sold.toml")
    assert (folder / "sold.toml").read_text() == MARKET
    found.write("new.toml")
    found.write("new.toml")
    found.write("sold.toml", force=True)
    assert (folder / "sold.toml").read_text() != MARKET


LEARNING = """\
name = "learning"
[trace]
file = "jobs.parquet"
[cluster]
nodes = 16
idle = "50 W"
max = "400 W"
[policy]
profile = "t-test"
[limit]
power = "4 kW"
deadlock = "exceed"
[profiles]
"""


@pytest.fixture
def learning(folder: Path) -> Path:
    """A scenario that learns the power of the jobs in a Parquet table."""
    import polars as pl

    table = {"submit_s": [0.0, 5.0], "work_s": [10.0, 20.0], "nodes": [2, 3], "draw_w": [200.0, 300.0]}
    pl.DataFrame(table).write_parquet(folder / "jobs.parquet")
    (folder / "learning.toml").write_text(LEARNING + 'save = "learned.parquet"\n')
    return folder / "learning.toml"


def test_profiles_are_not_saved_over_what_is_read(folder: Path, learning: Path, wattline: Call) -> None:
    """``[profiles] save`` may be the file that the run begins with, and no other that it reads, by whatever name."""
    before = (folder / "jobs.parquet").read_bytes()
    os.link(folder / "jobs.parquet", folder / "link.parquet")
    (folder / "below").mkdir()
    for name in ("jobs.parquet", "./below/../jobs.parquet", "link.parquet"):
        answer = wattline("run", learning, "--set", f"profiles.save={name}", "--quiet", "--out", "here")
        assert answer.code == 2
        assert f"{name.removeprefix('./')} is the file of trace.file, which is read; give another name" in answer.err
        assert answer.err.count("\n") == 1
        assert (folder / "jobs.parquet").read_bytes() == before
    for flags in ((), ("--set", "profiles.load=learned.parquet")):
        assert wattline("run", learning, "--quiet", "--out", "here", *flags).code == 0
    answer = wattline("run", learning, "--quiet", "--out", "here", "--set", "profiles.save=here/jobs.parquet")
    assert (answer.code, "here/jobs.parquet: belongs to a journal" in answer.err) == (2, True)


def test_profiles_of_a_program_are_not_saved_over_its_log(folder: Path, learning: Path) -> None:
    """A call that reads a log and saves profiles does not save them over the log."""
    import wattline as wl

    before = (folder / "jobs.parquet").read_bytes()
    settings = {"profiles.save": "jobs.parquet", "limit.deadlock": "exceed"}
    with pytest.raises(WattlineError, match="which is read"):
        wl.simulate(
            "jobs.parquet",
            wl.Machine(nodes=16, idle=50, max=400),
            limit=4000,
            profile="t-test",
            settings=settings,
            progress=False,
        )
    assert (folder / "jobs.parquet").read_bytes() == before


def test_no_result_takes_the_place_of_a_journals_tables(folder: Path, wattline: Call) -> None:
    """A page, samples, joined jobs, bids and converted logs are not written over the manifest or a table of a journal;
    the page may still go into its folder.
    """
    assert wattline("run", "small.toml", "--quiet", "--out", "here").code == 0
    (folder / "link.parquet").symlink_to(folder / "here/jobs.parquet")
    before = {path.name: path.read_bytes() for path in (folder / "here").iterdir()}
    for arguments in (
        ("report", "here", "--out", "here/jobs.parquet"),
        ("report", "here", "--out", "link.parquet"),
        ("report", "here", "--out", "here/manifest.json"),
        ("report", "here", "--bids", "here/manifest.json"),
        ("telemetry", "sample", "here", "--out", "here/jobs.parquet"),
        ("telemetry", "join", "small.swf", "--jobs", "here", "--out", "here/events.parquet"),
        ("trace", "convert", "small.swf", "here/jobs.parquet"),
    ):
        answer = wattline(*arguments)
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
        assert "belongs to a journal, so it is not overwritten; give another name" in answer.err
    assert {path.name: path.read_bytes() for path in (folder / "here").iterdir()} == before
    assert wattline("report", "here", "--out", "here/page.html", "--quiet").code == 0


def test_a_replay_does_not_replace_the_journal_it_reads(folder: Path, wattline: Call) -> None:
    """The folder of a run is not one that its scenario reads, as a whole or by one of its tables."""
    assert wattline("run", "small.toml", "--quiet", "--out", "here").code == 0
    (folder / "again.toml").write_text(
        SCENARIO.partition("[trace]")[0] + '[trace]\nfile = "here"\n[cluster]\nnodes = 16\n'
    )
    for arguments in (
        ("run", "again.toml"),
        ("replay", "here", "--nodes", "16"),
        ("replay", "here/jobs.parquet", "--nodes", "16"),
    ):
        answer = wattline(*arguments, "--out", "here", "--force", "--quiet")
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
        assert "is the file of trace.file, which is read" in answer.err


@pytest.fixture
def results(folder: Path, wattline: Call) -> Path:
    """A journal, samples of it, a table of configurations, a plan and ways that lead to the same place twice."""
    assert wattline("run", "small.toml", "--quiet", "--out", "here").code == 0
    assert wattline("telemetry", "sample", "here", "--out", "samples.csv", "--quiet").code == 0
    (folder / "t.csv").write_text("app,nodes,cores,cap_w,time_s,power_w\nlu,1,8,100,9,90\nlu,2,8,100,5,180\n")
    (folder / "ids.csv").write_text("job_id,application\n4,lu\n")
    (folder / "sub").mkdir()
    (folder / "way").symlink_to(folder / "sub")
    (folder / "link.parquet").symlink_to(folder / "x.parquet")
    (folder / "hard.csv").write_text("")
    os.link(folder / "hard.csv", folder / "hard.sql")
    (folder / "sold.toml").write_text(MARKET)
    return folder


JOIN = ("telemetry", "join", "samples.csv", "--jobs", "here")
EXPORT = ("configs", "export", "t.csv")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((*JOIN, "--out", "x.parquet", "--coverage", "x.parquet"), "--coverage x.parquet: is the file of --out"),
        ((*JOIN, "--out", "x.parquet", "--coverage", "link.parquet"), "--coverage link.parquet: is the file of --out"),
        ((*JOIN, "--out", "way/x.parquet", "--coverage", "sub/x.parquet"), "--coverage sub/x.parquet: is the file"),
        ((*EXPORT, "--out", "j.sql", "--names", "./sub/../j.sql"), "j.sql: is the file of --out"),
        ((*EXPORT, "--out", "hard.sql", "--names", "hard.csv"), "--names hard.csv: is the file of --out"),
        ((*EXPORT, "--out", "ids.csv", "--ids", "ids.csv"), "ids.csv: is the file that is read"),
        ((*EXPORT, "--out", "j.sql", "--ids", "ids.csv", "--names", "ids.csv"), "ids.csv: is the file that is read"),
        (("configs", "import", "t.csv", "--names", "ids.csv", "--out", "ids.csv"), "ids.csv: is the file that is read"),
        (("report", "here", "--out", "z.html", "--bids", "z.html"), "--bids z.html: is the file of --out"),
        (("report", "here", "--bids", "here/report.html"), "--bids here/report.html: is the file of the report"),
        (("bid", "sold.toml", *GIVEN, "--out", "sub", "--write", "way/certificate.json"), "is the file of --out"),
        (("bid", "sold.toml", *GIVEN, "--out", "sub", "--write", "sub/bid.html"), "is the file of --out"),
        (("plan", "sold.toml", "--out", "sold.toml"), "sold.toml: is the file that is read"),
        (("plan", "--table", "t.csv", "--out", "t.csv"), "t.csv: is the file that is read"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:2]),
)
def test_two_results_are_not_written_under_one_name(
    results: Path, wattline: Call, command: tuple[str, ...], said: str
) -> None:
    """Whatever spelling or link leads there, it is said in one line, exit code 2, before anything is written."""

    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in results.rglob("*") if path.is_file()}

    before = content()
    answer = wattline(*command)
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
    assert said in answer.err
    assert content() == before
