"""The file of a controller: which machine and policies, whom it talks to, and the hard rules of the site."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from wattline.errors import InputError, did_you_mean
from wattline.live.bus.messages import LONGEST_LEASE_S
from wattline.live.bus.names import checked_name, nodes_of
from wattline.live.bus.settings import BusSettings
from wattline.live.forms import Duration, Moment, Name, Power, Section, read_form
from wattline.live.machine.settings import ManagerSpec, find_manager, problems
from wattline.live.secret import handed_over
from wattline.live.signals.openadr import AdrSettings
from wattline.units import power_w

LEAST_CAPS_S = 0.01
"""Shortest period of the cap pass."""


class ControlSpec(Section):
    """How often what is done, and how long is waited."""

    period: Duration = 1.0
    caps: Duration = 0.25
    lease: Duration = 10.0
    start_late: Duration = 1.0
    start_patience: Duration = 30.0
    repeat: Duration = 2.0
    most_actions: int = Field(200, ge=1)
    silent: Duration = 5.0
    manager_silent: Duration = 15.0
    rows: int = Field(256, ge=16, le=10_000_000)


class GuardSpec(Section):
    """Hard rules."""

    hard: Power | None = None
    margin: Power = 0.0
    ramp_up: Power | None = None
    ramp_down: Power | None = None
    trust: Duration = 30.0


class SignalSpec(Section):
    """Where the signal comes from."""

    y: Literal["none", "file", "pushed"] = "none"
    file: str | None = None
    column: str | None = None
    step: Duration | None = None
    skip: Duration = 0.0
    start: Moment | None = None
    loop: bool = False
    stale: Duration = 10.0
    hold: Duration = 30.0
    ramp: Duration = 60.0
    back: Literal["ramp", "at once"] = "ramp"
    limit: Power | None = None
    least: Power = 0.0
    token: str | None = None
    listen: str = "127.0.0.1:8470"


class OpenAdrSpec(Section):
    """The VTN of OpenADR 2.0b whose events are load targets."""

    vtn: str
    ven: Name
    id: str | None = None
    cert: str | None = None
    key: str | None = None
    authority: str | None = None
    fingerprint: str | None = None
    poll: Duration | None = None
    silent: Duration = 60.0
    opt: Literal["auto", "out"] = "auto"
    missing: Literal["cancel", "keep"] = "cancel"
    levels: dict[str, str] | None = None
    baseline: Power | None = None
    longest: Duration = 86400.0


class BidSpec(Section):
    """A bid for the whole run, in the place of the scenario's."""

    mean: Power
    reserve: Power


class JournalSpec(Section):
    """What the run leaves."""

    dir: str
    checkpoint: Duration = 600.0
    seal: Duration = 3600.0
    keep_files: int = Field(0, ge=0)


class StatusSpec(Section):
    """The socket of ``wattline status``."""

    socket: str | None = None


class MetricsSpec(Section):
    """Where Prometheus asks."""

    listen: str | None = None


class LogsSpec(Section):
    """What is said."""

    form: Literal["json", "text"] = "text"
    level: Literal["debug", "info", "warning", "error"] = "info"
    file: str | None = None


class ClockSpec(Section):
    """The clock of an emulated machine."""

    speed: float = Field(1.0, gt=0.0, le=1000.0)
    origin: Moment | None = None


class SiteSpec(Section):
    """The whole file."""

    site: Name
    name: Name = "controller"
    scenario: str
    nodes: list[str] = Field(min_length=1)
    default_kind: str = ""
    control: ControlSpec = ControlSpec()
    guard: GuardSpec = GuardSpec()
    signal: SignalSpec = SignalSpec()
    openadr: OpenAdrSpec | None = None
    bid: BidSpec | None = None
    manager: ManagerSpec
    journal: JournalSpec
    status: StatusSpec = StatusSpec()
    metrics: MetricsSpec = MetricsSpec()
    logs: LogsSpec = LogsSpec()
    clock: ClockSpec = ClockSpec()
    bus: dict[str, Any]


def read_site(path: Path | str, name: str | None = None) -> SiteSpec:
    """Read and check a controller's file, for the controller of this name (None: the one that the file names)."""
    spec = read_form(path, SiteSpec, "the TOML file of a controller")
    if name is not None:
        spec = spec.model_copy(update={"name": checked_name(name)})
    control = spec.control
    if not LEAST_CAPS_S <= control.caps <= control.period:
        raise InputError(
            f"{path}: [control] caps: must be {LEAST_CAPS_S:g} s at least and at most a period ({control.period:g} s)"
        )
    if not 3.0 * control.period <= control.lease <= LONGEST_LEASE_S:
        raise InputError(
            f"{path}: [control] lease: must be three periods ({3 * control.period:g} s) at least "
            f"and at most {LONGEST_LEASE_S:g} s, which agents take"
        )
    for name in ("silent", "manager_silent", "start_late", "start_patience", "repeat"):
        if getattr(control, name) > LONGEST_LEASE_S:
            raise InputError(f"{path}: [control] {name}: must be {LONGEST_LEASE_S:g} s at most")
    if not spec.journal.dir:
        raise InputError(f"{path}: [journal] dir: is empty, name a folder")
    if spec.signal.y == "file" and spec.signal.file is None:
        raise InputError(f"{path}: [signal] file: is missing, the signal is to be read from it")
    for section, listen in (("signal", spec.signal.listen), ("metrics", spec.metrics.listen)):
        if listen is not None and _address(listen) is None:
            raise InputError(f"{path}: [{section}] listen: expected an address like 127.0.0.1:8470, got {listen!r}")
    _check_manager(path, spec)
    node_names(path, spec)
    bus_settings(path, spec)
    adr_settings(path, spec)
    adr_levels(path, spec, 1.0)
    return spec


