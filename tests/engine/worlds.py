"""Small worlds for the engine's tests: how to build them, run them, and what they must satisfy."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from wattline.control.catalog import find
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.state.record import State
from wattline.policies.helpers import free_extents
from wattline.sim.simulate import simulate
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

DEFAULTS = {
    "order": "fcfs",
    "select": "easy",
    "place": "lowest",
    "cap": "none",
    "learn": "request",
    "profile": "known",
    "bid": "given",
}


def policies(params: Mapping[str, Mapping[str, float]] | None = None, **slots: str | Mechanism) -> Policies:
    """Return policies: defaults where a slot is not named."""
    chosen = {slot: slots.get(slot, name) for slot, name in DEFAULTS.items()}
    return Policies(
        **{slot: find(slot, m) if isinstance(m, str) else m for slot, m in chosen.items()}, params=params or {}
    )


def cluster(count: int = 4, idle_w: float = 100.0, max_w: float = 300.0, **more: Any) -> Cluster:
    """Return a cluster of one node class."""
    outages = more.pop("outages", ())
    return Cluster((NodeClass("node", count, idle_w, max_w, **more),), outages=tuple(outages))


def table(*rows: Mapping[str, float], **columns: Any) -> JobTable:
    """Return a job table from rows of submit, work, nodes and what else a row says."""
    names = {"submit": "submit_s", "work": "work_s", "request": "request_s", "draw": "draw_w", "think": "think_s"}
    data: dict[str, list[float]] = {}
    defaults = {
        "after": -1,
        "request_s": np.nan,
        "draw_w": np.nan,
        "partition": -1,
        "user": -1,
        "floor_w": np.nan,
        "stretch": np.nan,
    }
    for key in {k for row in rows for k in row}:
        column = names.get(key, key)
        data[column] = [row.get(key, defaults.get(column, 0)) for row in rows]
    return JobTable.build(**data, **columns)


def run(jobs: JobTable, machine: Cluster, *, options: Options | None = None, seed: int = 0, **slots: Any) -> Result:
    """Simulate."""
    return simulate(jobs, machine, policies(**slots), options or Options(), seed=seed)


# ------------------------------------------------------------------ what a result says


def status_names(result: Result) -> list[str]:
    """Return the final status of every job in words."""
    return [codes.STATUS_NAMES[i] for i in result.state.status]


def timeline_energy_j(result: Result) -> float:
    """Return the integral of the power of the timeline, a step function; before its first row all nodes idle.

    (A run begins with the first job, and its timeline with the first that is not rejected.)
    """
    rows, s = result.logs["timeline"], result.state
    times = np.append(rows[:, codes.TL_TIME], s.now[0])
    before_j = (times[0] - s.start_s[0]) * float(np.sum(s.pool_count * s.idle_w))
    return before_j + float(np.sum(rows[:, codes.TL_POWER] * np.diff(times)))


def accounted_energy_j(result: Result) -> float:
    """Return the energy by account: ended job segments, idle nodes, sleeping nodes, waking nodes."""
    return float(result.state.node_j.sum())


def placements(result: Result) -> list[tuple[int, float, float, frozenset[int]]]:
    """Return (job, from, until, nodes) of every segment, in the order of job and time."""
    segments, mine = [], set()
    names = ("px_job", "px_first", "px_count", "px_from_s", "px_until_s")
    for j, a, n, t0, t1 in zip(*(result.logs[name].tolist() for name in names), strict=True):
        mine |= set(range(a, a + n))
        if len(mine) == result.jobs.nodes[j]:  # a job may hold nodes twice in one instant
            segments.append((j, t0, t1, frozenset(mine)))
            mine = set()
    assert not mine
    return sorted(segments, key=lambda segment: (*segment[:3], sorted(segment[3])))


def digest(result: Result) -> str:
    """Return a hash of everything that a run says, bit for bit."""
    import hashlib

    sha = hashlib.sha256()
    s = result.state
    for name in (
        "status",
        "eligible_s",
        "started_s",
        "end_s",
        "energy_j",
        "preemptions",
        "restarts",
        "node_j",
        "node_s",
        "now",
        "counter",
    ):
        sha.update(name.encode() + np.ascontiguousarray(getattr(s, name)).tobytes())
    for name in sorted(result.logs):
        sha.update(name.encode() + np.ascontiguousarray(result.logs[name]).tobytes())
    return sha.hexdigest()


HOLDS = (codes.STARTING, codes.WAKING, codes.RUNNING, codes.PAUSED)
"""Statuses of jobs that hold nodes."""


def check_structure(s: State) -> None:
    """Assert what must hold of a state at any time: nodes add up, extents are sorted and disjoint, the queue is
    sound.
    """
    for p in range(s.free.size):
        first, count = int(s.pool_first[p]), int(s.pool_count[p])
        assert s.free[p] + s.busy[p] + s.down[p] == count
        assert 0 <= s.asleep[p] <= s.free[p]
        spans = list(free_extents(s, p))
        assert all(a < b for a, b in spans)
        assert all(low[1] <= high[0] for low, high in itertools.pairwise(spans)), spans
        assert sum(b - a for a, b in spans) == s.free[p]
        assert not spans or (spans[0][0] >= first and spans[-1][1] <= first + count)
    status = s.status.tolist()
    head, queue, slot = int(s.q_head[0]), s.queue[: s.q_tail[0]].tolist(), s.slot.tolist()
    waiting = [j for j in queue[head:] if j >= 0]
    assert len(waiting) == s.q_len[0] == len(set(waiting))
    assert all(status[j] == codes.WAITING and queue[slot[j]] == j for j in waiting)
    on_nodes = s.running[: s.n_running[0]].tolist()
    assert sorted(on_nodes) == [j for j, at in enumerate(status) if at in HOLDS]
    starting = s.starting[: s.n_starting[0]].tolist()
    assert sorted(starting) == [j for j, at in enumerate(status) if at == codes.STARTING]
    resting = [0] * s.free.size
    held: list[tuple[int, int]] = []
    for j in on_nodes:
        if status[j] in (codes.PAUSED, codes.STARTING):
            resting[s.pool[j]] += int(s.nodes[j])
        x, mine = int(s.held[j]), 0
        while x >= 0:
            held.append((x, int(s.hx_to[x])))
            mine += held[-1][1] - x
            x = int(s.hx_next[x])
        assert mine == s.nodes[j]
    assert resting == s.paused.tolist()
    held.sort()
    assert all(a < b for a, b in held)
    assert all(low[1] <= high[0] for low, high in itertools.pairwise(held)), held


def assert_no_double_booking(result: Result) -> None:
    """Assert that no node is held by two jobs at once."""
    by_node: dict[int, list[tuple[float, float]]] = {}
    for _, t0, t1, nodes in placements(result):
        for node in nodes:
            by_node.setdefault(node, []).append((t0, t1))
    for spans in by_node.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans)), spans


# ------------------------------------------------------------------ random worlds


def examples(count: int) -> settings:
    """Return Hypothesis settings: the same examples every time, or WATTLINE_EXAMPLES times as many new ones."""
    more = os.environ.get("WATTLINE_EXAMPLES")
    slow = [HealthCheck.too_slow]
    return settings(
        max_examples=count * int(more or 1), derandomize=not more, deadline=None, suppress_health_check=slow
    )


@dataclass(frozen=True)
class Work:
    """Columns of a random workload, as lists."""

    submit: list[float]
    work: list[float]
    nodes: list[int]
    request: list[float]
    draw: list[float]
    pool: list[int]
    after: list[int]
    think: list[float]
    priority: list[float]

    def table(self, names: Sequence[str]) -> JobTable:
        """Return the job table; node classes are partitions."""
        return JobTable.build(
            submit_s=self.submit,
            work_s=self.work,
            nodes=self.nodes,
            request_s=self.request,
            draw_w=self.draw,
            partition=self.pool,
            partitions=tuple(names),
            after=self.after,
            think_s=self.think,
            priority=self.priority,
            user=[i % 3 for i in range(len(self.submit))],
            users=("a", "b", "c"),
        )


@st.composite
def workloads(
    draw: st.DrawFn,
    *,
    counts: Sequence[int] = (6,),
    most: int = 24,
    linked: bool = False,
    honest: bool = False,
    span: int = 40,
) -> Work:
    """Draw a workload full of ties: small integers, zero-length jobs, wide jobs, missing and too short requests."""
    n = draw(st.integers(1, most))
    submit = sorted(draw(st.lists(st.integers(0, span), min_size=n, max_size=n)))
    work = draw(st.lists(st.one_of(st.just(0), st.integers(0, 12)), min_size=n, max_size=n))
    pool = draw(st.lists(st.integers(0, len(counts) - 1), min_size=n, max_size=n))
    nodes = [draw(st.integers(1, counts[p])) for p in pool]
    slack = draw(
        st.lists(st.sampled_from([0, 0, 1, 5, 30] if honest else [0, 1, 5, 30, -3, -8, None]), min_size=n, max_size=n)
    )
    request = [np.nan if extra is None else float(max(0, w + extra)) for w, extra in zip(work, slack, strict=True)]
    watts = draw(st.lists(st.sampled_from([120.0, 200.0, 300.0]), min_size=n, max_size=n))
    after = [draw(st.integers(-1, i - 1)) if linked and i and draw(st.booleans()) else -1 for i in range(n)]
    think = draw(st.lists(st.sampled_from([0.0, 3.0]), min_size=n, max_size=n))
    priority = [float(p) for p in draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))]
    return Work(
        [float(t) for t in submit], [float(w) for w in work], nodes, request, watts, pool, after, think, priority
    )
