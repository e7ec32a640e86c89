"""A run that is writing its journal goes on: whoever reads its folder then is refused, and harms nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from calling import SCENARIO, Call, program

import wattline as wl
from wattline.errors import TraceError
from wattline.journal import swap
from wattline.journal.folder_lock import held
from wattline.journal.journal import open_journal
from wattline.journal.unfinished import locked, place
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.built import cut_off
from wattline.scenario.resume import keeper_for

RUN = ("run", "small.toml", "--out", "here", "--quiet", "--no-report")
BUSY = "another run is writing there"


@pytest.fixture(autouse=True)
def _every_hour_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are kept at each simulated hour, however short they are."""
    monkeypatch.setattr("wattline.scenario.resume.keeper_for", partial(keeper_for, every_hour=True))


def at(monkeypatch: pytest.MonkeyPatch, moment: str, look: Any) -> None:
    """Call something while a run writes its journal: before it, between its two renames, or once it is in place."""
    write, rename = Study.write, Path.rename

    def writes(self: Study, *given: Any, **named: Any) -> None:
        if moment == "before":
            look()
        write(self, *given, **named)
        if moment == "after":
            look()

    def renames(self: Path, target: Path) -> Path:
        if moment == "between" and ".writing-" in self.name and not self.name.endswith(".old"):
            look()
        return rename(self, target)

    monkeypatch.setattr(Study, "write", writes)
    monkeypatch.setattr(Path, "rename", renames)


@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_reader_cannot_cut_off_a_run_that_writes_its_journal(
    folder: Path, wattline: Call, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Another process, another thread and the same one are told that the run goes on; the run ends as if alone."""
    assert wattline("run", "small.toml", "--out", "alone", "--quiet", "--no-report").code == 0
    told: list[tuple[int, str]] = []

    def look() -> None:
        for command in (("report", "here"), ("trace", "info", "here"), ("replay", "here", "--out", "there")):
            reader = program(*command, cwd=folder)
            err = reader.communicate()[1]
            told.append((reader.returncode or 0, err))
        for read in (wl.read_run, wl.read_trace):
            thread = threading.Thread(target=lambda read=read: told.append(refused(read)))  # type: ignore[misc]
            thread.start()
            thread.join()
        told.append(refused(wl.read_run))

    def refused(read: Any) -> tuple[int, str]:
        try:
            assert read("here").jobs is not None
        except wl.WattlineError as problem:
            return 2, f"{problem}\n"
        return 0, ""

    at(monkeypatch, moment, look)
    answer = wattline(*RUN)
    assert [code for code, _ in told] == [2] * 6, told
    assert all(f"here: {BUSY}" in line and line.count("\n") == 1 for _, line in told), told
    assert answer.code == 0
    assert open_journal(folder / "here").manifest["stopped"] == "done"
    for table in ("jobs", "timeline", "events"):
        assert (folder / "here" / f"{table}.parquet").read_bytes() == (
            folder / "alone" / f"{table}.parquet"
        ).read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["alone", "here", "small.swf", "small.toml"]


def test_a_journal_in_place_is_read_while_its_run_draws_the_report(
    folder: Path, wattline: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the journal is in place it is read, though the command still goes on."""
    seen: list[str] = []
    at(monkeypatch, "after", lambda: seen.append(wl.read_run("here").journal.manifest["stopped"]))
    assert wattline(*RUN).code == 0
    assert seen == ["done"]


def cut(folder: Path) -> None:
    """Leave a run in ``here`` that was killed after an hour."""
    study = wire(variants(read_scenario(folder / "small.toml"))[0])
    with keeper_for(study, folder / "here", every_hour=True) as keeper:

        def stop(*_: int) -> None:
            if keeper.kept is not None:
                raise RuntimeError

        with pytest.raises(RuntimeError):
            study.simulate(stop, keeper)
    assert place(folder / "here").is_dir()


def test_a_reader_holds_the_run_that_it_makes_readable(
    folder: Path, wattline: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a reader makes the journal of a run that was cut off nobody goes on with it; afterwards one may."""
    cut(folder)
    answers: list[Any] = []
    with monkeypatch.context() as patched:
        at(patched, "before", lambda: answers.append(wattline(*RUN, "--resume")))
        wl.read_run("here")
    assert [(answer.code, BUSY in answer.err) for answer in answers] == [(2, True)]
    assert open_journal(folder / "here").manifest["stopped"] == "interrupted"
    assert wattline(*RUN, "--resume").code == 0
    assert open_journal(folder / "here").manifest["stopped"] == "done"


def test_a_reader_looks_again_once_it_has_the_lock(
    folder: Path, wattline: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was resumed and ended between the reader's first look and its lock keeps its journal."""
    cut(folder)
    take = cut_off.held

    def late(target: Path) -> Any:
        monkeypatch.setattr(cut_off, "held", take)
        assert wattline(*RUN, "--resume").code == 0
        return take(target)

    monkeypatch.setattr(cut_off, "held", late)
    assert wl.read_run("here").journal.manifest["stopped"] == "done"
    assert not place(folder / "here").exists()


def test_a_reader_that_was_killed_is_in_nobodys_way(folder: Path, wattline: Call) -> None:
    """A reader killed while it holds the run leaves what the next reader, and the run resumed, need."""
    cut(folder)
    code = (
        "import time, wattline as wl; from wattline.scenario.built import cut_off\n"
        "def stay(folder): print('held', flush=True); time.sleep(600)\n"
        "cut_off._write_cut = stay; wl.read_run('here')"
    )
    reader = subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "held\n"
    assert BUSY in wattline("report", "here").err
    reader.kill()
    reader.wait()
    reader.stdout.close()
    assert wl.read_run("here").journal.manifest["stopped"] == "interrupted"
    assert wattline(*RUN, "--resume").code == 0


def test_threads_read_one_cut_run_one_after_the_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of a process that read the same run all get it; its journal is made once."""
    cut(folder)
    made: list[Path] = []
    write = cut_off._write_cut

    def counted(target: Path) -> dict[str, Any]:
        made.append(target)
        return write(target)

    monkeypatch.setattr(cut_off, "_write_cut", counted)
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(cut_off.make_readable(Path("here")))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 4
    assert all("cut off after " in line for line in said)
    assert len(made) == 1


@pytest.mark.parametrize("which", ["here", "here/baseline"])
def test_a_baseline_that_goes_on_is_not_cut_off(folder: Path, wattline: Call, which: str) -> None:
    """While the baseline of a run is simulated, readers of the run and of the baseline are told so."""
    assert wattline(*RUN).code == 0
    (folder / "other").mkdir()
    (folder / "other/small.toml").write_text(SCENARIO)
    cut(folder / "other")
    place(folder / "other/here").parent.rename(folder / "here/baseline")
    with locked(folder / "here/baseline"):
        answer = wattline("report", which)
        assert (answer.code, answer.err) == (
            2,
            f"wattline: here/baseline: {BUSY}; wait for it, or stop it\n",
        )
    with held(folder / "here"), pytest.raises(TraceError, match=BUSY):
        wl.read_run("here/baseline")


def test_a_thread_does_not_tidy_away_what_another_one_writes(folder: Path) -> None:
    """The new folder of a journal that a thread of this process writes is left alone by all others."""
    beside = swap.beside(folder / "j")
    beside.mkdir()
    with swap.writing(beside):
        swap.tidy(folder / "j", ())
        assert beside.is_dir()
    swap.tidy(folder / "j", ())
    assert not beside.exists()
