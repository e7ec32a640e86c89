"""The policies of a run: a mechanism for every slot, and the parameters given for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wattline.control.catalog import find
from wattline.model import codes
from wattline.model.mechanism import Mechanism


@dataclass(frozen=True)
class Policies:
    """The mechanism of every slot and the parameters given for it."""

    order: Mechanism
    select: Mechanism
    place: Mechanism
    cap: Mechanism
    learn: Mechanism
    profile: Mechanism = field(default_factory=lambda: find("profile", "known"))
    bid: Mechanism = field(default_factory=lambda: find("bid", "given"))
    params: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """slot → parameter → value"""

    def slots(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms in the order of the slots."""
        return (self.order, self.select, self.place, self.cap, self.learn, self.profile, self.bid)

    def in_loop(self) -> tuple[Mechanism, ...]:
        """Return those that the compiled loop calls."""
        return self.slots()[: codes.LOOP_SLOTS]
