"""The log of facts: whole after a crash, honest about damage, and never in the way of control."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from wattline.control.facts import ENTER, TIME, WIDTH
from wattline.errors import TraceError
from wattline.live.controller.journal import facts_file as form
from wattline.live.controller.journal.facts_log import FactsLog, drop_before, take_from
from wattline.live.controller.ledger import Batch


def batch_of(seed: int, facts: int = 5) -> Batch:
    """Return a batch of random facts."""
    rng = np.random.default_rng(seed)
    lines = np.zeros((facts, WIDTH))
    for line in lines:
        line[: int(rng.integers(0, WIDTH + 1))] = rng.choice([0.0, -0.0, 1.5, np.nan, np.inf, -3.0])
    lines[0, 0], lines[0, WIDTH - 1] = ENTER, -0.0
    extents = rng.integers(0, 9, (int(rng.integers(1, 4)), 2))
    return Batch(lines, extents, rng.integers(-7, 2**20, facts), ("a job", "ñ"))


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_is_read_as_it_was_written(seed: int) -> None:
    """Every bit of facts, extents, results and names comes back, also minus zeros and NaNs."""
    batch = batch_of(seed)
    again = form.unpack_batch(form.pack_batch(batch))
    assert again.facts.tobytes() == batch.facts.tobytes()
    np.testing.assert_array_equal(again.extents, batch.extents)
    np.testing.assert_array_equal(again.results, batch.results)
    assert again.names == batch.names
    assert again.facts.flags.writeable


def test_a_pass_is_read_as_it_was_written() -> None:
    """Which policies passed, how many actions, and their checksum."""
    for passed in (form.Passed(None, 0, 0), form.Passed(3, 17, 2**32 - 1)):
        assert form.unpack_pass(form.pack_pass(passed)) == passed


def filled(folder: Path, ticks: int = 10, **more: object) -> FactsLog:
    """Return a log with some ticks on the disk."""
    log = FactsLog(folder, **more)  # type: ignore[arg-type]
    for i in range(ticks):
        log.note({"what": "tick", "i": i})
        log.batch(batch_of(i))
        log.tick()
        if more:
            assert log.flush()
    assert log.flush()
    return log


def numbers(folder: Path, said: list[str] | None = None) -> list[int]:
    """Return the numbers of all frames of a log."""
    return [frame.number for frame in form.read_log(folder, said if said is not None else [])]


def test_a_writer_that_was_replaced_and_goes_on_changes_nothing(tmp_path: Path) -> None:
    """What a stopped controller still writes when it goes on is in no log that anybody reads; one that gives its log up
    writes nothing more.
    """
    stopped = filled(tmp_path, 3)
    take_from(tmp_path)
    leads = filled(tmp_path, 2)
    stopped.note({"what": "too late"})
    stopped.tick()
    assert stopped.flush()
    stopped.note({"what": "never"})
    stopped.abandon()
    leads.close()
    assert numbers(tmp_path) == [0, 1, 2, 3, 4]


def test_files_follow_one_another(tmp_path: Path) -> None:
    """A file that is large enough is followed by another, old ones may be removed, and a new program goes on."""
    log = filled(tmp_path, 20, file_bytes=2_000)
    log.close()
    files = form.files_of(tmp_path)
    assert len(files) > 3
    assert numbers(tmp_path) == list(range(20))
    assert drop_before(tmp_path, files[2].name) == 2
    first = numbers(tmp_path)[0]
    assert 0 < first == form.first_number(files[2])
    again = filled(tmp_path, 2)
    again.close()
    assert numbers(tmp_path) == list(range(first, 22))


@pytest.mark.parametrize("lost", [1, 7, 40, 200])
def test_a_frame_that_was_cut_off_is_left_out_and_said(tmp_path: Path, lost: int) -> None:
    """A crash leaves the last frame half written: the rest is read, the next program takes it away and goes on."""
    filled(tmp_path, 10).close()
    (path,) = form.files_of(tmp_path)
    os.truncate(path, path.stat().st_size - lost)
    said: list[str] = []
    assert numbers(tmp_path, said) == list(range(9))
    assert "the last frame was cut off at byte" in said[0]
    told: list[str] = []
    filled(tmp_path, 3, say=told.append).close()
    assert "it is taken away" in told[0]
    said.clear()
    assert numbers(tmp_path, said) == list(range(12))
    assert not said


def test_zeros_at_the_end_of_a_file_are_a_frame_that_was_cut_off(tmp_path: Path) -> None:
    """Some file systems leave zeros where nothing had reached the disk."""
    filled(tmp_path, 5).close()
    (path,) = form.files_of(tmp_path)
    with path.open("ab") as file:
        file.write(bytes(4096))
    said: list[str] = []
    assert numbers(tmp_path, said) == list(range(5))
    assert len(said) == 1


@pytest.mark.parametrize("what", ["length", "body"])
def test_damage_in_the_middle_is_an_error_with_file_and_byte(tmp_path: Path, what: str) -> None:
    """A frame that is damaged while others follow is no crash: nothing behind it is believed."""
    filled(tmp_path, 10).close()
    (path,) = form.files_of(tmp_path)
    frame = list(form.read_log(tmp_path, []))[4]
    data = bytearray(path.read_bytes())
    data[frame.offset + (3 if what == "length" else 20)] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(TraceError, match=f"{path.name}.*is damaged at byte {frame.offset}"):
        numbers(tmp_path)


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """Ticks are counted: a hole is found and said."""
    filled(tmp_path, 20, file_bytes=2_000).close()
    form.files_of(tmp_path)[1].unlink()
    with pytest.raises(TraceError, match=r"ticks \d+ to \d+ are missing before it"):
        numbers(tmp_path)


def test_another_file_is_no_log(tmp_path: Path) -> None:
    """What does not begin as a log does is refused."""
    (tmp_path / f"00000001{form.SUFFIX}").write_text("hello, I am somebody else's file")
    with pytest.raises(TraceError, match="is no log of facts"):
        numbers(tmp_path)


class Disk:
    """A disk that is full when told so; a write may get half through."""

    def __init__(self) -> None:
        self.full = False

    def write(self, file: int, data: bytes) -> int:
        """Write as ``os.write`` does."""
        if self.full:
            if len(data) > 10:
                return os.write(file, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(file, data)


def test_a_full_disk_holds_nothing_up_and_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks wait in memory while the disk is full, and are all written when there is room: nothing is missing."""
    monkeypatch.setattr("wattline.live.controller.journal.facts_log.AGAIN_S", 0.02)
    disk, said = Disk(), []
    log = FactsLog(tmp_path, say=said.append, write=disk.write)
    for i in range(30):
        if i == 10:
            assert log.flush()
            disk.full = True
        began = time.perf_counter()
        log.batch(batch_of(i))
        log.tick()
        assert time.perf_counter() - began < 0.5
    time.sleep(0.1)
    assert log.problem == "No space left on device"
    assert not log.flush(0.05)
    assert numbers(tmp_path) == list(range(10))
    disk.full = False
    assert log.flush()
    log.close()
    assert numbers(tmp_path) == list(range(30))
    assert len(said) == 2
    assert "control goes on" in said[0]
    assert "written again, 0 ticks are missing" in said[1]


