"""Many worlds whose decisions of one slot are made outside: carried on together, each to its next question."""

from __future__ import annotations

import functools
import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.control.users.complaints import failed_run
from wattline.errors import InputError, PoisonedError, WattlineError
from wattline.kernel.compiled import JIT
from wattline.kernel.slots import direct, straight
from wattline.model import codes
from wattline.model.state.record import POLICY
from wattline.policies.looks import F, G
from wattline.sim.explain import look_closer
from wattline.sim.questions import ASKABLE, MEAN_W, N_SUMS, RESERVE_W
from wattline.sim.simulate import Simulation
from wattline.wiring.watched import Later, watched

MOST_INSTANTS = 1_000_000
"""Instants of a world between two looks from outside, where nothing is asked: at Ctrl-C."""

OVER = (codes.DONE, codes.UNTIL, codes.STUCK)
"""Why a world has come to its end."""

_ADDRESS, _GOES, _WHY = range(3)


def _codes(*which: int) -> npt.NDArray[np.bool_]:
    """Return a table that tells of every reason to come back whether it is one of these."""
    table = np.zeros(len(codes.STOP_NAMES), dtype=bool)
    table[list(which)] = True
    return table


_ENDS = _codes(*OVER)
_FINE = _codes(codes.ASKED, codes.BID_DUE, codes.DONE, codes.UNTIL)
_SERVED = _codes(codes.BUDGET, codes.LOG_FULL, codes.BID_DUE)


def _wants_bid(simulation: Simulation) -> bool:
    """Tell whether the bid that is due is one for an hour that is bid for."""
    s = simulation.state
    return bool(s.bid_first_s[0] + s.bidding_k[0] * s.bid_every_s[0] < s.bidding_until_s[0])


@functools.cache
def _compiled() -> Any:
    """Return the compiled loop; importing it for the first time compiles it."""
    return straight(importlib.import_module("wattline.sim.asking").play)


