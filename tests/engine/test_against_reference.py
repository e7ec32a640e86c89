"""The engine against a slow scheduler written from the definitions: same starts, ends, places and energies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import Work, cluster, examples, placements, run, status_names, workloads
from reference.scheduler import Job, Scheduler, Setup
from wattline.model.cluster import Cluster, NodeClass, Outage
from wattline.wiring.options import Options
from wattline.wiring.result import Result

EXAMPLES = examples(30)
"""For each test: two thousand random worlds (tests/differential) are held against the same scheduler as well."""

SELECTS = {"in-order": "in-order", "first-fit": "first-fit", "easy": "easy"}
ORDERS: dict[str, Any] = {
    "fcfs": None,
    "lcfs": lambda j, _t: -float(j.seq),
    "shortest": lambda j, _t: j.estimate_left(),
    "longest": lambda j, _t: -j.estimate_left(),
    "priority": lambda j, _t: -j.priority,
    "wfp": lambda j, t: -j.nodes * ((t - j.eligible) / max(1.0, j.request if j.request < 1e18 else j.estimate)) ** 3,
}


def reference_jobs(work: Work) -> list[Job]:
    """Return the reference's jobs; a missing request is estimated by the truth."""
    out = []
    for i in range(len(work.submit)):
        request = work.request[i]
        known = not math.isnan(request)
        out.append(
            Job(
                submit=work.submit[i],
                work=work.work[i],
                nodes=work.nodes[i],
                request=request if known else math.inf,
                estimate=request if known else work.work[i],
                pool=work.pool[i],
                draw=work.draw[i],
                priority=work.priority[i],
                after=work.after[i],
                think=work.think[i],
            )
        )
    return out


def compare(work: Work, machine: Cluster, setup: Setup, result: Result) -> None:
    """Assert that engine and reference agree on every job, and on every node it held."""
    slow = Scheduler(reference_jobs(work), setup)
    slow.run()
    s = result.state
    np.testing.assert_array_equal(s.started_s, [j.started for j in slow.jobs])
    np.testing.assert_array_equal(s.end_s, [j.ended for j in slow.jobs])
    np.testing.assert_array_equal(s.eligible_s, [j.eligible for j in slow.jobs])
    np.testing.assert_array_equal(s.restarts, [j.restarts for j in slow.jobs])
    np.testing.assert_allclose(s.energy_j, [j.energy for j in slow.jobs], rtol=1e-12)
    np.testing.assert_allclose(s.node_j[:, 1].sum(), slow.idle_energy, rtol=1e-12)
    assert status_names(result) == [j.status for j in slow.jobs]
    theirs = [(i, t0, t1, frozenset(n)) for i, j in enumerate(slow.jobs) for t0, t1, n in j.places]
    assert placements(result) == sorted(theirs, key=lambda segment: (*segment[:3], sorted(segment[3])))


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("ties", ["instant", "event"])
@EXAMPLES
@given(work=workloads(counts=(5,)))
def test_same_schedule_on_one_class(select: str, ties: str, work: Work) -> None:
    """FCFS, first fit and EASY start every job when, and where, the definition says, under both tie rules."""
    result = run(work.table(["node"]), cluster(5), select=select, options=Options(ties=ties))
    compare(work, cluster(5), Setup(classes=[(5, 100.0)], select=SELECTS[select], ties=ties), result)


@pytest.mark.parametrize("order", ORDERS)
@EXAMPLES
@given(work=workloads(counts=(4,), most=20, span=20))
def test_same_schedule_in_every_order(order: str, work: Work) -> None:
    """EASY backfills in the order of the queue, whichever policy orders it."""
    result = run(work.table(["node"]), cluster(4), order=order)
    setup = Setup(classes=[(4, 100.0)], order=ORDERS[order], dynamic_order=order == "wfp")
    compare(work, cluster(4), setup, result)


@pytest.mark.parametrize("select", SELECTS)
@EXAMPLES
@given(work=workloads(counts=(4,), linked=True), kill=st.booleans())
def test_dependencies_and_kills(select: str, work: Work, kill: bool) -> None:
    """A dependent job enters the queue after its predecessor and the think time; walltime kill ends jobs at their
    request.
    """
    result = run(work.table(["node"]), cluster(4), select=select, options=Options(kill=kill))
    compare(work, cluster(4), Setup(classes=[(4, 100.0)], select=SELECTS[select], kill=kill), result)


OUTAGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 15), st.integers(0, 3), st.integers(1, 2), st.booleans()), max_size=4
)


@pytest.mark.parametrize("select", SELECTS)
@EXAMPLES
@given(work=workloads(counts=(5,)), outages=OUTAGES, requeue=st.booleans(), keep=st.booleans(), kill=st.booleans())
def test_outages(select: str, work: Work, outages: list[Any], requeue: bool, keep: bool, kill: bool) -> None:
    """Nodes that fail take their jobs with them, draining ones do not; jobs are queued again with or without
    progress.
    """
    spans = [(float(t), float(t + d), first, count, drain) for t, d, first, count, drain in outages]
    machine = cluster(5, outages=[Outage(*span) for span in spans])
    options = Options(requeue=requeue, keep_progress=keep, kill=kill)
    result = run(work.table(["node"]), machine, select=select, options=options)
    setup = Setup(
        classes=[(5, 100.0)], select=SELECTS[select], outages=spans, requeue=requeue, keep_progress=keep, kill=kill
    )
    compare(work, machine, setup, result)


@pytest.mark.parametrize("select", SELECTS)
@EXAMPLES
@given(work=workloads(counts=(4, 3), linked=True), low=st.integers(0, 6), when=st.integers(1, 30))
def test_classes_under_a_power_limit(select: str, work: Work, low: int, when: int) -> None:
    """Several node classes share one power limit that changes in steps; no start exceeds it, reservations count
    watts.
    """
    machine = Cluster((NodeClass("a", 4, 100.0, 300.0), NodeClass("b", 3, 50.0, 300.0)))
    limit = [(0.0, 1000.0 + 100.0 * low), (float(when), 750.0 + 100.0 * low), (when + 30.0, 3000.0)]
    result = run(work.table(["a", "b"]), machine, select=select, options=Options(limit_w=limit))
    compare(work, machine, Setup(classes=[(4, 100.0), (3, 50.0)], select=SELECTS[select], limit=limit), result)
