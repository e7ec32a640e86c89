"""Storms of faults on a live machine in memory, one seed after another, for as long as there is time; or on a Slurm."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from live.faults.test_faults_storm import test_a_storm_of_faults


def on_slurm(minutes: float, seed: int) -> int:
    """Let daemons, agents, controllers and users of a real Slurm do wrong; end with 1 where that broke something."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "slurm"))
    from slurm_play import play

    from wattline.demo.slurm_cluster import why_not

    why = why_not()
    if why:
        sys.stderr.write(f"{why}\n")
        return 2
    try:
        done = play(minutes, seed)
    except AssertionError as broken:
        sys.stderr.write(f"seed {seed}: {str(broken)[:2000] or type(broken).__name__}\n")
        return 1
    for what, count in sorted(done.items()):
        sys.stderr.write(f"{count:4d} {what}\n")
    sys.stderr.write(f"{done.total()} faults on a real Slurm, none broke anything\n")
    return 0


def main() -> int:
    """Run storms; end with 1 at the first that breaks something, and say its seed."""
    parser = argparse.ArgumentParser(prog="scripts/soak live", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1000, help="the first one")
    parser.add_argument(
        "--slurm", action="store_true", help="on a real Slurm of its own (needs root, to act as a user)"
    )
    asked = parser.parse_args()
    if asked.slurm:
        return on_slurm(asked.minutes, asked.seed)
    until, seed = time.monotonic() + 60.0 * asked.minutes, asked.seed
    while time.monotonic() < until:
        try:
            test_a_storm_of_faults(seed)
        except AssertionError as broken:
            sys.stderr.write(f"seed {seed}: {str(broken)[:500] or type(broken).__name__}\n")
            return 1
        seed += 1
    sys.stderr.write(f"{seed - asked.seed} storms, none broke anything\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
