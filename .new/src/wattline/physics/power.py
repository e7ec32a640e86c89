"""Power at a cap: how fast a capped job progresses, what it draws, and what the whole system draws."""

from __future__ import annotations

import numpy as np

from wattline.kernel.compiled import kernel, outlined
from wattline.model.codes import PAUSED, RUNNING, STARTING, WAKING
from wattline.model.state.record import State
from wattline.model.state.switches import OPT_BELIEF, OPT_CAPPED, OPT_SHED
from wattline.model.structures.many_running import listed
from wattline.model.structures.nodes import count_back
from wattline.physics import margin
from wattline.physics.instants import slack_s

LIMIT_SLACK = 1e-9
"""Share of a power limit that sums of floats may be off by: those who propose and the guard add in different orders."""


@kernel
def capped_power(draw_w: float, floor_w: float, cap_w: float) -> float:
    """Return the power of a node over its uncapped power: it draws its cap, within [floor_w, draw_w]."""
    if cap_w >= draw_w:
        return 1.0
    return max(cap_w, floor_w) / draw_w


@kernel
def idle_system_w(s: State) -> float:
    """Return the power of all nodes that run no job: idle, held by paused jobs, asleep and waking."""
    total = 0.0
    for p in range(s.free.shape[0]):
        total += (s.free[p] - s.asleep[p] + s.paused[p]) * s.idle_w[p] + s.asleep[p] * s.sleep_w[p] + s.waking_w[p]
    return total


@kernel
def system_w(s: State) -> float:
    """Return the power of the whole system; nodes out of service draw nothing."""
    return s.busy_w[0] + s.busy_w[1] + idle_system_w(s)


@kernel
def metered_w(s: State) -> float:
    """Return what a meter of the whole system shows: its power and the deviation in force, which nobody knows ahead."""
    return system_w(s) * (1.0 + s.noise[0])


@kernel
def least_cap_w(s: State, j: int) -> float:
    """Return the lowest cap per node that a job and its nodes can follow."""
    return max(s.min_cap_w[s.pool[j]], s.floor_w[j])


@kernel
def lowest_node_w(s: State, j: int) -> float:
    """Return what a node of a job draws at the lowest cap; its uncapped power where nobody sets caps by rate class."""
    if s.c_draw_w[s.base_class[j]] != s.c_draw_w[s.base_class[j]]:
        return s.draw_w[j]
    return min(s.draw_w[j], least_cap_w(s, j))


@kernel
def class_cap_w(s: State, c: int) -> float:
    """Return the cap per node that a job would find on joining a rate class.

    A class in use has the cap in force. An empty one takes the wanted cap, within what nodes and jobs can follow;
    where its jobs differ a common cap means nothing, and it has none.
    """
    if s.c_n[c] > 0 or s.c_draw_w[c] != s.c_draw_w[c] or s.want_cap_w[c] != s.want_cap_w[c]:
        return s.c_cap_w[c]
    return max(s.want_cap_w[c], s.min_cap_w[s.c_pool[c]], s.c_floor_w[c])


@kernel
def highest_cap_w(s: State, c: int) -> float:
    """Return the highest cap that a job which joins a rate class will be under: the one it finds, or one on its way."""
    cap_w = class_cap_w(s, c)
    if s.fl_n.shape[0] > 0:
        for i in range(s.fl_n[c]):
            cap_w = max(cap_w, s.fl_w[c, i])
    return cap_w


@kernel
def coming_power(s: State, c: int) -> float:
    """Return the power of a rate class over its uncapped power: now, or under a higher cap that is on its way."""
    if s.fl_n.shape[0] == 0 or s.fl_n[c] == 0:
        return s.c_power[c]
    cap_w = s.c_cap_w[c]
    for i in range(s.fl_n[c]):
        cap_w = max(cap_w, s.fl_w[c, i])
    share = capped_power(s.c_draw_w[c], s.c_floor_w[c], cap_w)
    return max(s.c_power[c], s.level_busy[s.c_pool[c], s.level[s.c_pool[c]]] * share)


@kernel
def rising_w(s: State) -> float:
    """Return by how much power rises when higher caps that are on their way get into force."""
    total = 0.0
    if s.fl_n.shape[0] > 0:
        for i in range(s.n_active[0]):
            c = s.active[i]
            total += s.c_watts[c] * (coming_power(s, c) - s.c_power[c])
    return total


@kernel
def pledged_w(s: State) -> float:
    """Return what jobs that are starting will draw above the idle power that their nodes draw until then."""
    total = 0.0
    for i in range(s.n_starting[0]):
        j = s.starting[i]
        total += s.nodes[j] * (node_w(s, j, s.cap_w[j]) - s.idle_w[s.pool[j]])
    return total


