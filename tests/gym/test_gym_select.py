"""Learning environments: Gymnasium's rules, the same schedules as ``wl.simulate``, rewards that are a run's numbers."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wattline as wl

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

import wattline.gym as wg  # noqa: E402
from wattline.policies.looks import ALLOWED, HARMLESS, F  # noqa: E402

MACHINE = wl.Machine(nodes=64, idle="90 W", max="350 W")


def log(jobs: int = 150, seed: int = 1, load: float = 0.9) -> wl.Trace:
    """Return drawn jobs that ask for more time than they need."""
    drawn = wl.draw_trace("lublin", jobs=jobs, load=load, nodes=64, seed=seed).jobs
    return wl.from_frame(drawn.select("submit_s", "work_s", "nodes", request_s=(drawn["work_s"] * 1.3).ceil()))


def play(env: Any, choose: Any, **reset: Any) -> tuple[float, dict[str, Any]]:
    """Play an episode; return the sum of the rewards and what was told at its end."""
    seen, told = env.reset(**reset)
    total, over = 0.0, False
    while not over:
        seen, reward, terminated, truncated, told = env.step(choose(seen, told))
        total += reward
        over = terminated or truncated
    return total, told


def first(seen: Any, feature: int, k: int) -> int:
    """Return the first shown job with a feature, or none."""
    found = np.flatnonzero(seen[: k * F].reshape(k, F)[:, feature])
    return int(found[0]) if found.size else k


def test_gymnasium_finds_nothing_wrong() -> None:
    """``check_env`` passes, by the registered name too."""
    made = gymnasium.make("wattline/Select-v0", jobs=log(), machine=MACHINE, length=40, variety=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made.unwrapped)
    made.close()


@pytest.mark.parametrize("order", ["fcfs", "shortest"])
@pytest.mark.parametrize(("select", "feature"), [("easy", HARMLESS), ("first-fit", ALLOWED)])
def test_the_rule_of_a_policy_gives_its_run(order: str, select: str, feature: int) -> None:
    """Who takes the first harmless job is EASY, who takes the first that fits is first fit: to the bit."""
    for seed in (1, 2, 3):
        jobs = log(seed=seed)
        run = wl.simulate(jobs, MACHINE, order=order, select=select, progress=False)
        env = wg.SelectEnv(jobs, MACHINE, k=150, variety=1, order=order)
        reward, told = play(env, lambda seen, _told: first(seen, feature, 150))
        starts = env.playing.world(0).state.started_s
        np.testing.assert_array_equal(starts, run.jobs["start_s"].to_numpy())
        assert reward == pytest.approx(-run.summary.bounded_slowdown.mean, rel=1e-12)
        assert told["mean_wait_s"] == pytest.approx(run.summary.wait_s.mean, rel=1e-12)
        assert told["forbidden"] == 0


def test_rewards_add_up_to_the_numbers_of_the_run() -> None:
    """Waits in hours, energy in kWh and weights of several are those of the run with the same starts."""
    jobs = log()
    run = wl.simulate(jobs, MACHINE, select="first-fit", progress=False)
    wait_h, kwh = run.summary.wait_s.mean / 3600.0, run.summary.energy.total_j / 3.6e6
    for reward, expected in (
        ("wait", -wait_h),
        ("energy", -kwh),
        ({"wait": 2.0, "energy": 0.5}, -2 * wait_h - kwh / 2),
    ):
        env = wg.SelectEnv(jobs, MACHINE, k=150, variety=1, reward=reward)
        assert play(env, lambda seen, _told: first(seen, ALLOWED, 150))[0] == pytest.approx(expected, rel=1e-9)


def test_a_part_without_a_length_is_played_as_a_whole() -> None:
    """Who learns on the first half and is judged on the second plays other jobs."""
    jobs = log()
    for part, rows in (((0, 0.5), slice(0, 75)), ((0.5, 1), slice(75, 150)), ((0, 1), slice(0, 150))):
        env = wg.SelectEnv(jobs, MACHINE, k=150, variety=1, part=part)
        play(env, lambda seen, _told: first(seen, ALLOWED, 150))
        played = env.playing.world(0).state.submit_s
        np.testing.assert_array_equal(played, jobs.jobs["submit_s"].to_numpy()[rows])


def test_the_bill_comes_with_the_last_step() -> None:
    """The reward ``bill`` is that of the run's accounts."""
    jobs = log(60)
    prices = {"prices.energy": "0.1 $/kWh"}
    run = wl.simulate(jobs, MACHINE, select="first-fit", settings=prices, progress=False)
    env = wg.SelectEnv(jobs, MACHINE, k=60, variety=1, reward="bill", settings=prices)
    got, _ = play(env, lambda seen, _told: first(seen, ALLOWED, 60))
    assert got == pytest.approx(-run.hours["cost"].sum(), rel=1e-9)


