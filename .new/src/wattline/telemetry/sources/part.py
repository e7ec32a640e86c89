"""What a source of samples offers, and one file of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl


class Source(Protocol):
    """Samples as they are stored; ``rows`` of them, about, if that can be told."""

    name: str
    columns: list[str]
    rows: int | None

    def batches(self, wanted: Sequence[str], time: str) -> Iterator[pl.DataFrame]:
        """Give the wanted columns, a bounded number of rows at once."""
        ...


class Part(Source, Protocol):
    """One file of several; ``share``: it is read in pieces so many times smaller than if it were alone."""

    share: int

    def beginning(self, time: str) -> pl.Series:
        """Return the time from which on it has samples: one value, or none."""
        ...
