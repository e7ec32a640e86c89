"""The loop of an agent process: messages in, turns of its nodes, statuses out; its end leaves nothing behind."""

from __future__ import annotations

import importlib
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.agent.config import AgentSettings, NodeSettings
from wattline.live.agent.local import Local, ProcessGroups
from wattline.live.agent.node import Log, NodeAgent
from wattline.live.agent.wire import Wire
from wattline.live.bus.base import Arrived, Bus
from wattline.live.clock import Clock
from wattline.live.power.base import Hardware, HardwareError
from wattline.live.power.powercap import Powercap

LONGEST_WAIT_S = 0.25
"""Seconds of the wall after which the loop looks whether it was told to stop."""

SET_S = 2.0
"""A wall clock that was set by more since the start is told: messages carry our time, which does not follow it."""

OpenBus = Callable[[dict[str, Any], AgentSettings, Clock], Bus]


class Silent:
    """No bus: nobody is heard and nobody is told. The agent keeps its safe cap."""

    def publish(self, topic: str, payload: bytes, *, keep: bool = False) -> bool:  # noqa: ARG002
        """Drop the message."""
        return True

    def subscribe(self, prefix: str) -> None:
        """Ask nobody."""

    def poll(self, timeout_s: float) -> list[Arrived]:
        """Wait."""
        time.sleep(timeout_s)
        return []

    def counts(self) -> dict[str, int]:
        """Return nothing."""
        return {}

    def close(self) -> None:
        """Do nothing."""


class Agents:
    """Nodes that share a process and a bus."""

    def __init__(self, nodes: Sequence[NodeAgent], bus: Bus, wire: Wire, clock: Clock, log: Log) -> None:
        self.nodes = {node.name: node for node in nodes}
        self._bus, self._wire, self._clock, self._log = bus, wire, clock, log
        self.dropped = 0
        """Statuses that the bus did not take."""

    def begin(self) -> None:
        """Take over all nodes, then listen."""
        for node in self.nodes.values():
            node.begin(self._clock.now_s())
        for topic in self._wire.topics(list(self.nodes)):
            self._bus.subscribe(topic)

    def step(self, longest_s: float = LONGEST_WAIT_S) -> None:
        """Wait for a message or the next turn (so many seconds of the wall at most), and do what is due."""
        due_s = min(node.due_s() for node in self.nodes.values())
        wait_s = (due_s - self._clock.now_s()) / self._clock.speed
        for arrived in self._bus.poll(min(max(wait_s, 0.0), longest_s)):
            self._take(arrived)
        for node in self.nodes.values():
            now_s = self._clock.now_s()
            if node.turn(now_s):
                if abs(self._clock.wall_jump_s()) > SET_S:
                    node.note("clock-set", now_s)
                topic, payload = self._wire.status(node.name, node.status(now_s))
                self.dropped += not self._bus.publish(topic, payload)

    def _take(self, arrived: Arrived) -> None:
        found = self._wire.take(arrived)
        now_s = self._clock.now_s()
        if found == "off":
            for node in self.nodes.values():
                node.off(now_s)
        elif found is not None:
            name, cap = found
            if name in self.nodes:
                self.nodes[name].take(cap, now_s)

    def end(self) -> bool:
        """Put everything back, say so, and let go; tell whether all could be put back."""
        now_s = self._clock.now_s()
        restored = [node.end(now_s) for node in self.nodes.values()]
        for node in self.nodes.values():
            node.lease.release()
            topic, payload = self._wire.status(node.name, node.status(now_s))
            self.dropped += not self._bus.publish(topic, payload)
        self._bus.close()
        return all(restored)

    def problems(self) -> dict[str, int]:
        """Return what went wrong in this process, of all nodes and messages."""
        total: dict[str, int] = {f"message-{word}": count for word, count in self._wire.dropped.items()}
        for node in self.nodes.values():
            for word, count in node.problems().items():
                total[word] = total.get(word, 0) + count
        return total | ({"status-dropped": self.dropped} if self.dropped else {})


def log_lines(clock: Clock) -> Log:
    """Return a log of JSON lines on standard error."""

    def log(event: str, **fields: Any) -> None:
        line = {"at": round(clock.now_s(), 3), "event": event, **fields}
        sys.stderr.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        sys.stderr.flush()

    return log


def open_bus(table: dict[str, Any], settings: AgentSettings, clock: Clock) -> Bus:
    """Open the bus that a file names."""
    try:
        found = importlib.import_module("wattline.live.bus.open")
    except ModuleNotFoundError as problem:
        raise InputError(f"{settings.file}: [bus]: this installation has no bus ({problem})") from None
    names = [node.name for node in settings.nodes]
    bus: Bus = found.open_bus(
        table, role="agent", site=settings.site, names=names, clock=clock, base=Path(settings.file).resolve().parent
    )
    return bus


def hardware_of(node: NodeSettings) -> Powercap:
    """Return the meters and limits of a node, or say why it cannot be led."""
    try:
        found = Powercap(node.powercap)
    except HardwareError as problem:
        raise InputError(f"{node.name}: {problem}") from None
    if not found.limited:
        raise InputError(f"{node.name}: {node.powercap}: its packages take no limits, so that no cap can be kept")
    return found


def make(
    settings: AgentSettings,
    clock: Clock,
    log: Log,
    *,
    opens: OpenBus = open_bus,
    hardware: Callable[[NodeSettings], Hardware] = hardware_of,
) -> Agents:
    """Make the agents that a file asks for; nothing is changed on a node before ``begin``."""
    local: Local | None = ProcessGroups(settings.jobs) if settings.jobs is not None else None
    nodes = [NodeAgent(node, hardware(node), local=local, log=log) for node in settings.nodes]
    bus: Bus = Silent() if settings.bus is None else opens(settings.bus, settings, clock)
    return Agents(nodes, bus, Wire(settings.site, clock, settings.controllers), clock, log)


def run(settings: AgentSettings, *, opens: OpenBus = open_bus, log: Log | None = None) -> bool:
    """Lead the nodes of a file until SIGTERM or SIGINT; tell whether all could be put back."""
    clock = Clock(settings.speed, settings.origin_s)
    said = log or log_lines(clock)
    with _stop_signals() as stopped:
        agents = make(settings, clock, said, opens=opens)
        try:
            agents.begin()
        except BaseException:
            agents.end()  # a node that was taken over already is given back
            raise
        while not stopped:
            agents.step()
        return agents.end()


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Yield a list that has an entry once the process was told to stop."""
    got: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, lambda number, _frame: got.append(number))
    try:
        yield got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
