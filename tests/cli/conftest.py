"""Call the command line as a user does."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from calling import SCENARIO, SWF, Answer, Call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own working folder with a small scenario and a small trace."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "small.swf").write_text(SWF)
    return tmp_path


@pytest.fixture
def wattline(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call a command in this process."""
    from wattline import cli

    def call(*arguments: str) -> Answer:
        before = warnings.showwarning
        try:
            code = cli.call([str(a) for a in arguments])
        finally:
            warnings.showwarning = before
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return call
