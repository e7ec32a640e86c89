"""Learners of power profiles: the t-test, moments in any order, conformal quantiles, pooled margins, what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.worlds import cluster, examples, policies
from wattline.errors import InputError, TraceError
from wattline.formats.tables.profiles import read_profiles, write_profiles
from wattline.kernel.compiled import library
from wattline.learn import merging, moments, pooled, quantile, student, t_test, t_test_per_job
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.result import Result

Floats = npt.NDArray[np.float64]


@library
def t_value(x: Floats) -> float:
    """Call the kernels from outside: two samples' moments in a row."""
    return student.t_value(x[0], x[1], x[2], x[3], x[4], x[5])


@library
def differs(x: Floats) -> bool:
    """Tell whether two samples differ, by their moments in a row."""
    return student.differs(x[0], x[1], x[2], x[3], x[4], x[5])


@library
def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability of such a |t|."""
    return student.two_sided_p(t, freedom)


@library
def take_in(rows: Floats, at: int, values: Floats) -> None:
    """Take values into moments."""
    for x in values:
        moments.add(rows, at, x)


@library
def observe(row: Floats, values: Floats) -> None:
    """Show samples to the t-test learner."""
    for x in values:
        t_test.observe(row, 0, x)


@library
def seen(row: Floats, recent: bool) -> Floats:
    """Return the moments of all, or of the last, samples of a profile."""
    a, b, c = t_test.recent_moments(row, 0) if recent else t_test.all_moments(row, 0)
    return np.array([a, b, c])


@library
def quantile_of(shares: Floats, miss: float) -> float:
    """Return the quantile of samples by the histogram."""
    row = np.zeros(quantile.ROW)
    for x in shares:
        quantile.observe(row, 0, x)
    return quantile.upper_quantile(row, 0, miss)


SAMPLES = st.lists(st.floats(20.0, 100.0), min_size=1, max_size=60)


def moments_of(values: Any) -> tuple[float, float, float]:
    """Return count, mean and squared deviations of values at once."""
    x = np.asarray(values, dtype=float)
    return float(x.size), float(x.mean()), float(((x - x.mean()) ** 2).sum())


@given(
    st.lists(st.floats(0, 100), min_size=20, max_size=40),
    st.lists(st.floats(0, 100), min_size=20, max_size=80),
    st.floats(0, 20),
)
@examples(200)
def test_t_and_verdict_as_scipy(a: list[float], b: list[float], shift: float) -> None:
    """Student's t, its probability and the verdict at 99 % are those of scipy's pooled two-sample test."""
    shifted = [x + shift for x in a]
    both = np.array([*moments_of(shifted), *moments_of(b)])
    ours = t_value(both)
    scipy = stats.ttest_ind(shifted, b, equal_var=True)
    if not np.isfinite(scipy.statistic):
        return
    assert ours == pytest.approx(scipy.statistic, rel=1e-6, abs=1e-9)
    assert two_sided_p(abs(ours), len(a) + len(b) - 2.0) == pytest.approx(scipy.pvalue, rel=1e-6, abs=1e-12)
    if abs(scipy.pvalue - 0.01) > 1e-9:
        assert differs(both) == (scipy.pvalue < 0.01)


@pytest.mark.parametrize("freedom", [38, 40, 100, 1000, 100_000])
def test_the_shortcuts_are_safe(freedom: int) -> None:
    """Below the normal law's critical value no test is significant, above that of 38 degrees of freedom every one
    is.
    """
    critical = stats.t.ppf(0.995, freedom)
    assert student.NORMAL_995 < critical <= student.LARGEST_995
    assert two_sided_p(critical, float(freedom)) == pytest.approx(0.01, rel=1e-9)


@given(SAMPLES, SAMPLES)
@examples(100)
def test_moments_in_any_order(a: list[float], b: list[float]) -> None:
    """Moments taken in one by one, and merged, are those of all values at once."""
    rows = np.zeros(6)
    take_in(rows, 0, np.array(a))
    take_in(rows, 3, np.array(b))
    np.testing.assert_allclose(merging.merge_pooled(rows[:3], rows[3:]), moments_of(a + b), rtol=1e-9, atol=1e-6)


@given(SAMPLES, SAMPLES)
@examples(100)
def test_rings_merge_as_if_one_had_seen_all(a: list[float], b: list[float]) -> None:
    """A profile put together of two has the moments of all samples, and its last ones are the last of the later."""
    first, second, both = (np.zeros(t_test.ROW) for _ in range(3))
    observe(first, np.array(a))
    observe(second, np.array(b))
    observe(both, np.array(a + b))
    out = merging.merge_t_test(first, second)
    np.testing.assert_allclose(seen(out, False), moments_of(a + b), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(seen(both, False), moments_of(a + b), rtol=1e-9, atol=1e-6)
    if len(b) >= t_test.RECENT:
        np.testing.assert_allclose(seen(out, True), moments_of(b[-t_test.RECENT :]), rtol=1e-9, atol=1e-6)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=300), st.sampled_from([0.01, 0.05, 0.2]))
@examples(100)
def test_conformal_rank(shares: list[float], miss: float) -> None:
    """The quantile lies at or above the ⌈(n + 1)(1 - miss)⌉-th sample, by less than a bin; with too few there is
    none.
    """
    told = quantile_of(np.array(shares), miss)
    rank = int(np.ceil((len(shares) + 1) * (1 - miss)))
    if rank > len(shares):
        assert told == 2.0
    else:
        exact = sorted(shares)[rank - 1]
        assert exact <= told <= exact + 1.0 / quantile.BINS + 1e-12


def campaign(jobs: int = 120, seed: int = 0, level: Any = lambda i: 60.0, sd: float = 2.0) -> JobTable:
    """Return jobs of two projects, one after the other, an hour each, sampled every minute."""
    rng = np.random.default_rng(seed)
    series = PowerSeries.build(60.0, [np.clip(rng.normal(level(i), sd, 60), 0, 99) for i in range(jobs)])
    means = np.add.reduceat(series.watts.astype(float), series.first[:-1]) / 60
    return JobTable.build(
        submit_s=np.arange(jobs) * 1800.0,
        work_s=np.full(jobs, 3600.0),
        nodes=np.full(jobs, 2),
        group=np.arange(jobs) % 2,
        groups=("p", "q"),
        user=np.zeros(jobs),
        users=("u",),
        draw_w=means,
        series=series,
    )


def learned(jobs: JobTable, profile: str, limit_w: float = 400.0, **params: float) -> Simulation:
    """Return a simulation of the jobs on four nodes under a limit, run to its end."""
    machine = cluster(4, idle_w=0.0, max_w=100.0)
    chosen = policies({"profile": params}, select="window", profile=profile)
    simulation = Simulation(jobs, machine, chosen, Options(limit_w=[(0, limit_w)], exceed=True))
    simulation.result_ = simulation.run()  # type: ignore[attr-defined]
    return simulation


def result_of(simulation: Simulation) -> Result:
    """Return what ``learned`` ran."""
    result: Result = simulation.result_  # type: ignore[attr-defined]
    return result


def test_first_the_maximum_then_the_group_then_its_own() -> None:
    """Nothing is known of the first job; after 20 samples its project tells, or its own earlier runs do."""
    s = result_of(learned(campaign(), "t-test")).state
    assert s.start_profile_w[0] == 100.0
    assert s.submit_profile_from[0] == 2
    late = s.start_profile_w[60:]
    assert np.median(late) == pytest.approx(60 + 2.33 * 2.0, abs=0.5)


def test_a_change_of_behaviour_is_noticed() -> None:
    """When a job's power jumps away from all that was seen, the maximum is assumed before the new power is known."""
    jobs = campaign(level=lambda i: 50.0 if i < 60 else 75.0, sd=1.0)
    s = result_of(learned(jobs, "t-test")).state
    assert s.start_profile_w[50] < 60
    assert s.start_profile_w[64] == 100.0
    calm = result_of(learned(campaign(level=lambda i: 50.0, sd=1.0), "t-test")).state
    assert (calm.start_profile_w[40:] < 60).mean() > 0.8


