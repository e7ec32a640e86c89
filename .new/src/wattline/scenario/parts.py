"""Parts of a scenario that many ask for, each built of the sections that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattline.files import in_this_folder
from wattline.scenario.documents import Document
from wattline.scenario.sections import kinds, policy
from wattline.scenario.sections.network import build_network

if TYPE_CHECKING:
    from wattline.model.kinds import Kind
    from wattline.model.mechanism import Mechanism
    from wattline.wiring.policies import Policies


def cluster_nodes(document: Document) -> int | None:
    """Return the number of nodes that the scenario states, if it does."""
    stated = document.spec.cluster.stated_nodes
    if stated is not None:
        return stated
    network = build_network(document.spec.network, document.context)
    return None if network is None else network.nodes


def build_kinds(document: Document, nodes: int | None) -> tuple[Kind, ...]:
    """Return the kinds of job of a machine of so many nodes, if they are known."""
    spec = document.spec
    return kinds.build_kinds(spec.kinds, spec.kind, document.context, spec.trace, spec.cluster, nodes)


def build_policies(document: Document) -> Policies:
    """Find the policy of every slot and check its parameters."""
    spec = document.spec
    prices = {} if spec.regulation is None else spec.regulation.prices.model_dump()
    with in_this_folder():
        return policy.build_policies(spec.policy, document.context, document.given.policies, prices)


def baseline_select(document: Document) -> Mechanism | None:
    """Return the select policy of the run in no market, if there is to be one."""
    asked = document.spec.regulation
    if asked is None or asked.baseline is None:
        return None
    here = ("regulation", "baseline")
    return policy.find_policy(document.context, document.given.policies, here, "select", asked.baseline)
