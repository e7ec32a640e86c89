"""Speed of days under changing bids: a day and a month of 728 nodes, and exhaustive search over a grid of bids."""

from __future__ import annotations

import time
from dataclasses import replace

from benchmarks.rows import Rows, row
from wattline.bidding.hours.days import Days, DayTrial, Pair, fixed_grid
from wattline.generate.jobs import generate
from wattline.generate.rrze import IDLE_W, MeggieLike, kinds_like
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.model.regulation import Bid
from wattline.sim.ensemble import in_processes
from wattline.systems.qoscap.cases import PAIRS, machine
from wattline.units import DAY_S

QOSCAP = next(pair for pair in PAIRS if pair.name == "QoSCap + Adaptive")
GRID = Pair("QoSCap", "qoscap")


def _days(count: float, seed: int = 1) -> Days:
    law = MeggieLike(days=count, seed=seed)
    kinds = tuple(replace(found.kind, average=True) for found in kinds_like(law))
    cluster = machine(kinds, law.machine_nodes, IDLE_W, law.max_w)
    signal = generate_signal(GaussianSignal(count * DAY_S, seed=seed))
    return Days("meggie-like", kinds, generate(law).jobs, cluster, signal, 0.0, count * DAY_S, count * DAY_S)


def stretches(quick: bool) -> Rows:
    """QoSCap and Adaptive bids, a control pass every second, from an empty machine."""
    rows = []
    for name, count, goal_s in (("24 h", 1.0, 0.2), ("30 days", 30.0, 6.0)):
        trial = DayTrial(_days(count), QOSCAP)
        best = float("inf")
        for _ in range(5 if count < 2 else 1 if quick else 2):
            trial.world.start_over()
            began = time.perf_counter()
            trial.world.run_until(count * DAY_S)
            best = min(best, time.perf_counter() - began)
        rows.append(
            row(
                f"QoSCap + Adaptive, {name} of 728 nodes",
                f"{best:.2f} s",
                f"≤ {goal_s:g} s",
                met=best <= goal_s,
                s=best,
            )
        )
    return rows


def _column(bids: list[Bid]) -> int:
    trial = DayTrial(_days(1.0), GRID)
    return len([trial.run(bid) for bid in bids])


def exhaustive(quick: bool) -> Rows:
    """FES: every bid of a grid of 20 × 20 on one day."""
    points = 8 if quick else 20
    grid = fixed_grid(_days(1.0), points)
    parts = [grid[i::8] for i in range(8)]
    began = time.perf_counter()
    tried = sum(in_processes(_column, parts))
    took_s = (time.perf_counter() - began) * 400 / tried
    about = f"{took_s:.0f} s" + (f" (from {tried} bids)" if tried != 400 else "")
    return [row("FES, 20 × 20 bids of 24 h of 728 nodes", about, "≤ 60 s", met=took_s <= 60.0, s=took_s)]


CASES = [stretches, exhaustive]
