"""What is shown at a question, held against the same computed plainly; and the same without compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_asked_worlds import NODES, decided, first_fit, harmless, workload

from wattline.policies.looks import JOB_FEATURES, MACHINE_FEATURES, F
from wattline.sim.worlds import AskedWorlds

JOB = [name for name, _ in JOB_FEATURES]
MACHINE = [name for name, _ in MACHINE_FEATURES]
AHEAD_S = {"soon_5m": 300, "soon_30m": 1800, "soon_2h": 7200, "soon_8h": 28800, "soon_1d": 86400}


def squashed(time_s: float, scale_s: float) -> float:
    """Return t / (t + scale)."""
    return time_s / (time_s + scale_s)


def plain_machine(s: Any, proposed: list[int]) -> dict[str, float]:
    """Return the numbers of the machine from the jobs alone: who runs, who waits, who was chosen in this pass."""
    now = float(s.now[0])
    runs = [j for j in range(s.status.size) if s.started_s[j] <= now and not s.end_s[j] <= now]
    free = NODES - sum(int(s.nodes[j]) for j in runs + proposed)
    waits = sum(1 for j in range(s.status.size) if s.submit_s[j] <= now and not s.started_s[j] <= now) - len(proposed)
    ends = {j: float(s.estimated_end_s[j]) - now for j in runs} | {j: float(s.request_s[j]) for j in proposed}
    found = {"free": free / NODES, "queue": waits / (waits + 16), "headroom": 1.0, "limit": 1.0, "target": 0.0}
    found["running"] = (len(runs) + len(proposed)) / (len(runs) + len(proposed) + 16)
    found |= {"day": now % 86400 / 86400, "week": now % 604800 / 604800}
    found["power"] = (100.0 * NODES + 200.0 * sum(int(s.nodes[j]) for j in runs)) / (300.0 * NODES)
    for name, ahead_s in AHEAD_S.items():
        back = sum(int(s.nodes[j]) for j, left_s in ends.items() if left_s <= ahead_s)
        found[name] = (free + back) / NODES
    return found


def plain_job(s: Any, j: int, free: int) -> dict[str, float]:
    """Return the numbers of a waiting job, but for whether it is harmless (EASY's twin tells that)."""
    estimate_s, wait_s, nodes = float(s.request_s[j]), float(s.now[0] - s.submit_s[j]), int(s.nodes[j])
    return {
        "there": 1.0,
        "allowed": float(nodes <= free),
        "nodes": nodes / NODES,
        "estimate_minutes": squashed(estimate_s, 600),
        "estimate_hours": squashed(estimate_s, 7200),
        "estimate_days": squashed(estimate_s, 86400),
        "wait_minutes": squashed(wait_s, 600),
        "wait_hours": squashed(wait_s, 7200),
        "slowdown": wait_s / (wait_s + max(estimate_s, 10.0)),
        "watts": nodes * 200.0 / (NODES * 300.0),
        "share": min(1.0, nodes / free) if free else 1.0,
    }


@pytest.mark.parametrize("rule", [first_fit, harmless])
def test_numbers_are_what_they_say(rule: Any) -> None:
    """Every number of every question is the one that its meaning says."""
    asked = 0

    def look(worlds: AskedWorlds, w: int) -> int:
        nonlocal asked
        simulation = worlds.simulations[w]
        assert simulation is not None
        s = simulation.state
        asked += 1
        proposed = [int(j) for j in s.p_job[: int(simulation.memory[1][3])]]
        machine = plain_machine(s, proposed)
        np.testing.assert_allclose(worlds.seen[w, worlds.k * F :], [machine[name] for name in MACHINE], rtol=1e-6)
        waits = [j for j in np.argsort(s.seq, kind="stable") if s.slot[j] >= 0 and j not in proposed][: worlds.k]
        assert list(worlds.jobs[w][: len(waits)]) == waits
        for i, j in enumerate(waits):
            numbers = plain_job(s, int(j), round(machine["free"] * NODES))
            for name, number in numbers.items():
                assert worlds.seen[w, i * F + JOB.index(name)] == pytest.approx(number, rel=1e-6), name
        return rule(worlds, w)

    decided([workload(4)], look, k=10)
    assert asked > 40


PROGRAM = """
import hashlib, sys
sys.path.insert(0, {folder!r})
from test_asked_worlds import decided, harmless, workload
worlds = decided([workload(1, 20), workload(2, 20)], harmless, k=8)
digest = hashlib.sha256(worlds.seen.tobytes() + worlds.sums.tobytes())
for simulation in worlds.simulations:
    digest.update(simulation.state.started_s.tobytes())
print(digest.hexdigest())
"""


def test_the_same_bytes_without_compiled_code() -> None:
    """Worlds that are decided outside give the same bytes with and without JIT."""
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
    ]
    assert found[0] == found[1] != ""
