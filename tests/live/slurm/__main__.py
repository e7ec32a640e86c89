"""Many jobs through a real Slurm under a controller: none may be lost, doubled, misplaced or left stopped."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from slurm_run import MAX_W, SlurmRun, leading

from wattline.demo.slurm_cluster import SlurmCluster, why_not

CAP_PERIOD_S = 0.25
SAMPLE_S = 10.0
PATIENCE_S = 60.0
"""Seconds without an end of a job after which those that are not over are lost: a small machine may have work for long
after the last submission.
"""


def submit_some(run: SlurmRun, left: int) -> int:
    """Submit a job or an array; return how many."""
    rnd = run.random
    tasks = rnd.randint(2, 5) if left >= 5 and rnd.random() < 0.1 else 0
    wide = min(rnd.choice((1, 1, 1, 2, 2, 4, 8)), run.slurm.nodes)
    return len(run.submit(round(rnd.uniform(2.0, 10.0), 1), 1 if tasks else wide, tasks=tasks))


def memory_mb() -> float:
    """Return what this process, which leads, has in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 2**20


def drifts(samples: Sequence[tuple[float, float]]) -> bool:
    """Tell whether memory grew after the first quarter of a run by more than a tenth and 10 MB.

    >>> drifts([(0.0, 100.0), (60.0, 150.0), (120.0, 151.0), (180.0, 150.0), (240.0, 152.0)])
    False
    >>> drifts([(0.0, 100.0), (60.0, 150.0), (120.0, 160.0), (180.0, 170.0), (240.0, 180.0)])
    True
    """
    first_mb = samples[len(samples) // 4][1]
    return samples[-1][1] > 1.1 * first_mb + 10.0


def play(run: SlurmRun, jobs: int, seconds: float, restart: bool) -> list[tuple[float, float]]:
    """Submit all jobs over a time, stop one now and then, start the controller anew in the middle.

    Return the time and the memory, in MB, every ten seconds while jobs are submitted.
    """
    began, left, next_stop = time.monotonic(), jobs, 5.0
    samples = [(0.0, memory_mb())]
    ended, ended_s = 0, 0.0
    restarted = not restart
    while True:
        turn_began = time.monotonic()
        at = turn_began - began
        while left > 0 and (jobs - left) / jobs <= at / seconds:
            left -= submit_some(run, left)
            if time.monotonic() - turn_began > 0.1:
                break
        if at >= next_stop and left > 0:
            run.stop_one()
            next_stop += 5.0
        if not restarted and at >= seconds / 2:
            restarted = True
            run.controller.bus.close()
            run.controller = run.start()
        run.turn()
        if at >= samples[-1][0] + SAMPLE_S and left > 0:
            samples.append((at, memory_mb()))
        phases = run.phases()
        if left > 0 or phases.get("gone", 0) > ended:
            ended, ended_s = phases.get("gone", 0), at
        if (left == 0 and not phases.keys() - {"gone"} and run.over()) or at > ended_s + PATIENCE_S:
            return samples
        time.sleep(max(0.0, turn_began + CAP_PERIOD_S - time.monotonic()))


def account(run: SlurmRun) -> dict[str, object]:
    """Return what became of all jobs."""
    delays = run.delays_s()
    turns = sorted(run.turns_s)
    book, seen = run.controller.ledger, run.controller.mirror.seen
    left = {job: [s.phase, s.reason, s.ours, s.on] for job, s in seen.items()}
    for job, row in book.row.items():
        left.setdefault(job, []).append(f"status {int(book.state.status[row])}")
    return {
        "jobs": len(run.jobs),
        "not over": left,
        **run.account(),
        "over the limit": run.most_w > run.limit * MAX_W * run.slurm.nodes + 1.0,
        "stops": run.stops,
        "released again": sum(told.what == "hold" for told in run.told),
        "unanswered": sum(told.what == "unanswered" for told in run.told),
        "refused": dict(Counter(told.note for told in run.told if told.what == "refused")),
        "decision to first line, s (median, p90, max)": [
            round(delays[round(part * (len(delays) - 1))], 3) for part in (0.5, 0.9, 1.0)
        ]
        if delays
        else [],
        "turn, s (median, p99, max)": [round(turns[round(part * (len(turns) - 1))], 3) for part in (0.5, 0.99, 1.0)],
        "said": len(run.said),
    }


def main() -> int:
    """Run it; end with 1 where a job was lost, doubled, misplaced or left stopped."""
    parser = argparse.ArgumentParser(prog="scripts/soak slurm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="over which jobs are submitted")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--restart", action="store_true", help="start the controller anew in the middle")
    asked = parser.parse_args()
    why = why_not()
    if why:
        sys.stderr.write(f"{why}\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="wattline-slurm-") as folder:
        slurm = SlurmCluster(Path(folder), nodes=asked.nodes)
        with slurm.running(), leading(slurm, seed=asked.seed) as run:
            samples = play(run, asked.jobs, 60.0 * asked.minutes, asked.restart)
            found = account(run)
            found["memory, MB (first, after a quarter, last)"] = [
                round(samples[at][1], 1) for at in (0, len(samples) // 4, -1)
            ]
            half = len(run.turns_s) // 2
            found["turn, s (median of each half)"] = [
                round(statistics.median(part), 3) for part in (run.turns_s[:half], run.turns_s[half:]) if part
            ]
            found["memory grows"] = drifts(samples)
            said = run.said[-10:]
        found["processes left"] = slurm.left()
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    bad = [
        key
        for key in ("lost", "doubled", "elsewhere", "left stopped", "over the limit", "processes left", "memory grows")
        if found[key]
    ]
    if bad:
        sys.stderr.write(f"seed {asked.seed}: {', '.join(bad)}\n" + "".join(f"{line}\n" for line in said))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
