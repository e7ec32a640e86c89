"""The conformance check of formats of job logs: what every reader must do with sound, damaged and foreign files."""

from __future__ import annotations

import gzip
import pickle
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wattline.errors import TraceError
from wattline.formats.jobs import FORMATS, guess_format
from wattline.formats.jobs.base import Head, Likeness, LogFormat, ReadOptions
from wattline.model.jobs import ARRAY_COLUMNS
from wattline.reading.notes import Trace
from wattline.reading.source import PARQUET_MAGIC
from wattline.testing.report import CheckError, Report, Row

LARGE_BYTES = 40_000_000
"""Size of the text on which memory is measured."""
FREE_BYTES = 300e6
"""Memory that a reader may take beyond twice the size of the file."""
ERROR_CHARS = 600
"""Longest text of an error, not counting the path of the file."""
DAMAGES = 60
"""Damaged files that are tried."""

UNREADABLE = {
    "an empty file": b"",
    "blank lines": b"\n \n\r\n",
    "a binary file": b"\x7fELF\x02\x01\x01\x00\x00\x00binary\x00\xff",
    "UTF-16 text": b"\xff\xfe1\x002\x00",
    "a file of another packer": b"\xfd7zXZ\x00\x00",
    "half a gzip file": gzip.compress(b"1 2 3 4 5 6 7 8 9\n" * 500, mtime=0)[:40],
    "a damaged gzip file": b"\x1f\x8bnot really gzip",
}
FOREIGN = {
    "prose": b"the sea has many voices\nmany gods and many voices\n",
    "a web page": b"<!doctype html>\n<html><body><p>not found</p></body></html>\n",
    "a scenario": b'[trace]\nfile = "log.swf"\n\n[cluster]\nnodes = 8\n',
    "prices": b"time_s,lmp\n0,31.5\n300,29.25\n",
}
_SPOILT = (b"-1", b"nan", b"1e999", b"|", b",", b'"', b"\n", b" ", b"\0", b"9" * 30, b"\xe9")


@dataclass(frozen=True)
class Sample:
    """A format, a sound file of it, and a folder to write files into."""

    format: LogFormat
    content: bytes
    folder: Path
    large_bytes: int = LARGE_BYTES

    @property
    def is_text(self) -> bool:
        """Whether the file is text."""
        return not self.content.startswith(PARQUET_MAGIC)

    def write(self, content: bytes) -> Path:
        """Write a file and return its path."""
        path = self.folder / "log"
        path.write_bytes(content)
        return path

    def read(self, content: bytes, *, strict: bool = False) -> Trace | TraceError:
        """Return what reading a file gives: the trace, or the error, which must be one line."""
        return self.read_at(self.write(content), strict=strict)

    def read_at(self, path: Path, *, strict: bool = False) -> Trace | TraceError:
        """Return what reading a path gives."""
        try:
            return self.format.read(path, ReadOptions(strict=strict))
        except TraceError as problem:
            _expect_one_line(problem, path)
            return problem
        except Exception as problem:  # whatever a reader does is a finding
            raise CheckError(f"{type(problem).__name__} instead of a TraceError: {str(problem)[:200]!r}") from None

    def sound(self, content: bytes, what: str) -> Trace:
        """Return the trace of a file that must be readable."""
        found = self.read(content)
        if isinstance(found, TraceError):
            raise CheckError(f"{what} is refused: {found}")
        return found


def _expect_one_line(problem: TraceError, path: Path) -> None:
    text = str(problem)
    if "\n" in text or len(text) > ERROR_CHARS + 2 * len(str(path)):
        raise CheckError(f"an error is not one line of at most {ERROR_CHARS} characters: {text[:200]!r}")
    if str(path) not in text:
        raise CheckError(f"an error does not name the file: {text[:200]!r}")


def _expect_same_jobs(one: Trace, other: Trace, what: str) -> None:
    """Refuse two traces with different jobs."""
    for name in ARRAY_COLUMNS:
        if not np.array_equal(getattr(one.jobs, name), getattr(other.jobs, name), equal_nan=True):
            raise CheckError(f"{what} changes {name}")
    for name in ("users", "groups", "kinds", "partitions"):
        if getattr(one.jobs, name) != getattr(other.jobs, name):
            raise CheckError(f"{what} changes the names of {name}")


# ------------------------------------------------------------------ checks


