"""From what the resource manager shows to facts: the state follows the machine, whoever moved it.

Facts go in an order in which nothing is ever held twice: begins and ends first, at their own times, then nodes that
left or came back, then jobs that let go of nodes they never had, then those that run already, at last newcomers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from wattline.control.facts import (
    ADOPT,
    BACK,
    CANCEL,
    DRAIN,
    END,
    FREE,
    LET_GO,
    PAUSED,
    REFUSED,
    REQUEUE,
    RESUMED,
    STARTED,
    TAKE,
    TIME,
)
from wattline.live.controller.ledger import Ledger
from wattline.live.controller.seen.news import News
from wattline.live.controller.seen.nodes import NodeNames, numbers_held
from wattline.live.controller.seen.places import Places
from wattline.live.machine.base import JobSeen, NodeSeen, Snapshot
from wattline.model import codes
from wattline.wiring.newcomers import Desk, Newcomer

NOBODY = "(nobody)"
HOLDING = ("starting", "running", "paused", "completing")
BEGUN = ("running", "completing", "paused")
GONE = ("ended", "ineligible")
"""Phases of jobs that the state has not, or no more."""
HAS_NODES = (codes.STARTING, codes.RUNNING, codes.PAUSED)


def _codes() -> Callable[[str, str], int]:
    """Return a book of codes of its own, for a controller that keeps no journal."""
    known: dict[str, dict[str, int]] = {}
    return lambda column, name: known.setdefault(column, {}).setdefault(name, len(known[column]))


@dataclass
class Mirror:
    """What was seen last, and how it is told to the state.

    Parameters
    ----------
    ledger, nodes, desk
        The state's book, names of nodes, and the rules for newcomers.
    epoch_s
        Machine time at which the state's clock is 0.
    """

    ledger: Ledger
    nodes: NodeNames
    desk: Desk
    epoch_s: float
    seen: dict[str, JobSeen] = field(default_factory=dict)
    """Jobs of the last snapshot that have not ended."""
    refused: dict[str, str] = field(default_factory=dict)
    """Jobs that cannot be led, and why; those that run are counted all the same, on such of their nodes as are ours."""
    unfit: dict[str, str] = field(default_factory=dict)
    """Of these, those that wait for us and are to be given back to the resource manager."""
    waits: dict[str, str] = field(default_factory=dict)
    """Jobs for which there is no room under the limit, and why."""
    aside: dict[str, float] = field(default_factory=dict)
    """Jobs that the state is not told of until a time (its own): they could not start where it placed them."""
    down: set[str] = field(default_factory=set)
    """Nodes on which nothing may be started."""
    silent: frozenset[str] = frozenset()
    """Of these, those whose agents are silent."""
    unplaced: set[str] = field(default_factory=set)
    """Jobs that run where the state has no room for them yet: they are left alone until it has."""
    code: Callable[[str, str], int] = field(default_factory=_codes)
    """Returns the number of a user or group (``column``, name): a new one where the name is new."""
    now_s: float = 0.0
    """The state's time when the machine was looked at."""
    said: list[str] = field(default_factory=list)
    """What is worth a line in the log; whoever reads it empties it."""
    news: News = field(default_factory=News)
    _open: set[str] = field(default_factory=set)
    """Jobs of which the state was told what it did not take: they are looked at again."""
    _first: bool = True
    _told_s: float = 0.0
    """The time that the state was told last, applied or on its way."""
    _shown: Sequence[NodeSeen] = ()

    def __post_init__(self) -> None:
        self.places = Places(self.nodes, self.desk.cluster)
        s = self.ledger.state  # of a run that goes on: its nodes may be out of service
        self.down |= {name for name, at in self.nodes.number.items() if s.node_outages[at] > 0}

    def look(self, snapshot: Snapshot, silent: Collection[str] = (), until_s: float = -math.inf) -> None:
        """Tell the state what has changed; on nodes whose agents are silent nothing more is to be started.

        The state's clock goes to ``until_s``; jobs begin and end on the way, at the times that the machine tells.
        """
        self.ledger.flush()
        self._told_s = self.state_now_s()
        self.now_s = max(until_s, self._told_s)
        changed = self.news.of_machine(self.places.of_ours(snapshot.jobs))
        if self._first:  # of a run that goes on: what the state has, and the machine does not
            changed |= self.ledger.row.keys()
            self._first = False
        due = {name for name, until_s in self.aside.items() if until_s <= self.now_s}
        for name in due:
            del self.aside[name]
        looked_at = changed | self.news.of_state(self.ledger) | self._open | self.unplaced | due
        jobs = self.news.jobs
        known = [name for name in self.ledger.row if name in looked_at] if looked_at else []
        others = looked_at - self.ledger.row.keys()
        self._forget_refused(jobs, others)
        self._in_time(jobs, known, [jobs[name] for name in others if name in jobs and jobs[name].phase == "waiting"])
        self._nodes(snapshot, frozenset(silent))
        moved = self._changes(jobs, [name for name in known if name in self.ledger.row])
        for job in moved:
            self.ledger.tell_of(LET_GO, job.id)
        for job in moved:
            pieces = self.nodes.extents(job.on)
            if pieces is not None:
                self._hold(TAKE, job, pieces)
        new = looked_at - self.ledger.row.keys()
        self._newcomers([jobs[name] for name in new if name in jobs])
        self.ledger.flush()
        self.unplaced &= self.ledger.row.keys()
        for name in changed:
            if name in jobs and jobs[name].phase != "ended":
                self.seen[name] = jobs[name]
            else:
                self.seen.pop(name, None)
        self._open = {name for name in looked_at if name in jobs and self._differs(jobs[name])}
        self.news.note(self.ledger, changed | others | new)

    def _differs(self, job: JobSeen) -> bool:
        """Tell whether the state is still to be told what a job does."""
        row, s = self.ledger.row.get(job.id), self.ledger.state
        if row is None:
            return job.phase not in GONE and job.id not in self.refused and not self._is_aside(job)
        status = int(s.status[row])
        if job.phase in HOLDING and status in HAS_NODES and job.on and set(job.on) != set(self.nodes.held(s, row)):
            return True
        if job.phase in BEGUN and status == codes.STARTING:
            return True
        if job.phase in HOLDING and status == codes.WAITING and job.on:
            return True
        theirs = {"paused": codes.RUNNING, "running": codes.PAUSED}.get(job.phase) == status and not job.ours
        return theirs or (job.phase == "waiting" and status in (codes.RUNNING, codes.PAUSED))

    def _status(self, name: str) -> int:
        return int(self.ledger.state.status[self.ledger.row[name]])

    def _in_time(self, jobs: dict[str, JobSeen], known: list[str], waiting: list[JobSeen]) -> None:
        """Tell of jobs that began, are over, were taken back, may not start any more, came to wait or do so again: each
        at its own time.
        """
        found: list[tuple[float, str, str]] = []
        for name in known:
            job = jobs.get(name)
            if job is None or job.phase == "ineligible" or self._is_aside(job) or self._is_another(job):
                found.append((self.now_s, "ends", name))
                continue
            if job.phase == "waiting" and self._status(name) in (codes.RUNNING, codes.PAUSED):
                found.append((self._time_s(job.eligible_s), "goes back", name))
            over = job.phase == "ended"
            begun = job.phase in BEGUN or (over and not math.isnan(job.start_s))
            begins = begun and self._status(name) == codes.STARTING
            if begins:
                found.append((self._time_s(job.start_s), "begins", name))
            if over:  # not before it began, whatever clocks were read first
                end_s = self._time_s(job.end_s)
                found.append((max(end_s, self._time_s(job.start_s)) if begins else end_s, "ends", name))
        found += [(self._time_s(job.eligible_s), "comes", job.id) for job in _in_order(waiting)]
        for at_s, what, name in sorted(found, key=operator.itemgetter(0)):
            self._go_to(at_s)
            if what == "ends":
                self._end(name, jobs.get(name))
            elif what == "goes back":
                self.ledger.tell_of(REQUEUE, name)
                self.said.append(f"job {name} was put back into the queue by others")
            elif what == "begins":
                self.ledger.tell_of(STARTED, name, self._ran_s(jobs[name], at_s))
            else:
                self._come(jobs[name])
        self._go_to(self.now_s)
        self.ledger.flush()

    def _end(self, name: str, job: JobSeen | None) -> None:
        """Tell that a job is over, or that it waits no more as the state knows it."""
        requeued = job is not None and job.phase != "ended"  # it comes again as a new one
        cancelled = job is not None and job.reason == "Cancelled"
        if requeued or cancelled or self._status(name) in (codes.WAITING, codes.HELD, codes.FUTURE):
            self.ledger.tell_of(CANCEL, name)
        else:
            self.ledger.tell_of(END, name, self._how(job))
        self.ledger.tell_of(FREE, name)

    def _forget_refused(self, jobs: dict[str, JobSeen], others: set[str]) -> None:
        """Let jobs be looked at anew that could not be led, and are over or ask for something else now."""
        for name in others & self.refused.keys():
            job, before = jobs.get(name), self.seen.get(name)
            if job is None or job.phase == "ended" or (before is not None and _asks(job) != _asks(before)):
                del self.refused[name]
                self.unfit.pop(name, None)

    def _time_s(self, machine_s: float) -> float:
        """Return the state's time of what the machine tells: between the last turn and this look, NaN: of the look."""
        if math.isnan(machine_s):
            return self.now_s
        return min(max(machine_s - self.epoch_s, self.state_now_s()), self.now_s)

    def _go_to(self, time_s: float) -> None:
        """Let the state's clock go on; facts that are told from here on are of that time."""
        if time_s > self._told_s:
            self._told_s = time_s
            self.ledger.tell(TIME, time_s)

    def _is_aside(self, job: JobSeen) -> bool:
        """Tell whether a job waits and is not to be tried yet."""
        return job.id in self.aside and job.phase == "waiting"

    def _is_another(self, job: JobSeen) -> bool:
        """Tell whether a job is not what its row says any more."""
        return self._asks_for_something_else(job) or self._is_other(job)

    def _is_other(self, job: JobSeen) -> bool:
        """Tell whether a job is on nodes that its row cannot have: more, fewer, or of another class."""
        if job.phase not in HOLDING or not job.on or self.nodes.extents(job.on) is None:
            return False
        s, row = self.ledger.state, self.ledger.row[job.id]
        pool = self.places.class_of(job.on[0])
        return len(job.on) != int(s.nodes[row]) or (pool >= 0 and pool != int(s.pool[row]))

    def _asks_for_something_else(self, job: JobSeen) -> bool:
        """Tell whether a waiting job was changed by its user."""
        if job.phase != "waiting" or self._status(job.id) != codes.WAITING:
            return False
        before = self.seen.get(job.id)
        if before is None or before.phase != "waiting":
            return int(self.ledger.state.nodes[self.ledger.row[job.id]]) != job.nodes
        return _asks(job) != _asks(before)

    @staticmethod
    def _how(job: JobSeen | None) -> int:
        """Return the status of a job that is over: finished, failed, or killed by its walltime."""
        if job is None or job.exit in (None, 0):
            return codes.FINISHED
        return codes.KILLED if job.reason == "TimeLimit" else codes.FAILED

    def _nodes(self, snapshot: Snapshot, silent: frozenset[str]) -> None:
        """Tell of nodes that left or came back; one that is not shown at all is as good as gone."""
        if silent == self.silent and (snapshot.nodes is self._shown or snapshot.nodes == self._shown):
            return
        self._shown = snapshot.nodes
        if silent != self.silent:
            now, back = sorted(silent - self.silent), sorted(self.silent - silent)
            self.said += [f"{_few(now)}: silent, nothing is started there"] if now else []
            self.said += [f"{_few(back)}: heard again"] if back else []
            self.silent = silent
        shown = {node.name: node.up for node in snapshot.nodes}
        for name, at in self.nodes.number.items():
            up = shown.get(name, False) and name not in silent
            if not up and name not in self.down:
                self.down.add(name)
                self.ledger.tell(DRAIN, at, at + 1)
            elif up and name in self.down:
                self.down.discard(name)
                self.ledger.tell(BACK, at, at + 1)

    def _changes(self, jobs: dict[str, JobSeen], known: list[str]) -> list[JobSeen]:
        """Tell of jobs that are in another phase than the state thinks; return those that hold other nodes."""
        moved = []
        for name in known:
            job, row, s = jobs[name], self.ledger.row[name], self.ledger.state
            status = int(s.status[row])
            holds = job.phase in HOLDING and status in HAS_NODES
            if holds and job.on and set(job.on) != set(self.nodes.held(s, row)):
                moved.append(job)
            if job.phase in HOLDING and status == codes.WAITING and job.on:
                self._adopt(job)
            elif job.phase == "paused" and status == codes.RUNNING and not job.ours:
                self.ledger.tell_of(PAUSED, name)
            elif job.phase == "running" and status == codes.PAUSED and not job.ours:
                self.ledger.tell_of(RESUMED, name)
        return moved

    def _adopt(self, job: JobSeen) -> None:
        """Tell that a waiting job of the state runs already."""
        pieces = self.nodes.extents(job.on)
        if pieces is None:
            self.said.append(f"job {job.id} runs on nodes that are not ours: it is not counted")
            return
        self._hold(ADOPT, job, pieces, self._ran_s(job, self.now_s))
        self.ledger.flush()
        if self._status(job.id) == codes.WAITING:
            if job.id not in self.unplaced:
                self.said.append(f"job {job.id} was started by others on nodes that are meant for another job")
            self.unplaced.add(job.id)
            return
        self.unplaced.discard(job.id)
        if job.phase == "paused":
            self._stands_still(job)

    def _stands_still(self, job: JobSeen) -> None:
        """Tell that a job is stopped, if others did it; one that a controller before us stopped is to go on.

        No policy remembers why it was stopped: as a paused job it might never be continued.
        """
        if not job.ours:
            self.ledger.tell_of(PAUSED, job.id)

    def _hold(self, verb: int, job: JobSeen, pieces: list[tuple[int, int]], *numbers: float) -> None:
        """Tell on which nodes a job is; it may be on such that are out of service since it came there."""
        out = [self.nodes.number[name] for name in job.on if name in self.down]
        for at in out:
            self.ledger.tell(BACK, at, at + 1)
        self.ledger.tell_nodes(verb, job.id, pieces, *numbers)
        for at in out:
            self.ledger.tell(DRAIN, at, at + 1)

    def _ran_s(self, job: JobSeen, at_s: float) -> float:
        """Return for how long a job has been there at a time of the state."""
        return 0.0 if math.isnan(job.start_s) else max(0.0, at_s - (job.start_s - self.epoch_s))

    def state_now_s(self) -> float:
        """Return the state's time."""
        return float(self.ledger.state.now[0])

    def _newcomers(self, jobs: list[JobSeen]) -> None:
        """Tell of jobs that came, in the order in which they were submitted."""
        for job in _in_order(jobs):
            self._come(job)

    def _come(self, job: JobSeen) -> None:
        """Tell of a job that came; what runs is counted, whatever it is."""
        if job.phase in GONE or self._is_aside(job):
            return
        holds, why = job.phase in HOLDING and bool(job.on), ""
        if holds and self.nodes.extents(job.on) is None:
            why = "it runs on nodes that are not ours"
        newcomer = self._newcomer(job, runs=holds)
        why = why if holds else self.desk.why_not(newcomer)
        if why:
            if self.refused.get(job.id) != why:
                self.said.append(f"job {job.id} is left alone: {why}")
                if job.phase == "waiting" and job.ours:
                    self.unfit[job.id] = why
            self.refused[job.id] = why
            return
        self.refused.pop(job.id, None)
        self.unfit.pop(job.id, None)
        self.ledger.enter(job.id, self.desk.facts(newcomer))
        if holds:
            self.ledger.flush()
            self._adopt(job)

    def _newcomer(self, job: JobSeen, *, runs: bool) -> Newcomer:
        pool, room = (self.places.class_of(job.on[0]), -1) if runs else self.places.choose(job)
        return Newcomer(
            submit_s=min(job.submit_s - self.epoch_s, self.now_s),
            nodes=len(job.on) if runs else job.nodes,
            request_s=job.request_s if math.isfinite(job.request_s) else math.nan,
            user=self.code("user", job.user or NOBODY),
            group=self.code("group", job.account or NOBODY),
            kind=job.kind,
            partition=job.partition,
            priority=job.priority,
            draw_w=job.draw_w,
            chooses=job.phase == "waiting" and job.ours,
            pool=pool,
            room=room,
        )

    def start_on(self, name: str) -> tuple[str, ...]:
        """Return the nodes for a job that is to be released: those that it was placed on.

        Where it cannot be on some of them, free ones of its class take their place, in the state too. Nothing: there
        are none.
        """
        s, row, fits = self.ledger.state, self.ledger.row[name], self.seen[name].fits
        on = self.nodes.held(s, row)
        if fits is None or fits.issuperset(on):
            return on
        held = {at for other in self.ledger.row.values() for at in numbers_held(s, other)}
        free = (one for one in self.places.of_class(int(s.pool[row])) if one in fits and one not in self.down)
        chosen = [one for one in on if one in fits]
        chosen += [one for one in free if self.nodes.number[one] not in held][: len(on) - len(chosen)]
        if len(chosen) < len(on):
            return ()
        for names in (chosen, on):
            self.ledger.tell_of(LET_GO, name)
            self.ledger.tell_nodes(TAKE, name, self.nodes.extents(names) or [])
            self.ledger.flush()
            if set(self.nodes.held(self.ledger.state, row)) == set(chosen):
                return tuple(chosen)
        return ()  # the state does not give them: it has its own again

    def set_aside(self, name: str, seconds: float) -> None:
        """Let a job that could not start be tried again after a while; others come before it."""
        self.aside[name] = self.now_s + seconds
        self._open.add(name)

    def give_up_start(self, name: str) -> None:
        """Tell that a job that was told to start did not, and waits again."""
        self.ledger.tell_of(REFUSED, name)


def _asks(job: JobSeen) -> tuple[object, ...]:
    """Return what a job asks for and says of itself."""
    return job.nodes, job.request_s, job.partition, job.kind, repr(job.draw_w), job.fits


def _in_order(jobs: list[JobSeen]) -> list[JobSeen]:
    """Return jobs in the order in which they were submitted."""
    return sorted(jobs, key=lambda job: (job.submit_s, job.id))


def _few(names: list[str]) -> str:
    """Return some names in a line."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
