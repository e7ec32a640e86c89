"""A plain accountant of energy: it watches a run instant by instant and multiplies powers by times, one node and one
job at a time.

It reads what jobs and nodes *are* (who holds which nodes, who works, wakes, pauses; caps, levels, series) and works out
for itself what they draw. It never reads a sum that the engine keeps: neither energies nor node-seconds nor the power
of the system.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from wattline.model import codes
from wattline.model.state.record import State

BUSY, IDLE, ASLEEP, WAKING, DOWN = "busy", "idle", "asleep", "waking", "down"
SAME_S, SAME_SHARE = 1e-6, 1e-14
"""A step of the series is done when this much is missing at most (seconds, and of the time that the clock shows)."""
AMBIGUOUS_S = 1e-7
"""Work done this close to that may be read on either side of it: the accountant's own sums round too."""


@dataclass
class Ledger:
    """Joules and node-seconds up to a time: by job, and by (node class, what the nodes do)."""

    job_j: dict[int, float]
    class_j: dict[tuple[int, str], float]
    class_s: dict[tuple[int, str], float]
    total_j: float
    steps: list[tuple[float, float]]
    """Power of the system as steps: from when, watts."""
    ran_s: dict[int, float]
    """Seconds for which each job worked or waited for its nodes to wake."""
    woke_s: dict[int, float]
    """Of these, seconds for which it waited."""


@dataclass
class Accountant:
    """Look at the state after every instant; ``close`` at the end."""

    job: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    joules: dict[tuple[int, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[tuple[int, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    ran: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    woke: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    steps: list[tuple[float, float]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """What jobs draw otherwise than cap, level and series say."""
    _since: float = math.nan
    _now: list[tuple[int, str, int, float, int]] = field(default_factory=list)
    """What holds since then: node class, state, nodes, watts a node, job or -1."""

    def look(self, s: State) -> None:
        """Account for the time up to now, then note what holds from now on."""
        self._pass(float(s.now[0]))
        self._now = list(self._holdings(s))
        watts = math.fsum(count * watts for _, _, count, watts, _ in self._now)
        if self.steps and self.steps[-1][0] == s.now[0]:
            self.steps.pop()
        self.steps.append((float(s.now[0]), watts))

    def close(self, now_s: float) -> Ledger:
        """Return the books up to a time."""
        self._pass(now_s)

        def sums(lists: dict) -> dict:  # type: ignore[type-arg]
            return {key: math.fsum(values) for key, values in lists.items()}

        class_j = sums(self.joules)
        total_j = math.fsum(class_j.values())
        return Ledger(sums(self.job), class_j, sums(self.seconds), total_j, self.steps, sums(self.ran), sums(self.woke))

    def _pass(self, now_s: float) -> None:
        took_s = now_s - self._since if self._since == self._since else 0.0
        self._since = now_s
        for pool, what, count, watts, job in self._now if took_s > 0.0 else ():
            self.joules[pool, what].append(count * watts * took_s)
            state = BUSY if what == WAKING or job >= 0 else what
            self.seconds[pool, state].append(count * took_s)
            if job >= 0 and what != IDLE:  # a job that is paused is charged nothing
                self.job[job].append(count * watts * took_s)
                self.ran[job].append(took_s)
            if what == WAKING:
                self.woke[job].append(took_s)

    def _holdings(self, s: State):  # type: ignore[no-untyped-def]
        """Yield what all nodes do, from the lists of who holds them."""
        held = [0] * s.free.size
        for j in np.flatnonzero(np.isin(s.status, (codes.RUNNING, codes.WAKING, codes.PAUSED))).tolist():
            pool, count, x = int(s.pool[j]), 0, int(s.held[j])
            while x >= 0:
                count += int(s.hx_to[x]) - x
                x = int(s.hx_next[x])
            held[pool] += count
            if s.status[j] == codes.RUNNING:
                yield pool, BUSY, count, self._working_w(s, j), j
            elif s.status[j] == codes.WAKING:
                yield pool, WAKING, count, float(s.wake_w[j]), j
            else:
                yield pool, IDLE, count, float(s.idle_w[pool]), j
        for pool in range(s.free.size):
            first, down = int(s.pool_first[pool]), 0
            for node in range(first, first + int(s.pool_count[pool])):
                down += int(s.node_state[node] == 2)
            asleep = int(s.asleep[pool])
            yield pool, DOWN, down, 0.0, -1
            yield pool, ASLEEP, asleep, float(s.sleep_w[pool]), -1
            yield pool, IDLE, int(s.pool_count[pool]) - held[pool] - down - asleep, float(s.idle_w[pool]), -1

    def _working_w(self, s: State, j: int) -> float:
        """Return what a node of a job that works draws: uncapped power, at most the cap but at least the floor, at its
        level.
        """
        c, pool = int(s.rate_class[j]), int(s.pool[j])
        full_w = float(s.now_w[j])
        if s.series_count[j] == 0 and full_w != s.draw_w[j]:
            self.wrong.append(f"job {j} draws {full_w} W, not {s.draw_w[j]} W")
        watts = full_w
        if s.c_cap_w[c] < full_w:
            watts = max(float(s.c_cap_w[c]), min(float(s.floor_w[j]), full_w))
        return watts * float(s.level_busy[pool, s.level[pool]])


@dataclass
class Progress:
    """Where jobs have power over time: what each draws at samples, by the work that its speeds add up to."""

    done: dict[int, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    _last: dict[int, tuple[float, float]] = field(default_factory=dict)
    _stops: dict[int, int] = field(default_factory=dict)

    def look(self, s: State) -> None:
        """Add up work since the last instant; hold what is drawn now against the series."""
        now = float(s.now[0])
        for j in np.flatnonzero(s.series_count > 0).tolist():
            since, rate = self._last.pop(j, (now, 0.0))
            done = self.done.get(j, 0.0) + rate * (now - since)
            stops = int(s.preemptions[j] + s.restarts[j])
            if stops != self._stops.get(j, 0):  # stopped and started again in one instant
                self._stops[j], done = stops, float(s.work[j] - s.remaining[j])
            if s.status[j] == codes.RUNNING:
                self.done[j] = done
                self._last[j] = now, float(s.c_rate[s.rate_class[j]])
                self._check(s, j, done, now)
            else:  # what it has left says what a stop or a lost node cost
                self.done[j] = float(s.work[j] - s.remaining[j])

    def _check(self, s: State, j: int, done: float, now: float) -> None:
        since = now - float(s.start_s[0])
        on_grid = abs(since / s.sample_s[0] - round(since / s.sample_s[0])) < 1e-9
        if not on_grid and s.resumed_s[j] != now:
            return
        if s.schedule_s[0] <= now and s.resumed_s[j] != now:
            return  # event by event: the sample of this instant is still to come
        first, count, step = int(s.series_first[j]), int(s.series_count[j]), float(s.series_step_s[0])
        full = done + min(SAME_S + SAME_SHARE * now, 0.001 * step)
        near = (full - AMBIGUOUS_S, full + AMBIGUOUS_S)
        may = {float(s.series_w[first + min(count - 1, max(0, int(d / step)))]) for d in near}
        if float(s.now_w[j]) not in may:
            self.wrong.append(f"at {now} s job {j} has done {done} s of its work and draws {s.now_w[j]} W, not {may}")
