"""The state of a packet simulation: every array that its kernels share, behind one pointer.

Time is whole picoseconds. A *port* is one end of a link: router ports first (``router * K + q``: hosts, then routers of
the group, then other groups), then one port a node. A *lane* is a virtual channel of a port, ``port * 4 +
channel``; its output side sends (credits, space), its input side receives (a queue of packets). -1 is *nothing*.
"""

from __future__ import annotations

from typing import Annotated, Any, get_type_hints

import numpy as np
import numpy.typing as npt
from numba import types

from wattline.arrays import Ints
from wattline.kernel.fields import FieldArray
from wattline.kernel.record import Record, register
from wattline.memory import map_bytes
from wattline.model.state.fields.field import Field

_I = Ints

LANES = 4
"""Lanes laid out for a port (two or three of them are used): a power of two, so that port and channel are bits."""
LANE_BITS, LANE_MASK = 2, 3
NEVER = 1 << 62
"""A time that does not come."""


class NetState(Record):
    """All that the packet kernels know.

    Letters of shapes: P ports, L lanes, E events, B buckets, Q credits, K packets, M messages, N nodes, R routers,
    A routers of a group, G groups, J jobs, I iterations, T tasks, F phases, U and V rows of lists, C cells.
    """

    blocks: dict[str, Ints]
    """The same memory by block: rows are items, columns the block's fields."""

    option: Annotated[_I, Field("32", "", "sizes and switches of the run; see codes.O_*", fixed=True)]
    tally: Annotated[_I, Field("16", "", "totals of the run; see codes.S_*")]

    word: Annotated[_I, Field("4", "", "random words of which routing draws one after the other")]

    # -- events: a wheel of buckets for what comes soon, a heap for what comes late
    cursor: Annotated[_I, Field("1", "", "bucket of the present")]
    near: Annotated[_I, Field("1", "", "events in the wheel")]
    late: Annotated[_I, Field("1", "", "events in the heap")]
    late_bucket: Annotated[_I, Field("1", "", "bucket of the heap's first event")]
    heap: Annotated[_I, Field("E", "", "events that lie beyond the wheel, a binary heap by (time, event)")]
    wheel_head: Annotated[_I, Field("B", "", "first event of the bucket", block="wheel")]
    wheel_tail: Annotated[_I, Field("B", "", "last event of the bucket", block="wheel")]
    ev_time: Annotated[_I, Field("E", "ps", "when it happens (-1: not scheduled)", block="event")]
    ev_next: Annotated[_I, Field("E", "", "next event of the bucket", block="event")]

    # -- ports
    peer: Annotated[_I, Field("P", "", "port at the other end", fixed=True, block="port")]
    router: Annotated[_I, Field("P", "", "router it belongs to (-1: a node's)", fixed=True, block="port")]
    kind: Annotated[_I, Field("P", "", "0 host, 1 local, 2 global", fixed=True, block="port")]
    flit_ps: Annotated[_I, Field("P", "ps", "time a flit holds the link", fixed=True, block="port")]
    delay_ps: Annotated[
        _I, Field("P", "ps", "from the link's grant to the head at the other end", fixed=True, block="port")
    ]
    wire_ps: Annotated[_I, Field("P", "ps", "latency of the link alone: what a credit takes", fixed=True, block="port")]
    link_free: Annotated[_I, Field("P", "ps", "when the link has sent all it was given", block="port")]
    in_free: Annotated[_I, Field("P", "ps", "when the crossbar has read what it takes from here", block="port")]
    out_free: Annotated[_I, Field("P", "ps", "when the crossbar has written what it brings here", block="port")]
    wait_head: Annotated[_I, Field("P", "", "first input lane that asks for this output", block="port")]
    wait_tail: Annotated[_I, Field("P", "", "last input lane that asks for this output", block="port")]
    in_lanes: Annotated[_I, Field("P", "", "input lanes that hold packets", block="port")]
    blocked: Annotated[_I, Field("P", "", "output lanes that wait for credits", block="port")]
    blocked_since: Annotated[_I, Field("P", "ps", "since when, or when it was last counted", block="port")]
    flits: Annotated[_I, Field("P", "", "flits that crossed the link", block="port")]
    packets: Annotated[_I, Field("P", "", "packets that crossed the link", block="port")]
    stall_ps: Annotated[_I, Field("P", "ps", "link idle, a packet there, no credit", block="port")]
    cross_ps: Annotated[_I, Field("P", "ps", "head packets here that waited for the crossbar", block="port")]

    # -- lanes: input side
    in_head: Annotated[_I, Field("L", "", "first packet in the input buffer", block="in")]
    in_tail: Annotated[_I, Field("L", "", "last packet in the input buffer", block="in")]
    in_out: Annotated[_I, Field("L", "", "output lane that the first packet wants", block="in")]
    in_since: Annotated[_I, Field("L", "ps", "since when it could go: first, and the one before it read", block="in")]
    in_asked: Annotated[_I, Field("L", "ps", "when it asked for its output", block="in")]
    wait_next: Annotated[_I, Field("L", "", "next input lane that asks for the same output", block="in")]

    # -- lanes: output side
    credit: Annotated[_I, Field("L", "flits", "free space known in the buffer at the other end", block="out")]
    space: Annotated[_I, Field("L", "flits", "free space in the output buffer", block="out")]
    hold_head: Annotated[_I, Field("L", "", "first packet that waits for credits", block="out")]
    hold_tail: Annotated[_I, Field("L", "", "last packet that waits for credits", block="out")]
    leave_head: Annotated[
        _I, Field("L", "", "first packet whose turn on the link is set but has not come", block="out")
    ]
    leave_tail: Annotated[_I, Field("L", "", "last such packet", block="out")]
    starved: Annotated[_I, Field("L", "", "1: waits for credits", block="out")]
    armed: Annotated[_I, Field("L", "", "1: somebody waits for space that no packet is yet set to free", block="out")]
    ring_first: Annotated[_I, Field("L", "", "credits on their way: place of the first", block="out")]
    ring_count: Annotated[_I, Field("L", "", "credits on their way: how many", block="out")]
    ring: Annotated[_I, Field("Q", "", "credits on their way: (arrival << 12) | flits")]

    # -- packets
    pk_next: Annotated[_I, Field("K", "", "next in its queue, or in the list of free ones", block="packet")]
    pk_flits: Annotated[_I, Field("K", "flits", "length", block="packet")]
    pk_tag: Annotated[_I, Field("K", "", "its message; open loop: the time it was made", block="packet")]
    pk_dst: Annotated[_I, Field("K", "", "node it goes to", block="packet")]
    pk_mid: Annotated[
        _I, Field("K", "", "detour: group, or groups + router; -1 none; -2 - x: x was turned down", block="packet")
    ]
    pk_lane: Annotated[_I, Field("K", "", "output lane it came over (-1: none, inside a node)", block="packet")]
    pk_start: Annotated[_I, Field("K", "ps", "its turn on that link", block="packet")]
    pk_leave: Annotated[_I, Field("K", "", "next packet to leave that output buffer", block="packet")]
    pk_hops: Annotated[_I, Field("K", "", "links crossed", block="packet")]
    free_packet: Annotated[_I, Field("1", "", "first free packet")]
    free_packets: Annotated[_I, Field("1", "", "free packets")]

    # -- messages
    ms_next: Annotated[_I, Field("M", "", "next in the node's queue, or in the list of free ones", block="message")]
    ms_src: Annotated[_I, Field("M", "", "task that sends", block="message")]
    ms_dst: Annotated[_I, Field("M", "", "task that receives", block="message")]
    ms_cell: Annotated[_I, Field("M", "", "cell of the receiver that counts it", block="message")]
    ms_kind: Annotated[_I, Field("M", "", "see codes.M_*", block="message")]
    ms_bytes: Annotated[_I, Field("M", "B", "what the application sends", block="message")]
    ms_unsent: Annotated[_I, Field("M", "B", "what has not left the node, header included", block="message")]
    ms_left: Annotated[_I, Field("M", "", "packets that have not arrived", block="message")]
    ms_born: Annotated[_I, Field("M", "ps", "when it was posted", block="message")]
    free_message: Annotated[_I, Field("1", "", "first free message")]
    free_messages: Annotated[_I, Field("1", "", "free messages")]

    # -- nodes
    nic_head: Annotated[_I, Field("N", "", "first message that waits in the node", block="node")]
    nic_tail: Annotated[_I, Field("N", "", "last message that waits in the node", block="node")]
    sent_flits: Annotated[_I, Field("N", "flits", "flits injected", block="node")]
    got_flits: Annotated[_I, Field("N", "flits", "flits received", block="node")]
    made_at: Annotated[_I, Field("N", "ps", "open loop: when its next packet is made", block="node")]
    made: Annotated[_I, Field("N", "", "open loop: packets made so far", block="node")]

    # -- routes
    node_router: Annotated[_I, Field("N", "", "router of a node", fixed=True)]
    group: Annotated[_I, Field("R", "", "group of a router", fixed=True)]
    within: Annotated[_I, Field("R", "", "number of a router inside its group", fixed=True)]
    toward: Annotated[
        _I, Field("R,H", "", "port of a router that leads towards a group, by each of the links there", fixed=True)
    ]
    beside: Annotated[_I, Field("R,A", "", "port of a router that leads to another of its group", fixed=True)]
    own: Annotated[_I, Field("R,G", "", "a router's own global port to a group (-1: it has none)", fixed=True)]

    # -- jobs, tasks, programs
    jb_first: Annotated[_I, Field("J", "", "first phase", block="job")]
    jb_last: Annotated[_I, Field("J", "", "phase behind the last", block="job")]
    jb_task: Annotated[_I, Field("J", "", "first task", block="job")]
    jb_tasks: Annotated[_I, Field("J", "", "tasks", block="job")]
    jb_repeat: Annotated[_I, Field("J", "", "times the program runs (0: until the others are done)", block="job")]
    jb_left: Annotated[_I, Field("J", "", "tasks that have not finished", block="job")]
    jb_rounds: Annotated[_I, Field("J", "", "first row of its times per iteration", block="job")]
    jb_end: Annotated[_I, Field("J", "ps", "when its last task finished (-1: not yet)", block="job")]
    jb_packets: Annotated[_I, Field("J", "", "packets delivered", block="job")]
    jb_hops: Annotated[_I, Field("J", "", "links they crossed", block="job")]
    jb_messages: Annotated[_I, Field("J", "", "messages delivered over the network", block="job")]
    jb_bytes: Annotated[_I, Field("J", "B", "their bytes without headers", block="job")]
    jb_latency: Annotated[_I, Field("J", "ps", "sum of their times from posted to received", block="job")]
    it_done: Annotated[_I, Field("I", "", "tasks that finished the iteration", block="iteration")]
    it_end: Annotated[_I, Field("I", "ps", "when the last of them did", block="iteration")]
    tk_node: Annotated[_I, Field("T", "", "node it runs on", block="task")]
    tk_job: Annotated[_I, Field("T", "", "its job", block="task")]
    tk_cell: Annotated[_I, Field("T", "", "its first cell", block="task")]
    tk_phase: Annotated[_I, Field("T", "", "phase it is in", block="task")]
    tk_round: Annotated[_I, Field("T", "", "round of that phase", block="task")]
    tk_iteration: Annotated[_I, Field("T", "", "iterations done", block="task")]
    tk_began: Annotated[_I, Field("T", "ps", "when this iteration began", block="task")]
    tk_missing: Annotated[_I, Field("T", "", "messages it has asked for and not received", block="task")]
    tk_unsent: Annotated[_I, Field("T", "", "messages of its own that have not left the node", block="task")]
    tk_sent: Annotated[
        _I, Field("T", "ps", "when the last packet of those that have left takes the link", block="task")
    ]
    tk_waiting: Annotated[_I, Field("T", "", "1: goes on as soon as nothing is missing", block="task")]
    ph_kind: Annotated[_I, Field("F", "", "see codes.P_*", block="phase")]
    ph_a: Annotated[_I, Field("F", "", "shift: stride; list: its first row; compute: ps", block="phase")]
    ph_b: Annotated[_I, Field("F", "", "shift: tasks; get: tasks to read from", block="phase")]
    ph_bytes: Annotated[_I, Field("F", "B", "size of a message", block="phase")]
    ph_cell: Annotated[_I, Field("F", "", "first cell of the phase within a task", block="phase")]
    ph_wait: Annotated[_I, Field("F", "", "1: the phase ends when all is sent and received", block="phase")]
    ls_send: Annotated[
        _I, Field("U", "", "first message that a rank sends (the next row: behind its last)", block="list")
    ]
    ls_recv: Annotated[_I, Field("U", "", "first message that a rank receives", block="list")]
    sd_peer: Annotated[_I, Field("V", "", "rank a message goes to", block="message_list")]
    sd_cell: Annotated[_I, Field("V", "", "cell of the phase that counts it there", block="message_list")]
    sd_bytes: Annotated[_I, Field("V", "B", "its size", block="message_list")]
    rv_peer: Annotated[_I, Field("V", "", "rank a message comes from", block="message_list")]
    rv_bytes: Annotated[_I, Field("V", "B", "its size", block="message_list")]
    cell: Annotated[_I, Field("C", "", "arrived and not asked for; -1: asked for and not arrived")]