def test_what_a_full_disk_cannot_take_is_a_gap_with_its_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded: ticks beyond it are counted, and the log says where and how many are missing."""
    monkeypatch.setattr("wattline.live.controller.journal.facts_log.AGAIN_S", 0.02)
    disk = Disk()
    log = FactsLog(tmp_path, write=disk.write, waiting_bytes=3_000)
    disk.full = True
    for i in range(50):
        log.batch(batch_of(i))
        log.tick()
    lost = log.lost_ticks
    assert 10 < lost < 50
    disk.full = False
    assert log.flush()
    log.note({"what": "after"})
    log.tick()
    assert log.gap
    log.close()
    frames = list(form.read_log(tmp_path, []))
    assert [frame.number for frame in frames] == [*range(50 - lost), 50]
    assert frames[-1].records[0] == (form.GAP, form.pack_words({"ticks": lost}))


def test_a_slow_disk_is_given_many_ticks_at_once(tmp_path: Path) -> None:
    """While the disk is busy ticks gather; they go in one write, and nobody waits."""
    go, synced = threading.Event(), []

    def sync(file: int) -> None:
        go.wait(5.0)
        synced.append(file)

    log = FactsLog(tmp_path, sync=sync)
    for i in range(100):
        log.note({"i": i})
        log.tick()
    go.set()
    log.close()
    assert len(synced) < 6
    assert numbers(tmp_path) == list(range(100))


def test_time_alone_takes_few_bytes() -> None:
    """A fact is as long as what it says."""
    facts = np.zeros((1, WIDTH))
    facts[0, :2] = TIME, 1.7e9
    assert len(form.pack_batch(Batch(facts, np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64), ()))) < 50


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    """A log that could never be written is refused at the start."""
    (tmp_path / "file").touch()
    with pytest.raises(TraceError, match=r"file.facts: cannot be written \(Not a directory\)"):
        FactsLog(tmp_path / "file" / "facts")
