"""Small worlds with kinds of job, a signal and a bid, and plain-Python readings of their states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.worlds import cluster, policies
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Signal
from wattline.model.state.record import State
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options
from wattline.wiring.result import Result

IDLE_W, LOWEST_CAP_W = 100.0, 140.0
SMALL = Kind("small", 1, 20.0, 300.0, 150.0, 2.0, limit=2.0, weight=0.5)
WIDE = Kind("wide", 3, 30.0, 260.0, 180.0, 1.5, limit=4.0, weight=0.5)
FIRM = Kind("firm", 2, 8.0, 220.0, 220.0, 1.0, limit=1.0, weight=0.25)
"""Cannot be capped."""
FILLER = Kind("filler", 1, 25.0, 280.0, 160.0, 1.8, standby=True)


def source(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as plain Python, compiled or not."""
    return getattr(kernel, "py_func", kernel)


def machine(count: int = 8, **more: Any) -> Cluster:
    """Return a cluster whose nodes take caps."""
    return cluster(count, idle_w=IDLE_W, max_w=320.0, min_cap_w=LOWEST_CAP_W, **more)


def table_of(kinds: Sequence[Kind], *rows: tuple[float, str], **columns: Any) -> JobTable:
    """Return jobs of declared kinds from (submit time, kind) rows, as their kinds say."""
    names = [kind.name for kind in kinds]
    code = [names.index(name) for _, name in rows]
    of = [kinds[k] for k in code]
    given = {
        "work_s": [k.work_s for k in of],
        "nodes": [k.nodes for k in of],
        "draw_w": [k.draw_w for k in of],
        "floor_w": [k.floor_w for k in of],
        "stretch": [k.stretch for k in of],
        **columns,
    }
    return JobTable.build(submit_s=[t for t, _ in rows], kind=code, kinds=tuple(names), **given)


def signal(*values: float, step_s: float = 4.0, start_s: float = 0.0) -> Signal:
    """Return a regulation signal."""
    return Signal(start_s, step_s, np.array(values, dtype=np.float64))


def options(kinds: Sequence[Kind], y: Signal, *bids: tuple[float, Bid | None], **more: Any) -> Options:
    """Return options with a control period of one second unless told otherwise."""
    return Options(**{"kinds": tuple(kinds), "signal": y, "bids": bids, "tick_s": 1.0, **more})


def follow(
    jobs: JobTable,
    cluster: Cluster,
    how: Options,
    select: Any = "gps",
    params: Mapping[str, float] | None = None,
    cap: Any = "match-target",
) -> Result:
    """Simulate with a policy that follows a target."""
    return simulation(jobs, cluster, how, select, params, cap).run()


def simulation(
    jobs: JobTable,
    cluster: Cluster,
    how: Options,
    select: Any = "gps",
    params: Mapping[str, float] | None = None,
    cap: Any = "match-target",
) -> Simulation:
    """Return a run that is yet to begin."""
    return Simulation(jobs, cluster, policies({"select": params or {}}, select=select, cap=cap), how)


def passes(sim: Simulation, look: Callable[[State], Any] = lambda s: None) -> Iterator[tuple[State, int, Any]]:
    """Run pass by pass; yield the state after each, what had happened before it, and what ``look`` then saw."""
    from wattline.sim.engine import ADVANCE_ONLY, PASS_ONLY  # importing compiles: not while tests are collected

    with sim:
        while (code := sim.advance(ADVANCE_ONLY)) in (codes.BUDGET, codes.LOG_FULL):
            if code == codes.BUDGET and (happened := int(sim.state.happened[0])) != 0:
                seen = look(sim.state)
                sim.advance(PASS_ONLY)
                yield sim.state, happened, seen


def instants(sim: Simulation) -> Iterator[tuple[State, bool]]:
    """Run instant by instant; yield the state after each, and whether the control period began anew in it."""
    with sim:
        while (code := sim.advance(1)) in (codes.BUDGET, codes.LOG_FULL):
            s = sim.state
            yield s, code == codes.BUDGET and (s.now[0] - s.start_s[0]) % s.tick_s[0] == 0.0


def taken(s: State, action: int) -> list[int]:
    """Return the jobs of the last pass's actions of a sort that the guard let pass, in order."""
    rows = range(int(s.a_from[0]), int(s.a_n[0]))
    return [int(s.a_job[i]) for i in rows if s.a_kind[i] == action and s.a_verdict[i] == codes.OK]


def waiting(s: State) -> list[int]:
    """Return the jobs in the queue, in order."""
    return [int(j) for j in s.queue[s.q_head[0] : s.q_tail[0]] if j >= 0]


# ------------------------------------------------------------------ powers, added up job by job


def holders(s: State, status: int = codes.RUNNING) -> list[int]:
    """Return the jobs on nodes that have a status."""
    return [int(j) for j in s.running[: s.n_running[0]] if s.status[j] == status]


def resting_w(s: State) -> float:
    """Return the power of nodes in service on which nobody works."""
    working = sum(int(s.nodes[j]) for j in holders(s))
    return float((s.pool_count[0] - s.down[0] - working) * s.idle_w[0])


def span_of(s: State) -> tuple[float, float]:
    """Return the power of the machine with all jobs at their lowest caps, and with none."""
    low = sum(s.nodes[j] * min(s.draw_w[j], max(s.floor_w[j], s.min_cap_w[0])) for j in holders(s))
    high = sum(s.nodes[j] * s.draw_w[j] for j in holders(s))
    return resting_w(s) + float(low), resting_w(s) + float(high)


def power_of(s: State) -> float:
    """Return the power of the machine now."""
    return resting_w(s) + float(sum(s.nodes[j] * s.draw_w[j] * s.c_power[s.rate_class[j]] for j in holders(s)))


def accepted(result: Result, action: int) -> list[tuple[float, int]]:
    """Return (time, job) of the actions of a sort that the guard let pass, in order."""
    logs = result.logs
    taken = (logs["a_kind"] == action) & (logs["a_verdict"] == codes.OK)
    return list(zip(logs["a_time_s"][taken].tolist(), logs["a_job"][taken].tolist(), strict=True))
