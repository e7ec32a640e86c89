"""The loop: take the first event, let it happen, until all jobs are done, a time is reached or something is wanted."""

from __future__ import annotations

from numba import types

from wattline.kernel.compiled import entry, kernel
from wattline.physics.packets.kernels.codes import (
    BUDGET,
    DONE,
    GROW,
    IDLE,
    O_CREDIT,
    O_NIC,
    O_NODES,
    O_OPEN,
    O_OUT,
    O_PACKET,
    O_ROUTER_PORTS,
    O_SPACE,
    O_TASK,
    S_EVENTS,
    S_LEFT,
    S_NOW,
    S_WANT,
    UNTIL,
)
from wattline.physics.packets.kernels.nodes import enter_node, pump
from wattline.physics.packets.kernels.open_loop import draw_gap, generate, leave_network
from wattline.physics.packets.kernels.routing import leave_space
from wattline.physics.packets.kernels.state import LANE_BITS, LANE_MASK, NetState
from wattline.physics.packets.kernels.switch import (
    credits_came,
    enter_router,
    input_free,
    output_free,
    space_came,
    unstarve,
)
from wattline.physics.packets.kernels.tasks import carry_on
from wattline.physics.packets.kernels.wheel import first_event, remove_first, schedule


@kernel
def _arrive(s: NetState, packet: int, now: int) -> None:
    """The head of a packet reaches the other end of a link."""
    lane = s.pk_lane[packet]
    if lane < 0:
        enter_node(s, packet, now)
        return
    port = lane >> LANE_BITS
    leave_space(s, lane, now)  # at the latest now it has left, so that its fields can be used again
    s.flits[port] += s.pk_flits[packet]
    s.packets[port] += 1
    s.pk_hops[packet] += 1
    other = s.peer[port]
    if other < s.option[O_ROUTER_PORTS]:
        enter_router(s, packet, (other << LANE_BITS) + (lane & LANE_MASK), now)
    elif s.option[O_OPEN] == 0:
        enter_node(s, packet, now)
    else:
        leave_network(s, packet, now)


@kernel
def _feed(s: NetState, node: int, now: int) -> None:
    if s.option[O_OPEN] == 0:
        pump(s, node, now)
    else:
        generate(s, node, now)


@kernel
def _happen(s: NetState, event: int, now: int) -> None:
    """Let an event that is not a packet's arrival happen."""
    if event < s.option[O_OUT]:
        input_free(s, event, now)
    elif event < s.option[O_SPACE]:
        output_free(s, event - s.option[O_OUT], now)
    elif event < s.option[O_CREDIT]:
        space_came(s, event - s.option[O_SPACE], now)
    elif event < s.option[O_NIC]:
        lane = event - s.option[O_CREDIT]
        node = (lane >> LANE_BITS) - s.option[O_ROUTER_PORTS]
        if node < 0:
            credits_came(s, lane, now)
        else:
            unstarve(s, lane, now)
            _feed(s, node, now)
    elif event < s.option[O_TASK]:
        _feed(s, event - s.option[O_NIC], now)
    else:
        carry_on(s, event - s.option[O_TASK], now)


@entry(types.int64(NetState.record_type, types.int64))
def begin_tasks(s: NetState, count: int) -> int:
    """Schedule the begin of all tasks, in their order."""
    for task in range(count):
        schedule(s, s.option[O_TASK] + task, s.tk_began[task])
    return 0


@entry(types.int64(NetState.record_type))
def begin_open(s: NetState) -> int:
    """Schedule the first packet of every node that makes any."""
    for node in range(s.option[O_NODES]):
        if s.made_at[node] >= 0:
            s.made_at[node] += draw_gap(s, node)
            s.made[node] = 1
            schedule(s, s.option[O_NIC] + node, s.made_at[node])
    return 0


@entry(types.int64(NetState.record_type, types.int64, types.int64))
def advance(s: NetState, until: int, budget: int) -> int:
    """Simulate up to and including time ``until``, at most ``budget`` events; return why it stopped."""
    first_packet = s.option[O_PACKET]
    for count in range(budget):
        event = first_event(s)
        if event < 0:
            s.tally[S_EVENTS] += count
            return IDLE
        now = s.ev_time[event]
        if now > until:
            s.tally[S_NOW] = until
            s.tally[S_EVENTS] += count
            return UNTIL
        remove_first(s, event)
        if event >= first_packet:
            _arrive(s, event - first_packet, now)
            continue
        _happen(s, event, now)
        if s.tally[S_LEFT] == 0 or s.tally[S_WANT] == 1:
            s.tally[S_NOW] = now
            s.tally[S_EVENTS] += count + 1
            return GROW if s.tally[S_WANT] == 1 else DONE
    s.tally[S_EVENTS] += budget
    return BUDGET
