"""EASY in plain Python: heapq, no nodes, no power. What one would write without Wattline."""

from __future__ import annotations

import heapq
from typing import Any


def python_easy(submit: Any, work: Any, width: Any, estimate: Any, machine: int) -> list[float]:
    """Return start times of textbook EASY, one pass per instant."""
    jobs = len(submit)
    start = [0.0] * jobs
    ends: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    queue: list[int] = []
    free, arrived = machine, 0

    def begin(j: int, now: float) -> None:
        nonlocal free
        start[j] = now
        free -= width[j]
        heapq.heappush(ends, (now + work[j], j))
        running.append((now + estimate[j], j))

    while arrived < jobs or ends:
        now = min(submit[arrived] if arrived < jobs else float("inf"), ends[0][0] if ends else float("inf"))
        while ends and ends[0][0] <= now:
            _, j = heapq.heappop(ends)
            free += width[j]
            running.remove((start[j] + estimate[j], j))
        while arrived < jobs and submit[arrived] <= now:
            queue.append(arrived)
            arrived += 1
        while queue and width[queue[0]] <= free:
            begin(queue.pop(0), now)
        if len(queue) < 2 or free == 0:
            continue
        running.sort()
        have, shadow = free, now
        for end, j in running:
            if have >= width[queue[0]] and end > shadow:
                break
            shadow, have = max(shadow, end), have + width[j]
        extra = have - width[queue[0]]
        for j in queue[1:]:
            in_time = now + estimate[j] <= shadow
            if width[j] <= free and (in_time or width[j] <= extra):
                extra -= 0 if in_time else width[j]
                queue.remove(j)
                begin(j, now)
    return start
