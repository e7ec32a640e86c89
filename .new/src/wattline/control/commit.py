"""Transitions of the state: a job starts, stops, ends, fails; nodes come and go. Nothing here decides anything."""

from __future__ import annotations

import numpy as np

from wattline.control.logs import log_event
from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import (
    N_REPLANS,
    N_SEQ,
    N_STARTS,
    OPT_KEEP_PROGRESS,
    OPT_KILL,
    OPT_LATE,
    OPT_PLACEMENTS,
    OPT_REQUEUE,
)
from wattline.model.structures import nodes, queue, resources, running
from wattline.model.structures.many_running import listed
from wattline.physics import clocks, neighbours, traffic
from wattline.physics.power import class_cap_w, headroom_w, series_value_w, waking_node_w
from wattline.physics.random import LATE_STARTS, uniform

IN_SERVICE, DRAINING, OFF = 0, 1, 2


# ------------------------------------------------------------------ entering the queue


@kernel
def enter_queue(s: State, j: int) -> None:
    """Let a job enter the queue for the first time."""
    s.status[j] = codes.WAITING
    s.eligible_s[j] = s.now[0]
    s.remaining[j] = s.work[j]
    s.seq[j] = s.counter[N_SEQ]
    s.counter[N_SEQ] += 1
    queue.append(s, j)


@kernel
def submit(s: State, j: int) -> bool:
    """Take a submitted job in; return False when it has to wait for the job it depends on."""
    first = s.after[j]
    if first >= 0:
        if s.status[first] < codes.FINISHED:
            s.status[j] = codes.HELD
            return False
        ready_s = s.end_s[first] + s.think_s[j]
        if ready_s > s.now[0]:
            s.status[j] = codes.HELD
            running.set_due(s, j, ready_s)
            return False
    enter_queue(s, j)
    return True


@outlined
def _release_children(s: State, j: int) -> None:
    child = s.child[j]
    while child >= 0:
        if s.status[child] == codes.HELD:
            running.set_due(s, child, s.now[0] + s.think_s[child])
        child = s.sibling[child]


# ------------------------------------------------------------------ starting


@outlined
def take_shape(s: State, j: int, row: int) -> None:
    """Let a waiting job take a configuration: its nodes, run time and power; a deadline that it cannot keep moves."""
    s.asked_s[j] = s.request_s[j]
    s.asked_work[j] = s.work[j]
    s.asked_estimate_s[j] = s.estimate_s[j]
    s.asked_draw_w[j] = s.draw_w[j]
    s.asked_profile_w[j] = s.profile_w[j]
    s.shape[j] = row
    s.start_shape[j] = row
    s.shape_limit_w[j] = s.limit_w[0]
    s.shape_room_w[j] = headroom_w(s)
    s.shape_room[j] = s.free[s.pool[j]]
    s.nodes[j] = s.sh_nodes[row]
    s.work[j] = s.sh_time_s[row]
    s.remaining[j] = s.sh_time_s[row]
    s.estimate_s[j] = s.sh_told_s[row]
    s.request_s[j] = max(s.request_s[j], s.sh_told_s[row])
    s.draw_w[j] = s.sh_power_w[row] / s.sh_nodes[row]
    s.now_w[j] = s.draw_w[j]
    s.profile_w[j] = s.sh_told_w[row] / s.sh_nodes[row]


@outlined
def drop_shape(s: State, j: int) -> None:
    """Let a job that could not start in a configuration, or has to begin again, ask for what it asked for at first."""
    s.shape[j] = -1
    s.start_shape[j] = -1
    s.nodes[j] = s.asked_nodes[j]
    s.request_s[j] = s.asked_s[j]
    s.work[j] = s.asked_work[j]
    s.remaining[j] = s.work[j]
    s.estimate_s[j] = s.asked_estimate_s[j]
    s.draw_w[j] = s.asked_draw_w[j]
    s.now_w[j] = s.draw_w[j]
    s.profile_w[j] = s.asked_profile_w[j]


@kernel
def shares_links(s: State, j: int) -> bool:
    """Tell whether a job's speed depends on its neighbours: such jobs have a rate class each."""
    return s.n_load.shape[0] > 0 and s.comm[j] > 0.0


