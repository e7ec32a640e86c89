"""Measured configurations from disk: (nodes × cores, cap) → time and power of applications, and back to a file.

The layout: a row a configuration, or a trial of one, with the columns ``application``, ``nodes``, ``cores`` (used on
each node), ``cap_w`` (of a socket), ``time_s``, ``power_w`` (of all nodes; or ``node_power_w``), and where wanted
``trial`` and ``turbo`` (yes: the cap means *uncapped, with turbo*). The layout of the measured data that Wattline is
tested with is read too: ``bench``, ``cores_per_node``, ``pkg_cap_w_per_socket``, ``n`` trials with their median
(``time_s``), ``time_min`` and ``time_max``, and ``job_power_w``; there 115 W is turbo. So is a ``job_details_table``
(see ``formats.tables.job_details``).
"""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from wattline.errors import InputError, TraceError, did_you_mean
from wattline.files import write_whole
from wattline.formats.tables.configuration_rows import Header, Row, Socketed, read_rows
from wattline.model.configurations import Configurations
from wattline.reading.notes import Note, listed, quote

Reduce = Literal["median", "min"]
MEASURED_CAP, MEASURED_TURBO_W = "pkg_cap_w_per_socket", 115.0
"""The column by which the layout of the measured data is known, and its cap that means turbo."""
DISTURBED = 0.1
"""Trials further apart than this share were disturbed by something."""
WRITTEN = ("application", "nodes", "cores", "cap_w", "time_s", "power_w", "turbo")


@dataclass(frozen=True)
class Measured:
    """Tables by application, how trials were reduced, and what a reader of the numbers should know."""

    tables: Mapping[str, Configurations]
    source: str
    reduced: str
    notes: tuple[Note, ...] = ()

    def table(self, application: str | None = None) -> Configurations:
        """Return the table of an application, which need not be named where there is one only."""
        if application is None:
            if len(self.tables) > 1:
                raise InputError(
                    f"{self.source}: holds {len(self.tables)} applications, name one; known: {', '.join(self.tables)}"
                )
            return next(iter(self.tables.values()))
        if application not in self.tables:
            raise InputError(
                f"{self.source}: no application {application!r}{did_you_mean(application[:60], self.tables)}"
            )
        return self.tables[application]


def read_configurations(
    path: Path | str,
    *,
    reduce: Reduce = "median",
    node: Socketed | None = None,
    turbo_w: float | None = None,
    names: Mapping[str, str] | None = None,
) -> Measured:
    """Read tables of configurations; trials of one are reduced to their median, or to the fastest of them.

    ``names`` are those of applications that the file knows by other ones, e.g. by number.
    """
    header, rows = read_rows(path, node or Socketed())
    by: dict[str, list[Row]] = {}
    for row in rows:
        name = row.application or Path(path).name.split(".")[0]
        if names is not None and name not in names:
            raise TraceError.at(path, "there is no name for this application", line=row.line, value=name)
        by.setdefault(name if names is None else names[name], []).append(row)
    notes = _ignored(path, header)
    tables = {}
    for name, given in by.items():
        reduced, said = _reduce(path, given, reduce)
        notes += [Note(n.action, f"{name}: {n.reason}", n.count, n.example) for n in said]
        tables[name] = _table(name, reduced, _turbo(path, given, header, turbo_w))
    return Measured(tables, str(path), _words(rows, reduce), tuple(notes))


