"""From jobs with a known power to samples and back: nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from telemetry_world import IDLE_W, energy_of, slow_join, world

from wattline.reading.notes import Trace
from wattline.telemetry.cleaning.rules import Rules
from wattline.telemetry.join import Split
from wattline.telemetry.made.sample import Plan, Samples, draw_samples, write_samples
from wattline.telemetry.nodes.work import Machine, Work
from wattline.telemetry.read import Joined, join, open_source
from wattline.telemetry.sources import source as telemetry_source

DAY_S = 86400.0


def joined(folder: Path, work: Work, samples: Samples, split: Split, **more: object) -> Joined:
    """Write samples and join them."""
    write_samples(samples.frame(work.trace.jobs), folder / "power.parquet")
    return join(open_source(str(folder / "power.parquet")), work, split, **more)  # type: ignore[arg-type]


def by_step(found: Joined) -> dict[tuple[int, int], float]:
    """Return the power of every job and step."""
    series = found.trace.jobs.series
    assert series is not None
    return {(job, k): float(w) for job in range(len(series)) for k, w in enumerate(series.of(job))}


@pytest.mark.parametrize("by", ["node", "rack", "job"])
def test_what_jobs_drew_comes_back(by: str, tmp_path: Path) -> None:
    """Jobs that begin and end with the sensors' grid get their series back to the bit, and their energy to rounding."""
    work, series = world(whole=True, machine=Machine(per_rack=8))
    energy_j = energy_of(work.trace.jobs, series)
    samples = draw_samples(work, energy_j, Plan(by=by), 0.0, DAY_S, series)  # type: ignore[arg-type]
    found = joined(tmp_path, work, samples, Split(300.0, IDLE_W))
    jobs = found.trace.jobs
    assert jobs.series is not None
    assert jobs.series.first.tolist() == series.first.tolist()
    np.testing.assert_allclose(jobs.series.watts, series.watts, rtol=1e-6)
    np.testing.assert_allclose(jobs.draw_w * jobs.nodes * jobs.work_s, energy_j, rtol=1e-9)
    np.testing.assert_allclose(jobs.peak_w, [series.of(row).max() for row in range(len(jobs))], rtol=1e-9)
    assert found.profiles.energy_j == pytest.approx(energy_j.sum(), rel=1e-12)
    assert found.profiles.coverage.min() == pytest.approx(1.0)
    assert not any(found.reading.facts()["faults"].values())


@pytest.mark.parametrize("by", ["node", "rack"])
def test_energy_is_exact_whenever_jobs_begin(by: str, tmp_path: Path) -> None:
    """With a sample wherever nodes change hands, the integral of the telemetry is the energy of every job."""
    work, _ = world(aligned=False, whole=True, machine=Machine(per_rack=8))
    jobs = work.trace.jobs
    energy_j = jobs.nodes * jobs.work_s * np.random.default_rng(3).uniform(60, 140, len(jobs))
    samples = draw_samples(work, energy_j, Plan(by=by, edges=True), 0.0, DAY_S)  # type: ignore[arg-type]
    found = joined(tmp_path, work, samples, Split(60.0, IDLE_W), rules=Rules(period_s=300.0, stuck_s=np.inf))
    np.testing.assert_allclose(found.trace.jobs.draw_w * jobs.nodes * jobs.work_s, energy_j, rtol=1e-9)
    assert found.profiles.coverage.min() == pytest.approx(1.0)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("by", ["node", "rack", "job"])
