"""Speed of demand response: simulated hours of three machines, and AQA's search for a bid."""

from __future__ import annotations

import time

from benchmarks.rows import Rows, row
from wattline.bidding.hours.setting import Protocol, Setting
from wattline.bidding.hours.trial import Trial, trial_hour
from wattline.bidding.searches.aqa import aqa_bid
from wattline.model.regulation import Bid
from wattline.systems.followers import AQA, SLACKLINE, Follower
from wattline.systems.npb import HIGHEST_W, IDLE_W, NODES, kinds_of

MACHINES = (
    ("36 nodes", NODES, 1, 2.0),
    ("10,000 nodes, sizes × 100", 10_000, 100, 5.0),
    ("10,000 nodes", 10_000, 1, 300.0),
)


def _setting(nodes: int, scale: int, policy: Follower) -> Setting:
    kinds = kinds_of("W1", nodes=nodes, scale=scale)
    return Setting.alike(kinds, nodes, IDLE_W, HIGHEST_W, policy.select, protocol=Protocol(paper=True))


def regulation_hours(quick: bool) -> Rows:
    """One hour from an empty machine, a control pass every second: simulated; and with tracking, bill and counts."""
    rows = []
    for name, nodes, scale, goal_ms in MACHINES:
        for policy in (AQA, SLACKLINE):
            hour = trial_hour(_setting(nodes, scale, policy), 1)
            factor = nodes / NODES
            bid = Bid(8840.0 * factor, 2000.0 * factor)
            simulated = measured = float("inf")
            for _ in range(5 if quick else 20):
                began = time.perf_counter()
                hour.world.start_over(bid=bid)
                hour.world.run_until(hour.end_s)
                simulated = min(simulated, (time.perf_counter() - began) * 1e3)
                began = time.perf_counter()
                hour.run(bid)
                measured = min(measured, (time.perf_counter() - began) * 1e3)
            shown = f"{simulated:.1f} ms; measured and billed {measured:.1f} ms"
            rows.append(
                row(
                    f"{policy.name}, one hour of W1, {name}",
                    shown,
                    f"≤ {goal_ms:g} ms",
                    met=simulated <= goal_ms,
                    ms=simulated,
                    measured_ms=measured,
                )
            )
    return rows


def aqa_search(quick: bool) -> Rows:
    """AQA's bid and weights on one hour."""
    rows = []
    for name, nodes, scale, goal_s in (("36 nodes", NODES, 1, 2.0), ("10,000 nodes, sizes × 100", 10_000, 100, 10.0)):
        trial = Trial(_setting(nodes, scale, AQA), [1])
        began = time.perf_counter()
        choice = aqa_bid(trial, iterations=40 if quick else 120)
        took_s = time.perf_counter() - began
        rows.append(
            row(
                f"AQA's bid, {name} ({choice.runs} simulated hours)",
                f"{took_s:.2f} s",
                f"≤ {goal_s:g} s",
                met=took_s <= goal_s,
                s=took_s,
            )
        )
    return rows


CASES = [regulation_hours, aqa_search]
