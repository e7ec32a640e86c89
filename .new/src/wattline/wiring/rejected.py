"""Jobs before a run begins: who can never run is rejected, everybody else gets a first estimate of the run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.resources.base import Supply
from wattline.model.state.record import State
from wattline.physics.power import LIMIT_SLACK

GREEDY = "wants more of a resource than there is"


def reject(
    s: State,
    jobs: JobTable,
    cluster: Cluster,
    notes: list[tuple[str, str, int, str]],
    supplies: Sequence[Supply] = (),
    *,
    unknown: bool,
    capped: bool,
    slows: bool,
    chooses: bool,
) -> None:
    """Reject the jobs that can never run, and those that depend on them; by their power unless that is ``unknown``.

    Power over time counts at its greatest, or, where jobs are ``capped``, at its first and then at no more than the
    lowest cap. Other nodes are asleep where they may be. ``slows``: a policy may lower the level of a node class.
    ``chooses``: jobs that have configurations start in one of them.
    """
    if slows:
        idle_w = np.array([s.level_idle_w[p, : s.n_levels[p]].min() for p in range(len(cluster.classes))])
    else:
        idle_w = s.idle_w
    rest_w = np.where(np.isfinite(s.sleep_after_s), np.minimum(s.sleep_w, idle_w), idle_w)
    at_rest_w = float(np.sum(s.pool_count * rest_w))
    limit = np.inf if unknown else max(s.limit_w[0], float(np.max(s.env_w[s.env_at[0] :], initial=-np.inf)))
    busy_w = s.draw_w.copy()
    for j in np.flatnonzero(s.series_count).tolist() if np.isfinite(limit) else ():
        first = int(s.series_first[j])
        watts = s.series_w[first : first + int(s.series_count[j])]
        greatest_w = float(watts.max())
        if capped:
            greatest_w = max(float(watts[0]), min(greatest_w, max(s.min_cap_w[s.pool[j]], s.floor_w[j])))
        busy_w[j] = max(busy_w[j], greatest_w)
    busy_w *= s.level_busy[np.arange(idle_w.size), 0 if slows else s.level][s.pool]
    busy_w = np.where(s.sleep_exit_s[s.pool] > 0, np.maximum(busy_w, s.max_w[s.pool]), busy_w)  # while nodes wake
    increase = s.nodes * (busy_w - rest_w[s.pool])
    least = s.fr_nodes[np.minimum(s.app_sizes[s.app], s.fr_nodes.size - 1)] if chooses and s.fr_nodes.size else 0
    checks = (
        ("wider than its node class", s.nodes > s.pool_count[s.pool]),
        ("wider than its node class in every configuration", (s.app >= 0) & (least > s.pool_count[s.pool])),
        ("asks for no node", s.nodes < 1),
        (GREEDY, (s.res_want > s.res_total).any(axis=1)),
        (
            "needs more power than the limit ever allows",
            (at_rest_w + increase > limit * (1 + LIMIT_SLACK)) & (s.app < 0)
            if np.isfinite(limit)
            else np.zeros(s.status.size, bool),
        ),
    )
    for reason, applies in checks:
        mask = applies & (s.status == codes.FUTURE)
        if np.any(mask):
            j = int(np.argmax(mask))
            wanted = cluster.classes[s.pool[j]]
            example = f"job {jobs.job_id[j]}: {jobs.nodes[j]} of {wanted.count} in class {wanted.name!r}"
            if reason == GREEDY:
                r = int(np.argmax(s.res_want[j] > s.res_total))
                example = f"job {jobs.job_id[j]}: {s.res_want[j, r]} of {s.res_total[r]} ({supplies[r].name})"
            notes.append(("rejected", reason, int(mask.sum()), example))
            s.status[mask] = codes.REJECTED
    dependants = 0
    gone = bool(np.any(s.status == codes.REJECTED))
    for child in np.flatnonzero(jobs.after >= 0) if gone else ():
        if s.status[jobs.after[child]] == codes.REJECTED and s.status[child] != codes.REJECTED:
            s.status[child] = codes.REJECTED
            dependants += 1
    if dependants:
        notes.append(("rejected", "depends on a rejected job", dependants, ""))
    s.n_ended[0] = int(np.sum(s.status == codes.REJECTED))


def first_estimates(s: State, policies: Sequence[Mechanism], notes: list[tuple[str, str, int, str]], n: int) -> None:
    """Take requests as estimates, or true run times where the learner knows them or nothing was requested.

    The first ``n`` rows have a job.
    """
    learner = next((m.name for m in policies if m.slot == "learn"), "request")
    if learner == "exact":
        s.estimate_s[:] = s.work
        return
    missing = ~np.isfinite(s.request_s[:n])
    s.estimate_s[:n] = np.where(missing, s.work[:n], s.request_s[:n])
    if np.any(missing):
        notes.append(("kept", "no requested time: the true run time stands in as estimate", int(missing.sum()), ""))