def _check_manager(path: Path | str, spec: SiteSpec) -> None:
    """Refuse what the resource manager lacks, what is a key of another one, and a clock that it cannot follow."""
    kind = find_manager(spec.manager.kind)
    first = next(problems(spec.manager), None)
    if first is not None:
        raise InputError(f"{path}: [manager] {first[0]}: {first[1]}")
    if kind.by_the_wall and spec.clock.speed != 1.0:
        raise InputError(f"{path}: [clock] speed: must be 1 with {kind.words}, whose clock is the wall's")


def node_names(path: Path | str, spec: SiteSpec) -> tuple[str, ...]:
    """Return the names of the nodes in the order of their numbers."""
    names: list[str] = []
    for text in spec.nodes:
        try:
            names += nodes_of(text)
        except (InputError, ValueError) as problem:
            raise InputError(f"{path}: nodes: {problem}") from None
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f"{path}: nodes: {twice!r} is there twice")
    return tuple(names)


def _address(text: str) -> tuple[str, int] | None:
    host, _, port = text.rpartition(":")
    return (host, int(port)) if host and port.isdecimal() and 0 < int(port) < 65536 else None


def signal_door(spec: SiteSpec) -> tuple[str, int]:
    """Return host and port at which signals are pushed by HTTP."""
    found = _address(spec.signal.listen)
    if found is None:
        raise InputError(f"[signal] listen: expected an address like 127.0.0.1:8470, got {spec.signal.listen!r}")
    return found


def bus_settings(path: Path | str, spec: SiteSpec) -> BusSettings:
    """Return what [bus] says for this controller, with its files counted from the folder of the controller's file.

    ``{name}`` in the name of a file is the controller's; where ``listen`` has an address for each controller, each has
    its own, and those are also where one finds the others.
    """
    base = Path(path).resolve().parent
    files = ("key", "known", "password", "authority")
    table = {
        k: handed_over(base / v.replace("{name}", spec.name)) if k in files and isinstance(v, str) else v
        for k, v in spec.bus.items()
    }
    listen = table.get("listen")
    if isinstance(listen, dict):
        if spec.name not in listen:
            raise InputError(f"{path}: [bus] listen: has no address for the controller {spec.name!r}")
        table |= {"listen": listen[spec.name], "controllers": listen}
    elif isinstance(listen, str):
        table.setdefault("controllers", {spec.name: listen})
    try:
        found = BusSettings.model_validate({"site": spec.site, **table})
    except ValidationError as problem:
        detail = problem.errors(include_url=False)[0]
        key = ".".join(str(part) for part in detail["loc"])
        text = str(detail["msg"]).removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            text = f"unknown key{did_you_mean(key, list(BusSettings.model_fields))}"
        raise InputError(f"{path}: [bus] {key + ': ' if key else ''}{text}") from None
    if found.kind == "inprocess":
        raise InputError(f"{path}: [bus] kind: 'inprocess' is for tests, a controller needs zeromq or mqtt")
    if found.kind == "zeromq" and found.listen is None:
        raise InputError(f"{path}: [bus] listen: is missing, a controller listens, like tcp://127.0.0.1:7411")
    return found


def adr_settings(path: Path | str, spec: SiteSpec) -> AdrSettings | None:
    """Return what [openadr] says of the VTN; None where there is none."""
    adr, base = spec.openadr, Path(path).resolve().parent
    if adr is None:
        return None
    told = {key: getattr(adr, key) for key in ("cert", "key", "authority")}
    files = {key: None if name is None else handed_over(base / name) for key, name in told.items()}
    try:
        return AdrSettings(
            vtn=adr.vtn,
            ven=adr.ven,
            ven_id=adr.id,
            fingerprint=adr.fingerprint,
            poll_s=adr.poll,
            silent_s=adr.silent,
            missing=adr.missing,
            **files,
        )
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None


def adr_levels(path: Path | str, spec: SiteSpec, base_w: float) -> dict[int, float]:
    """Return the limits of SIMPLE's levels in watts: powers, or per cents of the site's own limit."""
    found: dict[int, float] = {}
    for name, text in ({} if spec.openadr is None else spec.openadr.levels or {}).items():
        number = text.removesuffix("%").strip() if text.endswith("%") else ""
        try:
            watts = base_w * float(number) / 100.0 if number else power_w(text)
        except (ValueError, InputError):
            watts = math.nan
        if name not in ("1", "2", "3") or not 0.0 <= watts < math.inf:
            raise InputError(
                f'{path}: [openadr] levels: expected like {{1 = "85 %", 2 = "6 kW"}} (1 to 3), got {name} = {text!r}'
            )
        found[int(name)] = watts
    return found


def or_infinite(value: float | None) -> float:
    """Return a number, infinity where there is none."""
    return math.inf if value is None else value
