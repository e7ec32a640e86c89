"""Runs of machines that are late, and their digests; run as a script it prints them, in a process of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine import everything
from engine.regulated import FILLER, FIRM, SMALL, WIDE, machine, options, signal, table_of
from engine.worlds import digest, policies
from wattline.model.regulation import Bid
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options

RUNS = ("everything", "slackline", "gps", "alone")
LATE = {"late_start_s": (0.25, 3.0), "late_cap_s": (0.0, 2.5), "noise": 0.02, "noise_every_s": 7.0}


def simulation(name: str) -> Simulation:
    """Return a run in which starts and caps are late and power deviates."""
    if name == "everything":
        how = replace(everything.OPTIONS, **LATE)
        return Simulation(everything.jobs(), everything.machine(), everything.chosen(), how, seed=3)
    if name == "alone":
        capped = Options(**{**LATE, "limit_w": [(0, 5200.0), (300, 2600.5), (1600, 6000.0)], "shed": True})
        jobs = everything.jobs(1).with_columns(floor_w=np.full(250, 110.0))
        return Simulation(
            jobs, everything.machine(), policies(select="conservative", cap="under-limit"), capped, seed=1
        )
    kinds = tuple(replace(kind, arrival_per_s=0.05) for kind in (SMALL, WIDE, FIRM, FILLER))
    random = np.random.default_rng(5)
    rows = sorted((float(random.uniform(0, 900)), kinds[random.integers(0, 4)].name) for _ in range(150))
    how = options(kinds, signal(*random.uniform(-1, 1, 250)), (0.0, Bid(1500.0, 300.0)))
    chosen = policies(
        {"select": {"stop": 0.9} if name == "slackline" else {"preempt": 1.0}}, select=name, cap="match-target"
    )
    return Simulation(table_of(kinds, *rows), machine(), chosen, replace(how, until_s=1000.0, **LATE), seed=2)


if __name__ == "__main__":
    print(*(digest(simulation(name).run()) for name in RUNS))  # noqa: T201
