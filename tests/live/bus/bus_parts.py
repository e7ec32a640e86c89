"""What tests of the bus share: a clock that stands still, a status, keys of a small site, a broker of their own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wattline.live.bus.base import Arrived, Bus
from wattline.live.bus.mosquitto import ACL, PASSWORDS
from wattline.live.bus.names import Topics
from wattline.live.clock import Clock

TOPICS = Topics("demo")
STATUS: dict[str, Any] = {
    "w": 312.5, "age": 0.1, "cpu_w": 200.25, "mem_w": None, "cap_w": 350, "limit_w": 220.0, "lease": 5.5, "mode": "led",
    "term": 3, "faults": ["sensor-stuck"], "safe_w": 200.0, "min_w": 100.0, "max_w": 400.0,
}  # fmt: skip
CAP = {"cap_w": 200.0, "lease": 10.0, "term": 1}
MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")


class Time:
    """A clock that is moved by hand."""

    def __init__(self, now_s: float = 1_731_750_000.0) -> None:
        self.s = now_s
        self.clock = Clock(wall=lambda: self.s, monotonic=lambda: self.s, rest=lambda _: None)


def until(bus: Bus, enough: Callable[[list[Arrived]], bool], within_s: float = 8.0) -> list[Arrived]:
    """Poll until enough has come in; fail when it does not."""
    found: list[Arrived] = []
    end_s = time.monotonic() + within_s
    while not enough(found):
        assert time.monotonic() < end_s, f"only {found} came in; {bus.counts()}"
        found += bus.poll(0.02)
    return found


def sent(bus: Bus, topic: str, payload: bytes, *, keep: bool = False, within_s: float = 8.0) -> None:
    """Publish as soon as it can be."""
    end_s = time.monotonic() + within_s
    while not bus.publish(topic, payload, keep=keep):
        assert time.monotonic() < end_s, f"cannot be sent; {bus.counts()}"
        bus.poll(0.02)


def heard(sender: Bus, topic: str, payload: bytes, reader: Bus, within_s: float = 8.0) -> None:
    """Publish until somebody has heard it: it takes a moment to be connected and to have asked for a topic."""
    end_s = time.monotonic() + within_s
    while not any((m.topic, m.payload) == (topic, payload) for m in reader.poll(0.02)):
        assert time.monotonic() < end_s, f"is not heard; {sender.counts()} {reader.counts()}"
        sender.publish(topic, payload)
        sender.poll(0.02)


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def broker(folder: Path, port: int, more: str = "") -> Iterator[None]:
    """Run a broker on the loopback with the passwords and the access list of a folder."""
    config = folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {folder / PASSWORDS}\n"
        f"acl_file {folder / ACL}\nuser root\n{more}"
    )
    running = subprocess.Popen([str(MOSQUITTO), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield
    finally:
        running.terminate()
        running.wait(10)
