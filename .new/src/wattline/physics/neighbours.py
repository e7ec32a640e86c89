"""What neighbours on the network cost: the speed of jobs that communicate, kept up to date as jobs come and go.

A job that communicates for a part φ of its time sends, in all, what ``traffic`` says; while it communicates, 1/φ of
that. Its bytes load links as ``link_loads`` says (minimal routes, every pair of its nodes alike). Its communication
takes 1 + c max(0, u - 1) + w Σ share · v times as long, with u the load of the fullest link that it uses, itself at
its full rate and the others at their mean; v what the others load a link with (1 at most), the sum over the links
that its bytes cross. ``contention`` has c and w, fitted on packets.

Loads are whole bytes per second: what begins and stops to send leaves no residue, so that a job without neighbours
runs at rate 1 exactly. Jobs on minimal routes meet only in groups where both have nodes: a change concerns nobody
else.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.structures.many_running import listed
from wattline.physics import clocks
from wattline.physics.contention import OVERLOAD, WAITING


@outlined
def _enter(s: State, j: int) -> None:
    """Note who owns a job's nodes, and a list of the groups that it has nodes in, each under one of these nodes."""
    size = s.net[0] * s.net[1]
    head = -1
    e = s.held[j]
    while e >= 0:
        for node in range(e, s.hx_to[e]):
            s.n_owner[node] = j
            g = node // size
            if s.n_inside[g] == 0:
                s.n_group[node] = g
                s.n_next[node] = head
                head = node
            s.n_inside[g] += 1
        e = s.hx_next[e]
    s.n_head[j] = head
    while head >= 0:
        s.n_in[head] = s.n_inside[s.n_group[head]]
        s.n_inside[s.n_group[head]] = 0
        head = s.n_next[head]


@outlined
def _leave(s: State, j: int) -> None:
    """Forget what was noted."""
    e = s.held[j]
    while e >= 0:
        for node in range(e, s.hx_to[e]):
            s.n_owner[node] = -1
        e = s.hx_next[e]
    s.n_head[j] = -1


@kernel
def _look(s: State, j: int, i: int) -> None:
    """Count a job's nodes on every router of a group, and in the groups that each router's global links lead to.

    What is beyond a link is counted whole, though it carries only its part of what goes there.
    """
    size = s.net[0]
    a = s.net[1]
    owner = s.n_owner  # arrays in variables of their own: a store would make the loop look them up again
    counts = s.n_count
    beyond = s.n_beyond
    gate = s.n_gate
    links = _links(s)
    group = s.n_group
    inside = s.n_in
    following = s.n_next
    for q in range(a):
        count = 0
        first = (i * a + q) * size
        for node in range(first, min(first + size, owner.shape[0])):
            if owner[node] == j:
                count += 1
        counts[q] = count
        beyond[q] = 0
    x = s.n_head[j]
    while x >= 0:
        k = group[x]
        if k != i:
            for link in range(k * links, (k + 1) * links):
                beyond[gate[i, link]] += inside[x]
        x = following[x]


@kernel
def _is_tree(s: State) -> bool:
    """Tell a tree, whose groups have ways up and down, from a dragonfly, whose groups lead to each other."""
    return s.n_gate.shape[0] == 0


@kernel
def _links(s: State) -> int:
    """Return how many links a dragonfly has between any two groups."""
    return s.n_gate.shape[1] // s.n_gate.shape[0]


@kernel
def _on_router(s: State, j: int, r: int) -> int:
    """Count a job's nodes on a router."""
    size = s.net[0]
    owner = s.n_owner
    count = 0
    for node in range(r * size, min((r + 1) * size, owner.shape[0])):
        if owner[node] == j:
            count += 1
    return count


@kernel
def _own(pairs: int, rate: float) -> int:
    return int(pairs * rate + 0.5)


@outlined
def _load_group(s: State, j: int, x: int, sign: int) -> None:
    """Add what a job puts on the links that leave the routers of one of its groups."""
    rate = s.traffic[j] / (s.nodes[j] - 1.0)  # from one of its nodes to another
    a = s.net[1]
    i = s.n_group[x]
    mine = s.n_in[x]
    loads = s.n_load
    s.n_changed[i] = 1
    if _is_tree(s):
        up = loads.shape[1] - 2  # the ways of the group; those of its routers, if they have any, stand before them
        if up > 0:
            for r in range(i * a, (i + 1) * a):
                here = _on_router(s, j, r)
                own = sign * _own(here * (s.nodes[j] - here), rate)
                loads[r, 0] += own
                loads[r, 1] += own
        own = sign * _own(mine * (s.nodes[j] - mine), rate)
        loads[i * a, up] += own
        loads[i * a, up + 1] += own
        return
    _look(s, j, i)
    count = s.n_count
    beyond = s.n_beyond
    links = _links(s)
    rate /= links  # each link has its part
    for r in range(a):
        here = count[r]
        out = beyond[r]
        for t in range(a):
            pairs = here * (links * count[t] + beyond[t]) + out * count[t]  # own ones, out of the group, into it
            if pairs > 0 and t != r:
                loads[i * a + r, t] += sign * _own(pairs, rate)
    gate = s.n_gate
    group = s.n_group
    far = s.n_far
    inside = s.n_in
    following = s.n_next
    y = s.n_head[j]
    while y >= 0:
        k = group[y]
        if k != i:
            own = sign * _own(mine * inside[y], rate)
            for link in range(k * links, (k + 1) * links):
                loads[i * a + gate[i, link], far[i, link]] += own
        y = following[y]


