"""An exact world outside of the simulator: it learns of jobs when they are submitted, drives the control pass, and
gives the rows of jobs that ended to others.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.control.codes import RARE
from wattline.control.facts import END, FREE
from wattline.control.rows import facts_of
from wattline.live.controller.ledger import Ledger
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.state.record import State
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.setup import prepare


@dataclass
class Outside:
    """A world that no job is known to before it is submitted. Jobs are named by their numbers in ``jobs``.

    ``clocked`` takes the ends of jobs from the clocks of the state (speeds change under caps); otherwise a job ends
    when its work is done, whatever the state thinks.
    """

    jobs: JobTable
    machine: Cluster
    policies: Policies
    options: Options = field(default_factory=Options)
    rows: int = 64
    clocked: bool = False
    look: Callable[[State], None] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        quiet = replace(self.options, timeline=False, placements=False, decisions=False)
        known = prepare(self.jobs, self.machine, self.policies.slots(), quiet).state
        self.facts: Floats = facts_of(known)
        self.refused = known.status == codes.REJECTED
        nobody = self.jobs.take(np.zeros(len(self.jobs), dtype=bool))
        start_s = min(float(self.jobs.submit_s[0]), self.options.start_s or np.inf)
        room = replace(quiet, spare_rows=self.rows, start_s=start_s)
        self.sim = Simulation(nobody, self.machine, self.policies, room, seed=self.seed)
        self.started = np.full(len(self.jobs), np.nan)
        self.ended = np.full(len(self.jobs), np.nan)
        self.book = Ledger(self.sim)
        self.ends: list[tuple[float, int]] = []
        self.reused = 0
        self._seen: set[int] = set()

    def run(self) -> None:
        """Let all jobs come and go."""
        from wattline.control.chores import chores

        at, left = 0, int((~self.refused).sum())
        with self.sim:
            while left > 0:
                s = self.sim.state
                t_s = min(self.jobs.submit_s[at] if at < len(self.jobs) else np.inf, self.next_end_s(), s.schedule_s[0])
                assert np.isfinite(t_s), "nothing is left to happen"
                s.now[0] = max(t_s, s.now[0])
                while self.next_end_s() <= s.now[0]:
                    self.end()
                    left -= 1
                if s.schedule_s[0] <= s.now[0]:
                    s.happened[0] |= chores(s, RARE, self.sim.param[0], self.sim.memory[0])
                while at < len(self.jobs) and self.jobs.submit_s[at] <= self.sim.state.now[0]:
                    if not self.refused[at]:
                        self.enter(at)
                    at += 1
                if self.sim.state.happened[0]:
                    self.control()

    def next_end_s(self) -> float:
        """Return when the next job ends."""
        s = self.sim.state
        if self.clocked:
            return float(s.c_next_s[s.win[1] if s.c_n.size > 1 else 0])
        return self.ends[0][0] if self.ends else np.inf

    def end(self) -> None:
        """Let the next job end, and give up its row."""
        s = self.sim.state
        if self.clocked:
            j = int(self.book.name[int(s.heap_job[s.c_heap[s.win[1] if s.c_n.size > 1 else 0]])])
        else:
            _, j = heapq.heappop(self.ends)
        self.ended[j] = s.now[0]
        self.book.tell_of(END, str(j), codes.FINISHED)
        self.book.tell_of(FREE, str(j))
        self.book.flush()

    def enter(self, j: int) -> None:
        """Let a job come, with more room where there is too little."""
        self.book.enter(str(j), self.facts[j])
        self.book.flush()
        row = self.book.row[str(j)]
        self.reused += row in self._seen
        self._seen.add(row)

    def control(self) -> None:
        """Let control pass, and jobs start that it starts."""
        self.book.control()
        s = self.sim.state
        for i in range(int(s.a_from[0]), int(s.a_n[0])):
            if s.a_kind[i] == codes.ACT_START and s.a_verdict[i] == codes.OK:
                self.begin(int(self.book.name[int(s.a_job[i])]))
        if self.look is not None:
            self.look(s)

    def begin(self, j: int) -> None:
        """Note that a job has started."""
        now_s = float(self.sim.state.now[0])
        if np.isnan(self.started[j]):
            self.started[j] = now_s
        if not self.clocked:
            heapq.heappush(self.ends, (now_s + float(self.jobs.work_s[j]), j))


def flow(seed: int, count: int, nodes: int, **more: Any) -> JobTable:
    """Return random jobs in whole seconds, with ties, jobs of no length, and queues that come and go."""
    rng = np.random.default_rng(seed)
    rush = np.arange(count) % 500 < 240  # queues of some two hundred jobs, which are gone before the next rush
    gap = rng.choice([0, 1, 5, 20, 80], count) * np.where(rush, 1, 12)
    work = np.where(rng.random(count) < 0.02, 0, rng.integers(1, 900, count)).astype(float)
    width = np.minimum(nodes, np.ceil(2 ** rng.uniform(0, np.log2(nodes) + 0.2, count))).astype(np.int64)
    return JobTable.build(
        submit_s=np.cumsum(gap).astype(float),
        work_s=work,
        nodes=width,
        request_s=work * rng.choice([1, 2, 4], count) + rng.integers(0, 60, count),
        user=rng.integers(0, 9, count),
        users=tuple("abcdefghi"),
        draw_w=rng.choice([150.0, 200.0, 300.0], count),
        priority=rng.integers(0, 3, count).astype(float),
        **more,
    )