def write_configurations(path: Path | str, tables: Iterable[Configurations]) -> None:
    """Write tables as CSV in the layout above; numbers are written so that reading them gives the same ones."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(WRITTEN)
    for t in tables:
        for i in range(len(t)):
            turbo = "yes" if t.cap_w[i] == t.turbo_w else "no"
            numbers = (repr(float(column[i])) for column in (t.cap_w, t.time_s, t.power_w))
            lines.writerow((t.application, int(t.nodes[i]), int(t.cores[i]), *numbers, turbo))
    write_whole(path, out.getvalue().encode())


def _reduce(path: Path | str, rows: Sequence[Row], reduce: Reduce) -> tuple[list[Row], list[Note]]:
    """Return one row a configuration, and a note on those whose trials are far apart."""
    by: dict[tuple[int, int, float], list[Row]] = {}
    for row in rows:
        by.setdefault((row.nodes, row.cores, row.cap_w), []).append(row)
    reduced, disturbed = [], []
    for (nodes, cores, cap_w), trials in by.items():
        seen: dict[str, Row] = {}
        for row in trials:
            if row.trial in seen:
                told = (
                    f"the configuration of {nodes} nodes, {cores} cores, {cap_w:g} W is on line "
                    f"{seen[row.trial].line} already"
                )
                hint = "number trials in a column 'trial'" if not row.trial else f"both are trial {row.trial!r}"
                raise TraceError.at(path, told, line=row.line, hint=hint)
            seen[row.trial] = row
        one = _one(trials, reduce)
        reduced.append(one)
        shortest = min(row.time_s if math.isnan(row.shortest_s) else row.shortest_s for row in trials)
        longest = max(row.time_s if math.isnan(row.longest_s) else row.longest_s for row in trials)
        if longest > shortest * (1 + DISTURBED):
            disturbed.append((longest / shortest, one))
    if not disturbed:
        return reduced, []
    worst, row = max(disturbed, key=lambda pair: pair[0])
    told = f"configurations whose trials differ by more than {DISTURBED:.0%} ({_kept(reduce)})"
    example = (
        f"{Path(path).name}:{row.line}: {row.nodes} × {row.cores}, {row.cap_w:g} W: longest over shortest {worst:.2f}"
    )
    return reduced, [Note("kept", told, len(disturbed), quote(example))]


def _kept(reduce: Reduce) -> str:
    return "the median counts" if reduce == "median" else "the fastest counts"


def _one(trials: Sequence[Row], reduce: Reduce) -> Row:
    first = trials[0]
    if reduce == "min":
        best = min(trials, key=lambda row: row.time_s)
        time_s = best.time_s if math.isnan(best.shortest_s) else best.shortest_s
        power_w = best.power_w
    else:
        time_s = statistics.median(row.time_s for row in trials)
        power_w = statistics.median(row.power_w for row in trials)
    return Row(first.line, first.application, first.nodes, first.cores, first.cap_w, time_s, power_w)


def _words(rows: Sequence[Row], reduce: Reduce) -> str:
    """Say how many trials stand behind a number, and which of them it is."""
    if any(row.trial for row in rows):
        return "median over trials" if reduce == "median" else "fastest trial"
    several = any(row.trials > 1 for row in rows)
    if reduce == "min" and any(not math.isnan(row.shortest_s) for row in rows):
        return "fastest trial, power of the median"
    if reduce == "min":
        return "as given: there is one time a configuration"
    return "median over trials, as given" if several else "as given: one row a configuration"


def _turbo(path: Path | str, rows: Sequence[Row], header: Header, turbo_w: float | None) -> float:
    """Return the cap that means turbo: as told, as the table says, or as the measured layout has it.

    Return NaN if no row has it.
    """
    caps = {row.cap_w for row in rows}
    if turbo_w is None:
        marked = {row.cap_w: row for row in rows if row.turbo}
        if len(marked) > 1:
            row = max(marked.values(), key=lambda row: row.line)
            told = f"two caps are marked as turbo: {' and '.join(f'{cap:g} W' for cap in sorted(marked))}"
            raise TraceError.at(path, told, line=row.line, field="turbo")
        for row in rows:
            if row.turbo is False and row.cap_w in marked:
                told = f"says no, but line {marked[row.cap_w].line} marks {row.cap_w:g} W as turbo"
                raise TraceError.at(path, told, line=row.line, field="turbo")
        measured = header.found["cap"][0] == MEASURED_CAP
        turbo_w = next(iter(marked), MEASURED_TURBO_W if measured else math.nan)
    if turbo_w in caps and turbo_w < max(caps):
        raise TraceError.at(
            path, f"caps above turbo ({turbo_w:g} W) mean nothing", value=max(caps), field=header.found["cap"][0]
        )
    return turbo_w if turbo_w in caps else math.nan


def _table(name: str, rows: Sequence[Row], turbo_w: float) -> Configurations:
    def floats(field: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([getattr(row, field) for row in rows], np.float64)

    return Configurations(
        name,
        np.array([row.nodes for row in rows], np.int64),
        np.array([row.cores for row in rows], np.int64),
        floats("cap_w"),
        floats("time_s"),
        floats("power_w"),
        turbo_w,
    )


def _ignored(path: Path | str, header: Header) -> list[Note]:
    if not header.ignored:
        return []
    return [
        Note(
            "kept",
            "columns that say nothing about configurations",
            len(header.ignored),
            f"{Path(path).name}: {listed(header.ignored)}",
        )
    ]
