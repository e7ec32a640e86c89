"""Which power hardware a node's file names, and how it is opened: what keeps the cap, GPUs, a second meter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from wattline.live.agent.beside import Beside
from wattline.live.bus.keys import read_secret
from wattline.live.bus.names import host_is_loopback
from wattline.live.clock import Clock
from wattline.live.forms import Duration, Section
from wattline.live.power.agreement import Trust
from wattline.live.power.base import Hardware, HardwareError, Reading
from wattline.live.power.behind import Behind
from wattline.live.power.dcmi import Dcmi
from wattline.live.power.nvml import Gpus
from wattline.live.power.powercap import Powercap
from wattline.live.power.redfish.hardware import Redfish
from wattline.live.power.redfish.service import Bmc, read_login
from wattline.live.power.second import Second
from wattline.live.power.server.model import ServerModel


def _url(text: str) -> str:
    parts = urlsplit(text)
    told = ""
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/"):
        told = f"expected an address like https://bmc-n001, got {text!r}"
    elif parts.scheme == "http" and not host_is_loopback(parts.hostname):
        told = f"{text!r} would send the password unprotected; use https"
    if told:
        raise PydanticCustomError("ours", "{text}", {"text": told})
    return text


def _path(text: str) -> str:
    if text and not text.startswith("/redfish/"):
        raise PydanticCustomError("ours", "{text}", {"text": f"expected a path like /redfish/v1/…, got {text!r}"})
    return text


def _asks(value: float) -> float:
    if not 0.2 <= value <= 60.0:
        raise PydanticCustomError("ours", "{text}", {"text": f"must be 0.2 s to 60 s, got {value:g} s"})
    return value


Asks = Annotated[Duration, AfterValidator(_asks)]


class RedfishSpec(Section):
    """A BMC, or a PDU, that speaks Redfish."""

    url: Annotated[str, AfterValidator(_url)]
    login: str
    auth: Literal["session", "basic"] = "session"
    chassis: str = Field("", pattern=r"^[A-Za-z0-9._~%-]*$")
    resource: Annotated[str, AfterValidator(_path)] = ""
    authority: str = ""
    verify: bool = True
    timeout: Asks = 3.0
    every: Asks = 2.0
    settle: Asks = 2.0
    correction: Duration | None = None


class DcmiSpec(Section):
    """A BMC that is asked by ipmitool."""

    command: list[str] = Field(["ipmitool"], min_length=1)
    timeout: Asks = 5.0
    every: Asks = 2.0
    correction: Duration | None = None
    sample: Duration | None = None


class GpusSpec(Section):
    """GPUs beside the packages."""

    limit: bool = False
    phi: float = Field(1.0, ge=0.5, le=2.0)


class MeterSpec(Section):
    """A second meter."""

    kind: Literal["redfish", "dcmi", "powercap"]
    share: float = Field(0.1, gt=0.0, lt=1.0)
    lasting: Duration = 30.0
    redfish: RedfishSpec | None = None
    dcmi: DcmiSpec = DcmiSpec()


@dataclass(frozen=True)
class PowerSettings:
    """The power hardware of a node, as its file names it."""

    kind: Literal["powercap", "redfish", "dcmi"]
    base: Path
    """Folder of relative paths."""
    redfish: RedfishSpec | None
    dcmi: DcmiSpec
    gpus: GpusSpec | None
    meter: MeterSpec | None

    def mistake(self) -> str:
        """Return what does not go together, with its key ("": nothing)."""
        if self.kind == "redfish" and self.redfish is None:
            return '[redfish]: is missing, and hardware is "redfish"'
        if self.gpus is not None and self.kind != "powercap":
            return f"[gpus]: the limit and the reading of {self.kind} are of the whole server, GPUs included; remove it"
        if self.meter is None:
            return ""
        if self.meter.kind == "redfish" and self.meter.redfish is None:
            return '[meter.redfish]: is missing, and the kind of [meter] is "redfish"'
        if self.meter.kind == self.kind and (self.kind != "redfish" or self._same_bmc()):
            return f"[meter] kind: {self.kind} is the first meter already; a second one must be independent of it"
        return ""

    def _same_bmc(self) -> bool:
        ours, theirs = self.redfish, self.meter.redfish if self.meter is not None else None
        return ours is not None and theirs is not None and (ours.url, ours.resource) == (theirs.url, theirs.resource)

    @property
    def uses_model(self) -> bool:
        """Whether the power of the server is worked out from that of its packages."""
        return self.kind == "powercap" or (self.meter is not None and self.meter.kind == "powercap")


@dataclass(frozen=True)
class Place:
    """What opening hardware needs to know about a node."""

    name: str
    powercap: str
    min_w: float
    max_w: float
    model: ServerModel
    memory_w: float

    def server_w(self, reading: Reading) -> float:
        """Return the power of the server by a reading."""
        if math.isfinite(reading.server_w):
            return reading.server_w
        memory_w = reading.memory_w if math.isfinite(reading.memory_w) else self.memory_w
        return self.model.server_w(reading.cpu_w, memory_w)


def open_hardware(power: PowerSettings, place: Place, clock: Clock) -> tuple[Hardware, Beside]:
    """Open what keeps the cap of a node, and what is beside it; nothing is changed."""
    hardware: Hardware = open_limits(power, place)
    gpus: Gpus | None = None
    try:
        if power.gpus is not None:
            gpus = Gpus(limits=power.gpus.limit)
        if hardware.whole_server:
            hardware = Behind(hardware, clock)
    except BaseException:
        hardware.close()
        raise
    meter = power.meter
    if meter is None:
        return hardware, Beside(gpus=gpus, phi=1.0 if power.gpus is None else power.gpus.phi)
    second = Second(lambda: open_meter(power, place), place.server_w, _every_s(meter), clock)
    trust = Trust(meter.share, meter.lasting)
    return hardware, Beside(gpus=gpus, phi=1.0 if power.gpus is None else power.gpus.phi, second=second, trust=trust)


def open_limits(power: PowerSettings, place: Place) -> Hardware:
    """Open what keeps the cap of a node, to be asked by who waits for it."""
    if power.kind == "redfish" and power.redfish is not None:
        return _redfish(power.redfish, power.base, place, needs_limit=True)
    if power.kind == "dcmi":
        return _dcmi(power.dcmi, place, needs_limit=True)
    found = Powercap(place.powercap)
    if not found.limited:
        raise HardwareError(
            f"{place.powercap}: its packages take no limits, so that no cap can be kept; use the BMC "
            '(hardware = "redfish" or "dcmi")'
        )
    found.try_limits()
    return found


def open_meter(power: PowerSettings, place: Place) -> Hardware:
    """Open the second meter."""
    meter = power.meter
    if meter is not None and meter.kind == "redfish" and meter.redfish is not None:
        return _redfish(meter.redfish, power.base, place, needs_limit=False)
    if meter is not None and meter.kind == "dcmi":
        return _dcmi(meter.dcmi, place, needs_limit=False)
    return Powercap(place.powercap)


def _every_s(meter: MeterSpec) -> float:
    if meter.kind == "redfish" and meter.redfish is not None:
        return meter.redfish.every
    return meter.dcmi.every if meter.kind == "dcmi" else 1.0


def _redfish(spec: RedfishSpec, base: Path, place: Place, *, needs_limit: bool) -> Redfish:
    in_place: Callable[[str], str] = lambda text: text.replace("{node}", place.name)  # noqa: E731
    login = base / in_place(spec.login)
    user, password = read_login(read_secret(login), login)
    bmc = Bmc(
        in_place(spec.url),
        user=user,
        password=password,
        auth=spec.auth,
        authority=str(base / in_place(spec.authority)) if spec.authority else "",
        verify=spec.verify,
        timeout_s=spec.timeout,
    )
    return Redfish(
        bmc,
        chassis=spec.chassis,
        resource=in_place(spec.resource),
        least_w=place.min_w,
        most_w=place.max_w,
        settle_s=spec.settle,
        correction_ms=math.nan if spec.correction is None else 1e3 * spec.correction,
        every_s=spec.every,
        needs_limit=needs_limit,
    )


def _dcmi(spec: DcmiSpec, place: Place, *, needs_limit: bool) -> Dcmi:
    return Dcmi(
        [word.replace("{node}", place.name) for word in spec.command],
        least_w=place.min_w,
        most_w=place.max_w,
        correction_ms=math.nan if spec.correction is None else 1e3 * spec.correction,
        sample_s=math.nan if spec.sample is None else spec.sample,
        every_s=spec.every,
        timeout_s=spec.timeout,
        needs_limit=needs_limit,
    )
