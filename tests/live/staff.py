"""The agent of a node without its hardware: its lease and its wire are the real ones, a test says what is drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from wattline.live.agent.lease import Lease
from wattline.live.agent.wire import Wire
from wattline.live.bus.base import Bus
from wattline.live.bus.inprocess import Hub
from wattline.live.clock import Clock

Reads = Callable[[float], float | None]

LONGEST_S = 60.0


@dataclass
class Agent:
    """The agent of a node: its lease is the real one, its server obeys at once or not at all."""

    name: str
    bus: Bus
    wire: Wire
    lease: Lease
    alive: bool = True
    reads: Reads = lambda watts: watts
    """What its sensor says of what the node draws (None: nothing)."""
    obeys: Callable[[float], float] = lambda cap_w: cap_w
    """What becomes of a cap that it writes."""
    faults: list[str] = field(default_factory=list)
    """Faults that it tells, beside that of a sensor without a reading."""
    told: list[str] = field(default_factory=list)

    def hear(self, now_s: float) -> bool:
        """Take what has arrived; tell whether the lease has just ended."""
        for arrived in self.bus.poll(0.0):
            found = self.wire.take(arrived)
            if found == "off":
                self.lease.release()
            elif found is not None:
                self.lease.take(found[1], now_s)
        return self.lease.expire(now_s)

    def tell(self, watts: float, now_s: float) -> None:
        """Tell how the node is, which draws some watts."""
        told_w, lease, cap_w = self.reads(watts), self.lease, self.lease.cap_w()
        body = {
            "w": told_w, "age": None if told_w is None else 0.0, "cpu_w": None, "mem_w": None, "limit_w": None,
            "cap_w": None if math.isnan(cap_w) else cap_w, "lease": lease.left_s(now_s), "mode": lease.mode,
            "term": lease.term, "faults": [*self.faults, *(["sensor-stuck"] if told_w is None else [])],
            "safe_w": lease.safe_w, "min_w": lease.min_w, "max_w": lease.max_w,
        }  # fmt: skip
        self.bus.publish(*self.wire.status(self.name, body))


def hire(hub: Hub, clock: Clock, name: str, *, safe_w: float, min_w: float, max_w: float) -> Agent:
    """Start the agent of a node: its safe cap holds until it is led."""
    bus, wire = hub.attach("agent", name), Wire("here", clock)
    for topic in wire.topics(name):
        bus.subscribe(topic)
    return Agent(name, bus, wire, Lease(safe_w=safe_w, min_w=min_w, max_w=max_w, longest_s=LONGEST_S))


def longest_over_s(powers: Iterable[tuple[float, float]], limit_w: float) -> float:
    """Return the longest time without a break in which more than a limit was drawn; NaN watts break it."""
    longest_s, since_s = 0.0, math.nan
    for t, watts in powers:
        if watts > limit_w:
            since_s = t if math.isnan(since_s) else since_s
            longest_s = max(longest_s, t - since_s)
        else:
            since_s = math.nan
    return longest_s


def stuck() -> Reads:
    """Return a sensor that says for ever what it said first."""
    first: list[float] = []
    return lambda watts: first.append(watts) or first[0]  # type: ignore[func-returns-value]


def wild() -> Reads:
    """Return a sensor that goes backwards, jumps and says impossible things."""
    turns = itertools.cycle([0.0, 1e6, None, 0.1, 5000.0])
    return lambda _: next(turns)


SENSORS: dict[str, Callable[[], Reads]] = {
    "nothing": lambda: lambda _: None,
    "stuck": stuck,
    "wild": wild,
    "far too low": lambda: lambda _: 3.0,
    "low": lambda: lambda watts: 0.6 * watts,
    "far too high": lambda: lambda _: 9e8,
    "high": lambda: lambda _: 350.0,
}
"""Sensors that fail and agents that lie, by what they say."""
