"""Over MQTT the broker's access list keeps each to its own topics."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bus_parts import MOSQUITTO, STATUS, TOPICS, Time, broker, free_port, heard, sent, until

from wattline.errors import InputError
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.messages import Outbox
from wattline.live.bus.mosquitto import make_broker
from wattline.live.bus.mqtt import MqttBus
from wattline.live.bus.names import Role
from wattline.live.clock import Clock
from wattline.live.controller.controller import Controller
from wattline.live.controller.seen.meters import Meters
from wattline.live.power.fakes.powercap import make_tree

pytestmark = pytest.mark.skipif(MOSQUITTO is None, reason="needs the broker mosquitto (Debian package mosquitto)")
ROLES: dict[str, Role] = {"controller": "controller", "gateway": "gateway", "operator": "operator"}
Open = Callable[..., MqttBus]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Passwords and access list of a small site."""
    wanted = [*((role, name) for name, role in ROLES.items()), ("agent", "n001"), ("agent", "n002")]
    make_broker(tmp_path, "demo", wanted)  # type: ignore[arg-type]
    return tmp_path


@pytest.fixture
def port() -> int:
    """Where the broker listens."""
    return free_port()


@pytest.fixture
def opened(folder: Path, port: int) -> Iterator[Open]:
    """A way to open buses that are closed at the end."""
    buses: list[MqttBus] = []

    def open_(name: str, **more: object) -> MqttBus:
        files = {"password": folder / "secret" / f"{name}.password"}
        given = {"host": "127.0.0.1", "port": port, **files, **more}
        buses.append(MqttBus(ROLES.get(name, "agent"), name, TOPICS, **given))  # type: ignore[arg-type]
        return buses[-1]

    yield open_
    for bus in buses:
        bus.close()
        bus.close()


def test_each_is_kept_to_its_topics(opened: Open, folder: Path, port: int) -> None:
    """A node hears its own cap and ``off``, and can write neither caps nor another's status."""
    with broker(folder, port):
        controller, agent, other = opened("controller"), opened("n001"), opened("n002")
        controller.subscribe(TOPICS.root)
        for bus in (agent, other):
            bus.subscribe(TOPICS.cap("n001"))
            bus.subscribe(TOPICS.off)
            heard(controller, TOPICS.off, b"first", bus)
        for bus in (controller, agent, other):
            bus.poll(0.1)
        for topic in (TOPICS.cap("n001"), TOPICS.status("n001"), TOPICS.off, TOPICS.signal):
            sent(other, topic, b"forged")
        sent(agent, TOPICS.status("n001"), b"s")
        sent(opened("gateway"), TOPICS.signal, b"y")
        found = until(controller, lambda found: len(found) >= 2)
        assert {(m.topic, m.payload) for m in found} == {(TOPICS.status("n001"), b"s"), (TOPICS.signal, b"y")}
        controller.publish(TOPICS.cap("n001"), b"c")
        sent(opened("operator"), TOPICS.off, b"off")
        assert [m.payload for m in until(agent, lambda found: len(found) == 2)] == [b"c", b"off"]
        assert [m.payload for m in until(other, bool)] == [b"off"]


def test_kept_caps_and_the_last_will(opened: Open, folder: Path, port: int) -> None:
    """Who comes late gets its cap; a connection that dies is told by the broker, one that is closed is not."""
    moved = Time()
    inbox = Inbox(TOPICS, moved.clock)
    with broker(folder, port):
        controller = opened("controller")
        controller.subscribe(TOPICS.status())
        controller.subscribe(TOPICS.gone())
        sent(controller, TOPICS.cap("n001"), b"c", keep=True)
        box = Outbox("n001", moved.clock)
        agent = opened("n001", will=box.will(TOPICS))
        agent.subscribe(TOPICS.cap("n001"))
        assert [m.payload for m in until(agent, bool)] == [b"c"]
        sent(agent, TOPICS.status("n001"), box.encode("status", STATUS))
        assert [m.kind for m in inbox.take_all(until(controller, bool))] == ["status"]
        agent._client.socket().close()  # as if its machine had died
        assert [m.kind for m in inbox.take_all(until(controller, bool))] == ["gone"]
        other = opened("n002", will=Outbox("n002", moved.clock).will(TOPICS))
        sent(other, TOPICS.status("n002"), b"s")
        other.close()
        assert [m.payload for m in until(controller, bool)] == [b"s"]
        assert controller.poll(0.2) == []