@outlined
def _prepare_class(s: State, j: int) -> int:
    """Return the rate class a job with a cap, or with neighbours, joins, with the cap applied."""
    c = s.base_class[j]
    if s.cap_w[j] < np.inf or shares_links(s, j):
        return clocks.open_solo(s, j, s.cap_w[j])
    clocks.apply_cap(s, c, class_cap_w(s, c))
    return c


@outlined
def _send(s: State, j: int) -> None:
    """Let a job that begins to work load the network."""
    traffic.change(s, j, 1)
    if s.n_load.shape[0] > 0:
        s.since_net_s[j] = s.now[0]
        neighbours.load(s, j, 1)


@outlined
def _fall_silent(s: State, j: int) -> None:
    """Let a job that stops working load the network no more."""
    traffic.change(s, j, -1)
    if s.n_load.shape[0] > 0:
        neighbours.note_lost(s, j)
        neighbours.load(s, j, -1)


@kernel
def begin_work(s: State, j: int) -> None:
    """Let a job whose nodes are awake begin to work."""
    if s.series_w.shape[0] > 0 and s.series_count[j] > 0:
        s.now_w[j] = series_value_w(s, j, s.work[j] - s.remaining[j])
    c = s.base_class[j]
    if s.cap_w[j] < np.inf or shares_links(s, j) or (s.c_n[c] == 0 and s.c_cap_w[c] != s.want_cap_w[c]):
        c = _prepare_class(s, j)
    s.status[j] = codes.RUNNING
    clocks.join(s, j, c)
    if s.traffic_s[0] > 0.0:
        _send(s, j)
    rate = s.c_rate[c]
    left = s.v_estimate[j] - clocks.virtual_now(s, c)
    s.estimated_end_s[j] = s.now[0] + (left if rate == 1.0 else left / rate)
    if s.option[OPT_KILL] == 1 and s.request_s[j] < np.inf:
        running.set_due(s, j, s.now[0] + max(0.0, s.request_s[j] - (s.ran_s[j] - s.woke_s[j])))


@kernel
def _leave_queue(s: State, j: int, cap_w: float) -> None:
    """Let a job wait no longer: its nodes are held already."""
    queue.remove(s, j)
    s.busy[s.pool[j]] += s.nodes[j]
    s.counter[N_STARTS] += 1
    s.cap_w[j] = cap_w
    s.resumed_s[j] = s.now[0]


@outlined
def adopt(s: State, j: int) -> None:
    """Let a waiting job work that others have started; its nodes are held already."""
    _leave_queue(s, j, np.inf)
    note_start(s, j)
    begin_work(s, j)
    running.enter(s, j)


@kernel
def start(s: State, j: int, cap_w: float, slept: int) -> None:
    """Move a job from the queue to the running ones; its nodes are held already, ``slept`` of them asleep."""
    p = s.pool[j]
    _leave_queue(s, j, cap_w)
    if slept > 0 and s.sleep_exit_s[p] > 0.0:
        note_start(s, j)
        _start_waking(s, j, slept)
    elif s.option[OPT_LATE] == 1:
        _start_late(s, j)
    else:
        note_start(s, j)
        begin_work(s, j)
    running.enter(s, j)


@kernel
def note_start(s: State, j: int) -> None:
    """Note when a job started for the first time, or that it goes on."""
    if s.started_s[j] == s.started_s[j]:
        log_event(s, codes.EV_RESUME, j, s.nodes[j], s.remaining[j])
    else:
        s.started_s[j] = s.now[0]
        s.start_profile_w[j] = s.profile_w[j]
        s.start_profile_from[j] = s.profile_from[j]


@outlined
def _start_late(s: State, j: int) -> None:
    """Let a job hold its nodes, which idle, until its processes are there; what it will draw is counted already."""
    s.status[j] = codes.STARTING
    s.paused[s.pool[j]] += s.nodes[j]
    s.starting[s.n_starting[0]] = j
    s.n_starting[0] += 1
    left = max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))
    s.estimated_end_s[j] = s.now[0] + s.late_s[1] + left / s.c_rate[s.base_class[j]]
    s.counter[N_REPLANS] += 1  # later than the pass that starts it has planned
    if s.outside[0] == 0:
        again = s.preemptions[j] + s.restarts[j]  # a job is as late under every bid and policy
        late = uniform(int(s.seed[0]), LATE_STARTS, (again << 32) + j)
        running.set_due(s, j, s.now[0] + s.late_s[0] + late * (s.late_s[1] - s.late_s[0]))


