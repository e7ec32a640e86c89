"""``scripts/soak doors --minutes N``: calls of all functions and methods that numba knows, on read-only arrays, until
one changes them.
"""

# ruff: noqa: T201  (a script prints)

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from random import Random

import numba

from doors.probe import attempt, attributes, calls, functions


def main() -> int:
    """Try calls until the time is up; end with 1 when one has changed what is read-only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--call", default="", help="try this one expression, such as 'np.sort(f)', and say what came of it"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # numba warns of slow code
    numba.config.OPT = type(numba.config.OPT)(0)  # it compiles all day, and runs nothing for long
    if asked.call:
        print(attempt(asked.call))
        return 0
    until, counts, broken = time.monotonic() + 60.0 * asked.minutes, Counter[str](), 0
    print(f"{len(functions())} functions and {len(attributes())} attributes of arrays are known to numba", flush=True)
    seed = asked.seed
    while time.monotonic() < until:
        for text in calls(Random(seed), 1):
            if time.monotonic() > until:
                break
            call = attempt(text)
            counts[call.outcome.split()[0]] += 1
            if call.outcome.startswith("CHANGED"):
                broken += 1
                print(f"{call.text}: {call.outcome}, which is read-only", flush=True)
        seed += 1
    print(f"{counts.total()} calls: {', '.join(f'{n} {what}' for what, n in counts.most_common())}")
    return 1 if broken else 0


sys.exit(main())
