"""Hours of a setting: what is drawn, what is simulated, what is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wattline.bidding.hours.laws import GaussianLaw, recorded
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import Trial, fresh, trial_hour
from wattline.errors import InputError
from wattline.generate.kinds import draw_jobs
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Signal
from wattline.systems.followers import AQA, SLACKLINE, Follower
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, WORKLOADS, kinds_of, standby
from wattline.units import HOUR_S

BID = Bid(8800.0, 2400.0)


def setting(workload: str = "W14", policy: Follower = SLACKLINE, **more: object) -> Setting:
    """Return a published workload on its cluster."""
    kinds = more.pop("kinds", kinds_of(workload))
    return Setting.alike(kinds, NODES, IDLE_W, HIGHEST_W, policy.select, **more)  # type: ignore[arg-type]


def test_the_workloads_ask_for_the_utilization_they_are_named_for() -> None:
    """Σ λ m T of every published workload is its utilization times the nodes."""
    for name, workload in WORKLOADS.items():
        busy = sum(k.arrival_per_s * k.nodes * k.work_s for k in kinds_of(name))
        assert busy == pytest.approx(workload.utilization * NODES)


def test_arrivals_follow_their_rates() -> None:
    """Every kind arrives at its rate, within what a Poisson process leaves open, also in bursts."""
    for burst in (0.0, 0.5):
        made = setting(burst=burst)
        jobs = draw_jobs(made.kinds, made.nodes, 200 * HOUR_S, seed=5)
        for k, kind in enumerate(made.kinds):
            expected = kind.arrival_per_s * 200 * HOUR_S
            spread = np.sqrt(expected) * (1 + 20 * burst)
            assert abs(np.sum(jobs.kind == k) - expected) < 4 * spread


def test_bursts_are_burstier_than_a_poisson_process() -> None:
    """Counts of ten minutes vary more than a Poisson process's when arrivals come in bursts."""

    def dispersion(burst: float) -> float:
        jobs = draw_jobs(setting().kinds, NODES, 300 * HOUR_S, seed=1, burst=burst)
        counts = np.histogram(jobs.submit_s[jobs.kind == 0], bins=np.arange(0, 300 * HOUR_S + 1, 600.0))[0]
        return float(counts.var() / counts.mean())

    assert dispersion(0.0) == pytest.approx(1.0, abs=0.15)
    assert dispersion(0.5) > 2.0


def test_standby_jobs_are_endless_chains() -> None:
    """There is one chain of standby jobs a node, each link following the one before it."""
    made = setting(kinds=(*kinds_of("W14"), standby()))
    jobs = draw_jobs(made.kinds, made.nodes, HOUR_S, seed=1)
    mine = np.flatnonzero(jobs.kind == len(made.kinds) - 1)
    first = jobs.after[mine] < 0
    assert first.sum() == NODES
    assert np.all(jobs.kind[jobs.after[mine[~first]]] == len(made.kinds) - 1)
    assert np.unique(jobs.after[mine[~first]]).size == (~first).sum()


def test_an_hour_can_be_repeated_exactly() -> None:
    """The same hour under the same bid gives the same numbers, after other bids and in a fresh world."""
    hour = trial_hour(setting(), 3)
    one = hour.run(BID)[0]
    other = hour.run(Bid(9300.0, 1000.0))[0]
    again = hour.run(BID)[0]
    assert other.tracking != one.tracking
    for twin in (again, trial_hour(setting(), 3).run(BID)[0]):
        assert twin.tracking == one.tracking
        assert twin.bill == one.bill
        np.testing.assert_array_equal(twin.violations, one.violations)


def test_a_trial_and_fresh_hours_agree() -> None:
    """Hours kept ready and hours made on the spot come to the same."""
    kept = Trial(setting(), range(4)).run(BID)
    made = fresh(setting(), range(4), BID)
    assert kept.cost == made.cost
    np.testing.assert_array_equal(kept.violations, made.violations)


def test_measured_are_the_jobs_that_arrive_in_the_bid_hour() -> None:
    """After warming up for whole hours, the jobs that arrive within the bid hour are measured, finished or not."""
    hour = trial_hour(setting(), 1)
    assert hour.begin_s == HOUR_S
    submit = hour.world.state.submit_s[hour.measured]
    assert submit.min() >= HOUR_S
    assert submit.max() < 2 * HOUR_S
    assert hour.run(BID)[0].jobs.sum() == hour.measured.size


def test_the_papers_protocol_counts_finished_jobs_of_an_empty_start() -> None:
    """Under the paper's protocol the machine starts empty and only jobs that finish within the hour count."""
    hour = trial_hour(setting(protocol=Protocol(paper=True)), 1)
    assert (hour.begin_s, hour.end_s, hour.last_s) == (0.0, HOUR_S, HOUR_S)
    found = hour.run(Bid(7000.0, 300.0))[0]  # too little power: many never finish
    assert found.jobs.sum() < hour.measured.size


def test_jobs_that_never_finish_have_missed_their_limit() -> None:
    """A job that has not ended when every promise must be kept or broken counts as a violation."""
    found = trial_hour(setting(policy=AQA), 1).run(Bid(6200.0, 20.0))[0]
    assert found.violations.sum() > 0.5 * found.jobs.sum()


def test_standby_energy_is_told_apart() -> None:
    """Standby jobs fill the target, their energy is accounted apart, and none of them is measured."""
    made = setting(policy=AQA, kinds=(*kinds_of("W14"), standby()))
    with_standby = fresh(made, range(2), Bid(11000.0, 1500.0))
    without = fresh(setting(policy=AQA), range(2), Bid(11000.0, 1500.0))
    assert 0.05 < with_standby.standby_share < 0.9
    assert without.standby_share == 0.0
    assert with_standby.jobs[:, -1].sum() == 0
    assert with_standby.error < 0.5 * without.error


def test_a_recorded_signal_is_played_from_a_place_that_the_seed_picks() -> None:
    """A recorded signal goes round from a place of its own for every seed."""
    values = np.sin(np.arange(500) / 9.0)
    law = recorded(Signal(0.0, 2.0, values))
    one, two = law(3000.0, 1), law(3000.0, 2)
    assert one.values.size == 1500
    assert not np.array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.values[:500], one.values[500:1000])


def test_generated_signals_are_neutral_by_the_hour_if_wanted() -> None:
    """A generated signal has the mean 0 in every hour unless it is told not to."""
    neutral = GaussianLaw()(3 * HOUR_S, 1).values.reshape(3, -1).mean(axis=1)
    free = GaussianLaw(energy_neutral=False)(3 * HOUR_S, 1).values.reshape(3, -1).mean(axis=1)
    assert np.abs(neutral).max() < 1e-9
    assert np.abs(free).max() > 1e-3


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"arrival_per_s": 0.0}, "never arrives"),
        ({"nodes": 40}, "needs 40 nodes, the machine has 36"),
        ({"standby": True}, "at least one kind of job that is not standby"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, object], text: str) -> None:
    """A kind that never arrives, one wider than the machine, and standby jobs alone are refused in one line."""
    kind = replace(Kind("a", 2, 60.0, 300.0, 200.0, 1.2, 3.0, arrival_per_s=0.1), **change)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=text):
        setting(kinds=(kind,))
