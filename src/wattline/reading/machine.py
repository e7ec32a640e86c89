"""What a log's header says of its machine: how large it is, and whether nodes or processors are what is scheduled."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wattline.arrays import Floats
from wattline.units import in_full

Unit = Literal["node", "processor"]

NODES, PROCS = "MaxNodes", "MaxProcs"
"""What a header calls the size of its machine."""

_APART = re.compile(r"\s*\d{1,3}\s\d{3}(?!\S)")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")

SHARED = 0.2
"""Where a larger part of the jobs asks for no multiple of a node's processors, jobs share nodes."""

MOST = 10**9
"""A header that says more nodes or processors than this is taken to say none."""


@dataclass(frozen=True)
class Machine:
    """The machine of a log in the unit that is scheduled, and how jobs' processors become such units.

    ``count`` units as the header says (None: it does not); ``per_node`` processors a node has (1 where that is not
    known); a job's processors divided by ``divide``, rounded up, are its units. ``words`` tell both numbers of the
    header and what was made of them.
    """

    unit: Unit
    count: int | None
    per_node: int
    divide: int
    words: str


def size_machine(
    header: Mapping[str, str], processors: Floats, cores_per_node: int | None = None, nodes: int | None = None
) -> Machine:
    """Return the machine of a log with jobs of so many ``processors``.

    Both other arguments are what a user says instead.

    ``nodes`` that are one of the header's two numbers mean that number: MaxProcs processors, or MaxNodes nodes.
    """
    max_nodes, max_procs = (_whole(header, key) for key in ("MaxNodes", "MaxProcs"))
    told = _told(header, max_nodes, max_procs)
    if cores_per_node is not None:
        return _as_asked(max_nodes, max_procs, cores_per_node, told)
    if max_nodes is None or max_procs is None:
        return _one_number(max_nodes, max_procs, told)
    per_node = max(1, math.ceil(max_procs / max_nodes))
    if per_node == 1:
        return Machine("node", max_nodes, 1, 1, f"{max_nodes:,} nodes; {told}")
    odd = float(np.mean(processors % per_node != 0)) if processors.size else 0.0
    asks = f"{_percent(odd)} of the jobs ask for processors that are no multiple of a node's {per_node}"
    if nodes != max_nodes and (odd > SHARED or nodes == max_procs):
        why = f"{asks}, so jobs share nodes: the processor is what is scheduled"
        if nodes == max_procs:
            why = f"{nodes:,} are as many as its processors, so the processor is what is scheduled"
        return Machine("processor", max_procs, per_node, 1, f"{max_procs:,} processors; {told}; {why}")
    rounded = f"; {asks} and are rounded up" if odd else ""
    whole = f"{max_nodes:,} nodes of {per_node} processors; {told}; jobs take whole nodes{rounded}"
    return Machine("node", max_nodes, per_node, per_node, whole)


def _as_asked(max_nodes: int | None, max_procs: int | None, cores: int, told: str) -> Machine:
    """Return the machine in nodes of as many processors as the user says."""
    count = max_nodes if max_procs is None else math.ceil(max_procs / cores)
    known = 1 if max_nodes is None or max_procs is None else max(1, math.ceil(max_procs / max_nodes))
    if cores == 1 and known > 1:
        return Machine("processor", count, known, 1, f"{count:,} processors, as cores_per_node = 1 says; {told}")
    size = "nodes" if count is None else f"{count:,} nodes"
    return Machine("node", count, cores, cores, f"{size} of {cores} processors, as cores_per_node says; {told}")


def _one_number(max_nodes: int | None, max_procs: int | None, told: str) -> Machine:
    if max_procs is not None:
        words = f"{max_procs:,} nodes; {told}; assumed: a node has one processor"
        return Machine("node", max_procs, 1, 1, words)
    if max_nodes is not None:
        words = f"{max_nodes:,} nodes; {told}; assumed: a processor of a job is a node"
        return Machine("node", max_nodes, 1, 1, words)
    return Machine("node", None, 1, 1, f"{told}; assumed: a processor of a job is a node")


def header_oddities(header: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return what is odd in how a header tells its machine: key, value and what was made of it."""
    found = []
    sizes = {}
    for key in (NODES, PROCS):
        lines = [] if _is_absent(header.get(key, "")) else header[key].split("\n")
        sizes[key] = _whole(header, key)
        if lines and sizes[key] is None:
            found.append((key, lines[0], f"the header's {key} is not a whole number from 1 to {MOST:,}: not used"))
        others = [line for line in lines[1:] if header_number(line) != header_number(lines[0])]
        if others:
            found.append((key, others[0], f"the header says {key} again, and something else: the first is used"))
    nodes, procs = sizes[NODES], sizes[PROCS]
    if nodes is not None and procs is not None and nodes > procs:
        told = f"the header says more nodes than processors ({procs:,}): a node is taken to have one processor"
        found.append((NODES, header[NODES].split("\n")[0], told))
    return found


def _told(header: Mapping[str, str], max_nodes: int | None, max_procs: int | None) -> str:
    said = [key for key in (NODES, PROCS) if not _is_absent(header.get(key, ""))]
    no_nodes, no_procs = (f"a {key} that cannot be used" if key in said else f"no {key}" for key in (NODES, PROCS))
    if max_nodes is None and max_procs is None:
        if said:
            return f"the header says {no_nodes} and {no_procs}"
        return "the header says neither MaxNodes nor MaxProcs"
    if max_nodes is None:
        return f"the header says MaxProcs {max_procs:,} and {no_nodes}"
    if max_procs is None:
        return f"the header says MaxNodes {max_nodes:,} and {no_procs}"
    return f"the header says MaxNodes {max_nodes:,}, MaxProcs {max_procs:,}"


def _is_absent(text: str) -> bool:
    """Tell whether a header value says nothing: none, or -1 as the format writes what is not known."""
    return not text.strip() or header_number(text) == -1


def _percent(share: float) -> str:
    return f"{in_full(100 * share, 3)} %"


def _whole(header: Mapping[str, str], key: str) -> int | None:
    value = header_number(header.get(key, ""))
    return int(value) if 1 <= value <= MOST and value == math.floor(value) else None


def header_number(text: str) -> float:
    """Return the number a header value starts with, NaN if none: ``128 (since 1995)`` is 128, ``1,024`` is 1024.

    ``93 312`` may be one number or two, and is none.
    """
    if _APART.match(text):
        return math.nan
    try:
        first = text.split()[0][:40]
        value = float(first.replace(",", "") if _THOUSANDS.fullmatch(first) else first)
    except (IndexError, ValueError):
        return math.nan
    return value if math.isfinite(value) else math.nan


def machine_of(about: Any, count: int | None) -> Machine | None:
    """Return the machine that a table or a journal tells of in plain data, if it does in the right form."""
    if not isinstance(about, dict) or about.get("unit") not in ("node", "processor"):
        return None
    per_node = about.get("per_node")
    if not isinstance(per_node, int) or isinstance(per_node, bool) or per_node < 1:
        return None
    return Machine(about["unit"], count, per_node, 1, str(about.get("words", ""))[:400])
