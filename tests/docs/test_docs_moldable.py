"""The guide to moldable jobs says what the program does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_docs_commands import ROOT, follow, journal_summary, shows

from programs import Done

PAGE = ROOT / "docs/moldable-jobs.md"


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Done]]:
    """A folder in which the whole page was followed, and what the commands said."""
    place = tmp_path_factory.mktemp("moldable")
    (place / "examples").symlink_to(ROOT / "examples")
    return place, follow("moldable-jobs.md", place)


@pytest.fixture
def folder(followed: tuple[Path, list[Done]]) -> Path:
    """The folder in which the whole page was followed."""
    return followed[0]


def test_the_guide_shows_what_comes_out(followed: tuple[Path, list[Done]]) -> None:
    """What the page shows of an answer is the answer."""
    _, said = followed
    assert len(said) == 16
    assert shows("moldable-jobs.md", said) == 4


def test_what_the_guide_says_of_policies_is_so(folder: Path) -> None:
    """Mean responses of the table are those of the comparison."""
    told = json.loads((folder / "out/policies-comparison/comparison.json").read_text())["comparison"]
    rows = {row["path"]: [estimate["mean"] for estimate in row["estimates"]] for row in told["metrics"]}
    hours = [mean_s / 3600 for mean_s in rows["response_s.mean"]]
    page = re.findall(r"^\| `(rmap-\w+)` \|.*\| ([\d.]+) h \|$", PAGE.read_text(), re.MULTILINE)
    assert [(name, f"{mean:.2f}") for (name, _), mean in zip(page, hours, strict=False)] == page
    assert len(page) == 3
    assert hours[3] < 0.7


def test_what_the_guide_says_of_raised_caps_is_so(folder: Path) -> None:
    """Caps raised with power left over shorten the mean response, and the limit holds."""
    raised = journal_summary(folder / "out/raised")
    assert f"from 1.53 to {raised.response_s.mean / 3600:.2f} h" in PAGE.read_text()


def test_what_the_guide_says_of_models_is_so(folder: Path) -> None:
    """With the mean of a model more than half of the jobs draw more than was told, with its upper bound none."""
    mean, upper = (journal_summary(folder / "out" / name).shapes for name in ("mean", "upper"))
    assert mean.power_too_low > 0.5
    assert mean.power_lowest < 0.02
    assert upper.power_too_low == 0


def test_what_the_guide_says_of_nodes_is_so(folder: Path) -> None:
    """The run times of the table, and that no limit was broken."""
    page = re.findall(r"^\| [^|]+ \| ([\d.]+ min \|[^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    runs = [journal_summary(folder / "out" / name) for name in ("alike", "equal", "frugal", "speed")]
    first = runs[0].runtime_s.mean
    more = ["", *(f" {100 * (found.runtime_s.mean / first - 1):+.1f} %" for found in runs[1:])]
    assert [f"{found.runtime_s.mean / 60:.1f} min |{text}" for found, text in zip(runs, more, strict=True)] == page
    assert all(found.power.above_limit_s == 0 for found in runs)


def test_the_guide_has_every_column_of_the_batch_systems_table() -> None:
    """The columns on the page are those that are read and written."""
    from wattline.formats.tables.job_details import COLUMNS

    part = PAGE.read_text().split("## 7.")[1].split("```")[0]
    assert all(f"`{name}`" in part for name in COLUMNS)