@outlined
def load(s: State, j: int, sign: int) -> None:
    """Let a job begin (sign 1) or stop (-1) to load links."""
    if s.nodes[j] < 2 or s.traffic[j] == 0:
        return
    s.n_dirty[0] = 1
    if sign > 0:
        _enter(s, j)
    x = s.n_head[j]
    while x >= 0:
        _load_group(s, j, x, sign)
        x = s.n_next[x]
    if sign < 0:
        _leave(s, j)


@outlined
def _measure(s: State, j: int, x: int) -> None:
    """Look at all links that leave the routers of one of a job's groups.

    Noted is how full the fullest is when the job is at its full rate, and what loads of others its bytes meet.
    """
    rate = s.traffic[j] / (s.nodes[j] - 1.0)
    more = 1.0 / s.comm[j] - 1.0  # at its full rate, beside its mean
    a = s.net[1]
    i = s.n_group[x]
    mine = s.n_in[x]
    loads = s.n_load
    room = s.n_room[0]
    full = 0.0
    met = 0.0
    if _is_tree(s):
        up = loads.shape[1] - 2
        if up > 0:
            for r in range(i * a, (i + 1) * a):
                here = _on_router(s, j, r)
                own = _own(here * (s.nodes[j] - here), rate)
                for way in range(2):
                    if own > 0:
                        full = max(full, (loads[r, way] + own * more) / room)
                        met += own * min(1.0, (loads[r, way] - own) / room)
        own = _own(mine * (s.nodes[j] - mine), rate)
        room = s.n_room[1]
        for way in range(2):
            if own > 0:  # a job inside one group does not use its ways up
                full = max(full, (loads[i * a, up + way] + own * more) / room)
                met += own * min(1.0, (loads[i * a, up + way] - own) / room)
        s.n_full[x] = full
        s.n_met[x] = met
        return
    _look(s, j, i)
    count = s.n_count
    beyond = s.n_beyond
    inverse = 1.0 / room
    links = _links(s)
    rate /= links
    for r in range(a):
        here = count[r]
        out = beyond[r]
        for t in range(a):
            pairs = here * (links * count[t] + beyond[t]) + out * count[t]
            if pairs > 0 and t != r:
                own = _own(pairs, rate)
                load = loads[i * a + r, t]
                full = max(full, (load + own * more) * inverse)
                met += own * min(1.0, (load - own) * inverse)
    inverse = 1.0 / s.n_room[1]
    gate = s.n_gate
    group = s.n_group
    far = s.n_far
    inside = s.n_in
    following = s.n_next
    y = s.n_head[j]
    while y >= 0:
        k = group[y]
        if k != i:
            own = _own(mine * inside[y], rate)
            for link in range(k * links, (k + 1) * links):
                load = loads[i * a + gate[i, link], far[i, link]]
                full = max(full, (load + own * more) * inverse)
                met += own * min(1.0, (load - own) * inverse)
        y = following[y]
    s.n_full[x] = full
    s.n_met[x] = met


@kernel
def _slowdown(s: State, j: int) -> float:
    """Return how much longer a job's communication takes than with links that never fill, of what is known by group."""
    fullest = 1.0
    met = 0.0
    x = s.n_head[j]
    while x >= 0:
        fullest = max(fullest, s.n_full[x])
        met += s.n_met[x]
        x = s.n_next[x]
    return 1.0 + OVERLOAD * (fullest - 1.0) + WAITING * met / (s.traffic[j] * float(s.nodes[j]))


@kernel
def _remeasure(s: State, j: int) -> bool:
    """Look again at those of a job's groups where loads have changed; tell whether there were any."""
    changed = False
    x = s.n_head[j]
    while x >= 0:
        if s.n_changed[s.n_group[x]] == 1:
            _measure(s, j, x)
            changed = True
        x = s.n_next[x]
    return changed


@kernel
def note_lost(s: State, j: int) -> None:
    """Count what a job has lost to its neighbours up to now."""
    s.lost_net_s[j] += (s.now[0] - s.since_net_s[j]) * (1.0 - s.c_net[s.rate_class[j]])
    s.since_net_s[j] = s.now[0]


@outlined
def settle(s: State) -> None:
    """Give every job whose links' loads have changed its new speed."""
    for i in range(listed(s)):
        j = s.running[i]
        if s.comm[j] > 0.0 and s.status[j] == codes.RUNNING and _remeasure(s, j):
            factor = 1.0 / (1.0 + s.comm[j] * (_slowdown(s, j) - 1.0))
            c = s.rate_class[j]
            if factor != s.c_net[c]:
                note_lost(s, j)
                s.c_net[c] = factor
                clocks.apply_cap(s, c, s.c_cap_w[c])
    for g in range(s.n_changed.shape[0]):
        s.n_changed[g] = 0
    s.n_dirty[0] = 0
