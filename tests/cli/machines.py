"""Small logs of machines whose headers say different things, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def swf(
    header: str,
    processors: Sequence[int],
    jobs: int = 60,
    *,
    every_s: int = 300,
    run_s: int = 200,
    wait_s: Callable[[int], int] = lambda _: -1,
) -> str:
    """Return a log whose jobs ask for these processors in turn; ``wait_s`` is the wait that it recorded for job i."""
    rows = []
    for i in range(jobs):
        size = processors[i % len(processors)]
        rows.append(f"{i + 1} {i * every_s} {wait_s(i)} {run_s} {size} -1 -1 {size} 900 -1 1 {i % 3} 1 -1 -1 -1 -1 -1")
    return header + "\n".join(rows) + "\n"


BOTH = "; MaxNodes: 8\n; MaxProcs: 32\n"
