"""Keep a run while it goes on: when, what of it, and how it is carried on from there.

A flush is taken between two instants, so that a run which is carried on does not differ from one that was never cut
off. Everything that a run changes is in the state's ``changing`` part, in the policies' memory and in the logs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from wattline.errors import TraceError
from wattline.journal.unfinished import Array, Flush, NoLongerNeeded, Writer, token
from wattline.model.rooms import without_spare
from wattline.model.state.record import State
from wattline.sim.simulate import Simulation
from wattline.wiring.layout import layout
from wattline.wiring.logs import LOGS, join_logs
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result
from wattline.wiring.setup import prepare

FIRST_S = 1.0
"""A run that takes less time than this is not kept: it is quicker to run it again."""

SHARE = 20.0
"""The run goes on for so many times as long as the last flush held it up: that is at most a twentieth of its time."""

DISK_SHARE = 4.0
"""The disk, which is written to while the run goes on, rests for so many times as long as writing took."""

BYTES_PER_S = 4e8
"""How fast the system takes a state over at least, until the first flush has shown it."""

PASSING = ("now", "node_s", "node_j", "offered_s", "exceed_s", "noise_j")
"""Fields that change when nothing happens but that time passes."""

Describe = Callable[[], tuple[Mapping[str, Any], Sequence[Array]]]


class Keeper:
    """Keeps a run at full simulated hours in the folder it will write its journal to.

    ``describe`` returns what is run, for the first flush; ``since`` is the flush that the run was carried on from.
    The state is handed to the system while the run waits; a thread sees to the rest. A disk that is full or cannot
    be written to is warned about, and the run goes on without being kept. ``every_hour`` leaves no hour out.
    """

    def __init__(self, out: Path, describe: Describe, *, since: Flush | None = None, every_hour: bool = False) -> None:
        self.out, self.since = out, since
        self._describe, self._every_hour = describe, every_hour
        self._writer = Writer(out.absolute(), None if since is None else since.record)  # policies may change the folder
        self._begun = False
        self._thread = ThreadPoolExecutor(1)
        self._writing: Future[float] | None = None
        self._written = dict.fromkeys(LOGS, 0)
        self._last = time.perf_counter()
        self._wait_s: float | None = None
        self.lost = ""
        """Why the run can no longer be kept (nothing: it can)."""
        self.kept: dict[str, Any] | None = None if since is None else token(since.record)
        """The newest flush (None: there is none)."""

    def __enter__(self) -> Keeper:
        self._last = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
        self._thread.shutdown()
        self._writer.close()

    def due(self, run: Simulation) -> bool:
        """Tell whether enough time has passed since the last flush for another one to cost little."""
        if self._every_hour:
            return not self.lost
        if self.lost or (self._writing is not None and not self._writing.done()):
            return False
        wait_s = self._wait_s
        if wait_s is None:
            wait_s = max(FIRST_S, SHARE * run.state.changing.nbytes / BYTES_PER_S)
        return time.perf_counter() - self._last >= wait_s

    def keep(self, run: Simulation, cut_s: float) -> None:
        """Flush a run that stands at its last instant up to ``cut_s``, and see how long that holds it up."""
        self._finish_writing()
        if self.lost:
            return
        began = time.perf_counter()
        pieces = {**_pieces(run), **_at(run, cut_s)}
        logs = self._new_rows(run)
        record = {
            "cut_s": cut_s,
            "start_s": float(run.state.start_s[0]),
            "wall_s": run.elapsed_s(),
            "names": list(pieces),
            "logs": list(LOGS),
            "layout_of_state": layout(),
        }
        try:
            if not self._begun:
                self._writer.begin()
                self._begun = True
            self._writer.put(pieces.values())
        except OSError as problem:
            self._give_up(problem)
            return
        self._writing = self._thread.submit(self._commit, record, logs)
        self._last = time.perf_counter()
        self._wait_s = max(FIRST_S, SHARE * (self._last - began))
        if self._every_hour:
            self._finish_writing()

    def finish(self) -> None:
        """Wait for the flush that is being written, which is the newest then; the folder stays locked until exit."""
        self._finish_writing()

    def forget(self) -> None:
        """Leave off writing: the run is over, nobody will carry it on."""
        self._writer.over = True

    def _commit(self, record: Mapping[str, Any], logs: Sequence[tuple[int, Sequence[Array]]]) -> float:
        """Bring a flush to the disk (in the thread); return how long it took."""
        began = time.perf_counter()
        if self._writer.flush == 0:
            self._writer.describe(*self._describe())
        self._writer.commit(record, logs)
        return time.perf_counter() - began

    def _finish_writing(self) -> None:
        """Wait for the thread; what went wrong there is said here."""
        if self._writing is None:
            return
        try:
            took_s = self._writing.result()
            self._wait_s = max(self._wait_s or 0.0, DISK_SHARE * took_s)
            self.kept = token({"run": self._writer.run, "flush": self._writer.flush})
        except NoLongerNeeded:
            pass
        except OSError as problem:
            self._give_up(problem)
        self._writing = None

    def _give_up(self, problem: OSError) -> None:
        self.lost = problem.strerror or str(problem)
        warnings.warn(
            f"{self.out}: what is done cannot be kept ({self.lost}); the run goes on, but could not be resumed",
            stacklevel=2,
        )

    def _new_rows(self, run: Simulation) -> list[tuple[int, Sequence[Array]]]:
        """Return the rows logged since the last flush as sets of arrays, each with the number of its log."""
        run.empty_logs()
        found: list[tuple[int, Sequence[Array]]] = []
        for number, (name, (_, arrays)) in enumerate(LOGS.items()):
            pieces, each = run.chunks[name], len(arrays)
            found += [(number, pieces[at : at + each]) for at in range(self._written[name], len(pieces), each)]
            self._written[name] = len(pieces)
        return found

    def carry_on(self, run: Simulation) -> None:
        """Put a run that has not begun where the flush left it."""
        if self.since is not None:
            restore(run, self.since)
            self.since.arrays.clear()  # as large as the state: nobody needs them any more
            self._written = {name: len(pieces) for name, pieces in run.chunks.items()}


# ------------------------------------------------------------------ what of a run is kept


def _pieces(run: Simulation) -> dict[str, Array]:
    return {"changing": run.state.changing} | {f"memory.{i}": memory for i, memory in enumerate(run.memory)}


def _at(run: Simulation, cut_s: float) -> dict[str, Array]:
    """Return what differs when time has passed up to the cut; the run itself stays at its instant."""
    s = run.state
    before = {name: getattr(s, name).copy() for name in PASSING}
    run.settle(cut_s)
    found = {f"cut.{name}": getattr(s, name).copy() for name in PASSING}
    for name, array in before.items():
        getattr(s, name)[...] = array
    return found


def restore(run: Simulation, flush: Flush) -> None:
    """Put a run that has not begun where a flush left another one of the same kind."""
    for name, array in _pieces(run).items():
        _take(array, flush, name)
    run.chunks = {name: list(pieces) for name, pieces in flush.logs.items()}
    run.earlier_s, run.kept_s = float(flush.record["wall_s"]), float(flush.record["cut_s"])


def cut_result(flush: Flush, jobs: Any, cluster: Any, policies: Policies, options: Any, seed: int) -> Result:
    """Return what a run has left behind up to the cut of a flush; nothing is simulated or compiled."""
    prepared = prepare(jobs, cluster, policies.slots(), options)
    s: State = prepared.state
    _take(s.changing, flush, "changing")
    for name in PASSING:
        _take(getattr(s, name), flush, f"cut.{name}")
    s = without_spare(s)
    logs = join_logs(flush.logs, s)
    wall_s = float(flush.record["wall_s"])
    return Result(jobs, cluster, policies, options, s, logs, prepared.notes, "interrupted", wall_s, seed)


def _take(array: Array, flush: Flush, name: str) -> None:
    kept = flush.arrays.get(name)
    same = kept is not None and (kept.shape, kept.dtype) == (array.shape, array.dtype)
    if flush.record["layout_of_state"] != layout() or not same:
        raise TraceError("the flush was made by another Wattline, or of another run: use the one that made it")
    array[...] = kept
