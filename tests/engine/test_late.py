"""Machines that are late: jobs that are there a while after they were told to start, caps that are in force a while
after they were set, power that deviates from what is known of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import late
from engine.worlds import (
    accounted_energy_j,
    cluster,
    digest,
    placements,
    policies,
    run,
    table,
    timeline_energy_j,
)
from wattline.errors import InputError
from wattline.market.tracking import tracking
from wattline.model import codes
from wattline.model.kinds import Kind
from wattline.model.mechanism import policy
from wattline.model.regulation import Bid, Signal
from wattline.physics import random
from wattline.physics.random import LATE_CAPS, LATE_STARTS, NOISE, uniforms
from wattline.policies.helpers import uniform
from wattline.sim.simulate import Result, Simulation
from wattline.testing.plain import plain
from wattline.wiring.options import Options

TESTS = Path(__file__).parents[1]
bell = plain(random.bell)


# ------------------------------------------------------------------ closed forms


def test_a_job_that_is_late_holds_idle_nodes_until_it_is_there() -> None:
    """A job told to start at 0 on two nodes, there 1.5 s later, starts then, ends its work later, and draws nothing
    above idle power before.
    """
    result = run(table({"submit": 0, "work": 10, "nodes": 2}), cluster(4), options=Options(late_start_s=(1.5, 1.5)))
    s = result.state
    assert (s.started_s[0], s.end_s[0]) == (1.5, 11.5)
    assert s.energy_j[0] == 2 * 10 * 300
    assert timeline_energy_j(result) == accounted_energy_j(result) == 6000 + 11.5 * 4 * 100 - 10 * 2 * 100
    rows = result.logs["timeline"][:, [codes.TL_TIME, codes.TL_POWER, codes.TL_BUSY, codes.TL_RUNNING]]
    assert rows.tolist() == [[0.0, 400.0, 2.0, 1.0], [1.5, 800.0, 2.0, 1.0], [11.5, 400.0, 0.0, 0.0]]
    assert s.node_s[0].tolist()[:2] == [2 * 11.5, 2 * 11.5]
    assert [p[:3] for p in placements(result)] == [(0, 0.0, 1.5), (0, 1.5, 11.5)]


def test_delays_are_drawn_evenly_and_belong_to_the_job() -> None:
    """A job's delay lies between the least and the greatest, each as likely, and is the same whatever others do."""
    rows = [{"submit": 100.0 * i, "work": 1, "nodes": 1} for i in range(400)]
    options = Options(late_start_s=(2.0, 6.0))
    one = run(table(*rows), cluster(4), options=options, seed=7)
    late_s = one.state.started_s - one.jobs.submit_s
    np.testing.assert_allclose(late_s, 2.0 + 4.0 * uniforms(7, LATE_STARTS, 400), rtol=1e-9)
    assert abs(late_s.mean() - 4.0) < 4 * 4.0 / np.sqrt(12 * 400)
    crowded = [{**row, "submit": 0.0} for row in rows]
    other = run(table(*crowded), cluster(4), options=options, seed=7)
    told_s = other.logs["a_time_s"][other.logs["a_kind"] == codes.ACT_START]
    np.testing.assert_allclose((other.state.started_s - told_s), late_s, rtol=1e-6)
    assert not np.array_equal(run(table(*rows), cluster(4), options=options, seed=8).state.started_s, late_s)


def following(values: list[float], *, mean: float, reserve: float, works: float = 100.0, **more: Any) -> Result:
    """Return the run of one job on two of four nodes, between 150 and 300 W a node, that follows a target."""
    kind = Kind("a", 2, works, 300.0, 150.0, 2.0, 5.0, weight=1.0)
    signal = Signal(0.0, 4.0, np.array(values))
    options = Options(kinds=[kind], signal=signal, bids=[(0.0, Bid(mean, reserve))], tick_s=1.0, **more)
    row = {"submit": 0, "work": works, "nodes": 2, "draw": 300.0, "floor_w": 150.0, "stretch": 2.0}
    jobs = table(row, kind=[0], kinds=("a",))
    return run(jobs, cluster(4, min_cap_w=100.0), options=options, select="tracking-only", cap="match-target")