@outlined
def _forget_starting(s: State, j: int) -> None:
    """Take a job off the list of those that are starting; the others keep their order."""
    s.paused[s.pool[j]] -= s.nodes[j]
    n = s.n_starting[0] - 1
    i = 0
    while s.starting[i] != j:
        i += 1
    while i < n:
        s.starting[i] = s.starting[i + 1]
        i += 1
    s.n_starting[0] = n


@outlined
def begin(s: State, j: int) -> None:
    """Let a job that was starting work: its processes are there."""
    running.clear_due(s, j)
    running.leave(s, j)
    _forget_starting(s, j)
    _log_segment(s, j)
    note_start(s, j)
    begin_work(s, j)
    running.enter(s, j)
    s.est_dirty[0] = 1


@kernel
def let_go(s: State, j: int) -> None:
    """Give back the nodes a job holds, draining ones go out of service; by itself for nodes that it never really held:
    nothing is logged of it.
    """
    if s.held[j] < 0:
        return  # it let go of them before, and found no others
    p = s.pool[j]
    a = s.held[j]
    while a >= 0:
        b = s.hx_to[a]
        if s.n_off[0] == 0:
            nodes.give(s, p, a, b)
        else:
            _give_in_service(s, p, a, b)
        a = s.hx_next[a]
    s.held[j] = -1
    s.busy[p] -= s.nodes[j]
    if s.res_free.shape[0] > 0:
        resources.release(s, j)


@outlined
def unstart(s: State, j: int) -> None:
    """Let a job that was told to start and did not wait again, as if nothing had been said; no stop is counted."""
    running.clear_due(s, j)
    running.leave(s, j)
    _forget_starting(s, j)
    let_go(s, j)
    s.resumed_s[j] = np.nan
    if s.shape[j] >= 0 and s.remaining[j] == s.work[j]:  # chosen for this start: nothing is done in it
        drop_shape(s, j)
    s.status[j] = codes.WAITING
    queue.append_again(s, j)


@outlined
def take_back(s: State, j: int) -> None:
    """Let a job wait again that control stops while it is starting: it held its nodes until now.

    Of a job of a real machine nobody knows that yet: if it got them after all, facts will say since when.
    """
    if s.outside[0] == 0:
        _log_placements(s, j)
    unstart(s, j)


@outlined
def _start_waking(s: State, j: int, slept: int) -> None:
    p = s.pool[j]
    s.status[j] = codes.WAKING
    s.waking[p] += s.nodes[j]
    s.wake_w[j] = waking_node_w(s, j, s.cap_w[j])
    s.waking_w[p] += s.nodes[j] * s.wake_w[j]
    left = max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))  # it may have run before
    s.estimated_end_s[j] = s.now[0] + s.sleep_exit_s[p] + left / s.c_rate[s.base_class[j]]
    s.counter[N_REPLANS] += 1  # later than the pass that starts it has planned
    running.set_due(s, j, s.now[0] + s.sleep_exit_s[p])
    log_event(s, codes.EV_WAKE, j, slept, s.sleep_exit_s[p])


@outlined
def finish_waking(s: State, j: int) -> None:
    """Let a job begin to work whose last node has woken."""
    _end_waking(s, j)
    running.leave(s, j)
    begin_work(s, j)
    s.woke_s[j] += s.now[0] - s.resumed_s[j]  # not yet in the time run, by which the request is cut above
    running.enter(s, j)
    s.counter[N_REPLANS] += 1


@outlined
def _end_waking(s: State, j: int) -> None:
    p = s.pool[j]
    s.waking[p] -= s.nodes[j]
    s.waking_w[p] = s.waking_w[p] - s.nodes[j] * s.wake_w[j] if s.waking[p] > 0 else 0.0  # sums of floats drift
    s.energy_j[j] += s.nodes[j] * s.wake_w[j] * (s.now[0] - s.resumed_s[j])


# ------------------------------------------------------------------ leaving


@kernel
def _log_placements(s: State, j: int) -> None:
    if s.option[OPT_PLACEMENTS] == 0:
        return
    n = s.px_n[0]
    a = s.held[j]
    while a >= 0:
        s.px_job[n] = j
        s.px_first[n] = a
        s.px_count[n] = s.hx_to[a] - a
        s.px_from_s[n] = s.resumed_s[j]
        s.px_until_s[n] = s.now[0]
        n += 1
        a = s.hx_next[a]
    s.px_n[0] = n


