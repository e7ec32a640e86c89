"""What a report says of a power limit and of learned power, and that it says nothing where there was none."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from synthetic import block_schedule, decisions_of, frames_of, write_synthetic
from test_figure import validate
from test_html import Tags, figures_of, own_text

from wattline.journal.journal import Coded, Journal, open_journal, write_journal
from wattline.model.codes import EXCEEDS, OK, VERDICT_NAMES
from wattline.report.count.compare import compare
from wattline.report.count.metrics import Summary, summarize
from wattline.report.count.run import Run, load
from wattline.report.figures.power import draw_learning, draw_limit, draw_profile_errors
from wattline.report.pages.run import write_report
from wattline.report.tables.power import power_facts, success_words
from wattline.report.tables.summary import comparison_table, summary_table

WIDTH = 80


def limited(folder: Path, **manifest: Any) -> Journal:
    """Write a run of 300 jobs under a limit: the tenth was let in above it, profiles come from three levels."""
    schedule = block_schedule(300, 6, 4, 5)
    frames, made = frames_of(**schedule, limit_w=5200.0)
    job = np.argsort(schedule["start"], kind="stable")
    verdict = np.where(np.arange(300) == 10, EXCEEDS, OK)
    frames["decisions"] = decisions_of(
        time_s=schedule["start"][job],
        slot=Coded(np.zeros(300, dtype=np.int64), ["select"]),
        job_id=job + 1,
        nodes=schedule["nodes"][job],
        cap_w=np.full(300, np.nan),
        why=Coded(np.zeros(300, dtype=np.int64), ["window"]),
        verdict=Coded(verdict, VERDICT_NAMES),
    )
    level = np.minimum(2, 300 // (1 + np.arange(300)) // 40)
    frames["profiles"] = {
        "job_id": np.arange(1, 301),
        "submit_level": level,
        "start_level": level,
        "start_w": 300.0 + 10.0 * level,
        "mean_w": np.full(300, 300.0),
        "seen_w": 290.0 + np.arange(300) % 20,
    }
    told = {
        "policies": {"order": "fcfs", "select": "window", "profile": "t-test"},
        "power": {"levels": [["user"], ["group"]], "tick_s": 10.0, "sample_s": 300.0},
    }
    write_journal(folder, frames, made | told | manifest)
    return open_journal(folder)


@pytest.fixture(scope="module")
def under(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """The run above."""
    return limited(tmp_path_factory.mktemp("limited") / "j")


def found_learning(run: Run) -> Any:
    """Return what was learned in a run."""
    from wattline.report.count.learning import count_learning

    return count_learning(run)


def test_sections_and_figures(under: Journal, out: Path) -> None:
    """Limit and learning have sections with figures that plotly accepts; power is drawn once."""
    write_report(under, out)
    words = Tags(own_text(out)).words
    for text in (
        "Under the power limit",
        "capping success",
        "but for 1 deadlock start",
        "Learned power",
        "known on arrival",
        "without deadlock starts",
        "Capping success is",
        "A profile is known on arrival",
    ):
        assert text in words, text
    assert {"scatter", "bar"} == set(validate(out))
    names = [trace.get("name") for figure in figures_of(out) for trace in figure["data"]]  # type: ignore[attr-defined]
    assert names.count("power") == 1
    assert {
        "deadlock starts",
        "limit",
        "of all so far",
        "of the last 7 days",
        "own",
        "maximum",
        "all, against the mean",
    } <= set(names)


def test_nothing_is_said_where_there_is_nothing(tmp_path: Path, out: Path) -> None:
    """A run without limit and learning has none of these sections, and power is drawn over time as always."""
    journal = write_synthetic(tmp_path / "j", **block_schedule(50, 4, 2, 2))
    write_report(journal, out)
    words = Tags(own_text(out)).words
    assert not [text for text in ("Under the power limit", "Learned power", "Capping", "profile") if text in words]
    assert power_facts(summarize(journal)) == []


def test_deadlock_starts_are_marked(under: Journal) -> None:
    """A deadlock start is a mark at its time and the power then, which says how long the job ran."""
    run = load(under)
    marks = draw_limit(run).figure.data[-1]
    assert (marks["name"], len(marks["x"])) == ("deadlock starts", 1)
    assert run.actions is not None
    begin_s, end_s = run.actions.deadlocks[0]
    job = run.jobs.filter((run.jobs["start_s"] == begin_s) & (run.jobs["end_s"] == end_s))
    assert job.height >= 1


def test_a_limit_that_changes_all_the_time_does_not_fill_the_page(under: Journal) -> None:
    """Of very many steps the lowest in every pixel is drawn, and the line stays in order of time."""
    run = load(under)
    count = 50_000
    time_s = np.linspace(run.start_s, run.end_s, count, endpoint=False)
    limit_w = 5000.0 + np.arange(count) % 7
    limit_w[31_234], limit_w[:100] = 17.0, np.inf
    steps = replace(
        run.steps,
        time_s=time_s,
        limit_w=limit_w,
        duration_s=np.diff(np.append(time_s, run.end_s)),
        power_w=np.ones(count),
    )
    line = next(t for t in draw_limit(replace(run, steps=steps)).figure.data if t.get("name") == "limit")
    x, y = np.asarray(line["x"], dtype=float), np.asarray(line["y"], dtype=float)
    assert len(x) <= 1000
    assert (np.diff(x) > 0).all()
    assert np.nanmin(y) == 17.0


def test_learning_curve_is_that_of_the_numbers(under: Journal) -> None:
    """The last point of the cumulative learning rate is the share that the summary tells."""
    run = load(under)
    found = found_learning(run)
    drawn = draw_learning(run, found)
    assert drawn is not None
    curve = next(trace for trace in drawn.figure.data if trace["name"] == "of all so far")
    assert curve["y"][-1] == pytest.approx(100 * found.known)
    assert draw_learning(run, replace(found, learner="maximum")) is None


def test_errors_are_drawn_by_level(under: Journal) -> None:
    """Each level that occurs has a curve against peaks, and all have one against means; what was never sampled has
    none.
    """
    run = load(under)
    found = found_learning(run)
    drawn = draw_profile_errors(run, found)
    assert drawn is not None
    assert [t["name"] for t in drawn.figure.data] == ["own", "group", "maximum", "all, against the mean", "exact"]
    assert run.profiles is not None
    blank = replace(run, profiles=run.profiles.with_columns(seen_w=np.nan, mean_w=np.nan))
    assert draw_profile_errors(blank, found) is None


def shown(renderable: Any) -> str:
    """Return what a terminal of 80 columns shows."""
    console = Console(file=io.StringIO(), width=WIDTH)
    console.print(renderable)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    return str(text)


def test_the_summary_in_a_terminal(under: Journal) -> None:
    """Success, worst excess, learning rate and errors take one line each of 80 columns."""
    text = shown(summary_table(summarize(under)))
    for name in ("limit kept", "at worst", "learned", "profiles"):
        line = next(line for line in text.splitlines() if name in line)
        assert len(line.rstrip()) <= WIDTH
    assert "but for 1 deadlock start" in text
    assert "of profiles known on arrival; 94 % of all: " in text


def test_the_comparison_has_their_columns(under: Journal) -> None:
    """Capping and learning are compared; actions that never happened are left out."""
    summary = summarize(under)
    text = shown(comparison_table(compare({"a": [summary], "b": [summary]})))
    for title in (
        "capping success [%]",
        "success but for deadlocks [%]",
        "longest excess",
        "deadlock starts",
        "profiles known",
    ):
        assert title in text, title
    assert "caps set" not in text
    assert "jobs stopped" not in text


def test_what_is_not_known_is_not_said(under: Journal) -> None:
    """Without decisions nothing is said of deadlock starts."""
    summary: Summary = summarize(under)
    assert summary.capping is not None
    unknown = replace(summary.capping, deadlock_starts=math.nan)
    assert "deadlock" not in success_words(unknown)


def test_bars_of_a_limit_that_was_not_kept(under: Journal, tmp_path: Path) -> None:
    """A comparison draws the time above the limit, unless all of them kept it."""
    from wattline.report.figures.beside import draw_comparison

    summary = summarize(under)
    kept = replace(summary, power=replace(summary.power, above_limit_share=0.0))
    titles = [drawn.title for drawn in draw_comparison(compare({"a": [kept], "b": [summary]}))]
    assert "time above the limit" in titles
    assert "time above the limit" not in [d.title for d in draw_comparison(compare({"a": [kept], "b": [kept]}))]
