"""Resources of the whole machine in a state: how much there is of each, and what every job takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wattline.errors import InputError
from wattline.model.jobs import JobTable
from wattline.model.mechanism import Mechanism
from wattline.model.resources.base import Supply
from wattline.model.state.record import State

if TYPE_CHECKING:
    from wattline.wiring.options import Options


def check_resources(jobs: JobTable, policies: Sequence[Mechanism], options: Options) -> None:
    """Refuse resources that are not of these jobs, and what does not count them."""
    if not options.resources:
        return
    names = [supply.name for supply in options.resources]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError(f"resource {twice!r} is given twice")
    for supply in options.resources:
        if supply.wants.shape != (len(jobs),):
            raise InputError(
                f"resource {supply.name!r}: a number for each of {len(jobs)} jobs is needed, got {supply.wants.size}"
            )
    if options.configurations:
        raise InputError("jobs that choose among configurations cannot take resources: their nodes are not known ahead")
    if options.spare_rows:
        raise InputError("resources are counted of jobs that are known before the run")
    for m in policies:
        check_counted(m, options.resources)


def check_counted(m: Mechanism, supplies: Sequence[Supply]) -> None:
    """Refuse a select policy that does not count resources; one of a user is kept within them by the guard."""
    if supplies and m.slot == "select" and m.builtin and not m.resources:
        raise InputError(
            f"select policy {m.called!r} does not count resources of the whole machine (here {supplies[0].name!r}): "
            "in-order, first-fit and easy do"
        )


def fill_resources(s: State, supplies: Sequence[Supply]) -> None:
    """Write them into a state."""
    for r, supply in enumerate(supplies):
        s.res_total[r] = s.res_free[r] = supply.total
        s.res_want[: supply.wants.size, r] = supply.wants
