"""What a choice of nodes costs on the links of a network, by the loads that ``physics.neighbours`` keeps.

A choice is a number of nodes for every router of some groups. The cost is in links: 1 is what a link that is always
full does to the bytes it carries.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State

OVERLOAD = 1.0 / 3.0
"""Weight of how far the job, at its full rate, overloads the fullest link it uses; bytes cross about three links."""


@kernel
def sends(s: State, j: int) -> bool:
    """Tell whether a job loads links wherever it runs."""
    return s.nodes[j] > 1 and s.traffic[j] > 0 and s.comm[j] > 0.0


@kernel
def _weigh_tree(s: State, j: int, take: Any, picked: Any, inside: Any, k: int) -> float:
    """Return the cost on the ways up and down of a tree: those of groups, and of their routers if they have any."""
    n = s.nodes[j]
    rate = s.traffic[j] / (n - 1.0)
    peak = 1.0 / s.comm[j]
    room = s.n_room[0]
    above = s.n_room[1]
    a = s.net[1]
    up = s.n_load.shape[1] - 2
    waits = 0.0
    sent = 0.0
    full = 1.0
    for m in range(k):
        i = int(picked[m])
        if up > 0:
            for r in range(i * a, (i + 1) * a):
                own = take[r] * (n - take[r]) * rate
                for way in range(2):
                    load = s.n_load[r, way]
                    waits += own * (2.0 * load + own)
                    sent += own
                    if own > 0.0:
                        full = max(full, (load + own * peak) / room)
        own = inside[i] * (n - inside[i]) * rate
        for way in range(2):
            load = s.n_load[i * a, up + way]
            waits += own * (2.0 * load + own) * (room / above)
            sent += own
            if own > 0.0:
                full = max(full, (load + own * peak) / above)
    return (waits / room + OVERLOAD * sent * (full - 1.0)) / room


@outlined
def cost_on_links(s: State, j: int, take: Any, picked: Any, inside: Any, beyond: Any, k: int) -> float:
    """Return what a job adds to the waiting of all bytes, its own and others', and to its own overload.

    It takes ``take[router]`` nodes, ``inside[group]`` in each of the k groups ``picked``. On a link with load l and
    bandwidth b the job's own bytes o wait (l + o) / b, the others' o / b longer: o (2 l + o) / b in all.
    """
    if not sends(s, j):
        return 0.0
    if s.n_gate.shape[0] == 0:
        return _weigh_tree(s, j, take, picked, inside, k)
    a = s.net[1]
    rate = s.traffic[j] / (s.nodes[j] - 1.0)  # from one of its nodes to another
    links = s.n_gate.shape[1] // s.n_gate.shape[0]  # between any two groups, each with its part
    part = 1.0 / links
    peak = 1.0 / s.comm[j]
    near = 1.0 / s.n_room[0]
    far = 1.0 / s.n_room[1]
    waits = 0.0
    sent = 0.0
    full = 1.0
    for m in range(k):
        i = int(picked[m])
        if inside[i] == 0.0:
            continue
        for r in range(a):
            beyond[r] = 0.0
        for u in range(k):
            v = int(picked[u])
            if u != m and inside[v] > 0.0:
                own = inside[i] * inside[v] * rate * part
                for link in range(v * links, (v + 1) * links):
                    gate = s.n_gate[i, link]
                    beyond[gate] += inside[v] * part
                    load = s.n_load[i * a + gate, s.n_far[i, link]]
                    waits += own * (2.0 * load + own) * far
                    sent += own
                    full = max(full, (load + own * peak) * far)
        for r in range(a):
            here = take[i * a + r]
            out = beyond[r]
            for t in range(a):
                pairs = here * (take[i * a + t] + beyond[t]) + out * take[i * a + t]
                if pairs > 0.0 and t != r:
                    own = pairs * rate
                    load = s.n_load[i * a + r, t]
                    waits += own * (2.0 * load + own) * near
                    sent += own
                    full = max(full, (load + own * peak) * near)
    return (waits + OVERLOAD * sent * (full - 1.0)) * near
