"""An exact world that tells a ledger facts and nothing else, so that they can be replayed; and one of random facts."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.worlds import cluster, policies
from wattline.arrays import Floats
from wattline.control.facts import (
    ADOPT,
    BACK,
    CANCEL,
    DRAIN,
    DRAW,
    END,
    FREE,
    HAPPENED,
    LEFT,
    LIMIT,
    PAUSED,
    REFUSED,
    REQUEUE,
    RESUMED,
    STARTED,
    TIME,
)
from wattline.control.rows import facts_of
from wattline.live.controller.journal.record import Record
from wattline.live.controller.ledger import Ledger
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.wiring.bound import Bound
from wattline.wiring.options import Options
from wattline.wiring.setup import prepare

NODES = 64


def flow(seed: int, count: int, nodes: int = NODES) -> JobTable:
    """Return random jobs in whole seconds: ties, jobs of no length, queues that come and go."""
    rng = np.random.default_rng(seed)
    gap = rng.choice([0, 1, 5, 20, 80], count) * np.where(np.arange(count) % 300 < 140, 1, 9)
    work = np.where(rng.random(count) < 0.02, 0, rng.integers(1, 900, count)).astype(float)
    return JobTable.build(
        submit_s=np.cumsum(gap).astype(float),
        work_s=work,
        nodes=np.minimum(nodes, np.ceil(2 ** rng.uniform(0, np.log2(nodes) + 0.2, count))).astype(np.int64),
        request_s=work * rng.choice([1, 2, 4], count) + rng.integers(0, 60, count),
        user=rng.integers(0, 9, count),
        users=tuple("abcdefghi"),
        draw_w=rng.choice([150.0, 200.0, 300.0], count),
    )


def bound(select: str = "easy", *, rows: int = 16, start_s: float = 0.0, nodes: int = NODES, **more: Any) -> Bound:
    """Return a state that knows no job."""
    nobody = flow(0, 1).take(np.zeros(1, dtype=bool))
    how = Options(spare_rows=rows, start_s=start_s, **more)
    return Bound(nobody, cluster(nodes, idle_w=50.0), policies(select=select), how)


def build(start: Mapping[str, Any]) -> Bound:
    """Make a state again from what a log's start says."""
    made: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in start["how"].items()
    }
    return bound(**made)


@dataclass
class Exact:
    """A world in which jobs come, start at once, run for their work and end; jobs are named from 1 on."""

    ledger: Ledger
    jobs: JobTable
    at: int = 0
    ends: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        quiet = Options(timeline=False, placements=False, decisions=False)
        b = self.ledger.bound
        known = prepare(self.jobs, b.cluster, b.policies.slots(), quiet).state
        self.facts: Floats = facts_of(known)
        self.left = len(self.jobs)

    def instant(self) -> bool:
        """Let the next thing happen, and control pass; return False when nothing is left."""
        if self.left == 0:
            return False
        submit_s = self.jobs.submit_s[self.at] if self.at < len(self.jobs) else np.inf
        now_s = min(submit_s, self.ends[0][0] if self.ends else np.inf)
        book = self.ledger
        if now_s > book.state.now[0]:
            book.tell(TIME, now_s)
        while self.ends and self.ends[0][0] <= now_s:
            _, j = heapq.heappop(self.ends)
            book.tell_of(END, str(j + 1), codes.FINISHED)
            book.tell_of(FREE, str(j + 1))
            self.left -= 1
        while self.at < len(self.jobs) and self.jobs.submit_s[self.at] <= now_s:
            book.enter(str(self.at + 1), self.facts[self.at])
            self.at += 1
        book.control()
        s = book.state
        for i in range(int(s.a_from[0]), int(s.a_n[0])):
            if s.a_kind[i] == codes.ACT_START and s.a_verdict[i] == codes.OK:
                j = int(book.name[int(s.a_job[i])]) - 1
                heapq.heappush(self.ends, (now_s + float(self.jobs.work_s[j]), j))
        return True

    def run(self, until_s: float = np.inf) -> None:
        """Let things happen up to a time."""
        while self.left and self.ledger.state.now[0] < until_s:
            self.instant()


class Fuzz:
    """A world that tells a ledger random facts of every sort, most of them possible; starts take their time."""

    def __init__(self, ledger: Ledger, seed: int) -> None:
        self.ledger, self.rng, self.count = ledger, np.random.default_rng(seed), 0

    def tick(self) -> None:
        """Tell what happened in a second, then let control pass: all of it, and caps by themselves."""
        rng, book = self.rng, self.ledger
        book.tell(TIME, float(book.state.now[0]) + 1.0)
        book.tell(HAPPENED, codes.TICK)
        for _ in range(int(rng.integers(0, 4))):
            self.enter()
        book.flush()
        for name, row in list(book.row.items()):
            if rng.random() < 0.3:
                self.fate(name, int(book.state.status[row]))
        if rng.random() < 0.1:
            first = int(rng.integers(0, NODES - 4))
            book.tell(DRAIN if rng.random() < 0.5 else BACK, first, first + int(rng.integers(1, 5)))
        if rng.random() < 0.05:
            book.tell(LIMIT, float(rng.choice([9_000.0, 15_000.0, np.inf])))
        book.control()
        book.control(codes.CAP)

    def enter(self) -> None:
        """Let a job come."""
        self.count += 1
        width, work = int(2 ** self.rng.integers(0, 6)), float(self.rng.integers(1, 300))
        known = np.zeros(19)
        known[:6] = float(self.ledger.state.now[0]), work, width, 2 * work, 2 * work, self.count % 5
        known[6:12] = -1, -1, 0, 0, -1, 0
        known[12:16] = 200.0, 200.0, 1.0, -1
        self.ledger.enter(f"job-{self.count}", known)

    def fate(self, name: str, status: int) -> None:
        """Let something happen to a job that fits its status."""
        rng, book = self.rng, self.ledger
        if status == codes.WAITING:
            if rng.random() < 0.05:
                book.tell_of(CANCEL, name)
            elif rng.random() < 0.05:
                row = book.row[name]
                first = int(rng.integers(0, NODES))
                book.tell_nodes(ADOPT, name, [(first, min(NODES, first + int(book.state.nodes[row])))], 3.0)
        elif status == codes.STARTING:
            book.tell_of(STARTED if rng.random() < 0.9 else REFUSED, name)
        elif status == codes.RUNNING:
            what = int(rng.integers(0, 8))
            if what < 4:
                book.tell_of(END, name, [codes.FINISHED, codes.KILLED, codes.FAILED][int(rng.integers(0, 3))])
            else:
                verb, numbers = [(PAUSED, ()), (REQUEUE, ()), (DRAW, (180.0,)), (LEFT, (50.0,))][what - 4]
                book.tell_of(verb, name, *numbers)
        elif status == codes.PAUSED:
            book.tell_of(RESUMED, name)
        elif status >= codes.FINISHED:
            book.tell_of(FREE, name)


def fresh(how: Mapping[str, Any]) -> Ledger:
    """Return a ledger with a record, as ``build`` makes it."""
    return Ledger(build({"how": how}), record=Record())
