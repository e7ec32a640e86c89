"""The page on responses to caps says what the program does."""

from __future__ import annotations

from pathlib import Path

from test_docs_commands import follow


def test_the_page_works(tmp_path: Path) -> None:
    """Every file, command and program of the page, in order."""
    follow("cap-response.md", tmp_path)
