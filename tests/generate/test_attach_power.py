"""Power from the model of Mira for the jobs of any log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.formats.jobs import read_trace
from wattline.generate.attach_power import attach_power, keys_of
from wattline.generate.mira_power import MAX_W, TABLE_I
from wattline.model.jobs import JobTable
from wattline.reading.notes import Trace


def log(jobs: int = 600) -> Trace:
    """Return jobs of three users, one of them in a group and one nameless, in turn."""
    turn = np.arange(jobs)
    table = JobTable.build(
        submit_s=turn * 60.0,
        work_s=np.full(jobs, 7200.0),
        nodes=np.where(turn % 2 == 0, 512, 1024),
        user=np.where(turn % 3 == 2, -1, turn % 3),
        users=["ann", "bob"],
        group=np.where(turn % 3 == 0, 0, -1),
        groups=["g"],
        kind=turn % 5,
        kinds=[str(i) for i in range(5)],
    )
    return Trace(table, source="log")


def test_every_job_gets_a_project_and_power() -> None:
    """The project is the group, else the user, said; jobs without either are one project."""
    found = attach_power(log())
    jobs = found.jobs
    assert jobs.groups == ("g", "user bob")
    assert jobs.group[:3].tolist() == [0, 1, -1]
    assert {n.reason: n.count for n in found.notes} == {
        "has no group: its user is its project": 200,
        "has neither group nor user: such jobs are one project": 200,
    }
    assert jobs.series is not None
    assert np.all(np.diff(jobs.series.first) == 24)
    assert np.all((jobs.draw_w > 0.3 * MAX_W) & (jobs.draw_w <= MAX_W))
    assert found.header["Power"] == "model mira, seed 1, at most 97.65625 W a node"


def test_a_key_has_the_same_profile_in_every_part_of_a_log() -> None:
    """Levels of keys agree between a log and its second half but for what differs from run to run; seeds differ."""
    whole, half = attach_power(log()), attach_power(Trace(log().jobs.take(np.arange(600) >= 300)))
    again, other = attach_power(log()), attach_power(log(), seed=2)
    assert np.array_equal(whole.jobs.draw_w, again.jobs.draw_w)
    mean, part, strange = (_levels(found) for found in (whole, half, other))
    assert set(part) == set(mean)
    apart = np.array([part[key] - mean[key] for key in mean])
    assert np.abs(apart).max() < 2.0
    assert np.ptp(list(mean.values())) > 5 * apart.std()
    assert np.std([strange[key] - mean[key] for key in mean]) > 5 * apart.std()


def _levels(found: Trace) -> dict[str, float]:
    keys = keys_of(found.jobs)
    return {text: float(found.jobs.draw_w[keys.key == code].mean()) for code, text in enumerate(keys.keys)}


def test_power_of_the_log_is_replaced_and_counted() -> None:
    """What the log said of power is gone, floors and slowdowns with it."""
    table = log(6).jobs.with_columns(draw_w=[50.0, 60.0, *[np.nan] * 4], floor_w=[30.0] * 6, stretch=[2.0] * 6)
    found = attach_power(Trace(table))
    assert [(n.action, n.count) for n in found.notes if "replaced" in n.reason] == [("repaired", 2)]
    assert np.isnan(found.jobs.floor_w).all()
    assert np.isnan(found.jobs.stretch).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "miro"}, "unknown power model 'miro'; did you mean 'mira'?"),
        ({"seed": -1}, "a seed is a whole number"),
        ({"max_w": 0.0}, "the greatest power of a node must be positive"),
    ],
)
def test_senseless_questions_are_refused(given: dict[str, object], said: str) -> None:
    """What makes no sense is said in one line."""
    with pytest.raises(InputError) as caught:
        attach_power(log(6), **given)  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "max_w"), [("ALCF-Mira-2018H2_norm.swf.gz", MAX_W), ("ALCF-Theta-2023H1_norm.swf.gz", 380.0)]
)
def test_real_streams_get_plausible_power(data_dir: Path, name: str, max_w: float) -> None:
    """The real streams of Mira and Theta get power around table I's mean, no more than a node can draw."""
    jobs = attach_power(read_trace(data_dir / "swf" / name), max_w=max_w).jobs
    assert jobs.series is not None
    assert jobs.series.watts.max() <= max_w
    assert 100 * jobs.draw_w.mean() / max_w == pytest.approx(TABLE_I["mean"], rel=0.08)
    assert 100 * jobs.draw_w.std() / max_w == pytest.approx(TABLE_I["std"], rel=0.6)
