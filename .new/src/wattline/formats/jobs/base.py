"""What a format of job logs is: a name, a line of help, a look at the beginning of a file, and a reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from wattline.errors import TraceError
from wattline.reading.source import PARQUET_MAGIC, as_text, is_packed, peek, read_bytes

if TYPE_CHECKING:
    from wattline.reading.notes import Trace


class Likeness(IntEnum):
    """How much a file looks like one of a format; the format with the greatest likeness reads it."""

    NO = 0
    """It is none."""
    MAYBE = 1
    """It has the general shape: columns between bars, lines of numbers."""
    SURE = 2
    """It has marks that no other format has, such as the names of columns."""


@dataclass(frozen=True)
class ReadOptions:
    """What a user says about a log. A reader takes from it what means something in its format.

    Parameters
    ----------
    strict
        Refuse a file with records that would be dropped or repaired.
    cores_per_node
        Processors of the log that make one node, where it counts processors (None: as the log says, else 1).
    nodes
        Nodes of the machine that the jobs are for, where that is known already.
    zone
        Zone of its times where they are local, like ``Europe/Paris`` (None: they are taken as UTC).
    raw
        The file's unpacked content, where all of it was read to tell its format.
    columns
        Which columns of a table are which of Wattline's, ``{"submit_s": "submit", "request_s": "limit:h"}`` (None:
        they have Wattline's names).
    """

    strict: bool = False
    cores_per_node: int | None = None
    nodes: int | None = None
    zone: str | None = None
    raw: bytes | None = None
    columns: Mapping[str, str] | None = None


SEPARATORS = (",", ";", "\t", "|")
"""What may stand between the columns of a table in text, the usual one first."""


def separator_in(line: bytes) -> str | None:
    """Return what stands between the columns of a header line that names submit_s as Wattline does (None: it does not).

    >>> separator_in(b'"job_id";submit_s;nodes'), separator_in(b"JobID|Submit")
    (';', None)
    """
    text = line.decode("utf-8", errors="replace")
    return next((one for one in SEPARATORS if "submit_s" in [n.strip(' \t"') for n in text.split(one)]), None)


class Head:
    """The beginning of a file, or a folder: all that a format may look at to tell whether it is one of its own.

    Parameters
    ----------
    path
        The file or folder. A file that cannot be opened or unpacked, or that is empty or foreign, is refused here.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.is_folder = self.path.is_dir()
        head = b"" if self.is_folder else peek(path)
        self.is_parquet = head.startswith(PARQUET_MAGIC)
        self.text = b"" if self.is_folder or self.is_parquet else as_text(path, head)
        """The first 64 KB of a text: no byte order mark, one newline a line."""

    @cached_property
    def line(self) -> bytes:
        """The first line of a text that is neither blank nor a comment (``;`` or ``#``)."""
        lines = self.text.split(b"\n")
        return next((line for line in lines if line.strip() and not line.lstrip().startswith((b";", b"#"))), b"")

    @cached_property
    def raw(self) -> bytes | None:
        """The unpacked content of a Parquet file that is packed with gzip."""
        return read_bytes(self.path) if self.is_parquet and is_packed(self.path) else None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a Parquet file; none if it is damaged, which its reader says."""
        if not self.is_parquet:
            return ()
        import polars as pl

        from wattline.reading.parquet import reading_parquet

        try:
            with reading_parquet(self.path):
                return tuple(pl.read_parquet_schema(self.path if self.raw is None else self.raw))
        except TraceError:
            return ()


class LogFormat(Protocol):
    """A format of job logs.

    ``wattline.testing.check_format`` checks that an object keeps these rules.
    """

    @property
    def name(self) -> str:
        """The word that users type: lower-case letters and digits."""

    @property
    def about(self) -> str:
        """What it is, in one line of at most 80 characters."""

    @property
    def in_parts(self) -> bool:
        """Whether a file is read in parts, so that reading takes at most twice its unpacked size plus 300 MB."""

    def looks_like(self, head: Head) -> Likeness:
        """Tell by its beginning how much a file looks like one of this format."""

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file. What cannot be read is a ``TraceError`` of one line; what is dropped or repaired is noted."""


def of_nodes(trace: Trace, options: ReadOptions) -> Trace:
    """Return the trace of a log that counts nodes, with a note where somebody said how many processors make one."""
    if options.cores_per_node is None:
        return trace
    from wattline.reading.notes import Note

    told = "the log counts nodes: cores_per_node changes nothing"
    note = Note("kept", told, len(trace.jobs), f"cores_per_node = {options.cores_per_node}")
    return replace(trace, notes=(*trace.notes, note))
