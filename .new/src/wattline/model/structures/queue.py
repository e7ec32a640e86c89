"""The queue: slots in order, holes where jobs have left, sorted by (key, sequence number).

Leaving costs O(1), entering at the end O(1); holes are squeezed out when they outnumber the jobs. Slots do not move
while a select policy looks at them.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State
from wattline.model.structures import fitindex


@kernel
def before(s: State, a: int, b: int) -> bool:
    """Tell whether job a goes before job b."""
    return s.key[a] < s.key[b] or (s.key[a] == s.key[b] and s.seq[a] < s.seq[b])


@kernel
def _put(s: State, at: int, j: int) -> None:
    s.queue[at] = j
    s.q_nodes[at] = s.nodes[j]
    s.slot[j] = at


@kernel
def append(s: State, j: int) -> None:
    """Put a job behind all others; ``settle_new`` moves it to its place once its key is known."""
    tail = s.q_tail[0]
    if tail > s.q_head[0]:
        last = s.queue[tail - 1]
        if last < 0 or before(s, j, last):  # a hole hides who stands before it
            s.untidy[0] = 1
    _put(s, tail, j)
    s.q_left_s[tail] = max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))
    s.q_tail[0] = tail + 1
    n = s.q_len[0] + 1
    s.q_len[0] = n
    if s.ix_on[0] == 1:
        fitindex.add(s, j)
    elif n >= fitindex.DEEP:
        s.untidy[0] = 1


@outlined
def append_again(s: State, j: int) -> None:
    """Put a job behind all others that was in the queue before; where slots run short the next pass begins with a
    tidy queue.
    """
    append(s, j)
    if s.q_tail[0] > s.queue.shape[0] - s.status.shape[0]:
        s.untidy[0] = 1


@kernel
def remove(s: State, j: int) -> None:
    """Take a job out; its slot becomes a hole."""
    at = s.slot[j]
    s.queue[at] = -1
    s.q_nodes[at] = fitindex.NO_WIDTH
    s.slot[j] = -1
    s.q_len[0] -= 1
    if s.ix_on[0] == 1:
        fitindex.drop(s, j)
    if s.q_tail[0] - s.q_head[0] > 2 * s.q_len[0] + 64:
        s.untidy[0] = 1
    if s.q_len[0] == 0:
        s.q_head[0] = 0
        s.q_tail[0] = 0
        s.q_new[0] = 0
        s.ix_on[0] = 0  # slots start again at 0: leaves of jobs that left would hide the next ones from the index
    elif at == s.q_head[0]:
        head = at + 1
        while s.queue[head] < 0:
            head += 1
        s.q_head[0] = head


@outlined
def compact(s: State) -> None:
    """Squeeze the holes out. Slots change, so the backfill index is dropped."""
    kept = 0
    new = s.q_tail[0]
    for i in range(s.q_head[0], s.q_tail[0]):
        if i == s.q_new[0]:
            new = kept
        j = s.queue[i]
        if j >= 0:
            _put(s, kept, j)
            s.q_left_s[kept] = s.q_left_s[i]
            kept += 1
    s.q_new[0] = 0 if s.q_new[0] <= s.q_head[0] else min(new, kept)
    s.q_head[0] = 0
    s.q_tail[0] = kept
    s.ix_on[0] = 0


@outlined
def is_sparse(s: State) -> bool:
    """Tell whether holes outnumber the jobs, or slots run short (each pass may append every job once)."""
    return s.q_tail[0] - s.q_head[0] > 2 * s.q_len[0] + 64 or s.q_tail[0] > s.queue.shape[0] - s.status.shape[0]


@outlined
def settle_new(s: State) -> None:
    """Move the jobs that entered since the last pass to the places their keys ask for."""
    for i in range(max(s.q_new[0], s.q_head[0]), s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            if s.key[j] != s.key[j] and s.fault[0] == 0:
                s.fault[0] = j + 1
            _insert_left(s, j, i)


@outlined
def _insert_left(s: State, j: int, i: int) -> None:
    p = i
    at = i
    while at > s.q_head[0]:
        other = s.queue[at - 1]
        if other >= 0:
            if before(s, other, j):
                break
            p = at - 1
        at -= 1
    if p == i:
        return
    left_s = s.q_left_s[i]
    for x in range(i, p, -1):
        other = s.queue[x - 1]
        if other >= 0:
            _put(s, x, other)
        else:
            s.queue[x] = -1
            s.q_nodes[x] = fitindex.NO_WIDTH
        s.q_left_s[x] = s.q_left_s[x - 1]
    _put(s, p, j)
    s.q_left_s[p] = left_s
    s.q_new[0] = min(s.q_new[0], p)
    s.ix_on[0] = 0


@outlined
def resort(s: State) -> None:
    """Sort the whole queue by (key, sequence number), because keys of waiting jobs have changed."""
    compact(s)
    n = s.q_len[0]
    moved = 0
    for i in range(1, n):
        j = s.queue[i]
        p = i
        while p > 0 and before(s, j, s.queue[p - 1]):
            s.queue[p] = s.queue[p - 1]
            p -= 1
        s.queue[p] = j
        moved += i - p
        if moved > 16 * n + 64:  # far from sorted: insertion would be quadratic
            _heap_sort(s, n)
            break
    for i in range(n):
        j = s.queue[i]
        _put(s, i, j)
        if s.key[j] != s.key[j] and s.fault[0] == 0:
            s.fault[0] = j + 1
        s.q_left_s[i] = max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))
    s.q_new[0] = 0


@outlined
def _sift(s: State, root: int, n: int) -> None:
    j = s.queue[root]
    i = root
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and before(s, s.queue[child], s.queue[child + 1]):
            child += 1
        if not before(s, j, s.queue[child]):
            break
        s.queue[i] = s.queue[child]
        i = child
    s.queue[i] = j


@outlined
def _heap_sort(s: State, n: int) -> None:
    for root in range(n // 2 - 1, -1, -1):
        _sift(s, root, n)
    for last in range(n - 1, 0, -1):
        s.queue[0], s.queue[last] = s.queue[last], s.queue[0]
        _sift(s, 0, last)
