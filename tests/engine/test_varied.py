"""Nodes that differ in power: what a configuration takes and draws on the nodes it got, and that no limit is
exceeded.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import cluster, examples, run, table
from wattline.errors import InputError
from wattline.model import codes
from wattline.model.configurations import Configurations, Moldable
from wattline.model.jobs import JobTable
from wattline.model.variability import NodeFactors, Variability
from wattline.physics.cap_response import MeasuredResponse
from wattline.physics.variability import Hardware, equal_caps, equal_speed_caps
from wattline.wiring.options import Options
from wattline.wiring.result import Result

TURBO_W = 115.0
FIXED_W = 20.0


def application(name: str = "x", work_s: float = 4000.0, most: int = 8) -> Configurations:
    """Return a law of nodes, cores and caps: caps hold back below 170 W a node, turbo draws 190 W."""
    rows = []
    for n in range(1, most + 1):
        for c in (8, 16):
            full_w = 90.0 + 5.0 * c
            for cap in (51.0, 65.0, 80.0, 100.0, TURBO_W):
                node_w = full_w + 20.0 if cap == TURBO_W else min(full_w, 2.0 * cap)
                speed = c**0.8 * ((node_w - 40.0) / (full_w - 40.0)) ** 0.5
                rows.append((n, c, cap, work_s / (n * speed), n * node_w))
    n, c, p, t, w = zip(*rows, strict=True)
    return Configurations(name, np.array(n), np.array(c), np.array(p), np.array(t), np.array(w), TURBO_W)


def one_job(variability: Variability, row: int) -> Result:
    """Run one job that has a single configuration to choose."""
    truth = application()
    options = Options(
        limit_w=[(0.0, 1e5)], configurations=[Moldable(truth, _only(truth, row))], variability=variability
    )
    jobs = table({"submit": 0, "work": 1, "nodes": int(truth.nodes[row]), "request": 9e9, "kind": 0}, kinds=("x",))
    return run(jobs, cluster(8, idle_w=0.0, max_w=230.0), select="rmap-naive", options=options)


def _only(truth: Configurations, row: int) -> Configurations:
    """Return what makes a policy take one row: it is told to be the fastest."""
    time_s = truth.time_s + 1e4
    time_s[row] = 1.0
    return Configurations("x", truth.nodes, truth.cores, truth.cap_w, time_s, truth.power_w, TURBO_W)


@pytest.mark.parametrize("caps", ["equal", "equal-speed"])
@pytest.mark.parametrize("cap_w", [65.0, 80.0])
def test_the_engine_agrees_with_the_closed_form(caps: str, cap_w: float) -> None:
    """Time and power of a capped job on its nodes are those of physics.variability, for both ways to share its
    power.
    """
    truth, factors = application(), NodeFactors.drawn(8, 0.23, seed=3)
    row = int(np.flatnonzero((truth.nodes == 4) & (truth.cores == 16) & (truth.cap_w == cap_w))[0])
    s = one_job(Variability(factors, caps, FIXED_W), row).state  # type: ignore[arg-type]
    assert s.shape[0] == row
    response = MeasuredResponse.of(truth, 4, 16)
    used, bound_w = NodeFactors(factors.factors[:4]), float(truth.power_w[row])
    share = equal_caps if caps == "equal" else equal_speed_caps
    found = share(response, used, bound_w, Hardware(fixed_w=FIXED_W))
    usual = float(response.speed(np.array([bound_w / 4]))[0])
    assert s.work[0] == pytest.approx(truth.time_s[row] * usual / found.speed)
    assert s.draw_w[0] * 4 == pytest.approx(found.power_w)
    assert s.energy_j[0] == pytest.approx(found.power_w * s.work[0])


def test_without_a_cap_thirsty_nodes_draw_more_and_are_no_slower() -> None:
    """Turbo, and caps that hold nothing back: the time is the table's, the power that of the very nodes."""
    truth, factors = application(), NodeFactors.drawn(8, 0.23, seed=3)
    for cap_w in (TURBO_W, 100.0):
        row = int(np.flatnonzero((truth.nodes == 8) & (truth.cores == 16) & (truth.cap_w == cap_w))[0])
        s = one_job(Variability(factors, "equal", FIXED_W), row).state
        each_w = truth.power_w[row] / 8 - FIXED_W
        assert s.work[0] == truth.time_s[row]
        assert s.draw_w[0] == pytest.approx(FIXED_W + each_w * factors.factors.mean())


def test_nodes_that_are_alike_change_nothing() -> None:
    """Factors of 1 give the schedule of nodes without any."""
    truth = application()
    jobs = workload(np.random.default_rng(1))
    options = [
        Options(limit_w=[(0.0, 900.0)], configurations=[Moldable(truth)], variability=v)
        for v in (None, Variability(NodeFactors.alike(8)), Variability(NodeFactors.alike(8), "equal-speed"))
    ]
    found = [run(jobs, cluster(8, idle_w=0.0, max_w=230.0), select="surplus", options=o).state for o in options]
    for other in found[1:]:
        np.testing.assert_array_equal(other.shape, found[0].shape)
        np.testing.assert_allclose(other.end_s, found[0].end_s, rtol=1e-12)
        np.testing.assert_allclose(other.energy_j, found[0].energy_j, rtol=1e-12)


