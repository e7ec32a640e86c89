"""From [network] to the network and to what jobs send over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattline.scenario.read import Document

if TYPE_CHECKING:
    from wattline.model.communication import Communication
    from wattline.model.networks.base import Network


def build_network(document: Document) -> Network | None:
    """Return the network of the machine, if the scenario has one."""
    from wattline.model.networks import parse_network

    spec = document.spec.network
    if spec is None:
        return None
    keys = {"local_bps": spec.local, "global_bps": spec.global_, "spine_bps": spec.spine, "host_bps": spec.host}
    given = {name: bps for name, bps in keys.items() if bps is not None}
    network: Network = document.located(("network", "topology"), parse_network, spec.topology, given)
    return network


def build_communication(document: Document) -> tuple[Communication, ...]:
    """Return what jobs send, by their kinds."""
    from wattline.model.communication import Communication

    spec = document.spec.network
    if spec is None:
        return ()
    return tuple(
        document.located(
            ("network", "job", i),
            Communication,
            sender.kind,
            sender.traffic,
            sender.sensitive,
            sender.share,
            sender.pattern,
        )
        for i, sender in enumerate(spec.job)
    )