@kernel
def headroom_w(s: State) -> float:
    """Return the power that starts may add under the limit, to within a billionth of it.

    What jobs that are starting will draw is taken already, and so is what higher caps on their way will add.
    """
    if s.limit_w[0] == np.inf:
        return np.inf
    if s.option[OPT_BELIEF] == 1:
        return s.limit_w[0] * (1.0 + LIMIT_SLACK) - believed_system_w(s) - pledged_w(s) - rising_w(s)
    return s.limit_w[0] * (1.0 + LIMIT_SLACK) - system_w(s) - pledged_w(s) - rising_w(s)


@kernel
def series_value_w(s: State, j: int, done_s: float) -> float:
    """Return the power per node, uncapped, of a job that has done so much of its work.

    Work done comes from clocks that round: a step that is done but for their rounding, and but for a thousandth of it
    at most, is done.
    """
    count = s.series_count[j]
    if count == 0:
        return s.draw_w[j]
    step_s = s.series_step_s[0]
    done_s += min(slack_s(s.now[0]), 0.001 * step_s)
    at = min(count - 1, max(0, int(done_s / step_s)))
    return s.series_w[s.series_first[j] + at]


@kernel
def _coming_cap_w(s: State, j: int, cap_w: float) -> float:
    """Return the cap per node of a job that would start now, at a cap of its own or (inf) at its class's."""
    if cap_w < np.inf:
        return max(cap_w, least_cap_w(s, j))
    return highest_cap_w(s, s.base_class[j])


@kernel
def node_w(s: State, j: int, cap_w: float) -> float:
    """Return what admission counts for a node of a job that would start now, at a cap of its own or (inf) at its
    class's.

    Where power changes over time and is known, that is its mean, or what the job draws at once if that is more.
    """
    p = s.pool[j]
    cap = _coming_cap_w(s, j, cap_w)
    draw_w = s.profile_w[j] if s.option[OPT_BELIEF] == 1 else s.draw_w[j]
    if s.series_count[j] > 0 and s.option[OPT_BELIEF] == 0:
        draw_w = max(draw_w, series_value_w(s, j, s.work[j] - s.remaining[j]))
    if s.option[OPT_SHED] == 1 and s.preemptions[j] > 0:
        draw_w = max(draw_w, s.now_w[j])  # what it drew when it was stopped: it will draw that again
    return draw_w * capped_power(draw_w, min(s.floor_w[j], draw_w), cap) * s.level_busy[p, s.level[p]]


@kernel
def end_decrease_w(s: State, j: int) -> float:
    """Return by how much the power that admission counts falls when a job ends and its nodes idle, or are out of
    service if they drain: one that runs, or would start now.

    What it counts of running jobs is what they draw now, or what is believed of them and their part of the margin: the
    decreases of all of them leave the power of idle nodes, so that a plan in which all have ended has room for any job.
    """
    margin_w = 0.0
    works = s.status[j] == RUNNING or s.status[j] == STARTING
    if works and counts_belief(s):
        busy_w = believed_node_w(s, j) if s.status[j] == RUNNING else node_w(s, j, s.cap_w[j])
        margin_w = margin.part_w(s, j, _room_w(s, j))
    elif s.status[j] == RUNNING:
        busy_w = s.now_w[j] * coming_power(s, s.rate_class[j])
    elif s.status[j] == STARTING:
        busy_w = node_w(s, j, s.cap_w[j])
    elif s.status[j] == WAKING:
        busy_w = s.wake_w[j]
    elif s.status[j] == PAUSED:
        busy_w = s.idle_w[s.pool[j]]
    else:
        busy_w = counted_node_w(s, j, s.cap_w[j])
        if s.option[OPT_BELIEF] == 1 and s.spread_w[j] > 0.0:
            margin_w = margin_increase_w(s, j, s.cap_w[j], busy_w)
    idle_w = s.idle_w[s.pool[j]]
    return s.nodes[j] * (busy_w - idle_w) + margin_w + (s.nodes[j] - count_back(s, j)) * idle_w


