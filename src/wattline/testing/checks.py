"""The checks: each takes a mechanism and raises CheckError, or another one-line error, if it does not hold."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from wattline.control.catalog import find
from wattline.control.users.compile import callable_from_python, check_signature, compile_user
from wattline.errors import PolicyError, RunError, WattlineError, printable
from wattline.model import codes
from wattline.model.mechanism import Mechanism
from wattline.sim.simulate import Simulation
from wattline.testing import watch, worlds
from wattline.testing.report import CheckError
from wattline.testing.worlds import World
from wattline.wiring.policies import Policies
from wattline.wiring.result import Result

Params = Mapping[str, float] | None
COMPANIONS = {
    "order": "fcfs",
    "select": "easy",
    "place": "lowest",
    "cap": "none",
    "learn": "request",
    "profile": "known",
    "bid": "given",
}
SEED = 1
IN_WORLD = "world"
"""Field of the errors that name their world already."""


# ------------------------------------------------------------------ running


def simulation(mechanism: Mechanism, world: World, params: Params = None) -> Simulation:
    """Return a simulation of a world with the mechanism in its slot and plain companions in the others."""
    slots = {slot: find(slot, name) for slot, name in COMPANIONS.items()} | {mechanism.slot: mechanism}
    chosen = Policies(**slots, params={mechanism.slot: params or {}})
    suited = worlds.suited(world, mechanism)
    return Simulation(suited.jobs, suited.cluster, chosen, suited.options, seed=SEED)


def play(mechanism: Mechanism, world: World, params: Params = None) -> Result:
    """Run a world to its end; whatever goes wrong is said with the world, so that it can be run again."""
    with told(mechanism, world):
        return simulation(mechanism, world, params).whole()


@contextlib.contextmanager
def told(mechanism: Mechanism, *tried: World) -> Iterator[None]:
    """Say of what goes wrong in which worlds it did, and who: ``play`` repeats it."""
    try:
        yield
    except WattlineError as problem:
        if problem.field == IN_WORLD:
            raise
        found = problem.preceded(_where(mechanism, tried))
        found.field = IN_WORLD
        raise found from problem
    except Exception as problem:  # of the policy's own code
        found = CheckError(f"{_where(mechanism, tried)}{explain(problem)}")
        found.field = IN_WORLD
        raise found from problem


def _where(mechanism: Mechanism, tried: tuple[World, ...]) -> str:
    names = " and ".join(world.words for world in tried)
    several = "worlds" if len(tried) > 1 else "world"
    return f"in the {several} {names}, seed {SEED}, {mechanism.slot} {mechanism.called!r}: "


def outcome(result: Result) -> dict[str, bytes]:
    """Return the bytes of all that a run produced."""
    s = result.state
    said = {
        name: getattr(s, name)
        for name in ("status", "started_s", "end_s", "energy_j", "node_j", "node_s", "preemptions")
    }
    return {name: np.ascontiguousarray(array).tobytes() for name, array in {**said, **result.logs}.items()}


def _expect_same(one: Result, other: Result, what: str) -> None:
    a, b = outcome(one), outcome(other)
    differing = sorted(name for name in a if a[name] != b[name])
    if differing:
        raise CheckError(f"{what} ({', '.join(differing[:4])} differ): a policy may keep state in its memory only")


def _expect_sound(mechanism: Mechanism, world: World, params: Params) -> None:
    """Refuse a run that lost a job, started one too early or broke the power limit at a start."""
    result = play(mechanism, world, params)
    with told(mechanism, world):
        _judge(result)


def _judge(result: Result) -> None:
    s, ids = result.state, result.jobs.job_id
    left = (s.status >= codes.FINISHED) & (s.status != codes.REJECTED)
    if not np.all(left | (s.status == codes.REJECTED)):
        raise CheckError(f"job {ids[np.argmin(left)]} never left the system")
    if np.any(s.started_s[left] < s.submit_s[left]):
        raise CheckError("a job started before it was submitted")
    rows = result.logs["timeline"]
    over = rows[:, codes.TL_POWER] > rows[:, codes.TL_LIMIT] * (1 + 1e-9)
    raised = over[1:] & (np.diff(rows[:, codes.TL_POWER]) > 0)
    if result.policies.cap.name == "none" and raised.any():
        row = rows[1:][raised][0]
        raise CheckError(f"at {row[0]:g} s power rose to {row[1]:g} W under a limit of {row[codes.TL_LIMIT]:g} W")


# ------------------------------------------------------------------ what a policy may do


def check_callable(mechanism: Mechanism, params: Params = None) -> None:
    """A policy takes (s, arg, param, memory), has all its parameters, and compiles if it says so."""
    check_signature(mechanism)
    mechanism.values(params or {})
    callable_from_python(mechanism)


def check_indices(mechanism: Mechanism, params: Params = None) -> None:
    """A policy stays within the arrays of the state: no index is negative or too large, compiled or not."""
    strict = watch.in_plain_python(mechanism, indices=True)
    for world in (worlds.busy(count=20), worlds.all_down(), worlds.one_node()):
        _play_as_far_as_it_goes(strict, world, params)
    if mechanism.compiled and not mechanism.builtin:
        compiled = compile_user(mechanism, checked=True)
        _play_as_far_as_it_goes(watch.wrapped(mechanism, lambda _inner: compiled), worlds.busy(count=20), params)


def _play_as_far_as_it_goes(mechanism: Mechanism, world: World, params: Params) -> None:
    """Run a world; a run that gets stuck has touched no index wrongly, and other checks say that it got stuck."""
    with contextlib.suppress(RunError):
        play(mechanism, world, params)


def check_proposes_only(mechanism: Mechanism, params: Params = None) -> None:
    """A policy writes proposals, keys, estimates, its timer and its memory, and nothing else."""
    watched = watch.wrapped(mechanism, watch.proposals_only(mechanism.slot))
    for world in (worlds.busy(count=20), worlds.all_down(), worlds.limited()):
        play(watched, world, params)


def check_legal(mechanism: Mechanism, params: Params = None) -> None:
    """A policy proposes only what the guard accepts: jobs that wait, on nodes that are free, under the limit."""
    watched = watch.wrapped(mechanism, watch.legal(mechanism.slot))
    several = () if mechanism.one_class else (worlds.several_classes(),)
    for world in (worlds.busy(), *several, worlds.limited()):
        result = play(watched, world, params)
        verdicts, kinds = result.logs["a_verdict"], result.logs["a_kind"]
        refused = ~np.isin(verdicts, (codes.OK, codes.CLIPPED))
        # speed levels need not heed the limit: they are asked for again
        refused &= ~((kinds == codes.ACT_LEVEL) & (verdicts == codes.OVER_LIMIT))
        if refused.any():
            at = int(np.argmax(refused))
            kind = codes.ACTION_NAMES[result.logs["a_kind"][at]]
            verdict = codes.VERDICT_NAMES[result.logs["a_verdict"][at]]
            count = int(refused.sum())
            with told(mechanism, world):
                raise CheckError(
                    f"{count} proposals were refused; first a {kind} at {result.logs['a_time_s'][at]:g} s: {verdict}"
                )


def check_timer(mechanism: Mechanism, params: Params = None) -> None:
    """A policy never sets its timer to a time that has passed."""
    play(watch.wrapped(mechanism, watch.timers_ahead(mechanism.slot)), worlds.busy(), params)


def check_deterministic(mechanism: Mechanism, params: Params = None) -> None:
    """The same run gives the same bytes twice."""
    world = worlds.busy()
    pair = (play(mechanism, world, params), play(mechanism, world, params))
    with told(mechanism, world):
        _expect_same(*pair, "two equal runs differ")


def check_no_hidden_state(mechanism: Mechanism, params: Params = None) -> None:
    """Two runs that take turns give what each gives alone: nothing is kept outside the policy's memory."""
    pair = (worlds.busy(seed=7), worlds.busy(seed=8))
    alone = [play(mechanism, world, params) for world in pair]
    turns = [simulation(mechanism, world, params) for world in pair]
    with told(mechanism, *pair), turns[0], turns[1]:
        going = [True, True]
        while any(going):
            for i, sim in enumerate(turns):
                going[i] = going[i] and sim.advance(3) in (codes.BUDGET, codes.LOG_FULL)
                if sim.pressed:
                    raise KeyboardInterrupt
    with told(mechanism, *pair):
        for before, sim in zip(alone, turns, strict=True):
            _expect_same(before, sim.result(), "runs that take turns disturb each other")


