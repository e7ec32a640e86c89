"""What was learned of the power of jobs, held against numbers worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import frames_of

from wattline.journal.journal import open_journal, write_journal
from wattline.report.count.learning import (
    Learning,
    learning_rate,
    level_names,
    measure_learning,
    profile_errors,
    settled_day,
)
from wattline.report.count.metrics import summarize
from wattline.units import DAY_S

NAN = math.nan


def test_rate_by_day() -> None:
    """Jobs count on the day they entered the queue: by themselves, with all before, and with those of the last days."""
    day = np.array([0, 0, 1, 3, 3, 3, 3])
    known = np.array([False, False, True, True, True, True, False])
    found = learning_rate(1000.0 + day * DAY_S + 5.0, known, 1000.0, trailing_days=2)
    assert found.jobs.tolist() == [2, 1, 0, 4]
    assert found.known.tolist() == [0, 1, 0, 3]
    np.testing.assert_allclose(found.daily, [0, 1, NAN, 0.75])
    np.testing.assert_allclose(found.cumulative, [0, 1 / 3, 1 / 3, 4 / 7])
    np.testing.assert_allclose(found.trailing, [0, 1 / 3, 1, 0.75])


@given(
    st.lists(st.tuples(st.floats(0, 30), st.booleans()), min_size=1, max_size=60),
    st.integers(1, 12),
)
def test_rate_against_a_slow_count(jobs: list[tuple[float, bool]], trailing: int) -> None:
    """All three rates are what counting day by day gives."""
    at, known = (np.array(column) for column in zip(*jobs, strict=True))
    found = learning_rate(at * DAY_S, known, 0.0, trailing)
    day = np.floor(at * DAY_S / DAY_S).astype(int)
    for d in range(found.jobs.size):
        for rate, first in ((found.daily, d), (found.cumulative, 0), (found.trailing, d - trailing + 1)):
            these = known[(day >= first) & (day <= d)]
            assert rate[d] == pytest.approx(these.mean() if these.size else NAN, nan_ok=True)


def test_settled_day() -> None:
    """Learning is settled after the first day from which the rate stays at the threshold or above."""
    assert settled_day(np.array([0.95, 0.93, 0.94, 0.99])) == 3
    assert settled_day(np.array([0.95, NAN, 0.96])) == 1
    assert math.isnan(settled_day(np.array([0.99, 0.5, NAN])))
    assert math.isnan(settled_day(np.array([])))


def test_errors() -> None:
    """Errors are relative to what jobs drew; too low a profile is below 0, and unknown power counts nowhere."""
    found = profile_errors(
        np.array([60.0, 50.0, 50.0]),
        np.array([50.0, 40.0, NAN]),
        np.array([75.0, 50.0, NAN]),
        np.array([10.0, 30.0, 99.0]),
    )
    assert found.jobs == 3
    assert (found.mean.count, found.mean.min, found.mean.max) == (2, pytest.approx(0.2), pytest.approx(0.25))
    assert (found.peak.min, found.peak.max) == (pytest.approx(-0.2), pytest.approx(0.0))
    assert (found.under_mean, found.under_peak) == (0.0, 0.5)
    assert found.overcount == pytest.approx((600 + 1500) / (500 + 1200) - 1)


def test_by_level() -> None:
    """Jobs are told apart by the level that spoke for them: on entering the queue for the rate, at the start for
    errors.
    """
    found = measure_learning(
        "t-test",
        (("group", "user"), ("group",)),
        0.0,
        submit_s=np.zeros(4),
        submit_level=np.array([0, 1, 2, 2]),
        start_level=np.array([0, 1, 1, 2]),
        start_w=np.array([50.0, 60.0, 60.0, 100.0]),
        mean_w=np.array([50.0, 50.0, 80.0, 50.0]),
        seen_w=np.array([55.0, 60.0, 80.0, 60.0]),
        node_s=np.ones(4),
    )
    assert found.known == 0.5
    assert [(row.name, row.submitted, row.share) for row in found.levels] == [
        ("own", 1, 0.25),
        ("group", 1, 0.25),
        ("maximum", 2, 0.5),
        ("doubted", 0, 0.0),
    ]
    assert [row.errors.jobs for row in found.levels] == [1, 2, 1, 0]
    assert [row.errors.under_peak for row in found.levels[:3]] == [1.0, 0.5, 0.0]
    assert [row.errors.under_mean for row in found.levels[:3]] == [0.0, 0.5, 0.0]
    assert found.errors.jobs == 4
    assert math.isnan(found.settled_day)
    assert found.learns


def test_names_of_levels() -> None:
    """A level is called by its columns, but for a job's own and the greatest power of its nodes."""
    assert level_names([["nodes"]]) == ("own", "maximum", "doubted")


def write_run(folder: Path, manifest: dict[str, Any], *, profiles: bool = True) -> Learning | None:
    """Write a run of three jobs with profiles of the second and third, in another order, and count."""
    frames, made = frames_of(
        [0, DAY_S, 2 * DAY_S], [0, DAY_S, 2 * DAY_S], [100, DAY_S + 100, 2 * DAY_S + 300], [1, 2, 4], [0, 0, 0], 4
    )
    if profiles:
        frames["profiles"] = {
            "job_id": np.array([3, 2]),
            "submit_level": np.array([1, 3]),
            "start_level": np.array([0, 3]),
            "start_w": np.array([90.0, 120.0]),
            "mean_w": np.array([100.0, NAN]),
            "seen_w": np.array([110.0, NAN]),
        }
    write_journal(folder, frames, made | manifest)
    return summarize(open_journal(folder)).learning


def test_from_a_journal(tmp_path: Path) -> None:
    """The table of profiles is joined with its jobs; levels and learner are in the manifest."""
    told = {"policies": {"profile": "quantile"}, "power": {"levels": [["user"], ["group"], ["partition"]]}}
    found = write_run(tmp_path / "j", told)
    assert found is not None
    assert (found.learner, found.jobs, found.known) == ("quantile", 2, 0.5)
    assert [row.submitted for row in found.levels] == [0, 1, 0, 1, 0]
    assert found.errors.overcount == pytest.approx(-0.1)
    assert found.errors.under_mean == 1.0
    assert math.isnan(found.settled_day)


def test_journals_in_which_power_was_known(tmp_path: Path) -> None:
    """Where nothing was learned there is nothing to tell."""
    assert write_run(tmp_path / "j", {}, profiles=False) is None
