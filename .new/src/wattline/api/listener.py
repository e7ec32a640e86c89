"""Who is told what happens while something is computed: progress, what was assumed, what was compiled.

``Listener`` is for programs and notebooks: a bar for what takes longer than two seconds, a line where code must be
compiled, a warning for what nobody should overlook. The rest is kept with the result. The command line has a listener
of its own, which says all of it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from wattline.errors import WattlineWarning

PROGRESS_AFTER_S = 2.0

Note = tuple[str, str, int, str]
"""What was done to jobs, why, to how many, and to which for example."""


class Listener:
    """What computations tell while they go on."""

    def __init__(self, *, progress: bool = True) -> None:
        self.shown = progress

    def say(self, text: str) -> None:
        """Hear a remark about what is done next."""

    def tell(self, text: str) -> None:
        """Hear what to know of a run."""

    def loud(self, text: str) -> None:
        """Hear what nobody should overlook."""
        warnings.warn(text, WattlineWarning, stacklevel=_outside())

    def notes(self, notes: Iterable[Note], label: str = "") -> None:
        """Hear what was dropped, repaired, rejected or kept on purpose."""

    def warm_up(self, policies: Sequence[Any] = (), *, nodes_change: bool | None = True) -> None:
        """Compile what a run needs and this machine has not compiled yet, after saying so."""
        from wattline.sim.warm import warm_up

        meter = Meter("compiling", shown=self.shown)
        try:
            warm_up(policies, self._said if self.shown else self.say, meter.update, nodes_change=nodes_change)
        finally:
            meter.close()

    @contextmanager
    def progress(self, what: str, keeping: str = "") -> Iterator[Callable[[int, int], None]]:  # noqa: ARG002  (for those who say what is kept)
        """Yield a callback (done, total) that shows a bar where it takes long; Ctrl-C is raised as ever."""
        meter = Meter(what, shown=self.shown)
        try:
            yield meter.update
        finally:
            meter.close()

    @staticmethod
    def _said(text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _outside() -> int:
    """Return how many calls up the first function is that is not ours: a warning names its line."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "wattline":
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]  # the outermost frame has none above it
    return level


def in_notebook() -> bool:
    """Tell whether this is a kernel of a notebook that can show bars."""
    shell = sys.modules.get("IPython")
    kernel = getattr(shell, "get_ipython", lambda: None)() if shell is not None else None
    return hasattr(kernel, "kernel") and importlib.util.find_spec("ipywidgets") is not None


class Meter:
    """A bar with the time left for the whole on a terminal, a line at the start and at the end elsewhere; nothing at
    all for what takes less than two seconds.
    """

    def __init__(self, what: str, *, shown: bool) -> None:
        self.what, self.shown = what, shown
        self.pace = Pace()
        self.bar: Any = None
        self.task: Any = None
        self.last: tuple[float, float] | None = None
        """What a file was told of last: done and total."""

    def update(self, done: float, total: float) -> None:
        """Show how much is done."""
        now = time.monotonic()
        self.pace.note(now, done, total)
        if not self.shown or now - self.pace.began < PROGRESS_AFTER_S:
            return
        if sys.stderr.isatty() or in_notebook():
            self._draw(done, total)
        else:
            if self.last is None:
                sys.stderr.write(f"{self.what}: {done:,.0f} of {total:,.0f} are done ...\n")
            self.last = done, total

    def _draw(self, done: float, total: float) -> None:
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self.bar = Progress(*columns, console=Console(stderr=not in_notebook()), transient=True)
            self.task = self.bar.add_task(self.what, total=total, left="")
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total, left=self.pace.words)

    def close(self) -> None:
        """Take the bar away, or tell a file how far it came."""
        if self.bar is not None:
            self.bar.stop()
        if self.last is not None:
            done, total = self.last
            took = _time(time.monotonic() - self.pace.began)
            sys.stderr.write(f"{self.what}: {done:,.0f} of {total:,.0f} are done, after {took}\n")


class Pace:
    """How fast the whole goes, by the second half of the time so far: what was there at the start, or is taken from
    what was kept, tells nothing of the rest.
    """

    def __init__(self) -> None:
        self.began = 0.0  # the first report starts the clock: what comes before it is no progress
        self.total = 0.0
        self._seen: list[tuple[float, float]] = []

    def note(self, now: float, done: float, total: float) -> None:
        """Hear how much is done at a time, in seconds."""
        if not self._seen:
            self.began = now
        self.total = total
        if not self._seen or done > self._seen[-1][1]:
            self._seen.append((now, done))
        if len(self._seen) > MOST_SEEN:
            self._seen = [self._seen[0], *self._seen[1:-1:2], self._seen[-1]]

    def left_s(self) -> float | None:
        """Return the seconds left for the whole, counted from the last that was done; None where nobody knows."""
        if len(self._seen) < 2:
            return None
        now, done = self._seen[-1]
        middle = self.began + 0.5 * (now - self.began)
        since, before = next(one for one in reversed(self._seen[:-1]) if one[0] <= middle)
        return (self.total - done) * (now - since) / (done - before)

    @property
    def words(self) -> str:
        """The time left for the whole, in words."""
        left_s = self.left_s()
        if left_s is None:
            return ""
        return f"{_time(max(left_s - (time.monotonic() - self._seen[-1][0]), 1.0))} left"


MOST_SEEN = 200
"""Reports that are remembered."""


def _time(seconds: float) -> str:
    from wattline.report.show import show

    return str(show(float(round(seconds)), "s"))


@contextmanager
def stop_signals(answer: str, got: list[int] | None = None) -> Iterator[list[int]]:
    """Answer the first Ctrl-C or SIGTERM and yield a list that it gets into; a second one interrupts at once.

    ``got`` is the list of the same command, where one may have come before. Polars is loaded first: it puts a handler
    of its own before those that it finds, which raises KeyboardInterrupt in the midst of a query.
    """
    got = [] if got is None else got
    if threading.current_thread() is not threading.main_thread():
        yield got
        return
    importlib.import_module("polars")

    def handle(number: int, frame: Any) -> None:
        if got:
            signal.default_int_handler(number, frame)
        got.append(number)
        with suppress(OSError):  # the terminal may be gone
            os.write(2, answer.encode())  # safe in a handler

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
