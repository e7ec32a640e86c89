"""On which nodes Slurm would start a job: those of its partition with the memory, CPUs and GPUs that it asks for.

Slurm does not start a job on nodes that are named for it and do not suit it: it says ``BadConstraints`` and holds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from wattline.live.machine.slurm.text import JobRow, NodeRow

Asked = tuple[tuple[str, ...], int, float, int, tuple[tuple[str, int], ...], tuple[str, ...]]


@dataclass
class Fits:
    """Nodes as they are built, and which of them suit whom; what was worked out is kept while they stay so."""

    _nodes: dict[tuple[str, str], tuple[int, float, tuple[tuple[str, int], ...]]] = field(default_factory=dict)
    """CPUs, memory and generic resources, by partition and name."""
    _found: dict[Asked, frozenset[str] | None] = field(default_factory=dict)

    def look(self, rows: Iterable[NodeRow]) -> bool:
        """Take the rows of sinfo; tell whether nodes have changed in what they have."""
        nodes = {(row.partition, row.name): (row.cpus, row.memory_mb, row.gres) for row in rows}
        if nodes == self._nodes:
            return False
        self._nodes, self._found = nodes, {}
        return True

    def of(self, row: JobRow, nodes: int, excluded: tuple[str, ...]) -> frozenset[str] | None:
        """Return the nodes that suit a job of so many; None: all that there are.

        Of several partitions the first that has enough of them counts: no job is in two at a time.
        """
        asked = (row.partitions, nodes, row.memory_mb, row.least_cpus, row.gres, excluded)
        if asked not in self._found:
            every = [self._suit(row, partition) - set(excluded) for partition in row.partitions]
            best = next((suit for suit in every if len(suit) >= nodes), max(every, key=len))
            whole = best == {name for _, name in self._nodes}
            self._found[asked] = None if whole else self._same(frozenset(best))
        return self._found[asked]

    def _suit(self, row: JobRow, partition: str) -> set[str]:
        return {
            name
            for (of, name), (cpus, memory_mb, gres) in self._nodes.items()
            if of == partition
            and cpus >= row.least_cpus
            and memory_mb >= row.memory_mb
            and all(_has(gres, *one) for one in row.gres)
        }

    def _same(self, found: frozenset[str]) -> frozenset[str]:
        """Return what was found for others where it is the same: then it need not be compared name by name."""
        return next((known for known in self._found.values() if known == found), None) or found


def _has(gres: tuple[tuple[str, int], ...], name: str, count: int) -> bool:
    """Tell whether a node has so many of a resource, whatever its type where none is asked for."""
    typed = ":" in name
    return sum(have for one, have in gres if one == name or (not typed and one.partition(":")[0] == name)) >= count
