"""Caps that are no numbers: refused wherever they enter, with a verdict of their own, and nothing is harmed."""

from __future__ import annotations

import numpy as np
import pytest

from engine.worlds import check_structure, cluster, policies, run, table
from wattline.errors import StuckError
from wattline.model import codes
from wattline.model.mechanism import policy
from wattline.sim.simulate import Simulation
from wattline.testing import check_policy
from wattline.wiring.options import Options

ROWS = [{"submit": t, "work": 10, "nodes": 1} for t in (0, 1, 2)]
MACHINE = cluster(2, min_cap_w=150.0)


@policy("select", solo_caps=True)
def nan_start(s, arg, param, memory):
    """Start every job that fits, at a cap of NaN before 5 s and at none later."""
    n, free = 0, s.free[0]
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0 and s.nodes[j] <= free:
            s.p_job[n], s.p_nodes[n], s.p_why[n] = j, s.nodes[j], codes.CHOSEN
            s.p_cap_w[n] = np.nan if s.now[0] < 5 else np.inf
            free -= s.nodes[j]
            n += 1
    return n


@policy("select")
def nan_start_undeclared(s, arg, param, memory):
    """Propose the first job at a cap of NaN without having declared caps."""
    j = s.queue[s.q_head[0]]
    s.p_job[0], s.p_nodes[0], s.p_cap_w[0], s.p_why[0] = j, s.nodes[j], np.nan, codes.CHOSEN
    return 1


@policy("cap", wake="arrival", caps=True)
def nan_class(s, arg, param, memory):
    """Want 200 W at first, then NaN."""
    s.want_cap_w[:] = 200.0 if s.now[0] < 1 else np.nan
    return 1


@policy("cap", wake="arrival", caps=True, solo_caps=True)
def nan_job(s, arg, param, memory):
    """Cap the first job at NaN watts once it runs."""
    s.recap_job[0], s.recap_w[0], s.n_recap[0] = 0, np.nan, 1
    return 1


def test_a_start_at_nan_watts_is_refused() -> None:
    """A start whose cap is NaN is refused as *not a cap*, whether caps were declared or not; later ones are judged
    anew.
    """
    rows = [*ROWS, {"submit": 5, "work": 1, "nodes": 1}]
    result = run(table(*rows), MACHINE, select=nan_start)
    refused = result.logs["a_verdict"] != codes.OK
    assert set(result.logs["a_verdict"][refused].tolist()) == {codes.VERDICT_NAMES.index("not a cap")}
    assert result.state.started_s.tolist() == [5.0, 5.0, 15.0, 15.0]


def test_nan_without_declared_caps_harms_nothing() -> None:
    """A policy that proposes NaN caps and never declared any starts nothing; the state stays sound."""
    simulation = Simulation(table(*ROWS), MACHINE, policies(select=nan_start_undeclared), Options())
    with pytest.raises(StuckError):
        simulation.run()
    check_structure(simulation.state)
    assert not check_policy(nan_start_undeclared).ok


def test_a_wanted_class_cap_of_nan_is_refused() -> None:
    """A class whose wanted cap is NaN keeps the cap in force, and the decision says *not a cap*."""
    result = run(table(*ROWS), MACHINE, cap=nan_class)
    caps = result.logs["a_kind"] == codes.ACT_CAP
    assert [codes.VERDICT_NAMES[v] for v in result.logs["a_verdict"][caps]] == ["accepted", "not a cap", "not a cap"]
    assert result.state.c_cap_w[0] == 200.0


def test_a_job_is_not_capped_at_nan_watts() -> None:
    """A running job whose wanted cap is NaN keeps its own; it is not moved to its lowest cap."""
    result = run(table(*ROWS), MACHINE, cap=nan_job)
    caps = result.logs["a_kind"] == codes.ACT_JOB_CAP
    assert {codes.VERDICT_NAMES[v] for v in result.logs["a_verdict"][caps]} == {"not a cap"}
    assert result.state.end_s.tolist() == [10.0, 11.0, 20.0]