FIELDS: dict[str, Field] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(NetState, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
"""Declared fields by name."""

BLOCKS: dict[str, list[str]] = {}
"""Interleaved fields: block → names in the order of their columns."""
for _name, _field in FIELDS.items():
    BLOCKS.setdefault(_field.block or _name, []).append(_name)

register(
    NetState,
    "NetState",
    {
        name: FieldArray(
            types.int64, field.shape.count(",") + 1, step=8 * len(BLOCKS[field.block or name]), readonly=field.fixed
        )
        for name, field in FIELDS.items()
    },
)

_LINE = 8
"""Numbers in a cache line; every array begins at one."""


def allocate(sizes: dict[str, int]) -> NetState:
    """Return a state of the given sizes (letters of the declarations), all zero."""
    shapes, first, at = {}, {}, 0
    for block, names in BLOCKS.items():
        letters = FIELDS[names[0]].shape.split(",")
        shapes[block] = tuple(int(x) if x.isdigit() else sizes[x] for x in letters) + (
            (len(names),) if len(names) > 1 else ()
        )
        first[block] = at
        at += -(-int(np.prod(shapes[block])) // _LINE) * _LINE
    room = np.frombuffer(map_bytes(max(1, at) * 8, f"packets among {sizes['N']:,} nodes"), dtype=np.int64)
    arrays: dict[str, npt.NDArray[Any]] = {}
    blocks: dict[str, Ints] = {}
    for block, names in BLOCKS.items():
        piece = room[first[block] : first[block] + int(np.prod(shapes[block]))].reshape(shapes[block])
        blocks[block] = piece
        for column, name in enumerate(names):
            arrays[name] = piece[:, column] if len(names) > 1 else piece
    state = NetState(**arrays)
    state.blocks = blocks
    return state
