"""The page on placement works as it stands, and names every place policy."""

from __future__ import annotations

import re
from pathlib import Path

from test_docs_commands import ROOT, follow

from wattline.policies.place.allocate import place_policies

PAGE = (ROOT / "docs/which-placement.md").read_text()


def test_the_page_works_from_top_to_bottom(tmp_path: Path) -> None:
    """Every program, file and command of the page, in order."""
    assert len(follow("which-placement.md", tmp_path)) == 6
    assert (tmp_path / "placed.html").stat().st_size > 1_000_000
    assert (tmp_path / "out/again/manifest.json").exists()


def test_the_page_of_our_own_policy_works(tmp_path: Path) -> None:
    """Its program runs, and its table names the parameters with their defaults."""
    follow("least-contention.md", tmp_path)
    page = (ROOT / "docs/least-contention.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", page, re.MULTILINE))
    declared = place_policies()["least-contention"].params
    assert {name: float(value) for name, value in told.items()} == {name: p.default for name, p in declared.items()}


def test_every_policy_is_explained() -> None:
    """The table of policies names all of them, and no other."""
    table = PAGE.partition("## The policies")[2]
    rows = re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \|", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert named == set(place_policies())
