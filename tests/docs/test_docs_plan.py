"""The guide on how many nodes to buy says what the program does."""

from __future__ import annotations

from pathlib import Path

from test_docs_commands import ROOT, follow, shows, works

from programs import command
from wattline.formats.tables.configuration_rows import COLUMNS
from wattline.scenario.plan import PlanSpec
from wattline.scenario.reference import reference_markdown

PAGE = ROOT / "docs/how-many-nodes.md"


def test_the_guide_works_and_shows_what_comes_out(tmp_path: Path) -> None:
    """Every program, file and command of the page in order; what it shows of an answer is the answer."""
    said = follow("how-many-nodes.md", tmp_path)
    assert len(said) == 8
    assert (tmp_path / "plan.html").read_text().count("<figure") == 3
    assert (tmp_path / "configurations.html").exists()
    assert shows("how-many-nodes.md", said) == 4


def test_what_the_guide_says_of_changes_is_so(tmp_path: Path) -> None:
    """Dear power turns the verdict."""
    follow("how-many-nodes.md", tmp_path, until="Play with what you doubt")
    done = works(command(["wattline", "plan", "purchase.toml", "--set", "life.electricity=0.30"], tmp_path))
    assert "Buy 16 high-end nodes" in done.out


def test_every_key_and_column_is_on_the_page() -> None:
    """The tables of a plan file are those of the code; every column that is read is named."""
    page = PAGE.read_text()
    assert reference_markdown(PlanSpec).replace("### ", "#### ").strip() in page
    for name in (columns for columns in COLUMNS.values()):
        assert any(f"`{column}`" in page for column in name), name
