"""[network]: the network between the nodes, and what jobs send over it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from wattline.model.communication import Communication
from wattline.model.networks import KINDS, find_network, parse_network
from wattline.model.networks.base import Network
from wattline.scenario.read.base import Section
from wattline.scenario.read.quantities import Bandwidth, DataRate, Finite, Name, Period, Words
from wattline.scenario.read.source import Context
from wattline.wiring.options import Options

Topology = Annotated[str, Words(", ".join(find_network(kind).meaning() for kind in KINDS))]


class SenderSpec(Section):
    """What jobs of a kind send while they run."""

    kind: Name = Field(description="name of the kind, as jobs have it")
    traffic: DataRate = Field(0.0, description="bytes that each of their nodes sends a second")
    sensitive: bool = Field(
        False,  # noqa: FBT003
        description="whether they suffer from others' traffic: more than 5 % of the time in collectives, or mostly "
        "waiting in MPI",
    )
    share: Finite = Field(
        0.0,
        ge=0,
        le=1,
        description="part of their time that they communicate, nobody in the way; above 0, their speed depends on "
        "where they and others run",
    )
    pattern: str = Field("all-to-all", description="how they communicate; `wattline network check` uses it")


class NetworkSpec(Section):
    """The network between the nodes: node *n* hangs on port *n*; ports beyond the last node stay empty."""

    topology: Topology = Field(description="its kind and size")
    local: Bandwidth | None = Field(None, description="links inside a group (default 8 Gbit/s)")
    global_: Bandwidth | None = Field(
        None, alias="global", description="links between groups of a dragonfly (default 8 Gbit/s)"
    )
    spine: Bandwidth | None = Field(None, description="links between leaves and spines (default 8 Gbit/s)")
    host: Bandwidth | None = Field(None, description="links of nodes (default 8 Gbit/s)")
    window: Period = Field(60.0, description="time over which the traffic of routers is counted")
    job: list[SenderSpec] = Field(default_factory=list, description="what jobs send, by their kinds")


def build_network(spec: NetworkSpec | None, context: Context) -> Network | None:
    """Return the network of the machine, if the scenario has one."""
    if spec is None:
        return None
    keys = {"local_bps": spec.local, "global_bps": spec.global_, "spine_bps": spec.spine, "host_bps": spec.host}
    given = {name: bps for name, bps in keys.items() if bps is not None}
    network: Network = context.located(("network", "topology"), parse_network, spec.topology, given)
    return network


def add_network(options: Options, spec: NetworkSpec | None, context: Context) -> Options:
    """Return options with what jobs send, by their kinds."""
    if spec is None:
        return options
    sent = [
        context.located(
            ("network", "job", i),
            Communication,
            sender.kind,
            sender.traffic,
            sender.sensitive,
            sender.share,
            sender.pattern,
        )
        for i, sender in enumerate(spec.job)
    ]
    return replace(options, communication=tuple(sent), traffic_s=spec.window)
