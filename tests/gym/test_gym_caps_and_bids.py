"""Learning environments for caps and bids: the same power and the same bids as runs with such policies."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import wattline as wl

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from worlds_to_learn_in import SOLD  # noqa: E402

import wattline.gym as wg  # noqa: E402

MACHINE = wl.Machine(nodes=64, idle="90 W", max="350 W", min_cap="150 W")


@wl.policy("cap", wake="tick", caps=True, compiled=True)
def half(s, happened, param, memory):
    """Cap every class half-way between the lowest cap and its power."""
    for c in range(s.want_cap_w.shape[0]):
        lowest_w = max(s.min_cap_w[s.c_pool[c]], s.c_floor_w[c])
        s.want_cap_w[c] = lowest_w + 0.5 * (s.c_draw_w[c] - lowest_w) if lowest_w < s.c_draw_w[c] else np.inf
    return 1


def log(jobs: int = 80) -> wl.Trace:
    """Return drawn jobs that can be capped."""
    drawn = wl.draw_trace("lublin", jobs=jobs, load=0.7, nodes=64, seed=1).jobs
    return wl.from_frame(drawn.select("submit_s", "work_s", "nodes", request_s=drawn["work_s"] * 2))


def steps(env: Any, action: Any) -> tuple[float, dict[str, Any]]:
    """Play an episode with one decision for ever."""
    _, told = env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, told = env.step(action)
        total += reward
        over = terminated or truncated
    return total, told


def test_gymnasium_finds_nothing_wrong_with_caps() -> None:
    """``check_env`` passes."""
    env = gymnasium.make("wattline/Cap-v0", jobs=log(), machine=MACHINE, every="10 min", variety=2).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


def test_gymnasium_finds_nothing_wrong_with_bids(tmp_path: Any) -> None:
    """``check_env`` passes on the environment of bids, by its registered name."""
    (tmp_path / "sold.toml").write_text(SOLD)
    made = gymnasium.make("wattline/Bid-v0", jobs=tmp_path / "sold.toml", variety=2, reward={"violations": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made.unwrapped)
    made.close()


def test_a_ratio_gives_the_run_of_such_a_policy() -> None:
    """Half of all caps at every tick is the run of a cap policy that wants the same, to the bit."""
    jobs = log()
    run = wl.simulate(jobs, MACHINE, cap=half, settings={"run.tick": "10 min"}, progress=False)
    env = wg.CapEnv(jobs, MACHINE, every="10 min", variety=1, reward={"energy": 1.0})
    energy, _ = steps(env, np.array([0.5], dtype=np.float32))
    state = env.playing.world(0).state
    np.testing.assert_array_equal(state.end_s, run.jobs["end_s"].to_numpy())
    assert energy == pytest.approx(-run.summary.energy.total_j / 3.6e6, rel=1e-9)


def test_caps_cost_time_and_save_power() -> None:
    """A ratio of 1 is the run without caps; of 0 it takes longer at a lower power."""
    jobs = log()
    free = wl.simulate(jobs, MACHINE, progress=False)
    env = wg.CapEnv(jobs, MACHINE, every="10 min", variety=1)
    steps(env, np.array([1.0], dtype=np.float32))
    np.testing.assert_array_equal(env.playing.world(0).state.end_s, free.jobs["end_s"].to_numpy())
    _, told = steps(env, np.array([0.0], dtype=np.float32))
    assert told["mean_bounded_slowdown"] > free.summary.bounded_slowdown.mean


def test_bids_are_those_that_were_decided(tmp_path: Any) -> None:
    """Every hour that is bid for asks once; the bid in force is the mean and reserve that the shares stand for."""
    (tmp_path / "sold.toml").write_text(SOLD)
    env = wg.BidEnv(tmp_path / "sold.toml", variety=2, reward={"violations": 1.0})
    seen, _ = env.reset(seed=3)
    idle_w, max_w = 36 * 169.0, 36 * 429.0
    over, asked, bids = False, 0, []
    while not over:
        assert seen in env.observation_space
        mean = 0.3 + 0.1 * asked
        seen, reward, terminated, truncated, _ = env.step(np.array([mean, 0.5], dtype=np.float32))
        mean_w = idle_w + np.float32(mean) * (max_w - idle_w)
        bids.append((mean_w, 0.5 * min(mean_w - idle_w, max_w - mean_w)))
        asked += 1
        assert reward <= 0.0
        over = terminated or truncated
    times, means, reserves = env.playing.world(0).simulation.bids()
    held = ~np.isnan(means)
    np.testing.assert_allclose(np.column_stack([means, reserves])[held][: len(bids)], bids[: held.sum()], rtol=1e-6)
    inside = wl.load(tmp_path / "sold.toml").simulate(progress=False)
    assert asked == int(held.sum()) == inside.events.filter(inside.events["event"] == "bid")["value"].count()
    assert times.size >= asked


def test_rewards_of_bids_are_those_of_the_run_with_the_same_bids(tmp_path: Any) -> None:
    """The first hour, before anybody is asked, counts; hours that are not billed are in no bill."""
    toml = SOLD.replace('from = "2 h"', "") + '\n[prices]\nenergy = "46 $/MWh"\n'
    assert "warmup" in toml
    (tmp_path / "sold.toml").write_text(toml)
    setter = wg.Setter.of(np.zeros(wg.Setter.size("bid", 1, 1)), "bid", k=1, hidden=1)
    setter.straight[:, -1] = 0.3, 0.5
    wg.save_policy(str(tmp_path / "constant.py"), setter, k=1, name="constant")
    run = wl.load(tmp_path / "sold.toml", {"policy.bid": str(tmp_path / "constant.py")}).simulate(progress=False)
    summary = run.summary
    assert summary.accounts is not None
    assert summary.accounts.total.cost < 0.99 * run.hours["cost"].sum()
    for name, expected in (("bill", summary.accounts.total.cost), ("energy", summary.energy.total_j / 3.6e6)):
        env = wg.BidEnv(tmp_path / "sold.toml", k=1, variety=1, reward=name)
        reward, _ = steps(env, np.array([0.3, 0.5], dtype=np.float32))
        assert reward == pytest.approx(-expected, rel=1e-6), name


def test_a_scenario_without_bids_is_refused() -> None:
    """Bids need a market: one line says what is missing."""
    with pytest.raises(wl.InputError, match="the scenario has no bids to make"):
        wg.BidEnv(log(), MACHINE).reset()


def test_violations_of_a_limit_are_counted_by_hand() -> None:
    """Two jobs run for 2 h on a machine whose limit falls after half an hour: for an hour and a half they are above."""
    jobs = wl.from_frame(pl.DataFrame({"submit_s": [0.0, 0.0], "work_s": [7200.0, 7200.0], "nodes": [32, 32]}))
    settings = {"limit.steps": [["0 s", "off"], ["30 min", "10 kW"]]}
    env = wg.CapEnv(jobs, MACHINE, every="10 min", variety=1, reward="violations", settings=settings)
    total, _ = steps(env, np.array([1.0], dtype=np.float32))
    assert total == pytest.approx(-1.5, rel=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_violations_of_a_limit_are_those_of_the_timeline(seed: int) -> None:
    """Hours above a limit that falls and rises are the sum of such rows of the timeline of the same run."""
    drawn = wl.draw_trace("lublin", jobs=80, load=0.9, nodes=64, seed=seed).jobs
    jobs = wl.from_frame(drawn.select("submit_s", "work_s", "nodes", request_s=drawn["work_s"] * 2))
    settings = {"limit.steps": [["0 s", "off"], ["3 h", "15 kW"], ["6 h", "off"]], "limit.repeat": "8 h"}
    run = wl.simulate(jobs, MACHINE, settings=settings, progress=False)
    env = wg.CapEnv(jobs, MACHINE, every="10 min", variety=1, reward={"violations": 2.0}, settings=settings)
    total, _ = steps(env, np.array([1.0], dtype=np.float32))
    rows = run.timeline.select("time_s", "power_w", "limit_w").rows()
    ends = [row[0] for row in rows[1:]] + [float(run.jobs["end_s"].max())]
    above_s = sum(
        end - at for (at, power, limit), end in zip(rows, ends, strict=True) if end > at and power > limit * (1 + 1e-9)
    )
    assert above_s > 600.0
    assert total == pytest.approx(-2.0 * above_s / 3600.0, rel=1e-9)


@wl.policy("bid", compiled=True)
def in_the_middle(s, hour, param, memory):
    """Promise the middle of what the machine can draw, and half of the reserve that this leaves room for."""
    idle_w, max_w = s.pool_count[0] * s.idle_w[0], s.pool_count[0] * s.max_w[0]
    s.want_mean_w[0] = idle_w + 0.5 * (max_w - idle_w)
    s.want_reserve_w[0] = 0.25 * (max_w - idle_w)
    return 1


def test_violations_of_a_target_are_those_of_the_timeline(tmp_path: Any) -> None:
    """Hours in which the power is further from its target than 0.3 of the reserve, from rows of the timeline and the
    bids of the same run.
    """
    (tmp_path / "sold.toml").write_text(SOLD)
    run = wl.load(tmp_path / "sold.toml", {"policy.bid": in_the_middle}).simulate(progress=False)
    env = wg.BidEnv(tmp_path / "sold.toml", variety=1, reward="violations")
    total, told = steps(env, np.array([0.5, 0.5], dtype=np.float32))
    reserve_w = 0.25 * 36 * (429.0 - 169.0)
    rows = run.timeline.select("time_s", "power_w", "target_w").rows()
    ends = [row[0] for row in rows[1:]] + [told["time_s"]]
    off_s = sum(
        end - at
        for (at, power, target), end in zip(rows, ends, strict=True)
        if target is not None and abs(power - target) > 0.3 * reserve_w
    )
    assert 60.0 < off_s < told["time_s"]
    assert total == pytest.approx(-off_s / 3600.0, rel=1e-9)


def test_seeds_of_a_vector_and_numbers_of_episodes(tmp_path: Any) -> None:
    """One seed draws the episodes of all worlds from one generator; a list begins each world as a single environment
    with that seed; ``info["episode"]`` is the number that plays an episode again.
    """
    (tmp_path / "sold.toml").write_text(SOLD)
    given: dict[str, Any] = {"jobs": tmp_path / "sold.toml", "reward": "violations", "variety": 8}
    single = gymnasium.make("wattline/Bid-v0", **given)
    firsts = {seed: single.reset(seed=seed)[1]["episode"] for seed in (3, 4, 5)}
    assert len(set(firsts.values())) > 1
    single.close()
    env = gymnasium.make_vec(
        "wattline/Bid-v0", num_envs=3, vectorization_mode="vector_entry_point", autoreset=False, **given
    )

    def played(**how: Any) -> tuple[list[int], list[float]]:
        _, told = env.reset(**how)
        assert "episode" not in told
        total, numbers = np.zeros(3), np.full(3, -1)
        while (numbers < 0).any():
            _, rewards, terminated, truncated, told = env.step(np.full((3, 2), 0.5, dtype=np.float32))
            total += rewards
            ended = terminated | truncated
            assert (told.get("_episode", np.zeros(3, dtype=bool)) == (ended & (numbers < 0))).all()
            numbers[ended & (numbers < 0)] = told["episode"][ended & (numbers < 0)] if ended.any() else 0
        return numbers.tolist(), total.tolist()

    listed, earned = played(seed=[3, 4, 5])
    assert listed == [firsts[3], firsts[4], firsts[5]]
    assert played(options={"episode": listed}) == (listed, earned)
    drawn = np.random.default_rng(7).integers(8, size=3).tolist()
    assert played(seed=7)[0] == drawn
    with pytest.raises(wl.InputError, match="seed: a seed for each of 3 worlds is needed"):
        env.reset(seed=[1, 2])
    kept = gymnasium.wrappers.vector.RecordEpisodeStatistics(env, stats_key="returns")
    kept.reset(seed=[3, 4, 5])
    over = np.zeros(3, dtype=bool)
    while not over.all():
        _, _, terminated, truncated, told = kept.step(np.full((3, 2), 0.5, dtype=np.float32))
        over = terminated | truncated
    np.testing.assert_allclose(told["returns"]["r"], earned, rtol=1e-6)
    env.close()


def test_the_example_tunes_a_bid_and_leaves_a_policy(tmp_path: Any) -> None:
    """The example, cut to two generations, writes a policy that bids, and judges it beside the usual ones."""
    example = str(Path(__file__).parents[2] / "examples" / "tune_bid.py")
    words = [sys.executable, "-W", "ignore", example, "--generations", "2", "--held-out", "1", "--out", "bids.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[-3:]] == ["adaptive", "fixed-heuristic", "tuned"]
    assert '@wl.policy("bid"' in (tmp_path / "bids.py").read_text()
