"""``wattline off`` does its work once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wattline.api import controlling, site_plan
from wattline.cli.app import app


def test_off_lets_go_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine is let go once, and what was done is told once."""
    asked: list[str] = []
    monkeypatch.setattr(site_plan, "plan_site", str)
    monkeypatch.setattr(controlling, "switch_off", lambda planned: asked.append(planned) or ["done it"])
    done = CliRunner().invoke(app, ["off", str(tmp_path / "site.toml"), "--json"])
    assert done.exit_code == 0, done.output
    assert len(asked) == 1
    assert json.loads(done.stdout) == {"done": ["done it"]}
