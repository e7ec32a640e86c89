"""A folder of files of samples as one source: files that follow each other in time, or lie side by side, or both.

Each file keeps its own order, so that what is late or has a wrong time in it stays so. Between files the *pace*
decides: how far in time a file has come, which single wrong times do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattline.telemetry.sources.columns import Times
from wattline.telemetry.sources.part import Part

if TYPE_CHECKING:
    import polars as pl

SMOOTH = 7
"""Samples in whose middle one lies to say how far a file has come."""
_PACE = "_pace"


class FolderSource:
    """Files of samples with the same columns."""

    def __init__(self, name: str, parts: list[Part]) -> None:
        self.name, self.parts, self.columns = name, parts, parts[0].columns
        self.rows: int | None = sum(part.rows or 0 for part in parts)

    def batches(self, wanted: Sequence[str], time: str) -> Iterator[pl.DataFrame]:
        """Give rows by the pace of the files; a file is opened when the others have come to where it begins."""
        times = Times(self.name, time, None)
        begins = [times.seconds(part.beginning(time)) for part in self.parts]
        # a file without times has samples all the same, each of them a fault
        known = [float(begin[0]) if begin.size and np.isfinite(begin[0]) else -np.inf for begin in begins]
        closed = sorted(range(len(known)), key=lambda i: (known[i], i), reverse=True)
        running: list[tuple[pl.DataFrame, Iterator[pl.DataFrame]]] = []
        while closed or running:
            reach = min((float(frame[_PACE][-1]) for frame, _ in running), default=-np.inf)
            if not running or (closed and known[closed[-1]] <= reach):
                reach = known[closed[-1]] if closed and not running else reach
                self._open([closed.pop() for i in closed[::-1] if known[i] <= reach], running, wanted, time, times)
                continue
            reach = min(reach, known[closed[-1]]) if closed else reach
            ready, running = _advance(running, reach, time, times)
            if ready.height:
                yield ready.drop(_PACE)

    def _open(
        self,
        which: list[int],
        running: list[tuple[pl.DataFrame, Iterator[pl.DataFrame]]],
        wanted: Sequence[str],
        time: str,
        times: Times,
    ) -> None:
        for i in which:
            self.parts[i].share = len(running) + len(which)
            stream = self.parts[i].batches(wanted, time)
            frame = next(stream, None)
            if frame is not None:
                running.append((_paced(frame, time, times), stream))


def _advance(
    running: list[tuple[pl.DataFrame, Iterator[pl.DataFrame]]], reach: float, time: str, times: Times
) -> tuple[pl.DataFrame, list[tuple[pl.DataFrame, Iterator[pl.DataFrame]]]]:
    """Return the rows of open files up to a pace, and the files with what is left of them."""
    import polars as pl

    ready, left = [], []
    for frame, stream in running:
        cut = int(np.searchsorted(frame[_PACE].to_numpy(), reach, side="right"))
        ready.append(frame.head(cut))
        rest: pl.DataFrame | None = frame.slice(cut)
        if rest is not None and not rest.height:
            more = next(stream, None)
            rest = None if more is None else _paced(more, time, times)
        if rest is not None:
            left.append((rest, stream))
    return pl.concat(ready).sort(_PACE, maintain_order=True), left


def _paced(frame: pl.DataFrame, time: str, times: Times) -> pl.DataFrame:
    """Add how far a file has come in each of its rows: it never falls, and single wrong times do not change it."""
    import polars as pl

    seconds = pl.Series(_PACE, times.seconds(frame[time])).fill_nan(None)
    middle = seconds.rolling_median(SMOOTH, center=True, min_samples=1)
    return frame.with_columns(middle.forward_fill().fill_null(-np.inf).cum_max().alias(_PACE))