@pytest.mark.parametrize("late_s", [0.5, 2.0, 3.0])
def test_a_cap_that_is_late_lets_power_be_what_it_was_until_then(late_s: float) -> None:
    """A target that falls by 300 W at 4 s and rises again at 8 s is followed that much later, and the energy is that
    of the delayed steps.
    """
    result = following([1.0, -1.0, 1.0], mean=650.0, reserve=150.0, late_cap_s=(late_s, late_s), until_s=12.0)
    rows = result.logs["timeline"]
    steps = [(0.0, 800.0), (4.0 + late_s, 500.0), (8.0 + late_s, 800.0)]
    for time_s, power_w in rows[:, [codes.TL_TIME, codes.TL_POWER]]:
        assert power_w == [w for t, w in steps if t <= time_s][-1], time_s
    assert {t for t, _ in steps} <= set(rows[:, codes.TL_TIME])
    s = result.state
    times = np.append(rows[:, codes.TL_TIME], s.now[0])
    assert np.sum(rows[:, codes.TL_POWER] * np.diff(times)) == pytest.approx(8 * 800 + 4 * 500, rel=1e-12)
    assert s.v_end[0] - (s.c_v0[s.rate_class[0]] + s.c_rate[s.rate_class[0]] * (12 - s.c_t0[s.rate_class[0]])) == (
        pytest.approx(100.0 - 8 - 4 / 2, rel=1e-12)
    )
    # the error of a step of the whole reserve twice over, for as long as it is late
    followed = tracking(rows[:, 0], rows[:, 1], result.options.signal, Bid(650.0, 150.0), 0.0, 12.0)
    assert followed.mean_error == pytest.approx(2 * late_s * 2 / 12, rel=1e-12)


def test_a_later_cap_overtakes_an_earlier_one() -> None:
    """Of two caps on their way the one that was set later counts from when it gets there, whenever the other does."""
    jobs = {"submit": 0, "work": 50, "nodes": 1, "draw": 300.0, "floor_w": 100.0, "stretch": 2.0}

    @policy("cap", wake="arrival timer", solo_caps=True, memory=1)
    def one_after_another(s, arg, param, memory):
        """Cap job 0 at 250 W, then at 200 W, then at 150 W, half a second apart."""
        memory[0] += 1
        s.recap_job[0] = 0
        s.recap_w[0] = 300.0 - 50.0 * memory[0]
        s.n_recap[0] = 1
        s.wake_at_s[codes.CAP] = s.now[0] + 0.5 if memory[0] < 3 else np.inf
        return 1

    seen = set()
    for seed in range(40):
        options = Options(late_cap_s=(0.0, 2.0), until_s=5.0)
        result = run(table(jobs), cluster(1, min_cap_w=100.0), cap=one_after_another, options=options, seed=seed)
        rows = result.logs["timeline"]
        told_s = result.logs["a_time_s"][result.logs["a_kind"] == codes.ACT_JOB_CAP]
        due = [t + 2.0 * uniform(seed, LATE_CAPS, int(t * 1e6)) for t in told_s]
        caps = [250.0, 200.0, 150.0]
        for time_s, power_w in rows[:, [codes.TL_TIME, codes.TL_POWER]]:
            there = [w for t, w in zip(due, caps, strict=True) if t <= time_s]
            assert power_w == (there[-1] if there else 300.0)
        seen.add(tuple(np.argsort(due)))
        assert rows[-1, codes.TL_POWER] == 150.0
    assert len(seen) >= 4  # orders in which they came


