"""What was learned is a policy: the same decisions in the environment and in a run, and every check passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worlds_to_learn_in import SOLD

import wattline as wl
from programs import command

pytest.importorskip("gymnasium")

import wattline.gym as wg

ROOT = Path(__file__).parents[2]
MACHINE = wl.Machine(nodes=64, idle="90 W", max="350 W")
K, HIDDEN = 24, 4


def log(seed: int, jobs: int = 120) -> wl.Trace:
    """Return drawn jobs that ask for more time than they need."""
    drawn = wl.draw_trace("lublin", jobs=jobs, load=0.8, nodes=64, seed=seed).jobs
    return wl.from_frame(drawn.select("submit_s", "work_s", "nodes", request_s=(drawn["work_s"] * 1.3).ceil()))


def drawn(seed: int) -> wg.Scorer:
    """Return a network with random weights."""
    return wg.Scorer.of(np.random.default_rng(seed).standard_normal(wg.Scorer.size(HIDDEN)), HIDDEN)


def starts(scorer: wg.Scorer, jobs: wl.Trace, **settings: Any) -> Any:
    """Return when jobs start in the environment if a network decides."""
    env = wg.SelectVectorEnv(1, jobs, MACHINE, k=K, variety=1, settings=settings, autoreset=False)
    seen, _ = env.reset(seed=1)
    over = np.zeros(1, dtype=bool)
    while not over.all():
        seen, _, terminated, truncated, _ = env.step(scorer.choose(seen, K))
        over = terminated | truncated
    return env.playing.world(0).state.started_s


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Networks as policies, by the seed of their weights: one is compiled once, for all runs."""
    folder = tmp_path_factory.mktemp("written")
    return {seed: wg.save_policy(folder / f"learned{seed}.py", drawn(seed), k=K) for seed in (1, 2, 3)}


@pytest.mark.parametrize("settings", [{}, {"limit.power": "18 kW"}])
def test_the_file_decides_as_the_network_does_in_its_environment(
    written: dict[int, Path], settings: dict[str, Any]
) -> None:
    """A run with the policy that was written has the starts of the episode in which the network decided."""
    for seed, path in written.items():
        run = wl.simulate(log(seed), MACHINE, select=path, settings=settings, progress=False)
        wanted = run.result.state.started_s if run.result is not None else None
        np.testing.assert_array_equal(starts(drawn(seed), log(seed), **settings), wanted)


def setter(slot: str, seed: int) -> wg.Setter:
    """Return a network with random weights that sets numbers in the middle of their range."""
    weights = np.random.default_rng(seed).normal(0.0, 0.04, wg.Setter.size(slot, 8, HIDDEN))
    found = wg.Setter.of(weights, slot, k=8, hidden=HIDDEN)
    found.straight[:, -1] = 0.5
    return found


def answers(env: Any, network: wg.Setter) -> list[Any]:
    """Play an episode of a single environment by a network; return what it answered."""
    seen, _ = env.reset(seed=1)
    given, over = [], False
    while not over:
        given.append(network.answer(seen[None])[0])
        seen, _, terminated, truncated, _ = env.step(given[-1])
        over = terminated or truncated
    return given


@pytest.mark.parametrize("every", [None, "10 min"])
def test_a_learned_cap_decides_as_in_its_environment(tmp_path: Path, every: str | None) -> None:
    """A run with the cap policy that was written ends every job when the episode did, to the bit."""
    machine = wl.Machine(nodes=64, idle="90 W", max="350 W", min_cap="150 W")
    free = wl.simulate(log(1), machine, progress=False).jobs["end_s"].to_numpy()
    for seed in (1, 2):
        network = setter("cap", seed)
        env = wg.CapEnv(log(seed), machine, k=8, variety=1, every=every)
        given = answers(env, network)
        path = wg.save_policy(tmp_path / f"cap{seed}.py", network, k=8, ticks=every is not None)
        settings = {} if every is None else {"run.tick": every}
        run = wl.simulate(log(seed), machine, cap=path, settings=settings, progress=False)
        ends = run.jobs["end_s"].to_numpy()
        np.testing.assert_array_equal(env.playing.world(0).state.end_s, ends)
        assert len({float(one[0]) for one in given}) > 5  # it does not stand at one ratio
        assert seed != 1 or (ends > free).any()


