"""What a command says: results on standard output, everything else on standard error, and only as much as was asked
for.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from wattline.api.listener import Listener, Meter, stop_signals
from wattline.cli.apart import results
from wattline.finite import to_finite

WIDTH = 80

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else, on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


@dataclass
class Terminal(Listener):
    """The two streams of a command."""

    as_json: bool = False
    quiet: bool = False
    interrupted: int = 128 + signal.SIGINT
    """Exit code of a command that was told to stop: by Ctrl-C, unless it was another signal."""
    stops: list[int] = field(default_factory=list)
    """Ctrl-C and SIGTERM that came so far, by their numbers."""

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
        """Print the result for programs, if that was asked for: null where there is no finite number."""
        if self.as_json:
            results().write(json.dumps(to_finite(value), ensure_ascii=False, allow_nan=False, default=str) + "\n")

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

    def warm_up(self, policies: Sequence[Any] = (), *, nodes_change: bool | None = True) -> None:
        """Compile what a run needs and this machine has not compiled yet, after saying so."""
        from wattline.control.users.proven import on_probation
        from wattline.sim.warm import skip_blas, warm_up

        if any(not m.builtin for m in policies):
            skip_blas()  # theirs are compiled here
        meter = Meter("compiling", shown=not self.quiet)
        try:
            warm_up(policies, self.say, meter.update, nodes_change=nodes_change)
        finally:
            meter.close()
        for line in on_probation(policies):
            self.say(line)

    @contextmanager
    def progress(
        self, what: str, keeping: str = ", and keeping what is done", again: str = "quit at once"
    ) -> Iterator[Callable[[int, int], None]]:
        """Yield a callback (done, total) that shows a bar.

        Ctrl-C and SIGTERM raise from it, so that the run stays whole. A second one interrupts at once; ``again`` says
        what comes of it.
        """
        meter = Meter(what, shown=not self.quiet)
        told = f"\nstopping{keeping} (Ctrl-C again to {again}) ...\n"
        with stop_signals("" if self.quiet else told, self.stops) as got:

            def report(done: int, total: int) -> None:
                meter.update(done, total)
                if got and done < total:  # a run that is over was not interrupted
                    self.interrupted = 128 + got[0]
                    raise KeyboardInterrupt

            try:
                yield report
            finally:
                meter.close()

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Let what was simulated be written where Ctrl-C or SIGTERM comes; a second one interrupts at once."""
        told = "\nfinishing what was simulated (Ctrl-C again to quit at once) ...\n"
        with stop_signals("" if self.quiet else told, self.stops):
            yield

    @contextmanager
    def meter(self, what: str) -> Iterator[Callable[[float, float], None]]:
        """Yield a callback (done, total) that shows a bar; Ctrl-C interrupts at once, for all that is done is kept."""
        meter = Meter(what, shown=not self.quiet)
        try:
            yield meter.update
        finally:
            meter.close()


def _console() -> Any:
    from rich.console import Console

    console = Console(soft_wrap=False)
    return Console(width=WIDTH) if not console.is_terminal or console.width > WIDTH else console
