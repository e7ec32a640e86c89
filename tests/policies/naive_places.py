"""Place policies written down node by node, with sets and loops, to hold the compiled ones against."""

from __future__ import annotations

from collections.abc import Callable

from wattline.model.networks.base import Network

Pick = Callable[[Network, list[int], int], list[int]]


def _routers(network: Network, free: list[int]) -> dict[int, list[int]]:
    held: dict[int, list[int]] = {}
    for node in free:
        held.setdefault(network.router_of(node), []).append(node)
    return held


def _groups(network: Network, free: list[int]) -> dict[int, list[int]]:
    held: dict[int, list[int]] = {}
    for node in free:
        held.setdefault(network.group_of(node), []).append(node)
    return held


def _in_turn(piles: list[list[int]], n: int) -> list[int]:
    piles = [list(pile) for pile in piles]
    got: list[int] = []
    while len(got) < n:
        for pile in piles:
            if pile and len(got) < n:
                got.append(pile.pop(0))
    return got


def lowest(network: Network, free: list[int], n: int) -> list[int]:
    """Return the n lowest free nodes."""
    return free[:n]


def _fewest_first(network: Network, free: list[int], n: int) -> list[int]:
    left, got = list(free), []
    while len(got) < n:
        held = _routers(network, left)
        best = min(held, key=lambda r: (len(held[r]), r))
        got += held[best]
        left = [node for node in left if node not in held[best]]
    return got[:n]


def slurm(network: Network, free: list[int], n: int) -> list[int]:
    """Return the first router that holds the job, else routers with fewest free nodes first."""
    for nodes in _routers(network, free).values():
        if len(nodes) >= n:
            return nodes[:n]
    return _fewest_first(network, free, n)


def slurm_best_fit(network: Network, free: list[int], n: int) -> list[int]:
    """Return the tightest router that holds the job, else routers with fewest free nodes first."""
    fitting = [nodes for nodes in _routers(network, free).values() if len(nodes) >= n]
    return min(fitting, key=len)[:n] if fitting else _fewest_first(network, free, n)


def rrn(network: Network, free: list[int], n: int) -> list[int]:
    """Return one node a group in turn."""
    return _in_turn(list(_groups(network, free).values()), n)


def rrr(network: Network, free: list[int], n: int) -> list[int]:
    """Return one router's free nodes a group in turn."""
    left, got, group = list(free), [], 0
    while len(got) < n:
        mine = [node for node in left if network.group_of(node) == group]
        if mine:
            router = network.router_of(mine[0])
            nodes = [node for node in mine if network.router_of(node) == router]
            got += nodes
            left = [node for node in left if node not in nodes]
        group = (group + 1) % network.groups
    return got[:n]


def jokanovic(network: Network, free: list[int], n: int) -> list[int]:
    """Return small jobs from below, in a group where one has room, and large ones from above."""
    if n > network.nodes_per_group:
        return free[-n:]
    for nodes in _groups(network, free).values():
        if len(nodes) >= n:
            return nodes[:n]
    return free[:n]


def jokanovic_released(network: Network, free: list[int], n: int) -> list[int]:
    """Return what SST's loop leaves in its list of nodes."""
    if n > network.nodes_per_group:
        return free[-n:]
    for nodes in _groups(network, free).values():
        if len(nodes) >= n:
            picked = nodes[:n]
            others = [node for node in free if node not in picked]
            for i, node in enumerate(others[:n]):
                picked[i] = node
            return picked
    return free[:n]


def level_spread(network: Network, free: list[int], n: int) -> list[int]:
    """Return the smallest level that holds the job, spread over it."""
    routers, groups = _routers(network, free), _groups(network, free)
    best = max(routers, key=lambda r: (len(routers[r]), -r))
    if len(routers[best]) >= n:
        return routers[best][:n]
    most = max(groups, key=lambda g: (len(groups[g]), -g))
    if len(groups[most]) >= n:
        return _in_turn(list(_routers(network, groups[most]).values()), n)
    return rrn(network, free, n)


def fewer_router(network: Network, free: list[int], n: int) -> list[int]:
    """Return the routers with most free nodes first."""
    held = _routers(network, free)
    order = sorted(held, key=lambda r: (-len(held[r]), r))
    return [node for r in order for node in held[r]][:n]


def by_key(key: list[float]) -> Pick:
    """Return routers with the smallest keys first."""

    def pick(network: Network, free: list[int], n: int) -> list[int]:
        held = _routers(network, free)
        return [node for r in sorted(held, key=lambda r: (key[r], r)) for node in held[r]][:n]

    return pick


NAIVE: dict[str, Pick] = {
    "lowest": lowest,
    "slurm": slurm,
    "slurm-best-fit": slurm_best_fit,
    "rrn": rrn,
    "rrr": rrr,
    "jokanovic": jokanovic,
    "jokanovic-released": jokanovic_released,
    "level-spread": level_spread,
    "fewer-router": fewer_router,
}
