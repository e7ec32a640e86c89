"""Caps on their way to agents: what each node should have, sent when it changes and again before its lease ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.live.bus.base import Bus
from wattline.live.bus.messages import Outbox
from wattline.live.bus.names import Topics
from wattline.live.controller.seen.meters import Meters
from wattline.model import codes
from wattline.model.state.record import State

TAKES_S = 0.5
"""Seconds after which an agent that has a cap says so."""


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
    refused: int = 0
    """Caps that an agent did not bring into force, by its own word."""
    modelled_w: float = np.nan
    """What the machine draws, as the model says."""
    committed_w: float = np.nan
    """The same with all jobs that are about to start."""

    def __post_init__(self) -> None:
        n = len(self.names)
        self.wanted_w, self.row = np.full(n, np.inf), np.full(n, -1, dtype=np.int64)
        self.sent_w, self.sent_s = np.full(n, np.nan), np.full(n, -np.inf)

    def want(self, s: State) -> None:
        """Read from the state what each node should have."""
        from wattline.control.wanted import committed, wanted

        self.modelled_w = float(wanted(s, self.wanted_w, self.row))
        self.committed_w = float(committed(s))
        limit_w = float(s.limit_w[0])
        if s.n_starting[0] and limit_w < np.inf:
            self._hold_newcomers(s, limit_w)

    def _hold_newcomers(self, s: State, limit_w: float) -> None:
        """Let jobs that are on their way find caps under which they have room below the limit, until they are there.

        Caps are shared out by what is present; whoever comes before the next pass counts from its first second.
        """
        at = np.flatnonzero((self.row >= 0) & (s.status[self.row] == codes.STARTING))
        if at.size == 0:
            return
        rows = self.row[at]
        pool = s.pool[rows]
        share_w = s.idle_w[pool] + max(0.0, limit_w - self.modelled_w) / at.size
        lowest_w = np.maximum(s.min_cap_w[pool], s.floor_w[rows])
        held_w = np.maximum(lowest_w, np.minimum(self.wanted_w[at], share_w))
        needs = np.minimum(self.wanted_w[at], s.draw_w[rows]) > held_w + self.least_change_w
        self.wanted_w[at[needs]] = held_w[needs]

    def send(self, now_s: float, lead: Callable[[], int], meters: Meters) -> int:
        """Send what is new, what is due again, and what an agent says it does not have; return how many.

        Our term is asked for right before each of them, and nothing more is sent where that raises: another one leads.
        """
        term = lead()
        with np.errstate(invalid="ignore"):
            differs = ~(np.abs(self.wanted_w - self.sent_w) <= self.least_change_w)
        differs &= ~(np.isinf(self.wanted_w) & np.isinf(self.sent_w))
        due = now_s - self.sent_s >= self.lease_s / 3.0
        lost = (meters.term != term) & (now_s - self.sent_s >= 1.0) & ~meters.silent(now_s)
        who = np.flatnonzero(differs | due | lost)
        told = self.act & (self.sent_s > -np.inf) & ~meters.silent(now_s)
        never = (meters.term != term) & (meters.heard_s >= self.sent_s + TAKES_S)
        self.refused += int((told & (meters.refuses | never))[who].sum())
        for at in who.tolist() if self.act else ():
            watts = float(self.wanted_w[at])
            body = {"cap_w": None if watts == np.inf else watts, "lease": self.lease_s, "term": lead()}
            ok = self.bus.publish(self.topics.cap(self.names[at]), self.outbox.encode("cap", body), keep=True)
            self.sent += 1
            self.dropped += not ok
        self.sent_w[who], self.sent_s[who] = self.wanted_w[who], now_s
        return int(who.size)

    def renew(self, now_s: float, lead: Callable[[], int], meters: Meters) -> int:
        """Send every cap that was sent once more: each lasts a whole lease from now on."""
        self.wanted_w[:] = np.where(np.isnan(self.sent_w), self.wanted_w, self.sent_w)
        self.sent_s[~np.isnan(self.sent_w)] = -np.inf
        return self.send(now_s, lead, meters)
