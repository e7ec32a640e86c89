"""Re-selection: the longest prefix, in the order of the line, of all jobs present, or of the waiting, is served.

Readings: a running job stands in the line with the key that it left with, moved by ``drift`` a unit of work done since.
Nodes that drain count for nobody but the job on them. A job that could not run if all others of its class left keeps
those behind it from starting, but stops nobody; nor is one stopped that runs alone above the limit because it may. Node
classes are served in turn, each with the watts of those stopped before; where somebody was stopped, all are served once
more, for the watts may be of use to the first of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference.scheduler import Job, Scheduler


def reselect(m: Scheduler, happened: set[str]) -> None:
    """Choose anew, or (an arrival that changes nothing) start newcomers beside those in service."""
    params = {"preempt": 1, "at_arrivals": 1, "drift": 0, **m.setup.params}
    first_new = int(m.memory.get("first new", 0))  # type: ignore[call-overload]
    m.memory["first new"] = m.stamp
    m.again = math.inf  # this is the pass that was to be made, whatever it is made for
    choose = params["at_arrivals"] or happened & {"end", "node", "envelope", "again"}
    if choose and params["preempt"]:
        stops, starts, headroom = [], [], m.headroom()
        for p in range(len(m.setup.classes)):
            out, come, headroom = _prefix(m, p, params["drift"], headroom, alone=len(m.running) == 1 and not starts)
            stops += out
            starts += come
        if stops and m.limit_w < math.inf and len(m.setup.classes) > 1:
            m.again = m.now
        for job in stops:
            m.preempt(job)
        for job in starts:
            m.start(job)
        return
    for line in m.lines():
        coming = line if choose else sorted(line, key=lambda j: j.seq)
        for job in coming:
            if not m.fits(job) or not (choose or job.seq >= first_new):
                break
            m.start(job)


def _done(m: Scheduler, job: Job) -> float:
    """Return the work that a job has done since it began."""
    rate = m.rate(job.pool)
    return job.begun - (job.since + job.left / rate - m.now) * rate


def _prefix(m: Scheduler, p: int, drift: float, headroom: float, *, alone: bool) -> tuple[list[Job], list[Job], float]:
    """Return who of a class is stopped, who starts, and the watts that are left for the next class."""
    serving = [j for j in m.running if j.pool == p]
    back = {j: sum(not m.outages_of[node] for node in j.held) for j in serving}
    key = {j: j.key + drift * _done(m, j) if drift and not j.wakes else j.key for j in serving}
    line = [(key[j], j.seq, j) for j in serving] + [(j.key, j.seq, j) for j in m.queue if j.pool == p]
    line.sort(key=lambda entry: entry[:2])
    nodes = all_nodes = len(m.free[p]) + sum(back.values())
    watts = all_watts = headroom + sum(m.gives_back(j) for j in serving)
    starts: list[Job] = []
    stays: list[Job] = []
    blocked = False
    for _, _, job in line:
        runs = job in back
        need = back[job] if runs else job.nodes
        need_w = m.gives_back(job) if runs else m.increase(job)
        if not runs and blocked:
            continue
        if need > nodes or need_w > watts:
            if runs and alone and m.setup.exceed and not starts and need <= nodes:
                stays.append(job)
            possible = runs or (job.nodes <= all_nodes and need_w <= all_watts)
            if possible:
                break
            blocked = True
            continue
        nodes -= need
        watts -= need_w
        (stays if runs else starts).append(job)
    stops = [j for _, _, j in line if j in back and j not in stays and (back[j] or m.limit_w < math.inf)]
    if m.limit_w < math.inf:
        starts.sort(key=lambda j: m.increase(j) >= 0)  # who gives watts comes first: each start keeps the limit
    return stops, starts, headroom + sum(m.gives_back(j) for j in stops) - sum(m.increase(j) for j in starts)
