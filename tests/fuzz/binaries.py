"""Formats that are not text: Parquet and SQLite, where the plain library says what a file holds; journals, which are
sealed.
"""

from __future__ import annotations

import gzip
import random
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from fuzz.changes import damage
from fuzz.judging import Wrong, attempt, plain
from fuzz.texts import TEXTS, Read, Row, Text, read_samples
from wattline.errors import InputError

READERS: dict[str, tuple[Text, Callable[[Path], Read]]] = {
    "table.parquet": (TEXTS["table"], TEXTS["table"].read),
    "samples.parquet": (TEXTS["samples"], read_samples),
    "samples.db": (TEXTS["samples"], read_samples),
}


def _frame(text: Text, rng: random.Random) -> pl.DataFrame:
    rows = text.draw(rng)
    texts = {"user", "node"}
    return pl.DataFrame(
        {name: [row[i] if name in texts else float(row[i]) for row in rows] for i, name in enumerate(text.columns)}
    )


def _write(frame: pl.DataFrame, path: Path, rng: random.Random) -> None:
    """Write a table with its columns in any order, packed in any way."""
    moved = frame.select(rng.sample(frame.columns, frame.width))
    if path.suffix == ".parquet":
        compression: Any = rng.choice(["uncompressed", "zstd", "snappy", "lz4", "gzip"])
        moved.write_parquet(
            path, compression=compression, row_group_size=rng.choice([None, 5]), statistics=rng.random() < 0.5
        )
        return
    base = sqlite3.connect(path)
    base.execute(f"CREATE TABLE power ({', '.join(moved.columns)})")
    base.executemany(f"INSERT INTO power VALUES ({','.join('?' * moved.width)})", moved.rows())  # noqa: S608
    base.commit()
    base.close()


def _says(path: Path, columns: tuple[str, ...]) -> list[Row] | None:
    """Return what the plain library finds in a file; None: nothing."""
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path, columns=list(columns), glob=False).select(columns).rows()
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return base.execute(f"SELECT {', '.join(columns)} FROM power").fetchall()  # noqa: S608
        finally:
            base.close()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, sqlite3.Error, OSError, ValueError):
        return None


def run_table(name: str, rng: random.Random, folder: Path) -> tuple[str, str]:
    """Judge one file of Parquet or SQLite, sound or damaged; return what was done to it and the verdict."""
    text, read = READERS[name]
    path = folder / f"x.{name.rpartition('.')[2]}"
    path.unlink(missing_ok=True)
    frame = _frame(text, rng)
    _write(frame, path, rng)
    how = "sound"
    if rng.random() < 0.8:
        how, content = damage(path.read_bytes(), rng)
        path.write_bytes(content)
    elif path.suffix == ".parquet" and name.startswith("table") and rng.random() < 0.3:
        how = "gzip"
        content = path.read_bytes()
        path.write_bytes(gzip.compress(content))
        found = attempt(read, path)
        path.write_bytes(content)
        return how, _verdict(found, path, text, sound=True)
    return how, _verdict(attempt(read, path), path, text, sound=how == "sound")


def _verdict(found: Any, path: Path, text: Text, *, sound: bool) -> str:
    if isinstance(found, InputError):
        if sound:
            raise Wrong(f"refused, though it is sound: {found}")
        return "refused"
    said = _says(path, text.columns)
    if said is None:
        raise Wrong(f"read {len(found.rows)} rows where the plain library finds nothing")
    if any(
        not isinstance(value, (str, int, float)) or value != value or abs(value) == float("inf")
        for row in said
        for value in row
        if not isinstance(value, str)
    ):
        return "repaired"  # values that are no numbers: the text formats judge those
    expected, rows = plain(said), plain(found.rows)
    missing, extra = (expected - rows).total(), (rows - expected).total()
    if extra > found.noted or missing > found.noted + found.dropped:
        raise Wrong(f"{list(rows - expected)[:3]} is not in the file, {list(expected - rows)[:3]} is")
    return "right" if not (missing or extra) else "repaired"


class Journals:
    """A journal whose tables are known: damaged ones must be refused, or not matter."""

    def __init__(self) -> None:
        import shutil

        from wattline.scenario import read_scenario, variants, wire

        self.home = tempfile.TemporaryDirectory(prefix="wattline-fuzz-")
        folder = Path(self.home.name)
        (folder / "s.toml").write_text(SCENARIO.replace("JOBS", "40"))
        study = wire(variants(read_scenario(folder / "s.toml"))[0])
        study.write(study.simulate(), folder / "whole")
        self.whole, self.copy = folder / "whole", folder / "copy"
        self.tables = _tables(self.whole)
        self._shutil = shutil

    def run(self, rng: random.Random) -> tuple[str, str]:
        """Damage one file of the journal and judge what is read."""
        self._shutil.rmtree(self.copy, ignore_errors=True)
        self._shutil.copytree(self.whole, self.copy)
        path = rng.choice(sorted(self.copy.glob("*.parquet")))
        how, content = damage(path.read_bytes(), rng)
        if content == path.read_bytes():
            how = "nothing"
        path.write_bytes(content)
        found = attempt(_tables, self.copy)
        if isinstance(found, InputError):
            return how, "refused"
        if found != self.tables:
            raise Wrong(f"{path.name}: a damaged table is read as something else")
        return how, "right"


def _tables(folder: Path) -> dict[str, Any]:
    from wattline.journal.journal import open_journal

    journal = open_journal(folder)
    return {name: journal.read(name).rows() for name in sorted(journal.frames)}


SCENARIO = """\
name = "fuzz"
seed = 3
[trace]
generator = "poisson"
jobs = JOBS
load = 0.9
type = [{name = "a", nodes = 2, mean = "2 h"}, {name = "b", nodes = 5, mean = "30 min"}]
[cluster]
nodes = 16
idle = "100 W"
max = "300 W"
[output]
report = false
"""
