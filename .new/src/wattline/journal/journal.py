"""The journal: the folder of Parquet files and one manifest that every run leaves, and everything reports are made of.

A journal is written once, whole: into a hidden sibling folder that is renamed at the end, so that a folder with a
manifest is always complete. ``SCHEMA`` says what every column means; the documentation prints it.
"""

from __future__ import annotations

import functools
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wattline.errors import TraceError
from wattline.files import is_read_only, open_regular, read_regular
from wattline.journal import swap as journal_swap
from wattline.journal.schema import EVENTS, SCHEMA, STATUSES, Column
from wattline.journal.seal import KEY, SEAL, check_manifest, check_seal, seal, sealed
from wattline.journal.unfinished import is_unfinished

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "BASELINE",
    "EVENTS",
    "REPORT",
    "SCHEMA",
    "STATUSES",
    "VERSION",
    "Coded",
    "Column",
    "Journal",
    "collect",
    "in_memory",
    "is_journal",
    "open_journal",
    "read_manifest",
    "tidy",
    "to_frame",
    "write_journal",
]

VERSION = 1
"""Version of the layout that this Wattline writes; it is 1 until the first release."""

MANIFEST = journal_swap.MANIFEST
REPORT = "report.html"
BASELINE = "baseline"
"""Names inside a journal of its report and of the journal that it is held against.

Both are dropped when it is written anew.
"""

_OWN = frozenset({*(f"{name}.parquet" for name in SCHEMA), MANIFEST, REPORT, BASELINE})


class Coded(NamedTuple):
    """A text column given as codes into names, so that a million rows need no million strings; -1 is ``""``."""

    codes: npt.NDArray[np.integer[Any]]
    names: Sequence[str]


@dataclass(frozen=True)
class Journal:
    """An opened journal: lazily scanned frames (columns as in ``SCHEMA``) and the manifest."""

    folder: Path
    manifest: dict[str, Any]
    frames: Mapping[str, pl.LazyFrame]

    @property
    def jobs(self) -> pl.LazyFrame:
        """One row a job of the trace."""
        return self.frames["jobs"]

    @property
    def placements(self) -> pl.LazyFrame:
        """One row per contiguous range of nodes that a job held."""
        return self.frames["placements"]

    @property
    def events(self) -> pl.LazyFrame:
        """Everything that happened, in order."""
        return self.frames["events"]

    @property
    def timeline(self) -> pl.LazyFrame:
        """The state of the machine as a step function of time."""
        return self.frames["timeline"]

    @property
    def decisions(self) -> pl.LazyFrame:
        """What the policies proposed and what became of it."""
        return self.frames["decisions"]

    @property
    def classes(self) -> pl.LazyFrame:
        """Energy and node-seconds per node class."""
        return self.frames["classes"]

    @property
    def hours(self) -> pl.LazyFrame:
        """Energy, money and carbon hour by hour; empty where nothing has a price."""
        return self.frames["hours"]

    def read(self, name: str, *columns: str) -> pl.DataFrame:
        """Load columns of a frame (all of them by default); damaged pages become one clear line."""
        frame = self.frames[name]
        return collect(frame.select(columns) if columns else frame, self.folder / f"{name}.parquet")


