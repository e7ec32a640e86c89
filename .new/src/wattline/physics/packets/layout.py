"""Make, reset and enlarge the state of a packet simulation."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError, did_you_mean
from wattline.physics.packets.kernels import codes as c
from wattline.physics.packets.kernels.state import BLOCKS, LANES, NEVER, NetState, allocate
from wattline.physics.packets.kernels.wheel import REACH_BITS, bucket_bits
from wattline.physics.packets.wiring import PS_PER_S, Buffers, Latencies, Protocol, Wiring, flit_time_ps

UNLIMITED_FLITS = 1 << 50
"""Credits towards a node: it takes whatever arrives."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A wired network with everything that stays the same from run to run."""

    wiring: Wiring
    routing: str
    crossbar_ps: int
    buffers: Buffers
    latencies: Latencies
    protocol: Protocol
    inside: bool

    @property
    def lanes(self) -> int:
        """Virtual channels in use."""
        return 2 if self.routing == "minimal" else 3


def ring_size(setting: Setting) -> int:
    """Return the room for credits on their way to a lane: an input port returns at most one every crossbar cycle."""
    count = round(setting.latencies.link_s * PS_PER_S) // setting.crossbar_ps + 2
    count = min(count, setting.buffers.input_bytes // c.FLIT_BYTES + 1)
    return 1 << int(count - 1).bit_length()


def sizes(setting: Setting, **room: int) -> dict[str, int]:
    """Return the extents of the state's arrays; ``room`` gives those of jobs and pools by their letters."""
    w = setting.wiring
    lanes = w.ports * LANES
    found = {
        "P": w.ports,
        "L": lanes,
        "N": w.node_router.size,
        "R": w.group.size,
        "G": w.own.shape[1],
        "H": w.toward.shape[1],
        "A": w.beside.shape[1],
        "B": 1 << (REACH_BITS - bucket_bits(w.node_router.size)),
        "Q": lanes * ring_size(setting),
        **room,
    }
    found["E"] = 2 * w.router_ports + 2 * lanes + found["N"] + found["T"] + found["K"]
    return found


def make_state(setting: Setting, room: dict[str, int]) -> NetState:
    """Return a state with all that never changes filled in."""
    s = allocate(sizes(setting, **room))
    w, latencies = setting.wiring, setting.latencies
    link = round(latencies.link_s * PS_PER_S)
    s.peer[:], s.router[:], s.kind[:], s.flit_ps[:] = w.peer, w.router, w.kind, w.flit_ps
    s.wire_ps[:] = link
    s.delay_ps[:] = (
        link + round(latencies.input_s * PS_PER_S) + round(latencies.output_s * PS_PER_S) + setting.crossbar_ps
    )
    s.node_router[:], s.group[:], s.within[:] = w.node_router, w.group, w.within
    s.toward[:], s.beside[:], s.own[:] = w.toward, w.beside, w.own
    _set_options(s, setting)
    return s


def _set_options(s: NetState, setting: Setting) -> None:
    w, protocol = setting.wiring, setting.protocol
    lanes = w.ports * LANES
    option = s.option
    option[c.O_ROUTER_PORTS], option[c.O_NODES], option[c.O_LANES] = w.router_ports, w.node_router.size, setting.lanes
    option[c.O_ROUTING] = c.ROUTINGS.index(setting.routing)
    option[c.O_CROSSBAR_PS], option[c.O_RING] = setting.crossbar_ps, ring_size(setting)
    option[c.O_PACKET_BYTES], option[c.O_HEADER_BYTES] = protocol.packet_bytes, protocol.header_bytes
    option[c.O_EAGER_BYTES], option[c.O_MEMORY_PS] = protocol.eager_bytes, round(setting.latencies.memory_s * PS_PER_S)
    option[c.O_INSIDE] = int(setting.inside)
    option[c.O_OUT] = w.router_ports
    option[c.O_SPACE] = 2 * w.router_ports
    option[c.O_CREDIT] = option[c.O_SPACE] + lanes
    option[c.O_NIC] = option[c.O_CREDIT] + lanes
    option[c.O_TASK] = option[c.O_NIC] + w.node_router.size
    option[c.O_PACKET] = option[c.O_TASK] + s.tk_node.size
    option[c.O_GROUPS], option[c.O_WITHIN] = w.own.shape[1], w.beside.shape[1]
    option[c.O_LINKS] = w.toward.shape[1] // w.own.shape[1]
    option[c.O_BUCKET] = bucket_bits(w.node_router.size)
    option[c.O_OUTPUT_FLITS] = setting.buffers.output_bytes // c.FLIT_BYTES


_EMPTY = (
    "wheel_head",
    "wheel_tail",
    "ev_time",
    "wait_head",
    "wait_tail",
    "in_head",
    "in_tail",
    "wait_next",
    "hold_head",
    "hold_tail",
    "leave_head",
    "leave_tail",
    "nic_head",
    "nic_tail",
)
_ZERO = (
    "tally",
    "cursor",
    "near",
    "late",
    "link_free",
    "in_free",
    "out_free",
    "in_lanes",
    "blocked",
    "blocked_since",
    "flits",
    "packets",
    "stall_ps",
    "cross_ps",
    "starved",
    "armed",
    "ring_first",
    "ring_count",
    "sent_flits",
    "got_flits",
    "made_at",
    "made",
)


def reset(s: NetState, setting: Setting, seed: int) -> None:
    """Empty the network: all buffers free, all packets in the pool, time 0."""
    for name in _EMPTY:
        getattr(s, name)[:] = -1
    for name in _ZERO:
        getattr(s, name)[:] = 0
    s.late_bucket[0] = NEVER
    s.credit[:] = setting.buffers.input_bytes // c.FLIT_BYTES
    to_node = s.peer >= setting.wiring.router_ports
    s.credit.reshape(-1, LANES)[to_node] = UNLIMITED_FLITS
    s.space[:] = setting.buffers.output_bytes // c.FLIT_BYTES
    s.option[c.O_SEED] = seed
    s.option[c.O_OPEN] = 0
    _fill_pool(s.pk_next, s.free_packet, s.free_packets, 0)
    _fill_pool(s.ms_next, s.free_message, s.free_messages, 0)


def _fill_pool(following: Ints, first: Ints, count: Ints, used: int) -> None:
    """Chain the items from ``used`` on and put them before the free ones that there are."""
    size = following.size
    if used == 0:
        first[0], count[0] = -1, 0
    following[used:] = np.arange(used + 1, size + 1)
    following[size - 1] = first[0]
    first[0] = used
    count[0] += size - used


def grow(s: NetState, setting: Setting, room: dict[str, int]) -> NetState:
    """Return the same state with more packets and messages in the pools."""
    larger = make_state(setting, room)
    packets, messages = s.pk_next.size, s.ms_next.size
    for block in BLOCKS:
        piece = s.blocks[block]
        larger.blocks[block][: piece.shape[0]] = piece
    larger.ev_time[s.ev_time.size :] = -1
    _fill_pool(larger.pk_next, larger.free_packet, larger.free_packets, packets)
    if larger.ms_next.size > messages:
        _fill_pool(larger.ms_next, larger.free_message, larger.free_messages, messages)
    larger.tally[c.S_WANT] = 0
    return larger


def setting_of(
    wiring: Wiring,
    local_bps: float,
    *,
    routing: str,
    crossbar: float,
    buffers: Buffers,
    latencies: Latencies,
    protocol: Protocol,
    inside: bool,
) -> Setting:
    """Check the parameters of a simulation and put them together."""
    if routing not in c.ROUTINGS:
        raise InputError(f"packets: unknown routing {routing!r}{did_you_mean(routing, c.ROUTINGS)}")
    if not isinstance(crossbar, Real) or not 0 < crossbar <= 1000:
        raise InputError(
            f"packets: the crossbar's speed-up over local links is a number above 0, at most 1000, got {crossbar!r:.60}"
        )
    for side in ("input_bytes", "output_bytes"):
        if getattr(buffers, side) // c.FLIT_BYTES * c.FLIT_BYTES < protocol.packet_bytes:
            raise InputError(
                f"packets: a buffer must hold a whole packet of {protocol.packet_bytes} bytes in flits of "
                f"{c.FLIT_BYTES}, "
                f"got {side} = {getattr(buffers, side)}"
            )
    return Setting(wiring, routing, flit_time_ps(crossbar * local_bps), buffers, latencies, protocol, inside)
