"""Caps on their way to agents: what each node should have, sent when it changes and again before its lease ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.live.bus.base import Bus
from wattline.live.bus.messages import Outbox
from wattline.live.bus.names import Topics
from wattline.live.controller.meters import Meters
from wattline.model.state.record import State


@dataclass
class CapSender:
    """Who sends caps.

    Parameters
    ----------
    lease_s
        How long a cap is valid; it is renewed after a third of that.
    least_change_w
        Caps that differ less than this from the one that was sent are not sent again.
    act
        False: nothing is sent (a dry run).
    """

    bus: Bus
    outbox: Outbox
    topics: Topics
    names: Sequence[str]
    lease_s: float = 10.0
    least_change_w: float = 0.5
    act: bool = True
    wanted_w: Floats = field(init=False)
    row: Ints = field(init=False)
    sent_w: Floats = field(init=False)
    sent_s: Floats = field(init=False)
    sent: int = 0
    dropped: int = 0
    modelled_w: float = np.nan
    """What the machine draws, as the model says."""

    def __post_init__(self) -> None:
        n = len(self.names)
        self.wanted_w, self.row = np.full(n, np.inf), np.full(n, -1, dtype=np.int64)
        self.sent_w, self.sent_s = np.full(n, np.nan), np.full(n, -np.inf)

    def want(self, s: State) -> None:
        """Read from the state what each node should have."""
        from wattline.control.wanted import wanted

        self.modelled_w = float(wanted(s, self.wanted_w, self.row))

    def send(self, now_s: float, term: int, meters: Meters) -> int:
        """Send what is new, what is due again, and what an agent says it does not have; return how many."""
        with np.errstate(invalid="ignore"):
            differs = ~(np.abs(self.wanted_w - self.sent_w) <= self.least_change_w)
        differs &= ~(np.isinf(self.wanted_w) & np.isinf(self.sent_w))
        due = now_s - self.sent_s >= self.lease_s / 3.0
        lost = (meters.term != term) & (now_s - self.sent_s >= 1.0) & ~meters.silent(now_s)
        who = np.flatnonzero(differs | due | lost)
        for at in who.tolist() if self.act else ():
            watts = float(self.wanted_w[at])
            body = {"cap_w": None if watts == np.inf else watts, "lease": self.lease_s, "term": term}
            ok = self.bus.publish(self.topics.cap(self.names[at]), self.outbox.encode("cap", body), keep=True)
            self.sent += 1
            self.dropped += not ok
        self.sent_w[who], self.sent_s[who] = self.wanted_w[who], now_s
        return int(who.size)
