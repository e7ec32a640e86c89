"""Kinds that QoSCap spares from caps: only as far as the power limit allows it."""

from __future__ import annotations

import pytest

import wattline as wl


@pytest.mark.parametrize("late", [{}, {"late.start": [0.0, 1.5]}])
def test_nobody_is_spared_while_that_would_break_the_limit(late: dict[str, object]) -> None:
    """Jobs that were let in under caps stay under the limit when their kind becomes one that is to be spared."""
    trace = wl.from_frame({"submit_s": [0.0, 0.0], "work_s": [10.0, 10.0], "nodes": [2, 2], "kind": ["k", "k"]})
    kind = {"name": "k", "nodes": 2, "time": 10.0, "power": 200.0, "floor": 100.0, "longest": 20.0, "limit": 0.5}
    market = {"regulation.mean": 300.0, "regulation.reserve": 10.0, "regulation.until": 3600.0, "run.until": 200.0}
    machine = wl.Machine(nodes=4, idle=50.0, max=200.0, min_cap=60.0)

    def run(limit_w: float) -> wl.Run:
        settings = {"kind": [{**kind, "share": 0.1}], **market, "limit.power": limit_w, **late}
        return wl.simulate(trace, machine, select="qoscap", cap="match-target", settings=settings)

    assert run(900.0).timeline["power_w"].max() == 800.0  # both of them in full
    assert run(700.0).timeline["power_w"].max() == 500.0  # both at their lowest caps, then the last one alone in full
