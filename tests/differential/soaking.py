"""Worker processes that draw, run and compare worlds; the parent counts, shows progress and ends them."""

from __future__ import annotations

import multiprocessing
import queue
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from differential.drawing import family, policy_of, verdict, world
from differential.shrinking import SHRINK_S, as_test, smallest

REPORT_S = 0.5
"""Seconds between two reports of a worker."""

BEGIN_S = 240.0
"""Seconds that workers which have run nothing yet may take for their first worlds."""

STUCK_S = 600.0
"""Seconds after which a world that has not ended counts as one that never does; policies are compiled on first use in
them.
"""

BEFORE_SHARING = 40
"""First worlds of a family whose time does not count: what they compile would be held against it."""

QUIET_S = 30.0
"""Seconds between two progress lines where the output is no terminal."""


@dataclass
class Tally:
    """Worlds run so far, and what was found."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(family, policy) → worlds"""
    found: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    heard: dict[int, float] = field(default_factory=dict)
    """Worker → when it last reported."""
    at: dict[int, str] = field(default_factory=dict)
    """Worker → the world it began last, in words."""

    def total(self) -> int:
        """Return the number of worlds run."""
        return sum(self.counts.values())

    def rate(self) -> float:
        """Return worlds per second."""
        return self.total() / max(1e-9, time.monotonic() - self.began)


def work(me: int, workers: int, names: Sequence[str], first: int, stop: Any, reports: Any) -> None:
    """Run every ``workers``-th world of each family from ``first + me`` on until told to stop, one of each in any case.

    Families get equal time, not equal counts: a world of one may take as long as ten of another.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and tells
    sources = {name: family(name) for name in names}
    run, spent_s = Counter[str](), Counter[str]()
    counts: Counter[tuple[str, str]] = Counter()
    due = time.monotonic() + REPORT_S
    while len(run) < len(names) or not stop.is_set():
        name = min(names, key=lambda name: (name in run, spent_s[name]))
        source, number = sources[name], first + me + workers * run[name]
        begun_s = time.process_time()
        drawn = world(source, number)
        if time.monotonic() > due:
            reports.put((me, f"{name} {number}", counts, None))
            counts, due = Counter(), time.monotonic() + REPORT_S
        told = verdict(source, drawn)
        counts[name, policy_of(source, drawn)] += 1
        if told is not None:
            reports.put((me, f"{name} {number} (being shrunk)", counts, None))
            small = smallest(source, drawn)
            test = as_test(source, small, verdict(source, small) or told, number)
            reports.put((me, "", Counter(), f"{name} {number}: {told}\n\n{test}"))
            return
        if run[name] >= BEFORE_SHARING:
            spent_s[name] += time.process_time() - begun_s
        run[name] += 1
    reports.put((me, "", counts, None))


def soak(names: Sequence[str], first: int, seconds: float, workers: int) -> int:
    """Run worlds for a time; return 0 if no difference was found, otherwise 1 with each printed as a test."""
    context = multiprocessing.get_context("spawn")
    stop, reports, tally = context.Event(), context.Queue(), Tally()
    crew = [
        context.Process(target=work, args=(i, workers, names, first, stop, reports), daemon=True)
        for i in range(workers)
    ]
    for process in crew:
        process.start()
    deadline = tally.began + seconds
    shown = 0.0
    try:
        while time.monotonic() < deadline and not tally.found:
            hear(reports, tally, 0.2)
            for i, process in enumerate(crew):
                if not process.is_alive() and not tally.found:
                    hear(reports, tally, 1.0)
                    if not tally.found:
                        tally.found.append(f"worker {i} died ({process.exitcode}) on world {tally.at.get(i, '?')}")
            shown = show(tally, names, deadline, shown)
            complain_if_stuck(tally)
    except KeyboardInterrupt:
        pass
    stop.set()
    last = time.monotonic() + (SHRINK_S + 5.0 if tally.found else 10.0 if tally.total() else BEGIN_S)
    while any(process.is_alive() for process in crew) and time.monotonic() < last:
        hear(reports, tally, 0.2)
    while hear(reports, tally, 0.1):
        pass
    for process in crew:
        if process.is_alive():
            process.kill()
    return conclude(tally, names, first)


def hear(reports: Any, tally: Tally, patience_s: float) -> bool:
    """Take one report in, if there is one."""
    try:
        me, at, counts, found = reports.get(timeout=patience_s)
    except queue.Empty:
        return False
    tally.counts.update(counts)
    tally.heard[me], tally.at[me] = time.monotonic(), at
    if found is not None:
        tally.found.append(found)
    return True


def complain_if_stuck(tally: Tally) -> None:
    """Count a world that never ends as found."""
    for me, heard in tally.heard.items():
        if time.monotonic() - heard > STUCK_S:
            tally.found.append(f"a world does not end: {tally.at[me]} or one of the few behind it")


def show(tally: Tally, names: Sequence[str], deadline: float, shown: float) -> float:
    """Write a progress line of at most 80 columns, again and again in place on a terminal; return when that was."""
    now = time.monotonic()
    terminal = sys.stderr.isatty()
    if now - shown < (REPORT_S if terminal else QUIET_S):
        return shown
    parts = [f"{tally.total():,} worlds", f"{tally.rate():,.0f}/s", f"{max(0.0, deadline - now) / 60:.1f} min left"]
    parts += [f"{name} {sum(n for (f, _), n in tally.counts.items() if f == name):,}" for name in names]
    line = "  ".join(parts)[:80]
    sys.stderr.write(f"\r{line:<80}" if terminal else f"{line}\n")
    sys.stderr.flush()
    return now


def conclude(tally: Tally, names: Sequence[str], first: int) -> int:
    """Write how many worlds were run, of which policies, and what was found; return the exit code."""
    write = sys.stdout.write
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    took = time.monotonic() - tally.began
    write(f"{tally.total():,} worlds from number {first} on in {took / 60:.1f} min, {tally.rate():,.0f} a second\n")
    for name in names:
        mine = {policy: n for (f, policy), n in sorted(tally.counts.items()) if f == name}
        write(f"{name}: {sum(mine.values()):,}\n")
        for policy, n in mine.items():
            write(f"  {policy:<20}{n:>12,}\n")
    for found in tally.found:
        write(f"\nDIFFERENT  {found}\n")
    if not tally.total():
        write("no world was run in this time: give it more\n")
    elif not tally.found:
        write("engine and twins agree on all of them\n")
    return 1 if tally.found or not tally.total() else 0
