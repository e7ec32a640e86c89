"""Series in Parquet whose columns are of other kinds than numbers, texts and dates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from wattline.errors import InputError
from wattline.formats.series.prices import Reading, read_held
from wattline.formats.series.signals import read_signal
from wattline.formats.series.steps import read_limits

N = 12
ODD = {
    "list": pl.Series([[1.0]] * N),
    "array": pl.Series([[1.0, 2.0]] * N, dtype=pl.Array(pl.Float64, 2)),
    "struct": pl.Series([{"a": 1}] * N),
    "binary": pl.Series([b"\xff\x00"] * N),
    "duration": pl.Series([dt.timedelta(hours=1)] * N),
    "date": pl.Series([dt.date(2022, 7, 1)] * N),
    "names": pl.Series(["a", "b"] * (N // 2), dtype=pl.Categorical()),
}
TABLE = {"time_s": [2.0 * i for i in range(N)], "value": [0.1 * (i % 5) for i in range(N)], "place": ["x"] * N}
READERS: dict[str, Callable[[Path], Any]] = {
    "prices": lambda path: read_held(path, Reading(column="value", where={"place": "x"})),
    "signal": lambda path: read_signal(path, column="value"),
    "limits": read_limits,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("odd", ODD)
def test_other_kinds_of_columns_are_one_line(tmp_path: Path, reader: str, odd: str) -> None:
    """Nothing but a number is a value, nothing but a time is a time: what else stands there is refused by name."""
    columns = ["time_s", "value", "place"] if reader == "prices" else ["time_s", "value"]
    for column in columns:
        table = pl.DataFrame(TABLE).select(columns).with_columns(ODD[odd].alias(column))
        table.write_parquet(tmp_path / "s.parquet")
        with pytest.raises(InputError) as caught:
            READERS[reader](tmp_path / "s.parquet")
        assert "\n" not in str(caught.value), column
        assert "s.parquet" in str(caught.value)


@pytest.mark.parametrize("kind", ["categorical", "enum"])
def test_categories_are_the_texts_that_they_stand_for(tmp_path: Path, kind: str) -> None:
    """Numbers as categories are these numbers, not the order in which a writer met them."""
    table = pl.DataFrame(TABLE).select("time_s", "value")
    path = tmp_path / "s.parquet"
    table.write_parquet(path)
    expected = read_signal(path)
    texts = table.select(pl.all().cast(pl.String))
    every = sorted({*texts["time_s"], *texts["value"]})
    texts.with_columns(pl.all().cast(pl.Categorical() if kind == "categorical" else pl.Enum(every))).write_parquet(path)
    found = read_signal(path)
    assert found.signal.values.tolist() == expected.signal.values.tolist()
    assert found.signal.step_s == expected.signal.step_s
    held = read_held(path)
    assert held.held.values.tolist() == expected.signal.values.tolist()
