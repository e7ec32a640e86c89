"""What a controller's pass costs on a large machine: 10,000 nodes, 10,000 waiting jobs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.rows import row
from wattline.control.facts import END, FREE, HAPPENED, LIMIT, STARTED, TARGET, TIME
from wattline.control.wanted import wanted
from wattline.live.controller.ledger import Ledger
from wattline.model import codes
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.wiring.bound import Bound
from wattline.wiring.newcomers import Desk, Newcomer
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

KINDS = tuple(
    Kind(f"k{i}", 1 + i % 7, 600.0 + 60.0 * i, 380.0 - 5.0 * i, 240.0 - 4.0 * i, 1.3, limit=3.0, weight=1.0)
    for i in range(8)
)


def _policies(select: str, cap: str) -> Policies:
    from wattline.control.catalog import find

    return Policies(
        find("order", "fcfs"),
        find("select", select),
        find("place", "lowest"),
        find("cap", cap),
        find("learn", "request"),
    )


def _filled(select: str, cap: str, nodes: int, waiting: int) -> tuple[Ledger, int]:
    """Return a machine whose nodes are nearly all busy, with a long queue."""
    cluster = Cluster((NodeClass("node", nodes, 100.0, 400.0, min_cap_w=150.0),))
    nobody = JobTable.build(submit_s=np.zeros(0), work_s=np.zeros(0), nodes=np.zeros(0, dtype=np.int64))
    options = Options(
        kinds=KINDS,
        spare_rows=nodes + 2 * waiting,
        outside=True,
        tick_s=1.0,
        start_s=0.0,
        timeline=True,
        placements=False,
    )
    book, desk = Ledger(Bound(nobody, cluster, _policies(select, cap), options)), Desk(cluster, KINDS)
    rng = np.random.default_rng(1)
    for i in range(nodes // 4 + waiting):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        book.enter(str(i), desk.facts(Newcomer(0.0, kind.nodes, request_s=3600.0, kind=kind.name)))
    book.tell(TIME, 1.0)
    book.tell(LIMIT, 330.0 * nodes)
    book.tell(TARGET, 300.0 * nodes, 50.0 * nodes, 310.0 * nodes)
    book.tell(HAPPENED, codes.TICK)
    book.control()
    return book, nodes // 4 + waiting


def passes(quick: bool) -> list[dict[str, Any]]:
    """Time full passes, cap passes and the reading of wanted caps."""
    rows = []
    turns = 100 if quick else 600
    for select, cap in (("easy", "none"), ("slackline", "match-target")):
        nodes = waiting = 10_000
        book, count = _filled(select, cap, nodes, waiting)
        rng = np.random.default_rng(2)
        full, caps, wants = [], [], []
        cap_w, who = np.zeros(nodes), np.zeros(nodes, dtype=np.int64)
        for turn in range(turns):
            s = book.state
            for j in s.starting[: int(s.n_starting[0])].tolist():  # who was told to start has done so by now
                book.tell_of(STARTED, book.name[j], 0.0)
            book.flush()
            running = [book.name[int(j)] for j in s.running[: min(20, int(s.n_running[0]))]]
            for name in running[:5]:
                book.tell_of(END, name, codes.FINISHED)
                book.tell_of(FREE, name)
            kind = KINDS[turn % len(KINDS)]
            desk = Desk(book.bound.cluster, KINDS)
            for _ in range(5):
                book.enter(
                    str(count), desk.facts(Newcomer(float(turn + 1), kind.nodes, request_s=3600.0, kind=kind.name))
                )
                count += 1
            book.tell(TIME, 2.0 + turn)
            book.tell(TARGET, 300.0 * nodes, 50.0 * nodes, (300.0 + 40.0 * rng.uniform(-1, 1)) * nodes)
            book.tell(HAPPENED, codes.TICK)
            book.flush()
            began = time.perf_counter()
            book.control()
            full.append(time.perf_counter() - began)
            book.tell(TARGET, 300.0 * nodes, 50.0 * nodes, (300.0 + 40.0 * rng.uniform(-1, 1)) * nodes)
            book.tell(HAPPENED, codes.TICK)
            book.flush()
            began = time.perf_counter()
            book.control(codes.CAP)
            caps.append(time.perf_counter() - began)
            began = time.perf_counter()
            wanted(book.state, cap_w, who)
            wants.append(time.perf_counter() - began)
        for what, found, goal_ms in (
            (f"a full pass, {select}", full, 1.0),
            (f"a cap pass, {select}", caps, 1.0),
            (f"wanted caps, {select}", wants, 1.0),
        ):
            p50, p99 = 1e3 * np.quantile(found, [0.5, 0.99])
            rows.append(
                row(
                    f"live: {what}, 10,000 nodes and 10,000 waiting jobs, p99",
                    f"{p99:.2f} ms (median {p50:.2f} ms)",
                    f"<= {goal_ms:g} ms on an idle machine",
                    met=bool(p99 <= goal_ms),
                    p50_ms=float(p50),
                    p99_ms=float(p99),
                )
            )
    return rows


CASES = (passes,)
