"""The conformance check of kinds of network: text, sizes, distances, and links that agree with each other."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.model.networks import KINDS, from_entry, network_entry, network_text, parse_network
from wattline.model.networks.base import Network
from wattline.physics.link_loads import capacities, link_shares
from wattline.physics.network_facts import mean_links
from wattline.testing.report import CheckError, Report, Row

SLACK = 1e-9
"""Relative difference that sums in another order may make."""
JOBS = 20
"""Jobs on random nodes that are tried."""


def check_text(network: Network) -> None:
    """A network can be written and read again, with its bandwidths; wrong texts are refused in one line."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", network.kind):
        raise CheckError(f"its kind {network.kind!r} is not made of lower-case letters, digits and hyphens")
    if network.kind not in KINDS:
        raise CheckError(f"its kind {network.kind!r} is none of the files of wattline.model.networks")
    if from_entry(network_entry(network)) != network:
        raise CheckError(f"its text {network_text(network)!r} with its bandwidths is read as another network")
    parse_network(network.example)
    too_many = "x".join(["1"] * (len(network.sizes) + len(network.further) + 1))
    for rest in ("", "0", "x", "-1", too_many, "x".join(["99999999"] * 9)):
        _refuses(f"{network.kind}:{rest}")
    _refuses(f"{network_text(replace(network))}:nonsense")
    for name in network.bandwidths:
        if not name.endswith("_bps"):
            raise CheckError(f"the name of the bandwidth {name!r} does not end in _bps")
        for bps in (0.0, -1.0, math.nan, math.inf):
            _refuses(network_text(network), **{name: bps})


def _refuses(text: str, **bandwidths: float) -> None:
    try:
        parse_network(text, bandwidths)
    except InputError as problem:
        if "\n" in str(problem):
            raise CheckError(f"the error about {text!r} is not one line") from None
    else:
        raise CheckError(f"{text!r} {bandwidths or ''} is accepted")


def check_sizes(network: Network) -> None:
    """Nodes are groups of routers of nodes, and facts count at least the routers that nodes hang on."""
    sizes = network.nodes_per_router, network.routers_per_group, network.groups
    if network.nodes != math.prod(sizes):
        raise CheckError(f"it has {network.nodes} nodes, not {' x '.join(map(str, sizes))}")
    if network.facts().routers < network.routers:
        raise CheckError(f"its facts count {network.facts().routers} routers, nodes hang on {network.routers}")


def check_distances(network: Network) -> None:
    """Distances are whole where there is one way, the same both ways, 0 on one router; those of all nodes have the mean
    that facts say.
    """
    facts = network.facts()
    everybody = mean_links(network, np.arange(network.nodes))
    if not math.isclose(everybody, facts.mean_links, rel_tol=SLACK, abs_tol=SLACK):
        raise CheckError(f"nodes are {everybody:g} links apart in the mean, its facts say {facts.mean_links:g}")
    gates = network.link_tables().gate
    one_way = gates.size == 0 or gates.shape[1] == network.groups
    for pair in _pairs(network):
        far = mean_links(network, pair)
        odd = far != mean_links(network, pair[::-1]) or (one_way and far != round(far))
        if odd or not 0 <= far <= facts.most_links:
            raise CheckError(f"nodes {pair[0]} and {pair[1]} are {far:g} links apart, at most {facts.most_links}")
        if network.router_of(int(pair[0])) == network.router_of(int(pair[1])) and far:
            raise CheckError(f"nodes {pair[0]} and {pair[1]} of one router are {far:g} links apart")


def check_bounds(network: Network) -> None:
    """Bandwidths and bounds are above 0."""
    facts = network.facts()
    if not facts.bisection_bps >= 0 or not network.host_bandwidth_bps > 0:
        raise CheckError("its bisection or the bandwidth of its nodes is below 0")
    for name in ("uniform_local", "uniform_global", "adversarial"):
        bound = getattr(facts, name)
        if bound is not None and not 0 < bound < math.inf:
            raise CheckError(f"its bound {name} is {bound:g}")
    if any(not (title and value) for title, value in network.describe(facts)):
        raise CheckError("what it is made of has empty words")


