"""A state with the policies bound to it: what both worlds call compiled code with, and what it leaves in its logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from wattline.control import bidding
from wattline.control.users import bridge
from wattline.control.users.compile import callable_for, callable_from_python, chores_needed, compile_user
from wattline.control.users.complaints import failed_run
from wattline.errors import InputError, RunError, WattlineError
from wattline.kernel.compiled import JIT
from wattline.kernel.slots import Direct, direct
from wattline.memory import machine_bytes, require_bytes, show_bytes
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.rooms import grow
from wattline.model.state.record import POLICY
from wattline.model.state.spare import CALLS, WHO, forget_fault, note_code
from wattline.units import show_duration
from wattline.wiring.logs import LOGS, bid_steps
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.setup import prepare
from wattline.wiring.subjects.late import is_late
from wattline.wiring.watched import Later, watched

SEEDS = 2**53
"""Seeds reach policies as floats: beyond this number neighbours would be the same."""


class Bound:
    """A state that is ready, and the arguments of compiled code: callables, parameters, memory.

    Used as a context, it connects policies that are plain Python.
    """

    def __init__(
        self, jobs: JobTable, cluster: Cluster, policies: Policies, options: Options | None = None, *, seed: int = 0
    ) -> None:
        if not 0 <= seed < SEEDS:
            raise InputError(f"a seed is a whole number from 0 to {SEEDS - 1} (2^53 - 1), got {seed}")
        self.jobs, self.cluster, self.policies, self.seed = jobs, cluster, policies, seed
        self.options = options or Options()
        prepared = prepare(jobs, cluster, policies.slots(), self.options)
        self.state, self.notes, self.profiles = prepared.state, prepared.notes, prepared.profiles
        self.state.seed[0] = seed
        self.chunks: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in LOGS}
        self.logged_bytes = 0
        """What was moved here from the logs of the state: name → pieces of its arrays in turn."""
        self._handles: list[int] = []
        self._bind()

    def _bind(self) -> None:
        """Fix the arguments of the compiled loop: callables, parameters (the last one is the bridge's handle),
        memory.
        """
        s = self.state
        self.wake = np.array([m.wake for m in self.policies.in_loop()], dtype=np.int64)
        if self.profiles is not None:  # what is believed of running jobs changes with every sample
            self.wake[codes.SELECT] |= codes.SAMPLE
        divisor = int(np.gcd.reduce(self.jobs.nodes)) if len(self.jobs) and not s.sizes.spare else 1
        units = int(s.pool_count.max()) // max(1, divisor)
        param, memory = [], []
        for m in self.policies.slots():
            given = self.policies.params.get(m.slot, {})
            param.append(np.array([*m.values(given), float(self.seed)], dtype=np.float64))
            floats = m.memory.size(
                jobs=s.sizes.J,
                running=s.running.size,
                users=int(s.n_users[0]),
                kinds=s.k_nodes.size,
                classes=s.free.size,
                profiles=0 if self.profiles is None else len(self.profiles),
                units=units,
                nodes=s.node_state.size,
                routers=int(s.net[1] * s.net[2]),
                groups=int(s.net[2]),
                values=dict(zip(m.params, param[-1], strict=False)),
            )
            require_bytes(floats * 8.0, f"the {floats:,} floats of memory that policy {m.called!r} asks for")
            memory.append(np.zeros(floats))
        self.param, self.memory = tuple(param), tuple(memory)
        functions = [callable_for(m) for m in self.policies.in_loop()]
        self.functions = tuple(f if isinstance(f, Direct) else direct(f, POLICY) for f in functions)
        self.codes = {
            i: compile_user(m) for i, m in enumerate(self.policies.slots()) if JIT and m.compiled and not m.builtin
        }
        for slot, code in self.codes.items():  # kept here, so that it stays in memory
            note_code(s, slot, code)
        self.chores = chores_needed(
            self.policies.slots(),
            nodes_change=self.cluster.nodes_change or self.options.shed or is_late(self.options) or s.outside[0] == 1,
            neighbours=s.n_load.shape[0] > 0,
        )

    def grow(self, rows: int) -> None:
        """Give the state more spare rows; with 0, share its room out anew by the jobs that it has now."""
        connected = bool(self._handles)
        self.__exit__()
        self.state, self.memory = grow(self.state, self.memory, [m.memory for m in self.policies.slots()], rows)
        for slot, code in self.codes.items():
            note_code(self.state, slot, code)
        if connected:
            self.__enter__()

    def __enter__(self) -> Self:
        self._handles = []
        for i, m in enumerate(self.policies.in_loop()):
            if not m.builtin and not (m.compiled and JIT):
                self.param[i][-1] = self.seed
                handle = bridge.connect(m.function, self.state, self.param[i], self.memory[i], m.name, i)
                self.param[i][-1] = handle
                self._handles.append(handle)
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            bridge.disconnect(handle)
        self._handles = []

    def ask(self, slot: int, arg: int) -> int:
        """Call the policy of a slot by itself, as Python can; what it writes stays in the state."""
        policy, s = self.policies.slots()[slot], self.state
        call = callable_from_python(policy)

        def work() -> int:
            s.words[CALLS] += 1
            s.words[WHO] = 0 if policy.builtin else slot + 1
            got = call(s, arg, self.param[slot], self.memory[slot])
            s.words[WHO] = 0
            return int(got)

        try:
            with self.blaming():
                return int(watched(work, s, self.policies.slots(), None)) if not policy.builtin else work()
        except Later as late:
            raise late.asked from None

    def make_bid(self) -> None:
        """Let the bid policy speak: the loop waits for it at a bidding time."""
        with self.blaming():
            bidding.make(self.state, self.policies.bid, self.param[codes.BID], self.memory[codes.BID])

    @contextmanager
    def blaming(self) -> Iterator[None]:
        """Say which policy of a user failed, where one was being called."""
        try:
            yield
        except (WattlineError, Later):
            raise
        except Exception as problem:
            blamed = failed_run(problem, self.state, self.policies.slots(), self.jobs)
            if blamed is None:
                raise
            raise blamed from problem

    def empty_logs(self) -> None:
        """Move what the state's logs hold to Python."""
        s = self.state
        for name, (counter, arrays) in LOGS.items():
            n = int(getattr(s, counter)[0])
            if name == "decision" and not self.options.decisions:
                n = 0
            for array in arrays:
                if n:
                    piece = getattr(s, array)[:n].copy()
                    self.chunks[name].append(piece)
                    self.logged_bytes += piece.nbytes
            getattr(s, counter)[0] = 0
        s.a_from[0] = 0
        if self.logged_bytes > machine_bytes() / 2:  # which is copied once more when the journal is made
            raise RunError(
                f"the logs of this run take {show_bytes(self.logged_bytes)}, half of this machine's memory, after "
                f"{show_duration(float(s.now[0]) - float(s.submit_s[0]) if s.submit_s.size else 0.0)} of "
                "simulated time: "
                "end it earlier (run.until), or log less (a longer run.tick, output.decisions = false, "
                "output.placements = false)"
            )

    def forget_logs(self) -> None:
        """Drop what was logged: the run starts over."""
        self.chunks = {name: [] for name in LOGS}
        self.logged_bytes = 0
        forget_fault(self.state)

    def bids(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the bids that got into force so far: from when, mean power (NaN: none), reserve."""
        s, n = self.state, int(self.state.ev_n[0])
        columns = []
        for i, name in enumerate(LOGS["event"][1]):
            pieces = self.chunks["event"][i :: len(LOGS["event"][1])]
            columns.append(np.concatenate([*pieces, getattr(s, name)[:n]]))
        time_s, kind, _, _, value = columns
        return bid_steps(time_s, kind, value)

    def timeline(self) -> npt.NDArray[np.float64]:
        """Return the rows of the timeline so far, without copying where the log was never emptied."""
        now: npt.NDArray[np.float64] = self.state.timeline[: int(self.state.tl_n[0])]
        earlier = self.chunks["timeline"]
        return np.concatenate([*earlier, now]) if earlier else now
