"""Conservation: nothing in a packet simulation is lost or made up, whenever it is stopped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wattline.arrays import Ints
from wattline.physics.packets.kernels import codes as c
from wattline.physics.packets.kernels.state import LANE_BITS, LANE_MASK, LANES, NetState
from wattline.physics.packets.layout import Setting


def broken_laws(s: NetState, setting: Setting) -> list[str]:
    """Return every violation found: packets, space of output buffers, credits of input buffers, events.

    The list is empty if all is well.
    """
    found = []
    in_pool = _length(int(s.free_packet[0]), s.pk_next)
    out = int(s.tally[c.S_MADE] - s.tally[c.S_DELIVERED])
    if in_pool != s.free_packets[0] or in_pool + out != s.pk_next.size:
        found.append(f"{out} packets are on their way, the pool lacks {s.pk_next.size - in_pool}")
    travelling = _travelling(s)
    if np.count_nonzero(s.ev_time >= 0) != s.near[0] + s.late[0]:
        found.append("the number of scheduled events is not that of events in wheel and heap")
    for port in range(setting.wiring.ports):
        for lane in range(port * LANES, port * LANES + setting.lanes):
            found += _output_law(s, setting, lane)
            if s.peer[port] < setting.wiring.router_ports:
                found += _credit_law(s, setting, lane, travelling)
    return found


def _length(first: int, following: Ints) -> int:
    return sum(1 for _ in _chain(first, following))


def _chain(first: int, following: Ints) -> Iterator[int]:
    while first >= 0:
        yield first
        first = int(following[first])


def _flits(s: NetState, first: int, following: Ints) -> int:
    return sum(int(s.pk_flits[packet]) for packet in _chain(first, following))


def _travelling(s: NetState) -> Ints:
    """Return per lane the flits that hold a turn on its link and have not arrived."""
    total = np.zeros(s.credit.size, dtype=np.int64)
    packet = np.flatnonzero(s.ev_time[s.option[c.O_PACKET] :][: s.pk_next.size] >= 0)
    packet = packet[s.pk_lane[packet] >= 0]
    np.add.at(total, s.pk_lane[packet], s.pk_flits[packet])
    return total


def _output_law(s: NetState, setting: Setting, lane: int) -> list[str]:
    held = _flits(s, int(s.hold_head[lane]), s.pk_next) + _flits(s, int(s.leave_head[lane]), s.pk_leave)
    size = setting.buffers.output_bytes // c.FLIT_BYTES
    if s.space[lane] < 0 or s.space[lane] + held != size:
        return [f"lane {lane}: {s.space[lane]} flits of space and {held} held are not {size}"]
    return []


def _credit_law(s: NetState, setting: Setting, lane: int, travelling: Ints) -> list[str]:
    ring = int(s.option[c.O_RING])
    places = (int(s.ring_first[lane]) + np.arange(int(s.ring_count[lane]))) % ring
    returning = int((s.ring[lane * ring + places] & c.CREDIT_MASK).sum())
    there = (int(s.peer[lane >> LANE_BITS]) << LANE_BITS) + (lane & LANE_MASK)
    buffered = _flits(s, int(s.in_head[there]), s.pk_next)
    size = setting.buffers.input_bytes // c.FLIT_BYTES
    parts = (int(s.credit[lane]), returning, int(travelling[lane]), buffered)
    if min(parts) < 0 or sum(parts) != size:
        return [
            (
                f"lane {lane}: credits {parts[0]} + returning {returning} + on the link {parts[2]} + "
                f"buffered {buffered} are not {size}"
            )
        ]
    return []
