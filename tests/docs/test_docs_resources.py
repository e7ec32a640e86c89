"""The page on resources of the whole machine: its command and its programs work."""

from __future__ import annotations

from pathlib import Path

from test_docs_commands import ROOT, follow


def test_the_page_works(tmp_path: Path) -> None:
    """The comparison and both programs run."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = follow("resources.md", tmp_path)
    assert len(said) == 1
    assert "With easy instead of in-order the mean wait is" in said[0].out
