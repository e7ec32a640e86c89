"""Days of clusters like meggie and emmy: kinds that stay, arrivals in campaigns, and the statistics that were aimed
at.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.generate.campaigns import campaign_times, operational_s
from wattline.generate.jobs import EmmyLike, MeggieLike, RrzeLike, generate
from wattline.generate.kinds_from_log import KindRules, find_kinds
from wattline.generate.rrze import IDLE_W, LONGEST_S, OWN_POWER_CV, SHORTEST_S, kinds_like, mean_power_w
from wattline.model.jobs import ARRAY_COLUMNS
from wattline.units import DAY_S

LAWS = [MeggieLike(), EmmyLike()]
WEEK_S = 7 * DAY_S


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_seeds_draw_jobs_and_populations_draw_kinds(law: RrzeLike) -> None:
    """The same seed gives the same jobs, another one other jobs of the same kinds, and another population other
    kinds.
    """
    first, again, other = generate(law).jobs, generate(law).jobs, generate(replace(law, seed=2)).jobs
    for name in ARRAY_COLUMNS:
        assert np.array_equal(getattr(first, name), getattr(again, name), equal_nan=True)
    assert first.kinds == other.kinds
    assert not np.array_equal(first.submit_s, other.submit_s)
    assert kinds_like(law) == kinds_like(replace(law, seed=2, days=30.0))
    assert kinds_like(law) != kinds_like(replace(law, population=2))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("population", range(4))
def test_kinds_are_as_stated(law: RrzeLike, population: int) -> None:
    """Up to 64 nodes and 24 hours, power between idle and the greatest, caps around the model, load and shares
    exact.
    """
    kinds = [row.kind for row in kinds_like(replace(law, population=population))]
    assert max(k.nodes for k in kinds) <= 64
    assert all(k.name.endswith(f"@{k.nodes}") for k in kinds)
    assert all(3600.0 < k.work_s < LONGEST_S for k in kinds)
    assert all(IDLE_W < k.floor_w < k.draw_w <= law.max_w for k in kinds)
    assert all(1.0 < k.stretch < k.draw_w / k.floor_w for k in kinds)
    assert all((k.limit, k.average) == (2.0, True) for k in kinds)
    share = [(k.floor_w - IDLE_W) / (k.draw_w - IDLE_W) for k in kinds]
    assert all(0.36 <= s <= 0.56 for s in share)
    assert sum(k.arrival_per_s * k.nodes * k.work_s for k in kinds) == pytest.approx(law.usual_load * law.machine_nodes)
    size = [sum(k.arrival_per_s * k.nodes * k.work_s for k in kinds if k.nodes in s.nodes) for s in law.strata]
    assert np.array(size) / sum(size) == pytest.approx([s.share for s in law.strata])


def test_operational_time_is_a_week_a_week() -> None:
    """Over any whole week operational time passes as real time does; by day faster than by night, on Monday than on
    Sunday.
    """
    for first in range(7):
        real, operational = operational_s(2 * WEEK_S, first)
        assert operational[-1] == pytest.approx(2 * WEEK_S)
        assert np.all(np.diff(operational) > 0)
    real, operational = operational_s(WEEK_S, 0)
    passed = np.diff(np.interp(np.arange(0, WEEK_S + 1, DAY_S), real, operational))
    assert passed / DAY_S == pytest.approx([1.12] * 5 + [0.7] * 2)
    noon, night = (np.interp([h * 3600, (h + 1) * 3600], real, operational) for h in (13.5, 1.5))
    assert np.diff(noon) / np.diff(night) == pytest.approx(3.0, rel=0.02)  # 1 + swing over 1 - swing


@pytest.mark.parametrize("jobs", [1.0, 3.0, 8.0])
def test_campaigns_have_the_rate_and_the_dispersion_of_theory(jobs: float) -> None:
    """Counts over windows much longer than a campaign have mean λW and variance (2 g - 1) λW."""
    window, windows, rate = 1e5, 4000, 1e-3
    times = campaign_times(np.random.default_rng(3), rate, jobs, 50.0, window * windows)
    counts = np.bincount((times // window).astype(int), minlength=windows)
    error = math.sqrt((2 * jobs - 1) / (rate * window * windows))
    assert counts.mean() == pytest.approx(rate * window, rel=4 * error)
    assert counts.var() / counts.mean() == pytest.approx(2 * jobs - 1, rel=4 * math.sqrt(2 / windows) + 0.01)


def test_campaigns_are_under_way_at_the_first_second() -> None:
    """The first day has as many arrivals as any other: campaigns that began before it go on."""
    firsts = [campaign_times(np.random.default_rng(s), 20 / DAY_S, 8.0, 0.4 * DAY_S, 10 * DAY_S) for s in range(400)]
    days = np.sum([np.bincount((t // DAY_S).astype(int), minlength=10) for t in firsts], axis=0) / 400
    assert days == pytest.approx(np.full(10, 20.0), rel=4 * math.sqrt(15 / (20 * 400)))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_load_and_energy_are_those_of_the_kinds(law: RrzeLike) -> None:
    """Over many weeks the offered load and the offered power are those stated, within what their own spread allows."""
    loads, powers = [], []
    for seed in range(40):
        jobs = generate(replace(law, days=28.0, seed=seed)).jobs
        node_s = jobs.nodes * jobs.work_s
        loads.append(float(node_s.sum()) / (28 * DAY_S * law.machine_nodes))
        powers.append(law.machine_nodes * IDLE_W + float((node_s * (jobs.draw_w - IDLE_W)).sum()) / (28 * DAY_S))
    assert np.mean(loads) == pytest.approx(law.usual_load, abs=4 * np.std(loads) / math.sqrt(40))
    assert np.mean(powers) == pytest.approx(mean_power_w(law), abs=4 * np.std(powers) / math.sqrt(40))
    assert np.std(loads) < 0.12 * law.usual_load  # a month is much like another


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_run_times_are_a_kinds_own(law: RrzeLike) -> None:
    """Run times stay within five minutes and a day, differ from job to job, and average to what their kind says."""
    jobs = generate(replace(law, days=400.0)).jobs
    assert jobs.work_s.min() >= SHORTEST_S
    assert jobs.work_s.max() == LONGEST_S
    assert np.all((jobs.request_s >= jobs.work_s) & (jobs.request_s <= LONGEST_S))
    means = {row.kind.name: row.kind.work_s for row in kinds_like(law)}
    for code, name in enumerate(jobs.kinds):
        own = jobs.work_s[jobs.kind == code]
        assert np.unique(own).size > min(own.size // 2, 200)
        assert own.mean() == pytest.approx(means[name], abs=4.5 * own.std() / math.sqrt(own.size) + 1)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_jobs_last_hours(law: RrzeLike) -> None:
    """Most jobs last for hours, most node-hours are in jobs of more than eight, and work comes by day more than by
    night.
    """
    jobs = generate(replace(law, days=140.0)).jobs
    assert np.median(jobs.work_s) > 2 * 3600
    node_s = jobs.nodes * jobs.work_s
    assert node_s[jobs.work_s > 8 * 3600].sum() > 0.5 * node_s.sum()
    hour = (jobs.submit_s % DAY_S) // 3600
    day, night = ((hour >= 11) & (hour < 17)).sum(), ((hour < 5) | (hour == 23)).sum()
    assert day / night == pytest.approx(2.6, rel=0.15)


def test_days_differ_as_campaigns_make_them() -> None:
    """The work of a day varies far more than Poisson arrivals would make it, as bids that never change find out."""
    jobs = generate(MeggieLike(days=280.0)).jobs
    weekday = ((jobs.submit_s // DAY_S).astype(int) + 4) % 7 < 5
    counts = np.bincount((jobs.submit_s[weekday] // DAY_S).astype(int))
    counts = counts[counts > 0]
    assert counts.var() / counts.mean() > 3.0


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_own_power_is_what_monitoring_would_have_seen(law: RrzeLike) -> None:
    """With power of their own jobs spread around their kind by three percent, say nothing of caps, and kinds can be
    found.
    """
    jobs = generate(replace(law, days=28.0, own_power=True)).jobs
    kinds = {row.kind.name: row.kind for row in kinds_like(law)}
    expected = np.array([kinds[name].draw_w for name in jobs.kinds])[jobs.kind]
    assert (jobs.draw_w / expected).std() == pytest.approx(OWN_POWER_CV, rel=0.1)
    assert np.isnan(jobs.floor_w).all()
    found = find_kinds(generate(replace(law, days=28.0, own_power=True)), KindRules(power="observed"))
    large = [row for row in found.rows if row.jobs >= 30 and not row.kind.name.startswith("*")]
    assert len(large) >= 10
    for row in large:
        assert row.power_from == "observed"
        assert kinds[row.kind.name].draw_w < row.kind.draw_w < 1.1 * kinds[row.kind.name].draw_w
        assert row.kind.floor_w > 0.85 * kinds[row.kind.name].draw_w


@pytest.mark.parametrize(
    ("law", "published"),
    [(MeggieLike(), (122.0, 166.0)), (EmmyLike(), (119.0,))],
    ids=lambda v: getattr(v, "name", "$"),
)
def test_the_measured_day_costs_about_what_was_published(law: RrzeLike, published: tuple[float, ...]) -> None:
    """Scheduled by EASY, uncapped, the fifth day costs on average what the published days would have, a tenth not
    saved.
    """
    costs = [_cost_of_the_fifth_day(replace(law, seed=seed)) for seed in range(1, 25)]
    assert np.mean(costs) == pytest.approx(np.mean(published) / 0.9, rel=0.08)
    for cost in published:  # and none of them would be a strange day
        assert np.percentile(costs, 5) < cost / 0.9 < np.percentile(costs, 95)


def _cost_of_the_fifth_day(law: RrzeLike) -> float:
    from wattline.control.catalog import find
    from wattline.model.cluster import Cluster, NodeClass
    from wattline.sim.simulate import simulate
    from wattline.wiring.options import Options
    from wattline.wiring.policies import Policies
    from wattline.wiring.tables import frames

    slots = {"order": "fcfs", "select": "easy", "place": "lowest", "cap": "none", "learn": "request"}
    cluster = Cluster((NodeClass("node", law.machine_nodes, IDLE_W, law.max_w),))
    policies: Any = Policies(**{slot: find(slot, name) for slot, name in slots.items()})
    result = simulate(generate(law).jobs, cluster, policies, Options(start_s=0.0))
    line = frames(result)["timeline"]
    time_s, power_w = np.asarray(line["time_s"]), np.asarray(line["power_w"])
    ends = np.append(time_s[1:], 5 * DAY_S)
    lasts = np.clip(np.minimum(ends, 5 * DAY_S) - np.maximum(time_s, 4 * DAY_S), 0, None)
    return float((lasts * power_w).sum()) / 3.6e6 * 0.10


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"days": 0.0}, "meggie-like: days must be positive and finite"),
        ({"load": math.nan}, "meggie-like: load must be positive and finite"),
        ({"nodes": 63}, "meggie-like: its jobs need up to 64 nodes, got a machine of 63"),
        ({"first_weekday": 7}, "must be 0 .Monday. to 6, got 7"),
        ({"days": 1e-6}, "no job arrives in 0.000001 days"),
        ({"seed": -1}, "a seed is a whole number from 0 to .*, got -1"),
        ({"population": 2**70}, "meggie-like: populations count from 0 to"),
    ],
)
def test_senseless_parameters_are_refused(change: dict[str, Any], said: str) -> None:
    """A parameter that makes no sense is refused by name."""
    with pytest.raises(InputError, match=said):
        generate(MeggieLike(**change))
