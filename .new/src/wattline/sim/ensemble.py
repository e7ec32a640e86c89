"""Many runs of prepared worlds: lay a state out once, then run it again and again with other bids, weights,
parameters.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import TypeVar

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.regulation import Bid
from wattline.model.state.record import State
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

T = TypeVar("T")
R = TypeVar("R")


class World:
    """A prepared run that can be started over.

    Nothing but the bid, the weights and the parameters differs between runs.
    """

    def __init__(
        self, jobs: JobTable, cluster: Cluster, policies: Policies, options: Options, *, seed: int = 0
    ) -> None:
        self.simulation = Simulation(jobs, cluster, policies, options, seed=seed)
        s = self.simulation.state
        given = [s.bid_mean_w, s.bid_reserve_w, s.k_weight, *self.simulation.param]
        self._saved = [(array, array.copy()) for array in (s.changing, *given)]
        self._followed: tuple[int, float, float] | None = None
        """The bid of the table that was in force when the last ``run_until`` came back: its place, mean and reserve."""

    @property
    def state(self) -> State:
        """The state that the last run left."""
        return self.simulation.state

    def start_over(
        self,
        *,
        bid: Bid | None = None,
        weights: Floats | None = None,
        params: Mapping[str, Sequence[float]] | None = None,
        limit_w: float | None = None,
        bidding: bool = True,
    ) -> None:
        """Put everything back to the beginning.

        Give another bid, weights of kinds, parameters by slot, power limit for this run only.

        The bid takes the place of every one that the options have; where they have none in force, none is. A limit
        takes the place of one that holds from the start to the end. Without ``bidding`` the bid policy is not asked.
        """
        s = self.state
        for array, saved in self._saved:
            array[...] = saved
        for memory in self.simulation.memory:
            memory[:] = 0.0
        self.simulation.forget_logs()
        self._followed = None
        if not bidding:
            s.bidding_s[0] = np.inf
        if bid is not None:
            holds = ~np.isnan(s.bid_mean_w)
            if not holds.any():
                raise InputError("this world has no bid that another could replace")
            s.bid_mean_w[holds], s.bid_reserve_w[holds] = bid.mean_w, bid.reserve_w
        if weights is not None:
            if weights.size != s.k_weight.size:
                raise InputError(f"{weights.size} weights for {s.k_weight.size} kinds")
            s.k_weight[:] = weights
        if limit_w is not None:
            if s.env_s.size != 1 or s.env_at[0] != 1:
                raise InputError("this world has no power limit from start to end that another could replace")
            s.limit_w[0] = limit_w
        for slot, values in (params or {}).items():
            self.simulation.param[codes.SLOT_NAMES.index(slot)][: len(values)] = values

    def run_until(self, time_s: float) -> bool:
        """Simulate up to a time and all that happens at it; return False when nothing was left to happen before it.

        A bid of the table (``state.bid_mean_w``, ``state.bid_reserve_w``) may be changed in between. One that is to
        come comes as it then is; one that is already in force, also since this very instant, is replaced at once.
        """
        code = codes.BUDGET
        with self.simulation:
            self._renew_bid()
            while code in (codes.BUDGET, codes.LOG_FULL):
                code = self.simulation.advance(10_000_000, until_s=time_s)
        self.simulation.explain(code)
        self._followed = self._in_force()
        return code == codes.UNTIL

    def push_bid(self, bid: Bid | None) -> None:
        """Change the bid now (None: take part no longer); bids of the table, and of a policy, still come."""
        with self.simulation:
            self.simulation.push_bid(bid)

    def _in_force(self) -> tuple[int, float, float] | None:
        """Return the bid of the table that came last: its place, mean and reserve."""
        s = self.state
        at = int(s.bid_at[0]) - 1
        return None if at < 0 else (at, float(s.bid_mean_w[at]), float(s.bid_reserve_w[at]))

    def _renew_bid(self) -> None:
        """Let a bid hold that took the place of the one in force since the last run."""
        before, now = self._followed, self._in_force()
        if before is None or now is None or before[0] != now[0] or np.array_equal(before, now, equal_nan=True):
            return
        _, mean_w, reserve_w = now
        self.simulation.push_bid(None if np.isnan(mean_w) else Bid(mean_w, reserve_w))

    def timeline(self) -> Floats:
        """Return the rows of the timeline so far (columns ``codes.TL_*``)."""
        return self.simulation.timeline()


_threads = 0
"""Threads that ``in_threads`` takes (0: one a core); one where several processes share the cores."""


def _alone() -> None:
    """Begin a worker: it takes one thread, and ends with the process that asked for it, however that ended."""
    global _threads
    _threads = 1
    watch_parent()


def watch_parent() -> None:
    """End this process as soon as the one that began it has ended, however that came."""
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def end_children(before: Container[BaseProcess]) -> None:
    """End the processes that this one began, but those that there were before."""
    for process in active_children():
        if process not in before:
            process.terminate()


def in_processes(
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    done: Callable[[T, R], None] | None = None,
    workers: int | None = None,
) -> list[R]:
    """Apply a function to all items, one process a core, in order; ``done`` is told of each and its result as it ends.

    Where one of them fails, or Ctrl-C is pressed, the others are ended.

    For long work that is half Python: threads would wait for each other there. What is passed must be picklable.
    With one worker or one item it happens here.
    """
    work = list(items)
    count = min(len(work), workers or len(os.sched_getaffinity(0)))
    if count <= 1:
        found = []
        for item in work:
            found.append(function(item))
            if done is not None:
                done(item, found[-1])
        return found
    before = set(active_children())
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_alone)
    try:
        futures = {pool.submit(function, item): item for item in work}
        for future in as_completed(futures):
            result = future.result()
            if done is not None:
                done(futures[future], result)
        return [future.result() for future in futures]
    except BaseException:
        end_children(before)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def in_threads(
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    workers: int | None = None,
    stop: Callable[[], None] | None = None,
) -> list[R]:
    """Apply a function to all items in threads, in order; compiled runs leave the interpreter free meanwhile.

    ``stop`` is called when one fails, or Ctrl-C is pressed, so that long ones among the others end.
    """
    work = list(items)
    count = min(len(work), workers or _threads or len(os.sched_getaffinity(0)))
    if count <= 1:
        return [function(item) for item in work]
    with ThreadPoolExecutor(count) as pool:
        try:
            return list(pool.map(function, work))
        except BaseException:
            if stop is not None:
                stop()
            raise
