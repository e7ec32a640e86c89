"""Formats of job logs: one folder each, found by itself, loaded when it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from programs import command
from wattline.errors import TraceError
from wattline.formats import jobs
from wattline.formats.jobs import FORMATS, find_format, guess_format, read_trace
from wattline.formats.jobs.base import Head, Likeness, LogFormat, ReadOptions
from wattline.reading.notes import Trace, build_jobs

SWF = "; MaxProcs: 8\n" + "".join(f"{i} {i * 10} 0 5 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 9))


def test_every_folder_is_a_format() -> None:
    """The formats are the folders beside the readers; each says its own name."""
    folders = {found.parent.name for found in Path(jobs.__file__).parent.glob("*/__init__.py")}
    assert set(FORMATS) == folders
    assert [find_format(name).name for name in FORMATS] == list(FORMATS)


def test_reading_a_log_loads_one_reader(tmp_path: Path) -> None:
    """A file whose format is told by its content loads the reader of that format and of no other."""
    (tmp_path / "log").write_text(SWF)
    code = (
        "import sys; from wattline.formats.jobs import read_trace; read_trace(sys.argv[1])\n"
        "print(*(name for name in sys.modules if name.startswith('wattline.formats.jobs.') and name.endswith('.read')))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "log"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["wattline.formats.jobs.swf.read"]


class Own:
    """A format of somebody else: submit time, run time and nodes between colons."""

    name = "own"
    about = "three numbers between colons"
    in_parts = True

    def looks_like(self, head: Head) -> Likeness:
        """Tell by the colons."""
        return Likeness.SURE if head.line.count(b":") == 2 else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file."""
        rows = [[float(part) for part in line.split(":")] for line in Path(path).read_text().splitlines()]
        columns: dict[str, Any] = dict(zip(("submit_s", "work_s", "nodes"), zip(*rows, strict=True), strict=True))
        return Trace(build_jobs(path, **columns), source=str(path), suggested_nodes=options.nodes)


def test_a_format_of_your_own_is_read(tmp_path: Path) -> None:
    """An object that keeps the rules of a format reads a log that Wattline does not know."""
    path = tmp_path / "log"
    path.write_text("0:60:4\n10:30:2\n")
    own: LogFormat = Own()
    trace = read_trace(path, format=own, nodes=16)
    assert (trace.jobs.nodes.tolist(), trace.suggested_nodes) == ([4, 2], 16)
    with pytest.raises(TraceError, match="cannot tell its format"):
        read_trace(path)


def test_two_formats_that_claim_a_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two formats are equally sure of a file, none is chosen: the error names both."""
    path = tmp_path / "log"
    path.write_text(SWF)
    monkeypatch.setattr(type(find_format("sacct")), "looks_like", lambda *_: Likeness.MAYBE)
    with pytest.raises(TraceError, match="may be sacct or swf; name it with --format"):
        guess_format(path)


def test_the_command_line_lists_the_formats(tmp_path: Path) -> None:
    """``wattline trace formats`` names every format and what it is; the help of ``--format`` names them too."""
    said = [
        command(["wattline", *words], tmp_path).out
        for words in (("trace", "formats", "--json"), ("trace", "info", "--help"))
    ]
    assert {row["name"]: row["about"] for row in json.loads(said[0])} == {n: find_format(n).about for n in FORMATS}
    assert all(name in said[1] for name in FORMATS)
