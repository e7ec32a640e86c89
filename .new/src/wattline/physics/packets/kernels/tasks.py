"""Tasks: programs of phases (compute, shifts, lists of messages, one-sided reads, wait), carried on until they must
wait.

Every message has a *cell* of its receiver: it counts up when the message arrives and down when the task asks for it, so
that a message for a later round, or a later iteration, is never taken for one of this round. A round ends when all
that it asked for has arrived and all that it sent has left the node.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.physics.packets.kernels.codes import (
    M_CLEAR,
    M_GET,
    O_EAGER_BYTES,
    O_TASK,
    P_COMPUTE,
    P_GET,
    P_LIST,
    P_SHIFT,
    S_LEFT,
    S_WANT,
)
from wattline.physics.packets.kernels.nodes import ask_for, send
from wattline.physics.packets.kernels.state import NetState
from wattline.physics.packets.kernels.wheel import schedule


@kernel
def _expect(s: NetState, task: int, source: int, cell: int, size: int, now: int) -> None:
    """Ask for a message; one that waits for a rendezvous is told to come."""
    count = s.cell[cell] - 1
    s.cell[cell] = count
    if count < 0:
        s.tk_missing[task] += 1
    elif size > s.option[O_EAGER_BYTES] and s.tk_node[source] != s.tk_node[task]:
        s.tk_missing[task] += 1
        ask_for(s, M_CLEAR, task, source, cell, size, now)


@kernel
def _shift(s: NetState, task: int, first: int, phase: int, now: int) -> int:
    """Do a round of an all-to-all among every ``stride``-th rank: receive from k before, send to k behind.

    The result is 0 where there is no further step.
    """
    stride, size = s.ph_a[phase], s.ph_b[phase]
    k = s.tk_round[task]
    if k >= size:
        return 0
    s.tk_round[task] = k + 1
    rank = task - first
    place = (rank // stride) % size
    base = first + rank - place * stride
    behind = place + k
    if behind >= size:
        behind -= size
    before = place - k
    if before < 0:
        before += size
    target = base + behind * stride
    size_bytes = s.ph_bytes[phase]
    cell = s.ph_cell[phase] + k - 1
    _expect(s, task, base + before * stride, s.tk_cell[task] + cell, size_bytes, now)
    send(s, task, target, s.tk_cell[target] + cell, size_bytes, now)
    return 1


@kernel
def _list(s: NetState, task: int, first: int, phase: int, now: int) -> None:
    """Ask for all messages of a round, then send all."""
    row = s.ph_a[phase] + task - first
    start = s.ls_recv[row]
    cell = s.tk_cell[task] + s.ph_cell[phase]
    for i in range(start, s.ls_recv[row + 1]):
        _expect(s, task, first + s.rv_peer[i], cell + i - start, s.rv_bytes[i], now)
    for i in range(s.ls_send[row], s.ls_send[row + 1]):
        target = first + s.sd_peer[i]
        send(s, task, target, s.tk_cell[target] + s.ph_cell[phase] + s.sd_cell[i], s.sd_bytes[i], now)


@kernel
def _most_posts(s: NetState, task: int, first: int, phase: int) -> int:
    """Return how many messages a phase may post at once."""
    if s.ph_kind[phase] != P_LIST:
        return 2
    row = s.ph_a[phase] + task - first
    return s.ls_send[row + 1] - s.ls_send[row] + s.ls_recv[row + 1] - s.ls_recv[row]


@kernel
def _end_iteration(s: NetState, task: int, job: int, now: int) -> bool:
    """Note that a task went through its program; return whether it starts again."""
    done = s.tk_iteration[task]
    s.tk_iteration[task] = done + 1
    row = s.jb_rounds[job] + done
    if row < s.jb_rounds[job + 1]:
        s.it_done[row] += 1
        if s.it_done[row] == s.jb_tasks[job]:
            s.it_end[row] = now
    repeat = s.jb_repeat[job]
    if repeat == 0:  # a background job; one that takes no time would never end
        again = now > s.tk_began[task]
    else:
        again = done + 1 < repeat
    s.tk_began[task] = now
    if again:
        s.tk_phase[task] = s.jb_first[job]
        return True
    s.jb_left[job] -= 1
    if s.jb_left[job] == 0:
        s.jb_end[job] = now
        if repeat > 0:
            s.tally[S_LEFT] -= 1
    return False


@outlined
def carry_on(s: NetState, task: int, now: int) -> int:
    """Carry a task on until it has to wait or is done."""
    job = s.tk_job[task]
    first = s.jb_task[job]
    while True:
        phase = s.tk_phase[task]
        if phase == s.jb_last[job]:
            if not _end_iteration(s, task, job, now):
                return 0
            continue
        posts = _most_posts(s, task, first, phase)
        if s.free_messages[0] < posts or s.free_packets[0] < posts:
            s.tally[S_WANT] = 1
            schedule(s, s.option[O_TASK] + task, now)
            return 0
        kind = s.ph_kind[phase]
        if kind == P_SHIFT and _shift(s, task, first, phase, now) == 1:
            pass
        else:
            s.tk_phase[task] = phase + 1
            s.tk_round[task] = 1
            if kind == P_SHIFT:
                continue
            if kind == P_COMPUTE:
                schedule(s, s.option[O_TASK] + task, now + s.ph_a[phase])
                return 0
            if kind == P_LIST:
                _list(s, task, first, phase, now)
            elif kind == P_GET and task - first >= s.ph_b[phase]:
                s.tk_missing[task] += 1
                owner = first + (task - first) % s.ph_b[phase]
                ask_for(s, M_GET, task, owner, -1, s.ph_bytes[phase], now)
        if s.ph_wait[phase] == 1:
            if s.tk_missing[task] > 0 or s.tk_unsent[task] > 0:
                s.tk_waiting[task] = 1
                return 0
            if s.tk_sent[task] > now:
                schedule(s, s.option[O_TASK] + task, s.tk_sent[task])
                return 0
