"""Run a simulation from Python: slices of compiled time, logs emptied in between, interrupts and progress served.

(The file is long because a run, however it is carried on, kept or cut, has one state to keep whole.)
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wattline.control import bidding
from wattline.control.logs import log_event_now
from wattline.errors import InputError, PoisonedError
from wattline.kernel.slots import direct
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.regulation import Bid
from wattline.model.rooms import without_spare
from wattline.model.state.record import POLICY
from wattline.model.state.switches import N_EVENTS, OPT_STOP_SHORT
from wattline.sim.explain import look_closer, why_stopped
from wattline.units import HOUR_S
from wattline.wiring.bound import Bound
from wattline.wiring.logs import join_logs
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result
from wattline.wiring.watched import Later, Look, watched

if TYPE_CHECKING:
    from wattline.formats.tables.profiles import Profiles

SLICE_INSTANTS, SLICE_S = 100_000, 0.1
"""Instants simulated, and seconds taken, at most between two looks from outside: at Ctrl-C, the progress bar, the
keeper.
"""

PASS_ONLY = -2
"""A number of instants that means the pass of the present one (see ``engine``, which is not imported before it is
needed).
"""

FIRST_SLICE, FIRST_UNSEEN_SLICE, FIRST_PYTHON_SLICE = 2_000, 10_000, 1
"""Instants of the first slice, which shows how long they take: policies may be slow, plain-Python ones above all. Where
only Ctrl-C is waited for it is longer: a look costs a quarter of a millisecond.
"""
GROWTH = 2
"""How much longer than the one before a slice may be: queues become deep, and instants slow."""

LAST_HOUR_S = 2.0
"""How long a run that is told to stop may take to reach the end of the simulated hour."""

Progress = Callable[[int, int], None]
"""Called with (jobs ended, jobs in all)."""


class Keeper(Protocol):
    """Who keeps a run that goes on, so that it can be carried on if it is cut off."""

    def due(self, run: Simulation) -> bool:
        """Tell whether the run should be kept at the end of the simulated hour."""

    def keep(self, run: Simulation, cut_s: float) -> None:
        """Keep a run that stands at its last instant up to ``cut_s``."""


class Simulation(Bound):
    """A run that can be carried on: ``run`` until nothing is left, or half-instants for those who watch closely."""

    def __init__(
        self, jobs: JobTable, cluster: Cluster, policies: Policies, options: Options | None = None, *, seed: int = 0
    ) -> None:
        super().__init__(jobs, cluster, policies, options, seed=seed)
        self.earlier_s, self.kept_s = 0.0, -math.inf
        """Seconds that a run which is carried on took before, and the last hour at which it was kept."""
        self.pressed = False
        """Whether Ctrl-C came while the last instants were simulated."""
        self._poisoned = False
        self._in_python = any(not m.builtin and not m.compiled for m in policies.slots())
        self._of_users = any(not m.builtin for m in policies.slots())
        self._look: Look | None = None
        self._slice = FIRST_PYTHON_SLICE if self._in_python else FIRST_UNSEEN_SLICE
        self._began = time.perf_counter()
        self._begun_with: Profiles | None = None

    def _loop(self) -> tuple[Any, Any]:
        """Return the compiled loop and its chores; importing them for the first time compiles them."""
        chores = importlib.import_module(f"wattline.control.{self.chores}")
        return importlib.import_module("wattline.sim.engine").run, direct(getattr(chores, self.chores), POLICY)

    def advance(self, max_instants: int, *, until_s: float | None = None, short: bool = False) -> int:
        """Run compiled code for a number of instants (or ADVANCE_ONLY, PASS_ONLY); return why it came back.

        ``short`` leaves the clock at the last instant up to ``until_s``: passing the rest of the time in two steps
        instead of one would change the last digits of what is summed up.
        """
        self.state.option[OPT_STOP_SHORT] = int(short)
        stop_s = self.options.until_s if until_s is None else until_s
        run, chores = self._loop()
        if self._poisoned:
            raise PoisonedError("this run was left half-way by an error and cannot be carried on")

        def work() -> int:
            if bidding.is_due(self.state):  # a run that was stopped just there
                self.make_bid()
            code = run(
                self.state, self.wake, *self.functions, chores, self.param, self.memory, float(stop_s), max_instants
            )
            if code == codes.BID_DUE:
                self.make_bid()
                code = codes.BUDGET
            return int(code)

        asked: BaseException | None = None
        try:
            with self.blaming():
                code = watched(work, self.state, self.policies.slots(), self._look) if self._of_users else work()
        except Later as late:
            code, asked = late.got, late.asked
        except BaseException:
            self._poisoned = True
            raise
        if code == codes.LOG_FULL:
            self.empty_logs()
        if asked is not None:
            if code in (codes.BUDGET, codes.LOG_FULL):  # between two instants
                raise asked
            self.pressed = True  # a run that is over was not interrupted
        return look_closer(code, self.state, self.policies.slots())

    def forget_logs(self) -> None:
        """Drop what was logged: the run starts over."""
        super().forget_logs()
        self._poisoned = False

    def settle(self, time_s: float) -> None:
        """Let time pass up to a time before which nothing is left to happen."""
        while time_s > self.state.now[0]:  # again if a full log came first
            self.advance(1, until_s=time_s)

    def elapsed_s(self) -> float:
        """Return the seconds that simulating has taken so far."""
        return time.perf_counter() - self._began + self.earlier_s

    def next_hour_s(self) -> float:
        """Return when the next simulated hour ends at which the run was not kept.

        Hours count from the start of the run.
        """
        start_s, now_s = float(self.state.start_s[0]), float(self.state.now[0])
        hour = math.floor((now_s - start_s) / HOUR_S) + 1
        while start_s + HOUR_S * hour <= self.kept_s:
            hour += 1
        return start_s + HOUR_S * hour

    def run(self, progress: Progress | None = None, keeper: Keeper | None = None) -> Result:
        """Simulate to the end; Ctrl-C ends the run early and keeps what was simulated.

        With a keeper the run is kept at full simulated hours, and one that is interrupted goes on to the end of its
        hour.
        """
        self._loop()
        self._began = time.perf_counter()  # compiling, if it was needed, is no part of simulating
        if progress is not None:
            report = progress
            self._look = lambda: report(int(self.state.n_ended[0]), len(self.jobs))
        with self:
            try:
                code = self._to_the_end(progress, keeper)
            except KeyboardInterrupt:
                self._look = None  # it would only interrupt again
                if self._poisoned:  # a policy was left in the middle of an instant
                    raise
                code = codes.BUDGET
                if keeper is not None:
                    code = self._to_the_hour(keeper)
            self.explain(code)
        stopped = {codes.BUDGET: "interrupted", codes.UNTIL: "until"}.get(code, "done")
        return replace(self.result(stopped, self.elapsed_s()), pressed=self.pressed)

    def whole(self, progress: Progress | None = None) -> Result:
        """Simulate to the end for somebody to whom a part is of no use: Ctrl-C is raised, as everywhere in Python."""
        result = self.run(progress)
        if result.stopped == "interrupted" or result.pressed:
            raise KeyboardInterrupt
        return result

    def _to_the_end(self, progress: Progress | None, keeper: Keeper | None) -> int:
        """Simulate in slices until there is a reason to stop; return it."""
        if keeper is not None or progress is not None:
            self._slice = min(self._slice, FIRST_SLICE)
        code = codes.BUDGET
        while code in (codes.BUDGET, codes.LOG_FULL):
            began, before = time.perf_counter(), int(self.state.counter[N_EVENTS])
            code = self._turn(keeper)
            instants = int(self.state.counter[N_EVENTS]) - before
            fitting = instants * SLICE_S / max(time.perf_counter() - began, 1e-6)
            self._slice = max(1, min(int(fitting), GROWTH * self._slice, SLICE_INSTANTS))
            if progress is not None:
                progress(int(self.state.n_ended[0]), len(self.jobs))
        return code

    def _turn(self, keeper: Keeper | None) -> int:
        """Simulate a slice, or up to the end of the hour where the keeper waits for it."""
        cut_s = self.next_hour_s()
        if keeper is None or cut_s >= self.options.until_s or not keeper.due(self):
            return self.advance(self._slice)
        code = self.advance(self._slice, until_s=cut_s, short=True)
        if code != codes.UNTIL:
            return code
        keeper.keep(self, cut_s)
        self.kept_s = cut_s
        return codes.BUDGET

    def _to_the_hour(self, keeper: Keeper) -> int:
        """Go on to the end of the hour, or as far as there is time, and keep the run there.

        It may reach its end before.
        """
        cut_s = self.next_hour_s()
        short = cut_s < self.options.until_s
        deadline = time.perf_counter() + LAST_HOUR_S
        code = codes.BUDGET
        while code in (codes.BUDGET, codes.LOG_FULL) and time.perf_counter() < deadline:
            code = self.advance(self._slice, until_s=cut_s if short else None, short=short)
        if code in (codes.BUDGET, codes.LOG_FULL):
            cut_s = float(self.state.now[0])
        elif code != codes.UNTIL or not short:
            return code
        keeper.keep(self, cut_s)
        self.settle(cut_s)
        return codes.BUDGET

    def result(self, stopped: str = "done", wall_s: float = 0.0) -> Result:
        """Return what the run has left behind so far."""
        self.empty_logs()
        return Result(
            self.jobs,
            self.cluster,
            self.policies,
            self.options,
            without_spare(self.state),
            join_logs(self.chunks, self.state),
            self.notes,
            stopped,
            wall_s,
            self.seed,
            self.learned(),
        )

    def learned(self) -> Profiles | None:
        """Return what was learned so far of the power of jobs (None: nothing that could be kept).

        What the run began with and had no job for is among it, as it was.
        """
        learner = self.policies.profile
        if self.profiles is None:
            return None
        from wattline.formats.tables.profiles import from_memory
        from wattline.learn.merging import keeps_profiles

        if not keeps_profiles(learner):
            return None
        max_w = tuple(node_class.max_w for node_class in self.cluster.classes)
        return from_memory(learner.name, self.profiles, self.memory[codes.PROFILE], max_w).beside(self._begun_with)

    def begin_with(self, profiles: Profiles) -> int:
        """Let the learner begin with what an earlier run saw; return how many of its profiles this workload has."""
        from wattline.learn.merging import keeps_profiles

        learner = self.policies.profile
        if self.profiles is None or profiles.learner != learner.name or not keeps_profiles(learner):
            raise InputError(f"profiles of {profiles.learner!r} are of no use to the profile policy {learner.name!r}")
        max_w = tuple(node_class.max_w for node_class in self.cluster.classes)
        found = profiles.fill(self.profiles, self.memory[codes.PROFILE], max_w)
        self._begun_with = profiles
        return found

    def push_limit(self, watts: float) -> None:
        """Change the power limit now, as an operator would, and let control pass.

        Steps that were planned still come.
        """
        if not watts >= 0.0:
            raise InputError(f"a power limit must not be negative, got {watts:g} W")
        s = self.state
        s.limit_w[0] = watts
        s.happened[0] |= codes.ENVELOPE
        log_event_now(s, codes.EV_LIMIT, -1, 0, watts)
        self.advance(PASS_ONLY)

    def push_bid(self, bid: Bid | None) -> None:
        """Change the bid now (None: take part no longer) and let control pass; bids that were planned still come."""
        s = self.state
        if s.signal.size == 0:
            raise InputError("a bid needs a regulation signal to follow")
        mean_w, reserve_w = (np.nan, 0.0) if bid is None else (bid.mean_w, bid.reserve_w)
        bidding.put_in_force(s, mean_w, reserve_w)
        self.advance(PASS_ONLY)

    def explain(self, code: int) -> None:
        """Raise what a bad end means, naming the policy and the job."""
        problem = why_stopped(code, self.state, self.jobs, self.policies.slots(), self.options.limit_until_s)
        if problem is not None:
            raise problem


def simulate(
    jobs: JobTable,
    cluster: Cluster,
    policies: Policies,
    options: Options | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Simulate a workload on a cluster under the given policies, to the end."""
    return Simulation(jobs, cluster, policies, options, seed=seed).whole(progress)
