"""Routers: input buffers, crossbar, output buffers, links and credits.

A packet that heads an input lane asks for an output; the crossbar moves it as soon as input and output side are
free and the output lane has space, the longest waiting one first. Both sides are then held for its length. In the
output lane it takes the link in the order in which packets got hold of credits: as nothing can overtake it then,
its turn is set at once and its arrival scheduled, so that a packet in an empty network costs one event a hop.
Latencies of crossbar, output, link and input follow the link's grant. A credit goes back when the packet leaves the
input buffer.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.physics.packets.kernels.codes import (
    CREDIT_BITS,
    CREDIT_MASK,
    O_CREDIT,
    O_CROSSBAR_PS,
    O_LANES,
    O_OUT,
    O_PACKET,
    O_RING,
    O_SPACE,
)
from wattline.physics.packets.kernels.routing import leave_space, route
from wattline.physics.packets.kernels.state import LANE_BITS, LANE_MASK, NetState
from wattline.physics.packets.kernels.wheel import place, schedule

# ------------------------------------------------------------------ credits


@kernel
def collect(s: NetState, lane: int, now: int) -> None:
    """Take in the credits that have arrived."""
    size = s.option[O_RING]
    while s.ring_count[lane] > 0:
        packed = s.ring[lane * size + s.ring_first[lane]]
        if packed >> CREDIT_BITS > now:
            break
        s.credit[lane] += packed & CREDIT_MASK
        s.ring_first[lane] = (s.ring_first[lane] + 1) & (size - 1)
        s.ring_count[lane] -= 1


@kernel
def _give_back(s: NetState, lane: int, flits: int, now: int) -> None:
    """Send credits to the output lane that filled a buffer; wake it if it waits."""
    collect(s, lane, now)
    size = s.option[O_RING]
    arrival = now + s.wire_ps[lane >> LANE_BITS]
    s.ring[lane * size + ((s.ring_first[lane] + s.ring_count[lane]) & (size - 1))] = (arrival << CREDIT_BITS) | flits
    s.ring_count[lane] += 1
    if s.starved[lane] == 1 and s.ev_time[s.option[O_CREDIT] + lane] < 0:
        schedule(s, s.option[O_CREDIT] + lane, arrival)


@kernel
def count_stall(s: NetState, port: int, now: int) -> None:
    """Count the time up to now in which the link was idle and a packet lacked credits."""
    if s.blocked[port] > 0:
        since = max(s.link_free[port], s.blocked_since[port])
        if now > since:
            s.stall_ps[port] += now - since
            s.blocked_since[port] = now


@kernel
def starve(s: NetState, lane: int, now: int) -> None:
    """Let an output lane wait for credits."""
    port = lane >> LANE_BITS
    s.starved[lane] = 1
    if s.blocked[port] == 0:
        s.blocked_since[port] = now
    s.blocked[port] += 1
    event = s.option[O_CREDIT] + lane
    if s.ring_count[lane] > 0 and s.ev_time[event] < 0:
        schedule(s, event, s.ring[lane * s.option[O_RING] + s.ring_first[lane]] >> CREDIT_BITS)


@kernel
def unstarve(s: NetState, lane: int, now: int) -> None:
    """Credits have come: count the stall and let the lane try."""
    port = lane >> LANE_BITS
    count_stall(s, port, now)
    s.blocked[port] -= 1
    s.starved[lane] = 0
    collect(s, lane, now)


# ------------------------------------------------------------------ links


@kernel
def take_link(s: NetState, packet: int, lane: int, now: int) -> int:
    """Give a packet, whose credits are taken, its turn on the link; return when.

    It holds space of its lane until then.
    """
    port = lane >> LANE_BITS
    flits = s.pk_flits[packet]
    start = s.link_free[port]
    if start > now:
        s.pk_start[packet] = start
        s.pk_leave[packet] = -1
        if s.leave_head[lane] < 0:
            s.leave_head[lane] = packet
        else:
            s.pk_leave[s.leave_tail[lane]] = packet
        s.leave_tail[lane] = packet
    else:
        start = now
        s.space[lane] += flits
        count_stall(s, port, now)
    s.link_free[port] = start + flits * s.flit_ps[port]
    s.pk_lane[packet] = lane
    place(s, s.option[O_PACKET] + packet, start + s.delay_ps[port])
    if s.armed[lane] == 1:
        s.armed[lane] = 0
        if s.ev_time[s.option[O_SPACE] + lane] < 0:
            schedule(s, s.option[O_SPACE] + lane, start)
    return start


@kernel
def credits_came(s: NetState, lane: int, now: int) -> int:
    """Send on the packets of a lane that waited for credits."""
    unstarve(s, lane, now)
    packet = s.hold_head[lane]
    while packet >= 0:
        flits = s.pk_flits[packet]
        if s.credit[lane] < flits:
            starve(s, lane, now)
            return 0
        s.hold_head[lane] = s.pk_next[packet]
        s.credit[lane] -= flits
        take_link(s, packet, lane, now)
        packet = s.hold_head[lane]
    return 0


@kernel
def _into_output(s: NetState, packet: int, lane: int, flits: int, now: int) -> None:
    """Put a packet into an output lane, and on the link if it gets credits."""
    s.space[lane] -= flits
    if s.starved[lane] == 0:
        if s.credit[lane] < flits:
            collect(s, lane, now)
        if s.credit[lane] >= flits:
            s.credit[lane] -= flits
            take_link(s, packet, lane, now)
            return
        starve(s, lane, now)
    s.pk_next[packet] = -1
    if s.hold_head[lane] < 0:
        s.hold_head[lane] = packet
    else:
        s.pk_next[s.hold_tail[lane]] = packet
    s.hold_tail[lane] = packet


# ------------------------------------------------------------------ crossbar


@kernel
def _ask(s: NetState, lane: int, out: int, now: int) -> None:
    """Let an input lane wait for its output; whatever keeps it waiting has an event scheduled, or will schedule one."""
    port = out >> LANE_BITS
    s.in_out[lane] = out
    s.in_asked[lane] = now
    s.in_since[lane] = max(now, s.in_free[lane >> LANE_BITS])
    s.wait_next[lane] = -1
    if s.wait_head[port] < 0:
        s.wait_head[port] = lane
    else:
        s.wait_next[s.wait_tail[port]] = lane
    s.wait_tail[port] = lane
    if s.out_free[port] > now and s.ev_time[s.option[O_OUT] + port] < 0:
        schedule(s, s.option[O_OUT] + port, s.out_free[port])


@kernel
def _grant(s: NetState, packet: int, lane: int, out: int, now: int) -> None:
    """Move the head of an input lane to an output lane that has space for it."""
    source, port = lane >> LANE_BITS, out >> LANE_BITS
    flits = s.pk_flits[packet]
    free = now + flits * s.option[O_CROSSBAR_PS]
    s.in_free[source] = free
    s.out_free[port] = free
    following = s.pk_next[packet]
    s.in_head[lane] = following
    _give_back(s, (s.peer[source] << LANE_BITS) + (lane & LANE_MASK), flits, now)
    _into_output(s, packet, out, flits, now)
    if following < 0:
        s.in_lanes[source] -= 1
    if s.in_lanes[source] > 0 and s.ev_time[source] < 0:
        schedule(s, source, free)
    if following >= 0:
        _ask(s, lane, route(s, following, lane, now), now)


@kernel
def _want_space(s: NetState, lane: int) -> None:
    """Wake the output when the lane next has more space, or as soon as a packet is set to leave it.

    Not only when there is enough for who waits now: by then its input may be busy, and a shorter one behind it fits.
    """
    if s.ev_time[s.option[O_SPACE] + lane] >= 0:
        return
    packet = s.leave_head[lane]
    if packet >= 0:
        schedule(s, s.option[O_SPACE] + lane, s.pk_start[packet])
    else:
        s.armed[lane] = 1


@outlined
def serve(s: NetState, port: int, now: int) -> int:
    """Give a free output to the input lane that has waited longest among those that can use it.

    Return whether any could.

    A lane that lacks space keeps those behind it from taking what becomes free in the same output lane.
    """
    full = 0
    before = -1
    lane = s.wait_head[port]
    while lane >= 0:
        out = s.in_out[lane]
        bit = 1 << (out & LANE_MASK)
        if s.in_free[lane >> LANE_BITS] <= now and full & bit == 0:
            packet = s.in_head[lane]
            flits = s.pk_flits[packet]
            leave_space(s, out, now)
            if s.space[out] >= flits:
                after = s.wait_next[lane]
                if before < 0:
                    s.wait_head[port] = after
                else:
                    s.wait_next[before] = after
                if after < 0:
                    s.wait_tail[port] = before
                source = lane >> LANE_BITS
                s.cross_ps[source] += now - s.in_since[lane]
                _grant(s, packet, lane, out, now)
                if s.wait_head[port] >= 0 and s.ev_time[s.option[O_OUT] + port] < 0:
                    schedule(s, s.option[O_OUT] + port, s.out_free[port])
                return 1
            full |= bit
            _want_space(s, out)
        before = lane
        lane = s.wait_next[lane]
    return 0


@kernel
def enter_router(s: NetState, packet: int, lane: int, now: int) -> None:
    """Put a packet that arrived into its input lane, and through the crossbar if nothing is in its way."""
    s.pk_next[packet] = -1
    if s.in_head[lane] >= 0:
        s.pk_next[s.in_tail[lane]] = packet
        s.in_tail[lane] = packet
        return
    source = lane >> LANE_BITS
    s.in_head[lane] = packet
    s.in_tail[lane] = packet
    s.in_lanes[source] += 1
    out = route(s, packet, lane, now)
    port = out >> LANE_BITS
    idle = s.in_free[source] <= now and s.out_free[port] <= now
    if idle and s.wait_head[port] < 0:
        leave_space(s, out, now)
        if s.space[out] >= s.pk_flits[packet]:
            _grant(s, packet, lane, out, now)
            return
    _ask(s, lane, out, now)
    if idle:
        serve(s, port, now)
    elif s.in_free[source] > now and s.ev_time[source] < 0:
        schedule(s, source, s.in_free[source])


@kernel
def output_free(s: NetState, port: int, now: int) -> int:
    """The crossbar side of an output became free: serve those who wait."""
    if s.wait_head[port] < 0:
        return 0
    if s.out_free[port] > now:  # somebody came in the same instant
        schedule(s, s.option[O_OUT] + port, s.out_free[port])
    else:
        serve(s, port, now)
    return 0


@kernel
def input_free(s: NetState, port: int, now: int) -> int:
    """The crossbar side of an input became free: let the heads of its lanes try, the longest waiting one first."""
    if s.in_lanes[port] == 0:
        return 0
    if s.in_free[port] > now:
        schedule(s, port, s.in_free[port])
        return 0
    tried = 0
    for _ in range(s.in_lanes[port]):
        lane = -1
        for channel in range(s.option[O_LANES]):
            other = (port << LANE_BITS) + channel
            if (
                s.in_head[other] >= 0
                and tried >> channel & 1 == 0
                and (lane < 0 or s.in_asked[other] < s.in_asked[lane])
            ):
                lane = other
        tried |= 1 << (lane & LANE_MASK)
        wanted = s.in_out[lane] >> LANE_BITS
        if s.out_free[wanted] <= now:
            serve(s, wanted, now)
            if s.in_free[port] > now:
                break
    return 0


@kernel
def space_came(s: NetState, lane: int, now: int) -> int:
    """An output lane has space again: serve those who wait, unless the output is busy (it then serves them later)."""
    port = lane >> LANE_BITS
    leave_space(s, lane, now)
    if s.wait_head[port] >= 0 and s.out_free[port] <= now:
        serve(s, port, now)
    return 0
