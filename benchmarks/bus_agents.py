"""Many emulated agents in one process: each with its own connection and key sends a status a second and hears caps."""

from __future__ import annotations

import os
import select
import time
import zlib
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from wattline.live.bus.keys import load_known, load_pair
from wattline.live.bus.messages import Outbox, decode
from wattline.live.bus.mqtt import MqttBus
from wattline.live.bus.names import Topics
from wattline.live.bus.zeromq import ZmqBus
from wattline.live.clock import Clock

TOPICS = Topics("bench")
STATUS = {
    "w": 312.5, "age": 0.1, "cpu_w": 200.25, "mem_w": 31.5, "cap_w": 350.0, "limit_w": 220.0, "lease": 5.5,
    "mode": "led", "term": 3, "faults": [], "safe_w": 200.0, "min_w": 100.0, "max_w": 400.0,
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What the agents of a process do."""

    kind: str
    folder: Path
    names: tuple[str, ...]
    where: str
    """ZeroMQ's address of the controller, or the broker's port."""
    seconds: float
    signals: bool
    """Whether caps carry the time of the signal that they answer, in microseconds, as their term."""


def run(plan: Plan, pipe: Connection) -> None:
    """Connect all, say so, wait for the word, send and hear for some seconds, and tell what came."""
    clock = Clock()
    buses = _zeromq(plan) if plan.kind == "zeromq" else _mqtt(plan)
    boxes = [Outbox(name, clock) for name in plan.names]
    topics = [TOPICS.status(name) for name in plan.names]
    phase_s = [zlib.crc32(name.encode()) % 10_000 / 10_000 for name in plan.names]
    order = sorted(range(len(buses)), key=phase_s.__getitem__)
    waiting = select.epoll()
    owner = {bus.fileno(): k for k, bus in enumerate(buses)}
    edge = select.EPOLLET if plan.kind == "zeromq" else 0
    for number in owner:
        waiting.register(number, select.EPOLLIN | edge)
    for bus, topic, box in zip(buses, topics, boxes, strict=True):
        while not bus.publish(topic, box.encode("status", STATUS)):
            bus.poll(0.01)
        bus.poll(0.0)
    pipe.send(len(buses))
    pipe.recv()
    for bus in buses:
        bus.poll(0.0)
    late_s: list[float] = []
    sent = unsent = k = 0
    began_cpu_s, base_s = time.process_time(), clock.now_s()
    end_s = base_s + plan.seconds

    def hear(which: int) -> None:
        for arrived in buses[which].poll(0.0):
            message = decode(arrived.payload)
            if message.kind == "cap":
                from_s = message.body["term"] / 1e6 if plan.signals else message.at_s
                late_s.append(clock.now_s() - from_s)

    while (now_s := clock.now_s()) < end_s + 2.0:
        while base_s + phase_s[order[k]] <= now_s < end_s:
            which = order[k]
            if buses[which].publish(topics[which], boxes[which].encode("status", STATUS)):
                sent += 1
            else:
                unsent += 1
            hear(which)
            k += 1
            if k == len(order):
                k, base_s = 0, base_s + 1.0
        wait_s = min(max(base_s + phase_s[order[k]] - clock.now_s(), 0.001), 0.1)
        for number, _ in waiting.poll(wait_s):
            hear(owner[number])
    pipe.send((sent, unsent, late_s, (time.process_time() - began_cpu_s) / (plan.seconds + 2.0)))
    pipe.close()
    os._exit(0)  # thousands of goodbyes would take longer than the measurement


def _zeromq(plan: Plan) -> list[Any]:
    import zmq

    context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 60_000)
    known = load_known(plan.folder / "public.keys")
    buses = []
    for name in plan.names:
        pair = load_pair(plan.folder / "secret" / f"{name}.key", name)
        where = {"controller": plan.where}
        buses.append(
            ZmqBus("agent", name, TOPICS, controllers=where, key=pair, known=known, context=context, watch=False)
        )
        buses[-1].subscribe(TOPICS.cap(name))
        if len(buses) % 50 == 0:  # handshakes cost the controller a millisecond each
            while not buses[-1].publish(TOPICS.status(name), b"{}"):
                buses[-1].poll(0.01)
    return buses


def _mqtt(plan: Plan) -> list[Any]:
    buses = []
    for name in plan.names:
        password = plan.folder / "secret" / f"{name}.password"
        bus = MqttBus("agent", name, TOPICS, host="127.0.0.1", port=int(plan.where), password=password)
        bus.subscribe(TOPICS.cap(name))
        buses.append(bus)
        if len(buses) % 20 == 0:
            for each in buses[-20:]:
                while not each.counts()["connected"]:
                    each.poll(0.01)
    for bus in buses:
        while not bus.counts()["connected"]:
            bus.poll(0.01)
    return buses
