"""The jobs that samples are joined to: their table, who held which nodes, and which sensors the machine has."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError
from wattline.reading.notes import Note, Trace, listed
from wattline.telemetry.cleaning.faults import Tally
from wattline.telemetry.nodes.hosts import expand_hosts
from wattline.telemetry.nodes.out import idle_of_nodes, out_in
from wattline.telemetry.nodes.placed import Placed, from_journal, from_table, from_times, to_trace
from wattline.telemetry.nodes.ranges import MOST_NODES, NodeTable
from wattline.telemetry.nodes.sensors import Coverage, Sensors
from wattline.telemetry.sources.columns import By, Times
from wattline.telemetry.sources.source import open_files


@dataclass(frozen=True)
class Machine:
    """What a user said about the sensors: nodes of the machine, nodes of a rack, number of the first, a table of
    sensors.
    """

    nodes: int | None = None
    per_rack: int | None = None
    first: int = 0
    sets: Path | None = None
    per_node: bool = False
    """Samples of jobs are per node already, not of all its nodes."""


@dataclass(frozen=True)
class Work:
    """Jobs, their places and the machine they ran on; ``names`` of its nodes where node lists are names."""

    trace: Trace
    placed: Placed
    nodes: int
    names: tuple[str, ...]
    machine: Machine
    epoch_unix_s: float
    classes: tuple[tuple[str, int], ...] = ()
    idle_w: float = 0.0
    notes: tuple[Note, ...] = ()
    journal: Path | None = None
    """The journal that jobs and places come from."""
    each_w: Floats | None = None
    """What each node draws when it is idle, as the journal says."""
    _sets: dict[str, Any] = field(default_factory=dict)

    def shift_s(self, where: str, times: Times) -> float:
        """Return what must be taken from the samples' times."""
        return to_trace(where, times, self.epoch_unix_s, self.trace.jobs)

    def out(self, by: By) -> Placed | None:
        """Return the nodes that were out of service, where a journal says which and it matters to sensors."""
        from wattline.journal.journal import open_journal

        return None if by != "rack" or self.journal is None else out_in(open_journal(self.journal))

    def scale(self, by: By, code: Ints) -> Floats | float:
        """Return what a sample is divided by to be per node, where it is one of a whole job."""
        if by != "job" or self.machine.per_node:
            return 1.0
        return np.where(code >= 0, self.trace.jobs.nodes[code], 1).astype(np.float64)

    def placed_for(self, by: By) -> Placed:
        """Return who held what, or for samples of jobs, when they ran."""
        if by == "job":
            return self.placed.as_spans(self.trace.jobs.nodes)
        if not self.nodes:
            raise InputError(
                "samples of nodes need to know who held which: give --placements, or the folder of a journal as --jobs"
            )
        return self.placed

    def coverage(self, by: By) -> Coverage | None:
        """Return which nodes each sensor measures; None if sensors are jobs."""
        if by == "job":
            return None
        if self.machine.sets is not None:
            return self._named()[1]
        if by == "rack":
            if self.machine.per_rack is None:
                raise InputError(
                    "samples of racks: give --nodes-per-rack, or --sensors FILE that says which nodes each measures"
                )
            if self.names:
                raise InputError("nodes have names, so --nodes-per-rack cannot tell racks; give --sensors FILE")
            return Coverage.in_racks(self.nodes, self.machine.per_rack)
        return Coverage.in_racks(self.nodes, 1)

    def sensors(self, tally: Tally, by: By) -> Sensors:
        """Return the sensors that are known."""
        if by == "job":
            return Sensors(tally, [str(i) for i in self.trace.jobs.job_id.tolist()], closed=True)
        self.placed_for(by)
        coverage = self.coverage(by)
        assert coverage is not None  # noqa: S101 - only jobs have none
        if self.machine.sets is not None:
            return Sensors(tally, self._named()[0], closed=True)
        if self.names:
            return Sensors(tally, self.names, closed=True)
        return Sensors.numbered(tally, coverage.sizes.size, by, self.machine.first)

    def _named(self) -> tuple[list[str], Coverage]:
        if not self._sets:
            assert self.machine.sets is not None  # noqa: S101 - asked only then
            self._sets["found"] = read_sets(self.machine.sets, self.names, self.machine)[:2]
        found: tuple[list[str], Coverage] = self._sets["found"]
        return found


