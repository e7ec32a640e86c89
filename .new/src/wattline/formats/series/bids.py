"""Tables of bids: what is promised from when on, made before a run by whoever made it, or taken from the journal of
one.

A row with ``time_s`` alone says that nothing is promised from then on. ``clock`` is for people: it is written where a
run has a calendar, and not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import InputError, TraceError
from wattline.files import write_whole
from wattline.formats.series.steps import TIME, number, read_steps
from wattline.model.regulation import Bid

if TYPE_CHECKING:
    from wattline.journal.journal import Journal

COLUMNS = (TIME, "mean_w", "reserve_w")
CLOCK = "clock"

Steps = list[tuple[float, Bid | None]]
"""Bids and the times, in seconds since the start of a run, from which they hold; None: out of the market."""


def read_bids(path: Path) -> Steps:
    """Read a CSV file with the columns ``time_s`` (since the start of the run), ``mean_w`` and ``reserve_w``, in order
    of time.
    """
    found: Steps = []
    for line, time_s, cells in read_steps(path, COLUMNS, ignored=(CLOCK,)):
        found.append((time_s, _bid(path, line, cells)))
    if all(bid is None for _, bid in found):
        raise TraceError.at(path, "there is no bid in it" + ("" if found else ", only a header line"))
    return found


def _bid(path: Path, line: int, cells: Sequence[str]) -> Bid | None:
    if not any(cells):
        return None
    mean_w, reserve_w = (number(path, line, name, cell) for name, cell in zip(COLUMNS[1:], cells, strict=True))
    try:
        return Bid(mean_w, reserve_w)
    except InputError as problem:
        raise TraceError.at(path, str(problem), line=line) from None


def write_bids(path: Path, bids: Sequence[tuple[float, Bid | None]], clock: Sequence[str] = ()) -> None:
    """Write such a file, with the times on a wall clock if they are given.

    Numbers are written so that reading gives the same.
    """
    lines = [",".join((*COLUMNS, CLOCK) if clock else COLUMNS)]
    for i, (time_s, bid) in enumerate(bids):
        cells = [repr(time_s), *(("", "") if bid is None else (repr(bid.mean_w), repr(bid.reserve_w)))]
        lines.append(",".join([*cells, *clock[i : i + 1]]))
    write_whole(path, ("\n".join(lines) + "\n").encode())


def journal_bids(journal: Journal) -> tuple[Steps, list[str]]:
    """Return the bids that held in a run, and the times on its wall clock (empty if it has none)."""
    events = journal.read("events", "time_s", "event", "value")
    mean, reserve = (events.filter(events["event"] == name) for name in ("bid", "reserve"))
    if mean["value"].drop_nulls().is_empty():
        raise TraceError(f"{journal.folder}: there is no bid in this run: it took part in no market")
    start_s = float(journal.manifest["start_s"])
    held: dict[float, Bid | None] = {}
    for time_s, mean_w, reserve_w in zip(mean["time_s"], mean["value"], reserve["value"], strict=True):
        held[time_s - start_s] = None if mean_w is None else Bid(mean_w, reserve_w)  # of two at once the last one held
    steps = list(held.items())
    about = journal.manifest.get("accounts") or {}
    if about.get("start_unix_s") is None:
        return steps, []
    from wattline.reading.calendar import clock_of

    return steps, clock_of(about["start_unix_s"] + np.array([time_s for time_s, _ in steps]), about["zone"])


def held_within(bids: Sequence[tuple[float, Bid | None]], from_s: float, until_s: float) -> Steps:
    """Return the bids of a stretch of time: the one that holds when it begins, those that follow before it ends, and
    the end of the last one where it is that of the stretch.
    """
    before = [bid for time_s, bid in bids if time_s <= from_s]
    first: Steps = [(from_s, before[-1])] if before and before[-1] is not None else []
    later = [step for step in bids if step[0] > from_s and (step[0] < until_s or step == (until_s, None))]
    return first + later
