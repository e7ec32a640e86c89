"""Samples that lie sensor by sensor → in the order of time, through temporary files and in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wattline.telemetry.sources.columns import Times
from wattline.telemetry.sources.part import Source

if TYPE_CHECKING:
    import polars as pl

SPILL = 1 << 22
"""Rows that are gathered before they go to disk."""
BUCKET = 1 << 20
"""Rows that are sorted together, about."""


class SortedSource:
    """Another source in the order of time: cut into spans of time on disk, each sorted when it is read."""

    def __init__(self, source: Source, time_unit: str | None = None) -> None:
        self.source, self.name, self.columns, self.rows = source, source.name, source.columns, source.rows
        self.time_unit = time_unit

    def batches(self, wanted: Sequence[str], time: str) -> Iterator[pl.DataFrame]:
        """Give the rows by time; those without a readable one come last."""
        import polars as pl

        times = Times(self.name, time, self.time_unit)
        least, most, rows = np.inf, -np.inf, 0
        for frame in self.source.batches([time], time):
            known = times.seconds(frame[time])
            known = known[np.isfinite(known)]
            rows += frame.height
            if known.size:
                least, most = min(least, float(known.min())), max(most, float(known.max()))
        edges = np.linspace(least, most, rows // BUCKET + 2)[1:-1] if rows and most > least else np.empty(0)
        with tempfile.TemporaryDirectory(prefix="wattline-sort-") as folder:
            self._spill(wanted, time, times, edges, Path(folder))
            for bucket in range(edges.size + 1):
                files = sorted(Path(folder).glob(f"{bucket}-*.parquet"))
                if files:
                    whole = pl.concat([pl.read_parquet(file) for file in files])
                    yield whole.sort("_seconds", maintain_order=True, nulls_last=True).drop("_seconds")

    def _spill(
        self,
        wanted: Sequence[str],
        time: str,
        times: Times,
        edges: np.ndarray[tuple[int], np.dtype[np.float64]],
        folder: Path,
    ) -> None:
        import polars as pl

        gathered: list[pl.DataFrame] = []
        number = 0
        for last, frame in _with_last(self.source.batches(wanted, time)):
            gathered.append(frame)
            if not last and sum(part.height for part in gathered) < SPILL:
                continue
            whole = pl.concat(gathered)
            seconds = times.seconds(whole[time])
            bucket = np.searchsorted(edges, np.where(np.isfinite(seconds), seconds, np.inf), side="right")
            marked = whole.with_columns(pl.Series("_seconds", seconds).fill_nan(None), pl.Series("_bucket", bucket))
            for (key,), part in marked.partition_by("_bucket", as_dict=True, include_key=False).items():
                part.write_parquet(folder / f"{key}-{number:06d}.parquet", compression="lz4")
            gathered, number = [], number + 1


def _with_last(frames: Iterator[pl.DataFrame]) -> Iterator[tuple[bool, pl.DataFrame]]:
    """Give every frame and whether it is the last."""
    before = next(frames, None)
    while before is not None:
        after = next(frames, None)
        yield after is None, before
        before = after
