"""Clocks: whether this machine's is kept by NTP, goes at the right rate, and agrees with those of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from wattline.live.bus.base import Bus
from wattline.live.bus.messages import BadMessageError, decode
from wattline.live.doctor.findings import Finding, Machine

MEASURE_S = 0.5
RATE = 0.02
"""Part by which wall and monotonic clock may differ over so short a time."""
APART_S, TOO_FAR_S = 1.0, 5.0
"""Nodes that are so far from us are told; messages so far ahead are dropped."""
LISTEN_S = 7.0
"""An agent that lost its controller tries to connect every 5 s."""


def own(machine: Machine) -> Iterator[Finding]:
    """Look at this machine's clock."""
    synchronised = _synchronised(machine)
    if synchronised is None:
        yield Finding("warn", "clock", "nobody says whether it is kept by NTP", "install chrony or systemd-timesyncd")
    elif synchronised:
        yield Finding("ok", "clock", "kept by NTP")
    else:
        yield Finding("fail", "clock", "not synchronised", "start chrony, and wait for: chronyc waitsync")
    wall_s, monotonic_s = machine.wall(), machine.monotonic()
    machine.rest(MEASURE_S)
    passed_s = machine.monotonic() - monotonic_s
    jump_s = (machine.wall() - wall_s) - passed_s
    if abs(jump_s) > RATE * max(passed_s, MEASURE_S):
        yield Finding(
            "warn",
            "clock",
            f"the wall's clock moved by {jump_s:+.2f} s within {passed_s:.1f} s",
            "let it settle before controllers and agents start: they keep the time of their start",
        )
    else:
        yield Finding("ok", "clock", "wall and monotonic clock go alike")


def _synchronised(machine: Machine) -> bool | None:
    """Return what chrony or systemd say; None where nobody says anything."""
    told = machine.run(["chronyc", "-n", "tracking"])
    if told is not None:
        return any(line.startswith("Leap status") and line.endswith("Normal") for line in told.splitlines())
    told = machine.run(["timedatectl", "show", "--property=NTPSynchronized", "--value"])
    if told is not None and told.strip() in ("yes", "no"):
        return told.strip() == "yes"
    told = machine.run(["ntpq", "-c", "rv 0 leap"])
    return None if told is None else "leap=00" in told.replace(" ", "")


def heard(bus: Bus, now_s: Callable[[], float], machine: Machine, wait_s: float = LISTEN_S) -> dict[str, float]:
    """Listen to agents for a while; return how far each one's clock is ahead of ours, at most by the delay less."""
    found: dict[str, float] = {}
    until = machine.monotonic() + wait_s
    while machine.monotonic() < until:
        for arrived in bus.poll(0.2):
            try:
                message = decode(arrived.payload)
            except BadMessageError:
                continue
            if message.kind == "status":
                found[message.sender] = message.at_s - now_s()
    return found


def agents(ahead_s: Mapping[str, float], expected: int) -> Iterator[Finding]:
    """Hold the clocks of agents against ours."""
    if not ahead_s:
        yield Finding("warn", "agents", "none was heard", "start them, and look at their logs (refused: wrong key)")
        return
    if len(ahead_s) < expected:
        yield Finding("warn", "agents", f"{len(ahead_s)} of {expected} were heard", "look at the others")
    else:
        yield Finding("ok", "agents", f"all {expected} were heard")
    name = max(ahead_s, key=lambda one: abs(ahead_s[one]))
    far_s = ahead_s[name]
    text = f"{name} is farthest from ours, by {far_s:+.2f} s"
    change = "synchronise its clock, then restart its agent"
    if far_s > TOO_FAR_S or far_s < -2 * TOO_FAR_S:
        yield Finding("fail", "agents", f"{text}: its messages are dropped", change)
    elif abs(far_s) > APART_S:
        yield Finding("warn", "agents", text, change)
    else:
        yield Finding("ok", "agents", f"clocks agree ({text})")
