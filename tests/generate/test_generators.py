"""Synthetic workloads: reproducible, of the stated law, at the stated load."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.info import trace_info
from wattline.generate.jobs import Bursty, JobType, Lublin, Phase, Poisson, Requests, generate
from wattline.generate.laws import round_request
from wattline.generate.lublin import BATCH, COMBINED, INTERACTIVE, slot_weights
from wattline.model.jobs import ARRAY_COLUMNS

SMALL = JobType("small", nodes=2, mean_s=100.0, share=3.0)
LARGE = JobType(
    "large", nodes=16, mean_s=1000.0, min_s=200.0, law="lognormal", cv=2.0, draw_w=300.0, floor_w=150.0, stretch=1.4
)
LAWS = [
    Poisson((SMALL, LARGE), jobs=500, rate_per_s=0.1),
    Lublin(nodes=64, jobs=500, mix="typed"),
    Bursty((SMALL,), (Phase(1.0, 60.0), Phase(0.0, 600.0)), jobs=500),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_same_seed_same_jobs(law: Poisson | Lublin | Bursty) -> None:
    """A generator is a function of its parameters; another seed gives other jobs."""
    first, again = generate(law).jobs, generate(law).jobs
    for name in ARRAY_COLUMNS:
        assert np.array_equal(getattr(first, name), getattr(again, name), equal_nan=True)
    other = generate(type(law)(**{**vars(law), "seed": 2})).jobs
    assert not np.array_equal(first.submit_s, other.submit_s)


def test_poisson_gaps_shares_and_power() -> None:
    """Gaps are exponential of the stated rate, types come in their shares and bring their power."""
    jobs = generate(Poisson((SMALL, LARGE), jobs=200_000, rate_per_s=0.1)).jobs
    gaps = np.diff(jobs.submit_s)
    assert gaps.mean() == pytest.approx(10.0, rel=0.01)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, rel=0.02)
    large = jobs.kind == 1
    assert large.mean() == pytest.approx(0.25, abs=0.005)
    assert np.all(jobs.draw_w[large] == 300.0)
    assert np.all(np.isnan(jobs.draw_w[~large]))
    assert jobs.kinds == ("small", "large")


@pytest.mark.parametrize(
    ("law", "cv"),
    [("deterministic", 0.0), ("exponential", 0.75), ("uniform", 0.75 / math.sqrt(3)), ("lognormal", 0.75)],
)
def test_run_time_laws(law: str, cv: float) -> None:
    """Every law has the stated mean, least value and spread."""
    job_type = JobType("t", 1, mean_s=400.0, min_s=100.0, law=law)  # type: ignore[arg-type]
    times = job_type.draw_times(np.random.default_rng(5), 400_000)
    assert times.mean() == pytest.approx(400.0, rel=0.01)
    assert times.min() >= 100.0
    assert times.std() / times.mean() == pytest.approx(cv, rel=0.03)


def test_rates_per_type() -> None:
    """Types may state their own rates; the total is their sum."""
    types = (JobType("a", 1, 10.0, rate_per_s=0.3), JobType("b", 1, 10.0, rate_per_s=0.1))
    jobs = generate(Poisson(types, jobs=100_000)).jobs
    assert np.diff(jobs.submit_s).mean() == pytest.approx(2.5, rel=0.02)
    assert (jobs.kind == 1).mean() == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    "law",
    [
        Poisson((SMALL, LARGE), jobs=200_000, load=0.8, nodes=64),
        Bursty((SMALL, LARGE), (Phase(1.0, 600.0), Phase(0.1, 1800.0)), jobs=200_000, load=0.8, nodes=64),
        Lublin(nodes=64, jobs=20_000, load=0.8),
        Lublin(nodes=100, jobs=20_000, load=0.8, mix="typed"),
    ],
    ids=["poisson", "bursty", "lublin", "lublin typed"],
)
def test_wanted_load_is_offered(law: Poisson | Lublin | Bursty) -> None:
    """Work submitted over capacity is the wanted load: exactly for Lublin–Feitelson, on average for the others."""
    offered = trace_info(generate(law))["offered_load"]
    assert offered == pytest.approx(0.8, rel=1e-6 if isinstance(law, Lublin) else 0.05)


def test_bursts_are_bursty() -> None:
    """A modulated process has the long-run rate of its phases and gaps more variable than Poisson's."""
    law = Bursty((SMALL,), (Phase(2.0, 100.0), Phase(0.0, 100.0), Phase(0.1, 300.0)), jobs=300_000)
    jobs = generate(law).jobs
    assert law.mean_rate_per_s() == pytest.approx(0.46)
    assert len(jobs) / jobs.submit_s[-1] == pytest.approx(0.46, rel=0.05)
    gaps = np.diff(jobs.submit_s)
    assert gaps.std() / gaps.mean() > 2.0


def test_equal_phases_are_poisson() -> None:
    """With equal rates in all phases the modulation disappears."""
    gaps = np.diff(generate(Bursty((SMALL,), (Phase(0.5, 10.0), Phase(0.5, 500.0)), jobs=200_000)).jobs.submit_s)
    assert gaps.mean() == pytest.approx(2.0, rel=0.01)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, rel=0.02)


