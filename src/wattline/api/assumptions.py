"""What is said of a run before it begins: the machine of its log, on what its watts rest, bids that nobody follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.arrays import Floats
from wattline.errors import did_you_mean
from wattline.units import show_power

if TYPE_CHECKING:
    from wattline.api.listener import Listener
    from wattline.scenario import Study


def say_assumptions(study: Study, listener: Listener) -> None:
    """Say what was taken for granted, and loudly what was assumed."""
    for line in remarks(study):
        listener.tell(line)
    for line in warnings(study):
        listener.loud(line)


def remarks(study: Study) -> list[str]:
    """Return what to know of a run: both numbers of the log's header and what was made of them, and whether power is
    reported.
    """
    deciding = (study.policies.select, study.policies.cap)
    lines = []
    if study.market is not None and not any(m.target or not m.builtin for m in deciding):
        told = "neither select = {!r} nor cap = {!r} follows a target".format(*(m.name for m in deciding))
        lines.append(f"bids: {told}; what is promised is met by chance")
    if study.no_bid:
        what = "mean and reserve, a file of bids, or a policy that makes them"
        lines.append(f"bids: [regulation] has none ({what}), so nothing follows its signal; wattline bid finds one")
    if study.market is not None and study.market.words:
        lines.append(study.market.words)
    if nowhere := _nowhere(study):
        lines.append(nowhere)
    kinds = study.trace.jobs.kinds
    unheard = [one.kind for one in study.options.communication if one.kind not in kinds]
    lines += [f"network: no job is of kind {kind!r}{did_you_mean(kind, kinds)}" for kind in unheard]
    if size := machine_words(study):
        lines.append(f"machine: {size}")
    if study.watts.words and study.watts.basis != "assumed":
        lines.append(study.watts.words)
    return lines


def _nowhere(study: Study) -> str:
    """Return how many jobs name a partition that is no node class, where the machine has several."""
    jobs, classes = study.trace.jobs, [one.name for one in study.cluster.classes]
    unknown = np.array([name not in classes for name in jobs.partitions] or [False], dtype=bool)
    count = int(np.count_nonzero(unknown[jobs.partition] & (jobs.partition >= 0)))
    if len(classes) < 2 or not count:
        return ""
    example = jobs.partitions[int(np.argmax(unknown))]
    return (
        f"partitions: {count:,} of {len(jobs):,} jobs name one that is no node class ({example!r}, for one; classes: "
        f"{', '.join(classes)}) and run on the first class wide enough"
    )


def warnings(study: Study) -> list[str]:
    """Return what was assumed of the power and the clock of a run, and what is not as it should be about its signal."""
    assumed = [study.watts.words] if study.watts.basis == "assumed" and study.watts.words else []
    assumed += _less_than_idle(study)
    assumed += study.billing.warnings if study.billing is not None else ()
    return assumed + list(study.market.warnings if study.market is not None else ())


def _less_than_idle(study: Study) -> list[str]:
    """Return lines where jobs are said to draw less than an idle node, at once or where caps press them down."""
    jobs, idle_w = study.trace.jobs, min(c.idle_w for c in study.cluster.classes)
    found = []
    if below := _below(jobs.job_id, jobs.draw_w, idle_w):
        told = f"{below[0]:,} of {len(jobs):,} jobs are said to draw less than an idle node, {show_power(idle_w)}"
        what = f"job {below[1]} {show_power(below[2])} a node"
        found.append(
            f"power: {told} ({what}): power falls when they start; check the log's watts, or idle of [cluster]"
        )
    caps = study.policies.cap.name != "none" or study.market is not None
    if (below := _below(jobs.job_id, np.where(jobs.floor_w >= jobs.draw_w, np.nan, jobs.floor_w), idle_w)) and caps:
        found.append(floors_below_idle(f"{below[0]:,} of {len(jobs):,} jobs", f"job {below[1]}", below[2], idle_w))
    return found


def _below(names: Any, watts: Floats, idle_w: float) -> tuple[int, Any, float] | None:
    """Return how many watts are below those of an idle node, and the name and watts of the lowest (None: none are)."""
    below = np.flatnonzero(watts < idle_w)  # false where it is not known
    if not below.size:
        return None
    least = int(below[np.argmin(watts[below])])
    return below.size, names[least], float(watts[least])


def floors_below_idle(who: str, one: str, floor_w: float, idle_w: float) -> str:
    """Return the line on jobs that caps are said to press below the power of an idle node."""
    told = f"caps are said to hold {who} below an idle node, {show_power(idle_w)} ({one}: {show_power(floor_w)} a node)"
    return f"power: {told}: no cap does that; check floor (watts of the whole node), or idle of [cluster]"


def machine_words(study: Study) -> str:
    """Return the size of the machine and where it comes from ("": somebody stated it, and the log says nothing)."""
    nodes, own = study.cluster.nodes, study.trace.machine
    if own is None:
        taken = study.trace.suggested_nodes == nodes and study.trace_sha256
        return f"{nodes:,} nodes, as the trace says" if taken else ""
    if own.count == nodes:
        return own.words
    each = ", one for each processor that a job asks for" if study.watts.unit != own.unit else ""
    return f"{nodes:,} {study.watts.unit}s are simulated{each}; the log's own: {own.words}"
