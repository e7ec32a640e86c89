"""Nothing is written over what it is made from, and no page over what is no page."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import Call

import wattline as wl

LOG = "; MaxNodes: 4\n1 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"
SCENARIO = (
    'name = "priced"\n[trace]\nfile = "log.swf"\n[cluster]\nnodes = 4\nidle = "100 W"\nmax = "300 W"\n'
    '[prices]\nenergy = {file = "prices.csv", unit = "$/MWh"}\n'
)


@pytest.fixture
def made(wattline: Call, folder: Path) -> Path:
    """A run of a scenario that names a log and prices."""
    (folder / "log.swf").write_text(LOG)
    (folder / "prices.csv").write_text("time_s,price\n0,50\n3600,60\n")
    (folder / "priced.toml").write_text(SCENARIO)
    answer = wattline("run", "priced.toml", "--out", "out/priced")
    assert answer.code == 0, answer.err
    return folder


REPORT, BIDS, SAMPLES = ("report", "--out"), ("report", "--bids"), ("telemetry", "sample", "--out")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        *((words, name) for words in (REPORT, BIDS, SAMPLES) for name in ("log.swf", "prices.csv", "link.csv")),
        (REPORT, "priced.toml"),
    ],
)
def test_files_that_a_run_was_made_from_stay(wattline: Call, made: Path, words: tuple[str, ...], name: str) -> None:
    """A page, bids and samples of a journal do not take the place of its log, its prices or its scenario."""
    (made / "link.csv").symlink_to("prices.csv")
    before = (made / name).read_bytes()
    answer = wattline(*words[:-1], "out/priced", words[-1], name)
    assert answer.code == 2
    assert "give another name" in answer.err
    assert (made / name).read_bytes() == before


def test_pages_take_the_place_of_pages_only(wattline: Call, made: Path) -> None:
    """Also from Python, and where nothing tells that the file has to do with the run."""
    (made / "mine.csv").write_text("hand,made\n")
    assert wattline("report", "out/priced", "--out", "mine.csv").code == 2
    assert wattline("network", "draw", "flat:4", "--out", "mine.csv").code == 2
    run = wl.simulate("log.swf", wl.Machine(nodes=4))
    for write in (run.report, wl.compare(run, run).write):
        with pytest.raises(wl.InputError, match="is there and is no page"):
            write("log.swf")
    assert (made / "mine.csv").read_text() == "hand,made\n"
    assert (made / "log.swf").read_text() == LOG
    (made / "empty.html").touch()
    for _ in range(2):
        assert wattline("report", "out/priced", "--out", "page.html").code == 0
        assert wattline("report", "out/priced", "--out", "empty.html").code == 0