@outlined
def level_increase_w(s: State, p: int, level: int) -> float:
    """Return by how much the power that admission counts rises when the nodes of a class change their speed level."""
    before = s.level_busy[p, s.level[p]]
    grows = s.level_busy[p, level] / before - 1.0 if before > 0.0 else 0.0
    busy_w = 0.0
    if counts_belief(s):
        for i in range(listed(s)):
            j = s.running[i]
            if s.pool[j] == p and s.status[j] == RUNNING:
                busy_w += s.nodes[j] * believed_node_w(s, j)
    else:
        for i in range(s.n_active[0]):
            c = s.active[i]
            if s.c_pool[c] == p:
                busy_w += s.c_watts[c] * coming_power(s, c)
    idle = s.free[p] - s.asleep[p] + s.paused[p]
    for i in range(s.n_starting[0]):
        j = s.starting[i]
        if s.pool[j] == p:
            busy_w += s.nodes[j] * node_w(s, j, s.cap_w[j])
            idle -= s.nodes[j]  # they idle until they begin, and are counted as if they had begun
    return busy_w * grows + idle * (s.level_idle_w[p, level] - s.idle_w[p])


@kernel
def waking_node_w(s: State, j: int, cap_w: float) -> float:
    """Return what counts for a node of a job while its nodes wake: the class's greatest power, or the job's if it
    is more.

    So a job whose nodes are awake never draws more than was counted when it was let in.
    """
    return max(node_w(s, j, cap_w), s.max_w[s.pool[j]])


@kernel
def counted_node_w(s: State, j: int, cap_w: float) -> float:
    """Return what counts for a node of a job that starts now, some of whose nodes may have to wake."""
    p = s.pool[j]
    wakes = s.asleep[p] > 0 and s.nodes[j] > 0 and s.sleep_exit_s[p] > 0.0
    return waking_node_w(s, j, cap_w) if wakes else node_w(s, j, cap_w)


@kernel
def start_increase_w(s: State, j: int, cap_w: float) -> float:
    """Return by how much the system's power may rise if a job starts now, at a cap of its own or not.

    Nodes that sleep draw less before, and more while they wake: the worst case is that the job gets them all.
    """
    p = s.pool[j]
    asleep = min(s.nodes[j], s.asleep[p])
    busy_w = counted_node_w(s, j, cap_w)
    increase_w = s.nodes[j] * busy_w - (s.nodes[j] - asleep) * s.idle_w[p] - asleep * s.sleep_w[p]
    if s.option[OPT_BELIEF] == 1 and s.spread_w[j] > 0.0:
        increase_w += margin_increase_w(s, j, cap_w, busy_w)
    return increase_w


@kernel
def lowest_share(s: State, c: int) -> float:
    """Return the power of a class at its lowest cap over its uncapped power (1 where its jobs differ: no cap fits
    all).
    """
    if s.c_draw_w[c] != s.c_draw_w[c]:
        return 1.0
    return capped_power(s.c_draw_w[c], s.c_floor_w[c], max(s.min_cap_w[s.c_pool[c]], s.c_floor_w[c]))


@kernel
def span_w(s: State) -> tuple[float, float]:
    """Return the system's power if all running jobs had their lowest caps, and if none had a cap."""
    low_w = idle_system_w(s)
    high_w = low_w
    for i in range(s.n_active[0]):
        c = s.active[i]
        watts = s.c_watts[c] * s.level_busy[s.c_pool[c], s.level[s.c_pool[c]]]
        high_w += watts
        low_w += watts * lowest_share(s, c)
    return low_w, high_w


@kernel
def committed_span_w(s: State) -> tuple[float, float]:
    """Return the same with the jobs that are starting, as if they ran: what whoever starts more counts with."""
    low_w, high_w = span_w(s)
    for i in range(s.n_starting[0]):
        j = s.starting[i]
        low_w += s.nodes[j] * (lowest_node_w(s, j) - s.idle_w[s.pool[j]])
        high_w += uncapped_increase_w(s, j)
    return low_w, high_w


@kernel
def uncapped_increase_w(s: State, j: int) -> float:
    """Return by how much the system's power rises if a job starts on idle nodes, uncapped."""
    p = s.pool[j]
    return s.nodes[j] * (s.draw_w[j] * s.level_busy[p, s.level[p]] - s.idle_w[p])


# ------------------------------------------------------------------ what is believed of jobs whose power is not known


@kernel
def believed_node_w(s: State, j: int) -> float:
    """Return what a node of a running job draws by its profile and the cap in force."""
    c = s.rate_class[j]
    p = s.pool[j]
    profile_w = s.profile_w[j]
    if s.c_cap_w[c] < np.inf:
        profile_w = min(profile_w, s.c_cap_w[c])
    return profile_w * s.level_busy[p, s.level[p]]


@kernel
def _most_w(s: State, j: int, cap_w: float) -> float:
    """Return the most that a node of a job can draw under a cap: what its class draws at most, held by the cap."""
    p = s.pool[j]
    draw_w = s.max_w[p]
    return draw_w * capped_power(draw_w, min(s.floor_w[j], draw_w), cap_w) * s.level_busy[p, s.level[p]]


