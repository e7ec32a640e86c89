"""The guides to questions and to sweeps do what they say."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from test_docs_commands import follow

import wattline as wl


def test_the_guide_from_a_question_to_an_answer(tmp_path: Path) -> None:
    """Every command works; answers begin with their sentence, and the study that is left has the same runs."""
    _, limit, more, sleep, growth, _, _, _ = follow("questions.md", tmp_path)
    assert limit.out.startswith("With a limit of ")
    assert "who feels it most" in limit.out
    assert " and 13 nodes more (77) jobs that start in both wait " in " ".join(more.out.split())
    assert "sleep after 10 min idle" in " ".join(sleep.out.split())
    assert "With 1.2 times the load and conservative" in " ".join(growth.out.split())
    again = pl.read_parquet(tmp_path / "out/more-nodes-again/sweep.parquet")
    waits = [wl.read_run(tmp_path / "out/more-nodes" / name).summary.wait_s.mean for name in ("as-it-is", "answer-3")]
    assert [again["wait_s.mean"][0], again["wait_s.mean"][3]] == waits
    assert (tmp_path / "out/settings/comparison.html").exists()


def test_the_guide_to_ten_thousand_runs(tmp_path: Path) -> None:
    """Every command and program works, and leaves as many rows as the page says."""
    follow("many-runs.md", tmp_path)
    rows = {
        name: pl.read_parquet(tmp_path / "out" / name / "sweep.parquet").height
        for name in ("study-sweep", "loads", "zipped", "swept-sweep", "py")
    }
    assert rows == {"study-sweep": 18, "loads": 10, "zipped": 2, "swept-sweep": 16, "py": 12}
