"""[policy]: the policies that decide, slot by slot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from wattline.control.catalog import find
from wattline.scenario.read.base import KeyPath, Problem, Section
from wattline.scenario.read.quantities import Words
from wattline.scenario.read.source import Context

if TYPE_CHECKING:
    from wattline.model.cluster import Cluster
    from wattline.model.jobs import JobTable
    from wattline.model.mechanism import Mechanism
    from wattline.wiring.policies import Policies

Handed = Mapping[tuple[str, str], "Mechanism"]
"""(slot, name) → policy that a program hands over as an object."""

SLOTS = ("order", "select", "place", "cap", "learn", "profile", "bid")


class MechanismSpec(Section):
    """One policy: its name or path and its parameters."""

    name: str
    params: dict[str, float] = Field(default_factory=dict)


def _mechanisms(value: Any) -> Any:
    """Normalise a name, a table with a name, or a list of these."""
    items = value if isinstance(value, list) else [value]
    out: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, str):
            out.append({"name": item})
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            out.append({"name": item["name"], "params": {k: v for k, v in item.items() if k != "name"}})
        elif isinstance(item, MechanismSpec):
            out.append({"name": item.name, "params": item.params})
        else:
            raise PydanticCustomError("policy", "{text}", {"text": f"expected a policy's name, got {item!r}"})
    if not out:
        raise PydanticCustomError("policy", "{text}", {"text": "expected at least one policy, got an empty list"})
    return out


Mechanisms = Annotated[
    list[MechanismSpec],
    BeforeValidator(_mechanisms),
    Words(
        "name, path of a `.py` file (`file.py` or `file.py:name`), table `{name = …, parameter = …}`, or a list to "
        "compare"
    ),
]


def _default(name: str) -> Any:
    return lambda: [MechanismSpec(name=name)]


class PolicySpec(Section):
    """The policies that decide. A list of policies in a slot makes a scenario to `compare`."""

    order: Mechanisms = Field(default_factory=_default("fcfs"), description="order of the queue")
    select: Mechanisms = Field(default_factory=_default("easy"), description="which waiting jobs start")
    place: Mechanisms = Field(default_factory=_default("lowest"), description="on which nodes")
    cap: Mechanisms = Field(default_factory=_default("none"), description="caps and speeds")
    learn: Mechanisms = Field(default_factory=_default("request"), description="estimates of run times")
    profile: Mechanisms = Field(
        default_factory=_default("known"), description="the power of jobs that admission counts with"
    )
    bid: Mechanisms = Field(
        default_factory=_default("given"),
        description="what to promise the grid every hour (`given`: as [regulation] says)",
    )

    @property
    def makes_bids(self) -> bool:
        """Whether the (first) bid policy makes bids, instead of taking those of [regulation]."""
        return self.bid[0].name != "given"

    @property
    def learns_power(self) -> bool:
        """Whether some profile policy learns what jobs draw."""
        return any(m.name not in ("known", "maximum", "measured", "oracle") for m in self.profile)


def check_policy(spec: PolicySpec, *, regulated: bool) -> Iterator[Problem]:
    """Yield bid policies without a market to bid in."""
    if not regulated and any(pick.name != "given" for pick in spec.bid):
        yield ("policy", "bid"), "bids need a market: add [regulation]"


def build_policies(spec: PolicySpec, context: Context, handed: Handed, prices: Mapping[str, float]) -> Policies:
    """Find the first policy of every slot and check its parameters.

    A bid policy that takes prices as parameters is given those of the market, ``prices`` in $/kWh by name.
    """
    from wattline.wiring.policies import Policies

    chosen: dict[str, Any] = {}
    params: dict[str, Mapping[str, float]] = {}
    for slot in SLOTS:
        pick = getattr(spec, slot)[0]
        mechanism = find_policy(context, handed, ("policy", slot), slot, pick.name)
        context.located(("policy", slot), mechanism.values, pick.params)
        known = {name: price for name, price in prices.items() if slot == "bid" and name in mechanism.params}
        chosen[slot], params[slot] = mechanism, known | pick.params
    return Policies(**chosen, params=params)


def find_policy(context: Context, handed: Handed, path: KeyPath, slot: str, name: str) -> Mechanism:
    """Return a policy that a key names: one that was handed over, a built-in one, or that of a file."""
    if (slot, name) in handed:
        return handed[slot, name]
    found: Mechanism = context.located(path, find, slot, name, base=context.base)
    return found


def check_caps(spec: PolicySpec, context: Context, cluster: Cluster, jobs: JobTable) -> None:
    """Refuse a cap policy that lowers caps where no job can be capped."""
    rigid = all(math.isnan(c.min_cap_w) for c in cluster.classes) and bool(np.all(np.isnan(jobs.floor_w)))
    if rigid and any(m.name == "under-limit" for m in spec.cap):
        told = "'under-limit' lowers caps, but no job can be capped: give min_cap in [cluster], or the jobs a floor"
        raise context.error(("policy", "cap"), told)
