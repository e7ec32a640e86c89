"""Whose a folder of results is: one writer at a time, and results of another scenario are overwritten only with
--force.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from calling import SCENARIO, Call, program

from wattline.errors import TraceError
from wattline.journal.folder_lock import held, lock_of

NO_REPORT = ("--no-report", "--quiet")


def test_two_runs_into_one_folder(folder: Path, wattline: Call) -> None:
    """While a command writes to a folder another one is refused at once, by the number of its process; afterwards it
    may.
    """
    assert wattline("run", "small.toml", "--out", "here", *NO_REPORT).code == 0  # compiles, if need be
    with held(Path("here")):
        for arguments in (
            ("run", "small.toml"),
            ("replay", "small.swf"),
            ("compare", "small.toml", "--seeds", "2"),
            ("reproduce", "recursion"),
        ):
            answer = wattline(*arguments, "--out", "here", "--force")
            assert answer.code == 2
            assert (
                f"here: another run is writing there (process {os.getpid()} on " in answer.err
                or arguments[0] == "compare"
            )
            assert answer.err.count("\n") == 1
    assert not lock_of(Path("here")).exists()
    assert wattline("run", "small.toml", "--out", "here", *NO_REPORT).code == 0


def test_a_folder_that_is_read_only_is_kept(folder: Path, wattline: Call) -> None:
    """A journal that was made read-only is refused before anything is simulated; nothing is left beside it."""
    assert wattline("run", "small.toml", "--out", "kept/it", *NO_REPORT).code == 0
    there = Path("kept/it")
    there.chmod(0o555)
    try:
        answer = wattline("run", "small.toml", "--out", "kept/it", *NO_REPORT)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "kept/it: is read-only, so it is not overwritten; chmod u+w allows it" in answer.err
        assert [path.name for path in Path("kept").iterdir()] == ["it"]
    finally:
        there.chmod(0o755)
    assert wattline("run", "small.toml", "--out", "kept/it", *NO_REPORT).code == 0


WAITS = """\
import time
from pathlib import Path
from wattline import policy

@policy("order")
def waits(s, arg, param, memory):
    while not Path("go").exists():
        time.sleep(0.02)
    return 0
"""


def test_short_runs_started_together_lose_no_result(
    folder: Path, wattline: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of short runs that are at work at the same time for one folder one writes its journal; all others are refused."""
    monkeypatch.setenv("WATTLINE_POLICY_TIME_LIMIT", "600")
    assert wattline("run", "small.toml", "--out", "warm", *NO_REPORT).code == 0
    (folder / "waits.py").write_text(WAITS)
    short = ("--set", "trace.jobs=3")  # over before the first hour of which anything would be kept
    flags = ("--out", "here", "--set", 'policy.order="waits.py"', *short, *NO_REPORT)
    started = [program("run", "small.toml", "--set", f"seed={n}", *flags, cwd=folder) for n in range(4)]
    deadline = time.monotonic() + 60.0
    while sum(process.poll() is None for process in started) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    (folder / "go").touch()
    ended = [(process.communicate()[1], process.returncode) for process in started]
    assert sorted(code for _, code in ended) == [0, 2, 2, 2], ended
    assert all("another run is writing there" in err for err, code in ended if code == 2)
    (wrote,) = [n for n, (_, code) in enumerate(ended) if code == 0]
    assert json.loads((folder / "here" / "manifest.json").read_text())["seed"] == wrote
    left = {path.name for path in folder.iterdir()} - {"__pycache__"}
    assert left == {"go", "here", "small.swf", "small.toml", "waits.py", "warm"}


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    """A kill leaves the lock behind; whoever comes next sees that its process has died."""
    code = (
        "import sys, time; from pathlib import Path; from wattline.journal.folder_lock import held\nwith "
        "held(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    place = tmp_path / "new" / "here"
    process = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(TraceError, match=f"another run is writing there \\(process {process.pid} on"), held(place):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    assert lock_of(place).exists()
    with held(place):
        pass
    assert not lock_of(place).exists()


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({}, False),
        ({"began": "1"}, True),
        ({"boot": "earlier"}, True),
        ({"machine": "elsewhere"}, False),
        ({"space": "pid:[1]"}, False),
    ],
)
def test_which_locks_are_of_the_dead(tmp_path: Path, change: dict[str, str], gone: bool) -> None:
    """A process number used again, or a machine started anew, frees a lock; another machine or container cannot be
    looked into.
    """
    place, lock = tmp_path / "here", lock_of(tmp_path / "here")
    with held(place):
        told = json.loads(lock.read_text()) | change
    lock.write_text(json.dumps(told))
    if gone:
        with held(place):
            pass
        return
    with pytest.raises(TraceError, match="another run is writing there") as caught, held(place):
        pass
    assert ("delete" in str(caught.value)) == bool(change)
    assert json.loads(lock.read_text()) == told


