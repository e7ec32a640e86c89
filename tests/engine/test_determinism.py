"""The same run gives the same bytes: again, in threads, without compilation, after pickling, with tiny logs."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine import capped, everything
from engine.worlds import cluster, digest, policies, run, table
from wattline.errors import PoisonedError, PolicyError, RunError, StuckError
from wattline.model import codes
from wattline.model.mechanism import policy
from wattline.sim.simulate import Simulation

TESTS = Path(__file__).parents[1]


def test_the_run_has_everything_on() -> None:
    """The run that the tests below repeat wakes, kills, requeues, waits and changes speed."""
    result = Simulation(everything.jobs(), everything.machine(), everything.chosen(), everything.OPTIONS).run()
    kinds = {codes.EVENT_NAMES[k] for k in result.logs["ev_kind"]}
    assert kinds >= {"kill", "requeue", "resume", "node-down", "node-up", "limit", "level", "sleep", "wake", "drain"}
    assert {"finished", "killed"} <= {codes.STATUS_NAMES[i] for i in result.state.status}


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads(threads: int) -> None:
    """Runs in one, two and four threads give the bytes that they give alone."""
    seeds = [0, 1, 2, 3]
    alone = [everything.fingerprint(seed) for seed in seeds]
    assert len(set(alone)) == len(seeds)
    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(everything.fingerprint, seeds)) == alone


def test_without_compilation() -> None:
    """With NUMBA_DISABLE_JIT=1 the same source, as plain Python, gives the same bytes."""
    place = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "engine.everything"], env=os.environ | place, capture_output=True, text=True, cwd=TESTS
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == everything.fingerprint()


def test_the_run_of_learners_has_everything_on() -> None:
    """Under a limit that falls and rises, learners meet jobs that they know and others; jobs are stopped and go on, and
    are capped.
    """
    for learner in ("t-test", "quantile", "pooled"):
        result = capped.simulation(learner).run()
        kinds = [codes.EVENT_NAMES[k] for k in result.logs["ev_kind"]]
        assert [kinds.count(kind) > 0 for kind in ("limit", "preempt", "resume")] == [True] * 3
        assert {0, 1, 2} <= set(result.state.profile_from.tolist())
        assert np.isfinite(result.state.cap_w).any()


def test_learners_without_compilation() -> None:
    """Under a limit too, with learners, windows, caps and stops, plain Python gives the bytes of compiled code."""
    place = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "engine.capped"], env=os.environ | place, capture_output=True, text=True, cwd=TESTS
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [capped.fingerprint(name) for name in capped.LEARNERS]


def test_tiny_logs_lose_nothing(log_rows: Callable[[int], None]) -> None:
    """Logs that fill up again and again are emptied in time: the bytes are those of one large log."""
    whole = everything.fingerprint()
    log_rows(128)
    sim = Simulation(everything.jobs(), everything.machine(), everything.chosen(), everything.OPTIONS)
    full = 0
    with sim:
        while (code := sim.advance(10_000)) in (codes.BUDGET, codes.LOG_FULL):
            full += code == codes.LOG_FULL
    assert full > 5
    assert digest(sim.result()) == whole


@pytest.mark.parametrize("slice_", [1, 7, 1000])
def test_slices(slice_: int) -> None:
    """How many instants run between two looks at the keyboard changes nothing."""
    sim = Simulation(everything.jobs(), everything.machine(), everything.chosen(), everything.OPTIONS)
    with sim:
        while sim.advance(slice_) in (codes.BUDGET, codes.LOG_FULL):
            pass
    assert digest(sim.result()) == everything.fingerprint()


def test_pickled_results_and_states() -> None:
    """A result survives pickling, and a state pickled half-way is carried on where it was left."""
    jobs, machine, options = everything.jobs(), everything.machine(), everything.OPTIONS
    whole = Simulation(jobs, machine, everything.chosen(), options).run()
    assert digest(pickle.loads(pickle.dumps(whole))) == digest(whole)  # noqa: S301
    sim = Simulation(jobs, machine, everything.chosen(), options)
    with sim:
        sim.advance(100)
        sim.state = pickle.loads(pickle.dumps(sim.state))  # noqa: S301
        while sim.advance(10_000) in (codes.BUDGET, codes.LOG_FULL):
            pass
    assert digest(sim.result()) == digest(whole)


# ------------------------------------------------------------------ runs that cannot go on


@policy("select")
def lazy(s, arg, param, memory):
    """Start nobody."""
    return 0


@policy("select")
def broken(s, arg, param, memory):
    """Raise at five seconds."""
    if s.now[0] >= 5:
        raise KeyError("five")
    s.p_job[0], s.p_nodes[0], s.p_cap_w[0] = s.queue[s.q_head[0]], 1, np.inf
    return 1


@policy("cap", wake="arrival timer", params={"by_s": 1.0})
def late(s, arg, param, memory):
    """Set a timer that has passed already, or goes off at once."""
    s.wake_at_s[codes.CAP] = s.now[0] - param[0]
    return 0


def test_stuck_names_policy_and_job() -> None:
    """Jobs that wait when nothing can happen any more are an error that names the policy and the head of the line."""
    with pytest.raises(StuckError, match=r"select policy 'lazy' does not start job 17 \(2 nodes; 4 are free"):
        run(table({"submit": 3, "work": 1, "nodes": 2, "job_id": 17}), cluster(4), select=lazy)


def test_a_poisoned_state_is_refused() -> None:
    """A run that an exception left half-way cannot be carried on."""
    jobs = table(*[{"submit": t, "work": 1, "nodes": 1} for t in (0, 5)])
    sim = Simulation(jobs, cluster(1), policies(select=broken))
    with sim:
        with pytest.raises(PolicyError, match="KeyError: 'five'"):
            sim.advance(100)
        with pytest.raises(PoisonedError, match="half-way"):
            sim.advance(100)


def test_a_timer_in_the_past_names_the_policy() -> None:
    """A timer in the past, or one that goes off now for ever, is an error that names the policy and both times."""
    for by_s, set_to in ((1.0, "1 s"), (0.0, "2 s")):
        with pytest.raises(RunError, match=f"policy 'late' set its timer to {set_to} at 2 s"):
            run(table({"submit": 2, "work": 1, "nodes": 1}), cluster(1), cap=late, params={"cap": {"by_s": by_s}})


def test_nothing_to_do() -> None:
    """A run without jobs ends at once."""
    result = run(table(submit_s=[], work_s=[], nodes=[]), cluster(2))
    assert result.stopped == "done"
    assert len(result.logs["timeline"]) == 0
