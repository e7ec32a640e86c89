"""``wattline replay-live``: a run told by its log alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from live.journal.world import Exact, bound, build, flow
from wattline import cli
from wattline.errors import InputError, TraceError
from wattline.live.controller.journal.checkpoint import whole
from wattline.live.controller.journal.folder import LiveJournal
from wattline.live.controller.journal.replay import FACTS
from wattline.live.controller.journal.setup import describe, rebuild
from wattline.model.kinds import Kind
from wattline.model.mechanism import policy
from wattline.wiring.bound import Bound


def lived(folder: Path) -> None:
    """Leave a run in a folder that knows how it was set up."""
    made = bound(rows=8)
    start = {"name": "world", "site": "", "how": {"rows": 8}, "setup": describe(made)}
    journal = LiveJournal(folder, start, build)
    world = Exact(journal.ledger, flow(3, 40))
    while world.instant():
        journal.tick()
    journal.close()


def test_a_run_is_replayed_from_its_folder_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command counts and says that all is identical; numbers for programs on demand."""
    lived(tmp_path)
    assert cli.call(["replay-live", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "identical"
    assert "40 actions" in said[-2]
    assert cli.call(["replay-live", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["identical"], told["ended"], told["actions"], told["starts"]) == (True, True, 40, 1)


def test_a_difference_is_exit_code_1_and_no_log_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log whose setup was changed is replayed up to the first other decision."""
    lived(tmp_path)
    (path,) = (tmp_path / FACTS).iterdir()
    from wattline.live.controller.journal import facts_file as form

    frames = list(form.read_log(tmp_path / FACTS, []))
    start = json.loads(frames[0].records[0][1])
    start["setup"]["policies"]["select"] = "in-order"
    first = [(form.START, form.pack_words(start)), *frames[0].records[1:]]
    rest = b"".join(form.pack_frame(frame.number, frame.records) for frame in frames[1:])
    path.write_bytes(form.MAGIC + form.pack_frame(0, first) + rest)
    assert cli.call(["replay-live", str(tmp_path)]) == 1
    assert "first difference: 00000001.facts, byte" in capsys.readouterr().out
    assert cli.call(["replay-live", str(tmp_path / "none")]) == 2
    assert "has no log of facts" in capsys.readouterr().err


def test_a_set_up_comes_back_whole() -> None:
    """Machine, kinds, options, policies with their parameters and seed: the state is the same bytes."""
    kind = Kind("small", 2, 100.0, 200.0, 120.0, limit=5.0)
    made = bound(kinds=(kind,), limit_w=((0.0, 9_000.0),), tick_s=1.0)
    again = rebuild({"setup": json.loads(json.dumps(describe(made)))})
    assert isinstance(again, Bound)
    assert whole(again.state).tobytes() == whole(made.state).tobytes()
    assert again.options.kinds[0] == kind
    assert again.policies.select.name == "easy"
    with pytest.raises(TraceError, match="does not say how the run was set up"):
        rebuild({})


def test_a_policy_of_ones_own_is_named_by_its_file() -> None:
    """Code is not kept in the log: who has his own policy says where it is."""

    @policy("order")
    def mine(s: object, mask: int, param: object, memory: object) -> int:
        return 0

    from dataclasses import replace

    made = bound()
    made.policies = replace(made.policies, order=mine)
    with pytest.raises(InputError, match="the order policy 'mine' is no built-in one"):
        describe(made)
    assert describe(made, {"order": "mine.py"})["policies"]["order"] == "mine.py"