@outlined
def _give_in_service(s: State, p: int, a: int, b: int) -> None:
    first = a
    for node in range(a, b + 1):
        if node == b or s.node_state[node] != IN_SERVICE:
            if node > first:
                nodes.give(s, p, first, node)
            first = node + 1
            if node < b:
                s.node_state[node] = OFF
                s.down[p] += 1


@kernel
def _leave_clock(s: State, j: int) -> None:
    """Let a job stop working: account its energy and keep its remaining work."""
    c = s.rate_class[j]
    if s.traffic_s[0] > 0.0:
        _fall_silent(s, j)
    left = s.v_end[j] - clocks.virtual_now(s, c)
    s.remaining[j] = left if left > 0.0 else 0.0
    joules = clocks.leave(s, j)
    s.energy_j[j] += joules
    s.node_j[s.pool[j], 0] += joules
    if c != s.base_class[j]:
        clocks.close_solo(s, c)


@outlined
def _end_rest(s: State, j: int) -> None:
    """Let go of a job that holds nodes without working: they wake, or it is paused, or not there yet."""
    if s.status[j] == codes.WAKING:
        _end_waking(s, j)
        s.woke_s[j] += s.now[0] - s.resumed_s[j]
    elif s.status[j] == codes.STARTING:
        _forget_starting(s, j)
        s.ran_s[j] -= s.now[0] - s.resumed_s[j]
    else:
        s.paused[s.pool[j]] -= s.nodes[j]
        s.ran_s[j] -= s.now[0] - s.resumed_s[j]  # a pause is no time run


@kernel
def _stop_work(s: State, j: int) -> None:
    """End a job's segment: account its energy, keep its remaining work, give back its nodes."""
    running.clear_due(s, j)
    if s.status[j] == codes.RUNNING:
        _leave_clock(s, j)
    else:
        _end_rest(s, j)
    running.leave(s, j)
    s.ran_s[j] += s.now[0] - s.resumed_s[j]
    _log_placements(s, j)
    let_go(s, j)


@kernel
def close(s: State, j: int, status: int) -> None:
    """Note that a job is over, and release those that depend on it."""
    s.status[j] = status
    s.end_s[j] = s.now[0]
    s.n_ended[0] += 1
    if s.child[j] >= 0:
        _release_children(s, j)


@outlined
def _interrupt(s: State, j: int) -> None:
    """End a segment on a rare path: one shared copy, so that it is compiled once."""
    _stop_work(s, j)


@kernel
def finish(s: State, j: int, status: int) -> None:
    """End a job for good."""
    _stop_work(s, j)
    close(s, j, status)


@outlined
def preempt(s: State, j: int) -> None:
    """Stop a job and queue it again with its remaining work."""
    worked = s.status[j] == codes.RUNNING
    _interrupt(s, j)
    if worked:
        s.remaining[j] += s.stop_cost_s[0]
    s.status[j] = codes.WAITING
    s.preemptions[j] += 1
    queue.append_again(s, j)
    log_event(s, codes.EV_PREEMPT, j, s.nodes[j], s.remaining[j])


@outlined
def pause(s: State, j: int) -> None:
    """Stop a running job where it is: it holds its nodes, which idle until it is resumed."""
    running.clear_due(s, j)
    _leave_clock(s, j)
    s.remaining[j] += s.stop_cost_s[0]
    s.ran_s[j] += s.now[0] - s.resumed_s[j]
    _log_segment(s, j)
    s.status[j] = codes.PAUSED
    s.paused[s.pool[j]] += s.nodes[j]
    s.preemptions[j] += 1
    log_event(s, codes.EV_PREEMPT, j, s.nodes[j], s.remaining[j])


@outlined
def resume(s: State, j: int) -> None:
    """Let a paused job work again on the nodes it holds."""
    running.leave(s, j)
    s.paused[s.pool[j]] -= s.nodes[j]
    _log_segment(s, j)
    begin_work(s, j)
    running.enter(s, j)
    log_event(s, codes.EV_RESUME, j, s.nodes[j], s.remaining[j])


@outlined
def _log_segment(s: State, j: int) -> None:
    """Log the nodes a job has held since its segment began, and begin another on the same nodes."""
    _log_placements(s, j)
    s.resumed_s[j] = s.now[0]