def test_a_start_finds_the_cap_in_force_or_is_told_its_own() -> None:
    """A job joins its like under the cap in force; one without its like is told its cap together with its start."""
    kinds = [Kind(name, 1, 100.0, 300.0, 150.0, 2.0, 5.0, weight=1.0) for name in "ab"]
    signal = Signal(0.0, 2.0, np.array([1.0, -1.0]))
    row = {"work": 100, "nodes": 1, "draw": 300.0, "floor_w": 150.0, "stretch": 2.0}
    rows = [{**row, "submit": t} for t in (0.0, 5.0, 6.0)]
    options = Options(
        kinds=kinds, signal=signal, bids=[(0.0, Bid(600.0, 150.0))], tick_s=1.0, until_s=9.0, late_cap_s=(0.5, 0.5)
    )
    jobs, forced = table(*rows, kind=[0, 0, 1], kinds=("a", "b")), {"select": {"force": 0.0}}
    result = run(
        jobs, cluster(4, min_cap_w=100.0), options=options, params=forced, select="slackline", cap="match-target"
    )
    power = {float(t): float(w) for t, w in result.logs["timeline"][:, [codes.TL_TIME, codes.TL_POWER]]}
    assert power[2.0] == 600.0  # the target falls to 450 W, the cap is on its way
    assert power[2.5] == 450.0
    assert power[5.0] == 500.0  # the second one joins the first
    assert power[6.0] == 550.0  # of the third one's kind there is nobody


def test_a_lag_has_the_energy_and_the_error_of_its_delay() -> None:
    """Power that follows a step exponentially is as far from it, over time, as one that follows a time constant
    later.
    """
    tau, dt = 0.5, 1e-5
    t = np.arange(0.0, 40 * tau, dt) + dt / 2
    lagging = 500.0 + 300.0 * np.exp(-t / tau)
    delayed = np.where(t < tau, 800.0, 500.0)
    assert np.sum(lagging) * dt == pytest.approx(np.sum(delayed) * dt, rel=1e-6)
    assert np.sum(np.abs(lagging - 500.0)) * dt == pytest.approx(np.sum(np.abs(delayed - 500.0)) * dt, rel=1e-4)


def test_noise_is_on_the_meter_and_in_the_energy_alone() -> None:
    """Deviations change timeline, tracking and total energy consistently, and neither starts nor ends nor jobs' energy;
    their spread is what was asked for.
    """
    values = np.random.default_rng(1).uniform(-1, 1, 100).tolist()
    calm = following(values, mean=650.0, reserve=150.0, works=300.0, until_s=400.0)
    noisy = following(values, mean=650.0, reserve=150.0, works=300.0, until_s=400.0, noise=0.02, noise_every_s=0.5)
    for name in ("started_s", "end_s", "energy_j"):
        np.testing.assert_allclose(getattr(calm.state, name), getattr(noisy.state, name), rtol=1e-12)
    rows, still = noisy.logs["timeline"], calm.logs["timeline"]
    at = np.searchsorted(still[:, 0], rows[:, 0], side="right") - 1
    share = rows[:, codes.TL_POWER] / still[at, codes.TL_POWER] - 1.0
    step = np.floor(rows[:, 0] / 0.5).astype(int)
    told = np.array([0.02 * bell(0, NOISE, int(k)) for k in step])
    np.testing.assert_allclose(share, told, atol=1e-12)
    assert len(set(step)) >= 800
    s = noisy.state
    open_j = (
        s.nodes[0]
        * s.now_w[0]
        * (s.c_e0[s.rate_class[0]] + s.c_power[s.rate_class[0]] * (400.0 - s.c_t0[s.rate_class[0]]) - s.e_start[0])
        * (s.status[0] == codes.RUNNING)
    )
    assert timeline_energy_j(noisy) == pytest.approx(accounted_energy_j(noisy) + open_j + s.noise_j[0], rel=1e-12)
    followed = tracking(rows[:, 0], rows[:, 1], noisy.options.signal, Bid(650.0, 150.0), 0.0, 400.0)
    assert s.exceed_s[0] / s.offered_s[0] == pytest.approx(followed.exceed_share, rel=1e-9)
    drawn = np.array([bell(3, NOISE, k) for k in range(20_000)])
    assert abs(drawn.mean()) < 0.03
    assert drawn.std() == pytest.approx(1.0, abs=0.02)
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"late_start_s": (2.0, 1.0)}, "delays of starts"),
        ({"late_cap_s": (-1.0, 1.0)}, "delays of caps"),
        ({"late_cap_s": (0.0, np.inf)}, "delays of caps"),
        ({"noise": 0.2}, "noise"),
        ({"noise": 0.02, "noise_every_s": 0.0}, "deviation"),
    ],
)
def test_delays_that_make_no_sense_are_refused(more: dict[str, Any], words: str) -> None:
    """Delays below 0, without end or the wrong way round and wild noise are refused in one line."""
    with pytest.raises(InputError, match=words):
        run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1), options=Options(**more))


