"""What a user says of the columns of a table: which one is which of Wattline's, and in which unit it is.

``{"submit_s": "submit", "request_s": "wallclock_req:h"}``: the name that Wattline has for it, then the table's own
name, and after a colon the unit or the form of its values where they do not say it themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from wattline.errors import InputError, TraceError, cut, did_you_mean
from wattline.reading.notes import listed
from wattline.units import ENERGY_UNITS, POWER_UNITS, TIME_UNITS

Columns = Mapping[str, str]
"""Wattline's name of a column → the table's, with its unit after a colon."""

INSTANT, SPAN, POWER, ENERGY, NUMBER, NAME = "time", "duration", "power", "energy", "number", "name"
"""What a column may hold."""

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "job_id": NUMBER,
        "submit_s": INSTANT,
        "start_s": INSTANT,
        "end_s": INSTANT,
        "work_s": SPAN,
        "nodes": NUMBER,
        "processors": NUMBER,
        "request_s": SPAN,
        "user": NAME,
        "group": NAME,
        "kind": NAME,
        "partition": NAME,
        "priority": NUMBER,
        "after": NUMBER,
        "think_s": SPAN,
        "draw_w": POWER,
        "job_w": POWER,
        "floor_w": POWER,
        "peak_w": POWER,
        "stretch": NUMBER,
        "recorded_wait_s": SPAN,
        "recorded_energy_j": ENERGY,
    }
)
"""Every column that can be asked for, and what it holds."""

ALIASES = MappingProxyType({"runtime_s": "work_s", "wait_s": "recorded_wait_s", "energy_j": "recorded_energy_j"})
"""Other names of Wattline's for the same, as journals have them."""

DERIVED = ("start_s", "end_s", "processors", "job_w")
"""Columns that no job table has: others are computed from them."""

TAKEN = (
    *("job_id", "submit_s", "work_s", "runtime_s", "nodes", "request_s", "user", "group", "kind", "partition"),
    *("draw_w", "floor_w", "stretch", "peak_w", "recorded_wait_s", "wait_s", "recorded_energy_j"),
    *("energy_j", "priority", "after", "think_s", "start_s", "end_s", "processors", "job_w"),
)
"""Columns that are taken without being asked for where a table has them under Wattline's own name."""

_FINE_TIMES = {"ns": 1e-9, "us": 1e-6}
UNITS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {INSTANT: _FINE_TIMES | TIME_UNITS, SPAN: _FINE_TIMES | TIME_UNITS, POWER: POWER_UNITS, ENERGY: ENERGY_UNITS}
)
"""Units of numbers, by what a column holds."""

CLOCKS = ("HH:MM", "MM:SS")
"""Forms of durations with a single colon."""

_WORDS = {
    "submit_s": ("submit", "submitted", "submit_time", "submission_time", "submittime", "eligible_time", "queued"),
    "start_s": ("start", "start_time", "started", "begin", "begin_time", "starttime"),
    "end_s": ("end", "end_time", "ended", "finish_time", "completed", "endtime"),
    "work_s": ("run_s", "runtime", "run_time", "elapsed", "elapsedraw", "duration", "wallclock_used", "elapsed_time"),
    "nodes": ("num_nodes", "n_nodes", "nnodes", "nodes_used", "n_nodes_used", "alloc_nodes", "nodes_req", "num_alloc"),
    "processors": ("cores", "ncpus", "cpus", "processors_req", "cores_req", "num_cores", "alloc_cpus"),
    "request_s": ("walltime", "est_s", "wallclock_req", "timelimit", "time_limit", "requested_time", "req_time"),
    "user": ("uid", "user_id", "username", "user_name"),
    "group": ("account", "project", "group_id", "gid"),
    "kind": ("name", "job_name", "jobname", "application", "executable"),
    "partition": ("queue", "queue_name", "partition_name"),
    "draw_w": ("avg_power_per_node", "node_power", "mean_node_power", "power_per_node"),
    "job_w": ("power", "avg_power", "mean_power", "job_power", "power_w"),
    "peak_w": ("max_power_per_node", "peak_power"),
    "recorded_wait_s": ("wait", "wait_time", "waiting_time", "queue_time"),
    "recorded_energy_j": ("energy", "consumed_energy", "total_energy", "job_energy"),
    "job_id": ("jobid", "id", "job"),
}
"""Words that other people use for what Wattline calls by these names."""

EXAMPLE = "submit_s=submit"


@dataclass(frozen=True)
class Asked:
    """A column that is asked for: Wattline's name, the table's own, its unit or form ("": as it comes)."""

    name: str
    own: str
    unit: str = ""

    @property
    def kind(self) -> str:
        """What it holds."""
        return KINDS[self.name]

    @property
    def factor(self) -> float:
        """What a number of it is multiplied with."""
        return UNITS[self.kind].get(self.unit, 1.0) if self.kind in UNITS else 1.0


def check_columns(columns: Columns) -> None:
    """Refuse names that Wattline does not have, and one thing that is asked for twice."""
    seen: dict[str, str] = {}
    for name, own in columns.items():
        if ALIASES.get(name, name) not in KINDS:
            known = next((ours for ours, words in _WORDS.items() if name.lower() in words), None)
            told = f"; Wattline calls it {known!r}" if known else did_you_mean(name, (*KINDS, *ALIASES))
            raise InputError(f"no such column of a job table: {cut(name)!r}{told}")
        if not own.strip():
            raise InputError(f"{name}: expected the name of the table's column, like {EXAMPLE}")
        other = seen.setdefault(ALIASES.get(name, name), name)
        if other != name:
            raise InputError(f"{other} and {name} are the same; leave one out")
    for one, other in (("nodes", "processors"), ("draw_w", "job_w")):
        if one in seen and other in seen:
            raise InputError(f"{one} and {other} say the same in two ways; leave one out")


