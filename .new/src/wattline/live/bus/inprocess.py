"""A bus inside one process: for tests, and for faults on demand (cut wires, late and lost messages)."""

from __future__ import annotations

import random
import threading
import time
from collections import deque

from wattline.errors import InputError
from wattline.live.bus.base import Arrived
from wattline.live.bus.names import ROLES, Role, Topics, checked_name, under
from wattline.live.clock import Clock

ROOM = 20_000
"""Messages that wait for one reader; more are dropped."""


class Hub:
    """What connects the buses of a process; any thread may use it.

    Who may write and read which topic is as on the real wires. Times of late messages are the clock's.
    """

    def __init__(self, site: str, clock: Clock, *, room: int = ROOM, seed: int = 0) -> None:
        self.topics, self._clock, self._room = Topics(site), clock, room
        self._changed = threading.Condition()
        self._buses: dict[str, InProcessBus] = {}
        self._kept: dict[str, Arrived] = {}
        self._cut: set[str] = set()
        self._late_s, self._lost = 0.0, 0.0
        self._random = random.Random(seed)

    def attach(self, role: Role, name: str) -> InProcessBus:
        """Return the bus of somebody; whoever had that name before is cut off."""
        if role not in ROLES:
            raise InputError(f"bus: unknown role {role!r}; known: {', '.join(ROLES)}")
        bus = InProcessBus(self, role, checked_name(name))
        with self._changed:
            before = self._buses.get(name)
            self._buses[name] = bus
            if before is not None:
                before.closed = True
            self._changed.notify_all()
        return bus

    def cut(self, *names: str) -> None:
        """Let nothing through to and from these; without names, to and from all that are attached."""
        with self._changed:
            self._cut |= set(names or self._buses)

    def heal(self, *names: str) -> None:
        """Let messages through again; what was sent meanwhile is lost, except what is kept."""
        with self._changed:
            healed = self._cut & set(names) if names else set(self._cut)
            self._cut -= healed
            for name in healed & set(self._buses):
                bus = self._buses[name]
                for prefix in bus.prefixes:
                    self._give_kept(bus, prefix)
            self._changed.notify_all()

    def faults(self, *, late_s: float = 0.0, lost: float = 0.0) -> None:
        """From now on deliver messages so many machine seconds late, and lose this share of them."""
        with self._changed:
            self._late_s, self._lost = late_s, lost

    def publish(self, sender: InProcessBus, topic: str, payload: bytes, *, keep: bool) -> bool:
        """Hand a message to all who asked for it."""
        with self._changed:
            if not any(under(own, topic) for own in self.topics.writes(sender.role, sender.name)):
                return sender.count("forbidden")
            if sender.closed or sender.name in self._cut or self._random.random() < self._lost:
                return sender.count("unsent")
            message = Arrived(topic, payload, sender.name)
            if keep:
                self._kept[topic] = message
            due_s = self._clock.now_s() + self._late_s
            for bus in self._buses.values():
                if bus is not sender and any(under(prefix, topic) for prefix in bus.prefixes):
                    self._give(bus, message, due_s)
            self._changed.notify_all()
        sender.count("sent")
        return True

    def subscribe(self, bus: InProcessBus, prefix: str) -> None:
        """Note what somebody asks for, and give the last messages that were kept."""
        with self._changed:
            if not any(under(own, prefix) for own in self.topics.reads(bus.role, bus.name)):
                bus.count("forbidden")
            elif prefix not in bus.prefixes:
                bus.prefixes.append(prefix)
                self._give_kept(bus, prefix)
                self._changed.notify_all()

    def poll(self, bus: InProcessBus, timeout_s: float) -> list[Arrived]:
        """Return what is due for somebody."""
        until_s = time.monotonic() + timeout_s
        with self._changed:
            while True:
                found, now_s = [], self._clock.now_s()
                while bus.waiting and bus.waiting[0][0] <= now_s:
                    found.append(bus.waiting.popleft()[1])
                left_s = until_s - time.monotonic()
                if found or left_s <= 0.0 or bus.closed:
                    bus.count("received", len(found))
                    return found
                if bus.waiting:
                    left_s = min(left_s, max((bus.waiting[0][0] - now_s) / self._clock.speed, 0.001))
                self._changed.wait(left_s)

    def detach(self, bus: InProcessBus) -> None:
        """Forget somebody."""
        with self._changed:
            bus.closed = True
            if self._buses.get(bus.name) is bus:
                del self._buses[bus.name]
            self._changed.notify_all()

    def _give(self, bus: InProcessBus, message: Arrived, due_s: float) -> None:
        if bus.name in self._cut:
            bus.count("unsent")
        elif len(bus.waiting) >= self._room:
            bus.count("full")
        else:
            bus.waiting.append((max(due_s, bus.waiting[-1][0] if bus.waiting else due_s), message))

    def _give_kept(self, bus: InProcessBus, prefix: str) -> None:
        for topic, message in self._kept.items():
            if under(prefix, topic):
                self._give(bus, message, self._clock.now_s() + self._late_s)


class InProcessBus:
    """Somebody's end of the hub."""

    def __init__(self, hub: Hub, role: Role, name: str) -> None:
        self.hub, self.role, self.name = hub, role, name
        self.prefixes: list[str] = []
        self.waiting: deque[tuple[float, Arrived]] = deque()
        self.closed = False
        self._counts = dict.fromkeys(("sent", "received", "unsent", "full", "forbidden"), 0)

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:
        """Send a message to all who asked for its topic; return False when it was dropped."""
        return self.hub.publish(self, topic, payload, keep=keep)

    def subscribe(self, prefix: str) -> None:
        """Ask for all topics that begin with these whole words."""
        self.hub.subscribe(self, prefix)

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Return what has come in, waiting up to some seconds of the wall for the first message."""
        return self.hub.poll(self, timeout_s)

    def count(self, what: str, by: int = 1) -> bool:
        """Count; return False, since what is counted alone was dropped."""
        self._counts[what] += by
        return False

    def counts(self) -> dict[str, int]:
        """Return how many messages were sent, received and dropped, by reason."""
        return dict(self._counts)

    def close(self) -> None:
        """Leave the hub."""
        self.hub.detach(self)
