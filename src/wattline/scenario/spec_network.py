"""What a scenario may say about the network between the nodes, and about what jobs send over it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wattline.model.networks import KINDS, find_network
from wattline.scenario.quantities import Bandwidth, DataRate, Finite, Name, Period, Words
from wattline.scenario.section import Section

Topology = Annotated[str, Words(", ".join(find_network(kind).meaning() for kind in KINDS))]


class SenderSpec(Section):
    """What jobs of a kind send while they run."""

    kind: Name = Field(description="name of the kind, as jobs have it")
    traffic: DataRate = Field(0.0, description="bytes that each of their nodes sends a second")
    sensitive: bool = Field(
        False,  # noqa: FBT003
        description="whether they suffer from others' traffic: more than 5 % of the time in collectives, or mostly waiting in MPI",
    )
    share: Finite = Field(
        0.0,
        ge=0,
        le=1,
        description="part of their time that they communicate, nobody in the way; above 0, their speed depends on where they and others run",
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
