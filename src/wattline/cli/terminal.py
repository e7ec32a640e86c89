"""What a command says: results on standard output, everything else on standard error, and only as much as was asked for."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

WIDTH = 80
PROGRESS_AFTER_S, LINE_EVERY_S = 2.0, 10.0

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else, on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def _skip_blas() -> None:
    """Load numba without scipy.linalg, which takes a third of a second and only ``np.cov`` in a policy would need.

    In a program of our own that is a fair trade; as a library we leave numba as it is.
    """
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    blocked: Any = None  # what Python takes for "cannot be imported"
    sys.modules["scipy.linalg"] = blocked
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]


@dataclass
class Terminal:
    """The two streams of a command."""

    as_json: bool = False
    quiet: bool = False
    interrupted: int = 128 + signal.SIGINT
    """Exit code of a command that was told to stop: by Ctrl-C, unless it was another signal."""

    @property
    def for_people(self) -> bool:
        """Whether tables are printed at all; without, making them would only load what draws them."""
        return not self.as_json and not self.quiet

    def show(self, *renderables: Any) -> None:
        """Print tables and text for people."""
        if not self.for_people:
            return
        console = _console()
        for item in renderables:
            console.print(item, highlight=False)

    def line(self, text: str) -> None:
        """Print one line for people, never wrapped: paths stay whole."""
        if self.for_people:
            sys.stdout.write(f"{text}\n")

    def data(self, value: Any) -> None:
        """Print the result for programs, if that was asked for."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str) + "\n")

    def say(self, text: str) -> None:
        """Write a remark to standard error."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def loud(self, text: str) -> None:
        """Write what nobody should overlook to standard error."""
        self.tell(f"WARNING: {text}")

    def tell(self, text: str) -> None:
        """Write a sentence to standard error, broken between words where a line of a terminal ends."""
        import re
        import textwrap

        joined = re.sub(r"(?<=\d) (?=(?:%|[kMG]?W|s|min|h|d)\b|%)", "\0", text)  # a number stays with its unit
        filled = textwrap.fill(joined, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        self.say(filled.replace("\0", " "))

    def notes(self, notes: Iterable[tuple[str, str, int, str]], label: str = "") -> None:
        """Say what was dropped, repaired, rejected or kept on purpose: count, reason, an example cut to the width."""
        for action, reason, count, example in notes:
            self.say(f"{label + ': ' if label else ''}{action} {count:,}: {reason}")
            if example:
                self.say(f"  e.g. {example if len(example) <= WIDTH - 7 else example[: WIDTH - 8] + '…'}")

    def warm_up(self, policies: Sequence[Any] = (), *, nodes_change: bool = True) -> None:
        """Compile what a run needs if this machine never did, after saying so."""
        _skip_blas()
        from wattline.control.proven import on_probation
        from wattline.sim.warm import warm_up

        warm_up(policies, self.say, nodes_change=nodes_change)
        for line in on_probation(policies):
            self.say(line)

    @contextmanager
    def progress(self, what: str, keeping: str = ", and keeping what is done") -> Iterator[Callable[[int, int], None]]:
        """Yield a callback (done, total) that shows a bar; Ctrl-C and SIGTERM raise from it, so that the run stays whole."""
        meter = _Meter(what, shown=not self.quiet)
        with _signals("" if self.quiet else f"\nstopping{keeping} (Ctrl-C again to quit at once) ...\n") as got:

            def report(done: int, total: int) -> None:
                meter.update(done, total)
                if got and done < total:  # a run that is over was not interrupted
                    self.interrupted = 128 + got[0]
                    raise KeyboardInterrupt

            try:
                yield report
            finally:
                meter.close()


class _Meter:
    """A bar on a terminal, a line now and then elsewhere; nothing at all for what takes less than two seconds."""

    def __init__(self, what: str, *, shown: bool) -> None:
        self.what, self.shown = what, shown
        self.began = self.last = 0.0  # the first report starts the clock: what comes before it is no progress
        self.bar: Any = None
        self.task: Any = None

    def update(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.began:
            self.began = self.last = now
        if not self.shown or now - self.began < PROGRESS_AFTER_S:
            return
        if sys.stderr.isatty():
            self._draw(done, total)
        elif now - self.last >= LINE_EVERY_S:
            self.last = now
            sys.stderr.write(f"{self.what}: {done:,} of {total:,} ({100 * done // max(total, 1)} %)\n")

    def _draw(self, done: int, total: int) -> None:
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.what, total=total)
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


@contextmanager
def _signals(answer: str) -> Iterator[list[int]]:
    """Answer the first Ctrl-C or SIGTERM and yield a list that it gets into; a second one interrupts at once."""
    got: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield got
        return

    def handle(number: int, frame: Any) -> None:
        if got:
            signal.default_int_handler(number, frame)
        got.append(number)
        os.write(2, answer.encode())  # safe in a handler

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _console() -> Any:
    from rich.console import Console

    console = Console(soft_wrap=False)
    return Console(width=WIDTH) if not console.is_terminal or console.width > WIDTH else console
