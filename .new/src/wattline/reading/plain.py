"""Columns of Parquet as readers take them: numbers, texts and dates; categories are texts, all else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattline.errors import TraceError

if TYPE_CHECKING:
    import polars as pl


def is_category(kind: pl.DataType) -> bool:
    """Tell whether a column holds texts that its writer numbered."""
    import polars as pl

    return isinstance(kind, pl.Categorical | pl.Enum)


def plain_column(path: Path | str, name: str, kind: pl.DataType) -> pl.Expr:
    """Return how a column is read; one that can hold neither numbers, texts nor dates is refused."""
    import polars as pl

    if is_category(kind):
        return pl.col(name).cast(pl.String)
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration, pl.Time):
        raise TraceError.at(path, f"column must hold numbers, texts or dates, not {kind}"[:200], field=name[:60])
    return pl.col(name)


def with_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which categories are the texts that they stand for."""
    import polars as pl

    named = [name for name, kind in frame.schema.items() if is_category(kind)]
    return frame.with_columns(pl.col(named).cast(pl.String)) if named else frame
