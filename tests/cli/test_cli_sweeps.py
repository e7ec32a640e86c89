"""``wattline sweep``, ``compare`` of settings and journals, ``whatif``: what a user types and gets."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path

import polars as pl
import pytest
from calling import SCENARIO, Call, program
from polars.testing import assert_frame_equal

import wattline as wl

PATIENCE_S = 120.0


def test_a_sweep_leaves_a_table_and_a_page(wattline: Call, folder: Path) -> None:
    """A row a run in a Parquet file, as Python has it; the page has a figure for each key; journals unless they are
    left out.
    """
    (folder / "s.toml").write_text(SCENARIO)
    flags = ("--vary", "cluster.nodes=16:20:2", "--vary", "limit.power=off,3.5 kW", "--seeds", "2")
    found = wattline("sweep", "s.toml", *flags, "--out", "o")
    assert found.code == 0, found.err
    frame = pl.read_parquet(folder / "o" / "sweep.parquet")
    keys = {"cluster.nodes": [16, 18, 20], "limit.power": ["off", "3.5 kW"]}
    expected = wl.load(folder / "s.toml").vary(keys, seeds=2).run(progress=False)
    assert_frame_equal(frame.drop("journal"), expected)
    assert sorted(path.name for path in (folder / "o").glob("run-*")) == [f"run-{i:02}" for i in range(1, 13)]
    page = (folder / "o" / "sweep.html").read_text()
    for words in ("Response to cluster.nodes", "Response to limit.power", "12 runs, 6 settings", "wait, mean: from "):
        assert words in page
    assert "changes it most." in found.out
    assert max(map(len, found.out.splitlines())) <= 80
    again = wattline("sweep", "s.toml", *flags, "--out", "p", "--keep", "summary", "--json")
    assert list((folder / "p").glob("run-*")) == []
    told = json.loads(again.out)
    assert (told["runs"], told["left"], len(told["settings"])) == (12, 0, 6)
    first = told["settings"][0]
    assert first["setting"] == {"cluster.nodes": 16, "limit.power": "off"}
    waits = expected.head(2)["wait_s.mean"]
    assert first["metrics"]["wait_s.mean"]["mean"] == pytest.approx(waits.mean())


def test_a_sweep_that_is_killed_goes_on(tmp_path: Path) -> None:
    """After SIGKILL and after Ctrl-C --resume makes the table that an undisturbed sweep makes."""
    (tmp_path / "s.toml").write_text(SCENARIO.replace("jobs = 60", "jobs = 600"))
    words = ("sweep", "s.toml", "--vary", "cluster.nodes=16:75:1", "--keep", "summary", "--quiet")
    whole = program(*words, "--out", "whole", cwd=tmp_path)
    whole.communicate()
    assert whole.returncode == 0
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        folder = tmp_path / f"cut-{number}"
        cut = program(*words, "--out", folder.name, cwd=tmp_path)
        rows, end = folder / "rows.jsonl", time.monotonic() + PATIENCE_S
        while not (rows.exists() and rows.read_bytes().count(b"\n") > 5):
            assert time.monotonic() < end
            time.sleep(0.01)
        cut.send_signal(number)
        cut.communicate()
        assert cut.returncode == code
        assert rows.exists()
        resumed = program(*words, "--out", folder.name, "--resume", cwd=tmp_path)
        resumed.communicate()
        assert resumed.returncode == 0
        assert_frame_equal(*(pl.read_parquet(tmp_path / name / "sweep.parquet") for name in ("whole", folder.name)))


def test_a_folder_of_something_else_is_left_alone(wattline: Call, folder: Path) -> None:
    """A sweep is not written over another scenario's, nor into a folder of other files, unless that is said."""
    (folder / "s.toml").write_text(SCENARIO)
    (folder / "t.toml").write_text(SCENARIO.replace('"small"', '"other"'))
    words = ("--vary", "cluster.nodes=16,17", "--keep", "summary", "--out", "o")
    assert wattline("sweep", "s.toml", *words).code == 0
    assert wattline("sweep", "s.toml", *words).code == 0
    refused = wattline("sweep", "t.toml", *words)
    assert refused.code == 2
    assert "holds a sweep of 'small', not of 'other'" in refused.err
    assert wattline("sweep", "t.toml", *words, "--force").code == 0
    (folder / "p").mkdir()
    (folder / "p" / "thesis.txt").write_text("")
    refused = wattline("sweep", "s.toml", *words[:-1], "p")
    assert (refused.code, "is not empty" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "nothing is varied"),
        (("--vary", "cluster.nodes"), "--vary cluster.nodes: expected key=values"),
        (("--vary", "cluster.nodes=1,2", "--vary", "cluster.nodes=3"), "is varied already"),
        (("--vary", "cluster.nods=1,2"), "unknown key 'nods'"),
        (("--vary", "cluster.nodes=1,two"), "nodes"),
        (("--zipped", "a,b"), "'a' is not varied"),
        (("--vary", "policy.select=easy,eazy"), "eazy"),
    ],
)
def test_a_slip_is_said_in_a_line(wattline: Call, folder: Path, flags: tuple[str, ...], told: str) -> None:
    """Wrong flags end with exit code 2 before anything is run."""
    (folder / "s.toml").write_text(SCENARIO)
    found = wattline("sweep", "s.toml", *flags)
    assert found.code == 2
    assert told in found.err
    assert len(found.err.strip().splitlines()) == 1