def load_work(
    jobs: Path,
    placements: Path | None,
    machine: Machine,
    epoch_unix_s: float = float("nan"),
    *,
    strict: bool = False,
) -> Work:
    """Read the jobs (a journal, or a log of any format) and who held which nodes (the journal's, or a table).

    ``strict``: the first row of placements that cannot be used is an error.
    """
    from wattline.formats.jobs import read_trace
    from wattline.journal.journal import is_journal, read_manifest

    trace = read_trace(jobs)
    epoch = trace.jobs.epoch_unix_s if np.isnan(epoch_unix_s) else epoch_unix_s
    names: tuple[str, ...] = ()
    classes: tuple[tuple[str, int], ...] = ()
    idle_w, nodes = 0.0, machine.nodes or 0
    journal: Path | None = None
    each_w: Floats | None = None
    if placements is not None:
        known = machine.nodes or trace.suggested_nodes
        placed, names, notes = from_table(placements, trace.jobs, epoch, known, trace.zone, strict=strict)
        nodes = nodes or len(names) or trace.suggested_nodes or int((placed.first + placed.count).max(initial=0))
    elif is_journal(jobs):
        placed, notes = from_journal(jobs, trace.jobs)
        cluster = read_manifest(jobs)["cluster"]
        nodes = nodes or int(cluster["nodes"])
        classes = tuple((str(c["name"]), int(c["count"])) for c in cluster["classes"])
        idle_w = sum(float(c["idle_w"] or 0.0) * int(c["count"]) for c in cluster["classes"]) / max(nodes, 1)
        journal = jobs
        each_w = idle_of_nodes(cluster)
    else:
        placed, notes = from_times(trace.jobs)
        nodes = 0
    if not placed.job.size:
        why = "; ".join(f"{note.count} × {note.reason}" for note in notes)
        raise TraceError.at(placements or jobs, f"no job with known nodes and times in it{f' ({why})' if why else ''}")
    sets = {}
    if machine.sets is not None:
        sensors, coverage, more = read_sets(machine.sets, names, machine)
        sets["found"], notes = (sensors, coverage), [*notes, *more]
    return Work(trace, placed, nodes, names, machine, epoch, classes, idle_w, tuple(notes), journal, each_w, sets)


def read_sets(path: Path, names: tuple[str, ...], machine: Machine) -> tuple[list[str], Coverage, list[Note]]:
    """Read a table of sensors and the nodes they measure: ranges, or lists of hosts.

    A row that stands there twice is told in the notes, all else that is wrong is refused.
    """
    import polars as pl

    source = open_files(path)
    columns = {name.strip().lower(): name for name in source.columns}
    sensor = next((columns[n] for n in ("sensor", "rack", "node", "name", "set", "location") if n in columns), None)
    if sensor is None:
        raise TraceError.at(path, f"column 'sensor' is missing: found {listed(source.columns)}")
    in_ranges = "first_node" in columns and "count" in columns
    lists = next((columns[n] for n in ("nodes", "nodelist", "hosts", "hostlist") if n in columns), None)
    if not in_ranges and lists is None:
        raise TraceError.at(path, f"needs first_node and count, or nodes: found {listed(source.columns)}")
    asked = [columns["first_node"], columns["count"]] if in_ranges else [str(lists)]
    rows = NodeTable(path, source, (sensor, *asked))
    called = rows.frame[sensor].cast(pl.String).str.strip_chars().fill_null("")
    rows.drop("the sensor has no name", (called == "").to_numpy(), sensor)
    first, count = np.zeros(rows.height, dtype=np.int64), np.ones(rows.height, dtype=np.int64)
    if in_ranges:
        first = rows.whole_numbers(asked[0], "number of the first node", 0)
        count = rows.whole_numbers(asked[1], "count of nodes", 1)
        rows.within(first, count, machine.nodes, asked[1])
    rows.once(rows.frame, sensor)
    rows.refuse_first()
    known = list(dict.fromkeys(called.to_list()))
    place = {name: i for i, name in enumerate(known)}
    number = {name: i for i, name in enumerate(names)}
    ranges: list[tuple[int, int, int, int]] = []
    for i in np.flatnonzero(~rows.bad).tolist():
        line, code = int(rows.lines[i]), place[called[i]]
        if in_ranges:
            ranges.append((int(first[i]), int(count[i]), code, line))
            continue
        text = rows.frame[asked[0]][i]
        try:
            ranges += [(node, 1, code, line) for node in _nodes(str(text or ""), number, machine.first)]
        except InputError as problem:
            raise TraceError.at(path, str(problem), line=line, field=asked[0]) from None
    found = np.array(ranges, dtype=np.int64).reshape(-1, 4)
    if not found.size:
        raise TraceError.at(path, "no sensor measures a node", field=asked[0])
    try:
        coverage = Coverage.of(found[:, 0], found[:, 1], found[:, 2], len(known))
    except InputError as problem:
        raise TraceError.at(path, str(problem)) from None
    return known, coverage, rows.notes()


def _nodes(text: str, number: dict[str, int], first: int) -> list[int]:
    """Return the numbers of hosts: by name where nodes have names (those no job ever held get new ones), else their
    last number.
    """
    hosts = expand_hosts(text)
    if number:
        return [number.setdefault(host, len(number)) for host in hosts]
    found = []
    for host in hosts:
        digits = "".join(c if c.isdigit() else " " for c in host).split()
        if not digits:
            raise InputError(f"host {host!r} has no number")
        node = int(digits[-1][:20]) - first
        if not 0 <= node < MOST_NODES:
            raise InputError(f"host {host!r}: numbers of nodes go from {first} on, and no machine has so many")
        found.append(node)
    return found
