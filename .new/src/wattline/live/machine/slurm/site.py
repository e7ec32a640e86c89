"""The machine behind Slurm: its nodes and partitions, and what its configuration means for Wattline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wattline.live.machine.base import NodeSeen
from wattline.live.machine.slurm.rules import Rules
from wattline.live.machine.slurm.text import NodeRow

GOOD = {"idle", "mixed", "mix", "allocated", "alloc", "completing", "comp", "planned", "cloud", "dynamic_norm"}
"""States of a node on which jobs may be started; with any other one nothing is."""
SHORT_S = 30
"""Seconds that Slurm should remember an ended job at least, so that its exit code is seen."""


@dataclass(frozen=True)
class Machine:
    """Nodes, their CPUs and partitions."""

    nodes: Mapping[str, NodeRow] = field(default_factory=dict)
    partitions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    least_cpus: Mapping[str, int] = field(default_factory=dict)
    """CPUs of the smallest node of a partition."""

    @staticmethod
    def of(rows: Iterable[NodeRow]) -> Machine:
        """Put the rows of sinfo together."""
        nodes: dict[str, NodeRow] = {}
        names: dict[str, set[str]] = {}
        least: dict[str, int] = {}
        for row in rows:
            nodes[row.name] = row
            names.setdefault(row.partition, set()).add(row.name)
            least[row.partition] = min(least.get(row.partition, row.cpus), row.cpus)
        return Machine(nodes, {name: frozenset(found) for name, found in names.items()}, least)

    def seen(self) -> tuple[NodeSeen, ...]:
        """Return the nodes as Wattline is told of them."""
        found = []
        for name, row in sorted(self.nodes.items()):
            bad = [state for state in row.states if state not in GOOD]
            found.append(NodeSeen(name, not bad, row.reason or "+".join(bad)))
        return tuple(found)

    def nodes_for(self, cpus: int, partition: str) -> int:
        """Return how many nodes so many CPUs take."""
        each = self.least_cpus.get(partition, 0)
        return -(-cpus // each) if each > 0 else 1

    def why_not(self, on: Sequence[str], partitions: Sequence[str]) -> str:
        """Return why a job of these partitions cannot be on these nodes; empty if it can."""
        unknown = [name for name in on if name not in self.nodes]
        if unknown:
            return f"Slurm has no node {unknown[0]}"
        if not any(set(on) <= self.partitions.get(partition, frozenset()) for partition in partitions):
            return f"nodes {','.join(on[:4])} are not in partition {','.join(partitions)}"
        return ""


def notes_of(config: Mapping[str, str], shared: Sequence[str], rules: Rules) -> tuple[str, ...]:
    """Return what this Slurm cannot do, or does late, a line each."""
    notes = [f"Slurm {config.get('SLURM_VERSION', 'of an unknown version')}"]
    tuned = dict(part.partition("=")[::2] for part in config.get("SchedulerParameters", "").split(","))
    if int(_digits(tuned.get("batch_sched_delay", "3"))) > 0:
        notes.append(
            "released jobs start 2 to 3 s late: set SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,"
            "sched_interval=1,bf_interval=1"
        )
    if "lua" not in config.get("JobSubmitPlugins", ""):
        notes.append(
            "jobs are not held at submission (JobSubmitPlugins has no lua): Slurm may start some before we hold them"
        )
    if int(_digits(config.get("MinJobAge", "300"))) < SHORT_S:
        notes.append(f"MinJobAge is below {SHORT_S} s: exit codes of jobs may be missed")
    if config.get("PreemptMode", "OFF").upper() not in ("OFF", ""):
        notes.append(f"PreemptMode={config['PreemptMode']}: jobs that Slurm preempts are followed, not prevented")
    led = [name for name in shared if not rules.partitions or name in rules.partitions]
    led = [name for name in led if name not in rules.leave_partitions]
    if led:
        notes.append(
            f"jobs may share nodes in {', '.join(led)}: set OverSubscribe=EXCLUSIVE, Wattline gives whole nodes"
        )
    expire = re.search(r"cred_expire=(\d+)", config.get("AuthInfo", ""))
    notes.append(
        f"a requeued job waits {expire[1] if expire else '120'} s before it can start again (AuthInfo cred_expire)"
    )
    if rules.stop == "never":
        notes.append("no job is stopped (stop = never)")
    else:
        notes.append("stopped jobs keep nodes and memory; time limits are extended by whole minutes")
    return tuple(notes)


def _digits(text: str) -> str:
    found = re.match(r"\s*(\d+)", text)
    return found[1] if found else "0"
