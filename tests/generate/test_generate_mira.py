"""A year of a machine like Mira: the laws that were measured, those that were published, and those that were chosen."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.formats.jobs import read_trace
from wattline.generate.jobs import MiraLike, generate
from wattline.generate.mira import FULL_MACHINE, JOBS_A_YEAR, LOAD
from wattline.generate.mira_laws import _HOURS, _POINTS, LEAST_S, LIMIT_S, NODES, SHARES, SIZES
from wattline.generate.mira_power import MAX_W
from wattline.model.jobs import ARRAY_COLUMNS, JobTable
from wattline.reading.notes import Trace
from wattline.units import DAY_S

DAYS = 365


@pytest.fixture(scope="module")
def year() -> Trace:
    """The default year."""
    return generate(MiraLike())


@pytest.fixture(scope="module")
def years() -> list[JobTable]:
    """Years of other seeds and projects."""
    return [generate(MiraLike(seed=n, population=n)).jobs for n in range(2, 6)]


def known(jobs: JobTable, wait_s: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which jobs have a known profile when they are submitted, if all wait as long: 20 samples of their project.

    A key has no more samples than its project, so the project decides.
    """
    found = np.zeros(len(jobs), dtype=np.bool_)
    for project in range(len(jobs.groups)):
        mine = np.flatnonzero(jobs.group == project)
        first = mine[: 3 * 20]
        samples = [
            jobs.submit_s[j] + wait_s + 300.0 * np.arange(1, min(jobs.work_s[j] // 300.0, 20) + 1) for j in first
        ]
        times = np.sort(np.concatenate([*samples, np.full(20, np.inf)]))
        found[mine] = jobs.submit_s[mine] >= times[19]
    return found


def test_same_seed_same_bytes(year: Trace) -> None:
    """A year is a function of its parameters, power included; another seed draws other jobs of the same projects."""
    again, other, elsewhere = (generate(law).jobs for law in (MiraLike(), MiraLike(seed=2), MiraLike(population=2)))
    for name in ARRAY_COLUMNS:
        assert np.array_equal(getattr(year.jobs, name), getattr(again, name), equal_nan=True)
    assert year.jobs.series is not None
    assert again.series is not None
    assert np.array_equal(year.jobs.series.watts, again.series.watts)
    assert not np.array_equal(year.jobs.submit_s[:1000], other.submit_s[:1000])
    common = set(year.jobs.kinds) & set(other.kinds)
    assert len(common) > 0.8 * len(year.jobs.kinds)
    assert _project_power(year.jobs, other) > 0.97
    assert _project_power(year.jobs, elsewhere) < 0.6


def _project_power(one: JobTable, two: JobTable) -> float:
    """Return the correlation of the mean power of projects of the same name in two years."""
    means = []
    for jobs in (one, two):
        count = np.bincount(jobs.group)
        mean = np.bincount(jobs.group, jobs.draw_w) / count
        means.append({name: m for name, m, c in zip(jobs.groups, mean, count, strict=True) if c >= 50})
    both = sorted(set(means[0]) & set(means[1]))
    return float(np.corrcoef([means[0][p] for p in both], [means[1][p] for p in both])[0, 1])


def test_jobs_sizes_and_load_are_as_stated(year: Trace, years: list[JobTable]) -> None:
    """About 24,565 jobs of partition sizes only, in the measured shares, that offer exactly the stated load."""
    for jobs in (year.jobs, *years):
        assert len(jobs) == pytest.approx(JOBS_A_YEAR, rel=0.05)
        assert set(np.unique(jobs.nodes)) <= set(SIZES.tolist())
        assert np.all(jobs.nodes % 512 == 0)
        assert np.sum(jobs.nodes * jobs.work_s) / (NODES * DAYS * DAY_S) == pytest.approx(LOAD, rel=0.005)
    every = np.concatenate([jobs.nodes for jobs in years])
    shares = SHARES / SHARES.sum() * (1 - FULL_MACHINE)
    shares[-1] = FULL_MACHINE
    for size, share in zip(SIZES, shares, strict=True):
        error = math.sqrt(
            11 * share / every.size
        )  # campaigns of six: variance of counts is (2 · 6 - 1) times Poisson's
        assert np.mean(every == size) == pytest.approx(share, abs=4 * error)
    assert year.suggested_nodes == NODES


@pytest.mark.parametrize("share", [0.0, 0.003])
def test_the_share_of_full_machine_jobs_is_a_parameter(share: float) -> None:
    """Whole-machine jobs come as often as asked for, and do not change the load."""
    jobs = generate(MiraLike(full_machine=share)).jobs
    assert np.sum(jobs.nodes == NODES) == pytest.approx(share * len(jobs), abs=4 * math.sqrt(share * len(jobs)))
    assert np.sum(jobs.nodes * jobs.work_s) / (NODES * DAYS * DAY_S) == pytest.approx(LOAD, rel=0.005)


def test_days_and_load_set_the_number_of_jobs() -> None:
    """A month at another load has jobs in proportion, and offers that load."""
    counts = [len(generate(MiraLike(days=60, load=load, seed=s)).jobs) for load in (0.43, 0.86) for s in range(4)]
    assert sum(counts[:4]) / sum(counts[4:]) == pytest.approx(0.5, rel=0.1)
    assert sum(counts[4:]) / 4 == pytest.approx(JOBS_A_YEAR * 60 / 365, rel=0.08)
    jobs = generate(MiraLike(days=60, load=0.43)).jobs
    assert np.sum(jobs.nodes * jobs.work_s) / (NODES * 60 * DAY_S) == pytest.approx(0.43, rel=0.01)


def test_a_load_that_cannot_be_is_mentioned() -> None:
    """Where whole-machine jobs bring more than the load by themselves, the load that came out is said."""
    (note,) = generate(MiraLike(days=30, full_machine=0.9)).notes
    assert "not 0.86: run times cannot be stretched so far" in note.reason


def test_run_times_keep_to_the_queues(year: Trace) -> None:
    """Run times stay within five minutes, the request and the queue's limit; a part of the jobs runs to its limit."""
    jobs = year.jobs
    limit = LIMIT_S[np.searchsorted(SIZES, jobs.nodes)]
    assert np.all((jobs.work_s >= LEAST_S) & (jobs.work_s <= jobs.request_s) & (jobs.request_s <= limit))
    assert 0.2 < np.mean(jobs.work_s == jobs.request_s) < 0.5
    full = jobs.nodes == NODES
    assert np.median(jobs.work_s[full]) == pytest.approx(1.15 * 3600, rel=1.0)  # as in the log: not stretched
    keys = _keys(jobs)
    spread = np.log(jobs.work_s)
    count = np.bincount(keys)
    mean = np.bincount(keys, spread) / count
    assert (spread - mean[keys]).std() < 0.6 * spread.std()


def test_the_laws_are_those_of_the_log(data_dir: Path) -> None:
    """Shares of sizes and percentiles of run times are those of the real stream of 2018."""
    log = read_trace(data_dir / "swf" / "ALCF-Mira-2018H2_norm.swf.gz").jobs
    long = log.work_s >= 300.0
    size = np.searchsorted(SIZES, log.nodes[long])
    shares = np.bincount(size, minlength=SIZES.size) / np.sum(size < SIZES.size - 1)
    assert shares[:-1] == pytest.approx(SHARES[:-1], abs=2e-4)
    for code in (0, 1, 2, 3, 4, 6, 8, 9):
        hours = np.percentile(log.work_s[long][size == code] / 3600.0, 100 * _POINTS[1:-1])
        assert hours == pytest.approx(_HOURS[code][1:-1], rel=0.03, abs=0.01)


def test_arrivals_have_the_rhythm_of_people(years: list[JobTable]) -> None:
    """More jobs by day than by night, on weekdays than at weekends, in bursts, and each month about as many."""
    submit_s = np.concatenate([jobs.submit_s for jobs in years])
    hour, day = (submit_s % DAY_S) // 3600, (submit_s // DAY_S).astype(int)
    assert np.sum((hour >= 11) & (hour < 17)) / np.sum((hour < 5) | (hour == 23)) == pytest.approx(2.6, rel=0.1)
    weekend = (day + 2) % 7 >= 5
    assert (weekend.sum() / 2) / ((~weekend).sum() / 5) == pytest.approx(0.7 / 1.12, rel=0.06)
    for jobs in years:
        counts = np.bincount((jobs.submit_s // DAY_S).astype(int), minlength=DAYS)
        assert counts.var() / counts.mean() > 4.0
        months = np.bincount((jobs.submit_s // (DAYS / 12 * DAY_S)).astype(int))
        assert months.min() > 0.75 * months.mean()


def test_keys_recur_and_projects_come_through_the_year(year: Trace, years: list[JobTable]) -> None:
    """Nearly all jobs repeat a key; in every quarter new projects appear and others have ended."""
    for jobs in (year.jobs, *years):
        keys = _keys(jobs)
        assert np.unique(keys).size < 0.07 * len(jobs)
        begin, end = _lives(jobs)
        quarter = np.bincount((begin // (DAYS / 4)).astype(int), minlength=4)
        assert np.all(quarter[1:] >= 5)
        assert quarter[0] > 2 * quarter[1]
        assert np.sum(end < DAYS / 2) >= 10


def _keys(jobs: JobTable) -> Any:
    return np.unique(np.stack([jobs.group, jobs.user, jobs.kind, jobs.nodes]), axis=1, return_inverse=True)[1].ravel()


def _lives(jobs: JobTable) -> tuple[Any, Any]:
    begin = np.full(len(jobs.groups), np.inf)
    end = np.zeros(len(jobs.groups))
    np.minimum.at(begin, jobs.group, jobs.submit_s / DAY_S)
    np.maximum.at(end, jobs.group, jobs.submit_s / DAY_S)
    return begin, end


def test_profiles_become_known_as_published(year: Trace, years: list[JobTable]) -> None:
    """94 % of the jobs of the first 26 days find their profile known; less before, more after, never all of them."""
    rates = []
    for jobs in (year.jobs, *years):
        found, day = known(jobs, 2 * 3600.0), jobs.submit_s / DAY_S
        rates.append([float(found[day < until].mean()) for until in (3, 26, DAYS)])
        assert rates[-1][0] < rates[-1][1] < rates[-1][2] < 1.0
        months = [found[(day >= m * DAYS / 12) & (day < (m + 1) * DAYS / 12)].mean() for m in range(1, 12)]
        assert min(months) > 0.95
        assert sum(m < 1.0 for m in months) >= 9
    mean = np.mean(rates, axis=0)
    assert mean[0] < 0.8
    assert mean[1] == pytest.approx(0.94, abs=0.015)
    assert mean[2] == pytest.approx(0.99, abs=0.006)


def test_the_machine_is_busy_and_jobs_wait_for_hours(year: Trace) -> None:
    """Under WFP with EASY and no limit the year is nearly filled, jobs wait for hours, and 3,000 kW are often not
    enough.
    """
    from wattline.control.catalog import find
    from wattline.model.cluster import Cluster, NodeClass
    from wattline.sim.simulate import simulate
    from wattline.wiring.options import Options
    from wattline.wiring.policies import Policies
    from wattline.wiring.tables import frames

    slots = {"order": "wfp", "select": "easy", "place": "lowest", "cap": "none", "learn": "request"}
    policies: Any = Policies(**{slot: find(slot, name) for slot, name in slots.items()})
    result = simulate(year.jobs, Cluster((NodeClass("node", NODES, 0.0, MAX_W),)), policies, Options(start_s=0.0))
    tables = frames(result)
    line = {
        name: np.asarray(tables["timeline"][name], dtype=np.float64) for name in ("time_s", "busy_nodes", "power_w")
    }
    lasts = np.clip(np.diff(np.minimum(np.append(line["time_s"], DAYS * DAY_S), DAYS * DAY_S)), 0.0, None)
    share = lasts / (DAYS * DAY_S)
    assert 0.84 < share @ line["busy_nodes"] / NODES < 0.87
    assert 4.0 < np.asarray(tables["jobs"]["wait_s"], dtype=np.float64).mean() / 3600 < 20.0
    assert share @ line["power_w"] == pytest.approx(2.727e6, rel=0.02)
    assert 0.35 < share @ (line["power_w"] > 3.0e6) < 0.65


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"days": 0.0}, "mira-like: days must be positive and finite"),
        ({"load": math.inf}, "mira-like: load must be positive and finite"),
        ({"full_machine": 1.0}, r"mira-like: the share of full-machine jobs must be in \[0, 1\), got 1"),
        ({"full_machine": math.nan}, "mira-like: the share of full-machine jobs"),
        ({"nodes": 48 * 1024 - 1}, "mira-like: its jobs need up to 49152 nodes, got a machine of 49151"),
        ({"days": 1e-6}, "no job arrives in 0.000001 days"),
        ({"days": 1e9}, "drawing .* jobs"),
        ({"seed": -1}, "a seed is a whole number from 0 to .*, got -1"),
        ({"population": 2**70}, "mira-like: populations count from 0 to"),
    ],
)
def test_senseless_parameters_are_refused(change: dict[str, Any], said: str) -> None:
    """A parameter that makes no sense is refused by name, in one line."""
    with pytest.raises(InputError, match=said) as caught:
        generate(replace(MiraLike(), **change))
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see a process's own memory")
def test_a_year_takes_little_memory() -> None:
    """Two million values of power are drawn within 300 MB, the interpreter included."""
    program = (
        "from wattline.generate.jobs import MiraLike, generate; generate(MiraLike());"
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300 * 1024
