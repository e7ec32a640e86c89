"""What surrounds a controller: off reaches every node and everybody who stands by, and signals survive a restart."""

from __future__ import annotations

import math
import os
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.worlds import cluster, policies
from live.controller.emulated import EPOCH_S, World
from wattline.api.site.bus import open_any, open_when_free
from wattline.demo.layout import free_port
from wattline.errors import InputError
from wattline.live.bus.base import Bus
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.inprocess import Hub
from wattline.live.bus.keys import make_keys
from wattline.live.bus.messages import Outbox, decode
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock
from wattline.live.controller.config import bus_settings, read_site
from wattline.live.controller.controller import BidStep
from wattline.live.controller.journal.signals import SignalKeeper
from wattline.live.controller.leading.lease import Lease
from wattline.live.controller.leading.off import OFF, OFF_WAIT_S, Off, let_go, process_began_s
from wattline.live.controller.leading.onlooker import Onlooker
from wattline.live.controller.seen.meters import Meters
from wattline.live.controller.serve import Site, stand_by
from wattline.live.signals.open import Signals, SignalSettings
from wattline.live.watch.document import Document
from wattline.live.watch.logs import Log
from wattline.live.watch.metrics import NoMetrics

STATUS = {
    "w": 200.0, "age": 0.1, "cpu_w": 90.0, "mem_w": 10.0, "cap_w": None, "limit_w": 500.0, "lease": 0.0, "term": 1,
    "safe_w": 200.0, "min_w": 100.0, "max_w": 400.0, "faults": [],
}  # fmt: skip


class Agents:
    """Two nodes on a bus in memory; the second is connected after a while, and obeys off as it hears it."""

    def __init__(self, comes_after_s: float) -> None:
        self.at_s = 0.0
        self.clock = Clock(wall=lambda: 1e9 + self.at_s, monotonic=lambda: self.at_s, rest=self.pass_time)
        self.topics = Topics("here")
        self.hub = Hub("here", self.clock)
        self.comes_after_s = comes_after_s
        self.buses = {name: self.hub.attach("agent", name) for name in ("n1", "n2")}
        self.outboxes = {name: Outbox(name, self.clock) for name in self.buses}
        for bus in self.buses.values():
            bus.subscribe(self.topics.off)
        self.modes = dict.fromkeys(self.buses, "led")
        self.hub.cut("n2")

    def pass_time(self, seconds: float) -> None:
        """Let time pass: agents hear and tell."""
        self.at_s += seconds
        if self.at_s >= self.comes_after_s:
            self.hub.heal("n2")
        for name, bus in self.buses.items():
            if any(decode(one.payload).kind == "off" for one in bus.poll(0.0)):
                self.modes[name] = "free"
            bus.publish(
                self.topics.status(name), self.outboxes[name].encode("status", {**STATUS, "mode": self.modes[name]})
            )

    def let_go(self) -> list[str]:
        """Say off as a controller does."""
        bus = self.hub.attach("controller", "controller")
        for topic in self.topics.reads("controller", "controller"):
            bus.subscribe(topic)
        names = ("n1", "n2")
        inbox, meters = Inbox(self.topics, self.clock, nodes=names), Meters(names, np.full(2, 400.0))
        outbox = Outbox("controller", self.clock)
        return let_go(bus, inbox, meters, outbox, self.topics, self.clock, lambda: self.pass_time(0.2))


def test_off_reaches_a_node_that_is_connected_late() -> None:
    """It is said until every node says that it is free, also one that hears nothing for five seconds."""
    agents = Agents(comes_after_s=5.0)
    assert agents.let_go() == []
    assert agents.modes == {"n1": "free", "n2": "free"}
    assert 5.0 <= agents.at_s < 6.0


def test_nodes_that_never_answer_to_off_are_named() -> None:
    """After some seconds it is given up."""
    agents = Agents(comes_after_s=math.inf)
    assert agents.let_go() == ["n2"]
    assert OFF_WAIT_S <= agents.at_s < OFF_WAIT_S + 1.0


