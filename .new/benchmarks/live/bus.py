"""Cases about the bus of a real machine: how late caps are, and whether ten thousand agents are served."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.live.many_agents import STATUS, TOPICS, Plan, run
from benchmarks.rows import Rows, row
from wattline.live.bus.base import Arrived, Bus
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.keys import make_keys
from wattline.live.bus.messages import Outbox
from wattline.live.bus.mosquitto import ACL, PASSWORDS, make_broker
from wattline.live.bus.mqtt import MqttBus
from wattline.live.bus.names import Role
from wattline.live.bus.zeromq import ZmqBus
from wattline.live.clock import Clock

CAP = {"cap_w": 250.0, "lease": 10.0, "term": 1}


def live_codec(quick: bool) -> Rows:
    """Statuses written, and read through the inbox: share of a core at 10,000 a second."""
    clock = Clock()
    boxes = [Outbox(f"n{k:05d}", clock) for k in range(10_000)]
    write_s, read_s = [], []
    for _ in range(2 if quick else 5):
        began_s = time.process_time()
        payloads = [box.encode("status", STATUS) for box in boxes]
        write_s.append(time.process_time() - began_s)
        arrived = [Arrived(TOPICS.status(b.name), p, b.name) for b, p in zip(boxes, payloads, strict=True)]
        inbox = Inbox(TOPICS, clock)
        began_s = time.process_time()
        assert len(inbox.take_all(arrived)) == len(boxes)
        read_s.append(time.process_time() - began_s)
    least_w, least_r = min(write_s), min(read_s)
    shown = f"read {100 * least_r:.0f} %, written {100 * least_w:.0f} % of a core"
    return [row("10,000 statuses a second", shown, "≤ 25 % each", met=max(least_w, least_r) <= 0.25, read_s=least_r)]


def live_signal_to_cap(quick: bool) -> Rows:
    """A signal comes in, every node gets a cap for it: until a node has it, for 1,000 agents over ZeroMQ."""
    told = _measured("zeromq", 1_000, 1, 6.0 if quick else 20.0, signals=True)
    return [_row("signal → cap delivered, 1,000 agents, ZeroMQ", told, "p99 ≤ 100 ms", told["caps"][99] <= 0.1)]


def live_10k_zeromq(quick: bool) -> Rows:
    """10,000 agents at 1 Hz, statuses up and caps down, over ZeroMQ with keys."""
    return _ten_thousand("zeromq", quick)


def live_10k_mqtt(quick: bool) -> Rows:
    """The same over MQTT, a real mosquitto with passwords and access list."""
    if _mosquitto() is None:
        return [row("10,000 agents, MQTT", "skipped: needs the broker mosquitto")]
    return _ten_thousand("mqtt", quick)


CASES = [live_codec, live_signal_to_cap, live_10k_zeromq, live_10k_mqtt]


def _ten_thousand(kind: str, quick: bool) -> Rows:
    agents = 2_000 if quick else 10_000
    told = _measured(kind, agents, 2, 12.0, signals=False)
    sustained = told["lost"] == 0 and told["unsent"] == 0 and told["caps_lost"] == 0 and told["statuses"][99] <= 1.0
    return [_row(f"{agents:,} agents at 1 Hz, {kind}", told, "nothing lost, p99 ≤ 1 s", sustained)]


def _row(what: str, told: dict[str, Any], goal: str, met: bool) -> dict[str, Any]:
    caps, statuses = ("/".join(f"{1e3 * told[name][q]:.0f}" for q in (50, 99, 100)) for name in ("caps", "statuses"))
    shown = (
        f"p50/p99/max of caps {caps} ms, lost {told['caps_lost']} of {told['caps_sent']}; statuses {statuses} ms, lost "
        f"{told['lost']} of {told['sent']}, not sent {told['unsent']}; cores: controller {told['cpu']:.2f}, agents "
        f"{told['agents_cpu']:.2f}; load {told['load']:.1f}"
    )
    numbers = {"caps_p99_s": told["caps"][99], "statuses_p99_s": told["statuses"][99], "lost": told["lost"]}
    return row(what, shown, goal, met=met, load=told["load"], **numbers)


def _measured(kind: str, agents: int, processes: int, seconds: float, *, signals: bool) -> dict[str, Any]:
    """Connect agents, let them talk for some seconds, and count."""
    names = [f"n{k:05d}" for k in range(agents)]
    with tempfile.TemporaryDirectory() as text, _wired(kind, Path(text), names) as (where, bus, gateway):
        spawn = multiprocessing.get_context("spawn")
        pipes, running = [], []
        for k in range(processes):
            ours, theirs = spawn.Pipe()
            plan = Plan(kind, Path(text), tuple(names[k::processes]), where, seconds, signals)
            running.append(spawn.Process(target=run, args=(plan, theirs)))
            running[-1].start()
            pipes.append(ours)
        try:
            return _led(bus, gateway, names, pipes, seconds, signals)
        finally:
            for process in running:
                process.join(30)
                if process.is_alive():
                    process.kill()


def _led(bus: Bus, gateway: Bus, names: list[str], pipes: list[Any], seconds: float, signals: bool) -> dict[str, Any]:
    clock = Clock()
    inbox, box, said = Inbox(TOPICS, clock), Outbox("controller", clock), Outbox("gateway", clock)
    for topic in (TOPICS.status(), TOPICS.signal):
        bus.subscribe(topic)
    while not all(pipe.poll() for pipe in pipes):
        bus.poll(0.05)
    for pipe in pipes:
        pipe.recv()
    quiet_s = clock.now_s() + 2.0
    while clock.now_s() < quiet_s:
        bus.poll(0.05)
    for pipe in pipes:
        pipe.send("go")
    late_s: list[float] = []
    caps_sent = 0
    began_cpu_s, began_s = time.process_time(), clock.now_s()
    next_s = began_s + 1.0
    caps = [(name, TOPICS.cap(name)) for name in names]
    left = list(pipes)
    ended: list[Any] = []
    while left:
        wait_s = min(max(next_s - clock.now_s(), 0.0), 0.05)
        asked_at_s = []
        for message in inbox.take_all(bus.poll(wait_s)):
            if message.kind == "signal":
                asked_at_s.append(message.at_s)
            elif message.kind == "status":
                late_s.append(clock.now_s() - message.at_s)
        if clock.now_s() >= next_s:
            next_s += 1.0
            if next_s < began_s + seconds:
                if signals:
                    gateway.publish(TOPICS.signal, said.encode("signal", {"y": 0.25}))
                    gateway.poll(0.0)
                else:
                    asked_at_s.append(clock.now_s())
        for at_s in asked_at_s:
            term = int(at_s * 1e6)
            caps_sent += sum(
                bus.publish(topic, box.encode("cap", CAP | {"term": term}), keep=True) for _, topic in caps
            )
        for pipe in [p for p in left if p.poll()]:
            ended.append(pipe.recv())
            left.remove(pipe)
    caps_late_s = sorted(late for told in ended for late in told[2])
    sent = sum(told[0] for told in ended)
    return {
        "caps": _quantiles(caps_late_s),
        "statuses": _quantiles(sorted(late_s)),
        "sent": sent,
        "lost": sent - len(late_s),
        "unsent": sum(told[1] for told in ended),
        "caps_sent": caps_sent,
        "caps_lost": caps_sent - len(caps_late_s),
        "cpu": (time.process_time() - began_cpu_s) / (clock.now_s() - began_s),
        "agents_cpu": sum(told[3] for told in ended),
        "load": os.getloadavg()[0],
    }


def _quantiles(values: list[float]) -> dict[int, float]:
    return {
        q: values[min(int(len(values) * q / 100), len(values) - 1)] if values else float("inf") for q in (50, 99, 100)
    }


@contextmanager
def _wired(kind: str, folder: Path, names: list[str]) -> Iterator[tuple[str, Bus, Bus]]:
    """Make keys; open the controller's bus and a gateway's."""
    wanted: list[tuple[Role, str]] = [("controller", "controller"), ("gateway", "gateway")]
    wanted += [("agent", name) for name in names]
    if kind == "mqtt":
        with _brokered(folder, wanted) as port:
            opened: list[Any] = []
            for role, name in wanted[:2]:
                password = folder / "secret" / f"{name}.password"
                opened.append(MqttBus(role, name, TOPICS, host="127.0.0.1", port=port, password=password))
            yield str(port), opened[0], opened[1]
            for bus in opened:
                bus.close()
        return
    make_keys(folder, "bench", wanted)

    def files(name: str) -> dict[str, Any]:
        return {"key": folder / "secret" / f"{name}.key", "known": folder / "public.keys"}

    controller = ZmqBus("controller", "controller", TOPICS, listen="tcp://127.0.0.1:*", **files("controller"))
    gateway = ZmqBus("gateway", "gateway", TOPICS, controllers={"controller": controller.endpoint}, **files("gateway"))
    yield controller.endpoint, controller, gateway
    gateway.close()
    controller.close()


@contextmanager
def _brokered(folder: Path, wanted: list[tuple[Role, str]]) -> Iterator[int]:
    import socket

    make_broker(folder, "bench", wanted)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    config = folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {folder / PASSWORDS}\n"
        f"acl_file {folder / ACL}\nmax_queued_messages 100000\nuser root\n"
    )
    broker = subprocess.Popen([str(_mosquitto()), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield port
    finally:
        broker.terminate()
        broker.wait(10)


def _wait_for(port: int) -> None:
    """Wait until the broker listens: it reads ten thousand passwords first."""
    import socket

    end_s = time.monotonic() + 60.0
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.1)
        else:
            return


def _mosquitto() -> str | None:
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
