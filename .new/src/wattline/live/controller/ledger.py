"""The book between a machine and a state: names of jobs and their rows, and every fact on its way into the state.

Facts are gathered, applied in one compiled call and handed to whoever keeps them. The same facts in the same batches
give the same rows, the same state and the same actions: a run can be replayed from them.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.control.bidding import begin, stay_out
from wattline.control.facts import ENTER, FREE, VERBS, WIDTH
from wattline.errors import PolicyError, RunError
from wattline.kernel.slots import direct, straight
from wattline.model import codes
from wattline.model.rooms import no_room
from wattline.model.state.record import POLICY, State
from wattline.wiring.bound import Bound
from wattline.wiring.logs import LOGS

SHARED_OUT = (codes.NO_HEAP, codes.NO_INDEX)
"""Room that is there and only has to be shared out anew."""


@dataclass(frozen=True)
class Batch:
    """Facts that were applied together, and what came of each."""

    facts: Floats
    extents: Ints
    results: Ints
    names: tuple[str, ...]
    """Names of the jobs that entered, in the order of their facts."""


class Compiled(NamedTuple):
    """Compiled code, loaded when it is first needed."""

    take_facts: Callable[..., int]
    step: Callable[..., int]
    chores: Any


@functools.cache
def compiled() -> Compiled:
    """Load it; what a ledger gives it is of its own making, so that no types have to be looked at."""
    from wattline.control.chores import chores
    from wattline.control.facts import take_facts
    from wattline.control.step import step

    return Compiled(straight(take_facts), straight(step), direct(chores, POLICY))


class Record(Protocol):
    """Who keeps what became of jobs, for a journal (``live.controller.record``)."""

    def before(self, ledger: Ledger) -> None:
        """Be told that facts are about to be applied."""

    def after(self, ledger: Ledger, batch: Batch, first: int, last: int) -> None:
        """Be told that the facts from ``first`` up to before ``last`` were applied."""

    def take_logs(self, ledger: Ledger) -> None:
        """Take over what the state's logs hold, and leave them empty."""


