"""A controller with all that surrounds it, on a machine in memory: what it keeps, says and obeys over its lives."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from live.faults.faulty import LIMIT_W, NODES, Faulty, busy
from wattline.live.controller.leading.lease import Lease
from wattline.live.controller.leading.off import OFF, Off
from wattline.live.controller.serve import Site, stand_by
from wattline.live.machine.base import ManagerError
from wattline.live.signals.open import Signals, SignalSettings
from wattline.live.watch.logs import Log
from wattline.live.watch.metrics import NoMetrics

PUSHED_W = 2600.0


class Killed(BaseException):
    """What kill -9 is here."""


class Lines(Log):
    """A log that remembers."""

    def __init__(self) -> None:
        super().__init__("controller")
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def say(self, event: str, level: str = "info", /, **fields: Any) -> None:
        """Note a line."""
        self.lines.append((event, fields))

    def told(self, text: str) -> bool:
        """Tell whether something was said."""
        return any(text in json.dumps([event, fields]) for event, fields in self.lines)


class Sites:
    """Controllers of a folder, one after another; the machine goes on while one of them waits for its next turn."""

    def __init__(self, world: Faulty, folder: Path) -> None:
        self.world, self.folder, self.log = world, folder, Lines()
        self.clock = world.hand.clock
        self.clock.rest = world.step

    def lease(self, name: str) -> Lease:
        """Return the lease as a controller sees it."""
        return Lease(self.folder / "lease.json", name, now=lambda: self.world.hand.at_s)

    def site(self, name: str) -> Site:
        """Return a controller that leads."""
        world = self.world
        world.folder = self.folder
        lease = self.lease(name)
        assert stand_by(lease, self.clock, lambda: False, self.log)
        controller = world.controller = world.start()
        assert world.journal is not None
        settings = SignalSettings(limit_w=LIMIT_W, limit_stale_s=600.0)
        signals = Signals(settings, self.clock)
        controller.signals = signals
        return Site(
            name="here", policy="easy", clock=self.clock, controller=controller, journal=world.journal, signals=signals,
            topics=world.topics, metrics=NoMetrics(), status=None, log=self.log, lease=lease, off_wait_s=0.0,
        )  # fmt: skip

    def serve(self, site: Site, seconds: float, *, kill: bool = False, off: Off | None = None) -> None:
        """Let it lead for a time, then end it in an orderly way or kill it."""
        until_s = self.world.now() + seconds

        def stop() -> bool:
            over = self.world.now() >= until_s or (off is not None and off())
            if over and kill:
                raise Killed
            return over

        if not kill:
            site.serve(stop)
            return
        site._end = list  # type: ignore[method-assign]  # nobody cleans up
        with pytest.raises(Killed):
            site.serve(stop)
        self.world.kill_controller()


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    """Return a busy world whose controllers share a folder."""
    world = Faulty()
    busy(world, 30, spread_s=20.0)
    world.machine.pass_time(0.0)
    return Sites(world, tmp_path)


def test_a_limit_that_was_pushed_outlives_the_controller(sites: Sites) -> None:
    """A limit and load targets hold after kill -9, from the first pass of the next controller on."""
    site = sites.site("one")
    now_s = sites.world.now()
    site.signals.take_message({"limit_w": PUSHED_W}, now_s, now_s)
    target = {"id": "peak", "start": now_s, "end": now_s + 500.0, "limit_w": PUSHED_W - 100.0}
    assert site.signals.take_message({"targets": [target]}, now_s, now_s) is None
    sites.serve(site, 20.0, kill=True)
    sites.world.alone(8.0)
    before_s = sites.world.at()
    again = sites.site("two")
    sites.serve(again, 20.0)
    assert len(again.signals.targets()) == 1
    assert sites.world.most_w(before_s) <= PUSHED_W - 100.0


def test_off_is_off_for_those_who_stand_by(sites: Sites) -> None:
    """Where a site is switched off its leader ends within a period and lets agents go, and no standby takes over."""
    site = sites.site("one")
    other = sites.lease("two")
    assert not other.try_to_lead()
    begin_s = sites.world.now()
    off, off_too = Off(sites.folder), Off(sites.folder)
    (sites.folder / OFF).touch()
    sites.serve(site, 60.0, off=off)
    assert sites.world.now() - begin_s <= 1.0
    assert not stand_by(other, sites.clock, off_too, sites.log)
    sites.world.agents_turn()
    assert all(agent.lease.mode == "free" for agent in sites.world.staff.values())


def test_a_wall_clock_that_is_set_is_said_and_changes_nothing(sites: Sites) -> None:
    """The wall's clock is set by an hour, forth and back: a line each, the same leases, no job is lost."""
    site, wall = sites.site("one"), sites.clock.wall
    for jump_s in (3600.0, -3600.0):
        sites.clock.wall = lambda jump_s=jump_s: wall() + jump_s  # type: ignore[misc]
        sites.world.step(0.25)
        site.controller.on_tick, site.controller.on_say = site._tick, site._say
        site.controller.term = site._term
        for _ in range(20):
            sites.world.run(0.25)
    assert sites.log.told("set by +3600.0 s")
    assert sites.log.told("set by -7200.0 s")
    assert all(not agent.told for agent in sites.world.staff.values())
    sites.clock.wall = wall
    sites.serve(site, 5.0)
    assert sites.world.over_s() == 0.0


def test_a_lease_that_was_lost_with_its_folder(sites: Sites, tmp_path: Path) -> None:
    """Agents that were led by term 3 are led again within seconds by a controller whose folder is new."""
    for name in ("one", "two", "three"):
        sites.serve(sites.site(name), 3.0, kill=True)
        sites.world.alone(7.0)
    assert all(agent.lease.term == 3 for agent in sites.world.staff.values())
    sites.folder = tmp_path / "new"
    sites.folder.mkdir()
    sites.serve(sites.site("four"), 5.0, kill=True)
    assert sites.log.told("leads as 4")
    assert all(agent.lease.mode == "led" and agent.lease.term == 4 for agent in sites.world.staff.values())


def test_an_agent_that_lies_about_its_term_moves_nobody(sites: Sites) -> None:
    """One agent that tells a term of billions does not raise the controller's."""
    sites.world.staff["n003"].lease.term = 10**9
    site = sites.site("one")
    sites.serve(site, 5.0, kill=True)
    assert sum(agent.lease.term == 1 for agent in sites.world.staff.values()) == NODES - 1


def test_a_machine_is_let_go_though_its_manager_is_gone(sites: Sites) -> None:
    """An orderly end without an answering resource manager still lets the agents go, and says what was left."""
    site = sites.site("one")
    sites.world.machine.answers = False
    sites.serve(site, 3.0)
    sites.world.agents_turn()
    assert all(agent.lease.mode == "free" for agent in sites.world.staff.values())
    with pytest.raises(ManagerError):
        sites.world.machine.snapshot()


def test_the_lease_is_kept_while_a_log_is_read(tmp_path: Path) -> None:
    """What takes longer than a lease, like reading a long log, does not lose it."""
    import time

    lease = Lease(tmp_path / "lease.json", f"me-{os.getpid()}", lease_s=0.4)
    assert lease.try_to_lead()
    with lease.kept():
        time.sleep(1.0)
    assert lease.check() == 1
