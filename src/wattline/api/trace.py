"""Jobs for a simulation: a log of any known format, a drawn workload, or a frame of your own."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.forked import refuse_forked
from wattline.api.frames import Frame
from wattline.api.plain import as_plain, in_python
from wattline.api.runs import check_switches
from wattline.errors import LONGEST_NAME, InputError, cut, shorten

if TYPE_CHECKING:
    import polars as pl

    from wattline.reading.notes import Note
    from wattline.reading.notes import Trace as Table

FRAME = "(frame "
"""How the file of jobs is called that are in memory; their hash follows."""


class Trace:
    """Jobs and where they come from. ``read_trace``, ``draw_trace`` and ``from_frame`` make one."""

    def __init__(self, section: Mapping[str, Any], *, name: str, table: Table | None = None, sha256: str = "") -> None:
        self.section = dict(section)
        """What a scenario's [trace] says of it."""
        self.name = name
        self._sha256 = sha256
        self._read: dict[int | None, Table] = {} if table is None else {None: table}

    @Frame
    def jobs(self) -> pl.DataFrame:
        """One row a job: ``job_id``, ``submit_s``, ``work_s`` (run time at full speed), ``nodes``, ``request_s``,
        ``user``, … (null: not known).

        Where power over the run of jobs is known, ``series_w`` is a list a job and ``series_step_s`` its step.
        """
        from wattline.formats.jobs.export import jobs_frame
        from wattline.reading.series_column import with_series

        jobs = self._table().jobs
        return with_series(jobs_frame(jobs), jobs.series)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped, repaired or kept on purpose when the jobs were read: action, reason, count, example."""
        return self._table().notes

    @property
    def nodes(self) -> int | None:
        """Size of the machine that the log says it came from (processors where jobs share nodes; None: it does not
        say).
        """
        return self._table().suggested_nodes

    @property
    def machine(self) -> str:
        """What the log says of its machine, in words."""
        found = self._table().machine
        return "" if found is None else found.words

    @property
    def epoch_unix_s(self) -> float | None:
        """Unix time of second 0 (None: not known)."""
        epoch_s = self._table().jobs.epoch_unix_s
        return None if math.isnan(epoch_s) else epoch_s

    @property
    def zone(self) -> str | None:
        """Zone of the log's clocks, as somebody said it (None: nobody did)."""
        table = self._table()
        return None if table.zone_assumed else table.zone

    def __len__(self) -> int:
        return len(self._table().jobs)

    def __repr__(self) -> str:
        if not self._read:
            return f"<Trace {self.name}, not read yet>"
        size = "" if self.nodes is None else f" of a machine of {self.nodes:,}"
        return f"<Trace {self.name}: {len(self):,} jobs{size}>"

    @property
    def is_read(self) -> bool:
        """Whether the jobs are in memory."""
        return bool(self._read)

    def as_log(self) -> Trace:
        """Return the same jobs as a log has them: of those that were drawn it is forgotten how, so that their gaps can
        be scaled.
        """
        if "generator" not in self.section:
            return self
        return from_frame(self.jobs, name=self.name, epoch_unix_s=self.epoch_unix_s, zone=self.zone)

    def handed(self, nodes: int | None) -> tuple[Table, str]:
        """Return the jobs for a machine of so many nodes, and the hash of their file: how a scenario asks for them."""
        table = self._table()
        if "file" in self.section and nodes is not None and _decides(table, nodes):
            if nodes not in self._read:
                self._read[nodes] = self._from_file(nodes)
            table = self._read[nodes]
        return table, self._sha256

    def _table(self) -> Table:
        if None not in self._read:
            refuse_forked()
            from wattline.scenario.sections.trace import file_sha256

            self._read[None] = self._from_file(None)
            self._sha256 = file_sha256(Path(self.section["file"]))
        return self._read[None]

    def _from_file(self, nodes: int | None) -> Table:
        from wattline.scenario.read.source import Source
        from wattline.scenario.read.validation import validate_as
        from wattline.scenario.sections.trace import TraceSpec, read_log

        typed: dict[tuple[str | int, ...], str] = {(key,): in_python(key, value) for key, value in self.section.items()}
        spec = validate_as(TraceSpec, self.section, Source("read_trace", overrides=typed, is_program=True))
        return read_log(spec, Path(self.section["file"]), nodes)


