"""Compiled code on disk: damage is noticed, said and made good; mixed-up files are not used; others' folders are
refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba import types

from engine.worlds import cluster, run, table
from wattline.errors import InputError
from wattline.kernel import cache as compile_cache
from wattline.kernel.cache import SealedFiles, cache_dir, is_warm, refuse_foreign
from wattline.kernel.compiled import JIT, entry, library

needs_jit = pytest.mark.skipif(not JIT, reason="about compiled code")
SIGNATURE = types.float64(types.float64)


def _twice(x: float) -> float:
    return 2.0 * x


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flip(content: bytes) -> bytes:
    at = 2 * len(content) // 3
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, about whose damage nothing was said yet."""
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(compile_cache, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(compile_cache, "_told", set())
    monkeypatch.setattr(compile_cache, "_unkept", set())
    return tmp_path / "cache"


def hits(function: Any) -> int:
    """Return how often a compiled function came from disk."""
    return sum(function.stats.cache_hits.values())


@needs_jit
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [lambda _: b"", _cut, _flip, lambda _: b"no pickle at all" * 9])
def test_damaged_code_is_said_and_made_again(place: Path, ending: str, damage: Callable[[bytes], bytes]) -> None:
    """An empty, cut, changed or foreign file of the cache costs one line and one compilation, never a run."""
    assert hits(entry(SIGNATURE)(_twice)) == 0
    assert hits(entry(SIGNATURE)(_twice)) == 1
    (file,) = place.rglob(f"*{ending}")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(UserWarning, match="compiled code is damaged") as told:
        again: Any = entry(SIGNATURE)(_twice)
    assert len(told) == 1
    assert "\n" not in str(told[0].message)
    assert str(file) in str(told[0].message)
    assert (hits(again), again(21.0)) == (0, 42.0)
    assert hits(entry(SIGNATURE)(_twice)) == 1


@needs_jit
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_files_that_others_may_write_to_are_not_run(place: Path, ending: str) -> None:
    """Code in a file that others could have written is made again; so is what a pipe has taken the place of, which
    nobody waits for.
    """
    entry(SIGNATURE)(_twice)
    (file,) = place.rglob(f"*{ending}")
    assert file.stat().st_mode & 0o022 == 0
    file.chmod(0o646)
    with pytest.warns(UserWarning, match=r"compiled code is damaged \(other users may write to it\)"):
        assert hits(entry(SIGNATURE)(_twice)) == 0
    assert hits(entry(SIGNATURE)(_twice)) == 1
    file.unlink()
    os.mkfifo(file)
    compile_cache._told.clear()
    with pytest.warns(UserWarning, match=r"compiled code is damaged \(cannot be read \(is a pipe, expected a file\)\)"):
        assert hits(entry(SIGNATURE)(_twice)) == 0
    assert hits(entry(SIGNATURE)(_twice)) == 1


@needs_jit
def test_no_changed_byte_of_machine_code_is_ever_run(place: Path) -> None:
    """Whichever byte of the data is changed, nothing is loaded: wrong machine code would give wrong schedules
    silently.
    """
    entry(SIGNATURE)(_twice)
    (data,) = place.rglob("*.nbc")
    files = SealedFiles(data.parent, "f", "stamp")
    files.save("key", list(range(300)))
    path = data.parent / "f.1.nbc"
    content = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at in range(len(content)):
            path.write_bytes(content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1 :])
            assert files.load("key") is None, at
    path.write_bytes(content)
    assert files.load("key") == list(range(300))


@needs_jit
def test_an_index_that_names_other_code(place: Path) -> None:
    """Data compiled for another key, or from an earlier text of the source, are not taken for what the index
    promises.
    """
    first, other = SealedFiles(place, "f", "old source"), SealedFiles(place, "f", "new source")
    first.save("a", "code of a")
    stale = (place / "f.1.nbc").read_bytes()
    other.save("a", "new code of a")
    assert (first.load("a"), other.load("a")) == (None, "new code of a")
    (place / "f.1.nbc").write_bytes(stale)  # as after a kill between index and data
    assert other.load("a") is None
    other.save("a", "new code of a")
    index = (place / "f.nbi").read_bytes()
    SealedFiles(place, "f", "new source").flush()
    other.save("b", "code of b")  # as where two processes compile at once
    (place / "f.nbi").write_bytes(index)
    assert other.load("a") is None


@needs_jit
def test_options_are_told_apart(place: Path) -> None:
    """The same function compiled in another way is other code: numba's own cache would hand out whichever came
    first.
    """
    entry(SIGNATURE, level=2)(_twice)
    assert hits(entry(SIGNATURE, level=1)(_twice)) == 0
    assert hits(entry(SIGNATURE, level=1)(_twice)) == 1
    lazily: Any = library(_twice)
    assert (lazily(4.0), hits(lazily)) == (8.0, 0)


