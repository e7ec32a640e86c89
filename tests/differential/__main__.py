"""``scripts/soak``: random worlds of all families in worker processes, until a time is over or a difference is
found.
"""

from __future__ import annotations

import argparse
import sys

from differential import FAMILIES
from differential.drawing import SEED_STRIDE, family, verdict, world
from differential.shrinking import as_test, smallest
from differential.soaking import soak


def main(argv: list[str] | None = None) -> int:
    """Read the command line, soak or run one world again; return 1 on a difference."""
    parser = argparse.ArgumentParser(
        prog="scripts/soak",
        description="Hold the engine against plain twins on random worlds; "
        "a difference is shrunk to the smallest world that shows it and printed as a test.",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to run (default 10)")
    parser.add_argument("--family", choices=FAMILIES, help="one family only (default: all, with equal time)")
    parser.add_argument(
        "--seed", type=int, default=0, help=f"other worlds: they begin at number seed·{SEED_STRIDE:.0e}"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--world", type=int, metavar="NUMBER", help="run this one world of --family, and shrink it")
    given = parser.parse_args(argv)
    if given.world is not None:
        if given.family is None:
            parser.error("--world needs --family: a world is known by its family and its number")
        return again(given.family, given.world)
    if not 0 <= given.seed < 2**64 // SEED_STRIDE:
        parser.error(f"--seed is a whole number from 0 to {2**64 // SEED_STRIDE - 1}, got {given.seed}")
    if given.workers < 1 or not given.minutes > 0:
        parser.error("--workers and --minutes must be above 0")
    names = [given.family] if given.family else list(FAMILIES)
    return soak(names, given.seed * SEED_STRIDE, 60.0 * given.minutes, given.workers)


def again(name: str, number: int) -> int:
    """Run one world by its number; shrink and print it if engine and twin differ."""
    source = family(name)
    drawn = world(source, number)
    told = verdict(source, drawn)
    if told is None:
        print(f"{name} {number}: engine and twin agree on {drawn!r}")  # noqa: T201
        return 0
    print(f"{name} {number}: {told}")  # noqa: T201
    small = smallest(source, drawn)
    print(as_test(source, small, verdict(source, small) or told, number))  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