def test_noise_renews_no_estimate() -> None:
    """Whoever decides after the power has deviated decides as if it had not: no estimate is renewed in between."""
    rows = [
        {"submit": 0, "work": 100, "nodes": 3, "request": 10},
        {"submit": 1, "work": 50, "nodes": 4, "request": 50},
        {"submit": 35, "work": 20, "nodes": 1, "request": 20},
    ]
    ends = []
    for noise in (0.0, 0.02):
        with Simulation(table(*rows), cluster(4), policies(), Options(noise=noise, until_s=34.0)) as sim:
            while sim.advance(1) == codes.BUDGET:
                pass
            ends.append(float(sim.state.estimated_end_s[0]))
    assert ends[0] == ends[1]


# ------------------------------------------------------------------ stopped while starting


@pytest.mark.parametrize("shed", [False, True])
def test_a_job_stopped_while_it_starts_held_its_nodes(shed: bool) -> None:
    """A job that a policy or the limit takes back while it is starting has its nodes in the placements, from when it
    got them until then; no stop is counted, for it had not begun to work.
    """
    if shed:
        rows = [{"submit": 0, "work": 100, "nodes": 3}]
        options = Options(late_start_s=(20.0, 20.0), limit_w=[(0.0, 2000.0), (5.0, 900.0), (30.0, 2000.0)], shed=True)
        result = run(table(*rows), cluster(4), options=options)
        expected = [(0, 0.0, 5.0), (0, 30.0, 50.0), (0, 50.0, 150.0)]
    else:
        rows = [{"submit": t, "work": 100, "nodes": 3} for t in (0, 5)]
        options = Options(late_start_s=(20.0, 20.0))
        result = run(table(*rows), cluster(4), order="lcfs", select="reselect", options=options)
        expected = [(0, 0.0, 5.0), (1, 5.0, 25.0), (1, 25.0, 125.0), (0, 125.0, 145.0), (0, 145.0, 245.0)]
    assert [p[:3] for p in placements(result)] == sorted(expected)
    held_s = sum(3 * (until - since) for _, since, until in expected)
    assert result.state.node_s[0, 0] == held_s
    assert result.state.preemptions.tolist() == [0] * len(rows)
    assert codes.EV_PREEMPT not in result.logs["ev_kind"]


# ------------------------------------------------------------------ the same bytes


def test_the_late_runs_have_everything_on() -> None:
    """The runs that the test below repeats are late, noisy, lose nodes, pause, and cap jobs alone and together."""
    whole = late.simulation("everything").run()
    kinds = {codes.EVENT_NAMES[k] for k in whole.logs["ev_kind"]}
    assert kinds >= {"kill", "requeue", "resume", "node-down", "limit", "sleep", "wake"}
    followed = late.simulation("slackline").run()
    assert {codes.EVENT_NAMES[k] for k in followed.logs["ev_kind"]} >= {"preempt", "resume"}
    assert np.any(followed.logs["a_kind"] == codes.ACT_CAP)
    assert np.any(late.simulation("alone").run().logs["a_kind"] == codes.ACT_JOB_CAP)


def test_late_runs_without_compilation() -> None:
    """With NUMBA_DISABLE_JIT=1 late runs give the same bytes as plain Python."""
    place = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "engine.late"], env=os.environ | place, capture_output=True, text=True, cwd=TESTS
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [digest(late.simulation(name).run()) for name in late.RUNS]


def test_nothing_changes_without_delays() -> None:
    """Delays of no time are no delays: the bytes are those of a run that never heard of them."""
    sim = late.simulation("everything")
    plain = replace(sim.options, late_start_s=(0.0, 0.0), late_cap_s=(0.0, 0.0), noise=0.0)
    calm = Simulation(sim.jobs, sim.cluster, sim.policies, plain, seed=sim.seed)
    told = replace(plain, noise_every_s=0.3)
    assert digest(calm.run()) == digest(Simulation(sim.jobs, sim.cluster, sim.policies, told, seed=sim.seed).run())
    assert calm.state.fl_n.size == calm.state.fl_s.size == 0
