"""A Mira-like year, in a process of its own so that the memory is the year's alone: prints seconds by scheme, bytes."""

from __future__ import annotations

import json
import resource
import sys
import time

from wattline.systems.knapsack.data import load_jobs
from wattline.systems.knapsack.study import OURS, PAPER, Piece, carry_out

HEAVY = 0.86
"""Load of the machine: enough that jobs wait under the limit."""


def main() -> None:
    """Simulate the year twice with each scheme, the second time by the clock."""
    found = {}
    for scheme in (PAPER, OURS):
        piece = Piece("mira-like", "wfp", scheme, 3000.0, 365.0, HEAVY)
        load_jobs(piece.machine, piece.days, piece.load)
        carry_out(piece)
        began = time.perf_counter()
        carry_out(piece)
        found[scheme.name] = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # kilobytes on Linux
    sys.stdout.write(json.dumps([found, peak]))


if __name__ == "__main__":
    main()
