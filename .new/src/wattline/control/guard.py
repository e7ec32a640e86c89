"""The guard: the only code that turns a proposal into an action. It checks hard limits and says why it refuses."""

from __future__ import annotations

import numpy as np

from wattline.control import commit, late
from wattline.control.logs import log_event, record
from wattline.kernel.compiled import kernel, outlined
from wattline.model import codes
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_BELIEF, OPT_EXCEED
from wattline.model.structures import nodes, resources
from wattline.model.structures.many_running import listed
from wattline.physics import clocks, power


@kernel
def judge_start(s: State, j: int, count: int, cap_w: float, why: int, shape: int) -> int:
    """Return the verdict on starting a job now."""
    if j < 0 or j >= s.status.shape[0]:
        return codes.UNKNOWN_JOB
    if s.status[j] != codes.WAITING:
        return codes.NOT_WAITING
    if shape >= 0:
        if not power.is_shape(s, j, shape) or count != s.sh_nodes[shape]:
            return codes.BAD_SHAPE
    elif count != s.nodes[j]:
        return codes.BAD_SHAPE
    if count > s.free[s.pool[j]]:
        return codes.NO_NODES
    if s.res_free.shape[0] > 0 and not resources.suffice(s, j, s.res_free):
        return codes.NO_RESOURCE
    if cap_w != np.inf:
        if cap_w != cap_w:
            return codes.BAD_CAP
        if s.n_solo[0] == 0:
            return codes.NO_SOLO
    if s.limit_w[0] < np.inf:
        slack_w = power.LIMIT_SLACK * s.limit_w[0]  # on top of what policies may already use
        increase_w = power.shape_increase_w(s, j, shape) if shape >= 0 else power.start_increase_w(s, j, cap_w)
        if increase_w > power.headroom_w(s) + slack_w:
            stuck = why == codes.DEADLOCK and s.option[OPT_EXCEED] == 1
            may = stuck and (s.n_running[0] == 0 or power.exceeds_alone(s, j))
            return codes.EXCEEDS if may else codes.OVER_LIMIT
    return codes.OK


@kernel
def take(s: State, j: int, rows: int) -> int:
    """Let a job hold the extents that the place policy wrote.

    Return how many nodes slept, or -1 if they are not free.
    """
    p = s.pool[j]
    count = 0
    slept = 0
    last = -1
    if rows > s.place_a.shape[0]:
        return -1
    for i in range(rows):
        a = s.place_a[i]
        b = s.place_b[i]
        got = nodes.take(s, p, a, b)
        if got < 0:
            nodes.give_back(s, p, last)
            return -1
        slept += got
        s.hx_to[a] = b
        s.hx_next[a] = last
        last = a
        count += b - a
    if count != s.nodes[j]:
        nodes.give_back(s, p, last)
        return -1
    s.held[j] = last
    if s.res_free.shape[0] > 0:
        resources.hold(s, j)
    return slept


@kernel
def clip_cap(s: State, j: int, cap_w: float) -> float:
    """Return a wanted cap of a job within what its nodes and the job can follow."""
    if cap_w == np.inf:
        return cap_w
    least = power.least_cap_w(s, j)
    return cap_w if cap_w >= least else least


@outlined
def stop(s: State, j: int, holds: bool, why: int) -> None:
    """Preempt a job if it runs: pause it on its nodes, or queue it again."""
    if j < 0 or j >= s.status.shape[0]:
        record(s, codes.ACT_STOP, j, 0, np.inf, why, codes.UNKNOWN_JOB)
        return
    verdict = codes.OK
    rests = s.status[j] == codes.PAUSED or s.status[j] == codes.STARTING
    if s.status[j] != codes.RUNNING and s.status[j] != codes.WAKING and (holds or not rests):
        verdict = codes.NOT_RUNNING
    record(s, codes.ACT_STOP, j, s.nodes[j], np.inf, why, verdict)
    if verdict == codes.OK and holds and s.status[j] == codes.RUNNING:
        commit.pause(s, j)
    elif verdict == codes.OK and s.status[j] == codes.STARTING:
        commit.take_back(s, j)
    elif verdict == codes.OK:
        commit.preempt(s, j)


@outlined
def resume(s: State, j: int) -> None:
    """Let a paused job work again if the power limit allows it."""
    if j < 0 or j >= s.status.shape[0]:
        record(s, codes.ACT_RESUME, j, 0, np.inf, codes.RESELECTED, codes.UNKNOWN_JOB)
        return
    verdict = codes.OK
    if s.status[j] != codes.PAUSED:
        verdict = codes.NOT_PAUSED
    elif s.limit_w[0] < np.inf:
        slack_w = power.LIMIT_SLACK * s.limit_w[0]
        busy_w = power.node_w(s, j, s.cap_w[j])
        if s.nodes[j] * (busy_w - s.idle_w[s.pool[j]]) > power.headroom_w(s) + slack_w:
            verdict = codes.OVER_LIMIT
    record(s, codes.ACT_RESUME, j, s.nodes[j], np.inf, codes.RESELECTED, verdict)
    if verdict == codes.OK:
        commit.resume(s, j)
        if s.option[OPT_BELIEF] == 1:
            power.count_started(s, j)


