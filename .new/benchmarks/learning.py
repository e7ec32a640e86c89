"""Steps of learning environments a second of one core: CPU time, for the environment has one thread."""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.rows import Rows, row

GOAL = 50_000
WORLDS = 16


def learning_steps(quick: bool) -> Rows:
    """Sixteen worlds carried on together, whom to start decided by the mask: what a learner costs comes on top."""
    import wattline as wl
    import wattline.gym as wg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the machine's power is assumed
        jobs = wl.draw_trace("lublin", jobs=5_000, load=0.9, nodes=128, seed=1)
        env = wg.SelectVectorEnv(WORLDS, jobs, wl.Machine(nodes=128), length=256, variety=WORLDS)
    found = []
    for _ in range(2 if quick else 5):
        _, told = env.reset(seed=1)
        began, steps = time.process_time(), 0
        while steps < 100_000:
            told = env.step(np.argmax(told["action_mask"], axis=1))[4]
            steps += WORLDS
        found.append(steps / (time.process_time() - began))
    env.close()
    rate = max(found)
    return [
        row(
            f"steps of {WORLDS} learning environments a second of one core",
            f"{rate:,.0f}",
            f"≥ {GOAL:,}",
            met=rate >= GOAL,
            rate=rate,
        )
    ]


CASES = [learning_steps]