@pytest.mark.parametrize("profile", ["t-test", "t-test-per-job"])
@pytest.mark.parametrize("watts", [31.572, 51.746, 98.99, 13.3, 10.7, 50.0, 1e-3])
def test_a_power_that_never_changes_is_not_doubted(watts: float, profile: str) -> None:
    """Of a constant power both the difference of the means and the variance are rounding: the profile stays, and is
    that power.
    """
    s = result_of(learned(campaign(level=lambda i: watts, sd=0.0), profile)).state
    np.testing.assert_allclose(s.start_profile_w[10:], watts, rtol=1e-6)


def test_a_profile_stays_until_it_is_rejected() -> None:
    """By the letter a known profile does not change while the samples of running jobs agree with it, and the first that
    differ from it and from their group make the maximum.
    """
    calm = result_of(learned(campaign(level=lambda i: 50.0, sd=1.0), "t-test-per-job", recover=0.0)).state
    own = calm.start_profile_w[(calm.start_profile_w < 60) & (np.arange(120) % 2 == 0) & (np.arange(120) > 6)]
    assert np.unique(own[:6]).size == 1
    jobs = campaign(level=lambda i: 50.0 if i < 60 else 75.0, sd=1.0)
    s = result_of(learned(jobs, "t-test-per-job", recover=0.0)).state
    assert s.start_profile_w[50] < 60
    assert np.all(s.start_profile_w[70:] == 100.0)
    again = result_of(learned(jobs, "t-test-per-job")).state
    assert np.median(again.start_profile_w[100:]) == pytest.approx(75 + 2.33, abs=1.0)


def test_runs_beside_each_other_are_tested_apart() -> None:
    """Two runs of a key at once, one at 50 W and one at 70 W, are each held against what is older: the mixture of both
    that came before has two levels, and neither run alone agrees with it.
    """
    jobs = campaign(jobs=40, level=lambda i: 50.0 if i % 4 < 2 else 70.0, sd=1.0)
    s = result_of(learned(jobs, "t-test-per-job", recover=0.0)).state
    assert np.all(s.start_profile_w[20:] == 100.0)


