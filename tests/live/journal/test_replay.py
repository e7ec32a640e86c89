"""Facts of a live run fed back: identical actions, a run that goes on after a crash, and differences that are found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from live.journal.world import Exact, Fuzz, build, flow
from wattline.errors import TraceError
from wattline.journal.journal import open_journal
from wattline.kernel.compiled import JIT
from wattline.live.controller.journal import checkpoint, facts_file
from wattline.live.controller.journal.folder import Keeping, LiveJournal, Words, write_again
from wattline.live.controller.journal.replay import CHECKPOINTS, FACTS, recover, replay
from wattline.wiring.bound import Bound

TICKS = 900 if JIT else 60
START: dict[str, Any] = {
    "name": "world",
    "site": "# a site",
    "seed": 0,
    "how": {"select": "easy", "rows": 16, "log_rows": 400, "late_start_s": [1.0, 2.0], "outside": True},
}
OFTEN = Keeping(checkpoint_s=200.0, seal_s=300.0)


def fuzzed(folder: Path, ticks: int = TICKS, keeping: Keeping = OFTEN, start: Mapping[str, Any] = START) -> LiveJournal:
    """Return a run of random facts, not closed; what is written beside it is waited for (minutes pass in no time)."""
    journal = LiveJournal(folder, start, build, keeping=keeping)
    world = Fuzz(journal.ledger, seed=4)
    for _ in range(ticks):
        world.tick()
        journal.tick()
        journal._finish_sealing(wait=True)
        if (writing := journal.checkpoints._writing) is not None:
            wait([writing])
    return journal


def digest(journal: LiveJournal) -> int:
    """Return the checksum of a run's state."""
    return checkpoint.take(journal.ledger, 0).digest()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that has ended."""
    folder = tmp_path_factory.mktemp("whole")
    journal = fuzzed(folder)
    journal.close()
    assert journal.ledger.grown > 0
    return folder


def test_a_run_of_all_sorts_of_facts_is_replayed_identically(whole: Path) -> None:
    """Results of facts, actions of passes, states at checkpoints and at the end: all the same, in rows that grow."""
    found = replay(whole, build)
    assert found.difference == ""
    assert found.ended
    assert found.ticks == TICKS + 1
    assert found.passes == 2 * TICKS
    assert found.facts > 3 * TICKS
    assert found.actions > TICKS / 4
    assert found.checkpoints > 1 or not JIT
    assert not found.inexact
    assert not found.said


def test_a_run_that_was_cut_off_is_carried_on_byte_for_byte(tmp_path: Path) -> None:
    """After a crash state, memories, names and what the next journal needs are what they were; the run goes on in the
    same log, and the whole is replayed identically.
    """
    journal = fuzzed(tmp_path, TICKS // 2 + 57)
    assert journal.log.flush()
    expected, names = digest(journal), dict(journal.ledger.row)
    count = journal.record.count
    again = LiveJournal(tmp_path, START, build, keeping=OFTEN)  # the first one is as good as dead
    assert again.recovered is not None
    assert again.recovered.from_checkpoint or not JIT
    assert digest(again) == expected
    assert again.ledger.row == names
    assert (again.record.count, again.sealer.number) == (count, journal.sealer.number)
    assert again.record.jobs.name == journal.record.jobs.name
    world = Fuzz(again.ledger, seed=5)
    world.count = 1_000_000
    for _ in range(50):
        world.tick()
        again.tick()
    again.close()
    found = replay(tmp_path, build)
    assert found.difference == ""
    assert found.starts == 2
    assert found.ended


def test_journals_of_a_run_that_was_carried_on_are_those_of_one_that_was_not(tmp_path: Path) -> None:
    """A crash between two checkpoints leaves no trace in the journals: all their rows are the same."""
    jobs = flow(7, 300)
    start = {**START, "how": {"select": "easy", "rows": 16}}
    keeping = Keeping(checkpoint_s=700.0, seal_s=1500.0)

    def live(folder: Path, until_s: float, world: Exact | None = None) -> tuple[LiveJournal, Exact]:
        journal = LiveJournal(folder, start, build, keeping=keeping)
        going = Exact(journal.ledger, jobs) if world is None else world
        going.ledger = journal.ledger
        while going.left and going.ledger.state.now[0] < until_s:
            going.instant()
            journal.measure(float(going.left), 64, np.nan, np.inf)
            journal.tick()
            journal._finish_sealing(wait=True)  # hours pass in milliseconds here
        return journal, going

    one, _ = live(tmp_path / "one", np.inf)
    one.close()
    cut, world = live(tmp_path / "two", 5_000.0)
    assert cut.log.flush()
    cut.checkpoints.close()
    two, _ = live(tmp_path / "two", np.inf, world)
    assert two.recovered is not None
    two.close()
    names = sorted(path.name for path in (tmp_path / "one" / "journals").iterdir())
    assert len(names) > 3
    assert names == sorted(path.name for path in (tmp_path / "two" / "journals").iterdir())
    for name in names:
        first, second = (open_journal(tmp_path / run / "journals" / name) for run in ("one", "two"))
        for table in first.frames:
            assert first.read(table).equals(second.read(table)), (name, table)


def test_a_damaged_checkpoint_is_said_and_the_one_before_is_used(tmp_path: Path) -> None:
    """The newest two are there; where the newest is damaged more facts are replayed, with the same end."""
    journal = fuzzed(tmp_path)
    assert journal.log.flush()
    journal.checkpoints.close()
    expected = digest(journal)
    files = checkpoint.files_of(tmp_path / CHECKPOINTS)
    if not JIT:
        return
    assert len(files) == 2
    data = bytearray(files[-1].read_bytes())
    data[-5] ^= 1
    files[-1].write_bytes(data)
    found = recover(tmp_path, build)
    assert found is not None
    assert "is a damaged checkpoint" in found.found.said[0]
    assert checkpoint.take(found.ledger, 0).digest() == expected


def test_another_configuration_begins_anew(tmp_path: Path) -> None:
    """A state is not carried into a site that has changed: it is built from outside, and said."""
    journal = fuzzed(tmp_path, 20)
    journal.close()
    said: list[str] = []
    changed = {**START, "site": "# another", "how": {**START["how"], "select": "conservative"}}
    again = LiveJournal(tmp_path, changed, build, say=said.append)
    assert again.recovered is None
    assert again.ledger.state.now[0] == 0.0
    assert "the configuration has changed" in said[-1]
    again.close()
    assert replay(tmp_path, build).difference == ""


@pytest.mark.parametrize("ticks", [20, TICKS])
def test_a_run_behind_another_one_is_carried_on_as_its_own(tmp_path: Path, ticks: int) -> None:
    """A run with another configuration is cut off before its first checkpoint: what the next journal needs is
    what it had, and nothing of the run before.
    """
    first = fuzzed(tmp_path, ticks)
    first.close()
    changed = {**START, "site": "# another"}
    cut = fuzzed(tmp_path, 30, start=changed)
    assert cut.log.flush()
    told, names = cut.sealer.freeze(), cut.words.names
    again = LiveJournal(tmp_path, changed, build, keeping=OFTEN)
    assert again.recovered is not None
    assert digest(again) == digest(cut)
    assert repr(again.sealer.freeze()) == repr(told)
    assert again.words.names == names
    again.close()
    assert again.sealer.number == 1


def test_a_different_decision_is_found_where_it_was_made(whole: Path) -> None:
    """Other policies decide otherwise: the first pass that differs is named with file, byte, tick and time."""

    def other(start: Mapping[str, Any]) -> Bound:
        return build({"how": {**start["how"], "select": "in-order"}})

    found = replay(whole, other)
    assert not found.identical
    assert "00000001.facts, byte" in found.difference
    assert "in the log" in found.difference


def test_a_fact_that_was_changed_is_found(tmp_path: Path) -> None:
    """Somebody who changes a number in the log, checksum and all, is found out by what comes of it."""
    journal = fuzzed(tmp_path, 60, Keeping())
    journal.close()
    (path,) = facts_file.files_of(tmp_path / FACTS)
    frames = list(facts_file.read_log(tmp_path / FACTS, []))
    kind, data = next((i, (k, d)) for i, (k, d) in enumerate(frames[5].records) if k == facts_file.BATCH)
    batch = facts_file.unpack_batch(data[1])
    batch.facts[0, 1] += 0.25  # the time
    records = list(frames[5].records)
    records[kind] = (facts_file.BATCH, facts_file.pack_batch(batch))
    path.write_bytes(
        facts_file.MAGIC
        + b"".join(
            facts_file.pack_frame(frame.number, records if frame.number == 5 else frame.records) for frame in frames
        )
    )
    assert not replay(tmp_path, build).identical


def test_after_a_gap_a_replay_goes_on_at_the_next_checkpoint(tmp_path: Path) -> None:
    """Where a full disk lost ticks the replay says so, skips to the checkpoint behind them and compares from there."""
    journal = LiveJournal(tmp_path, START, build, keeping=Keeping(checkpoint_s=1e9, seal_s=1e9))
    world = Fuzz(journal.ledger, seed=4)
    for i in range(120):
        if i == 40:
            assert journal.log.flush()
            journal.log._waiting_bytes = 0
        if i == 60:
            journal.log._waiting_bytes = 1 << 20
        world.tick()
        journal.tick()
    assert journal.log.flush()
    journal.close()
    found = replay(tmp_path, build)
    assert found.difference == ""
    assert len(found.inexact) == 1
    assert "20 ticks before it are missing" in found.inexact[0]
    assert found.ended
    assert 140 < found.passes < 210


def test_old_files_are_removed_when_they_are_sealed(tmp_path: Path) -> None:
    """With a number of files to keep, the log does not grow for ever; what is left is replayed from a checkpoint."""
    keeping = Keeping(checkpoint_s=60.0, seal_s=100.0, file_bytes=4_000, keep_files=1)
    journal = LiveJournal(tmp_path, START, build, keeping=keeping)
    world = Fuzz(journal.ledger, seed=4)
    for _ in range(700 if JIT else 260):
        world.tick()
        journal.tick()
        assert journal.log.flush()  # as a machine does, whose ticks are a second apart
    journal.close()
    files = facts_file.files_of(tmp_path / FACTS)
    assert int(files[0].name.split(".")[0]) > 3
    found = replay(tmp_path, build)
    assert found.difference == ""
    assert "earlier files were removed" in found.inexact[0]
    assert found.passes > 0


def test_a_file_that_was_just_begun_costs_no_facts(tmp_path: Path) -> None:
    """The log begins its next file while old ones are removed: what the checkpoints need stays."""
    keeping = Keeping(checkpoint_s=60.0, seal_s=1e6, file_bytes=4_000, keep_files=1)
    journal = fuzzed(tmp_path, 300 if JIT else 150, keeping)
    assert journal.log.flush()
    journal.checkpoints.close()
    newest = facts_file.files_of(tmp_path / FACTS)[-1]
    begun = newest.with_name(f"{int(newest.stem) + 1:08d}.facts")
    begun.write_bytes(facts_file.MAGIC)
    journal._drop_old()
    assert newest.exists()
    oldest = checkpoint.read(checkpoint.files_of(tmp_path / CHECKPOINTS)[0]).number
    first = facts_file.first_number(facts_file.files_of(tmp_path / FACTS)[0])
    assert first is not None
    assert 0 < first <= oldest
    begun.unlink()
    journal.abandon()
    assert replay(tmp_path, build).passes > 0


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    """In one line."""
    with pytest.raises(TraceError, match="has no log of facts"):
        replay(tmp_path, build)


def test_words_have_codes_that_a_restart_knows(tmp_path: Path) -> None:
    """Names of users and kinds are numbers to the state; they are in the log."""
    words = Words()
    assert [words.code("user", text) for text in ("ann", "bob", "ann", "")] == [0, 1, 0, -1]
    journal = LiveJournal(tmp_path, START, build)
    journal.words.code("user", "ann")
    journal.note("mode", mode="held")
    journal.tick()
    assert journal.log.flush()
    again = LiveJournal(tmp_path, START, build)
    assert again.words.names["user"] == ["ann"]
    assert again.words.code("user", "bob") == 1
    (first, *_), *_ = (frame.records for frame in facts_file.read_log(tmp_path / FACTS, []))
    assert json.loads(first[1])["site"] == "# a site"


def test_a_journal_that_found_no_room_is_said_and_made_of_the_facts_later(tmp_path: Path) -> None:
    """Where a journal cannot be written the run goes on; the facts give all journals again, the same rows."""
    start = {**START, "how": {"select": "easy", "rows": 16}}
    said: list[str] = []
    journal = LiveJournal(tmp_path, start, build, keeping=Keeping(seal_s=1500.0), say=said.append)
    (tmp_path / "journals").write_text("a file where the folder should be")
    world = Exact(journal.ledger, flow(7, 200))
    while world.instant():
        journal.words.code("user", "ann")
        journal.measure(np.nan, 3, 500.0, np.inf)
        journal.tick()
        journal._finish_sealing(wait=True)
        if journal.sealer.number == 1:
            (tmp_path / "journals").unlink(missing_ok=True)
    journal.close()
    assert "the log of facts has it all" in said[0]
    made = sorted(path.name for path in (tmp_path / "journals").iterdir())
    found, again = write_again(tmp_path, build, tmp_path / "again")
    assert found.identical
    assert [path.name for path in again] == ["000000", *made]
    assert "000000" not in made
    for name in made:
        first, second = open_journal(tmp_path / "journals" / name), open_journal(tmp_path / "again" / name)
        for table in first.frames:
            assert first.read(table).equals(second.read(table)), (name, table)
    lost = open_journal(tmp_path / "again" / "000000")
    assert lost.read("jobs").height > 0
    assert set(lost.read("measured")["target_w"]) == {500.0}