def test_lublin_against_its_authors_program(data_dir: Path) -> None:
    """Sizes, run times, gaps and the daily cycle follow the laws of the authors' own output for 256 nodes."""
    from scipy.stats import ks_2samp

    theirs = read_trace(data_dir / "swf/lublin_256.swf.gz").jobs
    ours = generate(Lublin(nodes=256, jobs=10_000, seed=3)).jobs
    assert ks_2samp(theirs.nodes, ours.nodes).pvalue > 0.01
    assert ks_2samp(theirs.work_s, ours.work_s).pvalue > 0.01
    assert ks_2samp(np.diff(theirs.submit_s), np.diff(ours.submit_s)).pvalue > 0.01
    # Their clock drops the fraction of every gap, so their day drifts half a second a job against ours.
    assert ks_2samp(theirs.submit_s % 86400, ours.submit_s % 86400).statistic < 0.08
    correlations = [np.corrcoef(np.log(j.nodes), np.log(j.work_s))[0, 1] for j in (theirs, ours)]
    assert correlations[0] == pytest.approx(correlations[1], abs=0.03)


@pytest.mark.parametrize("published", [BATCH, INTERACTIVE, COMBINED], ids=lambda c: c.name)
def test_lublin_day(published: object) -> None:
    """Slots of the day average 1 and are busiest in working hours."""
    weights = slot_weights(published)  # type: ignore[arg-type]
    assert weights.mean() == pytest.approx(1.0)
    assert 18 <= int(np.argmax(weights)) <= 34
    assert weights.min() < 0.3


@pytest.mark.parametrize("nodes", [1, 2, 3, 8, 100, 128, 5000])
@pytest.mark.parametrize("mix", ["combined", "typed"])
def test_lublin_fits_any_machine(nodes: int, mix: str) -> None:
    """No job is wider than the machine, however small or odd it is; run times are at least a second."""
    jobs = generate(Lublin(nodes=nodes, jobs=3000, mix=mix)).jobs  # type: ignore[arg-type]
    assert jobs.nodes.min() >= 1
    assert jobs.nodes.max() <= nodes
    assert jobs.work_s.min() >= 1
    assert np.all(jobs.work_s <= math.exp(12))


def test_lublin_published_constants_at_128() -> None:
    """At 128 nodes the classes are the published ones."""
    for published in (BATCH, INTERACTIVE, COMBINED):
        assert published.on_machine(128) == published


def test_requests() -> None:
    """Requests are none, exact, a random factor above, or the next round value."""
    work = np.array([10.0, 400.0, 1e5, 4e5])
    random = np.random.default_rng(1)
    assert np.all(np.isnan(Requests("none").draw(random, work)))
    assert np.array_equal(Requests("exact").draw(random, work), work)
    factor = Requests("factor", max_factor=3.0).draw(random, np.full(9999, 10.0)) / 10.0
    assert factor.min() >= 1.0
    assert factor.max() <= 3.0
    assert factor.mean() == pytest.approx(2.0, rel=0.02)
    assert round_request(work).tolist() == [300.0, 600.0, 129600.0, 432000.0]
    rounded = generate(Poisson((SMALL,), jobs=9999, rate_per_s=1.0, requests=Requests("rounded"))).jobs
    assert np.all(rounded.request_s >= rounded.work_s)
    assert np.unique(rounded.request_s).size < 15


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: JobType("x", 0, 1.0), "job type 'x': nodes must be at least 1"),
        (lambda: JobType("x", 1, -1.0), "mean_s must be positive"),
        (lambda: JobType("x", 1, 1.0, min_s=2.0), "min_s must lie in"),
        (lambda: JobType("x", 1, 1.0, law="weibull"), "law must be one of"),  # type: ignore[arg-type]
        (lambda: generate(Poisson((SMALL,), rate_per_s=1.0, load=0.5, nodes=4)), "exactly one of"),
        (lambda: generate(Poisson((SMALL,))), "exactly one of"),
        (lambda: generate(Poisson((), rate_per_s=1.0)), "at least one job type"),
        (lambda: generate(Poisson((SMALL, SMALL), rate_per_s=1.0)), "distinct names"),
        (lambda: generate(Poisson((SMALL,), load=0.5)), "needs the machine's nodes"),
        (lambda: generate(Poisson((SMALL,), rate_per_s=1.0, jobs=0)), "jobs must be at least 1"),
        (lambda: generate(Bursty((SMALL,), (Phase(1.0, 1.0),))), "at least two phases"),
        (lambda: generate(Bursty((SMALL,), (Phase(0.0, 1.0), Phase(0.0, 1.0)))), "mean rate of the phases"),
        (lambda: Phase(-1.0, 1.0), "rate_per_s must not be negative"),
        (lambda: Lublin(nodes=0), "nodes and jobs must be at least 1"),
        (lambda: Lublin(load=-1.0), "load must be positive"),
        (lambda: Requests("guess"), "model must be"),  # type: ignore[arg-type]
        (lambda: generate(Lublin(seed=-1)), "a seed is a whole number from 0"),
    ],
)
def test_wrong_parameters_are_named(make: object, said: str) -> None:
    """A parameter outside its range is refused by name and value."""
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]


def test_a_million_lublin_jobs_are_quick() -> None:
    """A million jobs take seconds, not minutes (the bound is loose; the benchmark measures)."""
    began = time.process_time()
    trace = generate(Lublin(nodes=1024, jobs=1_000_000, load=0.9))
    assert len(trace.jobs) == 1_000_000
    assert time.process_time() - began < 10.0
