"""One run with everything on, and its digest; run as a script it prints the digest of a process of its own."""

from __future__ import annotations

import numpy as np

from engine.worlds import digest, policies
from wattline.model.cluster import Cluster, Level, NodeClass, Outage, Sleep
from wattline.model.jobs import JobTable
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies


def jobs(seed: int = 0, count: int = 250) -> JobTable:
    """Return a workload with odd times, users, dependencies, profiles and partitions."""
    rng = np.random.default_rng(seed)
    after = np.where(rng.random(count) < 0.1, np.arange(count) - rng.integers(1, 9, count), -1)
    work = np.round(rng.lognormal(3.0, 1.2, count), 3)
    return JobTable.build(
        submit_s=np.cumsum(rng.exponential(9.0, count)),
        work_s=work,
        nodes=rng.integers(1, 8, count),
        request_s=np.where(rng.random(count) < 0.1, np.nan, work * rng.uniform(0.6, 4.0, count)),
        user=rng.integers(0, 5, count),
        users=tuple("abcde"),
        priority=rng.integers(0, 3, count),
        after=np.where(after < 0, -1, after),
        think_s=rng.uniform(0, 30, count),
        draw_w=rng.uniform(150, 300, count),
        partition=rng.integers(0, 2, count),
        partitions=("cpu", "gpu"),
    )


def machine() -> Cluster:
    """Return two node classes with levels, sleep, failures and draining."""
    levels = (Level(0.6, 200.0, 80.0), Level(1.0, 300.0, 100.0))
    cpu = NodeClass("cpu", 16, 100.0, 300.0, min_cap_w=150.0, levels=levels, sleep=Sleep(12.0, 60.0, 5.0, 20.0))
    gpu = NodeClass("gpu", 8, 90.5, 301.25, min_cap_w=140.0, levels=levels)
    return Cluster((cpu, gpu), outages=(Outage(300.0, 700.5, 3, 6), Outage(900.0, 1500.0, 14, 6, drain=True)))


OPTIONS = Options(
    kill=True, keep_progress=True, tick_s=33.3, limit_w=[(0, 5200.0), (800, 4300.5), (1600, 6000.0)], backlog=True
)


def chosen() -> Policies:
    """Return policies that use memory, timers, random numbers, estimates and reservations."""
    params = {"cap": {"k_low": 200.0, "k_high": 900.0}}
    return policies(params, order="wfp", select="easy", cap="workload-hysteresis", learn="recent")


def fingerprint(seed: int = 0) -> str:
    """Return the digest of a run."""
    return digest(Simulation(jobs(seed), machine(), chosen(), OPTIONS, seed=seed).run())


if __name__ == "__main__":
    print(fingerprint())  # noqa: T201
