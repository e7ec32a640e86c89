"""Speed levels under a power limit: no level lifts power above it."""

from __future__ import annotations

import numpy as np
import pytest

import wattline as wl

LEVELS = [{"rate": 0.5, "busy": 180, "idle": 80}, {"rate": 1.0, "busy": 300, "idle": 80}]
EAGER = {"name": "count-hysteresis", "k_low": 0, "k_high": 2}


@pytest.mark.parametrize("preempt", [False, True])
def test_a_level_that_would_exceed_the_limit_waits(*, preempt: bool) -> None:
    """Three jobs fit at the low speed only; the high one comes when one of them has left."""
    trace = wl.from_frame({"submit_s": [0.0, 10.0, 20.0], "work_s": [1000.0, 1000.0, 1000.0], "nodes": [1, 1, 1]})
    machine = wl.Machine(nodes=3, levels=LEVELS)
    settings = {"limit.preempt": preempt}
    run = wl.simulate(trace, machine, select="in-order", limit=600, cap=EAGER, settings=settings)
    assert run.timeline["power_w"].max() == 540.0
    asked = run.decisions.filter(run.decisions["level"] == 1)
    assert asked["verdict"].to_list()[0] == "over the power limit"
    assert asked["verdict"].to_list()[-1] == "accepted"
    free = wl.simulate(trace, machine, select="in-order", limit=900, cap=EAGER, settings=settings)
    assert free.timeline["power_w"].max() == 900.0


@pytest.mark.parametrize("profile", ["known", "maximum", "oracle"])
@pytest.mark.parametrize("seed", range(12))
def test_no_level_exceeds_the_limit(profile: str, seed: int) -> None:
    """However power is counted, where nodes idle cheaper at a level, and where starts are late."""
    rng = np.random.default_rng(seed)
    count = 40
    jobs = {
        "submit_s": np.sort(rng.integers(0, 600, count)).astype(float),
        "work_s": rng.integers(1, 200, count).astype(float),
        "nodes": rng.integers(1, 5, count),
        "draw_w": rng.integers(250, 301, count).astype(float),
    }
    levels = [{**LEVELS[0], "idle": int(rng.integers(40, 81))}, LEVELS[1]]
    machine = wl.Machine(nodes=8, levels=levels)
    cap = {"name": "count-hysteresis", "k_low": int(rng.integers(0, 3)), "k_high": int(rng.integers(3, 6))}
    limit_w = float(rng.integers(1530, 1650))
    late = {"late.start": [0.0, 3.0]} if seed % 3 == 0 else {}
    run = wl.simulate(wl.from_frame(jobs), machine, cap=cap, limit=limit_w, profile=profile, settings=late, seed=seed)
    assert run.timeline["power_w"].max() <= limit_w * (1 + 1e-9)
    assert set(run.decisions["verdict"]) & {"over the power limit"}
