"""Whom select policies start, written from their definitions; each works on the scheduler's own lists.

A rule takes the scheduler, whose queue is in order, and what happened. What it starts, runs at once.

Several node classes are lines of their own, unless they share a power limit: then there is one line, since a start on
one class takes watts from all. In it a job that lacks nodes keeps back those behind it of its class alone, and one that
lacks nothing but watts keeps back everybody behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reference.select_backfill import by_end, easy
from reference.select_conservative import conservative
from reference.select_reselect import reselect
from reference.select_window import window

if TYPE_CHECKING:
    from reference.scheduler import Scheduler


def in_order(m: Scheduler, _happened: set[str]) -> None:
    """The first job that does not fit blocks all behind it on its node class; for want of watts alone, all of all."""
    if m.shares_watts():
        blocked = set()
        for job in list(m.queue):
            if job.pool in blocked or job.nodes > len(m.free[job.pool]):
                blocked.add(job.pool)
            elif m.fits(job):
                m.start(job)
            else:
                return
        return
    for line in m.lines():
        for job in line:
            if not m.fits(job):
                break
            m.start(job)


def first_fit(m: Scheduler, _happened: set[str]) -> None:
    """Every waiting job that fits starts, in order; without shared watts one node class after the other."""
    for line in [list(m.queue)] if m.shares_watts() else m.lines():
        for job in line:
            if m.fits(job):
                m.start(job)


SELECTS: dict[str, Callable[[Scheduler, set[str]], None]] = {
    "in-order": in_order,
    "first-fit": first_fit,
    "easy": easy,
    "backfill-by-end": by_end,
    "conservative": conservative,
    "reselect": reselect,
    "window": window,
}