def test_profiles_by_job_are_kept_and_merged() -> None:
    """What is known of a key at the end of a run is known at the first job of the next; merged, samples of both count
    and the later run tells the profile.
    """
    kept = learned(campaign(level=lambda i: 50.0, sd=1.0), "t-test-per-job").learned()
    assert kept is not None
    chosen = policies(None, select="window", profile="t-test-per-job")
    machine = cluster(4, idle_w=0.0, max_w=100.0)
    second = Simulation(campaign(seed=1), machine, chosen, Options(limit_w=[(0, 400.0)], exceed=True))
    second.begin_with(kept)
    assert second.run().state.submit_profile_from[0] == 0
    later = kept.rows.copy()
    later[:, t_test_per_job.HIGH_W] *= 2
    both = merging.merge_per_job(kept.rows[0], later[0])
    assert both[0] == 2 * kept.rows[0][0]
    assert both[t_test_per_job.HIGH_W] == later[0][t_test_per_job.HIGH_W]


def test_naive_capping_measures_who_runs() -> None:
    """A job that waits counts with the greatest power of its nodes, one that runs with what was measured last."""
    jobs = campaign(jobs=4, level=lambda i: 50.0, sd=0.5)
    tight = 2 * 100.0 + 2 * 60.0  # one job at the maximum beside one that was measured
    told = {name: result_of(learned(jobs, name, limit_w=tight)).state for name in ("maximum", "measured")}
    assert told["maximum"].started_s[1] == 3600.0
    assert told["measured"].started_s[1] == 1800.0
    assert np.all(told["measured"].start_profile_w == 100.0)


@pytest.mark.parametrize("miss", [0.02, 0.1])
def test_the_stated_miss_probability_holds(miss: float) -> None:
    """Samples exceed the quantile learner's profile about as often as stated, and no more."""
    jobs = campaign(jobs=300, sd=5.0)
    s = result_of(learned(jobs, "quantile", miss=miss)).state
    assert jobs.series is not None
    late = range(150, 300)
    above = np.concatenate([jobs.series.of(j) > s.start_profile_w[j] for j in late])
    assert miss / 3 < above.mean() < miss * 1.3


def test_the_margin_of_the_sum_is_held() -> None:
    """The pooled learner's bound on the power of all running jobs is exceeded as often as stated, though jobs
    differ.
    """
    simulation = learned(campaign(jobs=600, sd=6.0), "pooled", miss=0.05)
    whole = simulation.memory[5][pooled.COLUMNS * 600 :]
    assert whole[pooled.LATE] / whole[pooled.SAMPLES] == pytest.approx(0.05, abs=0.015)


def test_what_was_learned_is_kept(tmp_path: Path) -> None:
    """A run that begins with the profiles of an earlier one knows from its first job on; other levels are refused."""
    first = learned(campaign(), "t-test")
    kept = first.learned()
    assert kept is not None
    write_profiles(tmp_path / "p.parquet", kept)
    again = read_profiles(tmp_path / "p.parquet")
    np.testing.assert_array_equal(again.rows, kept.rows)
    assert again.labels == kept.labels
    machine = cluster(4, idle_w=0.0, max_w=100.0)
    chosen = policies(None, select="window", profile="t-test")
    second = Simulation(campaign(seed=1), machine, chosen, Options(limit_w=[(0, 400.0)], exceed=True))
    assert second.begin_with(again) == len(kept.labels)
    assert second.run().state.submit_profile_from[0] == 0
    other = Simulation(campaign(), machine, chosen, Options(limit_w=[(0, 400.0)], profiles=[["user"]]))
    with pytest.raises(InputError, match="the run has user"):
        other.begin_with(again)
    halves = again.merge(again)
    n = [seen(row, False)[0] for row in halves.rows]
    assert n == [2 * seen(row, False)[0] for row in again.rows]


def test_loaded_quantiles_are_those_of_the_run() -> None:
    """Profiles of a run with another miss probability, or merged ones, are told for that of the run from its first job
    on.
    """
    first = learned(campaign(sd=6.0), "quantile", miss=0.4)
    kept = first.learned()
    assert kept is not None
    machine = cluster(4, idle_w=0.0, max_w=100.0)
    told = []
    for start, miss in ((kept, 0.4), (kept, 0.01), (kept.merge(kept), 0.01)):
        chosen = policies({"profile": {"miss": miss}}, select="window", profile="quantile")
        run = Simulation(campaign(seed=1), machine, chosen, Options(limit_w=[(0, 400.0)], exceed=True))
        run.begin_with(start)
        told.append(run.run().state.start_profile_w[0])
    assert told[0] == pytest.approx(60 + 0.25 * 6, abs=1.2)
    assert told[1] == told[2] == pytest.approx(60 + 2.33 * 6, abs=2.5)


def test_no_profiles_in_the_file(tmp_path: Path) -> None:
    """A file of something else is refused in one line."""
    (tmp_path / "p.parquet").write_text("no")
    with pytest.raises(TraceError, match="not a file of power profiles"):
        read_profiles(tmp_path / "p.parquet")
