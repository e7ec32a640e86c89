"""Many emulated agents in one process: each has its own connection and key, sends a status a second and hears caps.

What is measured is the controller and the wire, not agents, each of which has a node of its own to run on: ten thousand
of them on the two cores of the controller would measure nothing but themselves. So these speak the wire's own language
(MQTT's packets, frames of ZeroMQ with CURVE) and do no more than an agent must: a status with a number and a time, a
cap taken and its time looked at. What a real agent costs is measured by ``live.agent``.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from wattline.live.bus.keys import load_known, load_pair
from wattline.live.bus.names import Topics

TOPICS = Topics("bench")
STATUS = {
    "w": 312.5, "age": 0.1, "cpu_w": 200.25, "mem_w": 31.5, "cap_w": 350.0, "limit_w": 220.0, "lease": 5.5,
    "mode": "led", "term": 3, "faults": [], "safe_w": 200.0, "min_w": 100.0, "max_w": 400.0,
}  # fmt: skip

_AT = re.compile(rb'"at":([0-9.]+)')
_TERM = re.compile(rb'"term":([0-9]+)')
_KEEPALIVE_S = 60


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


class _Wire(Protocol):
    """One agent's connection."""

    def fileno(self) -> int: ...

    def send(self, payload: bytes) -> bool: ...

    def take(self) -> Iterator[bytes]:
        """Yield what has come, without waiting."""


def run(plan: Plan, pipe: Connection) -> None:
    """Connect all, say so, wait for the word, send and hear for some seconds, and tell what came."""
    zeromq = plan.kind == "zeromq"
    wires: list[_Wire] = list(_zeromq(plan) if zeromq else _mqtt(plan))
    writers = [_status(name) for name in plan.names]
    phase_s = [zlib.crc32(name.encode()) % 10_000 / 10_000 for name in plan.names]
    order = sorted(range(len(wires)), key=phase_s.__getitem__)
    waiting = select.epoll()
    owner = {wire.fileno(): wire for wire in wires}
    for number in owner:
        waiting.register(number, select.EPOLLIN | (select.EPOLLET if zeromq else 0))
    for wire, status in zip(wires, writers, strict=True):
        while not wire.send(status(0)):
            time.sleep(0.01)
    pipe.send(len(wires))
    pipe.recv()
    for wire in wires:
        for _ in wire.take():
            pass
    late_s: list[float] = []
    sent = unsent = k = 0
    turn = 1
    began_cpu_s, base_s = time.process_time(), time.time()
    end_s = base_s + plan.seconds

    def hear(wire: _Wire) -> None:
        for payload in wire.take():
            found = (_TERM if plan.signals else _AT).search(payload)
            if found is not None and b'"kind":"cap"' in payload:
                late_s.append(time.time() - float(found[1]) * (1e-6 if plan.signals else 1.0))

    while (now_s := time.time()) < end_s + 2.0:
        while base_s + phase_s[order[k]] <= now_s < end_s:
            which = order[k]
            if wires[which].send(writers[which](turn)):
                sent += 1
            else:
                unsent += 1
            if zeromq:  # a socket's file tells of changes only, and sending may swallow one
                hear(wires[which])
            k += 1
            if k == len(order):
                k, base_s, turn = 0, base_s + 1.0, turn + 1
        wait_s = min(max(base_s + phase_s[order[k]] - time.time(), 0.001), 0.1)
        for number, _ in waiting.poll(wait_s):
            hear(owner[number])
    pipe.send((sent, unsent, late_s, (time.process_time() - began_cpu_s) / (plan.seconds + 2.0)))
    pipe.close()
    os._exit(0)  # thousands of goodbyes would take longer than the measurement


def _status(name: str) -> Any:
    """Return a writer of this agent's statuses, each with its number and time."""
    head = {"v": 1, "kind": "status", "from": name, "boot": f"{zlib.crc32(name.encode()):016x}"}
    before, after = json.dumps(head)[:-1], json.dumps(STATUS)[1:]

    def status(number: int) -> bytes:
        return f'{before},"n":{number},"at":{time.time():.6f},{after}'.encode()

    return status


