"""The backfill index: the next waiting job that is narrow and short enough, without walking a deep queue.

Jobs are put in buckets by width (bucket b holds widths in (2^(b-1), 2^b]). Each bucket lists its jobs in queue
order and keeps a binary tree of least estimate and least width over them; whole subtrees that cannot fit are
skipped. It is kept only while the queue is deep, because a short queue is walked faster.
"""

from __future__ import annotations

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import NO_INDEX
from wattline.model.state.record import State

DEEP = 128
"""Queue length from which the index is built; it is dropped again below a quarter of this."""

NO_WIDTH = np.int64(1) << np.int64(62)


@kernel
def _climb(s: State, base: int, cell: int) -> None:
    """Refresh the cells above a changed leaf."""
    i = cell >> 1
    while i >= 1:
        left = base + 2 * i
        least = min(s.ix_least_s[left], s.ix_least_s[left + 1])
        width = min(s.ix_width[left], s.ix_width[left + 1])
        if s.ix_least_s[base + i] == least and s.ix_width[base + i] == width:
            break
        s.ix_least_s[base + i] = least
        s.ix_width[base + i] = width
        i >>= 1


@outlined
def add(s: State, j: int) -> None:
    """Enter a job that stands in the last slot."""
    b = s.ix_bucket[j]
    if s.ix_used[b] >= s.ix_size[b]:
        _squeeze(s, b)
    leaf = s.ix_used[b]
    if leaf >= s.ix_room[b]:
        _run_out(s)
        return
    s.ix_used[b] = leaf + 1
    _put(s, j, b, leaf)
    _climb(s, s.ix_tree[b], s.ix_size[b] + leaf)


@kernel
def _put(s: State, j: int, b: int, leaf: int) -> None:
    s.ix_slot[s.ix_base[b] + leaf] = s.slot[j]
    s.ix_job[s.ix_base[b] + leaf] = j
    s.ix_leaf[j] = leaf
    cell = s.ix_tree[b] + s.ix_size[b] + leaf
    s.ix_least_s[cell] = s.q_left_s[s.slot[j]]
    s.ix_width[cell] = s.nodes[j]


@outlined
def drop(s: State, j: int) -> None:
    """Take a job out."""
    b = s.ix_bucket[j]
    leaf = s.ix_leaf[j]
    cell = s.ix_size[b] + leaf
    s.ix_job[s.ix_base[b] + leaf] = -1
    s.ix_leaf[j] = -1
    s.ix_least_s[s.ix_tree[b] + cell] = np.inf
    s.ix_width[s.ix_tree[b] + cell] = NO_WIDTH
    _climb(s, s.ix_tree[b], cell)


@outlined
def _squeeze(s: State, b: int) -> None:
    """Drop the leaves of jobs that left a bucket and give its tree room to grow to twice its jobs."""
    base = s.ix_base[b]
    kept = 0
    for leaf in range(s.ix_used[b]):
        j = s.ix_job[base + leaf]
        if j >= 0:
            s.ix_job[base + kept] = j
            kept += 1
    size = 64
    while size < 2 * kept + 2:
        size *= 2
    size = min(size, s.ix_room[b])
    s.ix_size[b] = size
    s.ix_used[b] = kept
    for leaf in range(kept):
        _put(s, s.ix_job[base + leaf], b, leaf)
    tree = s.ix_tree[b]
    for i in range(size + kept, 2 * size):
        s.ix_least_s[tree + i] = np.inf
        s.ix_width[tree + i] = NO_WIDTH
    for i in range(size - 1, 0, -1):
        s.ix_least_s[tree + i] = min(s.ix_least_s[tree + 2 * i], s.ix_least_s[tree + 2 * i + 1])
        s.ix_width[tree + i] = min(s.ix_width[tree + 2 * i], s.ix_width[tree + 2 * i + 1])


@outlined
def _run_out(s: State) -> None:
    """Note that a bucket has no room for a job, and give the index up: nothing is written beyond the room.

    Whoever gives jobs their rows sees to it that this cannot happen: no more rows have a width than its bucket has
    leaves.
    """
    s.overflow[0] = NO_INDEX
    s.ix_on[0] = 0


@outlined
def build(s: State) -> None:
    """Build the index from the queue, at a cost in proportion to its length."""
    for b in range(s.ix_used.shape[0]):
        s.ix_used[b] = 0
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            b = s.ix_bucket[j]
            if s.ix_used[b] >= s.ix_room[b]:
                _run_out(s)
                return
            s.ix_job[s.ix_base[b] + s.ix_used[b]] = j
            s.ix_used[b] += 1
    for b in range(s.ix_used.shape[0]):
        _squeeze(s, b)
    s.ix_on[0] = 1


@kernel
def _first_leaf(s: State, b: int, slot: int) -> int:
    low = 0
    high = s.ix_used[b]
    while low < high:
        middle = (low + high) >> 1
        if s.ix_slot[s.ix_base[b] + middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low


@outlined
def next_fit(s: State, slot: int, free: int, window_s: float, extra: int) -> int:
    """Return the first slot from ``slot`` on whose job fits, or -1.

    A job fits if it is at most ``free`` wide and either its estimate is at most ``window_s`` or it is at most ``extra``
    wide.
    """
    best = -1
    narrow = min(free, extra)
    for b in range(s.ix_used.shape[0]):
        least_width = (1 << (b - 1)) + 1 if b > 0 else 1
        if least_width > free:
            break
        room = s.ix_size[b]
        base = s.ix_tree[b]
        if s.ix_used[b] == 0 or not (
            (s.ix_width[base + 1] <= free and s.ix_least_s[base + 1] <= window_s) or s.ix_width[base + 1] <= narrow
        ):
            continue
        leaf = _first_leaf(s, b, slot)
        if leaf >= s.ix_used[b]:
            continue
        i = leaf + room
        while i > 0:
            width = s.ix_width[base + i]
            if (width <= free and s.ix_least_s[base + i] <= window_s) or width <= narrow:
                if i >= room:
                    found = s.ix_slot[s.ix_base[b] + i - room]
                    if best < 0 or found < best:
                        best = found
                    break
                i = 2 * i
            else:
                while i & 1:
                    i >>= 1
                if i > 0:
                    i += 1
    return best
