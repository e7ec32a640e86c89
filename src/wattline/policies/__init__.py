"""Choices now: one mechanism a file, in families; a user's policy enters by the same door.

================  =====================================================================
slot              mechanisms
================  =====================================================================
order             fcfs, lcfs, shortest, longest, priority, wfp
select            in-order, first-fit, easy, backfill-by-end, conservative, reselect,
                  gps, tracking-only, energyqare, slackline, qoscap, window,
                  rmap-traditional, rmap-naive, rmap-adaptive, surplus
place             lowest, frugal, slurm, slurm-best-fit, rdn, rdr, rdg, rrn, rrr, jokanovic,
                  jokanovic-released, level-spread, least-contention, fewer-router, nedd,
                  low-traffic, high-traffic, low-stall
cap               none, randomized, count-hysteresis, workload-hysteresis, match-target,
                  under-limit, leftover
bid               given, fixed-heuristic, adaptive, quantile
================  =====================================================================

``wattline policies`` prints the table with parameters, from the code. Learners (of run times and power profiles) live in ``wattline.learn``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wattline.model.mechanism import Mechanism


def builtin() -> list[Mechanism]:
    """Return all built-in policy mechanisms, in the order of the table."""
    from wattline.policies.bid import adaptive, fixed_heuristic, given, quantile
    from wattline.policies.cap import (
        count_hysteresis,
        leftover,
        match_target,
        none,
        randomized,
        under_limit,
        workload_hysteresis,
    )
    from wattline.policies.order import keys
    from wattline.policies.place import (
        at_random,
        by_counters,
        frugal,
        jokanovic,
        least_contention,
        level_spread,
        lowest,
        round_robin,
        slurm,
    )
    from wattline.policies.select import (
        backfill_by_end,
        conservative,
        easy,
        gps,
        in_order,
        qoscap,
        reselect,
        rmap,
        slackline,
        track,
        window,
    )

    return [
        keys.fcfs, keys.lcfs, keys.shortest, keys.longest, keys.priority, keys.wfp,
        in_order.in_order, in_order.first_fit, easy.easy, backfill_by_end.backfill_by_end, conservative.conservative,
        reselect.reselect, gps.gps, track.tracking_only, track.energyqare,
        slackline.slackline, qoscap.qoscap, window.window,
        rmap.traditional, rmap.naive, rmap.adaptive, rmap.surplus,
        lowest.lowest, frugal.frugal, slurm.slurm, slurm.slurm_best_fit, at_random.rdn, at_random.rdr, at_random.rdg, round_robin.rrn,
        round_robin.rrr, jokanovic.jokanovic, jokanovic.jokanovic_released, level_spread.level_spread,
        least_contention.least_contention, slurm.fewer_router, by_counters.nedd, by_counters.low_traffic, by_counters.high_traffic, by_counters.low_stall,
        none.none, randomized.randomized, count_hysteresis.count_hysteresis, workload_hysteresis.workload_hysteresis,
        match_target.match_target, under_limit.under_limit, leftover.leftover,
        given.given, fixed_heuristic.fixed_heuristic, adaptive.adaptive, quantile.quantile,
    ]  # fmt: skip