def check_described(sample: Sample) -> None:
    """A format has a name of lower-case letters and digits, and one line that says what it is."""
    name, about = sample.format.name, sample.format.about
    if not re.fullmatch(r"[a-z][a-z0-9]*", name):
        raise CheckError(f"its name {name!r} is not made of lower-case letters and digits")
    if not 0 < len(about) <= 80 or "\n" in about:
        raise CheckError(f"what it is must be said in one line of 1 to 80 characters, got {len(about)}")


def check_recognised(sample: Sample) -> None:
    """A format recognises its own file, and no other built-in format claims it with as much right."""
    path = sample.write(sample.content)
    if sample.format.looks_like(Head(path)) == Likeness.NO:
        raise CheckError("it does not recognise its own file")
    if sample.format.name in FORMATS and guess_format(path) != sample.format.name:
        raise CheckError(f"its file is taken for {guess_format(path)}")


def check_foreign(sample: Sample) -> None:
    """A format is not sure of files that are none of its own, and claims no empty folder."""
    for what, content in FOREIGN.items():
        if sample.format.looks_like(Head(sample.write(content))) == Likeness.SURE:
            raise CheckError(f"it is sure that {what} is its own")
    empty = sample.folder / "empty"
    empty.mkdir(exist_ok=True)
    if sample.format.looks_like(Head(empty)) != Likeness.NO:
        raise CheckError("it claims an empty folder")


def check_read(sample: Sample) -> None:
    """A sound file gives jobs, none of its records is dropped, and reading it again gives the same."""
    found = sample.sound(sample.content, "the sound file")
    if not len(found.jobs) or found.count("dropped"):
        raise CheckError(f"the sound file gives {len(found.jobs)} jobs, {found.count('dropped')} records are dropped")
    _expect_same_jobs(found, sample.sound(sample.content, "the sound file"), "reading twice")


def check_layouts(sample: Sample) -> None:
    """Packing with gzip changes no job; in a text neither do a byte order mark, CRLF and a missing last newline."""
    expected = sample.sound(sample.content, "the sound file")
    layouts = {"gzip": gzip.compress(sample.content, mtime=0)}
    if sample.is_text:
        layouts["a byte order mark"] = b"\xef\xbb\xbf" + sample.content
        layouts["CRLF"] = sample.content.replace(b"\n", b"\r\n")
        layouts["a missing last newline"] = sample.content.rstrip(b"\n")
    for what, content in layouts.items():
        _expect_same_jobs(expected, sample.sound(content, what), what)


def check_unreadable(sample: Sample) -> None:
    """A file that is empty, binary, of another packer or damaged gzip is refused, and so are a missing and a folder."""
    for what, content in UNREADABLE.items():
        if isinstance(sample.read(content), Trace):
            raise CheckError(f"{what} gives jobs")
    empty = sample.folder / "empty"
    empty.mkdir(exist_ok=True)
    for what, path in (("a missing file", sample.folder / "missing"), ("an empty folder", empty)):
        if isinstance(sample.read_at(path), Trace):
            raise CheckError(f"{what} gives jobs")


def check_cut_off(sample: Sample) -> None:
    """A text cut off in its last line loses at most one job, which is counted; a cut off Parquet file is refused."""
    if not sample.is_text:
        for part in (0.3, 0.9):
            if isinstance(sample.read(sample.content[: int(part * len(sample.content))]), Trace):
                raise CheckError("a Parquet file that is cut off gives jobs")
        return
    whole = sample.content.rstrip(b"\n")
    last = len(whole) - whole.rfind(b"\n") - 1
    jobs = len(sample.sound(sample.content, "the sound file").jobs)
    found = sample.sound(whole[: len(whole) - last + 3], "a file cut off in its last line")
    if len(found.jobs) < jobs - 1 or (len(found.jobs) < jobs and not found.count("dropped")):
        raise CheckError(
            f"a file cut off in its last line gives {len(found.jobs)} jobs of {jobs}, "
            f"{found.count('dropped')} records are said to be dropped"
        )


def check_damaged(sample: Sample) -> None:
    """Whatever bytes are damaged, reading gives jobs and counts all records, or refuses the file in one line."""
    for content in _damaged(sample.content):
        found = sample.read(content)
        if isinstance(found, Trace) and not len(found.jobs):
            raise CheckError("a file without a usable record gives a trace without jobs")


