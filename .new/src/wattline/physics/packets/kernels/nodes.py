"""Nodes: messages cut into packets, put on the host link in order, put together again.

It also has rendezvous and one-sided reads.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.physics.packets.kernels.codes import (
    M_ASK,
    M_CLEAR,
    M_DATA,
    M_EAGER,
    M_GET,
    M_REPLY,
    O_EAGER_BYTES,
    O_HEADER_BYTES,
    O_MEMORY_PS,
    O_NIC,
    O_PACKET,
    O_PACKET_BYTES,
    O_ROUTER_PORTS,
    O_TASK,
    S_DELIVERED,
    S_HOPS,
    S_LOCAL,
    S_MADE,
    S_WANT,
)
from wattline.physics.packets.kernels.state import LANE_BITS, NetState
from wattline.physics.packets.kernels.switch import collect, starve, take_link
from wattline.physics.packets.kernels.wheel import schedule


@kernel
def new_packet(s: NetState, tag: int, node: int, flits: int) -> int:
    """Take a packet out of the pool, which must not be empty."""
    packet = s.free_packet[0]
    s.free_packet[0] = s.pk_next[packet]
    s.free_packets[0] -= 1
    s.pk_flits[packet] = flits
    s.pk_tag[packet] = tag
    s.pk_dst[packet] = node
    s.pk_mid[packet] = -1
    s.pk_hops[packet] = 0
    s.tally[S_MADE] += 1
    return packet


@kernel
def drop_packet(s: NetState, packet: int) -> None:
    """Put a delivered packet back into the pool."""
    s.tally[S_DELIVERED] += 1
    s.tally[S_HOPS] += s.pk_hops[packet]
    s.pk_next[packet] = s.free_packet[0]
    s.free_packet[0] = packet
    s.free_packets[0] += 1


@kernel
def go_on(s: NetState, task: int, now: int) -> None:
    """Wake a waiting task if all it asked for has come and all it sent has left."""
    if s.tk_waiting[task] == 1 and s.tk_missing[task] == 0 and s.tk_unsent[task] == 0:
        s.tk_waiting[task] = 0
        schedule(s, s.option[O_TASK] + task, max(now, s.tk_sent[task]))


@kernel
def pump(s: NetState, node: int, now: int) -> int:
    """Give the host link to the node's messages, packet by packet, as long as there are credits."""
    lane = (s.option[O_ROUTER_PORTS] + node) << LANE_BITS
    limit = s.option[O_PACKET_BYTES]
    message = s.nic_head[node]
    while message >= 0 and s.starved[lane] == 0:
        size = min(s.ms_unsent[message], limit)
        flits = (size + 7) >> 3
        if s.credit[lane] < flits:
            collect(s, lane, now)
            if s.credit[lane] < flits:
                starve(s, lane, now)
                return 0
        if s.free_packet[0] < 0:
            s.tally[S_WANT] = 1
            if s.ev_time[s.option[O_NIC] + node] < 0:
                schedule(s, s.option[O_NIC] + node, now)
            return 0
        packet = new_packet(s, message, s.tk_node[s.ms_dst[message]], flits)
        s.credit[lane] -= flits
        s.space[lane] -= flits
        start = take_link(s, packet, lane, now)
        s.sent_flits[node] += flits
        s.ms_unsent[message] -= size
        if s.ms_unsent[message] == 0:
            s.nic_head[node] = s.ms_next[message]
            kind = s.ms_kind[message]
            if kind in (M_EAGER, M_DATA):
                task = s.ms_src[message]
                s.tk_unsent[task] -= 1
                s.tk_sent[task] = max(s.tk_sent[task], start)
                go_on(s, task, now)
            message = s.nic_head[node]
    return 0


@kernel
def _queue(s: NetState, message: int, kind: int, size: int, now: int) -> None:
    """Give a message its kind and length and queue it in the node of its sender."""
    node = s.tk_node[s.ms_src[message]]
    limit = s.option[O_PACKET_BYTES]
    s.ms_kind[message] = kind
    s.ms_unsent[message] = size
    s.ms_left[message] = (size + limit - 1) // limit
    s.ms_next[message] = -1
    if s.nic_head[node] < 0:
        s.nic_head[node] = message
    else:
        s.ms_next[s.nic_tail[node]] = message
    s.nic_tail[node] = message
    pump(s, node, now)


