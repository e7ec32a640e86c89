"""Lay out the network, and what jobs send over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import InputError, did_you_mean
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.networks.base import Network
from wattline.model.state.record import State

if TYPE_CHECKING:
    from wattline.wiring.options import Options

GIVE_NETWORK = "topology in [network], or --network, like dragonfly:4x4x17"


def check_network(cluster: Cluster, policies: Sequence[Mechanism], options: Options) -> None:
    """Refuse policies that ask for what is not known of the network."""
    network = cluster.network
    for m in policies:
        who = f"{m.slot} policy {m.called!r}"
        if m.network and network is None:
            raise InputError(f"{who} looks at the network: give the cluster one ({GIVE_NETWORK})")
        if m.traffic and not any(sent.bytes_per_s > 0 for sent in options.communication):
            raise InputError(f"{who} goes by the traffic of routers: say what kinds of job send ([[network.job]])")
        if m.stalls and not len(options.router_stalls):
            raise InputError(f"{who} goes by the stalls of routers, and nobody counts them in a simulated run")
        if m.links and network is not None and not network.has_links:
            raise InputError(f"{who} goes by the loads of links, and a {network.kind} network has none")
        if m.links and not any(sent.share > 0 for sent in options.communication):
            raise InputError(
                f"{who} goes by the loads of links: say what kinds of job send, and in which share of their time "
                "([[network.job]])"
            )
    names = [sent.kind for sent in options.communication]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"what jobs of kind {twice!r} send is given twice")
    if names and network is None:
        raise InputError(f"jobs send, but over no network: give the cluster one ({GIVE_NETWORK})")
    if names and not 0 < options.traffic_s < np.inf:
        raise InputError(f"traffic is counted over a window above 0, got {options.traffic_s:g} s")
    if network is not None:
        _check_neighbours(network, policies, options)
    if network is not None and len(options.router_stalls) not in (0, network.routers):
        raise InputError(
            f"stalls of {len(options.router_stalls)} routers are given, the {network.kind} has {network.routers}"
        )


def neighbour_sizes(jobs: JobTable, cluster: Cluster, options: Options) -> dict[str, int]:
    """Return the sizes of what is kept about links, where speeds depend on them."""
    network = cluster.network
    if network is None or not network.has_links or not any(sent.share > 0 for sent in options.communication):
        return {}
    from wattline.physics.link_loads import link_sizes

    return link_sizes(network, cluster.nodes, len(jobs) + options.spare_rows)


def _check_neighbours(network: Network, policies: Sequence[Mechanism], options: Options) -> None:
    """Refuse rates that no link of a node carries, and policies that slow jobs down by caps beside the network."""
    from wattline.physics.packets.jobs import PATTERNS

    host_bps = network.host_bandwidth_bps
    for sent in options.communication:
        if sent.pattern not in PATTERNS:
            raise InputError(
                f"jobs of kind {sent.kind!r} communicate in an unknown pattern "
                f"{sent.pattern!r}{did_you_mean(sent.pattern, PATTERNS)}"
            )
        if sent.share > 0 and 8 * sent.bytes_per_s > sent.share * host_bps * (1 + 1e-9):
            raise InputError(
                f"a node of kind {sent.kind!r} sends {sent.bytes_per_s / 1e6:g} MB/s, all in {sent.share:g} of its "
                "time: more "
                f"than its link's {host_bps / 8e6:g} MB/s; raise share or lower traffic"
            )
    for m in policies:
        if (m.caps or m.solo_caps or m.recaps) and any(sent.share > 0 for sent in options.communication):
            raise InputError(
                f"{m.slot} policy {m.called!r} sets caps, and the speed of jobs depends on the network (share in "
                "[[network.job]]): use one of the two"
            )


def fill_network(s: State, jobs: JobTable, cluster: Cluster, options: Options) -> None:
    """Write who hangs on whom, and what the nodes of every job send."""
    s.net[:] = (cluster.nodes, 1, 1)
    network = cluster.network
    if network is None:
        return
    s.net[:] = (network.nodes_per_router, network.routers_per_group, network.groups)
    if len(options.router_stalls):
        s.r_stalls[:] = options.router_stalls
    if not options.communication:
        return
    s.traffic_s[0] = options.traffic_s
    s.r_time_s[:] = s.start_s[0]
    known = {sent.kind: sent for sent in options.communication}
    sends = [round(known[name].bytes_per_s) if name in known else 0 for name in jobs.kinds]
    suffers = [int(known[name].sensitive) if name in known else 0 for name in jobs.kinds]
    at = np.where(jobs.kind >= 0, jobs.kind, len(jobs.kinds))
    s.traffic[: len(jobs)] = np.array([*sends, 0], dtype=np.int64)[at]
    s.sensitive[: len(jobs)] = np.array([*suffers, 0], dtype=np.int64)[at]
    if s.n_load.shape[0] > 0:
        shares = [known[name].share if name in known else 0.0 for name in jobs.kinds]
        s.comm[: len(jobs)] = np.array([*shares, 0.0])[at]
        from wattline.physics.link_loads import lay_out_links

        lay_out_links(s, network)