def workload(rng: np.random.Generator) -> JobTable:
    """Return jobs of the application."""
    n = 12
    return JobTable.build(
        submit_s=np.sort(rng.uniform(0, 300, n)),
        work_s=np.full(n, 60.0),
        nodes=rng.integers(1, 9, n),
        request_s=np.full(n, 400.0),
        kind=np.zeros(n, dtype=np.int64),
        kinds=("x",),
    )


@given(
    st.integers(0, 100_000),
    st.sampled_from(["rmap-traditional", "rmap-naive", "rmap-adaptive", "surplus"]),
    st.sampled_from(["equal", "equal-speed"]),
    st.floats(0.0, 0.4),
)
@examples(80)
def test_no_schedule_on_differing_nodes_exceeds_the_limit(seed: int, select: str, caps: str, spread: float) -> None:
    """Whichever nodes jobs get, power stays under the limit; equal speed is never slower than equal caps would be."""
    rng = np.random.default_rng(seed)
    factors = NodeFactors.drawn(8, spread, seed)
    options = Options(
        limit_w=[(0, 700.0), (200, 1100.0)],
        configurations=[Moldable(application())],
        variability=Variability(factors, caps, float(rng.choice([0.0, 30.0]))),  # type: ignore[arg-type]
    )
    result = run(workload(rng), cluster(8, idle_w=0.0, max_w=230.0), select=select, options=options)
    rows = result.logs["timeline"]
    assert np.all(rows[:, codes.TL_POWER] <= rows[:, codes.TL_LIMIT] * (1 + 1e-9))
    assert np.all(result.state.status == codes.FINISHED)


@given(st.integers(0, 100_000))
@examples(40)
def test_equal_speed_is_never_slower(seed: int) -> None:
    """On the same nodes and in the same configuration, caps of equal speed take no longer than equal caps, and draw no
    more.
    """
    rng = np.random.default_rng(seed)
    truth, factors = application(), NodeFactors.drawn(8, 0.3, seed)
    row = int(rng.choice(np.flatnonzero((truth.cap_w <= 80.0) & (truth.cores == 16))))
    equal, better = (one_job(Variability(factors, caps), row).state for caps in ("equal", "equal-speed"))  # type: ignore[arg-type]
    assert better.work[0] <= equal.work[0] * (1 + 1e-12)
    assert better.draw_w[0] * better.nodes[0] <= truth.power_w[row] * (1 + 1e-12)


@pytest.mark.parametrize(
    ("factors", "fixed_w", "kind", "told"),
    [
        (NodeFactors.alike(4), 0.0, 0, "factors for 4 nodes, the cluster has 8"),
        (NodeFactors.alike(8), 102.0, 0, "must be below the 102 W that a node draws on 1 × 8 at its lowest cap"),
        (NodeFactors.alike(8), 0.0, -1, "need configurations of every job's application; job 1 has none"),
    ],
)
def test_what_cannot_be_is_refused(factors: NodeFactors, fixed_w: float, kind: int, told: str) -> None:
    """Factors of another machine, a fixed part above all power, and jobs without configurations are refused in one
    line.
    """
    jobs = table({"submit": 0, "work": 12, "nodes": 6, "request": 30, "kind": kind}, kinds=("x",))
    options = Options(
        limit_w=[(0, 1e5)],
        configurations=[Moldable(application())],
        variability=Variability(factors, fixed_w=fixed_w),
    )
    with pytest.raises(InputError, match=told):
        run(jobs, cluster(8, idle_w=0.0), select="rmap-naive", options=options)


@given(st.integers(0, 100_000), st.integers(1, 12))
@examples(60)
def test_frugal_nodes_go_first(seed: int, wanted: int) -> None:
    """A job gets the free nodes that draw least; two jobs never share one, and nobody is slower than on the lowest
    numbers.
    """
    factors = NodeFactors.drawn(24, 0.3, seed)
    truth = application(most=12)
    row = int(np.flatnonzero((truth.nodes == wanted) & (truth.cores == 16) & (truth.cap_w == 65.0))[0])
    options = Options(
        limit_w=[(0.0, 1e5)], configurations=[Moldable(truth, _only(truth, row))], variability=Variability(factors)
    )
    count = 24 // wanted
    jobs = table(
        *({"submit": i, "work": 1, "nodes": wanted, "request": 9e9, "kind": 0} for i in range(count)), kinds=("x",)
    )
    machine = cluster(24, idle_w=0.0, max_w=230.0)
    frugal = run(jobs, machine, select="rmap-naive", place="frugal", options=options)
    order = np.argsort(factors.factors, kind="stable")
    first, lasts = frugal.logs["px_first"], frugal.logs["px_first"] + frugal.logs["px_count"]
    for j in range(count):
        mine = np.concatenate(
            [np.arange(a, b) for a, b, who in zip(first, lasts, frugal.logs["px_job"], strict=True) if who == j]
        )
        assert sorted(mine) == sorted(order[j * wanted : (j + 1) * wanted])
    lowest = run(jobs, machine, select="rmap-naive", place="lowest", options=options)
    assert frugal.state.work[0] <= lowest.state.work[0] * (1 + 1e-12)
