"""Open-loop traffic: every node makes packets at random times, whatever the network does with them.

A node keeps only when its next packet is made: packets leave in the order they are made, so the one behind is drawn
when it is its turn, however long the queue is. Draws depend on (seed, node, number) alone.
"""

from __future__ import annotations

import math

from wattline.kernel.compiled import kernel, outlined
from wattline.physics.packets.kernels.codes import (
    O_FLITS,
    O_FROM_PS,
    O_GAP_PS,
    O_NIC,
    O_NODES,
    O_PATTERN,
    O_ROUTER_PORTS,
    O_SEED,
    O_SHIFT,
    S_GOT_FLITS,
    S_LATENCY,
    S_SEEN,
    S_SEEN_HOPS,
    S_WANT,
    UNIFORM,
)
from wattline.physics.packets.kernels.nodes import drop_packet, new_packet
from wattline.physics.packets.kernels.state import LANE_BITS, NetState
from wattline.physics.packets.kernels.switch import collect, starve, take_link
from wattline.physics.packets.kernels.wheel import schedule
from wattline.physics.random import uniform

GAPS, TARGETS = 12, 13
"""Streams of the times between packets and of their destinations."""


@outlined
def _chance(s: NetState, stream: int, node: int) -> float:
    """Return the node's next random number of a stream, uniform in [0, 1)."""
    return uniform(s.option[O_SEED], stream + (node << 8), s.made[node])


@kernel
def _target(s: NetState, node: int) -> int:
    """Draw where a packet goes: any other node, or a node of the group ``shift`` groups on."""
    chance = _chance(s, TARGETS, node)
    if s.option[O_PATTERN] == UNIFORM:
        target = int(chance * (s.option[O_NODES] - 1))
        return target if target < node else target + 1
    size = s.option[O_SHIFT]  # nodes of a group, then how many groups on
    nodes = size & 0xFFFFFFFF
    group = (node // nodes + (size >> 32)) % (s.option[O_NODES] // nodes)
    return group * nodes + int(chance * nodes)


@kernel
def draw_gap(s: NetState, node: int) -> int:
    """Draw the time between a node's packets, exponential."""
    chance = _chance(s, GAPS, node)
    return int(-math.log(1.0 - chance) * s.option[O_GAP_PS])


@outlined
def generate(s: NetState, node: int, now: int) -> int:
    """Put on the host link what the node has made by now, as long as there are credits."""
    lane = (s.option[O_ROUTER_PORTS] + node) << LANE_BITS
    flits = s.option[O_FLITS]
    while s.starved[lane] == 0:
        event = s.option[O_NIC] + node
        if s.made_at[node] > now:
            if s.ev_time[event] < 0:
                schedule(s, event, s.made_at[node])
            return 0
        collect(s, lane, now)
        if s.credit[lane] < flits:
            starve(s, lane, now)
            return 0
        if s.free_packet[0] < 0:
            s.tally[S_WANT] = 1
            if s.ev_time[event] < 0:
                schedule(s, event, now)
            return 0
        packet = new_packet(s, s.made_at[node], _target(s, node), flits)
        s.credit[lane] -= flits
        s.space[lane] -= flits
        take_link(s, packet, lane, now)
        s.sent_flits[node] += flits
        s.made[node] += 1
        s.made_at[node] += draw_gap(s, node)
    return 0


@kernel
def leave_network(s: NetState, packet: int, now: int) -> None:
    """Count a packet that arrived at its node."""
    flits = s.pk_flits[packet]
    s.got_flits[s.pk_dst[packet]] += flits
    if now >= s.option[O_FROM_PS]:
        s.tally[S_GOT_FLITS] += flits
    if s.pk_tag[packet] >= s.option[O_FROM_PS]:
        s.tally[S_SEEN] += 1
        s.tally[S_LATENCY] += now - s.pk_tag[packet]
        s.tally[S_SEEN_HOPS] += s.pk_hops[packet]
    drop_packet(s, packet)