def typed_columns(given: Sequence[str]) -> dict[str, str]:
    """Return columns as they are typed on a command line, ``submit_s=submit``.

    >>> typed_columns(["submit_s=submit", "request_s = limit:h"])
    {'submit_s': 'submit', 'request_s': 'limit:h'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, own = (part.strip() for part in text.partition("="))
        if not equals or not name or not own:
            raise InputError(f"{cut(text)!r}: expected Wattline's name and the table's, like {EXAMPLE}")
        if name in found:
            raise InputError(f"{name} is given twice: {found[name]} and {cut(own)}")
        found[name] = own
    check_columns(found)
    return found


def in_table(columns: Columns, names: Collection[str], path: Path | str) -> list[Asked]:
    """Return the columns to take of a table that has so named ones: those that are asked for, and its own of
    Wattline's names.
    """
    asked = [_of(ALIASES.get(name, name), text.strip(), names, path) for name, text in columns.items()]
    twice = next((a for i, a in enumerate(asked) for b in asked[:i] if (a.own, a.unit) == (b.own, b.unit)), None)
    if twice is not None and twice.kind != NAME:
        first = next(a for a in asked if a.own == twice.own)
        if first.kind != NAME:
            raise TraceError.at(path, f"asked for as {first.name} and as {twice.name}; leave one out", field=twice.own)
    said, used = {one.name for one in asked}, {one.own for one in asked}
    instead = {"nodes": "processors", "draw_w": "job_w", "processors": "nodes", "job_w": "draw_w"}
    for own in TAKEN:  # of two that say the same the first one is taken
        name = ALIASES.get(own, own)
        if own in names and own not in used and name not in said and instead.get(name) not in said:
            asked.append(Asked(name, own))
            said.add(name)
    _refuse_missing(path, said, names)
    return asked


def _of(name: str, text: str, names: Collection[str], path: Path | str) -> Asked:
    """Return what is asked for as a name: a column of the table, with or without a unit behind it."""
    whole = _match(text, names)
    parted = _parted(name, text)
    own = None if parted is None else _match(parted[0], names)
    if whole is not None and own is not None:
        told = f"there is a column {whole!r} and a column {own!r}, so {text!r} may mean either"
        raise TraceError.at(path, told, hint=f"rename one of them to say which is {name}")
    if whole is not None:
        return Asked(name, whole)
    if own is not None and parted is not None:
        return Asked(name, own, parted[1])
    before, colon, unit = text.rpartition(":")
    if colon and _match(before, names) is not None:
        kind = KINDS[name]
        known = f"one of {', '.join(UNITS[kind])}" if kind in UNITS else f"none: {name} is a {kind}"
        raise TraceError.at(path, f"{name}: unknown unit {cut(unit)!r} of column {before!r}", hint=f"expected {known}")
    wanted = parted[0] if parted is not None else text
    hint = did_you_mean(wanted, names) if len(names) <= 40 else ""
    told = "" if hint.startswith("; did") else f"; it has {listed(names)}"
    raise TraceError.at(path, f"no column {cut(wanted)!r}, asked for as {name}{told or hint}")


def _parted(name: str, text: str) -> tuple[str, str] | None:
    """Return a column's name and its unit or form, if a text has one."""
    kind = KINDS[name]
    at = text.find(":%")
    if kind == INSTANT and at > 0:
        return text[:at], text[at + 1 :]
    if kind == SPAN and (clock := next((c for c in CLOCKS if text.endswith(f":{c}")), None)):
        return text[: -len(clock) - 1], clock
    own, colon, unit = text.rpartition(":")
    return (own, unit) if colon and own and unit in UNITS.get(kind, ()) else None


def _match(text: str, names: Collection[str]) -> str | None:
    """Return the column of that name, whatever its case where that leaves one."""
    if text in names:
        return text
    near = [name for name in names if name.strip().lower() == text.strip().lower()]
    return near[0] if len(near) == 1 else None


def _refuse_missing(path: Path | str, said: Collection[str], names: Collection[str]) -> None:
    """Refuse a table in which something that every job has is not known."""
    needed = (
        ("submit_s", said),
        ("work_s", {"work_s", "end_s"} & set(said) if "start_s" in said else {"work_s"} & set(said)),
        ("nodes", {"nodes", "processors"} & set(said)),
    )
    for name, there in needed:
        if there and (name != "submit_s" or name in said):
            continue
        or_else = " (or start_s and end_s)" if name == "work_s" else " (or processors)" if name == "nodes" else ""
        told = f"nothing says which column is {name}{or_else}: it has {listed(names)}"
        raise TraceError.at(path, told, hint=f"say it{suggested([name], names) or f': --column {name}=…'}")


def suggested(wanted: Collection[str], names: Collection[str]) -> str:
    """Return flags that would say which columns are which, as far as their names tell ("": they do not)."""
    found = []
    for name in wanted:
        words = (name, *_WORDS.get(name, ()))
        own = next((own for word in words for own in names if own.strip().lower() == word and own != name), None)
        if own is not None:
            found.append(f"--column {shlex.quote(f'{name}={own}')}")
    return f", perhaps {' '.join(found)}" if found else ""
