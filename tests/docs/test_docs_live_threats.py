"""The threat model: every "cannot" names tests, and they exist."""

from __future__ import annotations

import re

from test_docs_commands import ROOT

PAGE = (ROOT / "docs" / "live" / "threat-model.md").read_text()


def test_every_cannot_has_its_test() -> None:
    """Each row of a table of what an attacker cannot do names at least one test of the suite."""
    rows = re.findall(r"^\| (?!cannot|---)(.+?) \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 30
    for what, tests in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
        assert named, f"{what!r} names no test"
        for path, name in named:
            assert f"def {name}(" in (ROOT / path).read_text(), f"{what!r}: {path} has no {name}"


def test_every_attacker_has_both_lists() -> None:
    """Each attacker is told by what he can do and by what he cannot."""
    sections = PAGE.split("\n## ")[1:-1]
    assert len(sections) == 5
    for section in sections:
        assert "**Can:**" in section
        assert "| cannot |" in section
