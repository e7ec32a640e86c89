"""Orders of the queue: each writes a key a job, smaller goes first, ties by the time of entering the queue.

``arg`` is what happened. A policy writes the keys of the jobs that are new (slots from ``s.q_new[0]``) and returns
0, or writes those of all waiting jobs and returns 1, after which the whole queue is sorted again.
"""

from __future__ import annotations

from typing import Any

from wattline.kernel.compiled import kernel
from wattline.model.codes import ANY_CHANGE, EVERYTHING, TICK, TIMER
from wattline.model.mechanism import Param, mechanism
from wattline.model.state.record import State

NEWCOMERS = EVERYTHING
"""Jobs enter the queue by arrival, when they lost a node and by preemption: the pass after that may be of any kind."""


@kernel
def _remaining(s: State, j: int, by_truth: float) -> float:
    if by_truth != 0.0:
        return s.remaining[j]
    return max(0.0, s.estimate_s[j] - (s.work[j] - s.remaining[j]))


@mechanism("order", "fcfs", wake=0)
def fcfs(s: State, mask: int, param: Any, memory: Any) -> int:
    """First come, first served: by the time of entering the queue."""
    return 0


@mechanism("order", "lcfs", wake=NEWCOMERS, source="recursion model, §III-B")
def lcfs(s: State, mask: int, param: Any, memory: Any) -> int:
    """Last come, first served; with select = reselect it is preemptive-resume."""
    for i in range(s.q_new[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            s.key[j] = -float(s.seq[j])
    return 0


@mechanism(
    "order",
    "shortest",
    wake=NEWCOMERS,
    params={"truth": Param(0.0, "1 uses true remaining work instead of estimates", 0, 1, whole=True)},
    source="recursion model, §III-B (SPF)",
)
def shortest(s: State, mask: int, param: Any, memory: Any) -> int:
    """Shortest (remaining) processing time first."""
    for i in range(s.q_new[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            s.key[j] = _remaining(s, j, param[0])
    return 0


@mechanism(
    "order",
    "longest",
    wake=NEWCOMERS,
    params={"truth": Param(0.0, "1 uses true remaining work instead of estimates", 0, 1, whole=True)},
    source="recursion model, §III-B (LPF)",
)
def longest(s: State, mask: int, param: Any, memory: Any) -> int:
    """Longest (remaining) processing time first."""
    for i in range(s.q_new[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            s.key[j] = -_remaining(s, j, param[0])
    return 0


@mechanism("order", "priority", wake=NEWCOMERS)
def priority(s: State, mask: int, param: Any, memory: Any) -> int:
    """Highest priority first, first come among equals."""
    for i in range(s.q_new[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            s.key[j] = -s.priority[j]
    return 0


@mechanism("order", "wfp", wake=ANY_CHANGE | TICK | TIMER, source="Tang et al. 2009; knapsack §VI (decision 17)")
def wfp(s: State, mask: int, param: Any, memory: Any) -> int:
    """WFP: nodes · (wait / requested time, at least 1 s)³, largest first; old, short and wide jobs gain."""
    for i in range(s.q_head[0], s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            # without a request (inf) the estimate stands in, as it does for backfilling
            asked_s = max(1.0, min(s.request_s[j], 1e18) if s.request_s[j] < 1e18 else s.estimate_s[j])
            ratio = (s.now[0] - s.eligible_s[j]) / asked_s
            s.key[j] = -s.nodes[j] * ratio * ratio * ratio
    return 1
