"""Learn which waiting job starts next, by evolution, and leave a policy file.

    python examples/train_select.py                       # some minutes: writes learned.py and judges it
    wattline check-policy learned.py

Needs wattline[gym]. The queue is kept in the order of estimated run times. A small network scores its first jobs; the
one with the highest score starts, or none. It begins as EASY: the first job that delays nobody in front of it. In every
generation pairs of networks, each a small step to either side, play the same stretch of work; weights move to where
slowdowns fall. What was learned is judged by ``wl.simulate`` on seeds that were never played.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import wattline as wl
import wattline.gym as wg

K, HIDDEN = 32, 8
NODES, JOBS, LOAD = 128, 300, 0.85
MACHINE = wl.Machine(nodes=NODES, idle="100 W", max="300 W")
ORDER = "shortest"
WORLDS, VARIETY = 32, 200
REWARD = {"bounded-slowdown": 1.0, "wait": 5.0}  # slowdowns alone are lowest where long jobs wait for ever
SPREAD, RATE = 0.1, 0.02


def work(seed, jobs=JOBS):
    """Draw jobs whose users ask for more time than they need, each by a factor of its own."""
    drawn = wl.draw_trace("lublin", jobs=jobs, load=LOAD, nodes=NODES, seed=seed).jobs
    factor = 1.0 + 2.0 * np.random.default_rng(seed).random(len(drawn)) ** 2
    return wl.from_frame(
        {
            "submit_s": drawn["submit_s"].to_numpy(),
            "work_s": drawn["work_s"].to_numpy(),
            "nodes": drawn["nodes"].to_numpy(),
            "request_s": np.ceil(drawn["work_s"].to_numpy() * factor),
        }
    )


def beginning():
    """Return the weights of: the first job, in the order of the queue, that delays nobody in front of it."""
    straight = dict.fromkeys((name for name, _ in wg.JOB_FEATURES), 0.0) | {"harmless": 2.0}
    none = np.zeros(len(wg.MACHINE_FEATURES) + 1)
    none[-1] = 1.0
    inner = 0.3 * np.random.default_rng(0).standard_normal(HIDDEN * (len(straight) + none.size))
    return np.concatenate([inner, np.zeros(HIDDEN), list(straight.values()), none])


def played(env, weights, episodes):
    """Return what each row of weights costs, on an episode each: minus its rewards."""
    scorer = wg.Scorer.of(weights, HIDDEN)
    seen, _ = env.reset(options={"episode": episodes})
    over, total = np.zeros(len(weights), dtype=bool), np.zeros(len(weights))
    while not over.all():
        seen, reward, terminated, truncated, _ = env.step(scorer.choose(seen, K))
        total -= reward
        over = terminated | truncated
    return total


def train(jobs, machine, part, seconds, generations, seed=1):
    """Return the weights that evolution has found, and say how it goes."""
    rng = np.random.default_rng(seed)
    env = wg.SelectVectorEnv(
        WORLDS,
        jobs,
        machine,
        k=K,
        length=2 * JOBS,
        part=part,
        variety=VARIETY,
        reward=REWARD,
        order=ORDER,
        autoreset=False,
    )
    mean, began, smooth = beginning(), time.perf_counter(), np.nan
    first, second = np.zeros_like(mean), np.zeros_like(mean)
    for generation in range(1, generations + 1):
        if time.perf_counter() - began > seconds:
            break
        noise = rng.standard_normal((WORLDS // 2, mean.size))
        episodes = rng.integers(VARIETY, size=WORLDS // 2)
        found = played(env, np.concatenate([mean + SPREAD * noise, mean - SPREAD * noise]), np.tile(episodes, 2))
        better, worse = found[: WORLDS // 2], found[WORLDS // 2 :]
        slope = ((worse - better) / (worse + better)) @ noise  # up is where slowdowns fall
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        mean = mean + RATE * first / (1 - 0.9**generation) / np.sqrt(second / (1 - 0.99**generation) + 1e-12)
        level = np.log(found).mean()
        smooth = level if np.isnan(smooth) else 0.95 * smooth + 0.05 * level
        if generation % 20 == 0:
            print(f"generation {generation:4d}: cost {np.exp(smooth):6.1f}", flush=True)  # noqa: T201
    env.close()
    return mean


def judge(policy, logs, machine):
    """Print and return the mean bounded slowdown of the policy and of the usual ones, over some logs."""
    usual = {
        "FCFS": {"select": "in-order"},
        "EASY": {"select": "easy"},
        "shortest first, EASY": {"select": "easy", "order": "shortest"},
        "learned": {"select": policy, "order": ORDER},
    }
    found = {}
    for name, given in usual.items():
        runs = [wl.simulate(log, machine, progress=False, **given) for log in logs]
        found[name] = float(np.mean([run.summary.bounded_slowdown.mean for run in runs]))
        wait_h = np.mean([run.summary.wait_s.mean for run in runs]) / 3600
        print(f"{name:22s}{found[name]:10.2f}{wait_h:10.2f}")  # noqa: T201
    return found


def main():
    """Train, write the policy, judge it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=240.0, help="how long to train")
    parser.add_argument("--generations", type=int, default=100_000, help="how many generations at most")
    parser.add_argument("--held-out", type=int, default=30, help="on how many seeds to judge")
    parser.add_argument("--log", type=Path, help="learn on the first 70 %% of a job log instead, judge on the rest")
    parser.add_argument("--out", type=Path, default=Path("learned.py"), help="the file of the policy")
    args = parser.parse_args()
    if args.out.suffix != ".py":
        parser.error(f"--out {args.out}: a policy is a file of Python, like learned.py")
    if args.log is None:
        jobs, machine, part = work(1000, 40 * JOBS), MACHINE, (0.0, 1.0)
        unseen = [work(seed) for seed in range(5000, 5000 + args.held_out)]
    else:
        jobs = wl.read_trace(args.log)
        machine, part = wl.Machine(nodes=jobs.nodes, idle="100 W", max="300 W"), (0.0, 0.7)
        rest = jobs.jobs.select("submit_s", "work_s", "nodes", "request_s")
        unseen = [wl.from_frame(rest[round(0.7 * len(rest)) :])]
    weights = train(jobs, machine, part, args.seconds, args.generations)
    wg.save_policy(args.out, wg.Scorer.of(weights, HIDDEN), k=K)
    print(f"{args.out}; on work that was never played: mean bounded slowdown, mean wait in hours")  # noqa: T201
    judge(args.out, unseen, machine)


if __name__ == "__main__":
    main()
