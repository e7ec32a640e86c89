"""How a job's bytes spread over the links of a dragonfly, compiled."""

from __future__ import annotations

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.kernel.compiled import library


@library
def spread(count: Floats, peer: Ints, a: int, h: int, links: int, minimal: Floats, valiant: Floats) -> None:
    """Add the shares of all links, by minimal and by valiant routes, of a job with so many nodes on each router.

    Each of the ``links`` between two groups has the same part of what goes between them.
    """
    groups = count.shape[0] // a
    inside = np.zeros(groups)
    for r in range(count.shape[0]):
        inside[r // a] += count[r]
    total = inside.sum()
    if total < 2:
        return
    one = 1.0 / (total * (total - 1.0))
    others = 1.0 / max(1, groups - 2)
    part = 1.0 / links
    beyond = np.zeros(a)  # nodes of the groups that a router's global links lead to
    detour = np.zeros(
        a
    )  # pairs between one of this group's nodes and another group that take this router's global links
    for i in range(groups):
        for r in range(a):
            beyond[r] = 0.0
            detour[r] = 0.0
            for q in range(h):
                k = peer[i, r * h + q]
                beyond[r] += inside[k] * part
                rest = total - inside[i] - inside[k]
                detour[r] += rest * others * part
                across = inside[i] * inside[k] * one * part
                around = (inside[i] + inside[k]) * rest * others * one * part
                minimal[i * a + r, a + q] += across
                valiant[i * a + r, a + q] += around if groups > 2 else across
        for r in range(a):
            for s in range(a):
                if r != s:
                    here = count[i * a + r]
                    there = count[i * a + s]
                    own = here * there
                    minimal[i * a + r, s] += (own + here * beyond[s] + beyond[r] * there) * one
                    if groups > 2:
                        through = _through(inside, peer, i, r, s, h) * others * part * part
                        valiant[i * a + r, s] += (own + here * detour[s] + detour[r] * there + through) * one
                    else:
                        valiant[i * a + r, s] = minimal[i * a + r, s]


@library
def _through(inside: Floats, peer: Ints, i: int, r: int, s: int, h: int) -> float:
    """Return the pairs of other groups whose detour by way of group i enters at router r and leaves at router s, over
    all links of theirs.
    """
    entering = 0.0
    leaving = 0.0
    back = 0.0  # a group that both routers lead to: nobody comes from there to go there
    for q in range(h):
        k = peer[i, r * h + q]
        entering += inside[k]
        leaving += inside[peer[i, s * h + q]]
        for z in range(h):
            if peer[i, s * h + z] == k:
                back += inside[k] * inside[k]
    return entering * leaving - back
