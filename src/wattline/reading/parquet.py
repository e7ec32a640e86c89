"""Reading Parquet that may be damaged: whatever the library makes of it, a user sees one line."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from wattline.errors import TraceError
from wattline.reading.source import bounds, refuse_large

_ONE = threading.Lock()
"""Standard error is the whole process's: one thread at a time lends it."""


@contextmanager
def reading_parquet(path: Path | str, hint: str = "it may be cut off") -> Iterator[None]:
    """Turn everything that reading a damaged file ends in into one error.

    The library's own cries are not shown then.
    """
    import polars as pl

    try:
        with _cries_held_back():
            yield
    except (pl.exceptions.PolarsError, OSError, ValueError, OverflowError, pl.exceptions.PanicException) as problem:
        first = (str(problem).splitlines() or ["?"])[0][:200]
        raise TraceError.at(path, f"not a whole Parquet file ({first})", hint=hint) from None


def refuse_long(path: Path | str, raw: bytes, columns: Collection[str] | None = None) -> None:
    """Refuse a table of more numbers than are read (see ``bounds``), before memory is taken for them: a column of equal
    values is as small as a word.
    """
    import polars as pl

    with reading_parquet(path):
        names = pl.read_parquet_schema(raw)
        rows = int(pl.scan_parquet(raw).select(pl.len()).collect().item())
    wanted = len(names) if columns is None else len(names.keys() & set(columns))
    refuse_large(path, _NUMBER * float(rows) * wanted, bounds()[0])


_NUMBER = 8
"""Bytes of a number; a text, or a list, takes more."""


@contextmanager
def _cries_held_back() -> Iterator[None]:
    """Keep what is written to standard error, and write it after all unless a panic ended the reading."""
    import polars as pl

    with _ONE, tempfile.TemporaryFile() as held:
        try:
            sys.stderr.flush()
            before = os.dup(2)
        except (OSError, ValueError, AttributeError):  # nobody listens
            yield
            return
        os.dup2(held.fileno(), 2)
        panic = False
        try:
            yield
        except pl.exceptions.PanicException:
            panic = True
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)
            if not panic and held.seek(0, os.SEEK_END):
                held.seek(0)
                with os.fdopen(os.dup(2), "wb") as shown:
                    shutil.copyfileobj(held, shown)
