"""Slowdowns of a run held against packets: instants of a journal, all jobs of each side by side, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wattline.errors import TraceError
from wattline.journal.journal import Journal
from wattline.journal.occupancy import Occupancy, occupancy
from wattline.model.networks.dragonfly import Dragonfly
from wattline.units import show_duration

if TYPE_CHECKING:
    from rich.table import Table

    from wattline.physics.packets.beside import Beside, Talker


@dataclass(frozen=True)
class Instant:
    """Who communicated at a time after a run's beginning, and how much slower that made each."""

    after_s: float
    job_id: tuple[int, ...]
    nodes: tuple[int, ...]
    found: Beside


def judge(
    journal: Journal, network: Dragonfly, instants: int, *, routing: str, crossbar: float, seed: int
) -> list[Instant]:
    """Let the jobs of evenly spread instants run beside each other, packet by packet.

    Instants without any are left out.
    """
    from wattline.physics.packets.beside import Stage

    known = {row["job_id"]: row for row in journal.read("slowdowns").iter_rows(named=True)}
    if not known:
        raise TraceError.at(
            journal.folder,
            "no job's speed depends on the network",
            hint="say what jobs send, and the share of their time ([[network.job]])",
        )
    stage = Stage(network, routing=routing, crossbar=crossbar)
    length_s = float(journal.manifest["end_s"]) - float(journal.manifest["start_s"])
    rows = []
    for i in range(instants):
        there = occupancy(journal, (i + 0.5) / instants * length_s)
        who, talkers = _talkers(there, known)
        if who:
            found = stage.run(talkers, seed=seed + i)
            rows.append(Instant((i + 0.5) / instants * length_s, who, tuple(t.nodes.size for t in talkers), found))
    if not rows:
        raise TraceError.at(
            journal.folder, "nobody communicated at the instants looked at", hint="look at more (--instants)"
        )
    return rows


def _talkers(there: Occupancy, known: dict[int, dict[str, Any]]) -> tuple[tuple[int, ...], list[Talker]]:
    from wattline.physics.packets.beside import Talker

    who, talkers = [], []
    for job, nodes in zip(there.job_id, there.nodes, strict=True):
        if job in known and nodes.size > 1:
            row = known[job]
            who.append(job)
            talkers.append(Talker(nodes, row["traffic"], row["share"], row["pattern"]))
    return tuple(who), talkers


def check_data(rows: Sequence[Instant]) -> dict[str, Any]:
    """Return the outcome as data: slowdowns of all jobs, and by how much the model's are off in the mean."""
    errors = np.concatenate([row.found.errors for row in rows])
    return {
        "instants": [
            {
                "after_s": row.after_s,
                "job_id": list(row.job_id),
                "nodes": list(row.nodes),
                "model": row.found.model.tolist(),
                "packets": row.found.packets.tolist(),
            }
            for row in rows
        ],
        "jobs": int(errors.size),
        "mean_error": float(np.nanmean(np.abs(errors))),
        "bias": float(np.nanmean(errors)),
    }


def check_table(rows: Sequence[Instant]) -> Table:
    """Return the outcome as a table."""
    from rich.table import Table

    told = check_data(rows)
    table = Table(
        title="slowdown of jobs by their neighbours",
        caption=f"The model's run times are {100 * told['mean_error']:.0f} % off in the mean "
        f"({100 * told['bias']:+.0f} %: its bias).",
    )
    for name in ("after", "jobs", "by the model", "by packets", "off"):
        table.add_column(name, justify="right")
    for row in rows:
        found = row.found
        table.add_row(
            show_duration(row.after_s),
            str(len(row.job_id)),
            f"{found.model.mean():.3f} ×",
            f"{np.nanmean(found.packets):.3f} ×",
            f"{100 * np.nanmean(np.abs(found.errors)):.0f} %",
        )
    return table
