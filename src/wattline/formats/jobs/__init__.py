"""Disk ↔ model: job logs, synthetic workloads, regulation signals, prices and journals.

========  ==========================================================  ==================================
format    what                                                        reader
========  ==========================================================  ==================================
swf       Standard Workload Format (plain or gzip)                    ``formats.jobs.swf.read_swf``
sacct     Slurm accounting dump (``sacct --parsable2``)               ``formats.jobs.sacct.read_sacct``
table     Parquet or CSV with columns as in ``JobTable``; a journal   ``formats.jobs.table.read_table``
krc       the R package hpcwld's CSV layouts                          ``formats.jobs.krc.read_krc``
pm100     PM100, jobs of Marconi100 with power (Parquet)              ``formats.jobs.pm100.read_pm100``
rrze      jobs of emmy and meggie with power (text)                   ``formats.jobs.rrze.read_rrze``
========  ==========================================================  ==================================

Signals: ``formats.series.signals.read_signal``, ``generate.signal.generate_signal``; prices:
``formats.series.prices.read_held``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wattline.errors import InputError, TraceError, did_you_mean
from wattline.formats.jobs.info import trace_info
from wattline.reading.notes import Note, Trace

__all__ = ["FORMATS", "Note", "Trace", "guess_format", "read_trace", "trace_info"]

FORMATS = ("swf", "sacct", "table", "krc", "pm100", "rrze")


def read_trace(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002  (the word users type)
    strict: bool = False,
    cores_per_node: int | None = None,
    nodes: int | None = None,
) -> Trace:
    """Read a job log of any known format; without ``format`` it is told by the file's content.

    ``cores_per_node`` matters where a log counts processors: always in SWF (default: as its header says), in Slurm
    dumps without a column of nodes (default: 1). ``nodes`` are those of the machine that the jobs are for, where they
    are known already.
    """
    if format is not None:
        return _with_twins(_read(path, format, strict=strict, cores_per_node=cores_per_node, nodes=nodes))
    kind, raw = _guess(path)
    try:
        return _with_twins(_read(path, kind, strict=strict, cores_per_node=cores_per_node, nodes=nodes, raw=raw))
    except TraceError as problem:
        raise TraceError(f"{problem}; taken for {kind} by its content").about(
            problem.file, problem.line, problem.field, problem.value
        ) from None


def _with_twins(trace: Trace) -> Trace:
    """Mention job numbers that several jobs have: in the journal only their order tells these apart."""
    import numpy as np

    numbers = trace.jobs.job_id
    ordered = np.sort(numbers)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not again.size:
        return trace
    note = Note(
        "kept",
        "another job has the same number: the journal's tables cannot tell them apart",
        int(again.size),
        f"job {again[0]}",
    )
    return replace(trace, notes=(*trace.notes, note))


def _read(
    path: Path | str,
    kind: str,
    *,
    strict: bool,
    cores_per_node: int | None,
    nodes: int | None,
    raw: bytes | None = None,
) -> Trace:
    if kind == "swf":
        from wattline.formats.jobs.swf import read_swf

        return read_swf(path, strict=strict, cores_per_node=cores_per_node, nodes=nodes)
    if kind == "sacct":
        from wattline.formats.jobs.sacct import read_sacct

        return read_sacct(path, strict=strict, cores_per_node=1 if cores_per_node is None else cores_per_node)
    if kind == "table":
        from wattline.formats.jobs.table import read_table

        return read_table(path, strict=strict, raw=raw)
    if kind == "krc":
        from wattline.formats.jobs.krc import read_krc

        return read_krc(path, strict=strict)
    if kind == "pm100":
        from wattline.formats.jobs.pm100 import read_pm100

        return read_pm100(path, strict=strict, raw=raw)
    if kind == "rrze":
        from wattline.formats.jobs.rrze import read_rrze

        return read_rrze(path, strict=strict)
    raise InputError(f"unknown trace format {kind!r}{did_you_mean(kind, FORMATS)}")


def guess_format(path: Path | str) -> str:
    """Tell the format of a file by its content, or raise an error that says what was seen and what to do."""
    return _guess(path)[0]


def _guess(path: Path | str) -> tuple[str, bytes | None]:
    """Return the format of a file, and its content if all of it had to be read to tell."""
    from wattline.journal.unfinished import is_unfinished
    from wattline.reading.source import PARQUET_MAGIC, as_text, peek

    if Path(path).is_dir():
        if (Path(path) / "manifest.json").exists():
            return "table", None
        from wattline.formats.jobs.rrze import holds_rrze

        if holds_rrze(Path(path)):
            return "rrze", None
        if is_unfinished(Path(path)):
            raise TraceError.at(
                path, "holds a run that was cut off", hint=f"`wattline report {path}` makes its journal"
            )
        raise TraceError.at(path, "is a directory without a journal in it, expected a file")
    head = peek(path)
    if head.startswith(PARQUET_MAGIC):
        return _guess_by_columns(path)
    text = as_text(path, head)
    from wattline.formats.jobs.rrze import is_rrze

    if is_rrze(text):
        return "rrze", None
    first = next(
        (line for line in text.split(b"\n") if line.strip() and not line.lstrip().startswith((b";", b"#"))), b""
    )
    return _guess_by_line(path, first, commented=text.lstrip().startswith(b";")), None


def _guess_by_columns(path: Path | str) -> tuple[str, bytes | None]:
    """Guess by the columns of a Parquet file, whose names stand at its end.

    Whoever reads it says what is wrong with it.
    """
    import polars as pl

    from wattline.formats.jobs.pm100 import is_pm100
    from wattline.reading.parquet import reading_parquet
    from wattline.reading.source import is_packed, read_bytes

    raw = read_bytes(path) if is_packed(path) else None
    try:
        with reading_parquet(path):
            columns = list(pl.read_parquet_schema(Path(path) if raw is None else raw))
    except TraceError:
        return "table", raw
    return "pm100" if is_pm100(columns) else "table", raw


def _guess_by_line(path: Path | str, line: bytes, *, commented: bool) -> str:
    """Guess by the first line that is no comment."""
    if b"|" in line:
        return "sacct"
    if b"," in line:
        return "krc" if b"interarrival" in line.lower() else "table"
    numbers = line.split()
    if commented or (len(numbers) >= 2 and all(part.lstrip(b"+-").replace(b".", b"", 1).isdigit() for part in numbers)):
        return "swf"
    from wattline.reading.notes import quote

    raise TraceError.at(
        path,
        f"cannot tell its format from {quote(line)!r}",
        hint=f"name it with --format (in a scenario: format), one of {', '.join(FORMATS)}",
    )
