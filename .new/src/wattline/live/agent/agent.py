"""The loop of an agent: messages in, a turn of its node, statuses out; its end leaves nothing behind."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wattline.errors import InputError
from wattline.live.agent.beside import Beside
from wattline.live.agent.config import AgentSettings, NodeSettings
from wattline.live.agent.hardware import Place, open_hardware, open_limits
from wattline.live.agent.local import Local, open_local
from wattline.live.agent.node import Log, NodeAgent
from wattline.live.agent.wire import Wire
from wattline.live.agent.wires import OpenBus, open_bus
from wattline.live.bus.base import Arrived, Bus
from wattline.live.clock import Clock
from wattline.live.notify import notify
from wattline.live.power.base import Hardware, HardwareError
from wattline.live.watch.metrics import Metrics, NoMetrics, open_metrics

LONGEST_WAIT_S = 0.25
"""Seconds of the wall after which the loop looks whether it was told to stop."""
SET_S = 2.0
"""A wall clock that was set by more since the start is told: messages carry our time, which does not follow it."""


class Agent:
    """A node, its end of the bus, and the clock; for one thread."""

    def __init__(self, node: NodeAgent, bus: Bus, wire: Wire, clock: Clock) -> None:
        self.node, self.bus, self._wire, self._clock = node, bus, wire, clock
        self.dropped = 0
        """Statuses that the bus did not take."""
        self.metrics: Metrics = NoMetrics()

    def begin(self) -> None:
        """Take the node over, then listen."""
        self.node.begin(self._clock.now_s())
        for topic in self._wire.topics(self.node.name):
            self.bus.subscribe(topic)

    def step(self, longest_s: float = LONGEST_WAIT_S) -> None:
        """Wait for a message or the next turn (so many seconds of the wall at most), and do what is due."""
        wait_s = (self.node.due_s() - self._clock.now_s()) / self._clock.speed
        for arrived in self.bus.poll(min(max(wait_s, 0.0), longest_s)):
            self._take(arrived)
        now_s = self._clock.now_s()
        if self.node.turn(now_s):
            if abs(self._clock.wall_jump_s()) > SET_S:
                self.node.note("clock-set", now_s)
            self._tell(now_s)

    def _take(self, arrived: Arrived) -> None:
        found = self._wire.take(arrived)
        if found == "off":
            self.node.off(self._clock.now_s())
        elif found is not None and found[0] == self.node.name:
            self.node.take(found[1], self._clock.now_s())

    def _tell(self, now_s: float) -> None:
        body = self.node.status(now_s)
        topic, payload = self._wire.status(self.node.name, body)
        self.dropped += not self.bus.publish(topic, payload)
        self._measure(body, self.node.more(now_s))

    def _measure(self, body: dict[str, Any], more: dict[str, float]) -> None:
        """Tell Prometheus what the status tells; names and meanings are those of ``watch/table.py``."""
        m, nothing = self.metrics, math.nan
        w, cap_w, limit_w = (nothing if body[key] is None else body[key] for key in ("w", "cap_w", "limit_w"))
        m.set("wattline_node_power_watts", w)
        m.set("wattline_node_cap_watts", math.inf if body["cap_w"] is None else cap_w)
        m.set("wattline_node_limit_watts", limit_w)
        m.set("wattline_node_lease_seconds", body["lease"])
        m.set("wattline_lease_term", body["term"])
        m.set("wattline_node_pid_error_watts", cap_w - w)
        m.set("wattline_node_gpu_watts", more["gpu_w"])
        m.set("wattline_node_second_power_watts", more["second_w"])
        m.state("wattline_node_mode", body["mode"])
        m.totals("wattline_node_faults_total", self.node.problems())
        m.totals("wattline_messages_dropped_total", dict(self._wire.dropped))

    def end(self) -> bool:
        """Put everything back, say so, and let go; tell whether all could be put back."""
        now_s = self._clock.now_s()
        restored = self.node.end(now_s)
        self._tell(now_s)
        self.bus.close()
        self.metrics.close()
        return restored

    def problems(self) -> dict[str, int]:
        """Return what went wrong, of node and messages."""
        messages = {f"message-{word}": count for word, count in self._wire.dropped.items()}
        return self.node.problems() | messages | ({"status-dropped": self.dropped} if self.dropped else {})


def log_lines(clock: Clock) -> Log:
    """Return a log of JSON lines on standard error."""

    def log(event: str, **fields: Any) -> None:
        line = {"at": round(clock.now_s(), 3), "event": event, **fields}
        sys.stderr.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        sys.stderr.flush()

    return log


def open_power(node: NodeSettings, clock: Clock) -> tuple[Hardware, Beside]:
    """Return the meters and limits of a node, or say why it cannot be led."""
    try:
        return open_hardware(node.power, place_of(node), clock)
    except (HardwareError, InputError) as problem:
        raise InputError(f"{node.name}: {problem}") from None


def hardware_of(node: NodeSettings) -> Hardware:
    """Return what keeps the cap of a node, for who can wait for its answers; or say why the node cannot be led."""
    try:
        return open_limits(node.power, place_of(node))
    except (HardwareError, InputError) as problem:
        raise InputError(f"{node.name}: {problem}") from None


def place_of(node: NodeSettings) -> Place:
    """Return what opening hardware needs to know about a node."""
    return Place(node.name, node.powercap, node.min_w, node.max_w, node.model, node.memory_w)


def make(
    settings: AgentSettings,
    clock: Clock,
    log: Log,
    *,
    opens: OpenBus = open_bus,
    hardware: Callable[[NodeSettings, Clock], tuple[Hardware, Beside]] = open_power,
) -> list[Agent]:
    """Make the agents that a file asks for, one a node; nothing is changed on a node before ``begin``."""
    local = open_local(settings.jobs)
    agents: list[Agent] = []
    try:
        for node in settings.nodes:
            made = _node(node, hardware(node, clock), local, log)
            wire = Wire(settings.site, clock, settings.controllers, settings.operators)
            try:
                bus = opens(settings, node.name, clock, wire.will(node.name))
            except BaseException:
                made.let_go()
                raise
            agents.append(Agent(made, bus, wire, clock))
    except BaseException:
        for agent in agents:
            agent.node.let_go()
            agent.bus.close()
        raise
    return agents


def _node(node: NodeSettings, power: tuple[Hardware, Beside], local: Local | None, log: Log) -> NodeAgent:
    hardware, beside = power
    try:
        return NodeAgent(node, hardware, beside=beside, local=local, log=log)
    except BaseException:
        beside.close()
        hardware.close()
        raise


def run(settings: AgentSettings, *, opens: OpenBus = open_bus, log: Log | None = None) -> bool:
    """Lead the nodes of a file until SIGTERM or SIGINT; tell whether all could be put back.

    Nodes that share a process have a thread each. Where one cannot be led, all are given back.
    """
    clock = Clock(settings.speed, settings.origin_s)
    with _stop_signals() as stopped:
        metrics = open_metrics("agent", settings.metrics)
        agents = make(settings, clock, log or log_lines(clock), opens=opens)
        try:
            for agent in agents:
                agent.begin()
        except BaseException:
            for agent in agents:
                agent.end()
            raise
        notify().expect(agent.node.name for agent in agents)
        notify().ready(f"keeps the caps of {len(agents)} nodes")
        if len(agents) == 1:
            agents[0].metrics = metrics
            return _lead(agents[0], stopped)
        return _lead_all(agents, stopped)


def _lead(agent: Agent, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        agent.step()
        notify().alive(agent.node.name)
    notify().stopping()
    return agent.end()


def _lead_all(agents: list[Agent], stopped: threading.Event) -> bool:
    restored: list[bool] = []
    failed: list[BaseException] = []

    def lead(agent: Agent) -> None:
        try:
            restored.append(_lead(agent, stopped))
        except BaseException as problem:
            failed.append(problem)
            stopped.set()

    threads = [threading.Thread(target=lead, args=(agent,), name=agent.node.name) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return all(restored)


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """Yield what is set once the process was told to stop."""
    stopped = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, lambda *_: stopped.set())
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
