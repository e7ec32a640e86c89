"""Lay out nodes that differ in power, and what caps do to each configuration on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wattline.arrays import Ints
from wattline.errors import InputError
from wattline.model.cluster import Cluster
from wattline.model.configurations import Configurations, Moldable
from wattline.model.jobs import JobTable
from wattline.model.state.record import State
from wattline.model.variability import Variability
from wattline.physics.cap_response import SAME, MeasuredResponse
from wattline.units import in_full

if TYPE_CHECKING:
    from wattline.wiring.options import Options


def as_counted(moldable: tuple[Moldable, ...], found: Variability | None) -> tuple[Moldable, ...]:
    """Return applications with the power that policies and admission count with: where no cap holds nodes back,
    that on the thirstiest.

    So power stays below the limit whichever nodes a job gets. A cap holds for every node, whatever it would draw.
    """
    if found is None:
        return moldable
    thirst = np.cumsum(np.sort(found.nodes.factors)[::-1])
    counted = []
    for m in moldable:
        told = m.told or m.truth
        fits = np.minimum(told.nodes, thirst.size)
        mean = np.maximum(thirst[fits - 1] / fits, 1.0)
        for _, _, binds in _shapes(m.truth):
            mean[binds] = 1.0
        fixed_w = found.fixed_w * told.nodes
        counted.append(Moldable(m.truth, replace(told, power_w=fixed_w + (told.power_w - fixed_w) * mean)))
    return tuple(counted)


def fill_varied(s: State, jobs: JobTable, cluster: Cluster, options: Options) -> None:
    """Fill in factors, and what caps do to each configuration."""
    found = options.variability
    if found is None:
        return
    _check(s, jobs, cluster, options, found)
    s.node_factor[:] = found.nodes.factors
    s.varied[0], s.varied[1] = found.fixed_w, float(found.caps == "equal-speed")
    at = 0
    for m in options.configurations:
        _respond(s, m.truth, at, found)
        at += len(m.truth)


def _check(s: State, jobs: JobTable, cluster: Cluster, options: Options, found: Variability) -> None:
    if len(found.nodes) != cluster.nodes:
        raise InputError(f"there are factors for {len(found.nodes)} nodes, the cluster has {cluster.nodes}")
    rigid = np.flatnonzero(s.app[: len(jobs)] < 0)
    if not options.configurations or rigid.size:
        told = "" if not rigid.size else f"; job {jobs.job_id[rigid[0]]} has none"
        raise InputError(f"nodes that differ in power need configurations of every job's application{told}")


def _shapes(table: Configurations) -> list[tuple[Ints, MeasuredResponse, Ints]]:
    """Return for each number of nodes and cores its rows without turbo, how they respond to caps, and those whose
    cap holds nodes back.
    """
    found = []
    for nodes, cores in np.unique(np.column_stack([table.nodes, table.cores]), axis=0).tolist():
        rows = np.flatnonzero((table.nodes == nodes) & (table.cores == cores) & (table.cap_w != table.turbo_w))
        if rows.size:
            response = MeasuredResponse.of(table, nodes, cores)
            found.append((rows, response, rows[table.power_w[rows] / nodes < response.draw_w * (1.0 - SAME)]))
    return found


def _respond(s: State, table: Configurations, at: int, found: Variability) -> None:
    """Fill in the response of every configuration whose cap holds its nodes back; others draw what they draw."""
    for rows, response, binds in _shapes(table):
        if found.fixed_w >= response.floor_w:
            nodes, cores = table.nodes[rows[0]], table.cores[rows[0]]
            raise InputError(
                f"{table.application}: the fixed part of a node's power, {in_full(found.fixed_w)} W, must be below the "
                f"{in_full(response.floor_w, 4)} W "
                f"that a node draws on {nodes} × {cores} at its lowest cap"
            )
        first, count = at + int(rows[0]), response.power_w.size
        s.re_w[first : first + count] = response.power_w
        s.re_speed[first : first + count] = response.speeds / table.time_s[rows].min()
        s.re_first[at + binds], s.re_count[at + binds] = first, count