@outlined
def change_shape(s: State, j: int, row: int) -> None:
    """Let a running job go on in a configuration with the same nodes and cores: the same part of its work is left.

    Its run time so far counts as done, so that work and estimate are those of the whole run, part in one and part
    in the other.
    """
    old = s.shape[j]
    c = s.rate_class[j]
    told_s = max(0.0, s.v_estimate[j] - clocks.virtual_now(s, c)) * s.sh_told_s[row] / s.sh_told_s[old]
    _leave_clock(s, j)
    running.leave(s, j)
    done_s = s.work[j] - s.remaining[j]
    s.remaining[j] *= s.sh_time_s[row] / s.sh_time_s[old]
    s.work[j] = done_s + s.remaining[j]
    s.estimate_s[j] = done_s + told_s
    s.shape[j] = row
    s.draw_w[j] = s.sh_power_w[row] / s.sh_nodes[row]
    s.now_w[j] = s.draw_w[j]
    s.profile_w[j] = s.sh_told_w[row] / s.sh_nodes[row]
    clocks.join(s, j, c)
    if s.traffic_s[0] > 0.0:
        traffic.change(s, j, 1)
    s.estimated_end_s[j] = s.now[0] + told_s / s.c_rate[c]
    running.enter(s, j)
    log_event(s, codes.EV_CAP, j, s.nodes[j], s.sh_cap_w[row])


@outlined
def fail(s: State, j: int) -> None:
    """Stop a job that lost a node: queued again if the run says so, otherwise failed.

    Progress in a configuration is of no use in another: a job that chose one begins again, whatever the run says.
    """
    if s.option[OPT_REQUEUE] == 0:
        log_event(s, codes.EV_FAIL, j, s.nodes[j], s.remaining[j])
        _interrupt(s, j)
        close(s, j, codes.FAILED)
        return
    send_back(s, j)


@outlined
def send_back(s: State, j: int) -> None:
    """Take a job's nodes and let it wait again, from its beginning unless progress is kept."""
    _interrupt(s, j)
    s.status[j] = codes.WAITING
    s.restarts[j] += 1
    if s.option[OPT_KEEP_PROGRESS] == 0 or s.shape[j] >= 0:
        if s.shape[j] >= 0:
            drop_shape(s, j)
        s.remaining[j] = s.work[j]
        s.lost_s[j] += s.ran_s[j]
        s.ran_s[j] = 0.0
        s.woke_s[j] = 0.0
    queue.append_again(s, j)
    log_event(s, codes.EV_REQUEUE, j, s.nodes[j], s.remaining[j])


# ------------------------------------------------------------------ nodes leave and return


@outlined
def _holds_any(s: State, j: int, a: int, b: int) -> bool:
    x = s.held[j]
    while x >= 0:
        if x < b and a < s.hx_to[x]:
            return True
        x = s.hx_next[x]
    return False


@outlined
def drain_nodes(s: State, a: int, b: int) -> None:
    """Take free nodes of a … b-1 out of service now, and the others when their jobs leave."""
    for node in range(a, b):
        s.node_outages[node] += 1
        if s.node_outages[node] > 1:
            continue
        s.n_off[0] += 1
        p = _pool_of(s, node)
        if nodes.is_free(s, p, node, node + 1):
            nodes.carve(s, p, node, node + 1)
            s.node_state[node] = OFF
            s.down[p] += 1
        else:
            s.node_state[node] = DRAINING


@outlined
def fail_nodes(s: State, a: int, b: int) -> None:
    """Take nodes out of service now; their jobs lose them."""
    drain_nodes(s, a, b)
    i = 0
    while i < listed(s):
        j = s.running[i]
        if _holds_any(s, j, a, b):
            fail(s, j)
            i = 0
        else:
            i += 1


@outlined
def return_nodes(s: State, a: int, b: int) -> None:
    """Put nodes back into service that no other outage covers."""
    for node in range(a, b):
        s.node_outages[node] -= 1
        if s.node_outages[node] > 0:
            continue
        s.n_off[0] -= 1
        if s.node_state[node] == OFF:
            p = _pool_of(s, node)
            s.down[p] -= 1
            nodes.give(s, p, node, node + 1)
        s.node_state[node] = IN_SERVICE


@outlined
def _pool_of(s: State, node: int) -> int:
    p = s.pool_first.shape[0] - 1
    while s.pool_first[p] > node:
        p -= 1
    return p
