"""Bring the machine to what the state wants, again and again: commands are repeated until it is so, or given up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from wattline.arrays import Floats
from wattline.control.facts import PAUSED, RESUMED
from wattline.live.controller.ledger import Ledger
from wattline.live.controller.seen.mirror import Mirror
from wattline.live.controller.seen.nodes import numbers_held
from wattline.live.machine.base import Explains, Form, JobSeen, ManagerError, ResourceManager
from wattline.model import codes

MOST_EXPLAINED = 10
"""Jobs at which it is noted in a period why they wait: what moves jobs has the commands first."""


@dataclass(frozen=True)
class Patience:
    """How long is waited and how often it is tried again; seconds of the machine."""

    start_s: float = 30.0
    """A job that was released and is not there after this is held again, and waits."""
    again_s: float = 2.0
    """A command whose effect is not seen is repeated after this."""
    most_actions: int = 200
    """Jobs for which commands are given in a period, at most; the rest waits for the next."""
    budget_s: float = 0.5
    """Seconds of the wall after which no further command is given in a period: caps must not wait for them."""
    failures: int = 5
    """A job whose start failed so many times in a row is given back to the resource manager."""


@dataclass
class Asked:
    """A command that was given for a job."""

    what: str
    first_s: float
    last_s: float
    tries: int = 1


@dataclass
class Reconciler:
    """Who asks the resource manager for what the state wants.

    Parameters
    ----------
    act
        False: say what would be done, and do nothing (a dry run).
    """

    ledger: Ledger
    mirror: Mirror
    manager: ResourceManager
    patience: Patience = field(default_factory=Patience)
    act: bool = True
    tell: Callable[[str, str, str], None] = lambda *_: None
    """Called with every command: what, which job, on which nodes or why not."""
    asked: dict[str, Asked] = field(default_factory=dict)
    still_lead: Callable[[], object] = lambda: None
    """Called right before every command; raises where somebody else leads by now."""
    retries: int = 0
    refusals: int = 0
    failed: dict[str, tuple[int, float]] = field(default_factory=dict)
    """How many times the start of a job failed, and when the last of them was; what follows at once is not counted."""
    explained: set[str] = field(default_factory=set)
    """Jobs at which it is noted why they wait."""
    stopped_s: dict[str, float] = field(default_factory=dict)
    """When a stop was last asked for."""
    monotonic: Callable[[], float] = time.monotonic

    def reconcile(self, now_s: float, let_go_s: Floats | None = None) -> None:
        """Ask for everything that is not as the state wants it, as far as there is time; the most urgent comes first.

        ``let_go_s`` has, by the number of a node, when its agent last let stopped jobs go on.
        """
        left, began = self.patience.most_actions, self.monotonic()
        for name, want, note in [
            *self._loose(let_go_s),
            *self._differences(now_s),
            *self._unfit(),
            *self._unexplained(),
        ]:
            if left == 0 or (left < self.patience.most_actions and self.monotonic() - began >= self.patience.budget_s):
                break
            before = self.asked.get(name)
            if before is not None and before.what == want and now_s - before.last_s < self.patience.again_s:
                continue
            left -= 1
            if before is not None and before.what == want:
                before.last_s, before.tries = now_s, before.tries + 1
                self.retries += 1
            else:
                self.asked[name] = Asked(want, now_s, now_s)
            if not self._ask(name, want, note, now_s):
                break  # whoever does not answer now is not asked two hundred times
        self._forget()

    def _forget(self) -> None:
        """Forget what was noted of jobs that are gone, or that have started after all."""
        for name in [name for name in self.asked if name not in self.ledger.row]:
            del self.asked[name]
        seen = self.mirror.seen
        for name in [name for name in self.stopped_s if name not in seen]:
            del self.stopped_s[name]
        for name in [name for name in self.failed if name not in seen or seen[name].phase in ("running", "paused")]:
            del self.failed[name]

    def wait_anew(self, now_s: float) -> None:
        """Count patience from now on: while the resource manager was away it could start nothing."""
        for asked in self.asked.values():
            asked.first_s = now_s

    def _loose(self, let_go_s: Floats | None) -> list[tuple[str, str, str]]:
        """Return stopped jobs that an agent has let go on since: its lease had ended, or it was started anew."""
        s, found = self.ledger.state, []
        if let_go_s is None:
            return []
        for row in np.flatnonzero(s.status == codes.PAUSED).tolist():
            name = self.ledger.name.get(row, "")
            job = self.mirror.seen.get(name)
            if job is not None and job.phase == "paused" and job.ours:
                gone_s = max((float(let_go_s[at]) for at in numbers_held(s, row)), default=-np.inf)
                if gone_s > self.stopped_s.get(name, -np.inf):
                    found.append((name, "stop", "once more: its node's agent let it go on"))
        return found

    def _unfit(self) -> list[tuple[str, str, str]]:
        """Return jobs that are to be given back, and why."""
        return [(name, "leave", why) for name, why in self.mirror.unfit.items() if name in self.mirror.seen]

    def _unexplained(self) -> list[tuple[str, str, str]]:
        """Return jobs at which it is to be noted why they wait, or that this is over; once each."""
        if not self.manager.abilities.explains:
            return []
        waits, seen = self.mirror.waits, self.mirror.seen
        new = [(name, why) for name, why in waits.items() if name not in self.explained]
        over = [(name, "") for name in self.explained if name not in waits]
        for name in [name for name, _ in over if name not in seen or seen[name].phase != "waiting"]:
            self.explained.discard(name)
        return [
            (name, "explain", why)
            for name, why in [*new, *over]
            if name in seen and seen[name].phase == "waiting" and seen[name].ours
        ][:MOST_EXPLAINED]

    def _differences(self, now_s: float) -> list[tuple[str, str, str]]:
        """Return (job, command, nodes) for every job that is not as the state wants it; starts come last."""
        s = self.ledger.state
        stops, starts = [], []
        differing = self.mirror.news.differing(self.ledger)
        for name in self.asked.keys() - set(differing):  # it is so
            del self.asked[name]
        for name in differing:
            row, job = self.ledger.row[name], self.mirror.seen.get(name)
            if job is None or not job.ours:
                continue
            status = int(s.status[row])
            if status == codes.STARTING and job.phase in ("waiting", "starting"):
                if self._is_late(name, now_s):
                    stops.append((name, "hold", ""))
                elif job.phase == "starting":
                    self.asked.setdefault(name, Asked("release", now_s, now_s))  # released before we were started
                elif self.mirror.down.isdisjoint(self.mirror.nodes.held(s, row)):
                    starts.append((name, "release", ""))
                else:  # its nodes left, or their agents are silent, before it was there
                    self.mirror.give_up_start(name)
                    self.asked.pop(name, None)
            elif status == codes.PAUSED and job.phase == "running" and not job.stoppable:
                self.ledger.tell_of(RESUMED, name)  # MPI, interactive, or its user does not want it: it draws on
            elif status == codes.PAUSED and job.phase == "running":
                stops.append((name, "stop", ""))
            elif status == codes.RUNNING and job.phase == "paused":
                starts.append((name, "cont", ""))
            elif status == codes.WAITING and job.phase in ("running", "paused") and name not in self.mirror.unplaced:
                stops.append((name, "requeue", ""))
            elif status == codes.WAITING and job.phase == "starting":
                stops.append((name, "hold", ""))
            else:
                self.asked.pop(name, None)
        stops.sort(key=self._tries)  # who refuses does not keep the others from being asked
        starts.sort(key=lambda one: (one[1] != "cont", self._tries(one)))
        return stops + starts

    def _tries(self, one: tuple[str, str, str]) -> int:
        asked = self.asked.get(one[0])
        return asked.tries if asked is not None and asked.what == one[1] else 0

    def _is_late(self, name: str, now_s: float) -> bool:
        asked = self.asked.get(name)
        released = asked is not None and asked.what == "release"
        if asked is not None and asked.what == "hold":
            return True
        return released and asked is not None and now_s - asked.first_s > self.patience.start_s

    def _ask(self, name: str, want: str, note: str, now_s: float) -> bool:
        """Give a command; tell whether the resource manager answered."""
        if want == "release":
            note = ",".join(self.mirror.start_on(name))
            if not note:
                self._fails(name, "no free nodes on which it can be", now_s)
                return True
        self.tell(want, name, note)
        if not self.act:
            self._undo(name, want)
            return True
        self.still_lead()
        try:
            why = self._command(name, want, note)
        except ManagerError as problem:
            self.tell("unanswered", name, str(problem))
            return False
        if why is not None:
            self.refusals += 1
            self.tell("refused", name, why)
        if want == "leave":
            self.mirror.unfit.pop(name, None)
        if want == "explain":
            self._explained(name)
        if want == "stop":
            self.stopped_s[name] = now_s
            if why is not None and name in self.ledger.row:
                self.ledger.tell_of(RESUMED, name)  # what it draws is counted
        if want == "hold" or (want == "release" and why is not None):
            self._fails(name, why or "it did not start in time", now_s)
        return True

    def _fails(self, name: str, why: str, now_s: float) -> None:
        """Let a job that did not start wait again; one that fails again and again is not tried for ever."""
        row = self.ledger.row.get(name)
        if row is None or self.ledger.state.status[row] != codes.STARTING:
            return
        self.asked.pop(name, None)
        self.mirror.give_up_start(name)
        count, last_s = self.failed.get(name, (0, -np.inf))
        if now_s - last_s < self.patience.start_s / 3.0:
            return
        count += 1
        self.failed[name] = (count, now_s)
        if count >= self.patience.failures:
            self.mirror.unfit[name] = f"it could not be started {count} times: {why}"
        if count >= self.patience.failures - 2:  # others come before it
            self.mirror.set_aside(name, self.patience.start_s)

    def _explained(self, name: str) -> None:
        (self.explained.add if name in self.mirror.waits else self.explained.discard)(name)
        self.asked.pop(name, None)

    def _undo(self, name: str, want: str) -> None:
        """Let the state follow the machine again, which nobody told anything."""
        if want in ("release", "hold"):
            self.mirror.give_up_start(name)
        elif want == "stop":
            self.ledger.tell_of(RESUMED, name)
        elif want == "cont":
            self.ledger.tell_of(PAUSED, name)
        elif want == "leave":
            self.mirror.unfit.pop(name, None)
        elif want == "explain":
            self._explained(name)
        self.asked.pop(name, None)

    def _command(self, name: str, want: str, nodes: str) -> str | None:
        if want == "release":
            form = self._form(name)
            on = nodes.split(",")
            return self.manager.release(name, on) if form is None else self.manager.release(name, on, form)
        if want == "hold":
            return self.manager.hold(name)
        if want == "stop":
            return self.manager.stop(name)
        if want == "cont":
            return self.manager.cont(name)
        if want == "leave":
            return self.manager.leave(name, nodes)
        if want == "explain":
            return cast("Explains", self.manager).explain(name, nodes)
        return self.manager.requeue(name)

    def _form(self, name: str) -> Form | None:
        """Return the configuration that the state has chosen for a job; None: it runs as it asked to."""
        s, row = self.ledger.state, self.ledger.row[name]
        shape = int(s.shape[row])
        if shape < 0:
            return None
        return Form(int(s.sh_cores[shape]), float(s.sh_cap_w[shape]), float(s.request_s[row]))

    def release_all(self) -> list[str]:
        """Let every stopped job of ours go on (``wattline off``, an orderly end); return those that did not.

        The machine is looked at once more: what was stopped a moment ago is not in the last snapshot.
        """
        if not self.act:
            return []
        jobs = list(self.mirror.seen.values())
        try:
            jobs = list(self.manager.snapshot().jobs)
        except ManagerError as problem:
            self.tell("unanswered", "", str(problem))
        stopped = [job for job in jobs if job.phase == "paused" and job.ours]
        return [job.id for job in stopped if self._continue(job) is not None]

    def _continue(self, job: JobSeen) -> str | None:
        try:
            return self.manager.cont(job.id)
        except ManagerError as problem:
            return str(problem)