class _Dealer:
    """An agent on ZeroMQ: a DEALER socket with CURVE that says hello, then sends and takes frames (``zmq_hub``)."""

    def __init__(self, context: Any, plan: Plan, name: str, server_key: bytes) -> None:
        import zmq

        self._again, self._nowait = zmq.Again, zmq.NOBLOCK
        self._topic = f"p{TOPICS.status(name)}\n".encode()
        pair = load_pair(plan.folder / "secret" / f"{name}.key", name)
        self._socket = context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.IMMEDIATE, 1)
        self._socket.setsockopt(zmq.SNDHWM, 64)
        self._socket.curve_publickey, self._socket.curve_secretkey = pair.public, pair.secret
        self._socket.curve_serverkey = server_key
        self._socket.connect(plan.where)
        self._hello = f"hagent {name}\n{TOPICS.cap(name)}".encode()

    def hello(self) -> None:
        """Wait for the connection and say who is there."""
        self._socket.send(self._hello)

    def fileno(self) -> int:
        """Return the file that changes when something has come."""
        return int(self._socket.fileno())

    def send(self, payload: bytes) -> bool:
        """Send a status, or say that it did not go."""
        try:
            self._socket.send(self._topic + payload, self._nowait)
        except self._again:
            return False
        return True

    def take(self) -> Iterator[bytes]:
        """Yield what has come."""
        while True:
            try:
                data = self._socket.recv(self._nowait)
            except self._again:
                return
            if data == b"?":
                self._socket.send(self._hello)
            else:
                yield data


def _zeromq(plan: Plan) -> list[_Dealer]:
    import zmq

    context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 60_000)
    server_key = load_known(plan.folder / "public.keys").keys["controller"]
    found = []
    for name in plan.names:
        found.append(_Dealer(context, plan, name, server_key))
        if len(found) % 50 == 0:  # handshakes cost the controller a millisecond each
            found[-1].hello()
    for dealer in found:
        dealer.hello()
    return found


class _Client:
    """An agent on MQTT 3.1.1: connects with its password, subscribes to its cap, publishes with QoS 0."""

    def __init__(self, plan: Plan, name: str) -> None:
        user, _, password = (plan.folder / "secret" / f"{name}.password").read_text().strip().partition(":")
        self._socket = socket.create_connection(("127.0.0.1", int(plan.where)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        flags = 0xC2  # user, password, clean session
        head = _text("MQTT") + struct.pack(">BBH", 4, flags, _KEEPALIVE_S)
        self._socket.sendall(_packet(0x10, head + _text(f"bench-{name}") + _text(user) + _text(password)))
        self._socket.sendall(_packet(0x82, struct.pack(">H", 1) + _text(TOPICS.cap(name)) + b"\0"))
        self._topic = _text(TOPICS.status(name))
        self._rest = b""

    def accepted(self) -> None:
        """Wait for the broker's word that connection and subscription hold."""
        while len(self._rest) < 9:
            part = self._socket.recv(64)
            if not part:
                raise ConnectionError("the broker refused an agent")
            self._rest += part
        if self._rest[:4] != b"\x20\x02\x00\x00" or self._rest[4:9] != b"\x90\x03\x00\x01\x00":
            raise ConnectionError(f"the broker refused an agent: {self._rest[:9]!r}")
        self._rest = self._rest[9:]
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """Return the connection's file."""
        return self._socket.fileno()

    def send(self, payload: bytes) -> bool:
        """Publish a status; False where the wire is full, so that nothing of it went."""
        data = _packet(0x30, self._topic + payload)
        try:
            went = self._socket.send(data)
        except BlockingIOError:
            return False
        while went < len(data):  # never half a packet
            select.select([], [self._socket], [])
            went += self._socket.send(data[went:])
        return True

    def take(self) -> Iterator[bytes]:
        """Yield the messages that have come."""
        try:
            part = self._socket.recv(65536)
        except BlockingIOError:
            return
        if not part:
            raise ConnectionError("the broker ended a connection")
        self._rest += part
        while (packet := _first(self._rest)) is not None:
            begin, end = packet
            if self._rest[0] & 0xF0 == 0x30:
                length = self._rest[begin] << 8 | self._rest[begin + 1]
                yield self._rest[begin + 2 + length : end]
            self._rest = self._rest[end:]


def _mqtt(plan: Plan) -> list[_Client]:
    found: list[_Client] = []
    for name in plan.names:
        found.append(_Client(plan, name))
        if len(found) % 50 == 0:
            for client in found[-50:]:
                client.accepted()
    for client in found[len(found) // 50 * 50 :]:
        client.accepted()
    return found


def _text(word: str) -> bytes:
    data = word.encode()
    return struct.pack(">H", len(data)) + data


def _packet(head: int, body: bytes) -> bytes:
    """Return a packet of MQTT: its kind, its length seven bits at a time, its body."""
    length, sizes = len(body), bytearray()
    while True:
        length, low = divmod(length, 128)
        sizes.append(low | (128 if length else 0))
        if not length:
            return bytes([head]) + bytes(sizes) + body


def _first(data: bytes) -> tuple[int, int] | None:
    """Return where the body of the first packet begins and ends; None where it is not all there."""
    length = shift = 0
    for at in range(1, min(len(data), 5)):
        length |= (data[at] & 127) << shift
        shift += 7
        if data[at] < 128:
            return (at + 1, at + 1 + length) if len(data) >= at + 1 + length else None
    return None
