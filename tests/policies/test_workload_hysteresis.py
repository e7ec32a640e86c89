"""Switching by work left: the epoch at which it falls to the lower threshold is met whatever lets jobs start."""

from __future__ import annotations

import numpy as np
import pytest

from reference.engine import policies
from wattline.model import codes
from wattline.model.cluster import Cluster, Level, NodeClass
from wattline.model.jobs import JobTable
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options

LEVELS = (Level(1.0, 50.0, 0.0), Level(2.0, 100.0, 0.0))
MACHINE = Cluster((NodeClass("node", 10, 0.0, 100.0, levels=LEVELS),))
TEN = JobTable.build(submit_s=np.zeros(10), work_s=np.full(10, 1000.0), nodes=np.ones(10))


def switch_times(options: Options) -> list[float]:
    """Return the times at which the speed changed after the start of ten jobs of 1000 s of work."""
    chosen = policies(
        select="in-order", cap="workload-hysteresis", learn="exact", params={"cap": {"k_low": 5000.0, "k_high": 6000.0}}
    )
    rows = simulate(TEN, MACHINE, chosen, options).logs["timeline"]
    changed = np.flatnonzero(np.diff(rows[:, codes.TL_RATE])) + 1
    times: list[float] = rows[changed, codes.TL_TIME].tolist()
    return times


def test_a_limit_that_rises_moves_the_epoch() -> None:
    """One job until 100 s, ten from then on: 9800 left fall to 5000 at 20 a second, 240 s later."""
    assert switch_times(Options(limit_w=[(0.0, 100.0), (100.0, 1e9)])) == pytest.approx([340.0])


@pytest.mark.parametrize("tick_s", [7.0, 34.0, 340.0])
def test_ticks_do_not_disturb_the_epoch(tick_s: float) -> None:
    """Control periods, also one that falls on the epoch, change nothing."""
    assert switch_times(Options(limit_w=[(0.0, 100.0), (100.0, 1e9)], tick_s=tick_s)) == pytest.approx([340.0])
