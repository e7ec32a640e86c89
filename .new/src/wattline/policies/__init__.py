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
bid               given, fixed-heuristic, adaptive, quantile, day-budget
================  =====================================================================

``wattline policies`` prints the table with parameters, from the code. Learners (of run times and power profiles)
live in ``wattline.learn``.
"""

from __future__ import annotations


def _family(slot: str, names: str, **files: str) -> dict[str, str]:
    """Return the module of each name: the file of the same name, unless ``files`` tells which holds several."""
    held = {name: file for file, inside in files.items() for name in inside.split()}
    return {name: f"wattline.policies.{slot}.{held.get(name, name.replace('-', '_'))}" for name in names.split()}


BUILTIN = {
    "order": _family(
        "order", "fcfs lcfs shortest longest priority wfp", keys="fcfs lcfs shortest longest priority wfp"
    ),
    "select": _family(
        "select",
        "in-order first-fit easy backfill-by-end conservative reselect gps tracking-only energyqare slackline "
        "qoscap window "
        "rmap-traditional rmap-naive rmap-adaptive surplus",
        in_order="first-fit",
        track="tracking-only energyqare",
        rmap="rmap-traditional rmap-naive rmap-adaptive",
    ),
    "place": _family(
        "place",
        "lowest frugal slurm slurm-best-fit rdn rdr rdg rrn rrr jokanovic jokanovic-released level-spread "
        "least-contention "
        "fewer-router nedd low-traffic high-traffic low-stall",
        slurm="slurm-best-fit fewer-router",
        at_random="rdn rdr rdg",
        round_robin="rrn rrr",
        jokanovic="jokanovic-released",
        by_counters="nedd low-traffic high-traffic low-stall",
    ),
    "cap": _family("cap", "none randomized count-hysteresis workload-hysteresis match-target under-limit leftover"),
    "bid": _family("bid", "given fixed-heuristic adaptive quantile day-budget"),
}
"""Slot → name → module of every built-in policy, in the order of the table: a run imports only the modules that it
names.
"""
