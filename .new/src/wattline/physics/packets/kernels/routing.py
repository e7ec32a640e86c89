"""Routes: which output lane a packet at the head of an input lane wants.

The channel is the number of global links crossed (plus one behind the detour router of a route inside a group). Local
links of channel c lead to global links of channel c, those to local links of channel c + 1: no cycle, so no deadlock.
Where two groups share several links, a packet that is to leave a group takes any of them, drawn at the first router
that it comes to; whoever arrives over a local link is at the router that has it.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.physics.packets.kernels.codes import (
    ADAPTIVE,
    GLOBAL,
    HOST,
    LOCAL,
    MINIMAL,
    O_GROUPS,
    O_INSIDE,
    O_LINKS,
    O_OUTPUT_FLITS,
    O_ROUTER_PORTS,
    O_ROUTING,
    O_SEED,
    O_WITHIN,
    S_DRAWN,
    UGAL,
    VALIANT,
)
from wattline.physics.packets.kernels.state import LANE_BITS, LANE_MASK, NetState
from wattline.physics.random import philox

DETOURS = 11
"""Stream of the draws that routing makes."""
UGAL_WEIGHT, UGAL_BIAS = 2, 50
"""UGAL goes the minimal way iff q_min ≤ 2 q_detour + 50 flits."""
ADAPTIVE_WEIGHT = 2
"""Adaptive-local goes the other way iff its output buffer has more than twice the free space."""


@kernel
def leave_space(s: NetState, lane: int, now: int) -> None:
    """Free the space of the packets whose turn on the link has come."""
    packet = s.leave_head[lane]
    while packet >= 0 and s.pk_start[packet] <= now:
        s.space[lane] += s.pk_flits[packet]
        packet = s.pk_leave[packet]
        s.leave_head[lane] = packet


@kernel
def _other(draw: int, count: int, one: int, two: int) -> int:
    """Return a number below ``count`` that is neither of two different ones, from 32 random bits."""
    low, high = min(one, two), max(one, two)
    found = (draw * (count - 2)) >> 32
    if found >= low:
        found += 1
    if found >= high:
        found += 1
    return found


@kernel
def _detour_is_better(s: NetState, straight: int, around: int, coin: int, now: int) -> bool:
    """Judge two output ports of a router (channel 0) by what is queued in their output buffers."""
    one, two = straight << LANE_BITS, around << LANE_BITS
    leave_space(s, one, now)
    leave_space(s, two, now)
    if s.option[O_ROUTING] == ADAPTIVE:
        return s.space[two] > ADAPTIVE_WEIGHT * s.space[one]
    full = s.option[O_OUTPUT_FLITS]
    excess = (full - s.space[one]) - UGAL_WEIGHT * (full - s.space[two]) - UGAL_BIAS
    return excess > 0 or (excess == 0 and coin & 1 == 1)


@outlined
def _draw(s: NetState) -> int:
    """Return a fresh random word of 32 bits; every fourth draw makes the next four."""
    drawn = s.tally[S_DRAWN]
    s.tally[S_DRAWN] = drawn + 1
    if drawn & 3 == 0:
        seed, counter = s.option[O_SEED], drawn >> 2
        s.word[0], s.word[1], s.word[2], s.word[3] = philox(
            counter & 0xFFFFFFFF, counter >> 32, DETOURS, 0, seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
        )
    return s.word[drawn & 3]


@kernel
def _toward(s: NetState, router: int, group: int, link: int) -> int:
    """Return the port towards a group by one of the links there (-1: by the router's own)."""
    if link < 0:
        return s.own[router, group]
    return s.toward[router, group * s.option[O_LINKS] + link]


@kernel
def _link(s: NetState, kind: int, router: int, target: int) -> int:
    """Return by which link a packet that arrived over a port of a kind leaves the group (-1: by the router's own)."""
    links = s.option[O_LINKS]
    if links == 1:
        return 0
    if kind == LOCAL:
        return -1
    if s.group[router] == s.group[target]:
        return 0
    return (_draw(s) * links) >> 32


@outlined
def choose_detour(s: NetState, router: int, target: int, now: int, link: int) -> int:
    """Return the detour of a packet at its first router: a group, groups + a router, -1, or -2 - what UGAL turned
    down.
    """
    routing = s.option[O_ROUTING]
    groups, within = s.option[O_GROUPS], s.option[O_WITHIN]
    here, there = s.group[router], s.group[target]
    count = within if here == there else groups
    if count < 3 or (here == there and s.option[O_INSIDE] == 0):
        return -1
    draw = _draw(s)  # its upper bits pick the detour, its last one is the coin for ties
    if here == there:
        inside = _other(draw, within, s.within[router], s.within[target])
        around = s.beside[router, inside]
        straight = s.beside[router, s.within[target]]
        detour = groups + here * within + inside
        if routing == VALIANT or _detour_is_better(s, straight, around, draw, now):
            return detour
        return -1
    detour = _other(draw, groups, here, there)
    straight = _toward(s, router, there, link)
    if routing == VALIANT or _detour_is_better(s, straight, _toward(s, router, detour, link), draw, now):
        return detour
    return -2 - detour if routing == UGAL else -1


@outlined
def _judge_again(s: NetState, packet: int, router: int, target: int, now: int) -> int:
    """UGAL: where the global links of both routes meet, choose again; return the detour."""
    mid = s.pk_mid[packet]
    detour = mid if mid >= 0 else -2 - mid
    here, there = s.group[router], s.group[target]
    if here == there or detour >= s.option[O_GROUPS]:
        return mid
    if s.own[router, there] < 0 or s.own[router, detour] < 0:
        return mid
    coin = _draw(s)
    if _detour_is_better(s, s.own[router, there], s.own[router, detour], coin, now):
        return detour
    return -2 - detour


@kernel
def _detour(s: NetState, packet: int, lane: int, router: int, target: int, now: int, link: int) -> int:
    """Return where the packet has to go first, if anywhere, choosing at its first router."""
    kind = s.kind[lane >> LANE_BITS]
    if kind == HOST:
        s.pk_mid[packet] = choose_detour(s, router, target, now, link)
    elif kind == LOCAL and lane & LANE_MASK == 0 and s.option[O_ROUTING] == UGAL and s.pk_mid[packet] != -1:
        s.pk_mid[packet] = _judge_again(s, packet, router, target, now)
    return s.pk_mid[packet]


@kernel
def route(s: NetState, packet: int, lane: int, now: int) -> int:
    """Return the output lane for a packet that heads an input lane."""
    port = lane >> LANE_BITS
    channel = lane & LANE_MASK
    if s.kind[port] == GLOBAL:
        channel += 1
    router = s.router[port]
    node = s.pk_dst[packet]
    target = s.node_router[node]
    if router == target:
        return (s.peer[s.option[O_ROUTER_PORTS] + node] << LANE_BITS) + channel
    link = _link(s, s.kind[port], router, target)
    if s.option[O_ROUTING] != MINIMAL:
        mid = _detour(s, packet, lane, router, target, now, link)
        groups = s.option[O_GROUPS]
        if mid >= groups:
            if mid - groups != router:
                return (s.beside[router, s.within[mid - groups]] << LANE_BITS) + channel
            s.pk_mid[packet] = -1
            channel += 1
        elif mid >= 0:
            if mid != s.group[router]:
                return (_toward(s, router, mid, link) << LANE_BITS) + channel
            s.pk_mid[packet] = -1
    there = s.group[target]
    if s.group[router] == there:
        return (s.beside[router, s.within[target]] << LANE_BITS) + channel
    return (_toward(s, router, there, link) << LANE_BITS) + channel