def check_same_in_plain_python(mechanism: Mechanism, params: Params = None) -> None:
    """The compiled policy and its Python source give the same bytes."""
    twin = watch.in_plain_python(mechanism)
    for world in (worlds.busy(count=25), worlds.limited() if mechanism.one_class else worlds.several_classes()):
        pair = (play(mechanism, world, params), play(twin, world, params))
        with told(mechanism, world):
            _expect_same(*pair, "compiled and plain Python differ")


# ------------------------------------------------------------------ what a policy must survive


def check_empty_queue(mechanism: Mechanism, params: Params = None) -> None:
    """A policy survives an empty queue, whatever wakes it, and proposes nothing then."""
    _expect_sound(mechanism, worlds.empty(), params)
    if mechanism.slot in ("place", "learn"):
        return  # these are asked about a job, and there is none
    world = worlds.one_node()
    sim = simulation(mechanism, world, params)  # nothing was submitted yet
    slot = codes.SLOT_NAMES.index(mechanism.slot)
    with told(mechanism, world):
        for mask in (codes.END, codes.NODE, codes.TICK, codes.EVERYTHING):
            got = sim.ask(slot, mask)
            if mechanism.slot == "select" and got != 0:
                raise CheckError(f"before the first submission it proposed {got} jobs from an empty queue")


