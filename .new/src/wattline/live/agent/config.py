"""The file of an agent: what it may do on this node whatever the network says, whom it hears, how it controls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from wattline.errors import InputError
from wattline.live.agent.hardware import DcmiSpec, GpusSpec, MeterSpec, PowerSettings, RedfishSpec
from wattline.live.forms import Duration, Moment, Name, Power, Section, read_form
from wattline.live.power.powercap import ROOT
from wattline.live.power.server.model import ServerModel, checked, profile
from wattline.live.power.server.pid import Gains

PERIODS_S = (0.05, 60.0)
METERED = ServerModel("none", 1.0, 0.0, 0.0, "the power of the whole server is metered and limited")


class NodeSpec(Section):
    """A node and its own bounds."""

    name: Name
    hardware: Literal["powercap", "redfish", "dcmi"] = "powercap"
    powercap: str = ROOT
    safe: Power
    min: Power
    max: Power
    profile: str = ""


class ModelSpec(Section):
    """The server model."""

    profile: str = ""
    phi_1: float = math.nan
    phi_2: float = math.nan
    phi_3: Power = math.nan
    memory: Power = 20.0


class PidSpec(Section):
    """The PID."""

    kp: float = Field(0.0, ge=0.0, le=10.0)
    ki: float = Field(0.4, ge=0.0, le=10.0)
    kd: float = Field(0.0, ge=0.0, le=10.0)
    reach: Power = 60.0
    lag: Duration = 0.3


class MetricsSpec(Section):
    """Where Prometheus asks."""

    listen: str | None = None


class ClockSpec(Section):
    """The clock of an emulated machine."""

    speed: float = Field(1.0, gt=0.0, le=1000.0)
    origin: Moment | None = None


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


class AgentSpec(Section):
    """The whole file."""

    site: Name
    run_dir: str = "/run/wattline"
    period: Duration = 1.0
    longest_lease: Duration = 60.0
    start: Literal["safe", "free"] = "safe"
    controllers: list[Name] = Field(default_factory=list)
    operators: list[Name] = Field(default_factory=list)
    jobs: str = ""
    node: Annotated[list[NodeSpec], BeforeValidator(_as_list), Field(min_length=1)]
    model: ModelSpec = ModelSpec()
    pid: PidSpec = PidSpec()
    clock: ClockSpec = ClockSpec()
    metrics: MetricsSpec = MetricsSpec()
    redfish: RedfishSpec | None = None
    dcmi: DcmiSpec = DcmiSpec()
    gpus: GpusSpec | None = None
    meter: MeterSpec | None = None
    bus: dict[str, Any] | None = None


@dataclass(frozen=True)
class NodeSettings:
    """All that the agent of one node is told."""

    name: str
    power: PowerSettings
    """Which hardware keeps its cap, and what is beside it."""
    powercap: str
    safe_w: float
    min_w: float
    max_w: float
    """Bounds and safe cap are watts of the whole server."""
    model: ServerModel
    memory_w: float
    """Power of the memory where the hardware does not tell it."""
    gains: Gains
    reach_w: float
    lag_s: float
    period_s: float
    longest_lease_s: float
    starts_free: bool
    run_dir: Path


@dataclass(frozen=True)
class AgentSettings:
    """All that an agent's file says."""

    file: str
    site: str
    nodes: tuple[NodeSettings, ...]
    controllers: tuple[str, ...]
    operators: tuple[str, ...]
    jobs: Path | Literal["slurm"] | None
    speed: float
    origin_s: float
    bus: dict[str, Any] | None
    metrics: str | None = None
    """Address on which Prometheus asks; none: nobody does."""


def read_settings(path: Path | str) -> AgentSettings:
    """Read and check an agent's file; paths in it are relative to its folder."""
    spec = read_form(path, AgentSpec, "the TOML file of an agent")
    base = Path(path).resolve().parent
    if not PERIODS_S[0] <= spec.period <= PERIODS_S[1]:
        raise InputError(f"{path}: period: must be {PERIODS_S[0]:g} s to {PERIODS_S[1]:g} s, got {spec.period:g} s")
    if spec.longest_lease < spec.period:
        raise InputError(f"{path}: longest_lease: must be a period ({spec.period:g} s) at least")
    names = [node.name for node in spec.node]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: [[node]] name: {twice!r} is there twice")
    if spec.metrics.listen is not None and len(names) > 1:
        raise InputError(f"{path}: [metrics] listen: metrics are of one node, and this file has {len(names)}")
    if spec.gpus is not None and len(names) > 1:
        raise InputError(f"{path}: [gpus]: they are of one node, and this file has {len(names)}")
    nodes = tuple(_node(path, base, spec, node) for node in spec.node)
    origin_s = math.nan if spec.clock.origin is None else spec.clock.origin
    jobs: Path | Literal["slurm"] | None = base / spec.jobs if spec.jobs else None
    if spec.jobs == "slurm":
        jobs = "slurm"
    return AgentSettings(
        file=str(path),
        site=spec.site,
        nodes=nodes,
        controllers=tuple(spec.controllers),
        operators=tuple(spec.operators),
        jobs=jobs,
        speed=spec.clock.speed,
        origin_s=origin_s,
        bus=spec.bus,
        metrics=spec.metrics.listen,
    )


def _node(path: Path | str, base: Path, spec: AgentSpec, node: NodeSpec) -> NodeSettings:
    where = f"{path}: [node] {node.name}"
    if not 0.0 < node.min <= node.safe <= node.max:
        raise InputError(
            f"{where}: expected 0 < min <= safe <= max, got {node.min:g} W, {node.safe:g} W and {node.max:g} W"
        )
    power = PowerSettings(node.hardware, base, spec.redfish, spec.dcmi, spec.gpus, spec.meter)
    problem = power.mistake()
    if problem:
        raise InputError(f"{path}: {problem}")
    model = _model(path, base, spec.model, node.profile, needed=power.uses_model)
    least_w = model.server_w(0.0, 0.0)
    if power.kind == "powercap" and node.min <= least_w:
        raise InputError(
            f"{where}: min: a server without processor power draws {least_w:g} W by its model, no limit of the "
            f"processors keeps it under {node.min:g} W; use more"
        )
    pid = spec.pid
    return NodeSettings(
        name=node.name,
        power=power,
        powercap=str(base / node.powercap),
        safe_w=node.safe,
        min_w=node.min,
        max_w=node.max,
        model=model,
        memory_w=spec.model.memory,
        gains=Gains(pid.kp, pid.ki, pid.kd),
        reach_w=pid.reach,
        lag_s=pid.lag,
        period_s=spec.period,
        longest_lease_s=spec.longest_lease,
        starts_free=spec.start == "free",
        run_dir=base / spec.run_dir,
    )


def _model(path: Path | str, base: Path, spec: ModelSpec, own: str, *, needed: bool) -> ServerModel:
    given = [value for value in (spec.phi_1, spec.phi_2, spec.phi_3) if not math.isnan(value)]
    name = own or spec.profile
    if not (name or given or needed):
        return METERED
    if own or (name and not given):
        try:
            return profile(name, base)
        except InputError as problem:
            raise InputError(f"{path}: [model] profile: {problem}") from None
    if name or len(given) != 3:
        raise InputError(f"{path}: [model]: expected a profile, or phi_1, phi_2 and phi_3")
    return checked(ServerModel("own", spec.phi_1, spec.phi_2, spec.phi_3), f"{path}: [model]")
