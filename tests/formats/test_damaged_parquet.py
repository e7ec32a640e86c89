"""Parquet files on which the library panics: one line, and nothing of its own words on the terminal."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from wattline.errors import TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.series.signals import read_signal
from wattline.reading.parquet import reading_parquet, refuse_long


def test_a_panic_is_one_line_and_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    """What the library cries while it panics is not shown; the error says that the file is damaged."""

    def panic() -> None:
        with reading_parquet("x.parquet"):
            os.write(2, b"thread panicked at ...\n")
            raise pl.exceptions.PanicException("boom")

    with pytest.raises(TraceError, match=r"x\.parquet: not a whole Parquet file \(boom\)"):
        panic()
    assert capfd.readouterr().err == ""


def test_other_words_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """What is written to standard error while a sound file is read comes through."""
    with reading_parquet("x.parquet"):
        os.write(2, b"a warning\n")
    assert capfd.readouterr().err == "a warning\n"


def test_a_small_file_of_many_rows_is_refused_before_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of equal values is as small as a word; what counts are rows times columns, of those that are read."""
    path = tmp_path / "jobs.parquet"
    pl.select(a=pl.repeat(0.0, 200_000), b=pl.repeat(1.0, 200_000)).write_parquet(path)
    raw = path.read_bytes()
    assert len(raw) < 10_000
    monkeypatch.setenv("WATTLINE_UNPACKED_GB", "0.002")
    refuse_long(path, raw, ["a"])
    with pytest.raises(TraceError, match=r"jobs\.parquet: unpacks to more than 2 MB, .* set WATTLINE_UNPACKED_GB"):
        refuse_long(path, raw)
    for read in (read_trace, read_signal):
        with pytest.raises(TraceError, match="unpacks to more than 2 MB"):
            read(path)
