"""What policies and options need of a run: refused in one line, before anything is laid out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattline.errors import InputError
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.wiring.subjects.network import check_network
from wattline.wiring.subjects.power import check_power
from wattline.wiring.subjects.regulation import check_kinds, check_periods, check_rates, check_target, check_weights
from wattline.wiring.subjects.resources import check_resources
from wattline.wiring.subjects.shapes import check_moldable

if TYPE_CHECKING:
    from wattline.wiring.options import Options


def check_needs(jobs: JobTable, cluster: Cluster, policies: Sequence[Mechanism], options: Options) -> None:
    """Refuse what policies and options need and do not find."""
    for m in policies:
        if m.levels and all(len(c.levels) < 2 for c in cluster.classes):
            raise InputError(
                f"{m.slot} policy {m.called!r} switches between speeds: give a node class at least two levels"
            )
        check_kinds(m, options.kinds)
        if m.weights:
            check_weights(m.name, options.kinds)
        check_rates(m, options.kinds)
        if m.one_class and len(cluster.classes) > 1:
            raise InputError(
                f"{m.slot} policy {m.called!r} takes all nodes for equal: give a cluster of one node class"
            )
        given = bool(options.bids or options.bidding) and options.signal is not None
        check_target(m, followed=given or options.outside)
        if m.target and not np.isfinite(options.tick_s):
            raise InputError(f"{m.slot} policy {m.called!r} acts once a control period: give one (1 s is usual)")
    if options.spare_rows < 0:
        raise InputError(f"a state has 0 spare rows or more, got {options.spare_rows}")
    check_periods(options.tick_s, options.stop_cost_s)
    if options.ties not in ("instant", "event"):
        raise InputError(f"ties must be 'instant' or 'event', got {options.ties!r}")
    check_power(jobs, policies, options)
    check_moldable(cluster, policies, options)
    check_resources(jobs, policies, options)
    check_network(cluster, policies, options)
