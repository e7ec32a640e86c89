"""Lay out nodes that differ in power, and what caps do to each configuration on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import InputError
from wattline.model.cluster import Cluster
from wattline.model.configurations import Configurations, Floats
from wattline.model.jobs import JobTable
from wattline.model.state import State
from wattline.model.variability import Variability
from wattline.physics.cap_response import SAME, MeasuredResponse

if TYPE_CHECKING:
    from wattline.sim.setup import Options


def fill_varied(s: State, jobs: JobTable, cluster: Cluster, options: Options) -> None:
    """Fill in factors and responses; what policies are told holds on the thirstiest nodes that a job may get."""
    found = options.variability
    if found is None:
        return
    _check(s, jobs, cluster, options, found)
    s.node_factor[:] = found.nodes.factors
    s.varied[0], s.varied[1] = found.fixed_w, float(found.caps == "equal-speed")
    thirst = np.cumsum(np.sort(found.nodes.factors)[::-1])
    at = 0
    for m in options.configurations:
        _respond(s, m.truth, at, found)
        rows = slice(at, at + len(m.truth))
        s.sh_told_w[rows] = _told_w(s, rows, found, thirst)
        at += len(m.truth)


def _check(s: State, jobs: JobTable, cluster: Cluster, options: Options, found: Variability) -> None:
    if len(found.nodes) != cluster.nodes:
        raise InputError(f"there are factors for {len(found.nodes)} nodes, the cluster has {cluster.nodes}")
    rigid = np.flatnonzero(s.app < 0)
    if not options.configurations or rigid.size:
        told = "" if not rigid.size else f"; job {jobs.job_id[rigid[0]]} has none"
        raise InputError(f"nodes that differ in power need configurations of every job's application{told}")


def _respond(s: State, table: Configurations, at: int, found: Variability) -> None:
    """Fill in the response of every configuration whose cap holds its nodes back; others draw what they draw."""
    shapes = np.unique(np.column_stack([table.nodes, table.cores]), axis=0)
    for nodes, cores in shapes.tolist():
        rows = np.flatnonzero((table.nodes == nodes) & (table.cores == cores))
        capped = rows[table.cap_w[rows] != table.turbo_w]
        if capped.size == 0:
            continue
        response = MeasuredResponse.of(table, nodes, cores)
        if found.fixed_w >= response.floor_w:
            raise InputError(
                f"{table.application}: the fixed part of a node's power, {found.fixed_w:g} W, must be below the {response.floor_w:.4g} W "
                f"that a node draws on {nodes} × {cores} at its lowest cap"
            )
        first, count = at + int(rows[0]), response.power_w.size
        s.re_w[first : first + count] = response.power_w
        s.re_speed[first : first + count] = response.speeds / table.time_s[capped].min()
        binds = capped[table.power_w[capped] / nodes < response.draw_w * (1.0 - SAME)]
        s.re_first[at + binds], s.re_count[at + binds] = first, count


def _told_w(s: State, rows: slice, found: Variability, thirst: Floats) -> Floats:
    """Return the power that admission counts with: where no cap holds nodes back, that on the thirstiest ones.

    So power stays below the limit whichever nodes a job gets. A cap holds for every node, whatever it would draw.
    """
    nodes, told_w = s.sh_nodes[rows], s.sh_told_w[rows]
    fits = np.minimum(nodes, thirst.size)
    mean = thirst[fits - 1] / fits
    fixed_w = found.fixed_w * nodes
    free: Floats = np.where(s.re_count[rows] == 0, fixed_w + (told_w - fixed_w) * np.maximum(mean, 1.0), told_w)
    return free
