"""The programs on the page of the network model run and show what they say."""

from __future__ import annotations

from pathlib import Path

from test_docs_commands import BLOCK, ROOT, follow


def test_the_page_on_the_network_works(tmp_path: Path) -> None:
    """Every program of the page runs; what it claims of the placements, of the congestor and of what counters show is
    asserted in it.
    """
    follow("network.md", tmp_path)
    assert sum(bool(block["run"]) for block in BLOCK.finditer((ROOT / "docs/network.md").read_text())) == 3