@outlined
def stop_and_resume(s: State) -> None:
    """Judge the jobs that a select policy wants stopped, then those it wants resumed."""
    for i in range(min(s.n_stop[0], s.stop_job.shape[0])):
        stop(s, s.stop_job[i], s.stop_holds[i] == 1, codes.RESELECTED)
        s.stop_holds[i] = 0
    if s.option[OPT_BELIEF] == 1:
        power.refresh_belief(s)  # the watts of those that were stopped are free for starts
    for i in range(min(s.n_resume[0], s.resume_job.shape[0])):
        resume(s, s.resume_job[i])
    s.n_stop[0] = 0
    s.n_resume[0] = 0


@outlined
def shed(s: State) -> None:
    """Stop jobs, the last started first, until the lowest caps of the others can keep the power below the limit.

    A job that runs alone above the limit because nothing else could run is left to end.
    """
    while s.n_running[0] > 0:
        if power.lowest_w(s) <= s.limit_w[0] * (1.0 + power.LIMIT_SLACK):
            return
        if s.n_running[0] == 1 and s.option[OPT_EXCEED] == 1:
            return
        last = -1
        for i in range(listed(s)):
            j = s.running[i]
            if s.status[j] == codes.PAUSED:
                continue
            later = last < 0 or s.resumed_s[j] > s.resumed_s[last]
            if later or (s.resumed_s[j] == s.resumed_s[last] and j > last):
                last = j
        if last < 0:
            return
        stop(s, last, False, codes.SHED)


@outlined
def set_levels(s: State) -> None:
    """Apply the wanted speed levels of node classes, but for those that would lift power above the limit.

    Where some nodes need less power from then on, and there is a limit, waiting jobs are looked at again: another pass
    follows in the same instant, one at most.
    """
    falls = False
    for p in range(s.level.shape[0]):
        want = s.want_level[p]
        if want == s.level[p]:
            continue
        if want < 0 or want >= s.n_levels[p]:
            record(s, codes.ACT_LEVEL, p, want, np.inf, codes.CHOSEN, codes.BAD_LEVEL)
            s.want_level[p] = s.level[p]
            continue
        if s.limit_w[0] < np.inf:
            increase_w = power.level_increase_w(s, p, want)
            if increase_w > max(0.0, power.headroom_w(s)) + power.LIMIT_SLACK * s.limit_w[0]:
                record(s, codes.ACT_LEVEL, p, want, np.inf, codes.CHOSEN, codes.OVER_LIMIT)
                s.want_level[p] = s.level[p]
                continue
        before = s.level[p]
        falls |= s.level_busy[p, want] < s.level_busy[p, before] or s.level_idle_w[p, want] < s.level_idle_w[p, before]
        s.level[p] = want
        s.idle_w[p] = s.level_idle_w[p, want]
        record(s, codes.ACT_LEVEL, p, want, np.inf, codes.CHOSEN, codes.OK)
        log_event(s, codes.EV_LEVEL, -1, s.pool_count[p], s.level_rate[p, want])
        for c in range(s.c_pool.shape[0]):
            if s.c_pool[c] == p:
                clocks.apply_cap(s, c, s.c_cap_w[c])
        if s.option[OPT_BELIEF] == 1:
            power.refresh_belief(s)
    if falls and s.q_len[0] > 0 and s.limit_w[0] < np.inf and s.again_s[0] < s.now[0]:
        s.again_s[0] = s.now[0]
        s.happened[0] |= codes.ENVELOPE


@outlined
def set_class_caps(s: State) -> None:
    """Apply the wanted caps of the rate classes in use, within the cap range of their nodes and jobs."""
    is_late = s.fl_n.shape[0] > 0
    at_s = late.due_s(s) if is_late else 0.0
    for i in range(s.n_active[0]):
        c = s.active[i]
        want = s.want_cap_w[c]
        told_w = late.sent_cap_w(s, c)
        if want == told_w or c != s.base_class[s.heap_job[s.c_heap[c]]]:
            continue  # nothing new, or a job capped alone
        differ = s.c_draw_w[c] != s.c_draw_w[c]  # then there is nothing a common cap could mean
        if differ or want != want:
            record(s, codes.ACT_CAP, c, s.c_n[c], want, codes.CHOSEN, codes.NO_CAPS if differ else codes.BAD_CAP)
            s.want_cap_w[c] = told_w
            continue
        least = max(s.min_cap_w[s.c_pool[c]], s.c_floor_w[c])
        verdict = codes.OK
        if want < least:
            want = least
            s.want_cap_w[c] = least
            verdict = codes.CLIPPED
            if want == told_w:
                continue
        if is_late:
            late.send(s, c, want, at_s)
        else:
            clocks.apply_cap(s, c, want)
        record(s, codes.ACT_CAP, c, s.c_n[c], want, codes.CHOSEN, verdict)