def check_all_nodes_down(mechanism: Mechanism, params: Params = None) -> None:
    """A policy survives that every node fails, and goes on when they return."""
    _expect_sound(mechanism, worlds.all_down(), params)


def check_one_node(mechanism: Mechanism, params: Params = None) -> None:
    """A policy runs a machine of one node."""
    _expect_sound(mechanism, worlds.one_node(), params)


def check_ties(mechanism: Mechanism, params: Params = None) -> None:
    """A policy copes with many jobs that arrive and end at one instant."""
    _expect_sound(mechanism, worlds.ties(), params)


def check_wide_jobs(mechanism: Mechanism, params: Params = None) -> None:
    """A job as wide as the machine runs in the end."""
    _expect_sound(mechanism, worlds.wide(), params)


def check_zero_length(mechanism: Mechanism, params: Params = None) -> None:
    """Jobs that take no time run."""
    _expect_sound(mechanism, worlds.zero_length(), params)


def check_power_limit(mechanism: Mechanism, params: Params = None) -> None:
    """Every job runs under a power limit that changes, and no start exceeds it."""
    _expect_sound(mechanism, worlds.limited(), params)


def check_node_classes(mechanism: Mechanism, params: Params = None) -> None:
    """Several node classes are served, each with jobs of its own."""
    _expect_sound(mechanism, worlds.several_classes(), params)


def check_finishes(mechanism: Mechanism, params: Params = None) -> None:
    """Nobody starves: on random workloads every job leaves the system."""
    for seed in (1, 2, 3):
        _expect_sound(mechanism, worlds.busy(seed=seed, count=60), params)


Check = Callable[..., None]
SAFETY: tuple[Check, ...] = (check_callable, check_indices)
"""A policy that fails one of these could crash the process: the others are not run then."""
CHECKS: tuple[Check, ...] = (
    *SAFETY,
    check_proposes_only,
    check_legal,
    check_timer,
    check_deterministic,
    check_no_hidden_state,
    check_same_in_plain_python,
    check_empty_queue,
    check_all_nodes_down,
    check_one_node,
    check_ties,
    check_wide_jobs,
    check_zero_length,
    check_power_limit,
    check_node_classes,
    check_finishes,
)


def applies(check: Check, mechanism: Mechanism) -> bool:
    """Tell whether a check means anything for a mechanism."""
    if check is check_node_classes and mechanism.one_class:
        return False
    return check is not check_same_in_plain_python or mechanism.builtin or mechanism.compiled


def title(check: Check) -> str:
    """Return a check's name as it stands in a report."""
    return check.__name__.removeprefix("check_").replace("_", "-")


def explain(problem: BaseException) -> str:
    """Return what a failed check says, in one line."""
    text = str(problem).splitlines()
    plain = printable(text[0]) if text else ""
    return plain if isinstance(problem, PolicyError) else f"{type(problem).__name__}: {plain}"
