"""Nodes that wake for a job that draws more than its class's greatest power: counted at what the job will draw."""

from __future__ import annotations

import numpy as np
import pytest

from engine.worlds import accounted_energy_j, cluster, run, table, timeline_energy_j
from wattline.model import codes
from wattline.model.cluster import Sleep
from wattline.wiring.manifest import manifest
from wattline.wiring.options import Options
from wattline.wiring.tables import frames

MACHINE = cluster(5, sleep=Sleep(power_w=10.0, after_s=1.0, exit_s=60.0))
HUNGRY = [
    {"submit": 10, "work": 600, "nodes": 2, "draw": 900.0},
    {"submit": 20, "work": 600, "nodes": 2, "draw": 900.0},
]
ROWS = [{"submit": 0, "work": 1, "nodes": 1, "draw": 300.0}, *HUNGRY]


def test_waking_for_hungry_jobs_never_exceeds_the_limit() -> None:
    """Two jobs of 2 × 900 W on nodes of 300 W do not run at once under 2500 W, though both could wake at 600 W."""
    result = run(table(*ROWS), MACHINE, options=Options(limit_w=[(0.0, 2500.0)]))
    assert result.logs["timeline"][:, codes.TL_POWER].max() <= 2500.0
    assert result.state.started_s.tolist() == [0.0, 10.0, 670.0]


def test_power_and_energy_of_waking_agree() -> None:
    """While its nodes wake a job counts at its own power where that exceeds the class's, in the timeline and in
    energies.
    """
    result = run(table(*ROWS), MACHINE)
    rows = result.logs["timeline"]
    assert rows[rows[:, codes.TL_TIME] == 20.0, codes.TL_POWER].tolist() == [4 * 900.0 + 10.0]
    assert result.state.energy_j.tolist() == [300.0, 2 * 900.0 * 660.0, 2 * 900.0 * 660.0]
    assert result.state.node_j[0, 3] == 2 * 2 * 900.0 * 60.0
    assert accounted_energy_j(result) == pytest.approx(timeline_energy_j(result), rel=1e-12)


@pytest.mark.parametrize("until_s", [40.0, 70.0, 100.0])
def test_a_job_cut_off_while_it_wakes_is_charged_what_its_nodes_draw(until_s: float) -> None:
    """Where a run ends while nodes wake, jobs, node classes, totals and timeline have the same joules."""
    result = run(table(*ROWS), MACHINE, options=Options(until_s=until_s))
    tables = frames(result)
    jobs_j, classes = np.nansum(tables["jobs"]["energy_j"]), tables["classes"]
    assert tables["jobs"]["energy_j"][2] == 2 * 900.0 * (until_s - 20.0)
    assert jobs_j == pytest.approx(classes["busy_energy_j"].sum() + classes["boot_energy_j"].sum(), rel=1e-12)
    totals = manifest(result, name="", source="")["totals"]
    assert totals["total_j"] == pytest.approx(timeline_energy_j(result), rel=1e-12)


def test_the_mean_power_of_a_job_cut_off_while_it_wakes_is_that_of_waking() -> None:
    """What the journal's profiles call mean power has the energy of waking as it has its time: it was 0 W."""
    result = run(table(*ROWS), MACHINE, profile="maximum", options=Options(until_s=40.0))
    assert frames(result)["profiles"]["mean_w"].tolist() == [300.0, 300.0, 300.0]


def test_frugal_jobs_wake_at_the_power_of_their_class() -> None:
    """A job that draws less than its class's greatest power wakes at the latter."""
    result = run(table(ROWS[0], {"submit": 10, "work": 40, "nodes": 2, "draw": 200.0}), MACHINE)
    assert result.state.energy_j[1] == 2 * (300.0 * 60.0 + 200.0 * 40.0)