def test_masks_allow_what_the_guard_accepts() -> None:
    """Random decisions that the mask allows are never refused, under a power limit either."""
    rng = np.random.default_rng(1)
    env = wg.SelectEnv(log(), MACHINE, variety=1, settings={"limit.power": "15 kW"})
    _, told = play(env, lambda _seen, told: int(rng.choice(np.flatnonzero(told["action_mask"]))))
    state = env.playing.world(0).state
    assert told["forbidden"] == 0
    assert state.refused.sum() == 0
    assert np.isfinite(state.end_s[state.status != wl.codes.REJECTED]).all()


def test_numbers_are_seen_within_their_bounds() -> None:
    """Whatever is decided, what is seen lies in the space, and jobs that are not there are zeros."""
    rng = np.random.default_rng(2)
    env = wg.SelectEnv(log(), MACHINE, variety=1, k=8)
    seen, _ = env.reset(seed=1)
    for _ in range(200):
        assert env.observation_space.contains(seen)
        jobs = seen[: 8 * F].reshape(8, F)
        assert (jobs[jobs[:, 0] == 0] == 0).all()
        seen, _, terminated, truncated, _ = env.step(int(rng.integers(9)))
        if terminated or truncated:
            break


def test_a_run_that_is_cut_is_truncated() -> None:
    """``run.until`` truncates, and who still waits then is counted."""
    env = wg.SelectEnv(log(load=1.4), MACHINE, variety=1, settings={"run.until": "4 h"})
    env.reset(seed=1)
    over = truncated = terminated = False
    while not over:
        _, _, terminated, truncated, told = env.step(env.playing.k)
        over = terminated or truncated
    assert truncated
    assert not terminated
    assert told["mean_wait_s"] > 0


def test_jobs_that_have_not_come_when_a_run_is_cut_are_not_counted() -> None:
    """Means are of those that came, as in the summary; that is put right with the last reward."""
    jobs = wl.from_frame({"submit_s": [0, 10, 1000, 1001], "work_s": [50, 20, 10, 10], "nodes": [1, 1, 1, 1]})
    settings = {"run.until": 100}
    one = wl.Machine(nodes=1, idle=100, max=300)
    run = wl.simulate(jobs, one, select="first-fit", settings=settings, progress=False)
    for name, expected in (
        ("bounded-slowdown", run.summary.bounded_slowdown.mean),
        ("wait", run.summary.wait_s.mean / 3600.0),
    ):
        env = wg.SelectEnv(jobs, one, k=4, variety=1, reward=name, settings=settings)
        reward, told = play(env, lambda seen, _told: first(seen, ALLOWED, 4))
        assert reward == pytest.approx(-expected, rel=1e-12)
        assert told["mean_bounded_slowdown"] == pytest.approx(run.summary.bounded_slowdown.mean)
        assert told["mean_wait_s"] == pytest.approx(20.0)


def test_what_happens_before_the_first_decision_is_rewarded() -> None:
    """A node is out of service for an hour, or a job starts by the rule on deadlocks, before anybody is asked."""
    out = [{"start": 0, "end": 3600, "nodes": "0-0"}]
    jobs = wl.from_frame({"submit_s": [0, 5], "work_s": [20, 10], "nodes": [2, 1]})
    steps = {"limit.steps": [["0 s", "450 W"], ["100 s", "off"]], "limit.deadlock": "exceed"}
    worlds: list[tuple[wl.Machine, dict[str, Any]]] = [
        (wl.Machine(nodes=2, idle=100, max=300, outages=out), {}),
        (wl.Machine(nodes=2, idle=100, max=300), steps),
    ]
    for machine, settings in worlds:
        run = wl.simulate(jobs, machine, select="first-fit", settings=settings, progress=False)
        power = run.summary.power
        for name, expected in (
            ("energy", run.summary.energy.total_j / 3.6e6),
            ("violations", (power.above_limit_s if settings else 0.0) / 3600.0),
            ("bounded-slowdown", run.summary.bounded_slowdown.mean),
        ):
            env = wg.SelectEnv(jobs, machine, k=4, variety=1, reward=name, settings=settings)
            reward, _ = play(env, lambda seen, _told: first(seen, ALLOWED, 4))
            assert reward == pytest.approx(-expected, rel=1e-9), name


