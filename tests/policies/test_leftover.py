"""Power left over goes to running jobs as higher caps, and comes back when somebody waits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worlds import cluster, examples, run, table
from policies.test_rmap import POLICIES, configurations, tables, workload
from wattline.errors import InputError
from wattline.kernel.compiled import library
from wattline.model import codes
from wattline.model.configurations import Moldable
from wattline.policies.select.shapes import best_row
from wattline.wiring.options import Options
from wattline.wiring.result import Result

STEPS = configurations("x", (4, 4, 51, 12.0, 480.0), (4, 4, 80, 8.0, 640.0))


def held(*submits: float, limit_w: float = 1000.0, cap: str = "leftover") -> Result:
    """Run jobs that ask for half of eight nodes, whose share of the limit pays for the lower cap."""
    jobs = table(*({"submit": t, "work": 12, "nodes": 4, "request": 15, "kind": 0} for t in submits), kinds=("x",))
    options = Options(limit_w=[(0, limit_w)], configurations=[Moldable(STEPS)])
    return run(jobs, cluster(8, idle_w=0.0, max_w=230.0), select="rmap-naive", cap=cap, options=options)


def test_a_job_alone_gets_what_is_left() -> None:
    """Nobody waits: the cap rises in the same instant, and the job takes the time and power of the higher cap."""
    result = held(0.0)
    assert result.state.end_s.tolist() == [8.0]
    assert result.state.energy_j[0] == pytest.approx(640.0 * 8.0)
    assert held(0.0, cap="none").state.end_s.tolist() == [12.0]


def test_raised_caps_are_taken_back() -> None:
    """Half-way, a second job comes: the first goes on as it started (6 s for the second half); what the first leaves
    raises the second.
    """
    result = held(0.0, 4.0)
    s = result.state
    assert s.started_s.tolist() == [0.0, 4.0]
    assert s.end_s.tolist() == pytest.approx([10.0, 14.0])
    assert s.energy_j.tolist() == pytest.approx([640.0 * 4 + 480.0 * 6, 480.0 * 6 + 640.0 * 4])
    assert result.logs["timeline"][:, codes.TL_POWER].max() == pytest.approx(960.0)


def test_both_rise_where_power_suffices() -> None:
    """With power for both, nobody has to go back."""
    assert held(0.0, 4.0, limit_w=1280.0).state.end_s.tolist() == pytest.approx([8.0, 12.0])


@given(st.integers(0, 100_000), st.sampled_from(POLICIES))
@examples(100)
def test_nobody_is_slower_for_it(seed: int, select: str) -> None:
    """Power stays under the limit; no job takes longer than the configuration it started in; who ran at one cap drew
    what it says.
    """
    rng = np.random.default_rng(seed)
    moldable = tables(rng, 8)
    options = Options(limit_w=[(0, 900.0), (60, 1500.0)], configurations=moldable)
    result = run(workload(rng, 8), cluster(8, idle_w=0.0, max_w=230.0), select=select, cap="leftover", options=options)
    s, rows = result.state, result.logs["timeline"]
    assert np.all(rows[:, codes.TL_POWER] <= rows[:, codes.TL_LIMIT] * (1 + 1e-9))
    assert np.all(s.status == codes.FINISHED)
    started = np.flatnonzero(s.start_shape >= 0)
    took_s = (s.end_s - s.started_s)[started]
    assert np.all(took_s <= s.sh_time_s[s.start_shape[started]] * (1 + 1e-9))
    np.testing.assert_array_equal(s.sh_nodes[s.shape[started]], s.sh_nodes[s.start_shape[started]])
    np.testing.assert_array_equal(s.sh_cores[s.shape[started]], s.sh_cores[s.start_shape[started]])
    joules = float(np.sum(rows[:-1, codes.TL_POWER] * np.diff(rows[:, codes.TL_TIME])))
    assert s.energy_j.sum() == pytest.approx(joules, rel=1e-9)


def test_needs_configurations() -> None:
    """Without configurations there is no cap to raise."""
    jobs = table({"submit": 0, "work": 12, "nodes": 4, "request": 15})
    with pytest.raises(InputError, match="give configurations"):
        run(jobs, cluster(8), cap="leftover")


@library
def found_row(s: object, a: int, bound_w: float, most: int) -> int:
    """Call the lookup from Python."""
    return best_row(s, a, bound_w, most)


@given(st.integers(0, 100_000), st.floats(0, 2000), st.integers(0, 9))
@examples(100)
def test_the_best_configuration_is_found(seed: int, bound_w: float, most: int) -> None:
    """The lookup finds what trying all configurations finds: the shortest time under a bound, the least power at
    ties.
    """
    rng = np.random.default_rng(seed)
    moldable = tables(rng, 8)
    options = Options(limit_w=[(0, 900.0)], configurations=moldable)
    s = run(workload(rng, 8), cluster(8, idle_w=0.0, max_w=230.0), select="rmap-naive", options=options).state
    for a, m in enumerate(moldable):
        row = m.truth.best(bound_w, most)
        assert found_row(s, a, bound_w, most) == (s.app_first[a] + row if row >= 0 else -1)
