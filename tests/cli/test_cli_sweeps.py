"""``wattline sweep``, ``compare`` of settings and journals, ``whatif``: what a user types and gets."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

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


def test_compare_takes_the_seeds_of_the_scenario(wattline: Call, folder: Path) -> None:
    """As many runs of each setting as its [sweep] asks for; --seeds overrides it; scenarios that differ need it."""
    (folder / "s.toml").write_text(SCENARIO + '[sweep]\n"cluster.nodes" = [16, 18]\nseeds = 3\n')
    (folder / "t.toml").write_text(re.sub("name = .*", 'name = "other"', SCENARIO, count=1))
    for flags, runs in (((), 6), (("--seeds", "2"), 4)):
        found = wattline("compare", "s.toml", *flags, "--out", f"o{runs}")
        assert found.code == 0, found.err
        assert len(list((folder / f"o{runs}" / "runs").glob("*/seed-*"))) == runs
    refused = wattline("compare", "s.toml", "t.toml", "--out", "o")
    assert (refused.code, refused.err.splitlines()) == (
        2,
        ["wattline: the scenarios ask for 1 and 3 seeds; give one number for all with --seeds"],
    )


@pytest.mark.parametrize("command", ["sweep", "compare"])
def test_a_varied_key_is_not_set_beside(wattline: Call, folder: Path, command: str) -> None:
    """The value would never be used."""
    (folder / "s.toml").write_text(SCENARIO)
    refused = wattline(command, "s.toml", "--vary", "cluster.nodes=16,18", "--set", "cluster.nodes=20", "--out", "o")
    assert refused.code == 2
    assert "--set cluster.nodes=20: this key is varied, so its value would never be used; leave one out" in refused.err


@pytest.mark.parametrize("words", ['limit.power=["30 kW", "off"]', "trace.load=[0.6, 0.8]"])
def test_a_list_that_is_set_is_told_how_it_is_varied(wattline: Call, folder: Path, words: str) -> None:
    """--set takes a value; where that is a list and the key takes none, the line says how to try several."""
    (folder / "s.toml").write_text(SCENARIO)
    key = words.partition("=")[0]
    for command in ("run", "compare"):
        refused = wattline(command, "s.toml", "--set", words, "--out", "o")
        assert refused.code == 2
        assert f"with --vary {key}=…,…, or [sweep] {key} = " in refused.err
        assert len(refused.err.splitlines()) == 1


def test_a_sweep_says_how_many_jobs_were_rejected(wattline: Call, folder: Path) -> None:
    """Where a limit is too low for some jobs, page and table have how many can never start."""
    (folder / "s.toml").write_text(SCENARIO)
    words = ("sweep", "s.toml", "--vary", "limit.power=off,1.9 kW", "--keep", "summary", "--out", "o")
    assert wattline(*words).code == 0
    frame = pl.read_parquet(folder / "o" / "sweep.parquet")
    rejected = frame["jobs.rejected"].to_list()
    assert rejected[0] == 0 < rejected[1]
    assert frame["jobs.finished"][1] + rejected[1] == frame["jobs.finished"][0]
    page = (folder / "o" / "sweep.html").read_text()
    table = page[page.index("<h2", page.index("All settings") - 40) :]
    assert "jobs rejected" in table
    assert re.search(rf">{rejected[1]:.0f}</td>", table)


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
        rows, end = folder / "kept.jsonl", time.monotonic() + PATIENCE_S
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


def test_ctrl_c_keeps_every_run_of_a_setting(wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One setting with many seeds: the runs that are done are shown and told, and --resume makes the others alone."""
    from wattline.api.sweeps import work

    (folder / "s.toml").write_text(SCENARIO)
    words = ("sweep", "s.toml", "--seeds", "5", "--threads", "1", "--json", "--out")
    assert wattline(*words, "whole").code == 0
    real, made, most = work.run_task, list[int](), 3

    def counting(task: Any, *rest: Any) -> Any:
        if len(made) == most:
            raise KeyboardInterrupt
        made.append(task.seed)
        return real(task, *rest)

    monkeypatch.setattr(work, "run_task", counting)
    cut = wattline(*words, "o")
    assert cut.code == 130
    assert cut.err.splitlines()[-1] == "wattline: interrupted; 3 runs are in o, and --resume goes on with the others"
    assert [json.loads(cut.out)[key] for key in ("runs", "left")] == [3, 2]
    most = 5
    assert wattline(*words, "o", "--resume").code == 0
    assert made == [4, 5, 6, 7, 8]
    assert_frame_equal(*(pl.read_parquet(folder / name / "sweep.parquet") for name in ("whole", "o")))