def test_the_join_is_the_slow_one(by: str, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Irregular samples, jobs that begin and end anywhere, shared racks: energy and measured time of every step are
    right.
    """
    monkeypatch.setattr(telemetry_source, "ROWS", 100)
    work, series = world(16, 0.5, 5, aligned=False, machine=Machine(per_rack=5))
    plan = Plan(by=by, jitter_s=60.0 if by != "job" else 0.0, noise=0.02)  # type: ignore[arg-type]
    samples = draw_samples(work, energy_of(work.trace.jobs, series), plan, 0.0, DAY_S / 2, series)
    split = Split(210.0, IDLE_W, own)
    found = joined(tmp_path, work, samples, split, rules=Rules(period_s=300.0), least=0.0, window=100)
    energy, node_s = slow_join(work, samples, split, hold_s=450.0)
    got = by_step(found)
    for key, joules in energy.items():
        assert got[key] == pytest.approx(joules / node_s[key], rel=1e-5)
    assert found.profiles.energy_j == pytest.approx(sum(energy.values()), rel=1e-9)
    known_s = np.zeros(len(work.trace.jobs))
    for (job, _), seconds in node_s.items():
        known_s[job] += seconds
    np.testing.assert_allclose(
        found.profiles.coverage, known_s / (work.trace.jobs.nodes * work.placed.run_s), atol=1e-9
    )


def test_windows_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many samples are looked at together, the same comes out."""
    work, series = world(aligned=False)
    samples = draw_samples(work, energy_of(work.trace.jobs, series), Plan(noise=0.02), 0.0, DAY_S, series)
    found = []
    for window in (97, 4000, 10**6):
        monkeypatch.setattr(telemetry_source, "ROWS", window)
        found.append(joined(tmp_path, work, samples, Split(300.0, IDLE_W), window=window).trace.jobs)
    for other in found[1:]:
        assert other.series is not None
        assert found[0].series is not None
        np.testing.assert_allclose(other.series.watts, found[0].series.watts, rtol=1e-6)


def test_shared_racks_are_split_and_counted(tmp_path: Path) -> None:
    """Two jobs on one rack get its power in proportion to their nodes; what free nodes draw is left out."""
    work, series = world(machine=Machine(per_rack=8))
    energy_j = energy_of(work.trace.jobs, series)
    samples = draw_samples(work, energy_j, Plan(by="rack"), 0.0, DAY_S, series)
    found = joined(tmp_path, work, samples, Split(300.0, IDLE_W))
    assert found.profiles.energy_j == pytest.approx(energy_j.sum(), rel=1e-9)
    begins = work.placed.begin_s + 1e6 * (work.placed.first // 8)
    values, counts = np.unique(begins, return_counts=True)
    assert len(found.join.shared) == int(np.isin(begins, values[counts > 1]).sum()) > 10
    assert found.facts()["shared_jobs"] == len(found.join.shared)


def test_a_job_that_is_hardly_measured_gets_no_power(tmp_path: Path) -> None:
    """Below the least share a job has neither series nor mean; a note counts such jobs and names the worst."""
    work, series = world(whole=True)
    samples = draw_samples(work, energy_of(work.trace.jobs, series), Plan(), 0.0, DAY_S, series)
    early = samples.time_s < DAY_S / 2
    half = Samples("node", samples.code[early], samples.time_s[early], samples.power_w[early], samples.sensors)
    found = joined(tmp_path, work, half, Split(300.0, IDLE_W))
    share = np.clip((DAY_S / 2 + 150 - work.placed.begin_s) / work.placed.run_s, 0, 1)
    np.testing.assert_allclose(found.profiles.coverage, share, atol=1e-9)
    low = share < 0.5
    assert np.isnan(found.trace.jobs.draw_w).tolist() == low.tolist()
    note = next(n for n in found.trace.notes if "no series" in n.reason)
    assert note.count == int(low.sum()) > 0
    assert "0.0 %" in note.example
    partly = ~low & (share < 1)
    assert partly.any()
    assert any("stands in" in n.reason and n.count == found.profiles.filled > 0 for n in found.trace.notes)


@pytest.mark.parametrize(("every_s", "jitter_s"), [(0.56, 0.0), (1.0, 0.0), (1.0, 0.2), (300.0, 60.0)])
def test_usual_periods_are_found(every_s: float, jitter_s: float, tmp_path: Path) -> None:
    """560 ms, a second, four to six minutes: the period is found and no sample of a healthy machine is at fault."""
    work, series = world(16, 0.5 if every_s > 1 else 0.1, whole=True)
    span_s = float(work.placed.end_s.max())
    samples = draw_samples(
        work,
        energy_of(work.trace.jobs, series),
        Plan(every_s=every_s, jitter_s=jitter_s, noise=0.02),
        0.0,
        span_s,
        series,
    )
    found = joined(tmp_path, work, samples, Split(300.0, IDLE_W))
    facts = found.reading.facts()
    assert facts["period_s"] == pytest.approx(every_s, rel=0.05)
    assert not any(facts["faults"].values())
    assert found.profiles.coverage.min() > (0.99 if jitter_s < 60 else 0.8)
    truth = energy_of(work.trace.jobs, series)
    jobs = found.trace.jobs
    np.testing.assert_allclose(jobs.draw_w * jobs.nodes * jobs.work_s, truth, rtol=0.02 if every_s <= 1 else 0.3)


def test_what_a_log_knew_of_power_stays_where_nothing_was_measured(tmp_path: Path) -> None:
    """A job that was hardly measured keeps the power of its log; a lowest cap above the measured power is lowered, and
    counted.
    """
    work, series = world(whole=True)
    jobs = work.trace.jobs
    known = Work(
        **{
            **vars(work),
            "trace": Trace(jobs.with_columns(draw_w=np.full(len(jobs), 123.0), floor_w=np.full(len(jobs), 95.0))),
        }
    )
    samples = draw_samples(work, energy_of(jobs, series), Plan(), 0.0, DAY_S, series)
    early = samples.time_s < DAY_S / 2
    half = Samples("node", samples.code[early], samples.time_s[early], samples.power_w[early], samples.sensors)
    found = joined(tmp_path, known, half, Split(300.0, IDLE_W))
    low = found.profiles.coverage < 0.5
    assert (found.trace.jobs.draw_w[low] == 123.0).all()
    assert (found.trace.jobs.draw_w[~low] != 123.0).all()
    assert (found.trace.jobs.floor_w <= found.trace.jobs.draw_w).all()
    note = next(n for n in found.trace.notes if "lowest cap" in n.reason)
    assert note.count == int((found.trace.jobs.floor_w < 95.0).sum()) > 0
