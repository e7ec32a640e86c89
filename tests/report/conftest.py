"""Runs that the tests of reports share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import block_schedule, write_synthetic

from wattline.journal.journal import Journal
from wattline.report.count.metrics import Summary, summarize


@pytest.fixture(scope="session")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """A run of 600 jobs on 40 nodes under a limit that it breaks."""
    return write_synthetic(tmp_path_factory.mktemp("run") / "j", **block_schedule(600, 10, 4, 3), limit_w=9000.0)


@pytest.fixture(scope="session")
def summary(journal: Journal) -> Summary:
    """Its summary."""
    return summarize(journal)


@pytest.fixture(scope="session")
def labelled(summary: Summary) -> dict[str, list[Summary]]:
    """Two labels with three seeds each, whose mean waits are 10, 20, 30 s and 5, 16, 24 s."""

    def changed(seed: int, wait_s: float) -> Summary:
        return replace(summary, seed=seed, wait_s=replace(summary.wait_s, mean=wait_s))

    return {
        "fcfs": [changed(1, 10.0), changed(2, 20.0), changed(3, 30.0)],
        "easy": [changed(3, 24.0), changed(1, 5.0), changed(2, 16.0)],
    }


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where a test writes a page."""
    return tmp_path / "report.html"
