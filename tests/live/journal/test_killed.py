"""A controller that is killed in the middle: what is on the disk carries it on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from live.journal.world import Fuzz, build
from wattline.kernel.compiled import JIT
from wattline.live.controller.journal import checkpoint
from wattline.live.controller.journal.facts_file import read_log
from wattline.live.controller.journal.folder import Keeping, LiveJournal
from wattline.live.controller.journal.replay import FACTS, recover, replay

PROCESS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from live.journal.test_killed import live
live(Path(sys.argv[1]))
"""
START = {"name": "world", "site": "", "how": {"rows": 16, "late_start_s": [1.0, 2.0], "outside": True}}


def live(folder: Path) -> None:
    """Let random facts happen for ever."""
    journal = LiveJournal(folder, START, build, keeping=Keeping(checkpoint_s=150.0, seal_s=400.0))
    world = Fuzz(journal.ledger, seed=int(journal.ledger.state.now[0]))
    world.count = journal.record.count
    while True:
        world.tick()
        journal.tick()
        time.sleep(0.001)


@pytest.mark.skipif(not JIT, reason="plain Python takes too long to get anywhere")
def test_kill_9_loses_nothing_that_was_written(tmp_path: Path) -> None:
    """Killed twice, started three times: the state is that of the log up to its last whole tick, and all of it is
    replayed identically.
    """
    tests = str(Path(__file__).parents[2])
    for _ in range(2):
        before = checkpoint.files_of(tmp_path / "checkpoints")
        process = subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path), tests])
        try:
            deadline = time.monotonic() + 60.0
            while checkpoint.files_of(tmp_path / "checkpoints") == before and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            time.sleep(0.3)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        found = recover(tmp_path, build)
        assert found is not None
        assert found.from_checkpoint
        frames = list(read_log(tmp_path / FACTS, []))
        assert found.found.ticks == frames[-1].number - max(
            checkpoint.read(checkpoint.files_of(tmp_path / "checkpoints")[-1]).number, 0
        )
    whole = replay(tmp_path, build)
    assert whole.difference == ""
    assert whole.starts == 2
    assert whole.ticks == frames[-1].number + 1
    state = checkpoint.take(found.ledger, 0).digest()
    again = LiveJournal(tmp_path, START, build)
    assert checkpoint.take(again.ledger, 0).digest() == state
    again.close()
    assert replay(tmp_path, build).identical