def check_strict(sample: Sample) -> None:
    """Strict reading refuses what would be dropped or repaired, and changes nothing else."""
    changed = refused = 0
    for content in (sample.content, *_damaged(sample.content)):
        plain, strict = sample.read(content), sample.read(content, strict=True)
        if isinstance(plain, TraceError):
            if isinstance(strict, Trace):
                raise CheckError(f"strict reading gives jobs where plain reading refuses: {plain}")
            continue
        touched = plain.count("dropped") + plain.count("repaired")
        changed += touched > 0
        if isinstance(strict, Trace):
            _expect_same_jobs(plain, strict, "strict reading")
        elif touched:
            refused += 1
        else:
            raise CheckError(f"strict reading refuses a file in which nothing is dropped or repaired: {strict}")
    if changed and not refused:
        raise CheckError(f"strict reading refuses none of {changed} files in which records are dropped or repaired")


def check_memory(sample: Sample) -> None:
    """Reading a large text takes at most twice its size plus 300 MB, if the format says that it reads in parts."""
    if not (sample.format.in_parts and sample.is_text and Path("/proc/self/status").exists()):
        return
    path = sample.folder / "large"
    lines = sample.content.rstrip(b"\n").split(b"\n")
    with path.open("wb") as file:
        file.write(b"\n".join(lines) + b"\n")
        for batch in range(sample.large_bytes // (1000 * (len(lines[-1]) + 5))):
            first = 1000 * batch
            file.write(b"".join(_numbered(lines[-1], i) for i in range(first, first + 1000)))
    most, size = _peak_bytes(sample.format, path), path.stat().st_size
    path.unlink()
    if most > 2 * size + FREE_BYTES:
        raise CheckError(f"reading {size / 1e6:.0f} MB took {most / 1e6:.0f} MB of memory")


Check = Callable[[Sample], None]
CHECKS: tuple[Check, ...] = (
    check_described,
    check_recognised,
    check_foreign,
    check_read,
    check_layouts,
    check_unreadable,
    check_cut_off,
    check_damaged,
    check_strict,
    check_memory,
)


def check_format(
    format: LogFormat,  # noqa: A002  (the word users type)
    content: bytes,
    *,
    large_bytes: int = LARGE_BYTES,
) -> Report:
    """Run every check on a format of job logs.

    Parameters
    ----------
    format
        The format: an object with the attributes and methods of ``wattline.formats.jobs.base.LogFormat``. Memory is
        measured in a process of its own, so its class must stand in a module that can be imported.
    content
        A sound file of that format with a few jobs, none of which is dropped. The last line of a text is a record.
    large_bytes
        Size of the text on which memory is measured; it is made of the last line of ``content``.
    """
    report = Report(f"format {format.name!r}")
    with tempfile.TemporaryDirectory() as folder:
        sample = Sample(format, content, Path(folder), large_bytes)
        for check in CHECKS:
            title = check.__name__.removeprefix("check_").replace("_", "-")
            try:
                check(sample)
            except CheckError as problem:
                report.rows.append(Row(title, passed=False, detail=str(problem)))
            else:
                report.rows.append(Row(title, passed=True))
    return report


def _damaged(content: bytes) -> Iterator[bytes]:
    """Give files with some stretches overwritten, the same at every call."""
    rng = random.Random(1)
    for _ in range(DAMAGES):
        spoilt = bytearray(content)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(spoilt) + 1)
            spoilt[at : at + rng.randrange(5)] = rng.choice(_SPOILT)
        yield bytes(spoilt)


def _numbered(line: bytes, number: int) -> bytes:
    """Return a record with another first number."""
    return re.sub(rb"\d+", str(1 + number % 997).encode(), line, count=1) + b"\n"


_PEAK = """
import pickle, sys
paths, packed, file = pickle.load(sys.stdin.buffer)
sys.path[:] = paths
from wattline.formats.jobs.base import ReadOptions
pickle.loads(packed).read(file, ReadOptions())
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def _peak_bytes(format: LogFormat, path: Path) -> float:  # noqa: A002
    """Return the most memory of a process that does nothing but read a file."""
    given = pickle.dumps((sys.path, pickle.dumps(format), path))
    done = subprocess.run(  # noqa: S603  (our own program)
        [sys.executable, "-c", _PEAK], input=given, capture_output=True, check=False
    )
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        raise CheckError(f"a large file cannot be read in a process of its own: {(told or [''])[-1][:200]}")
    return float(done.stdout) * 1024