class AskedWorlds:
    """Worlds that are carried on with answers.

    ``put`` a simulation whose policies have ``questions.asked(slot)`` in the slot, then ``play``: each world that goes
    on is left at its next question (``why`` is ``codes.ASKED``, or ``BID_DUE`` for bids) or at its end, and ``seen``,
    ``jobs`` and ``sums`` say what it looks like there.

    Parameters
    ----------
    slot
        Whose decisions are made outside: select, cap or bid.
    count
        How many worlds.
    k
        Waiting jobs that are shown of each.
    threads
        Threads that carry them on.
    """

    def __init__(self, slot: str, count: int, k: int, *, threads: int = 1) -> None:
        if slot not in ASKABLE:
            raise InputError(f"decisions of {', '.join(ASKABLE)} can be made outside, not of {slot}")
        self.ask, self.k = codes.SLOT_NAMES.index(slot), k
        self.simulations: list[Simulation | None] = [None] * count
        self.seen: npt.NDArray[np.float32] = np.zeros((count, k * F + G), dtype=np.float32)
        self.jobs: Ints = np.full((count, k), -1, dtype=np.int64)
        self.sums: Floats = np.zeros((count, N_SUMS))
        self.choice: Ints = np.full(count, k, dtype=np.int64)
        self.ratio: Floats = np.ones(count)
        self.bid_w: Floats = np.zeros((count, 2))
        """Answers: the place of a job (k: none), the ratio of all caps, mean power and reserve of a bid."""
        self._worlds = np.zeros((count, 3), dtype=np.int64)
        self._wake = np.zeros((count, codes.LOOP_SLOTS), dtype=np.int64)
        self._banks = np.zeros((4, count, len(codes.SLOT_NAMES)), dtype=np.int64)
        self._until_s = np.full(count, np.inf)
        self._functions: tuple[Any, ...] = ()
        self._of_users = False
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._parts = [part for part in np.array_split(np.arange(count), threads) if part.size]

    @property
    def why(self) -> Ints:
        """Why each world came back last."""
        return self._worlds[:, _WHY]

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Which worlds have come to their end."""
        ended: npt.NDArray[np.bool_] = _ENDS[self.why]
        return ended

    def put(self, w: int, simulation: Simulation) -> None:
        """Let a simulation be world number w, from its beginning on; all of them have the same policies."""
        self.take(w)
        simulation.__enter__()
        self.simulations[w] = simulation
        self._worlds[w] = simulation.state.address, 0, codes.BUDGET
        self._wake[w] = simulation.wake
        self._until_s[w] = simulation.options.until_s
        for at, arrays in ((0, simulation.param), (2, simulation.memory)):
            self._banks[at, w] = [array.ctypes.data for array in arrays]
            self._banks[at + 1, w] = [array.size for array in arrays]
        functions = (*simulation.functions, self._chores(simulation))
        alike = len({s.chores for s in self.simulations if s is not None}) == 1
        if alike or simulation.chores == "chores":  # these do all that the daily ones do
            self._functions = functions
        self._of_users = any(not m.builtin for m in simulation.policies.slots())

    def _chores(self, simulation: Simulation) -> Any:
        chores = importlib.import_module(f"wattline.control.{simulation.chores}")
        return direct(getattr(chores, simulation.chores), POLICY)

    def take(self, w: int) -> Simulation | None:
        """Take world number w out (None: there is none)."""
        simulation, self.simulations[w] = self.simulations[w], None
        if simulation is not None:
            simulation.__exit__()
        self._worlds[w] = 0
        return simulation

    def close(self) -> None:
        """Let all worlds go."""
        for w in range(len(self.simulations)):
            self.take(w)
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def play(self, goes: npt.NDArray[np.bool_]) -> None:
        """Carry the worlds that go on with their answers, each to its next question or its end."""
        if self.ask == codes.BID:
            for w in np.flatnonzero(goes & (self.why == codes.BID_DUE)):
                self._make_bid(int(w))
        self._worlds[:, _GOES] = goes
        self._play_once()
        while (again := self._to_serve(goes)).any():
            for w in np.flatnonzero(again):
                self._serve(int(w))
            self._worlds[:, _GOES] = again
            self._play_once()
        doubtful = goes & ~_FINE[self.why]
        if doubtful.any():
            for w in np.flatnonzero(doubtful):
                self._judge(int(w))

    def _to_serve(self, goes: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the worlds that came back for something that is nobody's decision here."""
        again: npt.NDArray[np.bool_] = goes & _SERVED[self.why]
        if self.ask == codes.BID and again.any():
            for w in np.flatnonzero(again & (self.why == codes.BID_DUE)):
                again[w] = not _wants_bid(self._simulation(int(w)))
        return again

    def _make_bid(self, w: int) -> None:
        """Make the bid that was answered; the guard judges it."""
        simulation = self._simulation(w)
        book = simulation.memory[codes.BID]
        book[MEAN_W], book[RESERVE_W] = self.bid_w[w]
        simulation.make_bid()

    def _serve(self, w: int) -> None:
        """Do what a world came back for that is nobody's decision here."""
        simulation = self._simulation(w)
        if self.why[w] == codes.LOG_FULL:
            simulation.empty_logs()
        elif self.why[w] == codes.BID_DUE:
            simulation.make_bid()

    def _judge(self, w: int) -> None:
        """Raise what a bad end means; a world that stands still has merely ended."""
        simulation = self._simulation(w)
        code = look_closer(int(self.why[w]), simulation.state, simulation.policies.slots())
        if code != codes.STUCK:
            simulation.explain(code)

    def _simulation(self, w: int) -> Simulation:
        simulation = self.simulations[w]
        if simulation is None:
            raise InputError(f"there is no world number {w}")
        return simulation

    def _play_once(self) -> None:
        """Carry on each world that goes on once: all in one compiled call, or one a thread."""
        if self._of_users:
            for w in np.flatnonzero(self._worlds[:, _GOES]):
                self._play_watched(int(w))
        elif self._pool is not None:
            list(self._pool.map(lambda part: self._call(int(part[0]), int(part[-1]) + 1), self._parts))
        else:
            self._call(0, len(self.simulations))

    def _play_watched(self, w: int) -> None:
        """Carry one world on where policies of users take part: they may fail, or not come back."""
        simulation = self._simulation(w)
        slots, state = simulation.policies.slots(), simulation.state

        def work() -> int:
            self._call(w, w + 1)
            return int(self.why[w])

        try:
            watched(work, state, slots, None)
        except Later as late:  # the world stands between two instants
            raise late.asked from None
        except (WattlineError, PoisonedError):
            self.take(w)
            raise
        except Exception as problem:
            self.take(w)
            blamed = failed_run(problem, state, slots, simulation.jobs)
            if blamed is None:
                raise
            raise blamed from problem

    def _call(self, first: int, end: int) -> None:
        """Carry on worlds ``first`` … ``end - 1``."""
        part = slice(first, end)
        if JIT:
            _compiled()(
                self.ask,
                self._worlds[part],
                self._wake[part],
                *self._functions,
                *(bank[part] for bank in self._banks),
                self._until_s[part],
                MOST_INSTANTS,
                self.choice[part],
                self.ratio[part],
                self.seen[part],
                self.jobs[part],
                self.sums[part],
            )
            return
        for w in range(first, end):
            if self._worlds[w, _GOES]:
                self._call_plainly(w)

    def _call_plainly(self, w: int) -> None:
        """Carry one world on where nothing is compiled."""
        module = importlib.import_module("wattline.sim.asking")
        simulation = self._simulation(w)
        why = module.play_on(
            simulation.state,
            self.ask,
            simulation.wake,
            *self._functions,
            simulation.param,
            simulation.memory,
            self._until_s[w],
            MOST_INSTANTS,
            int(self.choice[w]),
            float(self.ratio[w]),
            self.seen[w],
            self.jobs[w],
        )
        module.finish(simulation.state, why, simulation.memory[self.ask], self.sums[w])
        self._worlds[w, _WHY] = why