def test_a_learned_bid_decides_as_in_its_environment(tmp_path: Path) -> None:
    """A run with the bid policy that was written makes the bids of the episode, and draws what it drew."""
    (tmp_path / "sold.toml").write_text(SOLD)
    for seed in (1, 2):
        network = setter("bid", seed)
        env = wg.BidEnv(tmp_path / "sold.toml", k=8, variety=1, reward="energy")
        given = answers(env, network)
        path = wg.save_policy(tmp_path / f"bid{seed}.py", network, k=8)
        run = wl.load(tmp_path / "sold.toml", {"policy.bid": path.name}).simulate(progress=False)
        assert run.result is not None
        made = run.events.filter(run.events["event"].is_in(["bid", "reserve"]))
        _, means, reserves = env.playing.world(0).simulation.bids()
        held = ~np.isnan(means)
        np.testing.assert_array_equal(made.filter(made["event"] == "bid")["value"].drop_nulls(), means[held])
        kept = made.filter(made["event"] == "reserve")["value"].to_numpy()[: held.sum()]
        np.testing.assert_array_equal(kept, reserves[held])
        np.testing.assert_array_equal(env.playing.world(0).state.end_s, run.result.state.end_s)
        assert len({tuple(one) for one in given}) == len(given) >= 3


@pytest.mark.parametrize("slot", ["select", "cap", "bid"])
def test_a_learned_policy_passes_every_check(tmp_path: Path, slot: str) -> None:
    """``wattline check-policy`` finds nothing wrong with it."""
    network = drawn(1) if slot == "select" else setter(slot, 1)
    wg.save_policy(tmp_path / "learned.py", network, k=K if slot == "select" else 8)
    done = command(["wattline", "check-policy", "learned.py"], tmp_path)
    assert done.code == 0, done.out + done.err


def test_one_network_or_one_a_world_choose_alike() -> None:
    """Several networks in one choose what each chooses alone."""
    seen = np.random.default_rng(1).random((5, K * len(wg.JOB_FEATURES) + len(wg.MACHINE_FEATURES))).astype(np.float32)
    seen[:, 1 : K * 12 : 12] = seen[:, 1 : K * 12 : 12] > 0.5
    weights = np.random.default_rng(2).standard_normal((5, wg.Scorer.size(HIDDEN)))
    alone = [wg.Scorer.of(weights[i], HIDDEN).choose(seen[i : i + 1], K)[0] for i in range(5)]
    np.testing.assert_array_equal(wg.Scorer.of(weights, HIDDEN).choose(seen, K), alone)
    assert len(set(alone)) > 1


def test_one_setter_or_one_a_world_answer_alike() -> None:
    """Several networks in one answer what each answers alone, and what sums of products say, cut to [0, 1]."""
    seen = np.random.default_rng(1).random((5, 8 * len(wg.JOB_FEATURES) + len(wg.MACHINE_FEATURES))).astype(np.float32)
    weights = np.random.default_rng(2).normal(0.0, 0.3, (5, wg.Setter.size("bid", 8, HIDDEN)))
    each = [wg.Setter.of(row, "bid", k=8, hidden=HIDDEN) for row in weights]
    together = wg.Setter.of(weights, "bid", k=8, hidden=HIDDEN).answer(seen)
    for i, one in enumerate(each):
        np.testing.assert_array_equal(together[i], one.answer(seen[i : i + 1])[0])
        x = np.append(seen[i].astype(float), 1.0)
        plain = one.straight @ x + one.outer @ np.maximum(0.0, one.inner @ x)
        np.testing.assert_allclose(together[i], np.clip(plain, 0.0, 1.0), rtol=1e-6)
    assert ((together > 0) & (together < 1)).any()


@pytest.mark.parametrize(
    ("path", "given", "said"),
    [
        ("learned.txt", {}, "ends with .py"),
        ("learned.py", {"name": "my policy"}, "name must be a word"),
        ("learned.py", {"ticks": True}, "ticks are for caps"),
    ],
)
def test_what_cannot_be_saved_is_told(tmp_path: Path, path: str, given: dict[str, Any], said: str) -> None:
    """Wrong arguments are refused in one line."""
    with pytest.raises(wl.InputError, match=said):
        wg.save_policy(tmp_path / path, drawn(1), k=K, **given)


@pytest.mark.parametrize(
    ("slot", "given", "said"),
    [
        ("cap", {"k": 9}, "looks at 8 waiting jobs, not at k=9"),
        ("bid", {"k": 8, "ticks": True}, "ticks are for caps"),
        ("select", {"k": 8}, "a Scorer decides about select"),
    ],
)
def test_what_cannot_be_set_is_told(tmp_path: Path, slot: str, given: dict[str, Any], said: str) -> None:
    """Wrong arguments for caps and bids are refused in one line."""
    with pytest.raises(wl.InputError, match=said):
        wg.save_policy(tmp_path / "learned.py", setter(slot, 1), **given)


def test_the_example_trains_and_leaves_a_policy(tmp_path: Path) -> None:
    """The example, cut to a few generations, writes a policy that runs, and judges it beside the usual ones."""
    example = str(ROOT / "examples" / "train_select.py")
    words = [sys.executable, "-W", "ignore", example, "--generations", "2", "--held-out", "2"]
    done = subprocess.run([*words, "--out", "learned.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line.split("  ")[0] for line in done.stdout.splitlines()[-4:]]
    assert names == ["FCFS", "EASY", "shortest first, EASY", "learned"]
    assert "@wl.policy" in (tmp_path / "learned.py").read_text()
