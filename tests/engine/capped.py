"""Runs under a power limit with power over time, one for each learner, and their digests; a script prints those of its
process.
"""

from __future__ import annotations

import numpy as np

from engine.worlds import cluster, digest, policies
from wattline.model.jobs import JobTable
from wattline.model.series import PowerSeries
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options

LEARNERS = ("t-test", "t-test-per-job", "quantile", "pooled", "oracle", "maximum", "measured")


def jobs(seed: int = 0, count: int = 36) -> JobTable:
    """Return jobs of four projects whose power changes, some of them suddenly."""
    rng = np.random.default_rng(seed)
    work = rng.uniform(50.0, 900.0, count)
    group = rng.integers(0, 4, count)
    level = 140.0 + 30.0 * group + np.where(rng.random(count) < 0.1, 60.0, 0.0)
    series = PowerSeries.build(
        10.0, [np.clip(rng.normal(level[i], 8.0, int(work[i] / 10) + 1), 100.0, 300.0) for i in range(count)]
    )
    return JobTable.build(
        submit_s=np.cumsum(rng.exponential(40.0, count)),
        work_s=work,
        nodes=rng.integers(1, 7, count),
        request_s=2 * work,
        group=group,
        groups=tuple("pqrs"),
        user=rng.integers(0, 3, count),
        users=tuple("abc"),
        series=series,
        draw_w=[float(series.of(i).mean()) for i in range(count)],
    )


OPTIONS = Options(
    limit_w=[(0, 2600.0), (800.0, 1350.0), (1600.0, 3000.0)],
    tick_s=7.0,
    quantum=True,
    exceed=True,
    shed=True,
    sample_s=10.0,
)


def simulation(learner: str) -> Simulation:
    """Return a run with a window that is patient, caps, stops, decisions at ticks."""
    params = {"select": {"window": 12.0, "patience": 900.0}}
    chosen = policies(params, order="wfp", select="window", cap="under-limit", profile=learner)
    return Simulation(jobs(), cluster(12, min_cap_w=120.0), chosen, OPTIONS)


def fingerprint(learner: str) -> str:
    """Return the digest of such a run, and sums of what was learned."""
    run = simulation(learner)
    result = run.run()
    return digest(result) + "".join(f"{x.sum():.17g}" for x in (run.memory[5], result.state.start_profile_w))


if __name__ == "__main__":
    for name in LEARNERS:
        print(fingerprint(name))  # noqa: T201