def test_a_dead_agent_is_seen_at_once(opened: Open, folder: Path, port: int) -> None:
    """An agent's process that is killed (-9) is silent to the controller within a second, long before it would be
    missed; the next agent of the node is heard again, and one that ends in an orderly way is not called dead.
    """
    make_tree(folder / "tree", package_max_w=250.0)
    (folder / "node.toml").write_text(
        'site = "demo"\nrun_dir = "run"\ncontrollers = ["controller"]\n\n[[node]]\nname = "n001"\npowercap = "tree"\n'
        'safe = 200\nmin = 100\nmax = 400\n\n[model]\nprofile = "gold-6132"\nmemory = 10\n\n'
        f'[bus]\nkind = "mqtt"\nhost = "127.0.0.1"\nport = {port}\npassword = "secret/{{node}}.password"\n'
    )
    meters, clock = Meters(["n001"], np.full(1, 400.0), stale_s=60.0), Clock()
    leads: Any = SimpleNamespace(inbox=Inbox(TOPICS, clock), meters=meters, on_signal=None)

    def within(seconds: float, *, silent: bool) -> bool:
        end_s = time.monotonic() + seconds
        while meters.silent(clock.now_s())[0] != silent and time.monotonic() < end_s:
            Controller._listen(leads, clock.now_s())
            time.sleep(0.02)
        return bool(meters.silent(clock.now_s())[0]) == silent

    with broker(folder, port):
        leads.bus = opened("controller")
        leads.bus.subscribe(TOPICS.root)
        for ends in (signal.SIGKILL, signal.SIGTERM):
            agent = subprocess.Popen(
                [sys.executable, "-m", "wattline", "agent", str(folder / "node.toml")], stderr=subprocess.DEVNULL
            )
            try:
                assert within(30.0, silent=False)
                agent.send_signal(ends)
                agent.wait(20)
                assert within(1.0, silent=True) == (ends == signal.SIGKILL)
            finally:
                agent.kill()
    assert meters.faults["agent-gone"] == 1


def test_a_broker_that_goes_and_comes(opened: Open, folder: Path, port: int) -> None:
    """Without a broker messages are dropped at once and counted; with one again they go on, topics and all."""
    agent, controller = opened("n001"), opened("controller")
    controller.subscribe(TOPICS.status())
    for _ in range(2):
        began_s = time.monotonic()
        assert not agent.publish(TOPICS.status("n001"), b"s")
        assert time.monotonic() - began_s < 0.5
        with broker(folder, port):
            heard(agent, TOPICS.status("n001"), b"s", controller)
        while agent.publish(TOPICS.status("n001"), b"s"):
            agent.poll(0.02)
    assert agent.counts()["lost"] == 2
    assert agent.counts()["unsent"] >= 2


def test_wrong_passwords_are_refused(opened: Open, folder: Path, port: int, tmp_path: Path) -> None:
    """A wrong password gets nobody in; one that others can read is not even tried."""
    wrong = tmp_path / "wrong"
    wrong.write_text("n001:guess\n")
    with pytest.raises(InputError, match="others can read it"):
        opened("n001", password=wrong)
    wrong.chmod(0o600)
    with pytest.raises(InputError, match="is the password of n001, not of n002"):
        opened("n002", password=wrong)
    with broker(folder, port):
        agent = opened("n001", password=wrong)
        deadline_s = time.monotonic() + 8.0
        while not agent.counts()["refused"] and time.monotonic() < deadline_s:
            assert not agent.publish(TOPICS.status("n001"), b"s")
            agent.poll(0.02)
        assert agent.counts()["refused"] >= 1


def test_tls(opened: Open, folder: Path, port: int, tmp_path: Path) -> None:
    """With the site's own authority the broker is trusted; with another, nothing is said to it."""
    for name in ("site", "other"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", f"{tmp_path}/{name}.key", "-out", f"{tmp_path}/{name}.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
    with broker(folder, port, f"certfile {tmp_path}/site.pem\nkeyfile {tmp_path}/site.key\n"):
        agent, misled = (
            opened("n001", authority=tmp_path / "site.pem"),
            opened("n002", authority=tmp_path / "other.pem"),
        )
        controller = opened("controller", authority=tmp_path / "site.pem")
        controller.subscribe(TOPICS.status())
        heard(agent, TOPICS.status("n001"), b"first", controller)
        controller.poll(0.1)
        for k in range(50):
            sent(agent, TOPICS.status("n001"), b"%d" % k)
        assert len(until(controller, lambda found: len(found) >= 50)) == 50
        deadline_s = time.monotonic() + 8.0
        while not misled.counts()["unreachable"] and time.monotonic() < deadline_s:
            assert not misled.publish(TOPICS.status("n002"), b"s")
            misled.poll(0.02)
        assert misled.counts()["unreachable"] >= 1
    with pytest.raises(InputError, match="certificate authority"):
        opened("n001", authority=tmp_path / "site.key")
