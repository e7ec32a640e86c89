"""Addresses: who can reach what we listen on, and whether somebody has it already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wattline.live.bus.names import host_is_loopback
from wattline.live.doctor.findings import Finding, Machine

ANY = ("*", "0.0.0.0", "[::]")  # noqa: S104  (nothing is opened)
LISTENS = "0A"
"""State of a socket that listens, in /proc/net/tcp."""


def look(name: str, address: str, machine: Machine, *, keyed: bool) -> Iterator[Finding]:
    """Look at an address of the file, like ``127.0.0.1:9470``; ``keyed`` where both sides prove who they are."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    if host not in ANY and not host_is_loopback(host) and not machine.has_address(host):
        yield Finding(
            "fail", "port", f"{name} {address}: {host} is no address of this computer", f"set {name} to one of its own"
        )
    elif host_is_loopback(host):
        yield Finding("ok", "port", f"{name} {address}: this machine alone")
    elif keyed:
        yield Finding("ok", "port", f"{name} {address}: others reach it, with keys")
    else:
        yield Finding(
            "warn",
            "port",
            f"{name} {address}: others reach it, in plain text",
            "listen on 127.0.0.1, with a proxy for TLS in front; or let a firewall keep others out",
        )
    number = int(port) if port.isdecimal() else 0  # "*": any that is free
    open_to = {"all addresses" if wide else "an address" for wide in _listening(machine.proc, number)}
    if open_to:
        yield Finding("ok", "port", f"port {port} is open on {', '.join(sorted(open_to))}: somebody listens there now")


def _listening(proc: Path, port: int) -> Iterator[bool]:
    """Yield for each socket that listens on a port whether it takes connections for all addresses."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for words in (line.split() for line in lines):
            if len(words) > 3 and words[3] == LISTENS:
                host, _, number = words[1].rpartition(":")
                if int(number, 16) == port:
                    yield not host.strip("0")
