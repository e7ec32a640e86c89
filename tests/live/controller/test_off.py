"""``wattline off``: everything is tried, whatever fails, and what was not released is named."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from wattline.api import controlling
from wattline.api.controlling import switch_off
from wattline.api.site.plan import plan_site
from wattline.errors import InputError
from wattline.live.controller import managers
from wattline.live.controller.leading.lease import Lease
from wattline.live.controller.leading.off import OFF, Off, note_freed, say_off
from wattline.live.controller.managers import ROUNDS, give_back
from wattline.live.machine.base import Abilities, JobSeen, ManagerError, Snapshot

ROOT = Path(__file__).parents[3]


class Moody:
    """A resource manager with three stopped jobs and two held ones, which does not always answer."""

    abilities = Abilities()

    def __init__(self, deaf_to: dict[str, int], refuses: Sequence[str] = (), mute: int = 0) -> None:
        self.deaf_to, self.refuses, self.mute = dict(deaf_to), refuses, mute
        self.stopped = ["1", "2", "3"]
        self.held = ["8", "9"]
        self.closed = False

    def _hears(self, job: str) -> None:
        if self.deaf_to.get(job, 0):
            self.deaf_to[job] -= 1
            raise ManagerError("no answer")

    def snapshot(self) -> Snapshot:
        """Return what is stopped."""
        if self.mute:
            self.mute -= 1
            raise ManagerError("not there")
        return Snapshot(0.0, [JobSeen(job, "paused", 1, 0.0) for job in self.stopped])

    def cont(self, job: str) -> str | None:
        """Let it go on."""
        self._hears(job)
        if job in self.refuses:
            return "it is broken"
        self.stopped.remove(job)
        return None

    def give_back(self) -> dict[str, str | None]:
        """Give all back."""
        found, self.held = dict.fromkeys(self.held), []
        return found

    def close(self) -> None:
        """Note it."""
        self.closed = True


def test_one_job_without_an_answer_keeps_nobody_from_the_others() -> None:
    """All other jobs are released in the first round; the one goes on when it is answered."""
    manager, rested = Moody({"1": 1}), list[float]()
    found = give_back(manager, rested.append)  # type: ignore[arg-type]
    assert set(found.values()) == {None}
    assert sorted(found) == [*(f"job {i} (stopped)" for i in (1, 2, 3)), "job 8 (held)", "job 9 (held)"]
    assert len(rested) == 1


def test_what_is_refused_to_the_end_is_named() -> None:
    """A job that cannot be continued is tried in every round, and told with the reason."""
    manager, rested = Moody({"3": 99}, refuses=["2"]), list[float]()
    found = give_back(manager, rested.append)  # type: ignore[arg-type]
    assert {thing: why for thing, why in found.items() if why} == {
        "job 2 (stopped)": "it is broken",
        "job 3 (stopped)": "no answer",
    }
    assert len(rested) == ROUNDS - 1
    assert manager.held == []


def test_a_manager_that_is_back_after_a_moment_is_no_failure() -> None:
    """What nobody knew in the first round is released in the next."""
    found = give_back(Moody({}, mute=1), lambda _: None)  # type: ignore[arg-type]
    assert set(found.values()) == {None}
    assert {"job 1 (stopped)", "job 8 (held)"} <= set(found)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the example's file of a controller, on a bus without keys."""
    text = (ROOT / "examples" / "live" / "site.toml").read_text()
    text = re.sub(r"^key = .*$|^known = .*$", "", text, flags=re.MULTILINE) + "insecure = true\n"
    (tmp_path / "site.toml").write_text(text.replace("7411", "0"))
    (tmp_path / "machine.toml").write_text((ROOT / "examples" / "live" / "machine.toml").read_text())
    return tmp_path / "site.toml"


def test_jobs_are_released_though_nodes_cannot_be_told(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bus that does not open, for want of a key, is one thing that is not released; jobs and controllers are."""

    def no_key(*_: Any) -> Any:
        raise InputError("no such key")

    manager = Moody({})
    monkeypatch.setattr(controlling, "open_any", no_key)
    monkeypatch.setattr(managers, "open_manager", lambda *_, **__: manager)
    planned = plan_site(site)
    folder = planned.base / planned.spec.journal.dir
    folder.mkdir(parents=True)
    done = switch_off(planned)
    assert "no such key" in done.kept.pop("nodes")
    assert done.kept == {}
    assert len(done.released) == 5
    assert manager.closed
    assert Lease(folder / "lease.json", "x").try_to_lead()


def test_what_the_leader_heard_is_believed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that ends says which nodes are not free; only where all are, or it did not say, no round is needed."""
    monkeypatch.setattr(managers, "open_manager", lambda *_, **__: Moody({}))
    rounds: list[int] = []
    monkeypatch.setattr(controlling, "_free_nodes", lambda *_: rounds.append(1))
    planned = plan_site(site)
    folder = planned.base / planned.spec.journal.dir
    folder.mkdir(parents=True)
    for unheard in ([], ["n001"], None):
        off, leader = Off(folder), Lease(folder / "lease.json", "leader")
        assert leader.try_to_lead()
        told = controlling.time.sleep

        def ends(seconds: float, off: Off = off, leader: Lease = leader, unheard: list[str] | None = unheard) -> None:
            if off() and leader.term:
                if unheard is not None:
                    note_freed(folder, leader.term, unheard)
                leader.give_up()

        monkeypatch.setattr(controlling.time, "sleep", ends)
        done = switch_off(planned)
        monkeypatch.setattr(controlling.time, "sleep", told)
        assert "has ended" in done.notes[0]
        assert len(rounds) == (0 if unheard == [] else 1)
        assert ("node n001" in done.released) == (unheard == [])
        rounds.clear()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_root_says_is_the_folder_owners(tmp_path: Path) -> None:
    """Root's off and root's first look at the lease leave files that the controller's user can use."""
    os.chown(tmp_path, 65534, 65534)
    say_off(tmp_path)
    Lease(tmp_path / "lease.json", "off").holder()
    assert {path.name: path.stat().st_uid for path in tmp_path.iterdir()} == {OFF: 65534, "lease.json": 65534}
    off = Off(tmp_path)

    class Theirs(type(tmp_path)):  # type: ignore[misc]
        """A file that is another user's, in a folder that is ours."""

        def touch(self, *_: Any, **__: Any) -> None:
            """Refuse it once: what is made anew is ours."""
            if self.exists():
                raise PermissionError
            super().touch()

    say_off(Theirs(tmp_path))
    assert off()