def _decides(table: Table, nodes: int) -> bool:
    """Tell whether so many nodes can decide that nodes, or processors, are what is scheduled: one of the header's two
    numbers does.
    """
    from wattline.reading.machine import header_number

    return nodes in [header_number(table.header.get(key, "")) for key in ("MaxNodes", "MaxProcs")]


def log_at(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002  (the word users type)
    cores_per_node: int | None = None,
    strict: bool = False,
    jobs: int | None = None,
    zone: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Trace:
    """Return the log in a file, which is read when its jobs are asked for."""
    if not isinstance(path, (str, Path)):
        raise InputError(f"read_trace: expected the path of a log, got {type(path).__name__}")
    check_switches("read_trace", strict=strict)
    given = {
        "file": str(path),
        "format": format,
        "cores_per_node": cores_per_node,
        "strict": strict or None,
        "jobs": jobs,
        "zone": zone,
        "columns": named_columns("read_trace", columns),
    }
    return Trace(
        {key: as_plain(value) for key, value in given.items() if value is not None}, name=trace_name(Path(path))
    )


def read_trace(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002  (the word users type)
    cores_per_node: int | None = None,
    strict: bool = False,
    zone: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Trace:
    """Read a job log of any format that ``wattline trace formats`` lists, or the folder of a journal.

    Parameters
    ----------
    path
        The file or folder.
    format
        Name of its format (default: by content).
    cores_per_node
        Processors of the log that make one node (default: as an SWF header and its jobs say).
    strict
        Refuse a log with records that would be dropped or repaired.
    zone
        Zone of the log's times where they are local, as those of ``sacct``, like ``"Europe/Paris"`` (default: they are
        taken as UTC).
    columns
        Makes any CSV or Parquet table a log: Wattline's name of a column → the table's own, with its unit after a
        colon where its values do not say it: ``{"submit_s": "submit", "request_s": "limit:h"}`` (docs/traces.md).
    """
    trace = log_at(path, format=format, cores_per_node=cores_per_node, strict=strict, zone=zone, columns=columns)
    trace._table()
    return trace


def named_columns(who: str, columns: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return which columns of a table are which, checked as far as that goes without the table."""
    if columns is None:
        return None
    from wattline.formats.jobs.table.columns import check_columns

    if not isinstance(columns, Mapping) or not all(isinstance(x, str) for pair in columns.items() for x in pair):
        told = 'expected a mapping of Wattline\'s names to the table\'s, like {"submit_s": "submit"}'
        raise InputError(f"{who}: columns: {told}, got {shorten(columns)}")
    try:
        check_columns(columns)
    except InputError as problem:
        raise InputError(f"{who}: columns: {problem}") from None
    return dict(columns) or None


def from_frame(
    frame: Any,
    *,
    name: str = "frame",
    epoch_unix_s: float | None = None,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    cores_per_node: int | None = None,
) -> Trace:
    """Make a trace of a polars or pandas frame, or of a mapping of columns.

    Parameters
    ----------
    frame
        Columns as in ``Trace.jobs``; ``submit_s``, ``work_s`` (or ``runtime_s``) and ``nodes`` must be there. Times are
        in seconds, powers in watts a node. ``series_w`` (power over time, a list a job) needs ``series_step_s``.
    name
        Name in reports.
    epoch_unix_s
        Unix time of second 0 (None: not known).
    strict
        Refuse rows that would be dropped or repaired.
    columns
        Which columns are which where they have other names, dates or other units, as for ``read_trace``. Times are
        then counted from the first submission where they are dates.
    zone
        Zone of local times among ``columns``, as for ``read_trace``; with ``epoch_unix_s`` that of the clocks of the
        log.
    cores_per_node
        As for ``read_trace``; it goes with ``columns``.
    """
    import polars as pl

    from wattline.formats.jobs import apart
    from wattline.reading.unix_times import MOST_EPOCH_S

    refuse_forked()
    if epoch_unix_s is not None and not (isinstance(epoch_unix_s, (int, float)) and abs(epoch_unix_s) < MOST_EPOCH_S):
        raise InputError(f"from_frame: epoch_unix_s is seconds since 1970, got {shorten(epoch_unix_s)}")
    check_switches("from_frame", strict=strict)
    name = as_plain(name)
    table = _polars(frame)
    if not table.columns:
        raise InputError("from_frame: the frame has no columns; a job table needs submit_s, work_s and nodes")
    texts = [column for column in table.columns if table[column].dtype in (pl.Enum, pl.Categorical)]
    plain = table.with_columns(pl.col(texts).cast(pl.String)) if texts else table
    epoch = {} if epoch_unix_s is None else {"epoch_unix_s": float(epoch_unix_s)}
    try:
        digest = hashlib.sha256(_text(plain).encode()).hexdigest()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError(f"from_frame: {_blamed(plain, _text)} holds no plain values") from None
    told = {"columns": named_columns("from_frame", columns), "zone": zone, "cores_per_node": cores_per_node}
    section = {
        "file": f"{FRAME}{digest[:16]})",
        **{key: as_plain(value) for key, value in told.items() if value is not None},
    }
    try:
        found = _jobs_of(plain, name, section, strict=strict, **epoch)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError):
        types = ", ".join(f"{one} ({_type_of(plain, one)})" for one in plain.columns)
        raise InputError(
            f"from_frame: a column is of a type that no number or name comes from: {cut(types, 200)}"
        ) from None
    return Trace(section, name=name, table=apart(found, name, strict=strict), sha256=digest)


def _jobs_of(frame: pl.DataFrame, name: str, section: Mapping[str, Any], *, strict: bool, **epoch: float) -> Table:
    """Return the jobs of a frame, whose columns may be told."""
    columns = section.get("columns")
    if columns is None:
        from wattline.formats.jobs.table.read import table_of

        if "cores_per_node" in section:
            raise InputError("from_frame: cores_per_node goes with columns, which say what the frame's own columns are")
        if "zone" in section and not epoch:
            raise InputError("from_frame: zone goes with epoch_unix_s, or with columns whose dates it is of")
        return table_of(frame, name, strict=strict, zone=section.get("zone"), **epoch)
    from wattline.formats.jobs.base import ReadOptions
    from wattline.formats.jobs.table.mapped import mapped_of
    from wattline.reading.calendar import check_zone

    zone = section.get("zone")
    if zone is not None:
        check_zone(zone)
    if epoch:
        raise InputError("from_frame: epoch_unix_s does not go with columns, whose dates say it; leave one out")
    return mapped_of(frame, name, columns, ReadOptions(strict, section.get("cores_per_node"), None, zone))


def _text(table: pl.DataFrame) -> str:
    """Return a frame as one text; power over time, which CSV cannot hold, as texts of its own."""
    import polars as pl

    from wattline.reading.series_column import COLUMN

    kind = table.schema.get(COLUMN)
    if isinstance(kind, pl.List | pl.Array):
        lists = table[COLUMN].cast(pl.List(kind.inner)).cast(pl.List(pl.String))
        table = table.with_columns(lists.list.eval(pl.element().fill_null("null")).list.join(" "))
    return table.with_columns(pl.col(pl.Duration).dt.total_nanoseconds()).write_csv()


def _polars(frame: Any) -> pl.DataFrame:
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if frame is None or isinstance(frame, (str, bytes)):
        raise _no_frame(frame)
    if isinstance(frame, Mapping) and any(_is_deep(values) for values in frame.values()):
        raise _no_frame(frame)  # Polars would be at it for minutes
    try:
        if isinstance(frame, pl.LazyFrame):
            return frame.collect()
        if isinstance(frame, Mapping):
            frame = {name: _as_floats(values) for name, values in frame.items()}
        made = pl.from_pandas(frame) if hasattr(frame, "iloc") else pl.DataFrame(frame)
    except (Exception, pl.exceptions.PanicException):  # each of them has its own
        raise _no_frame(frame) from None
    if not isinstance(made, pl.DataFrame):  # a single column of pandas
        raise _no_frame(frame)
    return made


def _is_deep(values: Any) -> bool:
    """Tell whether lists lie in lists of lists: a column holds values, or lists of them."""
    for _ in range(3):
        if not isinstance(values, (list, tuple)):
            return False
        values = next((value for value in values if value is not None), None)
    return isinstance(values, (list, tuple))


def _as_floats(values: Any) -> Any:
    """Return a plain list of whole numbers and others (NaN too) as floats; anything else as it is."""
    if not isinstance(values, (list, tuple)) or {type(value) for value in values} - {type(None)} != {int, float}:
        return values
    return [None if value is None else float(value) for value in values]


def _no_frame(frame: Any) -> InputError:
    """Return what is wrong with something that no frame could be made of: the column, where one is to blame."""
    told = f"expected a polars or pandas frame, or a mapping of columns, got {type(frame).__name__}"
    if isinstance(frame, Mapping):
        columns = {name: values for name, values in frame.items() if getattr(values, "shape", None) != ()}
        lengths = {name: len(values) for name, values in columns.items() if hasattr(values, "__len__")}
        name, other = next(((a, b) for a in lengths for b in lengths if lengths[a] != lengths[b]), (None, None))
        wrong = next((key for key in frame if not isinstance(key, str)), None)
        if wrong is not None:
            told = f"names of columns are texts, got {wrong!r}"
        elif name is not None:
            told = f"column {name!r} has {lengths[name]:,} values, {other!r} has {lengths[other]:,}"
        else:
            told = _mixed(frame, {key: {key: values} for key, values in frame.items()}) or told
    elif hasattr(frame, "iloc") and hasattr(frame, "columns"):
        names = [str(key) for key in frame.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            told = f"two columns are called {twice!r}"
        else:
            told = _mixed(frame, {name: frame.iloc[:, [i]] for i, name in enumerate(names)}) or told
    return InputError(f"from_frame: {told}")


def _mixed(frame: Any, alone: Mapping[str, Any]) -> str:
    """Return which column cannot be taken, if one cannot."""
    import polars as pl

    make: Callable[[Any], Any] = pl.from_pandas if hasattr(frame, "iloc") else pl.DataFrame
    for name, column in alone.items():
        try:
            make(column)
        except (Exception, pl.exceptions.PanicException):
            return f"column {name!r} holds values of several types, or of one that is neither number nor text"
    return ""


def _blamed(table: pl.DataFrame, use: Callable[[pl.DataFrame], object]) -> str:
    """Return the first column that cannot be used, with its type."""
    import polars as pl

    for name in table.columns:
        try:
            use(table.select(name))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return f"column {name!r} ({_type_of(table, name)})"
    return "a column"


def _type_of(table: pl.DataFrame, name: str) -> str:
    return table.schema[name].base_type().__name__


def draw_trace(generator: str, *, nodes: int | None = None, seed: int = 1, **keys: Any) -> Trace:
    """Draw a workload.

    Parameters
    ----------
    generator
        poisson, lublin, bursty, meggie-like, emmy-like or mira-like.
    nodes
        Size of the machine that it is for.
    seed
        Seed of all that is drawn.
    **keys
        Keys of [trace] in a scenario (docs/scenario.md): ``jobs``, ``load``, ``duration``, ``rate``, ``users``,
        ``type`` …
    """
    from wattline.scenario.documents import document
    from wattline.scenario.read.source import Source
    from wattline.scenario.traces import TraceCache

    told = {"generator": generator, **keys, "seed": seed, "nodes": nodes}  # whatever machine they run on later
    section = {key: as_plain(value) for key, value in told.items() if value is not None}
    data: dict[str, Any] = {"schema": 1, "name": generator, "trace": section}
    typed: dict[tuple[str | int, ...], str] = {("trace", key): in_python(key, value) for key, value in section.items()}
    table, _ = TraceCache().get(document(data, Source("draw_trace", overrides=typed, is_program=True)))
    return Trace(section, name=generator, table=table)


def trace_name(path: Path) -> str:
    """Return a trace's name without the endings that say how it is stored, such that a folder can have it."""
    whole = (path.resolve() if path.name in ("", "..") else path).name or "trace"
    name = whole
    for suffix in (".gz", ".swf", ".parquet", ".csv", ".txt"):
        name = name.removesuffix(suffix)
    readable = "".join(c if c.isprintable() and c != "\\" else "_" for c in name or whole)
    return readable[:LONGEST_NAME].strip() or "trace"
