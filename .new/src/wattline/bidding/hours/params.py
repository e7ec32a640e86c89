"""Parameters of policies that a search tries: all values of a slot, in their declared order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from wattline.wiring.policies import Policies

Params = Mapping[str, Sequence[float]]
"""slot → the values of its policy's parameters"""


def tried(policies: Policies) -> list[Params]:
    """Return the settings of the policies that a search tries, the scenario's own first.

    A policy declares which values of a parameter are worth trying; what the scenario gives stays as it is.
    """
    slots, lists = [], []
    for m in (policies.select, policies.cap):
        given = policies.params.get(m.slot, {})
        open_to = {name: p.tried for name, p in m.params.items() if p.tried and name not in given}
        if open_to:
            slots.append(m.slot)
            combined = [dict(zip(open_to, values, strict=True)) for values in product(*open_to.values())]
            lists.append([tuple(m.values({**given, **chosen})) for chosen in combined])
    return [dict(zip(slots, values, strict=True)) for values in product(*lists)]
