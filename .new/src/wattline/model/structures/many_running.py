"""The running jobs in blocks while they are many and sorted: a start or an end moves the jobs of one block, not all
that follow.

The blocks are the list then; ``s.running`` and ``s.run_end_s`` are its copy, as far as somebody has asked for it:
the leading ``n_listed`` blocks, ``n_ready`` jobs, stand there. Whoever reads all running jobs asks ``listed``
first, whoever walks along them ``ready``. Outside the loop, and before any policy of a user, all of them are
listed.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State
from wattline.model.state.sizes import BLOCK, MANY_RUNNING

FEW_RUNNING = MANY_RUNNING // 2
"""Running jobs below which the blocks are given up.

(This number is compared first: where few jobs run, all this costs nothing.)
"""

# ------------------------------------------------------------------ reading


@kernel
def are_many(s: State) -> bool:
    """Tell whether the blocks are the list."""
    return s.n_running[0] >= FEW_RUNNING and s.n_blocks[0] > 0


@kernel
def listed(s: State) -> int:
    """Return how many jobs run, and see that all of them stand in ``s.running``."""
    n = s.n_running[0]
    if n >= FEW_RUNNING and s.n_listed[0] < s.n_blocks[0]:
        _list_up_to(s, n - 1)
    return n


@kernel
def ready(s: State, i: int) -> int:
    """Return how many jobs stand in ``s.running``: more than ``i``, or all that run."""
    n = s.n_running[0]
    if n >= FEW_RUNNING and s.n_listed[0] < s.n_blocks[0]:
        _list_up_to(s, i)
        return s.n_ready[0]
    return n


@outlined
def _list_up_to(s: State, i: int) -> None:
    """Copy blocks until the job at place ``i`` stands in ``s.running``, or all do."""
    while s.n_ready[0] <= i and s.n_listed[0] < s.n_blocks[0]:
        place = s.n_listed[0]
        first = s.n_ready[0]
        base = s.rb_order[place] * BLOCK
        count = s.rb_count[s.rb_order[place]]
        for x in range(count):
            s.running[first + x] = s.rb_job[base + x]
            s.run_end_s[first + x] = s.rb_end_s[base + x]
        s.rb_from[place] = first
        s.n_ready[0] = first + count
        s.n_listed[0] = place + 1


@kernel
def first_end_s(s: State) -> float:
    """Return the earliest estimated end; some job runs."""
    return s.rb_first_s[0] if are_many(s) else s.run_end_s[0]


# ------------------------------------------------------------------ changing


@outlined
def build(s: State) -> None:
    """Lay the jobs of ``s.running``, which are all listed, out in blocks that are half full."""
    n = s.n_running[0]
    half = BLOCK >> 1
    blocks = (n + half - 1) // half
    for k in range(s.rb_order.shape[0]):
        s.rb_order[k] = k
        s.rb_place[k] = k
    for k in range(blocks):
        first = k * half
        count = min(half, n - first)
        for x in range(count):
            j = s.running[first + x]
            s.rb_job[k * BLOCK + x] = j
            s.rb_end_s[k * BLOCK + x] = s.run_end_s[first + x]
            s.run_at[j] = k
        s.rb_count[k] = count
        s.rb_first_s[k] = s.run_end_s[first]
        s.rb_from[k] = first
    s.n_blocks[0] = blocks
    s.n_listed[0] = blocks
    s.n_ready[0] = n


@kernel
def _forget_from(s: State, place: int) -> None:
    """Note that the block at a place differs from what ``s.running`` says."""
    if place < s.n_listed[0]:
        s.n_listed[0] = place
        s.n_ready[0] = s.rb_from[place]


@kernel
def _put_block(s: State, place: int, block: int, first_s: float) -> None:
    s.rb_order[place] = block
    s.rb_place[block] = place
    s.rb_first_s[place] = first_s


@outlined
def _split(s: State, place: int) -> None:
    """Move the second half of a full block to an unused one, which comes next."""
    unused = s.rb_order[s.n_blocks[0]]
    for k in range(s.n_blocks[0], place + 1, -1):
        _put_block(s, k, s.rb_order[k - 1], s.rb_first_s[k - 1])
    block = s.rb_order[place]
    half = BLOCK >> 1
    for x in range(half):
        j = s.rb_job[block * BLOCK + half + x]
        s.rb_job[unused * BLOCK + x] = j
        s.rb_end_s[unused * BLOCK + x] = s.rb_end_s[block * BLOCK + half + x]
        s.run_at[j] = unused
    s.rb_count[block] = half
    s.rb_count[unused] = half
    _put_block(s, place + 1, unused, s.rb_end_s[unused * BLOCK])
    s.n_blocks[0] += 1


@kernel
def _find_place(s: State, t_s: float) -> int:
    """Return the place of the last block whose first job ends no later than a time, or 0."""
    low = 1
    high = s.n_blocks[0]
    while low < high:
        middle = (low + high) >> 1
        if s.rb_first_s[middle] <= t_s:
            low = middle + 1
        else:
            high = middle
    return low - 1


@outlined
def enter(s: State, j: int) -> None:
    """Add a job after those that end no later; the caller counts it."""
    if s.n_blocks[0] == 0:
        build(s)
    t_s = s.estimated_end_s[j]
    place = _find_place(s, t_s)
    if s.rb_count[s.rb_order[place]] == BLOCK:
        if s.n_blocks[0] == s.rb_order.shape[0]:  # many blocks with few jobs
            listed(s)
            build(s)
        else:
            _forget_from(s, place)
            _split(s, place)
        place = _find_place(s, t_s)
    _forget_from(s, place)
    block = s.rb_order[place]
    base = block * BLOCK
    i = base + s.rb_count[block]
    while i > base and s.rb_end_s[i - 1] > t_s:
        s.rb_end_s[i] = s.rb_end_s[i - 1]
        s.rb_job[i] = s.rb_job[i - 1]
        i -= 1
    s.rb_end_s[i] = t_s
    s.rb_job[i] = j
    s.rb_count[block] += 1
    s.rb_first_s[place] = s.rb_end_s[base]
    s.run_at[j] = block


@outlined
def leave(s: State, j: int) -> None:
    """Remove a job; the caller counts it. With few jobs left ``s.running`` is the list again."""
    block = s.run_at[j]
    place = s.rb_place[block]
    _forget_from(s, place)
    base = block * BLOCK
    i = base + _place_in(s, block, s.estimated_end_s[j])
    while s.rb_job[i] != j:
        i += 1
    last = base + s.rb_count[block] - 1
    for x in range(i, last):
        s.rb_job[x] = s.rb_job[x + 1]
        s.rb_end_s[x] = s.rb_end_s[x + 1]
    s.rb_count[block] -= 1
    if s.rb_count[block] > 0:
        s.rb_first_s[place] = s.rb_end_s[base]
    else:
        for k in range(place, s.n_blocks[0] - 1):
            _put_block(s, k, s.rb_order[k + 1], s.rb_first_s[k + 1])
        s.n_blocks[0] -= 1
        s.rb_order[s.n_blocks[0]] = block
    if s.n_running[0] <= FEW_RUNNING:
        _list_up_to(s, s.n_running[0])
        s.n_blocks[0] = 0
        s.n_listed[0] = 0
        s.n_ready[0] = 0


@kernel
def _place_in(s: State, block: int, t_s: float) -> int:
    """Return the number of jobs of a block that end before a time."""
    base = block * BLOCK
    low = 0
    high = s.rb_count[block]
    while low < high:
        middle = (low + high) >> 1
        if s.rb_end_s[base + middle] < t_s:
            low = middle + 1
        else:
            high = middle
    return low
