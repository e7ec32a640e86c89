"""Power of jobs on a machine like Mira: table I, figures 1 and 2 of its source, and power over the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.generate.jobs import MiraLike, generate
from wattline.generate.mira_power import MAX_W, MEMORY, RACK_KW, RAMP, STEP_S, TABLE_I, Keys, MiraPower, _fluctuation
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.reading.series_column import mean_over_run


@pytest.fixture(scope="module", params=[(1, 1), (7, 3)], ids=["default", "other"])
def year(request: pytest.FixtureRequest) -> JobTable:
    """A year."""
    seed, population = request.param
    return generate(MiraLike(seed=seed, population=population)).jobs


def rack_kw(watts: Any) -> Floats:
    """Return power per node as kilowatts a rack."""
    return np.asarray(watts, dtype=np.float64) / MAX_W * RACK_KW


def series_of(jobs: JobTable) -> PowerSeries:
    """Return the power over time, which is there."""
    assert jobs.series is not None
    return jobs.series


def test_table_one_comes_out(year: JobTable) -> None:
    """Over all jobs, power a rack has the published mean, deviation and percentiles; its extremes within 3 %, the
    greatest cut.
    """
    kw = rack_kw(year.draw_w)
    assert kw.mean() == pytest.approx(TABLE_I["mean"], rel=0.005)
    assert kw.std() == pytest.approx(TABLE_I["std"], rel=0.015)
    for percent in (5, 25, 75, 95, 99):
        assert np.percentile(kw, percent) == pytest.approx(TABLE_I[f"p{percent}"], rel=0.005)
    assert kw.min() == pytest.approx(TABLE_I["min"], rel=0.03)
    assert 90.0 < kw.max() <= RACK_KW < TABLE_I["max"]
    assert series_of(year).watts.max() <= MAX_W


def test_whole_machine_runs_fit_under_four_megawatts(year: JobTable) -> None:
    """As published, runs on 48 racks break a limit of 3,000 kW in part, and one of 4,000 kW never."""
    series = series_of(year)
    whole = np.flatnonzero(year.nodes == 49152)
    assert whole.size > 10
    assert 0.3 < np.mean(year.draw_w[whole] * 49152 > 3.0e6) < 0.9
    assert max(float(series.of(j).max()) for j in whole) * 49152 < 4.0e6


def medians(jobs: JobTable, codes: Any, least: int) -> tuple[Floats, Any, Floats]:
    """Return median and spread (standard deviation) of power a rack of everybody with enough jobs, and which they
    are.
    """
    kw = rack_kw(jobs.draw_w)
    enough = np.flatnonzero(np.bincount(codes) >= least)
    rows = [kw[codes == c] for c in enough]
    return np.array([np.median(r) for r in rows]), enough, np.array([r.std() for r in rows])


def test_projects_differ_in_median_and_spread(year: JobTable) -> None:
    """As in figure 1: medians lie several kilowatts apart, and some projects spread twice as wide as others."""
    middle, _, spread = medians(year, year.group, 40)
    assert middle.size > 50
    assert 3.5 < middle.std() < 6.5
    low, high = np.percentile(spread, [10, 90])
    assert high / low > 1.7
    assert np.mean(spread) < TABLE_I["std"]


def test_users_of_a_project_differ_slightly(year: JobTable) -> None:
    """As in figure 2: users lie much closer to their project's median than projects lie to each other."""
    projects, which, _ = medians(year, year.group, 40)
    users, who, _ = medians(year, year.user, 40)
    owner = np.array([year.group[np.argmax(year.user == u)] for u in who])
    own = dict(zip(which.tolist(), projects.tolist(), strict=True))
    apart = users - np.array([own[int(p)] for p in owner])
    assert 0.3 < apart.std() < 0.5 * projects.std()


