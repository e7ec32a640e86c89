"""Node occupancy by extents: ranges of free nodes per class, ranges held per job, both kept under their own nodes.

A free extent a … b-1 is marked at its two ends (boundary tags): ``fx_to[a] = b`` and ``fx_from[b - 1] = a + 1``, 0
elsewhere. So who gives nodes back sees at once whether their neighbours are free, and nothing is searched for or
moved. Where extents begin is also a bit each in ``fx_words``, and which of those words are not 0 a bit each in
``fx_some``: the next extent is found by looking at a few words. The bit of the node after the last one is always
set, so that a search ends. With sleep states an extent also knows, under its first node, since when it is free and
whether it sleeps; unlike neighbours are then not merged.

An extent that a job holds is known by its first node: ``hx_to`` is where it ends, ``hx_next`` the job's next one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wattline.kernel.compiled import kernel, outlined
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_SLEEP
from wattline.model.structures.bits import highest_bit, lowest_bit

# ------------------------------------------------------------------ laying out


def lay_out_free(s: State, p: int, extents: npt.ArrayLike) -> None:
    """Let exactly these extents (first, one past the last; disjoint, not touching, rising) of class p be free, and
    set their number.
    """
    first, last = int(s.pool_first[p]), int(s.pool_first[p] + s.pool_count[p])
    rows = np.asarray(extents, dtype=np.int64).reshape(-1, 2)
    s.fx_to[first:last] = 0
    s.fx_from[first:last] = 0
    s.fx_to[rows[:, 0]] = rows[:, 1]
    s.fx_from[rows[:, 1] - 1] = rows[:, 0] + 1
    s.free[p] = (rows[:, 1] - rows[:, 0]).sum()
    starts = np.zeros(64 * s.fx_words.size, dtype=np.bool_)
    starts[: s.fx_to.size] = s.fx_to > 0
    starts[s.fx_to.size] = True
    s.fx_words[:] = np.packbits(starts, bitorder="little").view("<i8")
    some = np.zeros(64 * s.fx_some.size, dtype=np.bool_)
    some[: s.fx_words.size] = s.fx_words != 0
    s.fx_some[:] = np.packbits(some, bitorder="little").view("<i8")


# ------------------------------------------------------------------ where extents begin


@kernel
def _set_start(s: State, node: int) -> None:
    w = node >> 6
    s.fx_words[w] |= np.int64(1) << (node & 63)
    s.fx_some[w >> 6] |= np.int64(1) << (w & 63)


@kernel
def _clear_start(s: State, node: int) -> None:
    w = node >> 6
    word = s.fx_words[w] ^ (np.int64(1) << (node & 63))
    s.fx_words[w] = word
    if word == 0:
        s.fx_some[w >> 6] ^= np.int64(1) << (w & 63)


@kernel
def next_start(s: State, node: int) -> int:
    """Return the first node, from a node on, at which a free extent begins, of whatever class.

    Return the number of nodes if there is none.
    """
    w = node >> 6
    word = s.fx_words[w] & (np.int64(-1) << (node & 63))
    if word == 0:
        w = _next_word(s, w + 1)
        word = s.fx_words[w]
    return (w << 6) + lowest_bit(word)


@kernel
def _next_word(s: State, w: int) -> int:
    """Return the first word from w on that is not 0; there is one."""
    v = w >> 6
    some = s.fx_some[v] & (np.int64(-1) << (w & 63))
    while some == 0:
        v += 1
        some = s.fx_some[v]
    return (v << 6) + lowest_bit(some)


@outlined
def _last_start(s: State, node: int) -> int:
    """Return the last node, up to a node, at which a free extent begins, of whatever class; -1 if none does."""
    w = node >> 6
    word = s.fx_words[w] & ~(np.int64(-2) << (node & 63))
    if word == 0:
        v = w >> 6
        some = s.fx_some[v] & ~(np.int64(-1) << (w & 63))
        while some == 0:
            v -= 1
            if v < 0:
                return -1
            some = s.fx_some[v]
        w = (v << 6) + highest_bit(some)
        word = s.fx_words[w]
    return (w << 6) + highest_bit(word)


# ------------------------------------------------------------------ reading


@kernel
def next_free(s: State, p: int, node: int) -> int:
    """Return the first node of the first free extent of class p that begins at a node of it or later; -1 if none does.

    It ends at ``s.fx_to`` of that node. The next one is asked for from the node after its first, which does not wait
    for where it ends to be read.
    """
    a = next_start(s, node)
    return a if a < s.pool_first[p] + s.pool_count[p] else -1


@outlined
def is_free(s: State, p: int, a: int, b: int) -> bool:
    """Tell whether nodes a … b-1 are all free nodes of class p."""
    if b <= a or a < s.pool_first[p] or b > s.pool_first[p] + s.pool_count[p]:
        return False
    at = _last_start(s, a)
    if at < s.pool_first[p]:
        return False
    at = s.fx_to[at]
    while a < at < b and s.fx_to[at] > 0:  # with sleep states, neighbours may be separate extents
        at = s.fx_to[at]
    return at >= b


# ------------------------------------------------------------------ changing


@kernel
def _add(s: State, a: int, b: int) -> None:
    """Note a free extent."""
    s.fx_to[a] = b
    s.fx_from[b - 1] = a + 1
    _set_start(s, a)


@kernel
def take(s: State, p: int, a: int, b: int) -> int:
    """Remove nodes a … b-1 from the free extents; return how many of them slept, or -1 if they are not all free."""
    if a < s.pool_first[p] or b > s.pool_first[p] + s.pool_count[p] or b <= a:
        return -1
    end = s.fx_to[a]
    if b <= end and s.option[OPT_SLEEP] == 0:  # from the beginning of an extent on, the usual case
        s.free[p] -= b - a
        s.fx_to[a] = 0
        _clear_start(s, a)
        if b < end:
            _add(s, b, end)
        else:
            s.fx_from[b - 1] = 0
        return 0
    if not is_free(s, p, a, b):
        return -1
    return carve(s, p, a, b)


@outlined
def carve(s: State, p: int, a: int, b: int) -> int:
    """Remove nodes a … b-1, which must be free, from the free extents; return how many of them slept."""
    slept = 0
    at = a
    first = _last_start(s, a)
    while at < b:
        end = s.fx_to[first]
        stop = min(b, end)
        asleep = s.fx_asleep[first]
        if asleep == 1:
            slept += stop - at
        if first < at:
            s.fx_to[first] = at
            s.fx_from[at - 1] = first + 1
        else:
            s.fx_to[at] = 0
            _clear_start(s, at)
        if stop < end:
            _add(s, stop, end)
            s.fx_since_s[stop] = s.fx_since_s[first]
            s.fx_asleep[stop] = asleep
        else:
            s.fx_from[end - 1] = 0
        at = stop
        first = stop
    s.free[p] -= b - a
    s.asleep[p] -= slept
    return slept


@kernel
def give(s: State, p: int, a: int, b: int) -> None:
    """Add nodes a … b-1, which must not be free, to the free extents, merged with equal neighbours."""
    s.free[p] += b - a
    below = 0
    if a > s.pool_first[p]:
        below = s.fx_from[a - 1]
    above = 0
    if b < s.pool_first[p] + s.pool_count[p]:
        above = s.fx_to[b]
    if s.option[OPT_SLEEP] == 1:
        now = s.now[0]
        if below > 0 and (s.fx_asleep[below - 1] == 1 or s.fx_since_s[below - 1] != now):
            below = 0
        if above > 0 and (s.fx_asleep[b] == 1 or s.fx_since_s[b] != now):
            above = 0
        if below == 0:
            s.fx_since_s[a] = now
            s.fx_asleep[a] = 0
        s.next_sleep_s[0] = min(s.next_sleep_s[0], now + s.sleep_after_s[p] + s.sleep_entry_s[p])
    if above > 0:
        s.fx_to[b] = 0
        _clear_start(s, b)
        b = above
    if below > 0:
        s.fx_from[a - 1] = 0
        a = below - 1
    else:
        _set_start(s, a)
    s.fx_to[a] = b
    s.fx_from[b - 1] = a + 1


@outlined
def give_back(s: State, p: int, held: int) -> None:
    """Add a chain of held extents to the free ones."""
    while held >= 0:
        give(s, p, held, s.hx_to[held])
        held = s.hx_next[held]


@kernel
def count_back(s: State, j: int) -> int:
    """Return how many nodes could be given to others if a job left: those it holds that do not drain.

    One that holds none yet would get nodes in service: all of them.
    """
    return s.nodes[j] if s.n_off[0] == 0 else _count_in_service(s, j)


@outlined
def _count_in_service(s: State, j: int) -> int:
    x = s.held[j]
    if x < 0:
        return s.nodes[j]
    count = 0
    while x >= 0:
        for node in range(x, s.hx_to[x]):
            if s.node_state[node] == 0:
                count += 1
        x = s.hx_next[x]
    return count


@outlined
def fall_asleep(s: State, but_new: bool) -> int:  # kernels take no keywords
    """Put to sleep the free extents whose time has come; return how many nodes, and set the next time to look.

    ``but_new`` leaves those awake that came free at this very time; when the run begins all have been free before.
    """
    slept = 0
    new_s = s.now[0] if but_new and s.now[0] > s.start_s[0] else np.nan
    following = np.inf
    for p in range(s.pool_first.shape[0]):
        delay = s.sleep_after_s[p] + s.sleep_entry_s[p]
        a = next_free(s, p, s.pool_first[p])
        while a >= 0:
            b = s.fx_to[a]
            if s.fx_asleep[a] == 0:
                if s.fx_since_s[a] + delay <= s.now[0] and s.fx_since_s[a] != new_s:
                    s.fx_asleep[a] = 1
                    s.asleep[p] += b - a
                    slept += b - a
                else:
                    following = min(following, s.fx_since_s[a] + delay)
            a = next_free(s, p, a + 1)
    s.next_sleep_s[0] = following
    return slept
