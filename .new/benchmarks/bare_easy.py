"""EASY with nothing around it: no nodes, no power, no plug-ins. The yardstick for the general engine."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True)
def bare_easy(submit: Any, work: Any, width: Any, estimate: Any, machine: int) -> Any:
    """Return start times of textbook EASY, one pass per instant."""
    jobs = submit.size
    start = np.empty(jobs)
    queue = np.empty(jobs, np.int64)
    head = 0
    tail = 0
    heap_t = np.empty(jobs + 1)
    heap_j = np.empty(jobs + 1, np.int64)
    heap_n = 0
    by_end = np.empty(machine + 1, np.int64)
    end_est = np.empty(jobs)
    running = 0
    free = machine
    arrived = 0
    done = 0
    while done < jobs:
        now = submit[arrived] if arrived < jobs else np.inf
        if heap_n > 0 and heap_t[0] < now:
            now = heap_t[0]
        ended = False
        while heap_n > 0 and heap_t[0] <= now:
            j = heap_j[0]
            heap_n -= 1
            t = heap_t[heap_n]
            x = heap_j[heap_n]
            i = 0
            while 2 * i + 1 < heap_n:
                c = 2 * i + 1
                if c + 1 < heap_n and heap_t[c + 1] < heap_t[c]:
                    c += 1
                if heap_t[c] >= t:
                    break
                heap_t[i] = heap_t[c]
                heap_j[i] = heap_j[c]
                i = c
            heap_t[i] = t
            heap_j[i] = x
            free += width[j]
            done += 1
            ended = True
            i = 0
            while by_end[i] != j:
                i += 1
            running -= 1
            while i < running:
                by_end[i] = by_end[i + 1]
                i += 1
        new = tail
        while arrived < jobs and submit[arrived] <= now:
            queue[tail] = arrived
            tail += 1
            arrived += 1
        blocked = False
        shadow = np.inf
        extra = 0
        k = head
        while k < tail:
            j = queue[k]
            go = False
            if not blocked:
                if width[j] <= free:
                    go = True
                else:
                    blocked = True
                    if free == 0 or k == tail - 1:
                        break
                    have = free
                    i = 0
                    while i < running and (have < width[j] or end_est[by_end[i]] <= shadow):
                        if have < width[j]:
                            shadow = end_est[by_end[i]]
                        have += width[by_end[i]]
                        i += 1
                    extra = have - width[j]
                    if not ended and new > k + 1:
                        k = new - 1
            elif width[j] <= free and (now + estimate[j] <= shadow or width[j] <= extra):
                go = True
                if now + estimate[j] > shadow:
                    extra -= width[j]
            if go:
                start[j] = now
                free -= width[j]
                t = now + work[j]
                i = heap_n
                heap_n += 1
                while i > 0 and heap_t[(i - 1) // 2] > t:
                    heap_t[i] = heap_t[(i - 1) // 2]
                    heap_j[i] = heap_j[(i - 1) // 2]
                    i = (i - 1) // 2
                heap_t[i] = t
                heap_j[i] = j
                end_est[j] = now + estimate[j]
                i = running
                running += 1
                while i > 0 and end_est[by_end[i - 1]] > end_est[j]:
                    by_end[i] = by_end[i - 1]
                    i -= 1
                by_end[i] = j
                for i in range(k, head, -1):
                    queue[i] = queue[i - 1]
                head += 1
            k += 1
            if blocked and free == 0:
                break
    return start