@kernel
def _new_message(s: NetState, source: int, target: int, cell: int, size: int, now: int) -> int:
    message = s.free_message[0]
    s.free_message[0] = s.ms_next[message]
    s.free_messages[0] -= 1
    s.ms_src[message] = source
    s.ms_dst[message] = target
    s.ms_cell[message] = cell
    s.ms_bytes[message] = size
    s.ms_born[message] = now
    return message


@outlined
def send(s: NetState, source: int, target: int, cell: int, size: int, now: int) -> int:
    """Post a message between two tasks; inside a node it takes the memory's time and no network."""
    message = _new_message(s, source, target, cell, size, now)
    header = s.option[O_HEADER_BYTES]
    if s.tk_node[source] == s.tk_node[target]:
        s.ms_kind[message] = M_EAGER
        s.ms_left[message] = 1
        packet = new_packet(s, message, s.tk_node[target], 0)
        s.pk_lane[packet] = -1
        s.tally[S_LOCAL] += 1
        schedule(s, s.option[O_PACKET] + packet, now + s.option[O_MEMORY_PS])
        return 0
    s.tk_unsent[source] += 1
    if size > s.option[O_EAGER_BYTES]:
        _queue(s, message, M_ASK, header, now)
    else:
        _queue(s, message, M_EAGER, size + header, now)
    return 0


@outlined
def ask_for(s: NetState, kind: int, reader: int, owner: int, cell: int, size: int, now: int) -> int:
    """Post the reader's short message that makes the owner's node send ``size`` bytes: M_CLEAR (rendezvous) or
    M_GET.
    """
    message = _new_message(s, reader, owner, cell, size, now)
    if s.tk_node[reader] == s.tk_node[owner]:
        s.ms_kind[message] = M_REPLY
        s.ms_dst[message] = reader
        s.ms_left[message] = 1
        packet = new_packet(s, message, s.tk_node[owner], 0)
        s.pk_lane[packet] = -1
        s.tally[S_LOCAL] += 1
        schedule(s, s.option[O_PACKET] + packet, now + s.option[O_MEMORY_PS])
        return 0
    _queue(s, message, kind, s.option[O_HEADER_BYTES], now)
    return 0


@kernel
def _turn(s: NetState, message: int, kind: int, size: int, now: int) -> None:
    """Answer a message with another in the opposite direction."""
    source = s.ms_src[message]
    s.ms_src[message] = s.ms_dst[message]
    s.ms_dst[message] = source
    _queue(s, message, kind, size, now)


@kernel
def message_came(s: NetState, message: int, now: int) -> int:
    """All packets of a message have arrived: count it, or answer it."""
    kind = s.ms_kind[message]
    whole = s.ms_bytes[message] + s.option[O_HEADER_BYTES]
    if kind == M_CLEAR:
        _turn(s, message, M_DATA, whole, now)
        return 0
    if kind == M_GET:
        _turn(s, message, M_REPLY, whole, now)
        return 0
    task = s.ms_dst[message]
    if kind in (M_EAGER, M_ASK):
        cell = s.ms_cell[message]
        s.cell[cell] += 1
        if s.cell[cell] == 0:
            if kind == M_ASK:
                _turn(s, message, M_CLEAR, s.option[O_HEADER_BYTES], now)
                return 0
            s.tk_missing[task] -= 1
    else:
        s.tk_missing[task] -= 1
    if kind != M_ASK:
        if s.tk_node[s.ms_src[message]] != s.tk_node[task]:
            job = s.tk_job[task]
            s.jb_messages[job] += 1
            s.jb_bytes[job] += s.ms_bytes[message]
            s.jb_latency[job] += now - s.ms_born[message]
        go_on(s, task, now)
    s.ms_next[message] = s.free_message[0]
    s.free_message[0] = message
    s.free_messages[0] += 1
    return 0


@kernel
def enter_node(s: NetState, packet: int, now: int) -> None:
    """A packet of a message arrived at its node (or was copied inside it)."""
    message = s.pk_tag[packet]
    if s.pk_lane[packet] >= 0:
        job = s.tk_job[s.ms_src[message]]
        s.jb_packets[job] += 1
        s.jb_hops[job] += s.pk_hops[packet]
        s.got_flits[s.pk_dst[packet]] += s.pk_flits[packet]
    drop_packet(s, packet)
    s.ms_left[message] -= 1
    if s.ms_left[message] == 0:
        message_came(s, message, now)
