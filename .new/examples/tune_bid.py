"""Tune the bid of every hour in the learning environment, and leave a policy file.

    python examples/tune_bid.py                           # about a minute: writes bids.py and judges it
    wattline check-policy bids.py

Needs wattline[gym]. A bid is two shares: mean power between idle and full, and reserve out of what that leaves room
for. Sixteen worlds play the same episodes, each with shares of its own; the next sixteen are drawn around the best
four, ever closer (the cross-entropy method). The reward is the bill, hours off the target, and the slowdown of jobs.
What was found is judged by ``wl.simulate`` on seeds that were never played, beside two rules that bid.
"""

import argparse
import tempfile
from pathlib import Path

import gymnasium
import numpy as np

import wattline as wl
import wattline.gym as wg

SCENARIO = """
name = "hours"
kinds = "W4"
[trace]
generator = "kinds"
duration = "5 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
bid = "adaptive"
[regulation]
signal = "gaussian"
hours = 3
warmup = "1 h"
[prices]
rules = "pjm"
energy = "46.2 $/MWh"
capacity = "21 $/MW"
performance = "1.3 $/MW"
mileage = 2.5
"""
REWARD = {"bill": 1.0, "violations": 0.1, "bounded-slowdown": 0.05}
WORLDS, BEST, VARIETY, HELD_OUT_SEED = 16, 4, 32, 1001


def played(env, shares, episode):
    """Return what each row of shares earns in the same episode, bid in every hour of it."""
    env.reset(options={"episode": episode})
    over, total = np.zeros(WORLDS, dtype=bool), np.zeros(WORLDS)
    while not over.all():
        _, rewards, terminated, truncated, _ = env.step(shares)
        total += rewards
        over |= terminated | truncated
    return total


def tune(path, generations, rng, episodes=2):
    """Return the shares that earned most."""
    env = gymnasium.make_vec(
        "wattline/Bid-v0",
        num_envs=WORLDS,
        vectorization_mode="vector_entry_point",
        jobs=path,
        reward=REWARD,
        variety=VARIETY,
        autoreset=False,
    )
    middle, spread = np.array([0.5, 0.5]), np.array([0.25, 0.25])
    for generation in range(generations):
        shares = np.clip(middle + spread * rng.standard_normal((WORLDS, 2)), 0.0, 1.0).astype(np.float32)
        shares[0] = middle
        earned = sum(played(env, shares, int(i)) for i in rng.integers(VARIETY, size=episodes)) / episodes
        best = shares[np.argsort(-earned)[:BEST]]
        middle, spread = best.mean(axis=0), best.std(axis=0) + 0.02
        print(f"generation {generation + 1}: {earned.max():.3f} with mean {middle[0]:.2f}, reserve {middle[1]:.2f}")  # noqa: T201
    env.close()
    return middle


def save(path, shares, k=1):
    """Write a policy that bids these shares in every hour."""
    setter = wg.Setter.of(np.zeros(wg.Setter.size("bid", k, 1)), "bid", k=k, hidden=1)
    setter.straight[:, -1] = shares  # of all that is seen nothing counts: only the numbers that are added
    wg.save_policy(path, setter, k=k, name="tuned", summary="Tuned: the same shares in every hour.")


def judge(path, policy, runs):
    """Return bill, share of sold time off the target, and mean bounded slowdown, on average over seeds."""
    rows = []
    for seed in range(HELD_OUT_SEED, HELD_OUT_SEED + runs):
        run = wl.load(path, {"policy.bid": policy, "seed": seed}).simulate(progress=False)
        told = run.summary
        rows.append((told.value("cost"), told.value("regulation.exceed_share"), told.bounded_slowdown.mean))
    return np.mean(rows, axis=0)


def main():
    """Tune, write the policy, judge it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--generations", type=int, default=12)
    parser.add_argument("--held-out", type=int, default=10, help="seeds to judge on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bids.py"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hours.toml"
        path.write_text(SCENARIO)
        save(given.out, tune(path, given.generations, np.random.default_rng(given.seed)))
        print(f"{'':18}{'bill':>9}{'off target':>12}{'slowdown':>10}")  # noqa: T201
        for name in ("adaptive", "fixed-heuristic", str(given.out.absolute())):
            bill, off, slowdown = judge(path, name, given.held_out)
            print(f"{'tuned' if name.endswith('.py') else name:18}{bill:8.3f} ${100 * off:10.1f} %{slowdown:10.2f}")  # noqa: T201


if __name__ == "__main__":
    main()
