"""What turns a run into accounts: prices on the run's clock, the hours that are billed, rows for the journal."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import InputError
from wattline.journal.frozen import digest
from wattline.market.bill import Bids, Book, bill_hours, columns_of, hour_edges
from wattline.market.hour import MOST_HOURS, Hour
from wattline.reading.calendar import clock_of, offset_at
from wattline.units import HOUR_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wattline.reading.notes import Note
    from wattline.wiring.result import Result


@dataclass(frozen=True)
class Clock:
    """Which wall clock a run is placed on: the Unix time of its beginning, and the zone in which hours are shown."""

    begin_unix_s: float
    zone: str

    @property
    def local_s(self) -> float:
        """Seconds of the wall clock at the run's beginning, as if it showed Universal Time."""
        return self.begin_unix_s + offset_at(self.begin_unix_s, self.zone)


@dataclass(frozen=True)
class Billing:
    """What turns a run into accounts: the book of prices on the run's clock, and which hours are billed (None: all)."""

    book: Book
    start_s: float
    hours: tuple[tuple[float, float], ...] | None = None
    clock: Clock | None = None
    about: dict[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was assumed of the clock."""

    def rows(self, result: Result, timeline: Mapping[str, Any]) -> list[Hour]:
        """Return the accounts of a run from its timeline, up to where it stopped."""
        begin_s, end_s = float(result.state.start_s[0]), float(result.state.now[0])
        if not begin_s < end_s:
            return []
        if end_s - begin_s > MOST_HOURS * HOUR_S:  # how long jobs take is known now
            told = f"accounts of {(end_s - begin_s) / HOUR_S:,.0f} hours would be kept, more than {MOST_HOURS:,}"
            raise InputError(f"prices: {told}; end the run earlier ([run] until), or leave prices out")
        billed = self.billed(end_s)
        more = [edge for span in billed or () for edge in span]
        edges = hour_edges(begin_s, end_s, self._anchor_s(billed), more)
        return bill_hours(
            np.asarray(timeline["time_s"]),
            np.asarray(timeline["power_w"]),
            edges,
            self.book,
            signal=result.options.signal,
            bids=bids_of(result),
            billed=billed,
        )

    def columns(self, result: Result, timeline: Mapping[str, Any]) -> dict[str, Any]:
        """Return the accounts as columns of the journal."""
        found = columns_of(self.rows(result, timeline))
        return found | {"clock": self._clock(found["start_s"])} if found else {}

    def billed(self, end_s: float) -> list[tuple[float, float]] | None:
        """Return the time of the billed hours that had ended by then, as spans; None where all time is billed."""
        if self.hours is None:
            return None
        spans: list[tuple[float, float]] = []
        for begin, end in self.hours:
            if end > end_s:
                break
            if spans and math.isclose(spans[-1][1], begin, rel_tol=1e-12, abs_tol=1e-6):
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((begin, end))
        return spans

    def manifest(self) -> dict[str, Any]:
        """Return it as plain values for the journal."""
        hours = None if self.hours is None else [list(span) for span in self.billed(math.inf) or ()]
        return self.about | {"billed": hours, "notes": [asdict(note) for note in self.notes], "sha256": self.sha256}

    @property
    def sha256(self) -> str:
        """Hash of all that turns power into money: prices, clock and billed hours."""
        return digest((self.book, self.start_s, self.hours, self.clock))

    def _anchor_s(self, billed: list[tuple[float, float]] | None) -> float:
        """Return a time at which the clock strikes: without a calendar where billing begins."""
        if self.clock is not None:
            return self.start_s - self.clock.local_s % HOUR_S
        return billed[0][0] if billed else self.start_s

    def _clock(self, start_s: Any) -> list[str]:
        if self.clock is None:
            return [""] * len(start_s)
        return clock_of(self.clock.begin_unix_s + (start_s - self.start_s), self.clock.zone)


def bids_of(result: Result) -> Bids | None:
    """Return the bids that were in force in a run, given or made by a policy; None if there was none."""
    from wattline.wiring.logs import bid_steps

    steps = bid_steps(*(result.logs[name] for name in ("ev_time_s", "ev_kind", "ev_value")))
    return Bids(*steps) if steps[0].size else None