def test_settings_and_journals_are_compared(wattline: Call, folder: Path) -> None:
    """``compare`` takes --vary and [sweep], and folders of journals; their numbers are the same."""
    (folder / "s.toml").write_text(SCENARIO)
    found = wattline("compare", "s.toml", "--vary", "limit.power=off,3.5 kW", "--out", "c", "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert told["comparison"]["labels"] == ["limit.power = off", "limit.power = 3.5 kW"]
    folders = [told["journals"][label][0] for label in told["comparison"]["labels"]]
    twice = wattline("compare", folders[0], folders[0])
    assert (twice.code, "is given twice" in twice.err) == (2, True)
    deep = json.loads(wattline("compare", *folders, "--out", "e", "--json").out)
    assert deep["comparison"]["labels"] == ["limit.power-off/seed-4", "limit.power-3.5-kW/seed-4"]
    names = []
    for name, place in zip(("free", "tight"), folders, strict=True):
        wl.read_run(folder / place).write(folder / f"{name}-run")
        names.append(f"{name}-run")
    again = wattline("compare", *names, "--out", "d", "--json")
    assert again.code == 0, again.err
    journals = json.loads(again.out)
    assert journals["comparison"]["labels"] == names
    one, other = (told["comparison"]["metrics"], journals["comparison"]["metrics"])
    assert [m["estimates"] for m in one] == [m["estimates"] for m in other]
    assert (folder / "d" / "comparison.html").exists()
    refused = wattline("compare", names[0], "s.toml")
    assert (refused.code, "is no folder of a journal" in refused.err) == (2, True)
    refused = wattline("compare", *names, "--seeds", "3")
    assert (refused.code, "journals are compared as they are" in refused.err) == (2, True)


def test_a_question_is_answered_in_a_sentence(wattline: Call, folder: Path) -> None:
    """The answer begins with a sentence, says what was assumed, and leaves a page and a study that can be run."""
    frame = wl.draw_trace("lublin", nodes=16, jobs=200, load=0.9).jobs
    frame.write_csv(folder / "log.csv")
    words = ("log.csv", "--machine", "16", "--limit", "-20%", "--nodes", "+25%")
    found = wattline("whatif", *words, "--out", "o", "--write", "study.toml")
    assert found.code == 0, found.err
    assert found.out.startswith("With a limit of ")
    assert "POWER ASSUMED: 100 W idle and 300 W busy a node" in found.err.replace("\n  ", " ")
    assert max(map(len, found.out.splitlines())) <= 80
    page = (folder / "o" / "whatif.html").read_text()
    for part in ("Who feels it most", "A limit of ", "4 nodes more (20)", "[sweep]"):
        assert part in page
    told = json.loads(wattline("whatif", *words, "--json", "--no-cause").out)
    assert [answer["setting"].keys() for answer in told["answers"]][-1] == {"limit.power", "cluster.nodes"}
    assert wattline("sweep", "study.toml", "--keep", "summary", "--out", "p").code == 0
    swept = pl.read_parquet(folder / "p" / "sweep.parquet")
    assert swept["wait_s.mean"].to_list()[1:] == [a["summary"]["wait_s"]["mean"] for a in told["answers"]]
    assert wattline("whatif", "log.csv", "--machine", "16", "--nodes", "20", "--write", "study.toml").code == 2
    assert "ask something" in wattline("whatif", "log.csv", "--machine", "16").err


def test_a_comparison_that_was_cut_off_goes_on(wattline: Call, folder: Path) -> None:
    """--resume makes only the runs whose journals are not there whole, and shows what an undisturbed one shows."""
    (folder / "s.toml").write_text(SCENARIO)
    words = ("compare", "s.toml", "--vary", "cluster.nodes=16,18", "--seeds", "2", "--out", "o", "--json")
    whole = json.loads(wattline(*words).out)
    runs = [Path(path) for path in whole["runs"]]
    (folder / "o" / "comparison.json").unlink()
    shutil.rmtree(folder / runs[1])
    kept = {path: (folder / path / "manifest.json").stat().st_mtime_ns for path in (runs[0], runs[2], runs[3])}
    other = json.loads((folder / runs[3] / "manifest.json").read_text()) | {"seed": 99}
    (folder / runs[3] / "manifest.json").write_text(json.dumps(other))
    again = wattline(*words, "--resume")
    assert "2 of 4 runs are done" in again.err
    told = json.loads(again.out)
    assert told["comparison"] == whole["comparison"]
    assert told["sentence"] == whole["sentence"]
    assert all((folder / p / "manifest.json").stat().st_mtime_ns == kept[p] for p in (runs[0], runs[2]))


PLAIN = """\
import wattline as wl


@wl.policy("order", wake="end node arrival")
def widest(s, happened, param, memory):
    for j in wl.waiting(s, new=True):
        s.key[j] = -s.nodes[j]
    return 0
"""


def test_policies_in_plain_python_are_compared_in_processes(
    wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads would wait for each other; the numbers are those of one run at a time."""
    from wattline.api import many

    (folder / "mine.py").write_text(PLAIN)
    (folder / "s.toml").write_text(f'{SCENARIO}[policy]\norder = ["fcfs", "mine.py"]\n')
    asked: list[bool] = []
    real = many._pool
    monkeypatch.setattr(many, "_pool", lambda workers, *, plain: (asked.append(plain), real(workers, plain=plain))[1])
    two = json.loads(wattline("compare", "s.toml", "--threads", "2", "--out", "o", "--json").out)
    one = json.loads(wattline("compare", "s.toml", "--threads", "1", "--out", "p", "--json").out)
    assert asked == [True, False]
    assert two["comparison"] == one["comparison"]
