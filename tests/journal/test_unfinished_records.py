"""Files of unfinished runs that are damaged, foreign or misnamed: the flush before serves, or one line says what is
wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wattline.errors import TraceError
from wattline.journal.unfinished import NAME, Writer, newest, read_flush, read_run, was_kept
from wattline.journal.unfinished_record import FLUSH_KEYS, RUN_KEYS, encode

ABOUT = {"identity": {"seed": "1"}, "hidden": "", "study": "{}"}
STATE = {"changing": np.arange(5.0), "memory.0": np.zeros(3)}


def record(hour: int) -> dict[str, Any]:
    """What a keeper tells about a flush."""
    told = {"cut_s": 3600.0 * hour, "start_s": 0.0, "wall_s": 1.5, "layout_of_state": "abc"}
    return told | {"names": list(STATE), "logs": ["event", "timeline"]}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with two flushes of a run: after one hour and after two."""
    writer = Writer(tmp_path)
    writer.begin()
    writer.describe(ABOUT, [np.arange(3)])
    for hour in (1, 2):
        writer.put([array + hour for array in STATE.values()])
        writer.commit(record(hour), [(0, [np.arange(hour)]), (1, [np.ones(2), np.ones(3)])])
    writer.close()
    return tmp_path


def hour_of(out: Path) -> tuple[float, str]:
    """Return the hour that is read, and the line that is said beside."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = read_flush(out)
    hour = found.record["cut_s"] / 3600
    assert np.array_equal(found.arrays["changing"], STATE["changing"] + hour)
    assert len(found.logs["event"]) == hour
    assert len(said) <= 1
    return hour, str(said[0].message) if said else ""


def rewritten(path: Path, change: Callable[[dict[str, Any]], Any], *, sealed: bool) -> None:
    """Change a record; sealed again, as only a program would, or not, as an editor leaves it."""
    told = json.loads(path.read_bytes())
    del told["sha256"]
    changed = change(told)
    path.write_bytes(encode(changed) if sealed else json.dumps(changed | {"sha256": "0"}).encode())


WRITTEN = ("cut_s", "start_s", "wall_s", "layout_of_state")
"""Keys for which a program may write some of the values that the next test tries: sealed, those are no damage."""


def test_flushes_are_read_back(out: Path) -> None:
    """The newest flush is read, with the state and the logs up to it, and without a word."""
    assert hour_of(out) == (2, "")
    assert read_run(out)[0]["identity"] == {"seed": "1"}


@pytest.mark.parametrize(
    ("key", "wrong", "sealed"),
    [
        pytest.param(key, wrong, sealed, id=f"{key}-{wrong!r}-{sealed}")
        for key in sorted(FLUSH_KEYS)
        for wrong in (None, "x", -1, True, 1e400, [], {}, [1, 1], {"a": 1})
        for sealed in (False, True)
        if not (sealed and FLUSH_KEYS[key](wrong) and key in WRITTEN)
    ],
)
def test_a_wrong_key_of_a_flush_falls_back(out: Path, key: str, wrong: Any, sealed: bool) -> None:
    """A key of a wrong type or value is damage: the flush before it serves, said in one line."""
    path = out / NAME / "flush-2.json"
    rewritten(
        path,
        lambda told: {k: v for k, v in told.items() if k != key} | ({} if wrong is None else {key: wrong}),
        sealed=sealed,
    )
    hour, said = hour_of(out)
    assert hour == 1
    assert said.startswith(str(path.parent))
    assert said.endswith("the flush before it is used")
    assert "\n" not in said


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("key", sorted(RUN_KEYS))
def test_a_wrong_description_of_the_run_is_one_line(out: Path, key: str, sealed: bool) -> None:
    """Where what is run cannot be read, nothing can be carried on, and one line says so."""
    rewritten(
        out / NAME / "run.json", lambda told: told | {key: 7 if key not in ("bytes", "crc") else "7"}, sealed=sealed
    )
    with pytest.raises(TraceError, match=r"run\.json: is damaged .*; run it again without --resume$"):
        read_flush(out)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 100_000, b'{"layout": 2}', b'{"layout": "\\ud800"}']
)
def test_what_is_no_record_falls_back(out: Path, content: bytes) -> None:
    """A record that is no JSON, no object, or far too deep is damage like any other."""
    (out / NAME / "flush-2.json").write_bytes(content)
    assert hour_of(out)[0] == 1
    assert newest(out)["cut_s"] == 3600.0  # type: ignore[index]


@pytest.mark.parametrize(
    "name", ["flush-abc.json", "flush-.json", "flush-0.json", "flush-²3.json", "flush-9" + "9" * 60 + ".json"]
)
def test_other_names_are_not_ours(out: Path, name: str) -> None:
    """A file that is not named as Wattline names flushes is left alone, by readers and by a run that goes on."""
    shutil.copy(out / NAME / "flush-2.json", out / NAME / name)
    assert hour_of(out) == (2, "")
    writer = Writer(out, read_flush(out).record)
    writer.begin()
    writer.put(STATE.values())
    writer.commit(record(3), [])
    writer.close()
    assert (out / NAME / name).exists()
    assert sorted(p.name for p in (out / NAME).glob("flush-?.json") if "0" not in p.name) == [
        "flush-2.json",
        "flush-3.json",
    ]


def test_a_flush_under_another_name_falls_back(out: Path) -> None:
    """An older record under a newer name does not pass for the newer one."""
    shutil.copy(out / NAME / "flush-1.json", out / NAME / "flush-2.json")
    hour, said = hour_of(out)
    assert hour == 1
    assert "under another name" in said


def test_a_flush_of_another_run_falls_back(out: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A flush that another run left there is not taken for ours."""
    rewritten(out / NAME / "flush-2.json", lambda told: told | {"run": "another"}, sealed=True)
    hour, said = hour_of(out)
    assert hour == 1
    assert "belongs to another run" in said


@pytest.mark.parametrize("name", ["flush-2.bin", "flush-2.json", "logs.bin"])
@pytest.mark.parametrize("how", ["pipe", "folder", "missing", "cut", "flipped"])
def test_a_damaged_file_falls_back_or_is_one_line(out: Path, name: str, how: str) -> None:
    """A pipe, a folder, nothing, a half or a flipped bit in place of a file: the older flush, or one line; never other
    content.
    """
    path = out / NAME / name
    content = path.read_bytes()
    path.unlink()
    if how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how == "cut":
        path.write_bytes(content[: len(content) // 3])
    elif how == "flipped":
        at = len(content) // 2 if name != "logs.bin" else 10  # in the rows of the first hour
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    if name == "logs.bin":
        with pytest.raises(TraceError, match=r"logs\.bin: .*no flush is whole: run it again without --resume$"):
            read_flush(out)
    elif name == "flush-2.json" and how == "missing":
        assert hour_of(out) == (1, "")
    else:
        assert hour_of(out)[0] == 1


def test_only_foreign_files_mean_nothing_was_kept(tmp_path: Path) -> None:
    """A folder with none of our flushes holds nothing to resume."""
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "flush-abc.json").write_text("{}")
    assert not was_kept(tmp_path)
    assert newest(tmp_path) is None
