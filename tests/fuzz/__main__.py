"""Give readers files whose right content is known, and count what they make of them."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time

from fuzz.cases import FORMATS, Fuzz

MOST_SHOWN = 20
"""Failures of one case that are shown."""


def main() -> int:
    """Run cases until they are enough; print counts by format and verdict, and every failure as a test."""
    parser = argparse.ArgumentParser(prog="scripts/soak fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=None, help="files (default: 10,000 unless --minutes is given)")
    parser.add_argument("--minutes", type=float, default=None, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="which files (default: 1)")
    parser.add_argument("--only", choices=FORMATS, action="append", default=None)
    given = parser.parse_args()
    count = given.count if given.count is not None else (10_000 if given.minutes is None else sys.maxsize)
    until = time.monotonic() + 60 * given.minutes if given.minutes is not None else float("inf")
    fuzz = Fuzz(given.seed, tuple(given.only or FORMATS))
    done = 0
    with contextlib.suppress(KeyboardInterrupt):  # what was found until then is shown
        while done < count and time.monotonic() < until:
            known = len(fuzz.failures)
            fuzz.one(done)
            done += 1
            for failure in fuzz.failures[known:][:MOST_SHOWN]:
                sys.stdout.write(f"{failure}\n")
                sys.stdout.flush()
            if done % 1000 == 0:
                sys.stderr.write(f"{done:,} files, {len(fuzz.failures)} failures\n")
    fuzz.close()
    sys.stdout.write(f"{fuzz.table()}\n")
    return 1 if fuzz.failures else 0


if __name__ == "__main__":
    sys.exit(main())
