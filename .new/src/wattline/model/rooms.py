"""Room in a state: how it is shared out among rate classes and widths, and how a state gets more rows.

Rows are what runs out first. Each job that has a row belongs to one rate class and to one width, and neither has more
jobs than room: that is checked once, when a job gets its row (``control.rows``), so that nothing has to be checked
while jobs start and end. The room is for the rows, not for the jobs that happen to run or wait, and a state whose jobs
are all known has exactly the room they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import RunError
from wattline.model import codes
from wattline.model.mechanism import Memory
from wattline.model.state.layout import allocate
from wattline.model.state.record import State
from wattline.model.structures.fitindex import NO_WIDTH


def no_room(code: int, s: State) -> RunError:
    """Return what it means that a state ran out of room, in one line."""
    if code == codes.NO_SUCH:
        return RunError("the state has no such job, or the job asks for what the machine does not have")
    if code == codes.NO_LOG:
        return RunError("the logs of the state are full: empty them before the next pass")
    rows = f"{s.sizes.J:,} rows, {int(s.n_spare[0]):,} of them spare"
    return RunError(f"the state has no more room for {codes.ROOM_NAMES[code]} ({rows}): give it more rows")


# ------------------------------------------------------------------ sharing out


def lay_out_heaps(s: State) -> None:
    """Give each rate class heap cells for its rows, in an open state for twice as many; running jobs keep theirs."""
    running = {int(c): _cells(s, int(c)) for c in s.active[: s.n_active[0]]}
    room: Ints = np.maximum(s.c_rows if s.sizes.spare == 0 else 2 * s.c_rows, 1)
    s.c_room[:] = room
    s.c_heap[:] = np.cumsum(room) - room
    for c, (ends, jobs) in running.items():
        first = int(s.c_heap[c])
        s.heap_v[first : first + ends.size], s.heap_job[first : first + ends.size] = ends, jobs


def _cells(s: State, c: int) -> tuple[Floats, Ints]:
    cells = slice(int(s.c_heap[c]), int(s.c_heap[c] + s.c_n[c]))
    return s.heap_v[cells].copy(), s.heap_job[cells].copy()


def lay_out_winners(s: State) -> None:
    """Let the winner tree say which rate class has the next end."""
    half = s.win.size // 2
    s.win[:] = -1
    s.win[half : half + s.c_n.size] = np.arange(s.c_n.size)
    next_s = np.append(s.c_next_s, np.inf)  # the last one stands for none
    while half > 1:
        a, b = s.win[half : 2 * half : 2], s.win[half + 1 : 2 * half : 2]
        half //= 2
        s.win[half : 2 * half] = np.where((b >= 0) & (next_s[b] < next_s[a]), b, a)


def lay_out_index(s: State) -> None:
    """Give each width of the backfill index leaves for its rows; the index is built anew when it is needed."""
    more = int(s.sizes.spare > 0)
    room = np.array([1 << int(max(rows + more - 1, 0)).bit_length() for rows in s.ix_rows], dtype=np.int64)
    s.ix_room[:] = room
    s.ix_base[:] = np.cumsum(room) - room
    s.ix_tree[:] = np.cumsum(2 * room) - 2 * room
    s.ix_width[:] = NO_WIDTH
    s.ix_on[0] = 0
    s.untidy[0] = 1


# ------------------------------------------------------------------ more of it


def grow(s: State, memory: Sequence[Floats], declared: Sequence[Memory], rows: int) -> tuple[State, tuple[Floats, ...]]:
    """Return the same state with more spare rows, and the memory of its policies; what jobs have in them is kept.

    Parameters
    ----------
    s
        A state that was made with spare rows.
    memory
        The memory of the policy of each slot.
    declared
        What these policies declare of it.
    rows
        How many rows are added; with 0 the room that there is is shared out anew.
    """
    if s.sizes.spare == 0:
        raise RunError("this state has room for the jobs that were known at the start alone: make it with spare rows")
    if rows == 0:
        share_out(s)
        return s, tuple(memory)
    old = s.sizes
    classes = rows if s.by_profile[0] else 0
    sizes = replace(
        old,
        J=old.J + rows,
        spare=old.spare + rows,
        C=old.C + classes,
        D=old.D + classes,
        NJ=old.NJ + rows if old.NJ else 0,
    )
    wide = allocate(sizes)
    for name, array in s.arrays().items():
        getattr(wide, name)[tuple(slice(n) for n in array.shape)] = array
    add_rows(wide, old.J)
    wide.unused[wide.n_unused[0] : wide.n_unused[0] + classes] = np.arange(old.C, sizes.C)[::-1]
    wide.n_unused[0] += classes
    wide.n_users[0] += rows
    share_out(wide)
    grown = tuple(_grown(one, told, old.J, sizes.J, rows) for one, told in zip(memory, declared, strict=True))
    return wide, grown


def without_spare(s: State) -> State:
    """Return a copy of a state without its spare rows, which nobody has got: what a simulation leaves behind.

    (A state that has none is returned as it is.)
    """
    if s.sizes.spare == 0:
        return s
    if s.n_jobs[0] != s.sizes.J - s.sizes.spare:
        raise RunError("jobs have come that no job table has: a state with them is no result of a simulation")
    narrow = allocate(replace(s.sizes, J=s.sizes.J - s.sizes.spare, spare=0, NJ=max(0, s.sizes.NJ - s.sizes.spare)))
    for name, array in s.arrays().items():
        to = getattr(narrow, name)
        to[...] = array[tuple(slice(n) for n in to.shape)]
    return narrow


def share_out(s: State) -> None:
    """Share the room of a state out anew, by the rows that rate classes and widths have now."""
    lay_out_heaps(s)
    lay_out_winners(s)
    lay_out_index(s)


def add_rows(s: State, first: int) -> None:
    """Note that rows from ``first`` on are spare; the lowest is taken first."""
    count = s.status.size - first
    s.status[first:] = codes.SPARE
    s.submit_s[first:] = np.inf
    s.spare[s.n_spare[0] : s.n_spare[0] + count] = np.arange(first, s.status.size)[::-1]
    s.n_spare[0] += count


def _grown(memory: Floats, declared: Memory, before: int, after: int, users: int) -> Floats:
    """Return a policy's memory with longer columns; the rest stays, and its end grows."""
    columns = declared.per_job
    rest = memory[columns * before :]
    more = declared.list_per_job * (after - before) + declared.per_user * users
    wide = np.zeros(columns * after + rest.size + more)
    wide[: columns * after].reshape(columns, after)[:, :before] = memory[: columns * before].reshape(columns, before)
    wide[columns * after : columns * after + rest.size] = rest
    return wide