def test_a_disk_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no hard links can be made the lock is still taken by one alone."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with held(tmp_path / "here"), pytest.raises(TraceError, match="another run"), held(tmp_path / "here"):
        pass
    assert not list(tmp_path.iterdir())


def test_another_scenarios_journal_is_overwritten_only_by_force(folder: Path, wattline: Call) -> None:
    """A run says whose journal is in its folder and since when; its own is replaced, with a word if settings differ."""
    (folder / "other.toml").write_text(SCENARIO.replace("small", "other"))
    assert wattline("run", "small.toml", "--out", "here", *NO_REPORT).code == 0
    before = (folder / "here" / "manifest.json").read_bytes()
    created = json.loads(before)["created"]
    for arguments in (("run", "other.toml"), ("replay", "small.swf", "--jobs", "2"), ("run", "other.toml", "--resume")):
        answer = wattline(*arguments, "--out", "here")
        if arguments[0] == "replay":  # which is named after its trace
            assert answer.code == 0
            assert "replaces the journal of 'small' with other settings (written " in answer.err
            assert wattline("run", "small.toml", "--out", "here", *NO_REPORT).code == 0
            before = (folder / "here" / "manifest.json").read_bytes()
            created = json.loads(before)["created"]
            continue
        assert answer.code == 2
        assert answer.err == (
            f"wattline: here: holds the journal of 'small' (written {created}), not of 'other'; "
            "--force overwrites it, or give another --out\n"
        )
        assert (folder / "here" / "manifest.json").read_bytes() == before
    again = wattline("run", "small.toml", "--out", "here", "--no-report")
    assert (again.code, "replaces" in again.err) == (0, False)
    assert wattline("run", "other.toml", "--out", "here", "--force", *NO_REPORT).code == 0
    assert json.loads((folder / "here" / "manifest.json").read_text())["name"] == "other"


def test_another_comparison_is_overwritten_only_by_force(folder: Path, wattline: Call) -> None:
    """Comparisons know their scenarios, also where they were stopped before they were shown."""
    (folder / "other.toml").write_text(SCENARIO.replace("small", "other"))
    assert wattline("compare", "small.toml", "--seeds", "2", "--out", "here", "--quiet").code == 0
    assert wattline("compare", "small.toml", "--seeds", "2", "--out", "here", "--quiet").code == 0
    told = "holds a comparison of 'small' (written "
    assert told in wattline("compare", "other.toml", "--seeds", "2", "--out", "here").err
    (folder / "here" / "comparison.json").unlink()
    refused = wattline("compare", "other.toml", "--seeds", "2", "--out", "here")
    assert (refused.code, told in refused.err, refused.err.count("\n")) == (2, True, 1)
    assert wattline("compare", "other.toml", "--seeds", "2", "--out", "here", "--force", "--quiet").code == 0
    assert json.loads((folder / "here" / "comparison.json").read_text())["scenarios"] == ["other"]


