"""Hardware that takes its time, kept behind a thread: the agent never waits for a BMC, it has the newest answer."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from wattline.live.clock import Clock
from wattline.live.power.base import Hardware, Reading

AGAIN_S = 30.0
"""A limit that was clamped or refused is written again after so long: BMCs keep limits in memory that wears out."""


class Worker:
    """A thread that does something again and again, and at once when it is woken."""

    def __init__(self, name: str, turn: Callable[[], None], every_s: float, least_s: float = 0.05) -> None:
        self._turn, self._every_s, self._least_s = turn, every_s, least_s
        self._wake, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Do it now, or as soon as the turn that goes on has ended."""
        self._wake.set()

    def stop(self, longest_s: float = 10.0) -> None:
        """End, and wait for that; twice is as good as once."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(longest_s)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._turn()
            if self._ended.wait(self._least_s):
                return
            self._wake.wait(max(0.0, self._every_s - self._least_s))
            self._wake.clear()


class Behind:
    """A hardware whose requests take long, as one that answers at once.

    ``read`` gives a reading that is newer than the last one given, or None. ``set_limit`` says what is wanted and
    returns the limit that is known to be in force; a thread writes it: a changed one at once, the same one again where
    somebody else changed it, or after a while where it was clamped or refused. Limits that follow one another quickly
    are not all written: the last one is, once in a half of ``every_s`` at most. Only ``restore`` waits.

    Parameters
    ----------
    hardware
        What is kept behind.
    clock
        The machine's.
    start
        Whether the thread begins now; tests call ``turn`` themselves.
    """

    def __init__(self, hardware: Hardware, clock: Clock, *, start: bool = True) -> None:
        self.hardware, self._clock = hardware, clock
        self.whole_server, self.every_s, self.step_w = hardware.whole_server, hardware.every_s, hardware.step_w
        self._bounds_w = hardware.bounds_w()
        self._busy = threading.Lock()
        self._wanted_w = self._tried_w = math.nan
        self._limit_w = hardware.limits_w()
        self._newest: Reading | None = None
        self._given_s = self._again_s = -math.inf
        self._problems = dict(hardware.problems())
        self._own: Counter[str] = Counter()
        wall_s = self.every_s / clock.speed
        self._worker = Worker("power", self.turn, wall_s, least_s=0.5 * wall_s)
        if start:
            self._worker.start()

    # ------------------------------------------------------------------ the thread's

    def turn(self) -> None:
        """Ask, and write what is wanted where it is not in force."""
        with self._busy:
            try:
                self._ask()
            except Exception:  # the thread must live on, whatever a BMC answers
                self._own["hardware-failed"] += 1
            self._bounds_w = self.hardware.bounds_w()
            self._problems = dict(Counter(self.hardware.problems()) + self._own)

    def _ask(self) -> None:
        if self._wanted_w != self._tried_w and not math.isnan(self._wanted_w):
            self._write()
        reading = self.hardware.read(self._clock.now_s())
        if reading is not None:
            self._newest = reading
        in_force_w, before_w = self.hardware.limits_w(), self._limit_w
        self._limit_w = in_force_w
        if math.isnan(self._wanted_w) or math.isnan(in_force_w):
            return
        if self._near(in_force_w, self._tried_w):
            return
        changed = not self._near(in_force_w, before_w)  # by somebody else; or it was not known before
        if changed and not math.isnan(before_w):
            self._own["clamped"] += 1
        if changed or self._clock.now_s() >= self._again_s:
            self._write()

    def _write(self) -> None:
        wanted_w = self._wanted_w
        self._limit_w = self.hardware.set_limit(wanted_w)
        self._tried_w, self._again_s = wanted_w, self._clock.now_s() + AGAIN_S

    def _near(self, one_w: float, other_w: float) -> bool:
        return abs(one_w - other_w) <= self.step_w or one_w == other_w

    # ------------------------------------------------------------------ the agent's

    def read(self, now_s: float) -> Reading | None:  # noqa: ARG002
        """Return the newest reading, once."""
        newest = self._newest
        if newest is None or newest.time_s <= self._given_s:
            return None
        self._given_s = newest.time_s
        return newest

    def limits_w(self) -> float:
        """Return the limit in force when it was last asked for."""
        return self._limit_w

    def bounds_w(self) -> tuple[float, float]:
        """Return the bounds of limits."""
        return self._bounds_w

    def set_limit(self, watts: float) -> float:
        """Want another limit."""
        least_w, most_w = self._bounds_w
        wanted_w = min(max(watts, least_w), most_w)
        if wanted_w != self._wanted_w:
            self._wanted_w = wanted_w
            self._worker.wake()
        return self._limit_w

    def found(self) -> dict[str, float]:
        """Return the limit as it was at the last answer."""
        return self.hardware.found()

    def loosest(self) -> dict[str, float]:
        """Return what to restore where nobody knows what was found."""
        return self.hardware.loosest()

    def restore(self, limits: dict[str, float]) -> None:
        """Put limits back, and want none any more."""
        with self._busy:
            self._wanted_w = self._tried_w = math.nan
            try:
                self.hardware.restore(limits)
            finally:
                self._limit_w = self.hardware.limits_w()
                self._problems = dict(Counter(self.hardware.problems()) + self._own)

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met, up to the last turn."""
        return self._problems

    def facts(self) -> dict[str, Any]:
        """Return what it is."""
        return self.hardware.facts()

    def close(self) -> None:
        """End the thread and let go of the connection."""
        self._worker.stop()
        self.hardware.close()