def test_runs_of_a_key_differ_less_than_keys(year: JobTable) -> None:
    """Power differs from run to run by tenths of a kilowatt a rack, between the keys of a project by kilowatts."""
    key = np.unique(np.stack([year.group, year.user, year.kind, year.nodes]), axis=1, return_inverse=True)[1].ravel()
    kw = rack_kw(year.draw_w)
    count = np.bincount(key)
    mean = np.bincount(key, kw) / count
    often = (count >= 10)[key]
    runs = (kw - mean[key])[often].std()
    projects = np.bincount(year.group, kw) / np.bincount(year.group)
    keys = (mean[key] - projects[year.group])[often].std()
    assert 0.05 < runs < 0.4
    assert keys > 5 * runs


def test_draw_is_the_mean_of_the_run(year: JobTable) -> None:
    """Every job has a value for each five minutes of its run, and their mean by time is what it draws."""
    series = series_of(year)
    assert series.step_s == STEP_S
    assert np.array_equal(np.diff(series.first), np.ceil(year.work_s / STEP_S))
    assert np.array_equal(mean_over_run(series, year.work_s), year.draw_w)


def test_power_changes_over_a_run(year: JobTable) -> None:
    """Runs begin below their level, dip, drift and fluctuate: a few percent over the run, never a phase of 80
    minutes.
    """
    series = series_of(year)
    long = np.flatnonzero(np.diff(series.first) >= 60)[:2000]
    first = series.watts[series.first[long]] / year.draw_w[long]
    assert RAMP[0] < 1 - first.mean() < RAMP[1]
    spread = np.array([series.of(j).std() / year.draw_w[j] for j in long])
    assert 0.012 < np.median(spread) < 0.03
    for j in long[:300]:
        low = series.of(j)[3:] < 0.98 * np.median(series.of(j))
        runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], low, [0]]))))[::2]
        assert runs.max(initial=0) * STEP_S < 80 * 60


def test_fluctuations_are_autoregressive_and_of_each_job() -> None:
    """Fluctuations have variance 1 from the first step on and the stated memory; neighbouring jobs share nothing."""
    jobs, steps = 5000, 40
    rows = _fluctuation(np.full(jobs, steps), np.random.default_rng(1)).reshape(jobs, steps).astype(np.float64)
    assert rows.var(axis=0) == pytest.approx(np.ones(steps), abs=0.1)
    for lag in (1, 2, 5):
        assert np.mean(rows[:, lag:] * rows[:, :-lag]) == pytest.approx(MEMORY**lag, abs=0.02)
    assert abs(np.mean(rows[1:, 0] * rows[:-1, -1])) < 4 / np.sqrt(jobs)


def test_names_alone_decide_a_profile() -> None:
    """The same key has the same level and the same shape whoever else is in the log; another seed has others."""
    alone = Keys(np.zeros(50, int), np.zeros(50, int), np.zeros(50, int), ["p"], ["u"], ["k"])
    among = Keys(np.ones(50, int), np.full(50, 2), np.ones(50, int), ["x", "p"], ["a", "b", "u"], ["y", "k"])
    one, two = (MiraPower(3).series(k, np.full(50, 36000.0), np.random.default_rng(2)) for k in (alone, among))
    assert np.array_equal(one.watts, two.watts)
    other = MiraPower(4).series(alone, np.full(50, 36000.0), np.random.default_rng(2))
    assert abs(other.watts.mean() - one.watts.mean()) > 0.1


def test_powers_scale_with_the_greatest_of_a_node() -> None:
    """Nodes of another kind draw in proportion to what they draw at most."""
    keys = Keys(*(np.arange(30),) * 3, *([str(i) for i in range(30)],) * 3)
    small, large = (MiraPower(1, w).series(keys, np.full(30, 9000.0), np.random.default_rng(1)) for w in (100.0, 400.0))
    assert large.watts == pytest.approx(4 * small.watts, rel=1e-6)
    with pytest.raises(InputError, match="the greatest power of a node must be positive, got -1 W"):
        MiraPower(1, -1.0)