def test_a_reproduction_overwrites_nothing_else(folder: Path, wattline: Call) -> None:
    """Pages of a run or of another system stay what they are."""
    assert wattline("run", "small.toml", "--out", "here", *NO_REPORT).code == 0
    answer = wattline("reproduce", "overprovisioning", "--quick", "--out", "here")
    assert (answer.code, "here: holds a journal; --force writes" in answer.err) == (2, True)
    assert wattline("reproduce", "overprovisioning", "--quick", "--out", "there", "--quiet").code == 0
    (folder / "there" / "reproduction.json").write_text('{"name": "aqa", "created": "2026-01-01T00:00:00+00:00"}')
    answer = wattline("reproduce", "overprovisioning", "--quick", "--out", "there")
    assert (
        answer.code,
        "holds a reproduction of 'aqa' (written 2026-01-01T00:00:00+00:00), not of 'overprovisioning'" in answer.err,
    ) == (2, True)


def test_a_bid_overwrites_nothing_else(folder: Path, wattline: Call) -> None:
    """Before a search begins, its certificate's folder and the scenario that it will write are looked at."""
    example = Path(__file__).parents[2] / "examples" / "slackline-w4.toml"
    began = time.monotonic()
    (folder / "sold.toml").write_text('name = "mine"\n')
    (folder / "notes.txt").write_text("[[[ no TOML")
    os.mkfifo(folder / "pipe.toml")
    (folder / "here").mkdir()
    (folder / "here" / "certificate.json").write_text('{"name": "mine"}')
    for flags, said in (
        (
            ("--write", "sold.toml"),
            "sold.toml: is there and not a file that wattline bid --write made; --force overwrites",
        ),
        (
            ("--write", "notes.txt"),
            "notes.txt: is there and not a file that wattline bid --write made; --force overwrites",
        ),
        (("--write", "pipe.toml"), "pipe.toml: is no regular file, so no scenario is written there; give another"),
        (("--write", "pipe.toml", "--force"), "pipe.toml: is no regular file, so no scenario is written there; give"),
        (("--write", "here"), "here: is a folder, so no scenario is written there; give another --write"),
        (("--out", "here"), "here: holds a certificate of 'mine', not of 'slackline-w4'; --force overwrites it"),
        (("--out", "sold.toml"), "sold.toml: is a file, not a folder"),
    ):
        answer = wattline("bid", str(example), *flags)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert said in answer.err
    assert time.monotonic() - began < 30.0


def test_a_comparison_that_was_cut_off_is_called_that(folder: Path, wattline: Call) -> None:
    """Without its result a comparison is no journal but runs: report says so, how many are done and what to do."""
    (folder / "small.toml").write_text(SCENARIO)
    assert wattline("compare", "small.toml", "--seeds", "2", "--out", "both", "--quiet").code == 0
    (folder / "both" / "comparison.json").unlink()
    answer = wattline("report", "both")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "both: holds a comparison that was cut off (2 of its runs are done); compare again with" in answer.err
    one = answer.err.rstrip("\n").rpartition("wattline report ")[2]
    assert wattline("report", one, "--quiet").code == 0
    shutil.rmtree(folder / "both" / "runs")
    (folder / "both" / "runs").mkdir()
    assert "(0 of its runs are done); compare again with wattline compare\n" in wattline("report", "both").err


def test_a_pipe_in_place_of_a_lock_is_not_waited_for(tmp_path: Path) -> None:
    """Somebody else holds the folder, as far as can be known: that is said at once."""
    os.mkfifo(tmp_path / ".out.lock")
    with (
        pytest.raises(TraceError, match=r"another run is writing there; .* delete .*out\.lock"),
        held(tmp_path / "out"),
    ):
        pass


def test_a_full_disk_leaves_no_piece_of_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that could only be begun is taken away again."""

    def begun(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", begun)
        with pytest.raises(TraceError, match=r"cannot be locked \(No space left on device\)"), held(tmp_path / "out"):
            pass
    assert list(tmp_path.iterdir()) == []
