"""A second, independent meter of a node, asked by a thread of its own; one that cannot be opened is tried again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from wattline.live.clock import Clock
from wattline.live.power.base import Hardware, HardwareError, Reading
from wattline.live.power.behind import Worker

OLD_PERIODS = 3.0
"""A reading that is older than so many periods of the meter is none."""


class Second:
    """A meter beside the first.

    Parameters
    ----------
    opens
        Opens it; a ``HardwareError`` is counted (meter-missing) and tried again.
    server_w
        Power of the server by a reading of it.
    every_s
        How often it is asked.
    clock
        The machine's.
    start
        Whether its thread begins now; tests call ``turn`` themselves.
    """

    def __init__(
        self,
        opens: Callable[[], Hardware],
        server_w: Callable[[Reading], float],
        every_s: float,
        clock: Clock,
        *,
        start: bool = True,
    ) -> None:
        self._opens, self._server_w, self.every_s, self._clock = opens, server_w, every_s, clock
        self._hardware: Hardware | None = None
        self._newest = (-math.inf, math.nan)
        self._own: Counter[str] = Counter()
        self._problems: dict[str, int] = {}
        self._worker = Worker("second-meter", self.turn, every_s / clock.speed)
        if start:
            self._worker.start()

    def turn(self) -> None:
        """Ask the meter."""
        reading: Reading | None = None
        try:
            if self._hardware is None:
                self._hardware = self._opens()
            reading = self._hardware.read(self._clock.now_s())
        except HardwareError:
            pass
        except Exception:  # the thread must live on
            self._own["meter-failed"] += 1
        if reading is not None:
            self._newest = (reading.time_s, self._server_w(reading))
        elif self._clock.now_s() - self._newest[0] > OLD_PERIODS * self.every_s:
            self._own["meter-missing"] += 1
        theirs = {} if self._hardware is None else self._hardware.problems()
        self._problems = dict(self._own) | {f"meter-{word}": count for word, count in theirs.items()}

    def watts(self, now_s: float) -> float:
        """Return the power of the server by this meter; NaN where it is not known, or old."""
        at_s, watts = self._newest
        return watts if abs(now_s - at_s) <= OLD_PERIODS * self.every_s else math.nan

    def problems(self) -> dict[str, int]:
        """Return how often each fault was met, up to the last turn."""
        return self._problems

    def close(self) -> None:
        """End the thread and let go of the meter."""
        self._worker.stop()
        if self._hardware is not None:
            self._hardware.close()
            self._hardware = None