def test_ctrl_c_is_heard_during_a_long_run(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a compiled run, in a thread or in a process of its own, ends the sweep within a second,
    with one line and exit code 130; --resume goes on.
    """
    long = SCENARIO.replace("load = 0.8", "load = 0.97").replace("nodes = 16\n", "nodes = 160\n")
    (tmp_path / "s.toml").write_text(f'{long}[policy]\nselect = "conservative"\n')
    words = ("sweep", "s.toml", "--vary", "trace.jobs=50,60000", "--keep", "summary", "--threads", "1")
    for place in ("threads", "processes"):
        cut = program(*words, "--on", place, "--out", place, cwd=tmp_path)
        rows, end = tmp_path / place / "kept.jsonl", time.monotonic() + PATIENCE_S
        while not (rows.exists() and rows.read_bytes().count(b"\n") == 2):
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(0.5)
        pressed = time.monotonic()
        cut.send_signal(signal.SIGINT)
        _, err = cut.communicate()
        took = time.monotonic() - pressed
        busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # by what others take of this computer
        assert took <= 1.0 * busy, (took, busy)
        assert cut.returncode == 130
        told = f"wattline: interrupted; 1 runs are in {place}, and --resume goes on with the others"
        assert err.splitlines()[-1] == told
    resumed = program(*words, "--out", "threads", "--resume", cwd=tmp_path)
    resumed.communicate()
    assert resumed.returncode == 0
    assert pl.read_parquet(tmp_path / "threads" / "sweep.parquet")["trace.jobs"].to_list() == [50, 60_000]


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


def test_seeds_alone_give_numbers(wattline: Call, folder: Path) -> None:
    """One setting with several seeds has a sentence with its mean and interval, and a table of the main metrics."""
    (folder / "s.toml").write_text(SCENARIO)
    found = wattline("sweep", "s.toml", "--seeds", "3", "--keep", "summary", "--out", "seeds", "--json")
    assert found.code == 0, found.err
    assert re.fullmatch(r"One setting, 3 seeds; wait, mean: [\d.]+ ± [\d.]+ .*\.", json.loads(found.out)["sentence"])
    shown = wattline("sweep", "s.toml", "--seeds", "3", "--keep", "summary", "--out", "again")
    assert "wait, mean" in shown.out
    assert "±" in shown.out


def test_jobs_that_can_never_start_are_said(wattline: Call, folder: Path) -> None:
    """A limit that rejects the widest jobs may make waits shorter; the sentence says why not to trust that."""
    wide = SCENARIO.replace('mean = "10 min"}]', 'mean = "10 min"}, {name = "b", nodes = 16, mean = "10 min"}]')
    (folder / "s.toml").write_text(wide)
    found = wattline("sweep", "s.toml", "--vary", "limit.power=off,3 kW", "--keep", "summary", "--out", "o", "--json")
    assert found.code == 0, found.err
    assert "can never start and count in no mean" in json.loads(found.out)["sentence"]


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
        (("--vary", "trace.load=0.6,0.8,0.6"), "trace.load: 0.6 is given twice, and its runs would be the same"),
        (("--vary", "limit.power=off,off"), "limit.power: 'off' is given twice"),
        (
            ("--vary", "trace.load=0.6,0.6", "--vary", "cluster.nodes=8,8", "--zipped", "trace.load,cluster.nodes"),
            "trace.load, cluster.nodes: 0.6 with 8 is given twice",
        ),
        (
            ("--vary", "policy.order.bias=1,2", "--set", "policy.order=fcfs"),
            "'fcfs', which has no keys; parameters stand beside the name: policy.order={name = \"fcfs\", bias = …}",
        ),
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
    for part in ("Who feels it most", "With a limit of ", "4 nodes more (20)", "[sweep]"):
        assert part in page
    told = json.loads(wattline("whatif", *words, "--json", "--no-cause").out)
    assert [answer["setting"].keys() for answer in told["answers"]][-1] == {"limit.power", "cluster.nodes"}
    assert wattline("sweep", "study.toml", "--keep", "summary", "--out", "p").code == 0
    swept = pl.read_parquet(folder / "p" / "sweep.parquet")
    assert swept["wait_s.mean"].to_list()[1:] == [a["summary"]["wait_s"]["mean"] for a in told["answers"]]
    assert wattline("whatif", "log.csv", "--machine", "16", "--nodes", "20", "--write", "study.toml").code == 2
    assert "ask something" in wattline("whatif", "log.csv", "--machine", "16").err


def left_by(folder: Path) -> dict[str, bytes]:
    """Return what a comparison left, byte by byte, but for the times at which it was made."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}
    told = json.loads((folder / "comparison.json").read_text())
    kept = {key: told[key] for key in ("scenarios", "sentence", "comparison", "journals")}
    return found | {"comparison.json": json.dumps(kept).encode()}


def test_a_comparison_is_the_same_wherever_it_is_made(
    wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads, processes and workers of Dask leave the same bytes, also where one goes on with what another began."""
    (folder / "s.toml").write_text(SCENARIO)
    words = ("compare", "s.toml", "--vary", "cluster.nodes=16,18", "--seeds", "2")
    assert wattline(*words, "--out", "threads", "--on", "threads").code == 0
    whole = left_by(folder / "threads")
    assert sum(name.endswith("jobs.parquet") for name in whole) == 4
    with monkeypatch.context() as broken:
        broken.setattr("wattline.cli.compares.show", fail)
        assert wattline(*words, "--out", "processes", "--on", "threads").code != 0
    kept = folder / "processes" / "kept.jsonl"
    kept.write_text("".join(kept.read_text().splitlines(keepends=True)[:3]))  # as if two of four had been done
    going_on = wattline(*words, "--out", "processes", "--on", "processes", "--threads", "2", "--resume")
    assert (going_on.code, "2 of 4 runs are done" in going_on.err) == (0, True), going_on.err
    assert left_by(folder / "processes") == whole
    refused = wattline(*words, "--out", "x", "--on", "proceses")
    assert (refused.code, "on: expected threads, processes, dask://HOST:PORT, slurm" in refused.err) == (2, True)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        found = wattline(*words, "--out", "dask", "--on", address)
        assert found.code == 0, found.err
    assert left_by(folder / "dask") == whole


def test_a_comparison_that_was_cut_off_goes_on(wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--resume makes only runs whose numbers or journals are not there, and shows what an undisturbed one shows."""
    (folder / "s.toml").write_text(SCENARIO)
    words = ("compare", "s.toml", "--vary", "cluster.nodes=16,18", "--seeds", "2", "--out", "o", "--json")
    with monkeypatch.context() as broken:
        broken.setattr("wattline.cli.compares.show", fail)
        assert wattline(*words).code != 0
    kept = folder / "o" / "kept.jsonl"
    assert kept.read_text().count("\n") == 5
    cut_off = kept.read_bytes()
    whole = json.loads(wattline(*words).out)
    assert not kept.exists()
    over = wattline(*words, "--resume")
    assert (over.code, "this study is over, nothing is left to resume" in over.err) == (2, True)
    runs = [Path(path) for path in whole["runs"]]
    (folder / "o" / "comparison.json").unlink()
    kept.write_bytes(cut_off)
    shutil.rmtree(folder / runs[1])
    times = {path: (folder / path / "manifest.json").stat().st_mtime_ns for path in (runs[0], runs[2], runs[3])}
    other = json.loads((folder / runs[3] / "manifest.json").read_text()) | {"seed": 99}
    (folder / runs[3] / "manifest.json").write_text(json.dumps(other))
    again = wattline(*words, "--resume")
    assert "2 of 4 runs are done" in again.err
    told = json.loads(again.out)
    assert told["comparison"] == whole["comparison"]
    assert told["sentence"] == whole["sentence"]
    assert all((folder / p / "manifest.json").stat().st_mtime_ns == times[p] for p in (runs[0], runs[2]))


def fail(*_: object) -> None:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


def test_a_comparison_goes_on_with_the_same_alone(
    wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy's file that was changed since, other settings, another version: each is refused in a line."""
    (folder / "mine.py").write_text(PLAIN)
    (folder / "s.toml").write_text(f'{SCENARIO}[policy]\norder = ["fcfs", "mine.py"]\n')
    words = ("compare", "s.toml", "--threads", "1", "--out", "o")
    with monkeypatch.context() as broken:
        broken.setattr("wattline.cli.compares.show", fail)
        assert wattline(*words).code != 0
    kept = folder / "o" / "kept.jsonl"
    before = kept.read_bytes()
    other = wattline(*words, "--set", "cluster.nodes=20", "--resume")
    assert (other.code, "holds another study, not this one (scenario differ)" in other.err) == (2, True)
    (folder / "mine.py").write_text(PLAIN.replace("-s.nodes[j]", "s.nodes[j]"))
    changed = wattline(*words, "--resume")
    assert (changed.code, "(files differ)" in changed.err) == (2, True)
    (folder / "mine.py").write_text(PLAIN)
    kept.write_bytes(before.replace(b'"wattline": "', b'"wattline": "0.'))
    version = wattline(*words, "--resume")
    assert (version.code, "another version of Wattline" in version.err) == (2, True)
    kept.write_bytes(before)
    assert wattline(*words, "--resume").code == 0


def test_a_comparison_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Killed at several moments, a comparison goes on and leaves the page and the journals of an undisturbed one."""
    (tmp_path / "s.toml").write_text(SCENARIO.replace("jobs = 60", "jobs = 6000"))
    words = ("compare", "s.toml", "--vary", "cluster.nodes=16:19:1", "--seeds", "5", "--threads", "2", "--quiet")
    whole = program(*words, "--out", "a/o", cwd=tmp_path)
    _, err = whole.communicate()
    assert whole.returncode == 0, err
    cut, kept, known = (*words, "--out", "b/o"), tmp_path / "b" / "o" / "kept.jsonl", 0
    for more in (1, 4, 3):
        begun = program(*cut, *(("--resume",) if known else ()), cwd=tmp_path)
        end = time.monotonic() + PATIENCE_S
        while not (kept.exists() and kept.read_bytes().count(b"\n") >= max(known, 1) + more) and begun.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.002)
        begun.kill()
        begun.communicate()
        assert begun.returncode == -signal.SIGKILL
        assert kept.read_bytes().count(b"\n") > known
        known = kept.read_bytes().count(b"\n")
    resumed = program(*cut, "--resume", cwd=tmp_path)
    _, err = resumed.communicate()
    assert resumed.returncode == 0, err
    assert not kept.exists()
    assert (tmp_path / "a/o/comparison.html").read_bytes() == (tmp_path / "b/o/comparison.html").read_bytes()
    told = [json.loads((tmp_path / name / "o" / "comparison.json").read_text()) for name in ("a", "b")]
    for one in told:
        assert [one.pop(name) for name in ("created", "report", "runs")]
    assert told[0] == told[1]
    for path in sorted((tmp_path / "a" / "o" / "runs").rglob("*.parquet")):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()


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
    from wattline.api import side_by_side

    (folder / "mine.py").write_text(PLAIN)
    (folder / "s.toml").write_text(f'{SCENARIO}[policy]\norder = ["fcfs", "mine.py"]\n')
    asked: list[bool] = []
    real = side_by_side.find_where

    def noted(*given: Any, **how: Any) -> Any:
        asked.append(not (found := real(*given, **how)).here)
        return found

    monkeypatch.setattr(side_by_side, "find_where", noted)
    two = json.loads(wattline("compare", "s.toml", "--threads", "2", "--out", "o", "--json").out)
    one = json.loads(wattline("compare", "s.toml", "--threads", "1", "--out", "p", "--json").out)
    assert asked == [True, False]
    assert two["comparison"] == one["comparison"]


def test_a_sweep_that_is_killed_before_its_page_goes_on(
    wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is written, the page is not: what was done is still kept, and --resume makes the page."""
    (folder / "s.toml").write_text(SCENARIO)
    words = ("sweep", "s.toml", "--seeds", "2", "--keep", "summary", "--out", "cut")

    def killed(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as now:
        now.setattr("wattline.report.pages.sweep.write_sweep", killed)
        assert wattline(*words).code != 0
    table = folder / "cut" / "sweep.parquet"
    before = table.read_bytes()
    assert not (folder / "cut" / "sweep.html").exists()
    found = wattline(*words, "--resume")
    assert found.code == 0, found.err
    assert (folder / "cut" / "sweep.html").exists()
    assert table.read_bytes() == before
    assert "this study is over" in wattline(*words, "--resume").err