def test_off_ends_who_stands_by(tmp_path: Path) -> None:
    """Who waits for the lease does not take over a machine that was switched off; an off of before does not count."""
    (tmp_path / OFF).touch()
    os.utime(tmp_path / OFF, (1.0, 1.0))
    off = Off(tmp_path)
    assert not off()
    leader = Lease(tmp_path / "lease.json", "a")
    assert leader.try_to_lead()
    waited: list[float] = []

    def rest(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            (tmp_path / OFF).touch()
            leader.give_up()

    clock = Clock(rest=rest)
    standby = Lease(tmp_path / "lease.json", "b")
    assert not stand_by(standby, clock, off, Log("test"))
    assert not standby.leads()
    assert len(waited) == 3


def test_off_counts_while_a_controller_is_still_loading(tmp_path: Path) -> None:
    """What was said after the process began is meant for it, though it looks for the first time later."""
    (tmp_path / OFF).touch()
    said_s = (tmp_path / OFF).stat().st_mtime
    assert Off(tmp_path, began_s=said_s - 1.0)()
    assert not Off(tmp_path, began_s=said_s + 1.0)()
    assert 0.0 < time.time() - process_began_s() < 86400.0


def test_load_targets_survive_a_restart(tmp_path: Path) -> None:
    """A limit that was scheduled ahead holds after the controller was killed and started again."""
    clock = Clock(wall=lambda: 1e9, monotonic=lambda: 0.0)
    first = Signals(SignalSettings(limit_w=1000.0), clock)
    keeper = SignalKeeper(tmp_path, first)
    target = {"id": "dr-1", "start": 1e9 - 10.0, "end": 1e9 + 600.0, "limit_w": 700.0}
    assert first.take_message({"targets": [target]}, 1e9, 1e9) is None
    assert keeper.keep(1e9) == ""
    again = Signals(SignalSettings(limit_w=1000.0), clock)
    assert SignalKeeper(tmp_path, again).restore(1e9 + 30.0) == ""
    assert again.now(1e9 + 30.0).limit_w == 700.0
    assert [one.id for one in again.targets()] == ["dr-1"]


def test_a_pushed_limit_survives_a_restart_from_the_first_turn_on(tmp_path: Path) -> None:
    """A limit is kept in the turn that brought it into force, also seconds after one that was kept before."""
    clock = Clock(wall=lambda: 1e9, monotonic=lambda: 0.0)
    first = Signals(SignalSettings(limit_w=1000.0), clock)
    keeper = SignalKeeper(tmp_path, first)
    for k, watts in enumerate((900.0, 600.0, 800.0)):
        now_s = 1e9 + 1.0 + 2.0 * k
        assert first.take_message({"limit_w": watts}, now_s, now_s) is None
        assert first.now(now_s).limit_w == watts
        assert keeper.keep(now_s) == ""
        again = Signals(SignalSettings(limit_w=1000.0), clock)
        assert SignalKeeper(tmp_path, again).restore(now_s + 1.0) == ""
        assert again.now(now_s + 1.0).limit_w == watts


def test_signals_that_cannot_be_kept_are_told(tmp_path: Path) -> None:
    """A file that is damaged or cannot be written stops nothing; the reason is a line."""
    clock = Clock()
    keeper = SignalKeeper(tmp_path / "nowhere", Signals(SignalSettings(limit_w=1000.0), clock))
    assert "signals.json" in keeper.keep(time.time())
    (tmp_path / "signals.json").write_text("{")
    damaged = SignalKeeper(tmp_path, Signals(SignalSettings(limit_w=1000.0), clock))
    assert "signals.json" in damaged.restore(time.time())


def test_a_dry_run_hears_through_whoever_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """It listens at the leader's address only while nobody leads, and sends nothing."""
    monkeypatch.setattr("wattline.live.controller.leading.onlooker.LOOK_S", 0.0)
    clock, opened = Clock(), list[str]()
    topics = Topics("here")
    hub = Hub("here", clock)
    agent, led = hub.attach("agent", "n1"), [False]

    def opens(how: str) -> Bus:
        opened.append(how)
        return hub.attach("controller", f"{how}{len(opened)}")

    bus = Onlooker(lambda: led[0], lambda: opens("beside"), lambda: opens("instead"))
    bus.subscribe(topics.status())
    for now_led in (False, True, True, False):
        led[0] = now_led
        bus.poll(0.0)
        agent.publish(topics.status("n1"), b"s")
        assert [one.payload for one in bus.poll(0.0)] == [b"s"]
    assert opened == ["instead", "beside", "instead"]
    agent.subscribe(topics.off)
    assert not bus.publish(topics.off, b"off")
    assert agent.poll(0.0) == []
    bus.close()


def test_an_address_for_each_controller_of_a_file(tmp_path: Path) -> None:
    """One file serves the leader and those who stand by: each has its own address and key, and knows the others."""
    path = tmp_path / "site.toml"
    text = (Path(__file__).parents[3] / "examples/live/site.toml").read_text()
    listen = '{ controller = "tcp://127.0.0.1:7411", standby = "tcp://127.0.0.1:7412" }'
    text = text.replace('listen = "tcp://127.0.0.1:7411"', f"listen = {listen}").replace("controller.key", "{name}.key")
    path.write_text(text)
    for name, port in ((None, 7411), ("standby", 7412)):
        spec = read_site(path, name)
        found = bus_settings(path, spec)
        assert found.listen == f"tcp://127.0.0.1:{port}"
        assert found.key == tmp_path / f"keys/secret/{spec.name}.key"
        assert sorted(found.controllers) == ["controller", "standby"]
    with pytest.raises(InputError, match="has no address for the controller 'third'"):
        read_site(path, "third")


def test_off_goes_by_the_address_of_another_controller_where_one_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader that hangs keeps its address, and whoever says off takes that of the one that stands by."""
    monkeypatch.setattr("wattline.api.site.bus.WAIT_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        listen = f'controller = "tcp://127.0.0.1:{hangs.getsockname()[1]}", standby = "tcp://127.0.0.1:{free_port()}"'
        text = (Path(__file__).parents[3] / "examples/live/site.toml").read_text()
        text = text.replace('listen = "tcp://127.0.0.1:7411"', f"listen = {{ {listen} }}")
        (tmp_path / "site.toml").write_text(text.replace("controller.key", "{name}.key"))
        make_keys(tmp_path / "keys", "demo", [("controller", "controller"), ("controller", "standby")])
        planned: Any = SimpleNamespace(path=tmp_path / "site.toml", spec=read_site(tmp_path / "site.toml"))
        name, bus = open_any(planned, Clock())
        bus.close()
        assert name == "standby"
        path = tmp_path / "site.toml"
        path.write_text(path.read_text().replace(', standby = "', ', controller2 = "'))
        planned.spec = read_site(path)
        with pytest.raises(InputError, match="in use"):
            open_any(planned, Clock())


def test_an_address_that_a_leader_still_has_is_waited_for_and_said_once() -> None:
    """Whoever took over waits as long as it is let; what is wrong otherwise is an error at once."""
    said, tries = list[str](), list[int]()

    def opens() -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise InputError("bus tcp://127.0.0.1:7411: Address already in use")
        return "a bus"

    assert open_when_free(opens, lambda: True, said.append) == "a bus"
    assert (len(tries), len(said)) == (3, 1)
    tries.clear()
    with pytest.raises(InputError, match="in use"):
        open_when_free(opens, lambda: False, said.append)
    assert len(tries) == 1

    def wrong() -> Any:
        raise InputError("no such key")

    with pytest.raises(InputError, match="no such key"):
        open_when_free(wrong, lambda: True, said.append)


class Deaf:
    """Hears everything and does nothing."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def say(self, *words: object, **more: object) -> None:
        """Hear it."""
        self.heard.append((*words, *more.values()))

    note = say


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_publishes_the_error_that_it_would_have_had(dry_run: bool) -> None:
    """By the model, beside that of the machine as it is; whoever leads has the second alone."""
    world = World(
        cluster(4, max_w=300.0, min_cap_w=100.0),
        policies(select="easy", cap="match-target"),
        signal=(0.0,) * 60,
        bids=(BidStep(EPOCH_S, 1000.0, 200.0),),
        act=False,
    )
    seen: list[Document] = []
    log, journal = Deaf(), SimpleNamespace(log=SimpleNamespace(written_bytes=0, new_syncs=list))
    signals = Signals(SignalSettings(limit_w=9000.0), world.hand.clock)
    told: Any = SimpleNamespace(publish=seen.append)
    site = Site(
        "here", "easy", world.hand.clock, world.controller, journal, signals, world.topics, NoMetrics(), told, log
    )  # type: ignore[arg-type]
    site.dry_run = dry_run
    world.controller.on_tick = lambda tick: site._publish(tick) if tick.full else None
    for i in range(4):
        world.submit(f"j{i}", 1, 600.0, 0.0)
    world.run(1.0)
    for i in range(4):
        world.machine.release(f"j{i}", [f"n{i:03d}"])
    world.run(30.0)
    power = seen[-1].power
    assert power.error == pytest.approx(1.0)
    if dry_run:
        assert power.would_error == pytest.approx(0.0, abs=0.01)
        assert power.would_mean_error == pytest.approx(world.controller.modelled_mean_error())
    else:
        assert math.isnan(power.would_error)
        assert math.isnan(power.would_mean_error)


def test_a_bid_without_a_signal_has_no_error() -> None:
    """There is no target to hold power against."""
    world = World(cluster(4), policies(select="easy"), bids=(BidStep(EPOCH_S, 1000.0, 200.0),))
    world.run(5.0)
    assert not world.controller.errors
    assert not world.controller.modelled_errors


def test_a_dry_run_says_each_action_once() -> None:
    """Nothing comes of an action in a dry run, so control would want it again at every pass; another one is said, with
    the error by the model; this is said once a minute, too, where there is a target.
    """
    log, clock = Deaf(), Clock()
    signals = Signals(SignalSettings(limit_w=1000.0), clock)
    unused: Any = None
    led: Any = SimpleNamespace(modelled_errors=[0.125, 0.0625], modelled_mean_error=lambda: 0.09375)
    site = Site("here", "easy", clock, led, log, signals, Topics("here"), unused, None, log, dry_run=True)  # type: ignore[arg-type]
    for note in ("n1", "n1", "n2"):
        site._told("release", "17", note)
    assert [words for words in log.heard if words[0] == "would"] == [
        ("would", "release", "17", "n1", 0.0625, 0.0938),
        ("would", "release", "17", "n2", 0.0625, 0.0938),
    ]
    assert len(site.actions) == 2
    for now_s in (0.0, 1.0, 59.0, 60.0):
        site._tell_error(now_s)
    assert [words for words in log.heard if words[0] == "would-track"] == [("would-track", 0.0625, 0.0938)] * 2
    led.modelled_errors = []
    site._told("release", "18", "n1")
    site._tell_error(999.0)
    assert log.heard[-2][:4] == ("would", "release", "18", "n1")
    assert len(log.heard[-2]) == 4
