"""The page on machines that are late works as written."""

from __future__ import annotations

import json
from pathlib import Path

from test_docs_commands import follow


def test_the_page_on_late_machines_works(tmp_path: Path) -> None:
    """Its scenario runs, and the journal says how late the machine was."""
    assert len(follow("live/late.md", tmp_path)) == 1
    manifest = json.loads((tmp_path / "out" / "late" / "manifest.json").read_text())
    assert manifest["power"]["late"]["start_s"] == [0.0, 1.0]
    assert manifest["power"]["late"]["cap_s"] == [0.0, 0.2]
