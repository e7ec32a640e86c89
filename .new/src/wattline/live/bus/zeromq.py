"""The bus over ZeroMQ, without a server: controllers listen, all others connect to each of them, always with keys."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.bus.base import Arrived
from wattline.live.bus.keys import Known, Pair, load_known, load_pair, need_zmq
from wattline.live.bus.messages import LARGEST
from wattline.live.bus.names import Role, Topics, checked_name
from wattline.live.bus.zmq_door import Door
from wattline.live.bus.zmq_hub import LARGEST_FRAME, WAITING, ZmqHub

SILENT_S = 2.0
"""Whoever has sent nothing for so long says hello again: the other side may have begun anew."""
_HEARTBEAT_MS, _DEAD_MS = 10_000, 30_000  # statuses come every second: more would only load the controller
_EARLIEST_S, _LATEST_S = 0.5, 30.0
_COUNTS = (
    "sent",
    "received",
    "unsent",
    "unheard",
    "full",
    "forbidden",
    "forged",
    "malformed",
    "oversized",
    "unnamed",
    "unkept",
    "refused",
    "connected",
    "lost",
)


class _Link:
    """A wire to one controller, whose public key is given: nobody else can answer for it."""

    def __init__(
        self,
        context: Any,
        endpoint: str,
        hello: str,
        pair: Pair | None,
        server_key: bytes,
        counts: dict[str, int],
        *,
        watch: bool,
    ) -> None:
        zmq = self._zmq = need_zmq()
        self.socket = context.socket(zmq.DEALER)
        socket = self.socket
        socket.linger = 100
        socket.setsockopt(zmq.IMMEDIATE, 1)  # nothing waits for a controller that is not there
        socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_FRAME)
        socket.setsockopt(zmq.SNDHWM, WAITING)
        socket.setsockopt(zmq.RCVHWM, 16 * WAITING)
        socket.setsockopt(zmq.RECONNECT_IVL, 100)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 5_000)
        socket.setsockopt(zmq.HEARTBEAT_IVL, _HEARTBEAT_MS)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, _DEAD_MS)
        socket.setsockopt(zmq.HEARTBEAT_TTL, _DEAD_MS)
        socket.setsockopt(zmq.IPV6, int("[" in endpoint))
        if pair is not None:
            try:
                socket.curve_publickey, socket.curve_secretkey, socket.curve_serverkey = (
                    pair.public,
                    pair.secret,
                    server_key,
                )
            except zmq.ZMQError:
                raise InputError(
                    f"{endpoint}: the controller's public key is none; make keys with: wattline keys"
                ) from None
        self.monitor = _monitor(socket) if watch else None
        self._hello, self.prefixes = hello, list[str]()
        self._greeted, self._sent_s = False, time.monotonic()
        self._endpoint, self._counts = endpoint, counts
        self._renew_s, self._wait_s = time.monotonic() + _LATEST_S, _EARLIEST_S
        socket.connect(endpoint)

    def send(self, data: bytes) -> bool:
        """Send, or drop at once."""
        try:
            self.socket.send(data, self._zmq.NOBLOCK)
        except self._zmq.Again:
            self._renew()
            return False
        self._sent_s = time.monotonic()
        self._renew_s, self._wait_s = self._sent_s + _LATEST_S, _EARLIEST_S
        return True

    def watch(self) -> None:
        """Count what has become of the connection. ZeroMQ does not try again when it was refused, so we do."""
        zmq = self._zmq
        from zmq.utils.monitor import recv_monitor_message

        while self.monitor is not None and self.monitor.getsockopt(zmq.EVENTS) & zmq.POLLIN:
            event = recv_monitor_message(self.monitor, zmq.NOBLOCK)["event"]
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._counts["connected"] += 1
            elif event == zmq.EVENT_DISCONNECTED:
                self._counts["lost"] += 1
            else:
                self._counts["refused"] += 1
                self._renew_s = min(self._renew_s, time.monotonic() + self._wait_s)

    def _renew(self) -> None:
        """Connect anew where ZeroMQ has given up: soon after a refusal, later and later if it is repeated."""
        self.watch()
        now_s = time.monotonic()
        if now_s < self._renew_s:
            return
        self._wait_s = min(2.0 * self._wait_s, _LATEST_S)
        self._renew_s = now_s + _LATEST_S
        with contextlib.suppress(self._zmq.ZMQError):  # it may be gone already
            self.socket.disconnect(self._endpoint)
        self.socket.connect(self._endpoint)

    def greet(self) -> None:
        """Say who is there and what is asked for, where the controller may not know."""
        if not self._greeted or time.monotonic() > self._sent_s + SILENT_S:
            self._greeted = self.send("\n".join((f"h{self._hello}", *self.prefixes)).encode())

    def ask(self, prefix: str) -> None:
        """Ask for topics."""
        if prefix not in self.prefixes:
            self.prefixes.append(prefix)
            self._greeted = False

    def receive(self, found: list[Arrived], counts: dict[str, int]) -> None:
        """Take in what has come."""
        zmq, socket = self._zmq, self.socket
        while True:
            try:
                data = socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            if data == b"?":
                self._greeted = False
                self.greet()
                continue
            lines = data.split(b"\n", 2)
            if data[:1] != b"p" or len(lines) != 3:
                counts["malformed"] += 1
            elif len(lines[2]) > LARGEST:
                counts["oversized"] += 1
            else:
                topic, sender = lines[0][1:].decode("ascii", "replace"), lines[1].decode("ascii", "replace")
                found.append(Arrived(topic, lines[2], sender))

    def close(self) -> None:
        """Let go of the socket."""
        if self.monitor is not None:
            self.socket.disable_monitor()
            self.monitor.close()
        self.socket.close()


class ZmqBus:
    """Somebody's end of the wires; for one thread.

    Parameters
    ----------
    role, name, topics
        Who this is.
    listen
        Where a controller waits for the others, like ``tcp://127.0.0.1:7411``.
    controllers
        Names of controllers and where they listen; whatever is sent goes to all of them. A controller that does not
        listen hears through them what the one that leads hears.
    key, known
        Files of our own keys and of everybody's public ones, or what was read from them (a controller reads the latter
        again when it changes, so it needs the file). Both None: no keys at all, for benchmarks.
    context
        ZeroMQ's context, shared by many in one process.
    watch
        Whether connections to controllers that were made, refused and lost are counted.
    """

    def __init__(
        self,
        role: Role,
        name: str,
        topics: Topics,
        *,
        listen: str | None = None,
        controllers: Mapping[str, str] | None = None,
        key: Path | Pair | None = None,
        known: Path | Known | None = None,
        context: Any = None,
        watch: bool = True,
    ) -> None:
        zmq = need_zmq()
        self.role, self.name, self.topics = role, checked_name(name), topics
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._prefixes: list[str] = []
        pair = load_pair(key, name) if isinstance(key, Path) else key
        keys = load_known(known) if isinstance(known, Path) else known
        if (pair is None) != (keys is None):
            raise InputError("bus: a secret key and the public keys belong together; give both files")
        if keys is not None and keys.site != topics.site:
            raise InputError(f"{_at(known)}: holds the keys of site {keys.site!r}, not of {topics.site!r}")
        if keys is not None and pair is not None and (keys.keys.get(name), keys.roles.get(name)) != (pair.public, role):
            raise InputError(f"{_at(known)}: {name} is not there as {role} with this key; copy the newest file here")
        servers = {other: at for other, at in (controllers or {}).items() if other != name or listen is None}
        for other in servers:
            if keys is not None and keys.roles.get(other) != "controller":
                raise InputError(f"{_at(known)}: has no controller {other!r}; make its keys with: wattline keys")
        self._own_context = context is None
        self._context = zmq.Context() if context is None else context
        self._door: Door | None = None
        self._hub: ZmqHub | None = None
        self._links: list[_Link] = []
        self._closed = False
        try:
            if listen is not None:
                self._listen(listen, known, pair)
            for other, at in servers.items():
                server = keys.keys[other] if keys is not None else b""
                self._links.append(_Link(self._context, at, f"{role} {name}", pair, server, self._counts, watch=watch))
        except BaseException as problem:
            self.close()
            if isinstance(problem, zmq.ZMQError):
                raise InputError(f"bus {listen or servers}: {problem.strerror}") from None
            raise
        self._poller = zmq.Poller()
        for socket in [*([self._hub.socket] if self._hub else []), *(link.socket for link in self._links)]:
            self._poller.register(socket, zmq.POLLIN)

    @property
    def endpoint(self) -> str:
        """Where this listens; empty if it does not."""
        return self._hub.endpoint if self._hub is not None else ""

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:
        """Send a message to all who asked for its topic; return False when it was dropped.

        A controller sends to those connected to it; one who is not there is counted (``unheard``). Others send to each
        controller; it is enough if one of them is reached.
        """
        if len(payload) > LARGEST:
            self._counts["oversized"] += 1
            return False
        went = self._hub.publish(topic, payload, keep=keep) if self._hub is not None else False
        data = f"{'k' if keep else 'p'}{topic}\n".encode() + payload
        for link in self._links:
            link.greet()
            if link.send(data):
                went = True
            else:
                self._counts["unsent"] += 1
        self._counts["sent"] += went
        return went

    def subscribe(self, prefix: str) -> None:
        """Ask for all topics that begin with these whole words."""
        if prefix not in self._prefixes:
            self._prefixes.append(prefix)
        for link in self._links if self._hub is None else ():  # who listens hears agents and gateways itself
            link.ask(prefix)
            link.greet()

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Return what has come in, waiting up to some seconds of the wall for the first message."""
        found: list[Arrived] = []
        until_s = time.monotonic() + timeout_s
        while not self._closed:
            if self._hub is not None:
                self._hub.receive(self._prefixes, found)
            for link in self._links:
                link.greet()
                link.receive(found, self._counts)
            left_s = until_s - time.monotonic()
            if found or left_s <= 0.0:
                break
            self._poller.poll(max(1, int(min(left_s, 0.5) * 1000.0)))
        self._counts["received"] += len(found)
        return found

    def counts(self) -> dict[str, int]:
        """Return how many messages were sent, received and dropped, by reason, and how connections fared."""
        for link in self._links:
            link.watch()
        found = dict(self._counts)
        if self._hub is not None:
            found["peers"] = self._hub.peers()
        if self._door is not None:
            found["refused"], found["keys-unreadable"] = self._door.refused, self._door.unreadable
        return found

    def fileno(self) -> int:
        """Return a file number that becomes readable when ``poll`` should be called, for those who wait for many buses.

        It tells of changes (wait for it edge-triggered, and call ``poll`` after each ``publish`` too).
        """
        found: int = (self._hub or self._links[0]).socket.getsockopt(need_zmq().FD)
        return found

    def close(self) -> None:
        """Let go of sockets and threads; twice is as good as once."""
        if self._closed:
            return
        self._closed = True
        for link in self._links:
            link.close()
        if self._hub is not None:
            self._hub.close()
        if self._door is not None:
            self._door.close()
        if self._own_context:
            self._context.destroy(linger=100)

    def _listen(self, listen: str, known: Path | Known | None, pair: Pair | None) -> None:
        if isinstance(known, Known):
            raise InputError("bus: who listens needs the file of public keys")
        if known is not None:
            self._door = Door(self._context, known)
        secret = pair.secret if pair is not None else b""
        self._hub = ZmqHub(self._context, listen, self.name, self.topics, self._counts, self._door, secret)


def _monitor(socket: Any) -> Any:
    zmq = need_zmq()
    refused = (
        zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    )
    return socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | refused)


def _at(known: object) -> str:
    return str(known) if isinstance(known, Path) else "public keys"
