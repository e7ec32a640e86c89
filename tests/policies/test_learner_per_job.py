"""The published learner by its letter against a plain one: random worlds in which profiles decide who starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.worlds import cluster, policies
from reference.learner_per_job import PlainLearner
from wattline.control.catalog import find
from wattline.model.codes import RUNNING
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.series import PowerSeries
from wattline.sim.simulate import simulate
from wattline.testing import watch
from wattline.wiring.options import Options

MOST_W = 100.0


def world(seed: int) -> JobTable:
    """Return jobs of two projects and three users whose powers lie close, drift, and at times jump."""
    rng = np.random.default_rng(seed)
    count = 90
    user, group, nodes = rng.integers(0, 3, count), rng.integers(0, 2, count), rng.integers(1, 3, count)
    base_w = rng.uniform(40.0, 70.0, (3, 2, 3))
    jumps = rng.random((3, 2, 3)) < 0.5
    minutes = rng.integers(5, 70, count)
    watts = []
    for j in range(count):
        at = (user[j], group[j], nodes[j])
        level_w = base_w[at] + (15.0 if jumps[at] and j > count // 2 else 0.0) + rng.choice([0.0, 0.0, 0.0, 8.0])
        watts.append(np.clip(rng.normal(level_w, rng.uniform(0.2, 3.0), minutes[j]), 1.0, MOST_W))
    series = PowerSeries.build(60.0, watts)
    return JobTable.build(
        submit_s=np.sort(rng.uniform(0, 45_000.0, count)).round(),
        work_s=60.0 * minutes,
        nodes=nodes,
        group=group,
        groups=("p", "q"),
        user=user,
        users=("u", "v", "w"),
        draw_w=[float(np.mean(one)) for one in watts],
        series=series,
    )


def plain_policy(*, recover: bool) -> Mechanism:
    """Return a profile policy that asks the plain learner."""
    learner = PlainLearner(2.33, recover=recover)

    def plain(s: Any, arg: int, param: Any, memory: Any) -> int:
        def facts(j: int) -> tuple[int, list[int]]:
            return int(s.profile[j, 0]), [int(group) for group in s.profile[j, 1:] if group >= 0]

        def tell(j: int) -> None:
            s.profile_w[j] = learner.told(*facts(j), MOST_W)
            s.spread_w[j] = 0.0

        if arg < 0:
            learner.ended(-1 - arg, facts(-1 - arg)[0])
        elif arg < s.submit_s.size:
            tell(arg)
        else:
            running = [int(j) for j in s.running[: s.n_running[0]]]
            for j in running:
                if s.status[j] == RUNNING:
                    learner.sampled(j, *facts(j), float(s.now_w[j]))
            for j in [*running, *(int(j) for j in s.queue[s.q_head[0] : s.q_tail[0]] if j >= 0)]:
                tell(j)
        return 0

    return watch.wrapped(find("profile", "t-test-per-job"), lambda _inner: plain)


@pytest.mark.parametrize("recover", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_starts_and_profiles_are_those_of_a_plain_learner(seed: int, recover: bool) -> None:
    """The same jobs start at the same times, counted with the same powers; own, group's and greatest ones are told."""
    jobs, machine = world(seed), cluster(5, idle_w=0.0, max_w=MOST_W)
    options = Options(limit_w=[(0.0, 330.0)], exceed=True)
    found = []
    for profile in (find("profile", "t-test-per-job"), plain_policy(recover=recover)):
        chosen = policies({"profile": {"recover": float(recover)}}, select="first-fit", profile=profile)
        found.append(simulate(jobs, machine, chosen, options).state)
    ours, theirs = found
    assert ours.started_s.tolist() == theirs.started_s.tolist()
    np.testing.assert_allclose(ours.start_profile_w, theirs.start_profile_w, rtol=1e-9)
    assert np.any(ours.start_profile_w == MOST_W)
    assert np.unique(ours.start_profile_w).size > 10
