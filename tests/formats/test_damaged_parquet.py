"""Parquet files on which the library panics: one line, and nothing of its own words on the terminal."""

from __future__ import annotations

import os

import polars as pl
import pytest

from wattline.errors import TraceError
from wattline.reading.parquet import reading_parquet


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