def test_many_worlds_give_what_each_gives_alone() -> None:
    """A vector environment plays the episodes of single ones: same rewards, then the next episode begins."""
    given: dict[str, Any] = {"length": 40, "variety": 6, "k": 12}
    jobs = log(400)
    alone = wg.SelectEnv(jobs, MACHINE, **given)
    rewards = [play(alone, lambda seen, _told: first(seen, ALLOWED, 12), options={"episode": i})[0] for i in range(6)]
    for threads in (1, 2):
        many = wg.SelectVectorEnv(6, jobs, MACHINE, threads=threads, **given)
        assert many.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        seen, _ = many.reset(seed=1, options={"episode": range(6)})
        total, ended = np.zeros(6), np.zeros(6, dtype=bool)
        again = np.zeros(6, dtype=bool)
        while not again.all():
            before = ended.copy()
            seen, reward, terminated, truncated, told = many.step([first(row, ALLOWED, 12) for row in seen])
            assert seen in many.observation_space
            total += np.where(ended, 0.0, reward)
            assert (reward[before & ~again] == 0.0).all()  # the step that begins the next episode
            again |= before
            ended |= terminated | truncated
            if (terminated | truncated).any():
                assert (told["_mean_wait_s"] == (terminated | truncated)).all()
        np.testing.assert_array_equal(total, rewards)
        many.close()


def test_the_same_seed_gives_the_same_episodes() -> None:
    """Episodes are drawn by the seed of ``reset``, and scenarios are drawn anew for each."""
    scenario = {"seed": 1, "variety": 5, "length": None}
    env = wg.SelectEnv(wl.load(EXAMPLE, {"policy.select": "easy", "trace.jobs": 30}), **scenario)
    firsts = []
    for _ in range(2):
        env.reset(seed=7)
        firsts.append([env.reset()[1]["episode"] for _ in range(4)])
    assert firsts[0] == firsts[1]
    works = [env.reset(options={"episode": i}) and env.playing.world(0).simulation.jobs.work_s.sum() for i in range(3)]
    assert len(set(works)) == 3


EXAMPLE = Path(__file__).parents[2] / "examples" / "easy-vs-fcfs.toml"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": 0}, "k: a number of waiting jobs from 1"),
        ({"reward": "waits"}, "did you mean 'wait'"),
        ({"reward": {"wait": "much"}}, "weight of 'wait'"),
        ({"length": 1000}, "more than the 150 of this part"),
        ({"part": (0.7, 0.2)}, "two shares of the log"),
        ({"part": (0.5, 0.5001)}, "of 150 jobs has none"),
        ({"variety": 0}, "variety: a number of episodes"),
        ({"part": 3}, "part: two shares of the log"),
        ({"part": ("a", "b")}, "part: two shares of the log"),
        ({"part": (0.2, 0.4, 0.6)}, "part: two shares of the log"),
        ({"selekt": "easy"}, "policies go by their slots"),
        ({"render_mode": "human"}, "nothing is drawn"),
        ({"threads": 0}, "threads: a whole number"),
    ],
)
def test_mistakes_are_told_in_one_line(given: dict[str, Any], said: str) -> None:
    """Wrong arguments are refused with what is right."""
    with pytest.raises(wl.InputError) as refused:
        wg.SelectEnv(log(), MACHINE, **given).reset()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_misuse_is_told_in_one_line() -> None:
    """Stepping before a reset or with what is no action is refused."""
    env = wg.SelectEnv(log(), MACHINE, variety=1)
    with pytest.raises(wl.InputError, match="reset the environment first"):
        env.step(0)
    env.reset()
    with pytest.raises(wl.InputError, match="is not in Discrete"):
        env.step(99)
    with pytest.raises(wl.InputError, match="numbers go from 0 to 0"):
        env.reset(options={"episode": 3})


