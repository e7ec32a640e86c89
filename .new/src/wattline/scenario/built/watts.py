"""On what the watts of a run rest, and what a journal leaves out where they are not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from wattline.model.cluster import NodeClass
    from wattline.reading.machine import Unit

Basis = Literal["given", "assumed", "unknown"]


_POWER_COLUMNS = {
    "jobs": ("energy_j",),
    "timeline": ("power_w",),
    "classes": ("busy_energy_j", "idle_energy_j", "sleep_energy_j", "boot_energy_j"),
}
"""What a journal leaves empty where no watts were given."""


@dataclass(frozen=True)
class Watts:
    """The basis of a run's watts, what they are watts of, and by how many processors a node's are divided for that.

    ``words`` say it for people; "" where all of it was given, for nodes.
    """

    basis: Basis = "given"
    unit: Unit = "node"
    divide: int = 1
    words: str = ""

    @property
    def known(self) -> bool:
        """Whether power is reported at all."""
        return self.basis != "unknown"

    def of(self, node_class: NodeClass) -> NodeClass:
        """Return a class whose watts are those of the unit that is scheduled."""
        if self.divide == 1:
            return node_class
        part, sleep = 1.0 / self.divide, node_class.sleep
        return replace(
            node_class,
            idle_w=node_class.idle_w * part,
            max_w=node_class.max_w * part,
            min_cap_w=node_class.min_cap_w * part,
            sleep=None if sleep is None else replace(sleep, power_w=sleep.power_w * part),
            levels=tuple(replace(v, busy_w=v.busy_w * part, idle_w=v.idle_w * part) for v in node_class.levels),
        )


def leave_power_out(tables: Mapping[str, Any], about: dict[str, Any]) -> None:
    """Take power and energy out of the tables and the manifest of a run whose watts are not known."""
    for table, columns in _POWER_COLUMNS.items():
        for column in columns:
            tables[table][column] = np.full(len(tables[table][column]), np.nan)
    about["totals"] = dict.fromkeys(about["totals"])
    for node_class in about["cluster"]["classes"]:
        node_class |= {"idle_w": None, "max_w": None}
