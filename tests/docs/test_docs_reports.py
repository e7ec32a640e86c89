"""The page on reports: its commands work, and pages hold what it says they hold."""

from __future__ import annotations

from pathlib import Path

from test_docs_commands import ROOT, follow

from wattline.report.figures.over_time import BINS, EXACT_STEPS, RECTANGLES


def test_the_page_on_reports_works(tmp_path: Path) -> None:
    """Every command leaves the page it says, smaller than 2 MB; the comparison has the sections that are described."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = follow("reports.md", tmp_path)
    assert len(said) == 3
    pages = [tmp_path / "out/limit/report.html", tmp_path / "out/two/comparison.html"]
    assert all(page.stat().st_size < 2e6 for page in pages)
    text = pages[1].read_text()
    for heading in ("What differs", "At a glance", "Laid over each other", "Who loses, who gains", "All numbers"):
        assert f">{heading}<" in text
    assert "policy.select" in text
    assert "With easy instead of in-order the mean wait is" in text


def test_the_page_on_reports_gives_the_limits_of_figures() -> None:
    """What is drawn change by change, and into how many bins the rest goes, is what the code does."""
    text = (ROOT / "docs" / "reports.md").read_text()
    assert f"more than {EXACT_STEPS:,} changes become {BINS} bins" in text
    assert f"{RECTANGLES:,} placements" in text
