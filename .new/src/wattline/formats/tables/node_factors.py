"""Nodes that are not alike, from a CSV file: a factor of power a node, or what each drew at the same work."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np

from wattline.errors import TraceError
from wattline.model.variability import NodeFactors
from wattline.reading.source import read_utf8

LAYOUT = "a column 'factor' (power over that of a typical node), or 'power_w' (measured at the same work)"


def read_factors(path: Path | str) -> tuple[list[str], NodeFactors]:
    """Return names of nodes (their line, where there is no column ``node``) and their factors.

    Nodes that are numbers come in the order of these, else in that of the lines.
    """
    names, factors, _ = _read(path)
    if not all(name.isascii() and name.isdigit() for name in names):
        return names, factors
    order = sorted(range(len(names)), key=lambda i: int(names[i]))
    return [names[i] for i in order], NodeFactors(factors.factors[order])


def read_machine(path: Path | str, nodes: int) -> NodeFactors:
    """Return the factors of a machine's nodes, in their order: the column ``node`` has the numbers 0 to nodes − 1."""
    names, found, lines = _read(path, needed=True)
    line_of: dict[int, int] = {}
    factors = np.empty(nodes)
    for name, line, factor in zip(names, lines, found.factors, strict=True):
        if not (name.isascii() and name.isdigit() and len(name) < 10 and int(name) < nodes):
            told = f"expected the number of a node, 0 to {nodes - 1}, as the cluster has {nodes}"
            raise TraceError.at(path, told, line=line, field="node", value=name)
        node = int(name)
        if node in line_of:
            raise TraceError.at(path, f"node is on line {line_of[node]} already", line=line, field="node", value=name)
        line_of[node] = line
        factors[node] = factor
    if len(line_of) < nodes:
        missing = next(node for node in range(nodes) if node not in line_of)
        told = f"it has {len(line_of)} nodes, the cluster {nodes}: node {missing} is missing"
        raise TraceError.at(path, told, hint="nodes count from 0")
    return NodeFactors(factors)


def _read(path: Path | str, *, needed: bool = False) -> tuple[list[str], NodeFactors, list[int]]:
    """Return names of nodes, their factors and lines; ``needed``: a column ``node`` must name them."""
    rows = csv.DictReader(io.StringIO(read_utf8(path)))
    columns = [name.strip().lower() for name in rows.fieldnames or ()]
    rows.fieldnames = columns
    field = next((name for name in ("factor", "power_w") if name in columns), None)
    if {"factor", "power_w"} <= set(columns):
        raise TraceError.at(path, "columns 'factor' and 'power_w' say the same; keep one of them", line=1)
    if field is None:
        raise TraceError.at(path, f"expected {LAYOUT}", value=", ".join(columns), line=1)
    for name in columns:
        if columns.count(name) > 1:
            raise TraceError.at(path, "column is named twice", line=1, field=name[:60])
        if needed and name not in ("node", field):
            raise TraceError.at(path, f"unknown column: expected node and {field}", line=1, field=name[:60])
    if needed and "node" not in columns:
        raise TraceError.at(path, "column 'node' is missing: it says whose factor a line has", line=1)
    names, values, lines = [], [], []
    seen: dict[str, int] = {}
    for row in rows:
        if None in row:
            raise TraceError.at(path, f"expected {len(columns)} columns like the header", line=rows.line_num)
        name = str(row.get("node") or ("" if needed else rows.line_num)).strip()
        if name in seen:
            raise TraceError.at(
                path, f"node is on line {seen[name]} already", line=rows.line_num, field="node", value=name
            )
        seen[name] = rows.line_num
        names.append(name)
        lines.append(rows.line_num)
        values.append(_number(path, rows.line_num, field, row.get(field)))
    if not values:
        raise TraceError.at(path, "holds no node, only a header")
    found = np.array(values)
    return names, NodeFactors(found) if field == "factor" else NodeFactors.measured(found), lines


def _number(path: Path | str, line: int, field: str, text: str | None) -> float:
    try:
        value = float(text or "") if "_" not in (text or "") and (text or "").isascii() else math.nan
    except ValueError:
        raise TraceError.at(path, "expected a number without a unit", line=line, field=field, value=text) from None
    if not 0 < value < math.inf:
        raise TraceError.at(path, "must be above 0 and finite", line=line, field=field, value=text)
    return value
