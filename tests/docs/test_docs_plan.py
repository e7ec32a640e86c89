"""The guide on how many nodes to buy says what the program does."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from test_docs_commands import BLOCK, ROOT, commands, follow

from wattline.scenario.reference import reference_markdown
from wattline.scenario.spec_plan import PlanSpec
from wattline.traces.configuration_rows import COLUMNS

PAGE = ROOT / "docs/how-many-nodes.md"


def plain(text: str) -> str:
    """Return text without blanks at line ends."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def test_the_guide_works_and_shows_what_comes_out(tmp_path: Path) -> None:
    """Every program, file and command of the page in order; what it shows of an answer is the answer."""
    assert follow("how-many-nodes.md", tmp_path) == 8
    assert (tmp_path / "plan.html").read_text().count("<figure") == 3
    assert (tmp_path / "configurations.html").exists()
    blocks = list(BLOCK.finditer(PAGE.read_text()))
    shown = 0
    for block, following in pairwise(blocks):
        if block["language"] == "console" and following["language"] == "text":
            words = commands(block["body"])[0]
            done = subprocess.run(
                [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True, check=True
            )
            assert plain(following["body"]) in plain(done.stdout)
            shown += 1
    assert shown == 4


def test_what_the_guide_says_of_changes_is_so(tmp_path: Path) -> None:
    """Dear power turns the verdict."""
    follow("how-many-nodes.md", tmp_path, until="Play with what you doubt")
    words = [sys.executable, "-m", "wattline", "plan", "purchase.toml", "--set", "life.electricity=0.30"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Buy 16 high-end nodes" in done.stdout


def test_every_key_and_column_is_on_the_page() -> None:
    """The tables of a plan file are those of the code; every column that is read is named."""
    page = PAGE.read_text()
    assert reference_markdown(PlanSpec).replace("### ", "#### ").strip() in page
    for name in (columns for columns in COLUMNS.values()):
        assert any(f"`{column}`" in page for column in name), name
