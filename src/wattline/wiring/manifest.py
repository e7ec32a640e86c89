"""The manifest of a run's journal, whoever ran it: a scenario, a controller of a real machine, a search of bids.

This is the one place that says which entries a manifest has, and in which order; ``journal.write_journal`` adds
versions, the time of writing and seals. An entry that a run does not know (``Known``) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from wattline.market.reach import Reach
from wattline.model.codes import NO_CAPS, NO_SOLO
from wattline.model.kinds import Kind, kind_entry
from wattline.model.networks import network_entry
from wattline.model.regulation import Bid
from wattline.wiring.result import Result
from wattline.wiring.subjects.late import is_late
from wattline.wiring.tables import running_energy_j

UNDECLARED = {"caps=True": NO_CAPS, "solo_caps=True": NO_SOLO}
"""What a policy did not declare → the guard's verdict on its caps."""


class Known(TypedDict, total=False):
    """What only some know of their run.

    Keys
    ----
    machine
        What is scheduled (``unit``, ``per_node``), and what the log says of its machine.
    watts
        On what watts rest (``basis``), in words.
    recorded_wait_s
        Waits that the log has, as a distribution.
    recorded_power
        Power and energy that the log has.
    columns
        Which columns of a table of any make are which.
    zone
        The zone of the log's times, where they are local.
    kinds
        Kinds of job, as they were promised service.
    regulation
        The bid that was followed (``regulation_entry``; None: none).
    accounts
        What was billed, and by which prices (None: nothing).
    resume
        The flush that carries on an interrupted run (None: it cannot be, or is over).
    """

    machine: Mapping[str, Any]
    watts: Mapping[str, Any]
    recorded_wait_s: Mapping[str, Any]
    recorded_power: Mapping[str, Any]
    columns: Mapping[str, str]
    zone: str
    kinds: Sequence[Kind]
    regulation: Mapping[str, Any] | None
    accounts: Mapping[str, Any] | None
    resume: Mapping[str, Any] | None


def manifest(
    result: Result,
    *,
    name: str,
    source: str,
    notes: Sequence[Mapping[str, Any]] = (),
    scenario: str = "",
    scenario_sha256: str = "",
    trace_sha256: str = "",
    known: Known | None = None,
) -> dict[str, Any]:
    """Return the manifest of a run; versions and the time of writing are added when it is written."""
    s = result.state
    known = {} if known is None else known
    said = [dict(zip(("action", "reason", "count", "example"), note, strict=True)) for note in result.notes]
    trace = {
        "source": source,
        "sha256": trace_sha256,
        "notes": [*notes, *said],
        "epoch_unix_s": float(result.jobs.epoch_unix_s),
        "series": result.jobs.series is not None,
    }
    if "recorded_wait_s" in known:
        trace["recorded_wait_s"] = known["recorded_wait_s"]
    if "recorded_power" in known:
        trace["recorded_power"] = known["recorded_power"]
    if "columns" in known:
        trace["columns"] = known["columns"]
    if "zone" in known:
        trace["zone"] = known["zone"]
    return {
        "seed": result.seed,
        "scenario_sha256": scenario_sha256,
        "scenario": scenario,
        "name": name,
        "policies": {m.slot: m.name for m in result.policies.slots()},
        "parameters": {m.slot: dict(result.policies.params.get(m.slot, {})) for m in result.policies.slots()},
        "ties": result.options.ties,
        "kill": result.options.kill,
        "keep_progress": result.options.keep_progress,
        "power": _power_entry(result),
        "cluster": _cluster_entry(result, known),
        "trace": trace,
        "start_s": float(s.start_s[0]),
        "end_s": float(s.now[0]),
        "wall_s": result.wall_s,
        "totals": _energy_entry(result),
        "stopped": result.stopped,
        **_resources(result),
        **_entries(known),
    }


def _resources(result: Result) -> dict[str, Any]:
    """Return resources of the whole machine and how much of each was in use, where there are any."""
    s, supplies = result.state, result.options.resources
    if not supplies:
        return {}
    lasted_s = float(s.now[0] - s.start_s[0])
    used = s.res_used + (s.res_total - s.res_free) * s.now[0]
    means = used / lasted_s if lasted_s > 0 else np.zeros(len(supplies))
    return {
        "resources": [
            {**supply.told(), "mean": float(mean), "peak": int(peak)}
            for supply, mean, peak in zip(supplies, means, s.res_peak, strict=True)
        ]
    }


