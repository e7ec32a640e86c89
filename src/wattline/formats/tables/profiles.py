"""Power profiles on disk: what a learner has seen of every job and group, to begin the next run with.

A Parquet file with a row a profile: its level, the values of that level's columns as JSON, and the learner's floats.
The metadata name the learner and the levels.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wattline.arrays import Floats
from wattline.errors import InputError, TraceError
from wattline.files import write_whole
from wattline.learn.merging import MERGE
from wattline.model.profiles import ProfileTable
from wattline.reading.parquet import reading_parquet, refuse_long
from wattline.reading.source import PARQUET_MAGIC, read_bytes
from wattline.units import show_power

KEY = "wattline-profiles"
VERSION = 1


@dataclass(frozen=True)
class Profiles:
    """What a learner knows: a row of floats for each (level, values of its columns)."""

    learner: str
    levels: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[int, tuple[Any, ...]], ...]
    rows: Floats
    max_w: tuple[float, ...] = ()
    """What the nodes of the run drew at most, class by class, in which histograms are counted (empty: not known)."""

    def _same_nodes(self, max_w: tuple[float, ...]) -> None:
        if self.learner == "quantile" and self.max_w and max_w and self.max_w != max_w:
            raise InputError(
                f"profiles of {self.learner!r} are shares of what a node draws at most, and that was "
                f"{_watts(self.max_w)} "
                f"and is {_watts(max_w)}: they are of no use to other nodes"
            )

    def merge(self, later: Profiles) -> Profiles:
        """Return what both have seen, of which ``later`` came after."""
        if (self.learner, self.levels) != (later.learner, later.levels):
            raise InputError(
                f"profiles of {self.learner!r} by {_said(self.levels)} cannot be put together with those of "
                f"{later.learner!r} by {_said(later.levels)}"
            )
        self._same_nodes(later.max_w)
        put = MERGE[self.learner][1]
        rows = dict(zip(self.labels, self.rows, strict=True))
        for label, row in zip(later.labels, later.rows, strict=True):
            rows[label] = put(rows[label], row) if label in rows else row
        merged = np.array(list(rows.values())).reshape(len(rows), -1)
        max_w = later.max_w if self.max_w == later.max_w else ()
        return Profiles(self.learner, self.levels, tuple(rows), merged, max_w)

    def beside(self, others: Profiles | None) -> Profiles:
        """Return these and, as they are, those of ``others`` that are not among them."""
        if others is None:
            return self
        known = set(self.labels)
        more = [i for i, label in enumerate(others.labels) if label not in known]
        labels = (*self.labels, *(others.labels[i] for i in more))
        return replace(self, labels=labels, rows=np.vstack([self.rows, others.rows[more]]))

    def fill(self, table: ProfileTable, memory: Floats, max_w: tuple[float, ...] = ()) -> int:
        """Begin a learner's memory with these profiles, where the workload has them; return how many it had.

        ``max_w`` is what the nodes draw at most, class by class.
        """
        self._same_nodes(max_w)
        width = MERGE[self.learner][0]
        if self.levels != table.levels:
            raise InputError(f"profiles by {_said(self.levels)}, the run has {_said(table.levels)}")
        begin = memory.size - width * len(table)
        where = {label: i for i, label in enumerate(table.labels)}
        found = 0
        for label, row in zip(self.labels, self.rows, strict=True):
            if label in where:
                at = begin + width * where[label]
                memory[at : at + width] = row
                found += 1
        return found


def _said(levels: tuple[tuple[str, ...], ...]) -> str:
    return " > ".join("+".join(level) for level in levels)


def _watts(max_w: tuple[float, ...]) -> str:
    return " and ".join(show_power(watts) for watts in max_w)


def from_memory(learner: str, table: ProfileTable, memory: Floats, max_w: tuple[float, ...] = ()) -> Profiles:
    """Return what a learner knows at the end of a run; rows without a sample are left out."""
    if learner not in MERGE:
        raise InputError(f"profile policy {learner!r} keeps nothing that could be saved; {', '.join(MERGE)} do")
    width = MERGE[learner][0]
    rows = memory[memory.size - width * len(table) :].reshape(len(table), width)
    seen = np.asarray(rows.any(axis=1))
    labels = tuple(label for label, kept in zip(table.labels, seen.tolist(), strict=True) if kept)
    return Profiles(learner, table.levels, labels, rows[seen].copy(), max_w)


def write_profiles(path: Path, profiles: Profiles) -> None:
    """Write profiles; the file appears whole or not at all."""
    import polars as pl

    frame = pl.DataFrame(
        {
            "level": [level for level, _ in profiles.labels],
            "label": [json.dumps(values) for _, values in profiles.labels],
            "row": list(profiles.rows),
        },
        schema={"level": pl.Int64, "label": pl.String, "row": pl.List(pl.Float64)},
    )
    about = {"version": VERSION, "learner": profiles.learner, "levels": profiles.levels, "max_w": profiles.max_w}
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata={KEY: json.dumps(about)})
    write_whole(path, buffer.getvalue())


def read_profiles(path: Path) -> Profiles:
    """Read profiles that a run saved."""
    import polars as pl

    raw = read_bytes(path)
    problem = TraceError.at(path, "not a file of power profiles", hint="[profiles] save writes them")
    if not raw.startswith(PARQUET_MAGIC):
        raise problem
    try:
        with reading_parquet(path):
            told = pl.read_parquet_metadata(raw)
        about = json.loads(told[KEY])
        refuse_long(path, raw)
        with reading_parquet(path):
            frame = pl.read_parquet(raw)
        learner, levels = about["learner"], tuple(tuple(level) for level in about["levels"])
        max_w = tuple(float(watts) for watts in about.get("max_w", ()))
    except (TraceError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise problem from None
    if about.get("version") != VERSION or learner not in MERGE:
        raise TraceError.at(
            path, f"profiles of version {about.get('version')!r} by {learner!r}", hint="update Wattline"
        )
    width = MERGE[learner][0]
    if frame.columns != ["level", "label", "row"] or (frame.height and not (frame["row"].list.len() == width).all()):
        raise problem
    if any(frame[name].null_count() for name in frame.columns):
        raise TraceError.at(path, "holds profiles without a level, a label or numbers")
    labels = tuple(_label(path, levels, level, text) for level, text in frame.select("level", "label").iter_rows())
    rows = np.array(frame["row"].to_list(), dtype=np.float64).reshape(frame.height, width)
    if not np.isfinite(rows).all():
        raise TraceError.at(path, "holds values that are no numbers")
    if (rows < 0).any():
        raise TraceError.at(path, "holds negative counts or powers")
    return Profiles(learner, levels, labels, rows, max_w)


def _label(path: Path, levels: tuple[tuple[str, ...], ...], level: Any, text: Any) -> tuple[int, tuple[Any, ...]]:
    """Return whose profile a row is, if the file has such a level and every column of it a text or number."""
    try:
        values = json.loads(text)
        if 0 <= level < len(levels) and len(values) == len(levels[level]) and {type(v) for v in values} <= {str, int}:
            return level, tuple(values)
    except (ValueError, TypeError):
        pass
    raise TraceError.at(path, f"no such profile in {_said(levels)}: level {level}", field="label", value=text)
