"""The event queue: a wheel of short sorted lists for what comes soon, a heap for what comes late.

Every thing that can happen (a packet arrives, a port becomes free, …) owns one event, so nothing is allocated. A bucket
spans so little time that it holds an event or two; an event goes behind those of the same time, so that order is first
come, first served. What lies further ahead than the wheel reaches (long computations, packets queued before a very
slow link) waits in the heap and enters the wheel as soon as it fits.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.physics.packets.kernels.codes import O_BUCKET
from wattline.physics.packets.kernels.state import NEVER, NetState

REACH_BITS = 25
"""The wheel reaches 2^25 ps (34 µs) ahead: longer than a full buffer takes on most links."""


def bucket_bits(nodes: int) -> int:
    """Return the bits of time that a bucket spans: the more nodes, the more happens in a nanosecond.

    >>> bucket_bits(72), bucket_bits(272), bucket_bits(1056), bucket_bits(10_000)
    (13, 11, 9, 8)
    """
    return max(8, min(13, 19 - nodes.bit_length() + 1))


@kernel
def _earlier(s: NetState, a: int, b: int) -> bool:
    return s.ev_time[a] < s.ev_time[b] or (s.ev_time[a] == s.ev_time[b] and a < b)


@outlined
def push_late(s: NetState, event: int) -> int:
    """Put an event into the heap."""
    at = s.late[0]
    s.late[0] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if not _earlier(s, event, s.heap[above]):
            break
        s.heap[at] = s.heap[above]
        at = above
    s.heap[at] = event
    s.late_bucket[0] = s.ev_time[s.heap[0]] >> s.option[O_BUCKET]
    return 0


@kernel
def _pop_late(s: NetState) -> int:
    """Take the first event out of the heap."""
    first = s.heap[0]
    count = s.late[0] - 1
    s.late[0] = count
    if count == 0:
        s.late_bucket[0] = NEVER
        return first
    event = s.heap[count]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and _earlier(s, s.heap[below + 1], s.heap[below]):
            below += 1
        if not _earlier(s, s.heap[below], event):
            break
        s.heap[at] = s.heap[below]
        at = below
    s.heap[at] = event
    s.late_bucket[0] = s.ev_time[s.heap[0]] >> s.option[O_BUCKET]
    return first


@kernel
def _insert(s: NetState, event: int, time: int, slot: int) -> None:
    """Put an event into its bucket, behind all that are not later."""
    s.near[0] += 1
    head = s.wheel_head[slot]
    s.ev_next[event] = -1
    if head < 0:
        s.wheel_head[slot] = event
        s.wheel_tail[slot] = event
        return
    tail = s.wheel_tail[slot]
    if s.ev_time[tail] <= time:
        s.ev_next[tail] = event
        s.wheel_tail[slot] = event
        return
    if s.ev_time[head] > time:
        s.ev_next[event] = head
        s.wheel_head[slot] = event
        return
    before = head
    after = s.ev_next[before]
    while s.ev_time[after] <= time:  # the last one is later, so this ends
        before = after
        after = s.ev_next[before]
    s.ev_next[event] = after
    s.ev_next[before] = event


@kernel
def place(s: NetState, event: int, time: int) -> None:
    """Schedule an event that is not scheduled."""
    s.ev_time[event] = time
    bucket = time >> s.option[O_BUCKET]
    if bucket - s.cursor[0] >= s.wheel_head.size:
        push_late(s, event)
    else:
        _insert(s, event, time, bucket & (s.wheel_head.size - 1))


@outlined
def schedule(s: NetState, event: int, time: int) -> int:
    """Schedule an event that is not scheduled (a call of its own, for the less hot paths)."""
    place(s, event, time)
    return 0


@outlined
def _take_in(s: NetState) -> int:
    """Move into the wheel what it now reaches."""
    while s.late_bucket[0] - s.cursor[0] < s.wheel_head.size:
        event = _pop_late(s)
        time = s.ev_time[event]
        _insert(s, event, time, (time >> s.option[O_BUCKET]) & (s.wheel_head.size - 1))
    return 0


@kernel
def first_event(s: NetState) -> int:
    """Move the cursor to the first bucket that holds events and return the first of them (-1: there is none)."""
    if s.near[0] == 0:
        if s.late[0] == 0:
            return -1
        s.cursor[0] = s.late_bucket[0]
    cursor = s.cursor[0]
    late = s.late_bucket[0]
    while True:
        if late - cursor < s.wheel_head.size:
            s.cursor[0] = cursor
            _take_in(s)
            late = s.late_bucket[0]
        event = s.wheel_head[cursor & (s.wheel_head.size - 1)]
        if event >= 0:
            s.cursor[0] = cursor
            return event
        cursor += 1


@kernel
def remove_first(s: NetState, event: int) -> None:
    """Take the first event out of the cursor's bucket."""
    s.wheel_head[s.cursor[0] & (s.wheel_head.size - 1)] = s.ev_next[event]
    s.near[0] -= 1
    s.ev_time[event] = -1
