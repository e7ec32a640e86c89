"""One run of jobs that slow each other down on a dragonfly, and its digest; run as a script it prints the digest of a
process of its own.
"""

from __future__ import annotations

import numpy as np

from engine.worlds import digest, policies
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.communication import Communication
from wattline.model.jobs import JobTable
from wattline.model.networks.dragonfly import Dragonfly
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options
from wattline.wiring.result import Result

SENDS = (Communication("a", 3e8, share=0.4), Communication("b", 2e8, share=0.25), Communication("c", 4e8))
"""Kinds that suffer and send, and one that only sends."""


def crowded_run() -> Result:
    """Return a run in which most jobs lose time to others."""
    rng = np.random.default_rng(5)
    work = rng.uniform(1, 90, 80)
    jobs = JobTable.build(
        submit_s=np.sort(rng.uniform(0, 900, 80)),
        work_s=work,
        nodes=rng.integers(1, 15, 80),
        request_s=2 * work,
        kind=rng.integers(0, 4, 80),
        kinds=("a", "b", "c", "d"),
    )
    cluster = Cluster((NodeClass("n", 20, 100.0, 300.0),), network=Dragonfly(2, 2, 5))
    return simulate(jobs, cluster, policies(place="rdn", select="easy"), Options(communication=SENDS))


if __name__ == "__main__":
    print(digest(crowded_run()))  # noqa: T201
