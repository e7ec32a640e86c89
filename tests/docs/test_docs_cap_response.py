"""The page on responses to caps says what the program does."""

from __future__ import annotations

from pathlib import Path

from test_docs_commands import ROOT, follow


def test_the_page_works(tmp_path: Path) -> None:
    """Every file, command and program of the page, in order."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert len(follow("cap-response.md", tmp_path)) == 2
    assert (tmp_path / "gpu.csv").read_text().startswith("power_w,time_s\n110.0,")
    assert (tmp_path / "stencil.csv").exists()