@kernel
def _room_w(s: State, j: int) -> float:
    """Return how much more a job that runs or is starting can draw at most than is believed, under any cap to come."""
    if s.status[j] == RUNNING:
        return s.nodes[j] * (_most_w(s, j, highest_cap_w(s, s.rate_class[j])) - believed_node_w(s, j))
    return s.nodes[j] * (_most_w(s, j, _coming_cap_w(s, j, s.cap_w[j])) - node_w(s, j, s.cap_w[j]))


@outlined
def refresh_belief(s: State) -> None:
    """Sum up the profiles of running jobs, and find the margin on that sum and on those that are starting."""
    total = 0.0
    margin.begin(s)
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == RUNNING:
            total += s.nodes[j] * believed_node_w(s, j)
        if s.status[j] == RUNNING or s.status[j] == STARTING:  # what the latter will draw is pledged elsewhere
            margin.add(s, j, _room_w(s, j))
    s.believed_w[0] = total
    margin.settle(s)


@kernel
def believed_busy_w(s: State) -> float:
    """Return the power of running jobs by their profiles, margin included."""
    return s.believed_w[0] + s.margin_w[0]


@kernel
def counts_belief(s: State) -> bool:
    """Tell whether admission counts with what is believed of running jobs, and not with what they draw.

    Where jobs may be stopped it counts with what is drawn if that is more, or they would start and stop in turn.
    """
    if s.option[OPT_BELIEF] == 0:
        return False
    return s.option[OPT_SHED] == 0 or believed_busy_w(s) >= s.busy_w[0] + s.busy_w[1]


@kernel
def believed_system_w(s: State) -> float:
    """Return the power to count with by profiles, margin included.

    Where jobs may be stopped, at least what is drawn.
    """
    if counts_belief(s):
        return believed_busy_w(s) + idle_system_w(s)
    return system_w(s)


@kernel
def margin_increase_w(s: State, j: int, cap_w: float, busy_w: float) -> float:
    """Return by how much a start raises the margin where ``busy_w`` is counted for each node of the job.

    Sums of these are never too small (``margin``).
    """
    return margin.increase_w(s, j, s.nodes[j] * (_most_w(s, j, _coming_cap_w(s, j, cap_w)) - busy_w))


@kernel
def count_started(s: State, j: int) -> None:
    """Count with the profile of a job that has just started."""
    if s.status[j] == RUNNING:
        s.believed_w[0] += s.nodes[j] * believed_node_w(s, j)
    if s.status[j] == RUNNING or s.status[j] == STARTING:
        margin.add(s, j, _room_w(s, j))
        margin.settle(s)


@kernel
def lowest_w(s: State) -> float:
    """Return the system's power if every running job had the lowest cap that hardware and job can follow."""
    total = idle_system_w(s)
    for i in range(listed(s)):
        j = s.running[i]
        if s.status[j] == RUNNING:
            p = s.pool[j]
            floor_w = min(s.now_w[j], least_cap_w(s, j)) if s.option[OPT_CAPPED] == 1 else s.now_w[j]
            total += s.nodes[j] * floor_w * s.level_busy[p, s.level[p]]
        elif s.status[j] == STARTING:
            floor_w = node_w(s, j, s.cap_w[j])
            if s.option[OPT_CAPPED] == 1:
                floor_w = min(floor_w, least_cap_w(s, j))
            total += s.nodes[j] * (floor_w - s.idle_w[s.pool[j]])
    return total


# ------------------------------------------------------------------ configurations


@kernel
def is_shape(s: State, j: int, row: int) -> bool:
    """Tell whether a configuration is one of a job's application."""
    a = s.app[j]
    return a >= 0 and s.app_first[a] <= row < s.app_first[a] + s.app_count[a]


@outlined
def exceeds_alone(s: State, j: int) -> bool:
    """Tell whether a job would exceed the limit even if it ran alone (nodes that sleep are taken as idle)."""
    if s.limit_w[0] == np.inf:
        return False
    total_w = s.nodes[j] * (node_w(s, j, np.inf) - s.idle_w[s.pool[j]] + s.margin[0] * s.spread_w[j])
    for p in range(s.free.shape[0]):
        total_w += (s.free[p] + s.busy[p]) * s.idle_w[p]
    return total_w > s.limit_w[0] * (1.0 + LIMIT_SLACK)


@kernel
def shape_increase_w(s: State, j: int, row: int) -> float:
    """Return by how much the system's power rises, as it is told, if a job starts in a configuration on idle nodes."""
    return s.sh_told_w[row] - s.sh_nodes[row] * s.idle_w[s.pool[j]]
