"""One policy in random worlds: whatever it does, a run is right, or it is refused in one line that can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from engine import worlds as engine_worlds
from user_policies.grammar import Policy
from wattline.control.catalog import find
from wattline.errors import EndlessError, WattlineError
from wattline.kernel.compiled import JIT
from wattline.model.mechanism import Mechanism
from wattline.sim.simulate import Simulation
from wattline.testing import worlds
from wattline.testing.worlds import World
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

RIGHT, REFUSED, ENDLESS = "right", "refused", "endless"
COMPANIONS = {
    "order": ("fcfs", "shortest", "wfp"),
    "select": ("easy", "conservative", "first-fit", "backfill-by-end", "in-order"),
    "place": ("lowest", "frugal", "slurm"),
    "cap": ("none", "under-limit"),
    "learn": ("request", "recent"),
    "profile": ("known",),
    "bid": ("given",),
}
LONGEST_LINE = 700


def world_for(rng: Random, mechanism: Mechanism) -> World:
    """Return a small world that is hard in some way."""
    make = rng.choice(
        (
            lambda: worlds.busy(seed=rng.randint(0, 99), count=25),
            worlds.limited,
            worlds.several_classes,
            worlds.all_down,
            worlds.ties,
            worlds.wide,
            worlds.zero_length,
            worlds.one_node,
            lambda: worlds.networked(worlds.busy(seed=3, count=20), 0.25),
            lambda: worlds.molded(worlds.limited()),
        )
    )
    world = worlds.suited(make(), mechanism)
    options = replace(world.options, log_rows=256)  # logs that fill up
    if rng.random() < 0.3:
        options = replace(options, ties="event")
    if options.limit_w and rng.random() < 0.4:
        options = replace(options, shed=True, exceed=rng.random() < 0.5)
    if mechanism.slot == "profile":
        options = replace(options, sample_s=7.0)
    return replace(world, options=options)


def policies(rng: Random, mechanism: Mechanism) -> Policies:
    """Return a policy of a user among built-in ones."""
    chosen = {slot: find(slot, rng.choice(names)) for slot, names in COMPANIONS.items()}
    if mechanism.caps or mechanism.slot == "profile":
        chosen["cap"] = find("cap", "none")
    return Policies(**(chosen | {mechanism.slot: mechanism}))


def try_policy(policy: Policy, file: Path, count: int = 3) -> list[str]:
    """Write a policy to a file and run it in some worlds; return what became of each run, or raise AssertionError."""
    file.write_text(policy.text, encoding="utf-8")
    rng = Random(policy.seed + 1)
    told = []
    try:
        mechanism = find(policy.slot, str(file))
    except WattlineError as problem:
        return [_refused(problem, policy)]
    for _ in range(count):
        try:
            world = world_for(rng, mechanism)
            sim = Simulation(world.jobs, world.cluster, policies(rng, mechanism), world.options, seed=rng.randint(0, 9))
            told.append(_finished(sim))
        except EndlessError as problem:
            _refused(problem, policy)
            return [*told, ENDLESS]
        except WattlineError as problem:
            told.append(_refused(problem, policy))
    return told


def _refused(problem: WattlineError, policy: Policy) -> str:
    """A refusal is one line that a terminal can show."""
    text = str(problem)
    assert text, "an error without a word"
    assert "\n" not in text, f"more than one line: {text!r}"
    assert len(text) < LONGEST_LINE, f"too long: {text}"
    assert policy.slot, text
    return REFUSED


def _finished(sim: Simulation) -> str:
    """A run that ends says so, and its state and logs agree with one another."""
    result = sim.run()
    assert result.stopped in ("done", "until"), result.stopped
    check_run(result)
    return RIGHT


def check_run(result: Result) -> None:
    """Assert that nodes, times and logs of a run add up."""
    s = result.state
    engine_worlds.check_structure(s)
    assert np.all(s.started_s[~np.isnan(s.started_s)] >= s.submit_s[~np.isnan(s.started_s)]), (
        "started before it was submitted"
    )
    span_s = float(s.now[0] - s.start_s[0])
    expected = s.pool_count * span_s
    np.testing.assert_allclose(s.node_s.sum(axis=1), expected, rtol=1e-9, atol=1e-6, err_msg="node-seconds")
    assert np.isfinite(s.energy_j).all(), "energy"
    assert np.isfinite(s.node_j).all(), "energy by node class"
    assert (s.node_j >= -1e-6).all(), "negative energy"
    first, count = result.logs["px_first"], result.logs["px_count"]
    assert (first >= 0).all(), "placement before the first node"
    assert (first + count <= s.node_state.size).all(), "placement behind the last node"
    if not s.app.max(initial=-1) >= 0:
        engine_worlds.assert_no_double_booking(result)
    assert JIT in (True, False)