def _entries(known: Known) -> dict[str, Any]:
    """Return the entries that only some runs have, in their order."""
    entries: dict[str, Any] = {}
    if "kinds" in known:
        entries["kinds"] = [kind_entry(kind) for kind in known["kinds"]]
    if "regulation" in known:
        entries["regulation"] = known["regulation"]
    if "accounts" in known:
        entries["accounts"] = known["accounts"]
    if "resume" in known:
        entries["resume"] = known["resume"]
    return entries


def _cluster_entry(result: Result, known: Known) -> dict[str, Any]:
    """Return the machine: its node classes and network, what is scheduled, and on what its watts rest."""
    cluster = result.cluster
    entry: dict[str, Any] = {
        "name": cluster.name,
        "nodes": cluster.nodes,
        "classes": [{"name": c.name, "count": c.count, "idle_w": c.idle_w, "max_w": c.max_w} for c in cluster.classes],
        "network": network_entry(cluster.network),
    }
    if "machine" in known:
        entry["machine"] = known["machine"]
    if "watts" in known:
        entry["power"] = known["watts"]
    if np.isfinite(result.options.failures_until_s):
        entry["failures_until_s"] = result.options.failures_until_s
    return entry


def _energy_entry(result: Result) -> dict[str, float]:
    """Return the energy of the run in joules, by what nodes did; jobs still running are counted up to now."""
    s = result.state
    energy = s.node_j.sum(axis=0)
    energy[0] += running_energy_j(s).sum()
    totals = {f"{part}_j": float(j) for part, j in zip(("busy", "idle", "sleep", "boot"), energy, strict=True)}
    if result.options.noise > 0.0:
        totals["noise_j"] = float(s.noise_j[0])
    return totals | {"total_j": float(energy.sum()) + totals.get("noise_j", 0.0)}


def _power_entry(result: Result) -> dict[str, Any]:
    """Return what a report needs of how power was limited, sampled and learned; times are null where there is none."""
    s, options = result.state, result.options
    tick_s, sample_s = (float(period) if np.isfinite(period) else None for period in (s.tick_s[0], s.sample_s[0]))
    return {
        "tick_s": tick_s,
        "sample_s": sample_s,
        "passes": "ticks" if options.quantum else "events",
        "levels": [list(level) for level in options.profiles],
        "deadlock": "exceed" if options.exceed else "wait",
        "preempt": options.shed,
        "decisions": options.decisions,
        **({"limit_until_s": options.limit_until_s} if np.isfinite(options.limit_until_s) else {}),
        **_never_limited(result),
        **_refused_caps(result),
        **_late_entry(result),
    }


def _never_limited(result: Result) -> dict[str, Any]:
    """Return when power would have been limited for the first time, if the run was over by then."""
    begins = [at_s for at_s, watts in result.options.limit_w if np.isfinite(watts)]
    over = bool(begins) and min(begins) >= result.state.now[0]
    return {"limit_from_s": float(min(begins))} if over else {}


def _refused_caps(result: Result) -> dict[str, Any]:
    """Return how many caps were refused because their policy does not declare them, by what it needs."""
    found = {needs: int(result.state.refused[verdict]) for needs, verdict in UNDECLARED.items()}
    return {"undeclared_caps": found} if any(found.values()) else {}


def _late_entry(result: Result) -> dict[str, Any]:
    """Return how late the machine was, if it was."""
    options = result.options
    if not is_late(options):
        return {}
    delays = {"start_s": list(options.late_start_s), "cap_s": list(options.late_cap_s)}
    return {"late": {**delays, "noise": options.noise, "noise_every_s": options.noise_every_s}}


def regulation_entry(
    bid: Bid | None,
    reach: Reach | None,
    hours: Sequence[tuple[float, float]],
    span: tuple[float, float],
    signal: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what the manifest of a run says of the bid that it followed over a ``span``, and of the hours that are
    billed.

    Where bids change (``bid`` is None) the events have them.
    """
    return {
        "mean_w": None if bid is None else bid.mean_w,
        "reserve_w": None if bid is None else bid.reserve_w,
        "from_s": span[0],
        "until_s": span[1],
        "hours": [list(hour) for hour in hours],
        "signal": dict(signal),
        "outside_share": None if reach is None else reach.outside_share,
        "outside_exceed_share": None if reach is None else reach.exceed_share,
        "outside_error": None if reach is None else reach.mean_error,
    }
