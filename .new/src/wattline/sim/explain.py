"""Why a run could not go on, in one line that names the policy, the job and the reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattline.control.users.complaints import where
from wattline.errors import PolicyError, RunError, StuckError, WattlineError
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.rooms import no_room
from wattline.model.state.record import State
from wattline.model.state.switches import N_REFUSED, OPT_EXCEED
from wattline.units import MOST_S, in_full, show_duration, show_power

FAR_S = 10 * MOST_S
"""No run gets here: it would need jobs that are submitted, wait and run for as long as can be counted."""


def look_closer(code: int, s: State, slots: Sequence[Mechanism]) -> int:
    """Return why a run came back, with what the loop has no time to look for: keys, timers and estimates that are
    no numbers.
    """
    if s.overflow[0] != 0:
        return codes.NO_ROOM
    if s.fault[0] != 0:
        return codes.BAD_KEY
    learner = slots[codes.LEARN]
    if not learner.builtin and not (s.estimate_s >= 0.0).all():
        return codes.BAD_ESTIMATE
    if np.isnan(s.wake_at_s).any():
        return codes.BAD_TIMER
    return codes.TOO_FAR if s.now[0] > FAR_S else code


def why_stopped(
    code: int, s: State, jobs: JobTable, slots: Sequence[Mechanism], repeated_until_s: float = np.inf
) -> WattlineError | None:
    """Return what a bad end of a run means (None: the end was not bad); steps of its limit repeat until then."""
    if code == codes.NO_ROOM:
        return no_room(int(s.overflow[0]), s)
    if code == codes.BAD_KEY:
        job = jobs.job_id[s.fault[0] - 1]
        return PolicyError(f"{where(slots[codes.ORDER])} gave job {job} the key NaN: the line cannot be sorted by it")
    if code == codes.BAD_ESTIMATE:
        j = int(np.argmin(s.estimate_s >= 0.0))
        return PolicyError(
            f"{where(slots[codes.LEARN])} gave job {jobs.job_id[j]} s.estimate_s = {in_full(s.estimate_s[j])}; "
            "a number from "
            "0 on is needed"
        )
    if code == codes.STUCK:
        return _stuck(s, jobs, slots, repeated_until_s)
    if code == codes.BAD_TIMER:
        return _bad_timer(s, slots)
    if code == codes.TOO_FAR:
        return RunError(
            f"the clock of the run went to {s.now[0]:g} s, where seconds can no longer be told apart: a policy's "
            "timer, or times that add up to more than makes sense"
        )
    return None


def _stuck(s: State, jobs: JobTable, slots: Sequence[Mechanism], repeated_until_s: float) -> StuckError:
    paused = np.flatnonzero(s.status == codes.PAUSED)
    if s.q_len[0]:
        reason = _why_it_waits(s, jobs, int(s.queue[s.q_head[0]]), slots, repeated_until_s)
    elif paused.size:
        who = slots[codes.SELECT].called
        reason = f"select policy {who!r} does not resume job {jobs.job_id[paused[0]]}, which it paused"
    else:
        held = int(np.argmax(s.status == codes.HELD))
        reason = f"job {jobs.job_id[held]} is held back by a job that never ends"
    waiting = "1 job waits" if s.q_len[0] == 1 else f"{int(s.q_len[0])} jobs wait"
    return StuckError(
        f"{_age(s, _still_since_s(s))} after the start {waiting}, nothing runs and nothing is left to happen: {reason}"
    )


def _still_since_s(s: State) -> float:
    """Return when the last thing happened: ticks and samples go on for a while although nothing comes of them."""
    if not (np.isfinite(s.tick_s[0]) or np.isfinite(s.sample_s[0])):
        return float(s.now[0])
    times = np.concatenate([s.eligible_s, s.started_s, s.end_s, s.env_s[: s.env_at[0]], s.change_s[: s.change_at[0]]])
    return float(np.max(times[times <= s.now[0]], initial=float(s.start_s[0])))


def _why_it_waits(s: State, jobs: JobTable, head: int, slots: Sequence[Mechanism], repeated_until_s: float) -> str:
    """Return whose fault it is that the head of the line waits: the limit's, the place policy's or the select
    policy's.
    """
    refused, verdict = int(s.counter[N_REFUSED]), int(np.argmax(s.refused))
    job = f"job {jobs.job_id[head]}"
    free = int(s.free[s.pool[head]])
    need_w = _need_w(s, head)
    if need_w > s.limit_w[0] and jobs.nodes[head] <= free:
        since = s.env_s[s.env_at[0] - 1] if s.env_at[0] else s.start_s[0]
        when = f"from {_age(s, since)} after the start on" if since > s.start_s[0] else "from the start on"
        need, limit = show_power(need_w), show_power(float(s.limit_w[0]))
        if need == limit:
            need, limit = f"{need_w:,.1f} W", f"{float(s.limit_w[0]):,.1f} W"
        told = f"{job} needs {need}, the limit stays at {limit} {when}"
        if np.isfinite(repeated_until_s):
            return f"{told}, since its steps repeat for {_age(s, repeated_until_s)} only; write them out for longer"
        waits = s.n_running[0] == 0 and s.option[OPT_EXCEED] == 0
        how = ', and the deadlock rule is to wait; raise the limit, or let it exceed: [limit] deadlock = "exceed"'
        return told + (how if waits else "")
    if refused and verdict == codes.BAD_PLACE:
        return (
            f"place policy {slots[codes.PLACE].called!r} does not find {job} its nodes ({jobs.nodes[head]} nodes; "
            f"{free} are "
            f"free, {int(s.refused[verdict])} proposals were refused: {codes.VERDICT_NAMES[verdict]})"
        )
    most = f", mostly: {codes.VERDICT_NAMES[verdict]}" if refused else ""
    return (
        f"select policy {slots[codes.SELECT].called!r} does not start {job} ({jobs.nodes[head]} nodes; {free} are "
        f"free, {refused} proposals were refused{most})"
    )


def _need_w(s: State, j: int) -> float:
    """Return what the whole system would draw if a job started now."""
    if s.limit_w[0] == np.inf:
        return 0.0
    from wattline.policies.helpers import headroom_w, start_increase_w

    return float(s.limit_w[0] - headroom_w(s) + start_increase_w(s, j))


def _bad_timer(s: State, slots: Sequence[Mechanism]) -> WattlineError:
    not_ahead = [i for i in range(s.wake_at_s.size) if not s.wake_at_s[i] >= s.now[0]]
    if not not_ahead:
        return StuckError(
            f"policy {slots[s.timer_slot[0]].called!r} set its timer to {in_full(s.now[0])} s at "
            f"{in_full(s.now[0])} s: it must "
            "be in the "
            f"future, and not again and again by less than a thousandth of a second (the clock stood still, or all but)"
        )
    slot = not_ahead[0]
    if np.isnan(s.wake_at_s[slot]):
        return PolicyError(f"{where(slots[slot])} set its timer to NaN: a time is needed, or inf for none")
    return RunError(
        f"policy {slots[slot].called!r} set its timer to {in_full(s.wake_at_s[slot])} s at {in_full(s.now[0])} "
        "s: it must be in "
        "the future"
    )


def _age(s: State, time_s: float) -> str:
    return show_duration(float(time_s - s.start_s[0]))