@dataclass
class Ledger:
    """Jobs by name in a state that did not know them.

    Parameters
    ----------
    bound
        The state, made with spare rows, and its policies.
    keep
        Called with every batch after it was applied.
    passed
        Called after every pass with the one slot that passed (None: all), the number of actions and their checksum.
    bade
        Called after the bid policy was asked, with the bid in force, the last one that was made and when it holds.
    record
        Keeps what becomes of jobs; without one, what the state logs is dropped when the logs are full.
    """

    bound: Bound
    keep: Callable[[Batch], None] | None = None
    passed: Callable[[int | None, int, int], None] | None = None
    bade: Callable[[tuple[float, ...]], None] | None = None
    record: Record | None = None
    row: dict[str, int] = field(default_factory=dict)
    name: dict[int, str] = field(default_factory=dict)
    grown: int = 0
    """How often the state was given more rows."""
    wrong: dict[str, int] = field(default_factory=dict)
    """Facts that the state refused, by verb: the machine and the model disagreed, and the next look settles it."""
    failed: list[str] = field(default_factory=list)
    """What was wrong with a bid policy, for who says it aloud; there is no bid for those periods."""
    _facts: list[list[float]] = field(default_factory=list)
    _extents: list[tuple[int, int]] = field(default_factory=list)
    _names: dict[str, None] = field(default_factory=dict)
    """Jobs on their way in, in order."""

    @property
    def state(self) -> State:
        """Return the state as it is now (growing makes a new one)."""
        return self.bound.state

    def tell(self, verb: int, *numbers: float) -> None:
        """Note a fact about the machine."""
        self._facts.append([float(verb), *numbers])

    def tell_of(self, verb: int, job: str, *numbers: float) -> None:
        """Note a fact about a job that has a row."""
        if job not in self.row:
            self.flush()
        self._facts.append([float(verb), float(self.row[job]), *numbers])
        if verb == FREE:
            del self.name[self.row.pop(job)]

    def tell_nodes(self, verb: int, job: str, extents: Sequence[tuple[int, int]], *numbers: float) -> None:
        """Note a fact about the nodes that a job holds: pieces from a node up to before another."""
        self.tell_of(verb, job, len(self._extents), len(extents), *numbers)
        self._extents.extend(extents)

    def enter(self, job: str, known: Sequence[float] | Floats) -> None:
        """Note that a job came; ``known`` are the numbers that ``control.rows.FACTS`` names."""
        if job in self.row or job in self._names:
            raise RunError(f"job {job!r} has a row already")
        self._facts.append([float(ENTER), 0.0, *known])
        self._names[job] = None

    def flush(self) -> Ints:
        """Apply what was noted, in order; return the results."""
        if not self._facts:
            return np.zeros(0, dtype=np.int64)
        facts = np.zeros((len(self._facts), WIDTH))
        for line, fact in zip(facts, self._facts, strict=True):
            line[: len(fact)] = fact
        extents = np.array(self._extents or [(0, 0)], dtype=np.int64)
        batch = Batch(facts, extents, np.zeros(len(facts), dtype=np.int64), tuple(self._names))
        self._facts, self._extents, self._names = [], [], {}
        self.apply(batch)
        return batch.results

    def apply(self, batch: Batch) -> None:
        """Apply a batch, giving the state more room where it needs some, and note who got which row."""
        take_facts = compiled().take_facts
        done, count, tries = 0, len(batch.facts), 0
        names = iter(batch.names)
        while done < count:
            b = self.bound
            before = done
            if self.record is not None:
                self.record.before(self)
            done = int(
                take_facts(
                    b.state,
                    batch.facts,
                    batch.extents,
                    batch.results,
                    done,
                    b.wake,
                    b.functions[codes.LEARN],
                    b.functions[codes.PROFILE],
                    b.param,
                    b.memory,
                )
            )
            self._note(batch, before, done, names)
            if self.record is not None:
                self.record.after(self, batch, before, done)
            tries = 0 if done > before else tries + 1
            if done < count:
                self._make_room(-int(batch.results[done]), tries)
        if self.keep is not None:
            self.keep(batch)

    def _note(self, batch: Batch, first: int, last: int, names: Iterator[str]) -> None:
        """Note who got which row, who left one, and what was refused."""
        verbs = batch.facts[first:last, 0]
        for i in np.flatnonzero((verbs == ENTER) | (verbs == FREE) | (batch.results[first:last] < 0)) + first:
            verb, result = int(batch.facts[i, 0]), int(batch.results[i])
            if verb == ENTER:
                name = next(names)
                if result >= 0:
                    self.row[name], self.name[result] = result, name
            elif verb == FREE:
                gone = self.name.pop(int(batch.facts[i, 1]), None)
                if gone is not None:
                    self.row.pop(gone, None)
            if result < 0:
                word = VERBS[verb] if 0 <= verb < len(VERBS) else "unknown"
                self.wrong[word] = self.wrong.get(word, 0) + 1

    def empty_logs(self) -> None:
        """Let the record have what the state has logged."""
        if self.record is not None:
            self.record.take_logs(self)
            return
        self.bound.empty_logs()
        self.bound.chunks = {name: [] for name in LOGS}
        self.bound.logged_bytes = 0

    def _make_room(self, code: int, tries: int) -> None:
        """Give the state what it lacks."""
        if code == codes.NO_LOG:
            self.empty_logs()
        elif code in SHARED_OUT and tries < 2:
            self.bound.grow(0)
        elif tries < 4:
            self.bound.grow(self.state.sizes.J)
            self.grown += 1
        else:
            raise no_room(code, self.state)

    def control(self, only: int | None = None) -> int:
        """Let control pass once, with the policies that ``only`` (a slot) names or with all; return the actions.

        Facts that are still waiting are applied first.
        """
        calls = compiled()
        self.flush()
        b = self.bound
        wake, later = b.wake, 0
        if only is not None:  # what happened is still news to the others
            wake = np.zeros_like(b.wake)
            wake[only] = b.wake[only]
            later = int(b.state.happened[0]) & ~codes.TICK
        n = -codes.NO_LOG
        for _ in range(2):
            order, select, place, cap = b.functions[:4]
            n = int(calls.step(b.state, wake, order, select, place, cap, calls.chores, b.param, b.memory))
            if n != -codes.NO_LOG:
                break
            self.empty_logs()
        b.state.happened[0] |= later
        if n < 0:
            raise no_room(-n, b.state)
        if self.passed is not None:
            self.passed(only, n, self.checksum())
        return n

    def bid(self) -> tuple[float, ...] | None:
        """Put a bid in force whose time has come, and ask the bid policy where a period is about to begin.

        Return what ``bade`` is told; None where nothing was due. Facts that are still waiting are applied first.
        """
        self.flush()
        s = self.bound.state
        now_s = float(s.now[0])
        if now_s < min(float(s.next_bid_s[0]), float(s.bidding_s[0])):
            return None
        self.empty_logs()
        while now_s >= min(float(s.next_bid_s[0]), float(s.bidding_s[0])):  # the periods of a night that it was down
            if s.next_bid_s[0] <= now_s:
                begin(s)
            if s.bidding_s[0] <= now_s:
                try:
                    self.bound.make_bid()
                except PolicyError as problem:  # it costs the bid of a period, not the machine its controller
                    stay_out(s)
                    self.failed.append(str(problem))
        if 2 * s.signal_at[0] >= s.signal.shape[0]:
            s.signal_at[0] = 0  # policies have seen it: the record of the signal begins anew
        made = tuple(
            float(x[0]) for x in (s.mean_w, s.reserve_w, s.next_mean_w, s.next_reserve_w, s.next_bid_s, s.bidding_s)
        )
        if self.bade is not None:
            self.bade(made)
        return made

    def checksum(self) -> int:
        """Return the checksum of the last pass's actions (0: there were none)."""
        s = self.state
        rows, found = slice(int(s.a_from[0]), int(s.a_n[0])), 0
        if rows.start < rows.stop:
            for name in LOGS["decision"][1]:
                found = zlib.crc32(getattr(s, name)[rows].tobytes(), found)
        return found

    def actions(self) -> list[dict[str, Any]]:
        """Return what the last pass decided, taken and refused, in words."""
        s = self.state
        rows = range(int(s.a_from[0]), int(s.a_n[0]))
        return [
            {
                "action": codes.ACTION_NAMES[s.a_kind[i]],
                "job": self.name.get(int(s.a_job[i])),
                "row": int(s.a_job[i]),
                "nodes": int(s.a_nodes[i]),
                "cap_w": float(s.a_cap_w[i]),
                "why": codes.WHY_NAMES[s.a_why[i]],
                "verdict": codes.VERDICT_NAMES[s.a_verdict[i]],
            }
            for i in rows
        ]
