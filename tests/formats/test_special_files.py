"""Names that are no regular files, and gzip files that grow beyond all measure: refused in one line, at once."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.series.bids import read_bids
from wattline.formats.series.prices import read_held
from wattline.formats.series.signals import read_signal
from wattline.formats.series.steps import read_limits
from wattline.formats.tables.configurations import read_configurations
from wattline.formats.tables.job_details import read_names
from wattline.formats.tables.kinds import read_kinds
from wattline.formats.tables.node_factors import read_factors
from wattline.formats.tables.profiles import read_profiles
from wattline.journal.journal import VERSION, open_journal
from wattline.journal.seal import sealed
from wattline.reading import source
from wattline.scenario import read_scenario
from wattline.telemetry.read import open_source

READERS: dict[str, Callable[[Path], Any]] = {
    "trace": read_trace,
    **{
        name: lambda path, name=name: read_trace(path, format=name)
        for name in ("swf", "sacct", "table", "krc", "pm100", "rrze")
    },
    "signal": read_signal,
    "prices": read_held,
    "kinds": read_kinds,
    "profiles": read_profiles,
    "bids": read_bids,
    "limits": read_limits,
    "configurations": read_configurations,
    "names": read_names,
    "factors": read_factors,
    "telemetry": lambda path: open_source(str(path)),
    "scenario": read_scenario,
}
"""Every reader of a file that a user names."""


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """A reader that waits for a pipe would wait for ever."""

    def stop(*_: object) -> None:
        raise AssertionError("the reader waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refusal(path: Path, reader: Callable[[Path], Any]) -> str:
    """Return the error's text, one line that names the file."""
    with pytest.raises(InputError) as caught:
        reader(path)
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """A pipe, a socket and a device are refused by every reader, by what they are, without waiting for a byte."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        assert "is a socket, expected a file" in refusal(tmp_path / "socket", READERS[name])
    assert "is a pipe, expected a file" in refusal(tmp_path / "pipe", READERS[name])
    assert "is a device, expected a file" in refusal(Path("/dev/zero"), READERS[name])


@pytest.mark.parametrize("table", ["manifest.json", "jobs.parquet"])
def test_a_journal_of_pipes_is_refused(tmp_path: Path, table: str) -> None:
    """Pipes in the place of a journal's files are refused, not waited for."""
    (tmp_path / "manifest.json").write_text(json.dumps(sealed({"journal": VERSION})))
    (tmp_path / table).unlink(missing_ok=True)
    os.mkfifo(tmp_path / table)
    assert "is a pipe" in refusal(tmp_path, open_journal)


BOMB = b"; a line that says nothing\n" * 100_000


@pytest.fixture
def bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gzip file that unpacks to 300 times its size, where a tenth of that is measured."""
    monkeypatch.setattr(source, "FREE_BYTES", len(BOMB) / 10)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(BOMB))
    assert len(BOMB) > 250 * path.stat().st_size
    return path


@pytest.mark.parametrize("name", sorted(set(READERS) - {"trace", "scenario", "telemetry"}))
def test_a_gzip_bomb_is_refused_by_its_ratio(bomb: Path, name: str) -> None:
    """A gzip file that unpacks to far more than such files do is refused; the message names the bound and who raises
    it.
    """
    text = refusal(bomb, READERS[name])
    assert "more than 200 times its size" in text
    assert "WATTLINE_UNPACKED_RATIO" in text


def test_a_gzip_bomb_of_samples_is_refused(bomb: Path) -> None:
    """Samples stream, but a bomb among them is refused too."""
    bomb.write_bytes(gzip.compress(b"node,time,power\n" + b"1,1,1\n" * 1_000_000))
    with pytest.raises(TraceError, match="more than 200 times its size"):
        list(open_source(str(bomb)).batches(["node"], "time"))


def test_a_bomb_of_one_endless_line_is_refused(tmp_path: Path) -> None:
    """A line that does not end is refused before it fills the memory."""
    path = tmp_path / "line.csv"
    path.write_bytes(b"node,time,power\n" + b"1" * (20 << 20))
    opened = open_source(str(path))
    with pytest.raises(TraceError, match="a line has more than"):
        list(opened.batches(["node"], "time"))


def test_the_bounds_of_unpacking_can_be_raised(bomb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment raises the ratio and lowers the size; what is no number is refused by the variable's name."""
    monkeypatch.setenv("WATTLINE_UNPACKED_RATIO", "2000")
    assert source.read_bytes(bomb) == BOMB
    monkeypatch.setenv("WATTLINE_UNPACKED_GB", "0.001")
    text = refusal(bomb, source.read_bytes)
    assert "unpacks to more than 1 MB" in text
    assert "WATTLINE_UNPACKED_GB" in text
    monkeypatch.setenv("WATTLINE_UNPACKED_GB", "plenty")
    with pytest.raises(InputError, match="WATTLINE_UNPACKED_GB: expected gigabytes, above 0"):
        source.read_bytes(bomb)


def test_a_file_larger_than_memory_is_refused_unread(tmp_path: Path) -> None:
    """A file that no memory holds, as a sparse one, is refused by its size."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 43)
    assert "more than this machine's memory" in refusal(path, READERS["swf"])
