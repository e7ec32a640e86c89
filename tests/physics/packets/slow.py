"""The packet model written down once more, plainly: every change of state is an event, nothing is set ahead of time.

It shares no line with the engine. Minimal routes only; packets are given with the time at which their node posts them.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from wattline.model.networks.dragonfly import Dragonfly

Lane = tuple[Any, Any, int]  # from, to (a router's number or ("node", n)), channel
Port = tuple[Any, Any]


@dataclass
class Packet:
    """A packet and the links it has yet to cross."""

    flits: int
    path: list[Lane]
    number: int


def minimal(network: Dragonfly, one: int, two: int) -> list[Lane]:
    """Return the links, with channels, from a node to another."""
    stops: list[Any] = [network.router_of(one)]
    target = network.router_of(two)
    here, there = network.group_of_router(stops[0]), network.group_of_router(target)
    if here != there:
        for router in (int(network.gateway[here, there]), int(network.gateway[there, here])):
            if router != stops[-1]:
                stops.append(router)
    if stops[-1] != target:
        stops.append(target)
    stops = [("node", one), *stops, ("node", two)]
    path, channel = [], 0
    for a, b in pairwise(stops):
        path.append((a, b, channel))
        between = not isinstance(a, tuple) and not isinstance(b, tuple)
        if between and network.group_of_router(a) != network.group_of_router(b):
            channel += 1
    return path


@dataclass
class Slow:
    """Routers, links and nodes in dictionaries."""

    network: Dragonfly
    crossbar_ps: int
    host_ps: int
    local_ps: int
    global_ps: int
    delay_ps: int
    wire_ps: int
    buffer_flits: int
    now: int = 0
    events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    delivered: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.count = 0
        self.link_busy: defaultdict[Port, bool] = defaultdict(bool)
        self.ready: defaultdict[Port, list[tuple[Packet, Lane]]] = defaultdict(list)  # have credits, wait for the link
        self.hold: defaultdict[Lane, list[Packet]] = defaultdict(list)  # wait for credits
        self.credit: defaultdict[Lane, int] = defaultdict(lambda: self.buffer_flits)
        self.space: defaultdict[Lane, int] = defaultdict(lambda: self.buffer_flits)
        self.inputs: defaultdict[Lane, list[Packet]] = defaultdict(list)
        self.input_until: defaultdict[Port, int] = defaultdict(int)
        self.output_until: defaultdict[Port, int] = defaultdict(int)
        self.asked: dict[Lane, int] = {}
        self.tied = False
        """Two things happened in the same picosecond and it is anybody's choice which comes first."""
        self.asking: defaultdict[Port, list[Lane]] = defaultdict(list)  # input lanes, longest waiting first

    def at(self, time: int, happen: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(self.events, (time, self.count, happen))
        self.count += 1

    def run(self, packets: list[tuple[int, int, int, int]]) -> list[int]:
        """Simulate packets (time, node, node, flits); return when each arrived."""
        for number, (time, one, two, flits) in enumerate(packets):
            packet = Packet(flits, minimal(self.network, one, two), number)
            self.at(time, lambda packet=packet: self.into_output(packet))  # type: ignore[misc]
        while self.events:
            self.now, _, happen = heapq.heappop(self.events)
            happen()
        return [self.delivered[number] for number in range(len(packets))]

    def flit_ps(self, port: Port) -> int:
        """Return how long a flit holds a link."""
        a, b = port
        if isinstance(a, tuple) or isinstance(b, tuple):
            return self.host_ps
        same = self.network.group_of_router(a) == self.network.group_of_router(b)
        return self.local_ps if same else self.global_ps

    def into_output(self, packet: Packet) -> None:
        """A packet enters an output lane (or its node's queue)."""
        lane = packet.path.pop(0)
        self.space[lane] -= packet.flits
        self.hold[lane].append(packet)
        self.take_credits(lane)

    def take_credits(self, lane: Lane) -> None:
        """Packets of a lane, in order, get credits and queue for the link."""
        to_node = isinstance(lane[1], tuple)
        while self.hold[lane] and (to_node or self.credit[lane] >= self.hold[lane][0].flits):
            packet = self.hold[lane].pop(0)
            self.credit[lane] -= 0 if to_node else packet.flits
            self.ready[lane[:2]].append((packet, lane))
        self.start_link(lane[:2])

    def start_link(self, port: Port) -> None:
        """An idle link takes the next packet."""
        if self.link_busy[port] or not self.ready[port]:
            return
        packet, lane = self.ready[port].pop(0)
        self.link_busy[port] = True
        self.space[lane] += packet.flits
        self.at(self.now + packet.flits * self.flit_ps(port), lambda: self.link_free(port))
        self.at(self.now + self.delay_ps, lambda: self.arrive(packet, lane))
        if not isinstance(port[0], tuple):
            self.serve(port)

    def link_free(self, port: Port) -> None:
        """A link has sent a packet."""
        self.link_busy[port] = False
        self.start_link(port)

    def arrive(self, packet: Packet, lane: Lane) -> None:
        """The head of a packet reaches the other end."""
        if not packet.path:
            self.delivered[packet.number] = self.now
            return
        self.inputs[lane].append(packet)
        if len(self.inputs[lane]) == 1:
            self.ask(lane)

    def ask(self, lane: Lane) -> None:
        """The head of an input lane asks for its output."""
        output = self.inputs[lane][0].path[0][:2]
        self.asked[lane] = self.now
        self.asking[output].append(lane)
        self.serve(output)

    def serve(self, output: Port) -> None:
        """A free output takes the head that has waited longest among those that can move."""
        if self.output_until[output] > self.now:
            return
        full = set()
        for lane in self.asking[output]:
            packet = self.inputs[lane][0]
            wanted = packet.path[0]
            if self.input_until[lane[:2]] > self.now or wanted in full:
                continue
            if self.space[wanted] < packet.flits:
                full.add(wanted)
                continue
            self.grant(lane, output, packet)
            return

    def grant(self, lane: Lane, output: Port, packet: Packet) -> None:
        """Move a packet through the crossbar."""
        self.tied |= any(
            self.asked[other] == self.asked[lane] and self.input_until[other[:2]] <= self.now
            for other in self.asking[output]
            if other != lane
        )
        rivals = [(*lane[:2], channel) for channel in range(3) if self.inputs[(*lane[:2], channel)]]
        self.tied |= len(rivals) > 1 and self.input_until[lane[:2]] == self.now
        self.asking[output].remove(lane)
        self.inputs[lane].pop(0)
        done = self.now + packet.flits * self.crossbar_ps
        self.input_until[lane[:2]] = self.output_until[output] = done
        self.at(done, lambda: self.input_free(lane[:2]))
        self.at(done, lambda: self.serve(output))
        self.at(self.now + self.wire_ps, lambda: self.credits_back(lane, packet.flits))
        self.into_output(packet)
        if self.inputs[lane]:
            self.ask(lane)

    def credits_back(self, lane: Lane, flits: int) -> None:
        """Credits reach the lane that sent a packet."""
        self.credit[lane] += flits
        self.take_credits(lane)

    def input_free(self, port: Port) -> None:
        """The crossbar has read a packet: the heads of that port try, the longest waiting one first."""
        lanes = [(*port, channel) for channel in range(3) if self.inputs[(*port, channel)]]
        for lane in sorted(lanes, key=lambda lane: self.asked[lane]):
            if self.input_until[port] <= self.now:
                self.serve(self.inputs[lane][0].path[0][:2])
