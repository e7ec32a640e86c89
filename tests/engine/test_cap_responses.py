"""Run time under caps along measured points: ends and energies against a plain twin, and the linear rule as two
points.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import responding
from engine.worlds import cluster, digest, run
from reference import under_limit
from wattline.errors import InputError
from wattline.model.cap_points import PointError, check_points
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.series import PowerSeries
from wattline.physics.responses.linear import Linear
from wattline.wiring.options import Options
from wattline.wiring.result import Result

TESTS = Path(__file__).parents[1]
IDLE_W = 30.0
KNEE = ((100.0, 2.0), (150.0, 1.1), (200.0, 1.0))


@st.composite
def points(draw: st.DrawFn) -> tuple[tuple[float, float], ...]:
    """Return any response: one to six points, powers that grow, run times that fall down to 1."""
    count = draw(st.integers(1, 6))
    gaps = draw(st.lists(st.integers(1, 80), min_size=count, max_size=count))
    slower = draw(st.lists(st.integers(1, 300), min_size=count, max_size=count))
    watts = np.cumsum([40, *gaps])[:count].tolist()
    times = [1.0 + sum(slower[: count - 1 - i]) / 128 for i in range(count)]
    return tuple((float(w), t) for w, t in zip(watts, times, strict=True))


def simulate(jobs: list[under_limit.Job], limits: list[tuple[float, float]]) -> Result:
    """Run jobs, each of a kind of its own, on a machine that has room for all."""
    kinds = tuple(
        Kind(f"k{i}", job.nodes, job.work_s, job.points[-1][0], job.points[0][0], job.points[0][1], response=job.points)
        for i, job in enumerate(jobs)
    )
    table = JobTable.build(
        submit_s=[0.0] * len(jobs),
        work_s=[job.work_s for job in jobs],
        nodes=[job.nodes for job in jobs],
        kind=list(range(len(jobs))),
        kinds=tuple(kind.name for kind in kinds),
    )
    machine = cluster(sum(job.nodes for job in jobs), IDLE_W, 600.0, min_cap_w=1.0)
    return run(table, machine, cap="under-limit", options=Options(kinds=kinds, limit_w=limits))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(st.floats(1.0, 200.0), st.integers(1, 4), points()), min_size=1, max_size=5),
    st.lists(st.tuples(st.floats(0.5, 300.0), st.floats(0.0, 1.2)), max_size=6),
)
def test_ends_and_energies_are_those_of_the_plain_twin(
    given_jobs: list[tuple[Any, ...]], steps: list[tuple[float, float]]
) -> None:
    """Under a limit that jumps, every job ends when the twin says and has drawn what it says, whatever was measured."""
    jobs = [under_limit.Job(*job) for job in given_jobs]
    most_w = sum(job.nodes * job.points[-1][0] for job in jobs)
    limits = [(0.0, np.inf), *sorted((since, share * most_w + 1.0) for since, share in steps)]
    s = simulate(jobs, limits).state
    wanted = under_limit.run(jobs, sum(job.nodes for job in jobs), IDLE_W, limits)
    assert s.end_s.tolist() == pytest.approx([end for end, _ in wanted], rel=1e-9)
    assert s.energy_j.tolist() == pytest.approx([joules for _, joules in wanted], rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(points(), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=5))
def test_more_power_never_ends_later(measured: tuple[tuple[float, float], ...], shares: list[float]) -> None:
    """Of two limits the higher one never makes a job end later, nor a bound below which it may not go."""
    low_w, high_w = measured[0][0], measured[-1][0]
    job = under_limit.Job(100.0, 1, measured)
    ends = [
        float(simulate([job], [(0.0, np.inf), (1.0, low_w + share * (high_w - low_w))]).state.end_s[0])
        for share in sorted(shares)
    ]
    assert all(a >= b for a, b in pairwise(ends))
    assert 100.0 <= min(ends) <= max(ends) <= 1.0 + 99.0 * measured[0][1] * (1 + 1e-12)


@pytest.mark.parametrize("select", ["slackline", "gps", "qoscap"])
def test_two_points_are_the_linear_rule(select: str) -> None:
    """A response of two points gives, bit by bit, the run of the linear rule between them."""
    line, ends = (responding.simulation(select, bend) for bend in (responding.straight, responding.two_points))
    assert ends.options.kinds != line.options.kinds
    assert digest(ends.run()) == digest(line.run())


def test_a_point_on_the_line_changes_nothing_but_rounding() -> None:
    """A third point that lies on the line between two leaves every end and energy where it was."""
    line, more = (responding.simulation("gps", bend).run().state for bend in (responding.straight, responding.on_line))
    bent = responding.simulation("gps", responding.bent).run().state
    assert more.end_s == pytest.approx(line.end_s, rel=1e-9, nan_ok=True)
    assert more.energy_j == pytest.approx(line.energy_j, rel=1e-9)
    assert not np.allclose(bent.end_s, line.end_s, equal_nan=True)


def test_without_compilation() -> None:
    """As plain Python, runs along measured points give the bytes of compiled code: caps by class and by job."""
    place = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "engine.responding"], env=os.environ | place, capture_output=True, text=True, cwd=TESTS
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == responding.fingerprints()


def test_jobs_take_what_they_do_not_say_from_their_kind() -> None:
    """A job without power of its own draws, and slows down, as the response of its kind says."""
    kind = replace(Linear(200.0, 100.0, 2.0).on(Kind("a", 1, 60.0, 1.0, 1.0)), response=KNEE)
    table = JobTable.build(submit_s=[0.0], work_s=[60.0], nodes=[1], kind=[0], kinds=("a",))
    options = Options(kinds=(kind,), limit_w=[(0.0, np.inf), (10.0, 125.0)])
    s = run(table, cluster(1, 0.0, 300.0, min_cap_w=50.0), cap="under-limit", options=options).state
    assert float(s.end_s[0]) == pytest.approx(10.0 + 50.0 * 1.55)
    assert float(s.energy_j[0]) == pytest.approx(2000.0 + 50.0 * 1.55 * 125.0)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"draw_w": [210.0]}, "job 1 has draw_w 210, the response of its kind 'a' to caps 200: leave the column out"),
        ({"floor_w": [90.0]}, "job 1 has floor_w 90, the response of its kind 'a' to caps 100"),
        ({"stretch": [1.5]}, "job 1 has stretch 1.5, the response of its kind 'a' to caps 2"),
        ({"series": PowerSeries.build(10.0, [[150.0, 200.0]])}, "job 1 has power over time, and its kind 'a'"),
    ],
)
def test_jobs_that_say_otherwise_are_refused(columns: dict[str, Any], said: str) -> None:
    """Points are watts: a job of other watts, or of power over time, has none, and is named."""
    table = JobTable.build(submit_s=[0.0], work_s=[60.0], nodes=[1], kind=[0], kinds=("a",), **columns)
    options = Options(kinds=(Kind("a", 1, 60.0, 200.0, 100.0, 2.0, response=KNEE),))
    with pytest.raises(InputError) as caught:
        run(table, cluster(1), cap="under-limit", options=options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((), "at least one point"),
        (((100.0, 2.0), (90.0, 1.0)), "powers must grow from point to point: 90 W after 100 W"),
        (((100.0, 2.0), (150.0, 2.0), (200.0, 1.0)), "more power must make a job faster"),
        (((100.0, 2.0), (200.0, 1.5)), "run time at the highest power must be 1, got 1.5"),
        (((100.0, 0.5), (200.0, 1.0)), "a cap cannot make a job faster"),
        (((-1.0, 2.0), (200.0, 1.0)), "at least 0, got -1 W"),
        (((1.0, 2.0), (float("nan"), 1.0)), "at least 0, got nan W"),
        (((1.0, float("inf")), (2.0, 1.0)), "a cap cannot make a job faster: run time × inf"),
    ],
)
def test_wrong_points_are_one_line(wrong: Any, said: str) -> None:
    """What no response can be is refused with the point."""
    with pytest.raises(PointError) as caught:
        check_points(wrong)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_kind_and_its_response_agree() -> None:
    """A kind whose power or slowdown is not that of its response's ends is refused."""
    with pytest.raises(InputError, match=r"kind 'a': its response goes from 100 W \(run time × 2\) to 200 W, and"):
        Kind("a", 1, 60.0, 210.0, 100.0, 2.0, response=KNEE)
    with pytest.raises(InputError, match="kind 'a': response, point 1: powers must grow"):
        Kind("a", 1, 60.0, 200.0, 100.0, 2.0, response=(KNEE[1], KNEE[0], KNEE[2]))