@needs_jit
def test_a_disk_that_takes_no_more(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be kept is used all the same, and said; nothing half-written stays."""

    def full(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.warns(UserWarning, match=r"compiled code cannot be kept there \(No space left on device\)"):
        made: Any = entry(SIGNATURE)(_twice)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        entry(SIGNATURE)(_twice)
    assert made(1.0) == 2.0
    assert not [path for path in place.rglob("*") if path.is_file()]


def test_damage_that_nobody_needs_is_said_once(tmp_path: Path) -> None:
    """Code for other types, which a run does not compile anew, is forgotten once it was told."""
    files = SealedFiles(tmp_path / "of a function", "f", "stamp")
    files.folder.mkdir()
    files.save("needed", 1)
    files.save("other", 2)
    damaged = files.folder / "f.2.nbc"
    damaged.write_bytes(_flip(damaged.read_bytes()))
    with pytest.warns(UserWarning, match=r"compiled code is damaged \(its checksum differs\)"):
        assert not files.is_whole()
    again = SealedFiles(files.folder, "f", "stamp")
    assert again.is_whole()
    assert (again.load("needed"), again.load("other")) == (1, None)
    again.save("other", 3)
    assert again.is_whole()
    assert (again.load("needed"), again.load("other")) == (1, 3)


@needs_jit
def test_a_run_goes_on_with_a_damaged_cache(tmp_path: Path) -> None:
    """The command says in one line what is damaged, compiles it and ends as always, with the same tables; the next is
    silent.
    """
    run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1))
    shutil.copytree(cache_dir(), tmp_path / "cache" / cache_dir().name)
    (tmp_path / "s.toml").write_text(
        '[trace]\ngenerator = "poisson"\njobs = 20\nrate = "30/h"\ntype = [{name = "a", nodes = 1, mean = "5 min"}]\n'
        '[cluster]\nnodes = 4\n[policy]\nselect = "in-order"\n'
    )

    def wattline(out: str) -> str:
        command = [sys.executable, "-m", "wattline", "run", "s.toml", "--out", out, "--no-report", "--quiet"]
        place = {"WATTLINE_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr

    wattline("whole")  # compiles what the tests have not used yet
    for file in [
        *tmp_path.rglob("lowest.lowest-*.nbc"),
        *tmp_path.rglob("fcfs*.nbi"),
        *tmp_path.rglob("*in_order-*.nbc"),
    ]:
        file.write_bytes(_flip(file.read_bytes()))
    told = wattline("damaged")
    assert told.count("\n") == 1
    assert "compiled code is damaged (its checksum differs)" in told
    assert wattline("again") == ""
    for name in ("jobs", "timeline", "events"):
        tables = {(tmp_path / out / f"{name}.parquet").read_bytes() for out in ("whole", "damaged", "again")}
        assert len(tables) == 1, name


@needs_jit
def test_a_damaged_entry_point_is_not_warm(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks whether the core is compiled is told of damage, so that it is compiled with a word about the time it
    takes.
    """
    source = tmp_path / "some_kernel.py"
    source.write_text("def twice(x):\n    return 2.0 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import some_kernel  # type: ignore[import-not-found]  # written just now

    assert not is_warm("some_kernel", "twice")
    entry(SIGNATURE)(some_kernel.twice)
    assert is_warm("some_kernel", "twice")
    os.utime(source, (4e9, 4e9))  # a clock that was wrong when the source was written
    assert is_warm("some_kernel", "twice")
    (data,) = place.rglob("*.nbc")
    data.write_bytes(_flip(data.read_bytes()))
    with pytest.warns(UserWarning, match="compiled code is damaged"):
        assert not is_warm("some_kernel", "twice")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="about Unix permissions")
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code is run as it is: a folder of somebody else, or one that others may write to, is refused with what
    to do.
    """
    monkeypatch.setattr(compile_cache, "_is_private", lambda _gid: False)
    for mode, sticky, fine in (
        (0o755, False, True),
        (0o777, False, False),
        (0o775, False, False),
        (0o1777, True, True),
        (0o1777, False, False),
    ):
        tmp_path.chmod(mode)
        if fine:
            refuse_foreign(tmp_path, sticky=sticky)
        else:
            with pytest.raises(
                InputError, match=r"other users may write to it.*; chmod go-w .*WATTLINE_CACHE_DIR"
            ) as caught:
                refuse_foreign(tmp_path, sticky=sticky)
            assert "\n" not in str(caught.value)
    monkeypatch.setattr(compile_cache, "_is_private", lambda _gid: True)
    tmp_path.chmod(0o775)
    refuse_foreign(tmp_path)  # a group of the user's own, as many systems make them
    tmp_path.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(InputError, match="belongs to another user"):
        refuse_foreign(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="about Unix permissions")
def test_the_command_refuses_such_a_folder(tmp_path: Path) -> None:
    """The line comes from every command that would run what lies there, with exit code 2."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    code = "import sys; from wattline.cli import call; sys.exit(call(['check-policy', 'p.py']))"
    (tmp_path / "p.py").write_text("")
    place = {"WATTLINE_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | place, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"wattline: {tmp_path / 'cache'}: other users may write to it")
