"""The controller's side of ZeroMQ: everybody connects here; each hears what it asked for and may hear, and no more.

A frame is one letter and its text. To the hub: ``h`` (hello: role and name, then the topics that are asked for, a line
each), ``p`` (topic, then the message), ``k`` (the same, to be kept). From the hub: ``p`` (topic, sender, message),
``?`` (say hello).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wattline.live.bus.base import Arrived
from wattline.live.bus.keys import need_zmq
from wattline.live.bus.messages import LARGEST
from wattline.live.bus.names import NAME, Role, Topics, under
from wattline.live.bus.zmq_door import DOMAIN, Door

LARGEST_FRAME = 16_384
"""Whoever sends more is disconnected; what is above a message's size and below this is counted as oversized."""
AT_ONCE = 50_000
"""Messages taken in one poll."""
MOST_KEPT, MOST_PREFIXES, MOST_ENDS = 50_000, 16, 16
WAITING = 64
"""Messages that wait for one peer, each way; more are dropped."""


@dataclass
class _Peer:
    """A connection whose owner is known."""

    name: str
    key: str
    role: Role
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    prefixes: tuple[str, ...] = field(default=())


class ZmqHub:
    """A socket that others connect to. ``counts`` is shared with the bus that owns it."""

    def __init__(
        self,
        context: Any,
        endpoint: str,
        name: str,
        topics: Topics,
        counts: dict[str, int],
        door: Door | None,
        secret: bytes,
    ) -> None:
        self._zmq, self._name, self._topics, self._counts, self._door = need_zmq(), name, topics, counts, door
        zmq = self._zmq
        self.socket = context.socket(zmq.ROUTER)
        socket = self.socket
        socket.linger = 100
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_FRAME)
        socket.setsockopt(zmq.SNDHWM, WAITING)
        socket.setsockopt(zmq.RCVHWM, WAITING)
        socket.setsockopt(zmq.BACKLOG, 4096)
        socket.setsockopt(zmq.IPV6, int("[" in endpoint))
        if door is not None:
            socket.curve_server = 1
            socket.curve_secretkey = secret
            socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
        try:
            socket.bind(endpoint)
        except zmq.ZMQError:
            socket.close()
            raise
        self.endpoint: str = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._peers: dict[bytes, _Peer] = {}
        self._ends: dict[str, list[bytes]] = {}
        self._asked: dict[str, dict[bytes, None]] = {}
        self._kept: dict[str, bytes] = {}
        self._changes = 0

    def receive(self, prefixes: list[str], found: list[Arrived]) -> None:
        """Take in what has come; add what this process asked for to ``found``."""
        zmq, socket, counts = self._zmq, self.socket, self._counts
        if self._door is not None and self._door.changes != self._changes:
            self._changes = self._door.changes
            for end in [
                e for e, peer in self._peers.items() if self._door.known.keys.get(peer.name) != peer.key.encode()
            ]:
                self._forget(end)
        for _ in range(AT_ONCE):
            try:
                end = socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            peer = self._peers.get(end)
            if peer is None:
                frame = socket.recv(copy=False)
                data = frame.bytes
                peer = self._meet(end, frame, data)
            else:
                data = socket.recv()
            if socket.getsockopt(zmq.RCVMORE):
                while socket.getsockopt(zmq.RCVMORE):
                    socket.recv()
                counts["malformed"] += 1
            elif peer is None:
                counts["unnamed"] += 1
            elif data[:1] in {b"p", b"k"}:
                self._published(peer, end, data, prefixes, found)
            elif data[:1] == b"h":
                self._hello(peer, end, data)
            else:
                counts["malformed"] += 1

    def publish(self, topic: str, payload: bytes, *, keep: bool) -> bool:
        """Send a message of this process to all who asked for it; False when one of them could not take it."""
        data = b"\n".join((f"p{topic}".encode(), self._name.encode(), payload))
        if keep:
            self._keep(topic, data)
        return self._spread(topic, data, None, b"")

    def close(self) -> None:
        """Let go of the socket."""
        self.socket.close()

    def peers(self) -> int:
        """Return how many connections have a name."""
        return len(self._peers)

    def _meet(self, end: bytes, frame: Any, data: bytes) -> _Peer | None:
        """Find out whose connection this is: by its key, or by its word where there are no keys."""
        if end[:1] != b"\0":  # a name that the other side chose for its connection, not one that ZeroMQ gave it
            return None
        role: Role | None
        if self._door is None:
            name, key = data[1:].partition(b"\n")[0].decode("ascii", "replace"), ""
            said, _, rest = name.partition(" ")
            role, name = next((r for r in ("agent", "controller", "gateway", "operator") if r == said), None), rest
            if data[:1] != b"h" or NAME.fullmatch(name) is None or role is None:
                self._send(end, b"?")
                return None
        else:
            try:
                name, _, key = frame.get("User-Id").partition(" ")
            except self._zmq.ZMQError:
                return None
            role = self._door.known.roles.get(name)
            if role is None or self._door.known.keys[name] != key.encode():
                return None
        ends = self._ends.setdefault(name, [])
        while len(ends) >= (1 if role == "agent" else MOST_ENDS):
            self._forget(ends[0])
            ends = self._ends.setdefault(name, [])
        ends.append(end)
        peer = _Peer(name, key, role, self._topics.writes(role, name), self._topics.reads(role, name))
        self._peers[end] = peer
        if data[:1] != b"h":
            self._send(end, b"?")
        return peer

    def _hello(self, peer: _Peer, end: bytes, data: bytes) -> None:
        lines = data[1:].decode("ascii", "replace").split("\n")
        wanted = tuple(dict.fromkeys(lines[1:]))
        if lines[0] != f"{peer.role} {peer.name}" or len(wanted) > MOST_PREFIXES:
            self._counts["forged" if len(wanted) <= MOST_PREFIXES else "malformed"] += 1
            return
        for prefix in wanted:
            if prefix in peer.prefixes:
                continue
            if not any(under(own, prefix) for own in peer.reads):
                self._counts["forbidden"] += 1
                continue
            peer.prefixes += (prefix,)
            self._asked.setdefault(prefix, {})[end] = None
            kept = [prefix] if prefix in self._kept else [topic for topic in self._kept if under(prefix, topic)]
            for topic in kept:
                self._send(end, self._kept[topic])

    def _published(self, peer: _Peer, end: bytes, data: bytes, prefixes: list[str], found: list[Arrived]) -> None:
        head, _, payload = data.partition(b"\n")
        if len(payload) > LARGEST:
            self._counts["oversized"] += 1
            return
        topic = head[1:].decode("ascii", "replace")
        if topic not in peer.writes and not any(under(own, topic) for own in peer.writes):
            self._counts["forbidden"] += 1
            return
        for prefix in prefixes:
            if under(prefix, topic):
                found.append(Arrived(topic, payload, peer.name))
                break
        passed = b"\n".join((b"p" + head[1:], peer.name.encode(), payload))
        if data[:1] == b"k":
            self._keep(topic, passed)
        self._spread(topic, passed, peer, end)

    def _keep(self, topic: str, data: bytes) -> None:
        if topic in self._kept or len(self._kept) < MOST_KEPT:
            self._kept[topic] = data
        else:
            self._counts["unkept"] += 1

    def _spread(self, topic: str, data: bytes, origin: _Peer | None, but: bytes) -> bool:
        """Send to all who asked."""
        went, heard, prefix = True, False, topic
        while prefix:
            for end in list(self._asked.get(prefix, ())):
                if end == but:
                    continue
                heard = True
                went = self._send(end, data) and went
            prefix = prefix.rpartition("/")[0]
        if not heard and origin is None:
            self._counts["unheard"] += 1
        return went

    def _send(self, end: bytes, data: bytes) -> bool:
        zmq, socket = self._zmq, self.socket
        try:
            socket.send(end, zmq.NOBLOCK | zmq.SNDMORE)
            socket.send(data, zmq.NOBLOCK)
        except zmq.Again:
            self._counts["full"] += 1
            return False
        except zmq.ZMQError as problem:
            if problem.errno != zmq.EHOSTUNREACH:
                raise
            self._forget(end)
            self._counts["unsent"] += 1
            return False
        return True

    def _forget(self, end: bytes) -> None:
        peer = self._peers.pop(end, None)
        if peer is None:
            return
        for prefix in peer.prefixes:
            self._asked[prefix].pop(end, None)
            if not self._asked[prefix]:
                del self._asked[prefix]
        ends = self._ends[peer.name]
        ends.remove(end)
        if not ends:
            del self._ends[peer.name]
