"""A small machine, a small log, and the command line beside the Python door."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 400 jobs for 100 nodes, as an archive has it."""
    from wattline.api.trace import draw_trace
    from wattline.formats.jobs.export import write_trace

    folder = tmp_path_factory.mktemp("log")
    drawn = draw_trace("lublin", nodes=100, jobs=400, load=0.7, users=5, seed=3)
    write_trace(drawn.handed(100)[0], folder / "KTH.swf")
    packed = folder / "KTH.swf.gz"
    packed.write_bytes(gzip.compress((folder / "KTH.swf").read_bytes(), mtime=0))
    return packed


@pytest.fixture
def folder(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the log and the examples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "KTH.swf.gz").write_bytes(log.read_bytes())
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    return tmp_path
