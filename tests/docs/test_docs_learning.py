"""The guide to learning environments does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_docs_commands import ROOT, follow

pytest.importorskip("gymnasium")


def test_the_guide_to_learning(tmp_path: Path) -> None:
    """Every program and command works; the policies that are written pass all checks; the select policy is compared
    with EASY, the cap policy with none, and saves power; the bid that was tuned with a rule that bids.
    """
    checked, compared, gentle, capped, bids, sold = follow("learning.md", tmp_path)
    for told in (checked, gentle, bids):
        assert "17 checks" in told.out or "passed" in told.out
    assert "learned" in compared.out
    assert "gentle" in capped.out
    assert re.search(r"power, mean \[kW\] .* -\d+ %", capped.out)
    assert "With bids instead of adaptive " in sold.out


def test_the_guide_has_every_number_that_is_seen() -> None:
    """The tables of features and rewards are those of the code."""
    from wattline.gym import JOB_FEATURES, MACHINE_FEATURES, REWARDS

    text = (ROOT / "docs" / "learning.md").read_text()
    for name, meaning in (*JOB_FEATURES, *MACHINE_FEATURES):
        assert f"| `{name}` | {meaning} |\n" in text
    assert f"{len(JOB_FEATURES)} for each of the first k waiting jobs, then {len(MACHINE_FEATURES)} of" in text
    for name in REWARDS:
        assert f"| `{name}` |" in text