def check_links(network: Network) -> None:
    """Links are those of its tables; a network without any says so."""
    room = capacities(network)
    if room.ndim != 2 or room.shape[0] != network.routers or not (room > 0).all():
        raise CheckError("its capacities are not a row of bandwidths above 0 for every router")
    if (room.size > 0) != network.has_links:
        raise CheckError(f"it has {room.size} links, and says the opposite")
    if not network.has_links:
        return
    tables = network.link_tables()
    groups, finite = network.groups, room[np.isfinite(room)]
    if tables.gate.size == 0:
        if room.shape[1] not in (2, 4):
            raise CheckError(f"a tree has 2 links a router (ways of its group) or 4 (its own too), not {room.shape[1]}")
    elif len(tables.gate) != groups or tables.gate.shape[1] % groups or tables.far.shape != tables.gate.shape:
        raise CheckError("its gates and far links are not tables over pairs of groups")
    if finite.size and not set(np.unique(finite)) <= set(tables.room_bytes_per_s):
        raise CheckError("its capacities are not those that the engine is told")


def check_shares(network: Network) -> None:
    """The bytes of a job cross as many links as its nodes are apart, and none that is not there."""
    if not network.has_links:
        return
    room = capacities(network)
    for nodes in _jobs(network):
        shares = link_shares(network, nodes)
        for given in (shares.minimal, shares.valiant):
            if given.shape != room.shape or not (np.isfinite(given).all() and (given >= 0).all()):
                raise CheckError("shares are not a finite number of at least 0 for every link")
            if given[np.isinf(room)].any():
                raise CheckError("bytes cross a link that is not there")
        crossed, apart = float(shares.minimal.sum()), mean_links(network, nodes)
        if not math.isclose(crossed, apart, rel_tol=SLACK, abs_tol=SLACK):
            raise CheckError(f"the bytes of a job cross {crossed:g} links, its nodes are {apart:g} links apart")


def check_cut(network: Network) -> None:
    """No link carries more than all bytes, and a job on one router loads none."""
    if not network.has_links:
        return
    alone: Floats = link_shares(network, np.arange(network.nodes_per_router)).minimal
    if alone.any():
        raise CheckError("a job on one router loads links")
    for nodes in _jobs(network):
        if (link_shares(network, nodes).minimal > 1 + SLACK).any():
            raise CheckError("a link carries more than all bytes of a job")


def _pairs(network: Network) -> Iterator[Ints]:
    rng = np.random.default_rng(1)
    for _ in range(5 * JOBS):
        if network.nodes > 1:
            yield rng.choice(network.nodes, 2, replace=False)


def _jobs(network: Network) -> Iterator[Ints]:
    rng = np.random.default_rng(2)
    for _ in range(JOBS):
        yield rng.choice(network.nodes, int(rng.integers(1, network.nodes + 1)), replace=False)
    yield np.arange(network.nodes)


Check = Callable[[Network], None]
CHECKS: tuple[Check, ...] = (
    check_text,
    check_sizes,
    check_distances,
    check_bounds,
    check_links,
    check_shares,
    check_cut,
)


def check_network(network: Network) -> Report:
    """Run every check on a network.

    Parameters
    ----------
    network
        A small one (hundreds of nodes) of the kind that is to be checked; try several sizes, also 1 of everything.
    """
    report = Report(f"network {network.kind!r}")
    for check in CHECKS:
        title = check.__name__.removeprefix("check_")
        try:
            check(network)
        except CheckError as problem:
            report.rows.append(Row(title, passed=False, detail=str(problem)))
        else:
            report.rows.append(Row(title, passed=True))
    return report
