"""Storms of faults on a live machine in memory, one seed after another, for as long as there is time."""

from __future__ import annotations

import argparse
import sys
import time

from live.faults.test_faults_storm import test_a_storm_of_faults


def main() -> int:
    """Run storms; end with 1 at the first that breaks something, and say its seed."""
    parser = argparse.ArgumentParser(prog="scripts/soak live", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1000, help="the first one")
    asked = parser.parse_args()
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