@outlined
def set_job_caps(s: State) -> None:
    """Apply wanted caps of single jobs: each moves to a rate class of its own, or back to its common one."""
    is_late = s.fl_n.shape[0] > 0
    at_s = late.due_s(s) if is_late else 0.0
    for i in range(min(s.n_recap[0], s.recap_job.shape[0])):
        j = s.recap_job[i]
        if j < 0 or j >= s.status.shape[0]:
            record(s, codes.ACT_JOB_CAP, j, 0, s.recap_w[i], codes.CHOSEN, codes.UNKNOWN_JOB)
            continue
        if s.status[j] != codes.RUNNING:
            record(s, codes.ACT_JOB_CAP, j, s.nodes[j], s.recap_w[i], codes.CHOSEN, codes.NOT_RUNNING)
            continue
        if s.recap_shape[i] >= 0:
            _set_shape(s, j, s.recap_shape[i])
            s.recap_shape[i] = -1
            continue
        if s.recap_w[i] != s.recap_w[i]:
            record(s, codes.ACT_JOB_CAP, j, s.nodes[j], s.recap_w[i], codes.CHOSEN, codes.BAD_CAP)
            continue
        want = clip_cap(s, j, s.recap_w[i])
        old = s.rate_class[j]
        if is_late and old != s.base_class[j]:
            late.send(s, old, want, at_s)
        elif want < np.inf and old != s.base_class[j]:
            clocks.apply_cap(s, old, want)
        elif want < np.inf and s.n_solo[0] == 0:
            record(s, codes.ACT_JOB_CAP, j, s.nodes[j], want, codes.CHOSEN, codes.NO_SOLO)
            continue
        elif is_late and want < np.inf:  # alone from now on, under the cap in force until its own is
            late.move(s, j, clocks.open_solo(s, j, s.c_cap_w[old]))
            late.send(s, s.rate_class[j], want, at_s)
        elif not is_late:
            _move_class(s, j, want)
        s.cap_w[j] = want
        record(
            s, codes.ACT_JOB_CAP, j, s.nodes[j], want, codes.CHOSEN, codes.OK if want == s.recap_w[i] else codes.CLIPPED
        )
    s.n_recap[0] = 0


@outlined
def reclaim(s: State) -> None:
    """Take back the caps that were raised with power left over: jobs go on as they started."""
    n = 0
    for i in range(listed(s)):  # the order changes with the caps: note them first
        j = s.running[i]
        if s.status[j] == codes.RUNNING and s.shape[j] != s.start_shape[j]:
            s.recap_job[n] = j
            n += 1
    for i in range(n):
        j = s.recap_job[i]
        record(s, codes.ACT_JOB_CAP, j, s.nodes[j], s.sh_cap_w[s.start_shape[j]], codes.CHOSEN, codes.OK)
        commit.change_shape(s, j, s.start_shape[j])
    if n > 0 and s.option[OPT_BELIEF] == 1:
        power.refresh_belief(s)


@outlined
def _set_shape(s: State, j: int, row: int) -> None:
    """Let a running job go on under another cap, as a configuration of its application, if the power limit allows
    it.
    """
    verdict = codes.OK
    old = s.shape[j]
    same = power.is_shape(s, j, row) and old >= 0
    if not same or s.sh_nodes[row] != s.sh_nodes[old] or s.sh_cores[row] != s.sh_cores[old]:
        verdict = codes.BAD_SHAPE
    elif s.limit_w[0] < np.inf:
        increase_w = s.sh_told_w[row] - s.sh_told_w[old]
        if increase_w > 0.0 and increase_w > power.headroom_w(s) + power.LIMIT_SLACK * s.limit_w[0]:
            verdict = codes.OVER_LIMIT
    cap_w = s.sh_cap_w[row] if verdict != codes.BAD_SHAPE else np.inf
    record(s, codes.ACT_JOB_CAP, j, s.nodes[j], cap_w, codes.CHOSEN, verdict)
    if verdict == codes.OK and row != old:
        commit.change_shape(s, j, row)
        if s.option[OPT_BELIEF] == 1:
            power.refresh_belief(s)


@outlined
def _move_class(s: State, j: int, cap_w: float) -> None:
    """Let a job go on in a rate class of its own, or with its like again.

    Not for jobs that share links: caps and neighbours are refused together before a run.
    """
    old = s.rate_class[j]
    target = s.base_class[j]
    if cap_w < np.inf:
        target = clocks.open_solo(s, j, cap_w)
    if target != old and target >= 0:
        late.move(s, j, target)