def collect(frame: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Run a query on a frame of a journal; ``path`` names the file when its pages cannot be read."""
    import polars as pl

    try:
        return frame.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TraceError.at(path, f"cannot be read: {_first_line(error)}", hint="run the scenario again") from error


def write_journal(folder: Path, frames: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Write a journal; ``frames`` maps each name of ``SCHEMA`` to a DataFrame or to columns (arrays or ``Coded``).

    Where a column may be null, NaN and (for integers) -1 mean null. ``{}`` writes an empty table. Versions and the time
    of writing are added to the manifest. A journal already there is replaced; any other folder with content is refused.
    What a run needs to be resumed is dropped, unless the manifest says that this one can be.
    """
    import polars as pl

    target = Path(folder).resolve()
    _check_replaceable(target, Path(folder))
    _check_names(frames)
    temporary = journal_swap.beside(target)
    tidy(target)
    try:
        with journal_swap.writing(temporary):
            temporary.mkdir(parents=True)
            rows = {}
            for name, columns in SCHEMA.items():
                table = to_frame(name, frames[name], columns)
                # lz4 costs a third of zstd to write and half to read back; small row groups keep both cores busy.
                table.write_parquet(
                    temporary / f"{name}.parquet", compression="lz4", statistics=True, row_group_size=1 << 17
                )
                rows[name] = table.height
            told = _told(manifest) | {KEY: seal(temporary, rows)}
            text = json.dumps(sealed(told), indent=1, ensure_ascii=False)
            (temporary / MANIFEST).write_text(text + "\n", encoding="utf-8")
            journal_swap.swap(temporary, target, _OWN)
    except (OSError, pl.exceptions.ComputeError) as error:  # polars tells of a full disk in either way
        raise TraceError.at(
            folder, f"cannot be written: {_why(error, temporary)}", hint="give another folder"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def in_memory(frames: Mapping[str, Any], manifest: Mapping[str, Any]) -> Journal:
    """Return the journal that ``write_journal`` would write, without writing it."""
    _check_names(frames)
    return Journal(Path("(not written yet)"), _told(manifest), _Tables(frames))


class _Tables(Mapping[str, "pl.LazyFrame"]):
    """Tables of a journal in memory, each made when it is asked for: most runs of a study are only summed up."""

    def __init__(self, frames: Mapping[str, Any]) -> None:
        self._given = frames
        self._made: dict[str, pl.LazyFrame] = {}

    def __getitem__(self, name: str) -> pl.LazyFrame:
        if name not in self._made:
            self._made[name] = to_frame(name, self._given[name], SCHEMA[name]).lazy()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SCHEMA)

    def __len__(self) -> int:
        return len(SCHEMA)


def _told(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with versions and the time, as JSON holds it."""
    own = {key: value for key, value in manifest.items() if key not in (KEY, SEAL)}
    return dict(_plain(_versions() | own | {"journal": VERSION}))


_PROBE_BYTES = 1 << 20
"""What is written to see whether a disk takes anything."""


def _why(error: Exception, temporary: Path) -> str:
    """Return what the system says, without the name that only we gave the folder."""
    told = re.search(r"([^:]+) \(os error \d+\)", str(error))
    if told is not None:
        return told[1].strip()
    if not isinstance(error, OSError):  # polars does not tell what the system said: ask it
        try:
            (temporary / "probe").write_bytes(bytes(_PROBE_BYTES))
        except OSError as problem:
            return problem.strerror or str(problem)
    return getattr(error, "strerror", None) or _first_line(error).replace(str(temporary), "the new journal")


def open_journal(folder: Path) -> Journal:
    """Open a journal: check version, columns and checksums of the tables, which are scanned lazily."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    frames = {name: _scan(folder / f"{name}.parquet") for name in SCHEMA if (folder / f"{name}.parquet").exists()}
    journal = Journal(folder, manifest, frames)
    for name, columns in SCHEMA.items():
        _check_columns(journal, name, columns)
    check_seal(folder, manifest, SCHEMA)
    return journal


def is_journal(folder: Path) -> bool:
    """Tell whether a folder holds a journal of any version."""
    try:
        manifest = json.loads(read_regular(Path(folder) / MANIFEST))
    except PermissionError as problem:  # it is there: who does not know what it is must not overwrite it
        raise TraceError.at(Path(folder) / MANIFEST, f"cannot be read ({problem.strerror})") from None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and "journal" in manifest


def to_frame(name: str, data: Any, columns: Sequence[Column]) -> pl.DataFrame:
    """Return a frame with exactly the columns of the schema, in its dtypes."""
    import polars as pl

    given: Mapping[str, Any] = {c: data[c] for c in data.columns} if isinstance(data, pl.DataFrame) else data
    if not given:
        return _empty(name)
    missing = [c.name for c in columns if c.name not in given]
    if missing:
        raise TraceError(f"journal frame {name!r}: column {missing[0]!r} is missing")
    series = [_to_series(name, column, given[column.name]) for column in columns]
    if len({len(s) for s in series}) > 1:
        lengths = ", ".join(f"{s.name} {len(s)}" for s in series)
        raise TraceError(f"journal frame {name!r}: columns differ in length: {lengths}")
    return pl.DataFrame(series)


@functools.cache
def _empty(name: str) -> pl.DataFrame:
    """Return a table without rows."""
    import polars as pl

    return pl.DataFrame([_to_series(name, column, ()) for column in SCHEMA[name]])


def _nulls(series: pl.Series, dtype: str) -> pl.Series:
    """Return a column with nulls where NaN and -1 stand for them."""
    import polars as pl

    if dtype == "str":
        return series
    if dtype == "f64":
        return pl.Series(series.name, series.to_numpy(), nan_to_null=True)
    if series.null_count() or int(series.to_numpy().min(initial=0)) < 0:
        return series.to_frame().select(pl.when(pl.first() >= 0).then(pl.first())).to_series()
    return series


def _to_series(frame: str, column: Column, values: Any) -> pl.Series:
    import polars as pl

    dtype = {"i64": pl.Int64, "f64": pl.Float64, "str": pl.String}[column.dtype]
    if isinstance(values, Coded):
        # The empty text is put at the end, where code -1 finds it.
        names = pl.Series([*values.names, ""], dtype=pl.String)
        given = np.asarray(values.codes)
        codes = np.where(given < 0, len(values.names), given)
        values = names[codes]
    elif len(values) == 0:
        return pl.Series(column.name, [], dtype=dtype)
    try:
        series = pl.Series(column.name, values)
        series = series if series.dtype == dtype else series.cast(dtype)
    except (pl.exceptions.PolarsError, TypeError) as error:
        problem = f"not {column.dtype}: {_first_line(error)}"
        raise TraceError(f"journal frame {frame!r}: column {column.name!r} is {problem}") from error
    if series.null_count() and not column.null:
        raise TraceError(f"journal frame {frame!r}: column {column.name!r} must not hold nulls")
    return _nulls(series, column.dtype) if column.null else series


def _check_names(frames: Mapping[str, Any]) -> None:
    for name in SCHEMA:
        if name not in frames:
            raise TraceError(f"journal: frame {name!r} is missing (give {{}} for an empty one)")
    for name in frames:
        if name not in SCHEMA:
            raise TraceError(f"journal: unknown frame {name!r}; known: {', '.join(SCHEMA)}")


def _check_replaceable(target: Path, shown: Path) -> None:
    if target.exists() and not target.is_dir():
        raise TraceError.at(shown, "is a file, not a folder", hint="give another folder for the journal")
    if target.is_dir() and any(target.iterdir()) and not is_journal(target) and not is_unfinished(target):
        raise TraceError.at(
            shown, "holds files that are no journal, so it is not overwritten", hint="give another folder"
        )
    if is_read_only(target):
        hint = "allow it (chmod u+w), or give another folder"
        raise TraceError.at(shown, "is read-only, so it is not overwritten", hint=hint)


def tidy(folder: Path) -> None:
    """Finish what a process left half-way that was killed while it wrote this journal."""
    journal_swap.tidy(Path(folder), _OWN)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a journal; what is no journal, or a newer one, is refused."""
    folder = Path(folder)
    path = folder / MANIFEST
    if not folder.is_dir():
        raise TraceError.at(folder, "no such folder" if not folder.exists() else "is a file; a journal is a folder")
    if not path.exists():
        if is_unfinished(folder):
            raise TraceError.at(
                folder, "holds a run that was cut off", hint=f"`wattline report {folder}` makes its journal"
            )
        raise TraceError.at(
            folder, f"not a journal: it has no {MANIFEST}", hint="give the folder that `wattline run` wrote"
        )
    try:
        manifest = json.loads(read_regular(path))
    except OSError as problem:
        raise TraceError.at(path, f"cannot be read ({problem.strerror or problem})") from None
    except (ValueError, RecursionError) as error:
        raise TraceError.at(path, f"is not JSON: {_first_line(error)}", hint="run the scenario again") from error
    version = manifest.get("journal") if isinstance(manifest, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TraceError.at(path, "must be a version number", field="journal", value=version, hint="is it a journal?")
    if version > VERSION:
        raise TraceError.at(
            path,
            f"written by a newer Wattline; this one reads {VERSION}",
            field="journal",
            value=version,
            hint="update Wattline",
        )
    check_manifest(path, manifest)
    return dict(manifest)


def _scan(path: Path) -> pl.LazyFrame:
    import polars as pl

    try:
        try:
            open_regular(path).close()
        except PermissionError as refused:
            raise TraceError.at(path, f"cannot be read ({refused.strerror})") from None
        frame = pl.scan_parquet(path)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = f"not a whole Parquet file: {_first_line(error)}"
        raise TraceError.at(path, problem, hint="it may be cut off; run the scenario again") from error
    return frame


def _check_columns(journal: Journal, name: str, columns: Sequence[Column]) -> None:
    import polars as pl

    path = journal.folder / f"{name}.parquet"
    if name not in journal.frames:
        raise TraceError.at(path, "missing from the journal", hint="run the scenario again")
    found = journal.frames[name].collect_schema()
    for column in columns:
        if column.name not in found:
            raise TraceError.at(path, "column is missing", field=column.name, hint=f"found: {', '.join(found)}")
        kind = found[column.name]
        right = {"i64": kind.is_integer(), "f64": kind.is_float(), "str": kind == pl.String}[column.dtype]
        if not right:
            raise TraceError.at(path, f"column must be {column.dtype}", field=column.name, value=str(kind))


def _versions() -> dict[str, Any]:
    return _installed() | {"created": datetime.now(UTC).isoformat(timespec="seconds")}


@functools.cache
def _installed() -> dict[str, str]:
    """Return the versions that a manifest names; a process asks once."""
    import platform
    from importlib.metadata import version

    from wattline.version import __version__

    return {
        "wattline": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in ("numba", "numpy", "polars")},
    }


def _plain(value: Any) -> Any:
    """Return JSON-able data: numpy scalars and arrays unwrapped, what is not a finite number as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
