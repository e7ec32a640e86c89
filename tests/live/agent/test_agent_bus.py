"""A real agent process and a controller over ZeroMQ with keys: caps arrive, statuses come back, silence means safe."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wattline.live.bus.inbox import Inbox
from wattline.live.bus.messages import Message, Outbox
from wattline.live.bus.names import Topics
from wattline.live.bus.open import open_bus
from wattline.live.bus.settings import BusSettings
from wattline.live.clock import Clock
from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree
from wattline.live.power.server.model import PROFILES

NODE = """
site = "s"
run_dir = "run"
period = "0.2 s"
controllers = ["boss"]
{nodes}
[model]
profile = "gold-6132"
memory = "12 W"
[bus]
kind = "zeromq"
controllers = {{ boss = "tcp://127.0.0.1:{port}" }}
key = "keys/secret/{{node}}.key"
known = "keys/public.keys"
"""
ONE = '[[node]]\nname = "{0}"\npowercap = "{0}"\nsafe = "180 W"\nmin = "120 W"\nmax = "350 W"\n'
NAMES = ("n1", "n2")


def _limit_w(tree: Path) -> float:
    return sum(int((tree / f"intel-rapl:{i}/constraint_0_power_limit_uw").read_text()) for i in range(2)) / 1e6


def test_an_agent_is_led_over_keyed_wires(tmp_path: Path) -> None:
    """Two nodes of one process take caps from the controller whose key they know, tell how they are, fall to the safe
    cap within lease and period when it falls silent, and are put back by SIGTERM.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name in NAMES:
        make_tree(tmp_path / name)
    (tmp_path / "node.toml").write_text(NODE.format(port=port, nodes="".join(map(ONE.format, NAMES))))
    keys = ["keys", "keys", "--site", "s", "--controller", "boss", "--nodes", "n[1-2]", "--quiet"]
    subprocess.run([sys.executable, "-m", "wattline", *keys], cwd=tmp_path, check=True)
    clock, topics = Clock(), Topics("s")
    listen = BusSettings(
        site="s",
        listen=f"tcp://127.0.0.1:{port}",
        key=tmp_path / "keys/secret/boss.key",
        known=tmp_path / "keys/public.keys",
    )
    bus = open_bus(listen, "controller", "boss", clock)
    inbox, outbox = Inbox(topics, clock), Outbox("boss", clock)
    bus.subscribe(topics.status())
    agent = subprocess.Popen(
        [sys.executable, "-m", "wattline", "agent", "node.toml", "--quiet"], cwd=tmp_path, start_new_session=True
    )
    last: dict[str, Message] = {}
    try:
        with Plant([FakeNode(name, tmp_path / name) for name in NAMES]) as plant:

            def until(what: str, wanted: object, longest_s: float) -> float:
                """Return how long it took until the last statuses of both nodes say this."""
                began_s = time.monotonic()
                while time.monotonic() < began_s + longest_s:
                    plant.step(clock.now_s())
                    for message in inbox.take_all(bus.poll(0.02)):
                        last[message.sender] = message
                    if len(last) == 2 and all(m.body[what] == wanted for m in last.values()):
                        return time.monotonic() - began_s
                raise AssertionError(f"{what} is {[m.body[what] for m in last.values()]}, not {wanted}")

            until("mode", "safe", 20.0)
            for name in NAMES:
                bus.publish(topics.cap(name), outbox.encode("cap", {"cap_w": 300.0, "lease": 1.5, "term": 1}))
            until("cap_w", 300.0, 5.0)
            assert _limit_w(tmp_path / "n1") == pytest.approx(
                PROFILES["gold-6132"].cpu_w(300.0, 12.0), abs=10.0
            )  # the plant steps when it gets to
            assert until("mode", "safe", 5.0) < 1.5 + 0.2 + 0.5  # lease, period, a busy machine
            assert _limit_w(tmp_path / "n2") == pytest.approx(
                PROFILES["gold-6132"].cpu_w(180.0, 12.0), abs=10.0
            )  # the plant steps when it gets to
            agent.send_signal(signal.SIGTERM)
            until("mode", "free", 10.0)
            assert agent.wait(timeout=20) == 0
        assert _limit_w(tmp_path / "n1") == _limit_w(tmp_path / "n2") == 410.0
        assert inbox.counts()["forged"] == 0
    finally:
        agent.kill()
        agent.wait()
        bus.close()
