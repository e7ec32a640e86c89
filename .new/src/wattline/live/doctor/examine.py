"""The whole examination: of this machine, of a controller's file, or of an agent's."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import InputError, WattlineError
from wattline.files import read_regular
from wattline.live.doctor import clocks, files, hardware, ports, slurm, software
from wattline.live.doctor.findings import Finding, Machine

if TYPE_CHECKING:
    from wattline.live.bus.base import Bus

Progress = Callable[[Finding], None]
Plan = Callable[[Path], str]
"""Reads a controller's file with all that it names, and says in a line what it leads; raises what is wrong."""
MADE_BY = {
    "signal": "make it: (umask 077; openssl rand -hex 32 > FILE)",
    "ven": "put the key of the VEN's certificate there, mode 600",
    "slurm": "make it: (umask 077; scontrol token username=slurm lifespan=86400 > FILE), and let cron do it",
}
"""How secrets come to be that are no keys of the bus."""


def examine(
    path: Path | None, machine: Machine, *, write_test: bool = False, listen: bool = False, plan: Plan | None = None
) -> Iterator[Finding]:
    """Yield what is found, as it is found; a file that cannot be read as it should is a finding too."""
    kind = None if path is None else _kind(path)
    if kind != "node" and write_test:
        raise InputError("--write-test: is for an agent's file, on an idle node")
    if kind != "site" and listen:
        raise InputError("--bus: is for a controller's file")
    if path is None:
        yield from software.look(machine, frozenset())
        yield from clocks.own(machine)
        yield from slurm.look(machine, needed=False)
        return
    try:
        if kind == "site":
            yield from _site(path, machine, listen=listen, plan=plan)
        else:
            yield from _node(path, machine, write_test=write_test)
    except InputError as problem:
        yield Finding("fail", "file", str(problem), "mend it")


def _kind(path: Path) -> str:
    """Return whose file it is."""
    try:
        keys = tomllib.loads(read_regular(path).decode("utf-8-sig")).keys()
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror or problem})") from None
    except ValueError as problem:
        raise InputError(f"{path}: not valid TOML: {' '.join(str(problem).split())}") from None
    if "scenario" not in keys and "node" not in keys:
        raise InputError(f"{path}: expected the file of a controller (with scenario) or of an agent (with [node])")
    return "site" if "scenario" in keys else "node"


def _bus_packages(kind: str) -> set[str]:
    return {"zeromq": {"pyzmq"}, "mqtt": {"paho-mqtt"}}.get(kind, set())


def _planned(path: Path, plan: Plan | None) -> Iterator[Finding]:
    """Look at what the file names: scenario, nodes, kinds, powers that go together."""
    try:
        told = "" if plan is None else plan(path)
    except WattlineError as problem:
        yield Finding("fail", "file", " ".join(str(problem).split()), f"mend it; wattline controller {path} --check")
        return
    if told:
        yield Finding("ok", "file", told)


def _site(path: Path, machine: Machine, *, listen: bool, plan: Plan | None) -> Iterator[Finding]:
    from wattline.live.controller.config import bus_settings, node_names, read_site
    from wattline.live.machine.slurm.kind import commands_of

    spec = read_site(path)
    bus, names, base = bus_settings(path, spec), node_names(path, spec), path.resolve().parent
    needed = _bus_packages(bus.kind) | ({"openleadr"} if spec.openadr is not None else set())
    needed |= {"prometheus-client"} if spec.metrics.listen is not None else set()
    yield from software.look(machine, frozenset(needed))
    yield from files.configuration(path)
    yield from _planned(path, plan)
    token = None if spec.signal.token is None else base / spec.signal.token
    ven = None if spec.openadr is None or spec.openadr.key is None else base / spec.openadr.key
    jwt = None if spec.manager.token is None else base / spec.manager.token
    yield from files.secrets([bus.key, bus.password], machine)
    for secret, made_by in ((token, MADE_BY["signal"]), (ven, MADE_BY["ven"]), (jwt, MADE_BY["slurm"])):
        yield from files.secrets([secret], machine, made_by=made_by)
    yield from files.secrets([bus.known], machine, 0o022)
    for told in () if spec.openadr is None else (spec.openadr.cert, spec.openadr.authority):
        if told is not None:
            yield from files.certificate(base / told, machine)
    journal = base / spec.journal.dir
    yield from files.folder(journal, "journal")
    yield from files.room(journal, machine, len(names), spec.journal.checkpoint)
    if bus.kind == "zeromq" and bus.listen is not None:
        yield from ports.look("[bus] listen", bus.listen, machine, keyed=not bus.insecure)
    if token is not None:
        yield from ports.look("[signal] listen", spec.signal.listen, machine, keyed=False)
    if spec.metrics.listen is not None:
        yield from ports.look("[metrics] listen", spec.metrics.listen, machine, keyed=False)
    yield from clocks.own(machine)
    if str(spec.manager.kind) == "slurm":
        yield from slurm.look_as_led(commands_of(spec.manager, base, spec.manager.timeout))
    else:
        yield from slurm.look(machine, needed=False)
    if listen:
        from wattline.live.bus.names import Topics
        from wattline.live.bus.open import open_bus
        from wattline.live.clock import Clock

        if _is_led(journal, machine):
            yield Finding(
                "warn",
                "agents",
                "a controller leads: it has the bus",
                "see wattline_messages_dropped_total (future, stale) of its metrics, or stop it for the test",
            )
            return
        clock = Clock(spec.clock.speed, *(() if spec.clock.origin is None else (spec.clock.origin,)))
        wire: Bus = open_bus(bus, "controller", spec.name, clock)
        try:
            wire.subscribe(Topics(spec.site).status(""))
            yield from clocks.agents(clocks.heard(wire, clock.now_s, machine), len(names))
        finally:
            wire.close()


def _is_led(journal: Path, machine: Machine) -> bool:
    """Tell whether a controller renews its lease; one that died long ago does not."""
    from wattline.live.controller.leading.lease import Lease

    file = journal / "lease.json"
    if not file.exists():
        return False
    lease = Lease(file, "doctor")
    held = lease.holder()
    if held is None or not held.owner:
        return False
    machine.rest(held.lease_s / 2.0)
    return lease.holder() != held


def _node(path: Path, machine: Machine, *, write_test: bool) -> Iterator[Finding]:
    from wattline.live.agent.config import read_settings
    from wattline.live.agent.wires import bus_form

    settings = read_settings(path)
    kind = "" if settings.bus is None else str(settings.bus.get("kind", "zeromq"))
    needed = _bus_packages(kind) | ({"prometheus-client"} if settings.metrics is not None else set())
    yield from software.look(machine, frozenset(needed))
    yield from files.configuration(path)
    if settings.bus is None:
        yield Finding("warn", "bus", "there is none: nobody is heard, and the safe cap stays", "add [bus]")
    for node in settings.nodes:
        if settings.bus is not None:
            form = bus_form(settings, node.name)
            yield from files.secrets([form.key, form.password], machine)
            yield from files.secrets([form.known], machine, 0o022)
        yield from files.folder(node.run_dir, "run_dir")
        yield from hardware.look(node, machine, write_test=write_test)
    if settings.bus is not None and not settings.controllers:
        yield Finding(
            "warn", "bus", "controllers is empty: caps of all whom the bus lets write count", "name the controllers"
        )
    if settings.jobs == "slurm":
        yield from slurm.look_as_agent(machine)
    if settings.metrics is not None:
        yield from ports.look("[metrics] listen", settings.metrics, machine, keyed=False)
    yield from clocks.own(machine)
