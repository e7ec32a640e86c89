"""Helpers for policies of users: called alike from plain Python and from compiled code.

The kernels behind them live inside the compiled engine, cannot be called from Python and trust whoever calls them;
these can, and trust nobody: each looks at its arguments first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wattline.kernel.compiled import either, library
from wattline.model.codes import CHOSEN
from wattline.model.state.record import State
from wattline.model.structures import nodes
from wattline.physics import power, random
from wattline.physics import traffic as router
from wattline.policies import looks
from wattline.policies.select import proposals

NO_JOB = "there is no such job: jobs are numbered 0 … s.nodes.shape[0] - 1"
NO_ROOM = "there is no room for so many proposals: they are numbered 0 … s.p_job.shape[0] - 1"
NO_PROPOSALS = "there are no so many proposals: they are numbered 0 … s.p_job.shape[0] - 1"
NOT_THE_SIZE = "look(s, n, seen, jobs): seen has 12 numbers for each job of jobs, and 14 of the machine"
NO_CLASS = "there is no such node class: they are numbered 0 … s.free.shape[0] - 1"
NO_ROUTER = "there is no such router: they are numbered 0 … s.net[1] * s.net[2] - 1"


@either
def waiting(s: State, new: bool = False) -> Iterator[int]:
    """Yield the jobs that wait, in the order of the queue; with ``new=True`` those that came since the order was
    last asked.
    """
    first = s.q_new[0] if new else s.q_head[0]
    for i in range(first, s.q_tail[0]):
        j = s.queue[i]
        if j >= 0:
            yield j


@either
def free_extents(s: State, p: int) -> Iterator[tuple[int, int]]:
    """Yield the free nodes of class p as extents, lowest first: the first node and one past the last."""
    if p < 0 or p >= s.free.shape[0]:
        raise IndexError(NO_CLASS)
    first = _next_free(s, p, s.pool_first[p])
    while first >= 0:
        end = s.fx_to[first]
        yield first, end
        first = _next_free(s, p, first + 1)


@library
def _next_free(s: State, p: int, node: int) -> int:
    """Return the first node of the first free extent of class p from a node of it on, or -1."""
    return nodes.next_free(s, p, node)


@library
def headroom_w(s: State) -> float:
    """Return the watts that starts may still add under the power limit (inf: no limit)."""
    return power.headroom_w(s)


@library
def start_increase_w(s: State, j: int) -> float:
    """Return by how many watts the system's power would rise if job j started now."""
    if j < 0 or j >= s.nodes.shape[0]:
        raise IndexError(NO_JOB)
    return power.start_increase_w(s, j, np.inf)


@library
def propose(s: State, n: int, j: int) -> int:
    """Write proposal number n, to start job j on its nodes without a cap of its own; return n + 1."""
    if j < 0 or j >= s.nodes.shape[0]:
        raise IndexError(NO_JOB)
    if n < 0 or n >= s.p_job.shape[0]:
        raise IndexError(NO_ROOM)
    return proposals.propose(s, n, j, CHOSEN)


@library
def look(s: State, n: int, seen: Any, jobs: Any) -> int:
    """Fill ``seen`` with what a learner sees after n proposals, ``jobs`` with the first waiting jobs; return how many
    may start.
    """
    if n < 0 or n > s.p_job.shape[0]:
        raise IndexError(NO_PROPOSALS)
    for i in range(n):
        if s.p_job[i] < 0 or s.p_job[i] >= s.nodes.shape[0]:
            raise IndexError(NO_JOB)
    if seen.shape[0] != jobs.shape[0] * looks.F + looks.G:
        raise ValueError(NOT_THE_SIZE)
    return looks.look(s, n, seen, jobs)


@library
def estimated_wall_s(s: State, j: int) -> float:
    """Return how long waiting job j is estimated to run if it starts now."""
    if j < 0 or j >= s.nodes.shape[0]:
        raise IndexError(NO_JOB)
    return proposals.estimated_wall_s(s, j)


@library
def router_traffic(s: State, r: int) -> float:
    """Return the bytes per second that the nodes of router r sent in the last whole window (0: none counted)."""
    if r < 0 or r >= s.r_rate.shape[0]:
        raise IndexError(NO_ROUTER)
    return router.past_bytes(s, r, router.window(s)) / s.traffic_s[0] if s.traffic_s[0] > 0.0 else 0.0


@library
def uniform(seed: float, stream: int, counter: int) -> float:
    """Return number ``counter`` of a stream of random numbers in [0, 1): the same in every run with this seed."""
    return random.uniform(int(seed), stream, counter)
