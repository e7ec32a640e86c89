"""The one writer of decisions and events: every row of both logs is written here, for compiled code and for Python.

A row of decisions has a kind, and what its other numbers are goes by that kind:

=============  ==========  ===================  =====================
kind           ``row``     ``count``            ``watts``
=============  ==========  ===================  =====================
start          job         its nodes            cap per node
stop, resume   job         its nodes            inf
job cap        job         its nodes            cap per node
cap            rate class  its running jobs     cap per node
level          node class  the level            inf
bid            -1          0                    mean power
reserve        -1          0                    reserve of the bid in the row before
=============  ==========  ===================  =====================

``wiring.tables`` gives each of them a column of its own.
"""

from __future__ import annotations

from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import N_REFUSED


@kernel
def record(s: State, kind: int, row: int, count: int, watts: float, why: int, verdict: int) -> None:
    """Add an action, taken or refused, to the decision log."""
    n = s.a_n[0]
    s.a_time_s[n] = s.now[0]
    s.a_kind[n] = kind
    s.a_job[n] = row
    s.a_nodes[n] = count
    s.a_cap_w[n] = watts
    s.a_why[n] = why
    s.a_verdict[n] = verdict
    s.a_n[0] = n + 1
    if verdict != codes.OK and verdict != codes.CLIPPED and verdict != codes.EXCEEDS:
        s.counter[N_REFUSED] += 1
        s.refused[verdict] += 1


@outlined
def log_event(s: State, kind: int, job: int, count: int, value: float) -> None:
    """Add a row to the event log."""
    n = s.ev_n[0]
    s.ev_time_s[n] = s.now[0]
    s.ev_kind[n] = kind
    s.ev_job[n] = job
    s.ev_nodes[n] = count
    s.ev_value[n] = value
    s.ev_n[0] = n + 1


@kernel
def log_bid(s: State) -> None:
    """Add the bid in force to the event log: two rows."""
    log_event(s, codes.EV_BID, -1, 0, s.mean_w[0])
    log_event(s, codes.EV_RESERVE, -1, 0, s.reserve_w[0])


record_now = getattr(record, "py_func", record)
"""``record`` as Python calls it, outside the compiled loop."""
log_event_now = getattr(log_event, "py_func", log_event)
"""``log_event`` as Python calls it, outside the compiled loop."""


@kernel
def logs_full(s: State) -> bool:
    """Tell whether a log could overflow in the next instant."""
    return (
        s.a_n[0] > s.log_room[0] or s.ev_n[0] > s.log_room[1] or s.tl_n[0] > s.log_room[2] or s.px_n[0] > s.log_room[3]
    )
