"""What a plan file may say: a power budget, two kinds of node, what they cost, and applications."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wattline.scenario.quantities import Count, Finite, Name, Power
from wattline.scenario.section import Section

Share = Annotated[float, Field(gt=0.0, le=1.0)]
Money = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class HighEndSpec(Section):
    """The fast node, of which the power budget feeds only so many at their most."""

    max: Power = Field(description="what a node draws at most, by the TDP of its parts (P_n_max)")
    faster: Finite = Field(ge=0.0, description="advantage over the older node, 0.27 for 27 % (r_p)")
    price: Money | None = Field(None, description="price of a node")
    use: Share = Field(1.0, description="mean power of the machine over the most that it may draw, for its electricity")


class OlderSpec(Section):
    """The cheaper node, of which more share the same power."""

    min: Power = Field(description="what a node draws at least, idle (P_n_min)")
    price: Money | None = Field(None, description="price of a node")
    use: Share = Field(1.0, description="mean power of the machine over the budget, for its electricity")


class RackSpec(Section):
    """Racks and switches; both machines use the same ones."""

    nodes: Count = Field(description="nodes that a rack holds")
    price: Amount = Field(description="price of an empty rack with its switch and power supplies")
    top_racks: int = Field(
        0, ge=0, description="racks that one more switch joins, from the second rack on (0: none is needed)"
    )
    top_price: Amount = Field(0.0, description="price of such a switch")


class LifeSpec(Section):
    """What the machines cost after they are bought."""

    years: Money = Field(description="years in use")
    electricity: Amount = Field(0.0, description="price of a kWh")
    pue: float = Field(1.0, ge=1.0, le=5.0, description="power of the site, with cooling, over that of the nodes")
    maintenance: Amount = Field(0.0, description="yearly maintenance and support, as a share of the purchase")


class ApplicationSpec(Section):
    """An application: a line in the number of older nodes, or a measured table."""

    name: Name = Field(description="name")
    weight: Amount = Field(1.0, description="share of the high-end machine's time; any unit")
    slope: Finite | None = Field(None, description="seconds that one more node adds; negative: it saves (m)")
    intercept: Finite | None = Field(None, description="seconds at no nodes (c)")
    most_nodes: int = Field(
        0,
        ge=0,
        description="nodes up to which the line holds; more nodes gain nothing (0: no end, of a table: its last)",
    )
    table: str | None = Field(None, description="measured configurations, relative to the plan file")
    app: str | None = Field(None, description="application in the table (default: the only one, or the name)")
    law: Literal["measured", "line"] = Field(
        "measured", description="of a table: its times themselves, or a line fitted through the best by nodes"
    )
    least_nodes: Count = Field(1, description="of a table: leave out smaller node counts")
    base: Power = Field(0.0, description="what a node draws beside the power in the table")
    reduce: Literal["median", "min"] = Field("median", description="of a table: time over trials")
    sockets: Count = Field(2, description="of a table: sockets of a node, to check its powers")
    memory: Power = Field(30.0, description="of a table: what the memory of a socket draws at most, beside its cap")


class PlanSpec(Section):
    """A plan."""

    name: Name = Field("plan", description="name")
    power: Power = Field(description="power budget of the computing nodes (P_sys)")
    cost_ratio: Money | None = Field(
        None, description="price of a high-end node over that of an older one (r_c), instead of prices"
    )
    reading: Literal["time", "speed"] = Field(
        "time", description='`"time"`: 27 % faster is 0.73 of the time, as published; `"speed"`: 1/1.27 of it'
    )
    high_end: HighEndSpec = Field(description="the fast node")
    older: OlderSpec = Field(description="the cheaper node")
    rack: RackSpec | None = Field(None, description="racks")
    life: LifeSpec | None = Field(None, description="life")
    application: list[ApplicationSpec] = Field(min_length=1, description="applications")
