"""The pages of published systems show the last full run, word for word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docs.systems_doc import BLOCK, FOLDER, block, generated, markdown, results, take_in

PAGES = sorted(FOLDER.glob("*.md"))
CLAIM = {"where": "Fig. 1", "statement": "a | b", "ours": "c", "verdict": "untestable", "because": "d", "short": "x"}
RUN: dict[str, Any] = {"created": "2026-01-02T00:00:00", "remarks": [], "claims": [CLAIM], "tables": {}, "quick": False}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_the_run_found(page: Path) -> None:
    """Statements, verdicts and tables are those of statements.json (scripts/update-systems writes them)."""
    assert page.read_text(encoding="utf-8") == generated(page, results())


@pytest.mark.parametrize("name", sorted(results()))
def test_a_page_shows_all_of_its_run(name: str) -> None:
    """All statements and every table, between marks, so that none of them is typed by hand."""
    shown = [match.group(1) for match in BLOCK.finditer((FOLDER / f"{name}.md").read_text(encoding="utf-8"))]
    assert sorted(shown) == sorted(["statements", *(f"table {table}" for table in results()[name]["tables"])])


@pytest.mark.parametrize("name", sorted(results()))
def test_a_number_that_is_typed_over_is_seen(name: str, tmp_path: Path) -> None:
    """In every block of every page: a page with another digit is not the one that the run makes."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        digit = next(at for at in range(match.end(), match.start(), -1) if text[at].isdigit())
        page = tmp_path / f"{name}.md"
        page.write_text(f"{text[:digit]}{(int(text[digit]) + 1) % 10}{text[digit + 1 :]}", encoding="utf-8")
        assert generated(page, results()) == text


def test_every_statement_that_is_not_held_has_a_reason() -> None:
    """Also one that cannot be tested."""
    for name, found in results().items():
        for claim in found["claims"]:
            assert claim["verdict"] == "held" or len(claim.get("because", "")) > 10, (name, claim)


def test_a_run_takes_the_place_of_the_last_one() -> None:
    """Of one system or of all; what was not run stays, and a quick run or other data are refused."""
    old = {"b": {"created": "2025-01-01", "claims": [], "tables": {}}, "c": {"created": "2025-01-01"}}
    one = take_in({"name": "b", **RUN}, dict(old))
    every = take_in({"name": "all", "created": RUN["created"], "systems": {"b": RUN, "a": RUN}}, dict(old))
    assert one["b"] == every["b"] == every["a"]
    assert (list(one), list(every)) == (["b", "c"], ["a", "b", "c"])
    assert block("statements", one["b"]).splitlines()[0] == (
        "Of 1 statements 0 are held, 0 are not, and 1 cannot be tested here (2026-01-02)."
    )
    assert "| Fig. 1 | a \\| b | c | untestable: d |" in block("statements", one["b"])
    with pytest.raises(SystemExit, match="quick"):
        take_in({"name": "b", **RUN, "quick": True}, {})
    with pytest.raises(SystemExit, match="stand-in"):
        take_in({"name": "b", **RUN, "remarks": ["stand-in data"]}, {})
    assert json.dumps(one)
    assert markdown(["x"], [["1"]]) == "| x |\n| --- |\n| 1 |\n"