def test_without_gymnasium_it_says_what_to_install() -> None:
    """Where Gymnasium is not installed, one line says how to get it."""
    program = "import sys; sys.modules['gymnasium'] = None\ntry:\n import wattline.gym\nexcept Exception as e: print(e)"
    got = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'wattline[gym]'" in got.stdout


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])  # noqa: S301
@pytest.mark.parametrize("steps", [0, 1, 17])
def test_a_copy_goes_on_from_where_it_was_made(copied: Any, steps: int) -> None:
    """In the middle of an episode, and for the episodes that are drawn after it; the original knows nothing of it."""
    env = gymnasium.make("wattline/Select-v0", jobs=log(), machine=MACHINE, length=40, variety=8, reward={"wait": 1.0})
    env.reset(seed=3)
    for _ in range(steps):
        env.step(env.action_space.sample())
    twin = copied(env)
    draw = np.random.default_rng(1)
    for _ in range(3):
        over = False
        while not over:
            action = int(draw.integers(env.action_space.n))
            one, two = env.step(action), twin.step(action)
            assert np.array_equal(one[0], two[0])
            assert one[1:4] == two[1:4]
            over = one[2] or one[3]
        seen, again = env.reset()[0], twin.reset()[0]
        assert np.array_equal(seen, again)
    twin.close()
    assert env.step(0)[0].shape == seen.shape


def test_a_copy_of_one_that_was_never_reset_is_as_fresh() -> None:
    """Nothing is played again where nothing was played."""
    env = gymnasium.make("wattline/Select-v0", jobs=log(), machine=MACHINE, length=40, variety=8).unwrapped
    assert np.array_equal(env.reset(seed=5)[0], copy.deepcopy(env).reset(seed=5)[0])


def test_a_vector_environment_is_not_copied() -> None:
    """It is said in a line instead of failing somewhere inside."""
    env = gymnasium.make_vec("wattline/Select-v0", num_envs=2, jobs=log(), machine=MACHINE, length=40, variety=2)
    with pytest.raises(wl.InputError, match="a vector environment is not copied"):
        copy.deepcopy(env)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"reward": "bill"}, r"there is no bill without \[prices\]"),
        ({"select": "easy"}, "these decisions are yours; leave the policy 'easy' out"),
    ],
)
def test_what_cannot_be_is_said_when_the_environment_is_made(given: dict[str, Any], told: str) -> None:
    """Not at the end of the first episode, and not never."""
    with pytest.raises(wl.InputError, match=told):
        wg.SelectEnv(log(), MACHINE, length=40, variety=2, **given)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"nope": 1}, "there is no option 'nope'"),
        ({"episode": 2.5}, "expected a whole number, got 2.5"),
        ({"episode": "x"}, "expected a whole number, got 'x'"),
        ({"episode": 2}, "numbers go from 0 to 1"),
    ],
)
def test_options_of_a_reset_are_checked(options: dict[str, Any], told: str) -> None:
    """A slip does not take another episode."""
    env = wg.SelectEnv(log(), MACHINE, length=40, variety=2)
    with pytest.raises(wl.InputError, match=told):
        env.reset(options=options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"nope": 1}, "there is no option 'nope'"),
        ({"episode": 1.5}, "expected a whole number, got 1.5"),
        ({"episode": math.nan}, "expected a whole number, got nan"),
        ({"episode": [0, 1]}, "3 numbers are needed, one for each world, got 2"),
        ({"episode": [0, 1, 2]}, "numbers go from 0 to 1"),
        ({"reset_mask": [1, 0, 1]}, "3 truth values are needed"),
    ],
)
def test_options_of_a_reset_of_many_worlds_are_checked(options: dict[str, Any], told: str) -> None:
    """Before any of them begins."""
    worlds = wg.SelectVectorEnv(3, log(), MACHINE, length=40, variety=2)
    worlds.reset(options={"episode": [0, 1, 0]})
    before = [worlds.playing.told(w)["episode"] for w in range(3)]
    with pytest.raises(wl.InputError, match=told):
        worlds.reset(options=options)
    assert [worlds.playing.told(w)["episode"] for w in range(3)] == before
    worlds.reset(options={"episode": np.int64(1)})


def test_an_episode_that_until_cuts_off_names_the_cause() -> None:
    """A stretch keeps the clock of its log: one that begins after run.until has nothing to decide, and says why."""
    jobs = wl.from_frame({"submit_s": [0.0, 100.0, 200.0, 300.0], "work_s": [5.0] * 4, "nodes": [1] * 4})
    env = wg.SelectEnv(jobs, machine=wl.Machine(nodes=2), length=2, settings={"run.until": 150})
    told = set()
    for number in range(8):
        try:
            env.reset(options={"episode": number})
        except wl.RunError as problem:
            told.add(str(problem))
    assert len(told) == 1
    assert told.pop().endswith("(run.until comes before its first job: a stretch keeps the clock of its log)")
