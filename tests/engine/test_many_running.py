"""Many jobs at once: the running jobs are kept in blocks then, and nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.test_against_reference import compare
from engine.worlds import Work, cluster, run
from reference.scheduler import Setup
from wattline.model.cluster import Outage
from wattline.model.codes import RUNNING
from wattline.model.mechanism import policy
from wattline.model.state.layout import allocate
from wattline.model.state.record import State
from wattline.model.state.sizes import BLOCK, MANY_RUNNING, Sizes
from wattline.model.state.switches import OPT_SORTED
from wattline.model.structures import many_running, running
from wattline.testing.plain import plain
from wattline.wiring.options import Options

enter, leave = plain(running.enter), plain(running.leave)
listed, ready, first_end_s = plain(many_running.listed), plain(many_running.ready), plain(many_running.first_end_s)


class Twin:
    """The state's list of running jobs beside a plain one, in which a job stands after all that end no later."""

    def __init__(self, jobs: int, classes: int = 1) -> None:
        self.state: State = allocate(Sizes(J=jobs, N=jobs, P=1, C=classes, L=1, E=0, K=0))
        self.state.option[OPT_SORTED] = 1
        self.rows: list[tuple[float, int]] = []

    def enter(self, j: int, end_s: float) -> None:
        """Add a job to both."""
        self.state.estimated_end_s[j] = end_s
        enter(self.state, j)
        at = sum(t <= end_s for t, _ in self.rows)
        self.rows.insert(at, (end_s, j))

    def leave(self, j: int) -> None:
        """Remove a job from both."""
        leave(self.state, j)
        self.rows.remove((float(self.state.estimated_end_s[j]), j))

    def compare(self, up_to: int) -> None:
        """Assert that both agree: the first end, those up to a place, then all."""
        s, n = self.state, len(self.rows)
        assert n == s.n_running[0]
        if n > 0:
            assert first_end_s(s) == self.rows[0][0]
        known = ready(s, up_to)
        assert min(n, up_to + 1) <= known <= n
        for count in (known, listed(s)):
            assert s.running[:count].tolist() == [j for _, j in self.rows[:count]]
            assert s.run_end_s[:count].tolist() == [t for t, _ in self.rows[:count]]
        assert count == n


@pytest.mark.parametrize("ends", [5, 400, 10**9])
def test_blocks_are_a_sorted_list(ends: int) -> None:
    """Whatever starts and ends, few or many, at different times or at the same, the list is sorted; the older stands
    first at ties.
    """
    rng = np.random.default_rng(ends)
    twin = Twin(900)
    idle = list(range(900))
    seen_blocks = 0
    for step, share in enumerate([0.9] * 900 + [0.5] * 300 + [0.1] * 900 + [0.7] * 500):
        if idle and (not twin.rows or rng.random() < share):
            twin.enter(idle.pop(int(rng.integers(len(idle)))), float(rng.integers(ends)))
        else:
            j = twin.rows[int(rng.integers(len(twin.rows)))][1]
            twin.leave(j)
            idle.append(j)
        seen_blocks = max(seen_blocks, int(twin.state.n_blocks[0]))
        if step % 7 == 0:
            twin.compare(int(rng.integers(900)))
    assert seen_blocks > 500 / BLOCK
    while twin.rows:
        twin.leave(twin.rows[-1][1])
    assert twin.state.n_blocks[0] == 0


def test_blocks_that_run_out_are_filled_anew() -> None:
    """Where starts at one time after another leave many blocks with few jobs, there is always room for one more."""
    twin = Twin(MANY_RUNNING + 6 * BLOCK)
    idle = list(range(MANY_RUNNING + 6 * BLOCK))
    for i in range(MANY_RUNNING + 2):
        twin.enter(idle.pop(), 1e6 + i)
    fewer = 0
    for wave in range(40):
        before = int(twin.state.n_blocks[0])
        mine = [idle.pop() for _ in range(BLOCK + BLOCK // 2)]
        for j in mine:
            twin.enter(j, float(wave))
        for i, j in enumerate(mine):
            if i % (BLOCK // 2) != 1:  # of each block one stays
                twin.leave(j)
                idle.append(j)
        fewer += int(twin.state.n_blocks[0]) < before - 1
        twin.compare(wave)
    assert fewer > 0


def test_new_rates_sort_the_jobs_anew() -> None:
    """When speeds have changed, the ends of many running jobs are computed and sorted anew; at ties the order stays."""
    rng = np.random.default_rng(1)
    twin = Twin(700, classes=3)
    s = twin.state
    for j in rng.permutation(700).tolist():
        s.status[j], s.rate_class[j], s.v_estimate[j] = RUNNING, j % 3, rng.integers(1, 300)
        twin.enter(j, float(s.v_estimate[j]))
    s.c_rate[:] = 1.0, 0.5, 0.75
    plain(running.refresh_estimates)(s)
    ends = {j: float(s.v_estimate[j] / s.c_rate[j % 3]) for j in range(700)}
    twin.rows = [(ends[j], j) for j in sorted((j for _, j in twin.rows), key=ends.__getitem__)]
    twin.compare(0)
    for _, j in twin.rows[::2]:
        twin.leave(j)
    twin.compare(0)


def crowd(seed: int, count: int) -> Work:
    """Return one-node jobs of which hundreds run at once, and some wide ones that wait for them; many estimates are
    equal or too short.
    """
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 400, count)).astype(float)
    work = rng.integers(100, 700, count).astype(float)
    nodes = np.where(rng.random(count) < 0.01, rng.integers(20, 100, count), 1)
    request = np.where(rng.random(count) < 0.8, 100.0 * np.ceil(work / 100.0), work * 0.5)
    none = [0] * count
    return Work(
        submit.tolist(),
        work.tolist(),
        nodes.tolist(),
        request.tolist(),
        [300.0] * count,
        none,
        [-1] * count,
        [0.0] * count,
        [0.0] * count,
    )


@pytest.mark.parametrize("ties", ["instant", "event"])
def test_many_jobs_run_as_the_definition_says(ties: str) -> None:
    """With hundreds of jobs running, EASY starts every one when and where a slow scheduler does, also when nodes fail
    under them.
    """
    work = crowd(3, 900)
    machine = cluster(600, outages=(Outage(150.0, 260.0, 100, 60, False),))
    result = run(work.table(["node"]), machine, options=Options(ties=ties))
    assert result.logs["timeline"][:, 6].max() > 1.5 * MANY_RUNNING
    setup = Setup(classes=[(600, 100.0)], ties=ties, outages=[(150.0, 260.0, 100, 60, False)])
    compare(work, machine, setup, result)


@pytest.mark.parametrize("slot", ["order", "cap", "learn"])
def test_users_see_all_running_jobs_in_order(slot: str) -> None:
    """A user's policy finds every running job in ``s.running``, by estimated end, however many there are."""
    most = [0]

    def look(s: Any, arg: int, param: Any, memory: Any) -> int:
        n = int(s.n_running[0])
        jobs = s.running[:n]
        assert sorted(jobs.tolist()) == np.flatnonzero(s.status == RUNNING).tolist()
        assert (np.diff(s.estimated_end_s[jobs]) >= 0).all()
        most[0] = max(most[0], n)
        if slot == "learn" and arg >= 0:
            s.estimate_s[arg] = s.request_s[arg]
        return 0

    mine = policy(slot, name="look")(look)
    run(crowd(4, 700).table(["node"]), cluster(600), **{slot: mine})
    assert most[0] > MANY_RUNNING
