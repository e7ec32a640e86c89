"""The loop of a real machine: signal and machine → facts → a pass → the guard's word → wanted caps and job states.

A full pass comes once a period: the resource manager is looked at, jobs are started, stopped and continued. Between
two of them caps alone follow the signal, and jobs that come and go where the resource manager is quick to tell, several
times a second. Select counts with committed power (jobs that were
told to start are as good as there), cap with what is present.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from wattline.control.facts import HAPPENED, LIMIT, SIGNAL, TARGET, TIME
from wattline.live.bus.base import Bus
from wattline.live.bus.inbox import Inbox
from wattline.live.bus.messages import Message
from wattline.live.clock import Clock
from wattline.live.controller.ledger import Ledger
from wattline.live.controller.seen.meters import Meters
from wattline.live.controller.seen.mirror import Mirror
from wattline.live.controller.seen.waits import no_room
from wattline.live.controller.wanted.caps import CapSender
from wattline.live.controller.wanted.guard import Guard
from wattline.live.controller.wanted.reconcile import Reconciler
from wattline.live.machine.base import ManagerError, ResourceManager
from wattline.live.signals.open import SignalsNow
from wattline.market.tracking import MARGIN
from wattline.model import codes

HISTORY = 3600
"""Periods of which the tracking error is remembered."""

MOST_SAID = 5
"""Jobs without room under the limit that have a line each, of those that are new in a period."""


@dataclass(frozen=True)
class BidStep:
    """A bid that holds from a time of the machine on (NaN mean: none)."""

    from_s: float
    mean_w: float
    reserve_w: float


@dataclass(frozen=True)
class Periods:
    """How often what is done; seconds of the machine."""

    full_s: float = 1.0
    cap_s: float = 0.25
    manager_s: float = 15.0
    """A resource manager that does not answer for so long is said to be gone; no job is started meanwhile."""


@dataclass(frozen=True)
class Tick:
    """What came of one turn of the loop."""

    now_s: float
    full: bool
    target_w: float
    limit_w: float
    measured_w: float
    heard: int
    modelled_w: float
    actions: int
    caps_sent: int
    pass_s: float
    """Wall seconds from the first fact to the last action of the pass."""


class Asks(Protocol):
    """Who knows what is asked of the site."""

    def now(self, now_s: float) -> SignalsNow:
        """Return signal and limit."""


@dataclass
class Controller:
    """A controller, ready to turn: everything that it touches is given to it."""

    clock: Clock
    ledger: Ledger
    mirror: Mirror
    reconciler: Reconciler
    manager: ResourceManager
    bus: Bus
    inbox: Inbox
    meters: Meters
    caps: CapSender
    guard: Guard = field(default_factory=Guard)
    signals: Asks | None = None
    bids: Sequence[BidStep] = ()
    """Those of a file or a table; where a bid policy makes them, there are none here."""
    most_w: float = math.inf
    """What all nodes together draw at most, by the model."""
    own_limit_w: float = math.inf
    """The site's own limit, in force where nothing lower is asked for; it may lie above what the model can draw, since
    the machine may draw more.
    """
    periods: Periods = field(default_factory=Periods)
    term: Callable[[], int] = lambda: 1
    """Returns the number of this reign, or raises where somebody else leads by now."""
    on_signal: Callable[[Message, float], None] | None = None
    on_tick: Callable[[Tick], None] | None = None
    on_say: Callable[[str], None] | None = None
    errors: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """Tracking errors of the last periods, as parts of the reserve."""
    modelled_errors: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """The same by the model, under the caps that are wanted: what a dry run would have had."""
    manager_seen_s: float = math.nan
    late: int = 0
    """Passes that were left out because the one before took too long."""
    _full_s: float = math.nan
    _made: BidStep | None = None
    """The bid in force, where a policy makes them."""
    _beyond_s: float = 0.0
    """Seconds beyond the tracking margin that the state was not told of yet."""
    _accounted_s: float = math.nan
    _unanswered: bool = False

    # ------------------------------------------------------------------ one turn

    def turn(self, now_s: float) -> Tick:
        """Do what is to be done now."""
        self.term()
        self._listen(now_s)
        state_s = max(now_s - self.mirror.epoch_s, float(self.ledger.state.now[0]))
        full = math.isnan(self._full_s) or now_s >= self._full_s + self.periods.full_s - 1e-6
        looked = False
        if full:
            self._full_s = now_s
        if full or (self.manager.abilities.quick and not self._unanswered):  # caps know who came and went since
            looked = self._look(now_s, state_s)
        if not looked:
            self.ledger.tell(TIME, state_s)
        began = self.clock.monotonic()
        target_w, limit_w = self._envelope(now_s, full=full)
        self.ledger.tell(HAPPENED, codes.TICK)
        leads = full and not self._manager_is_gone(now_s)
        actions = self.ledger.control(None if leads else codes.CAP)
        pass_s = self.clock.monotonic() - began
        if full:
            self._tell_waits(limit_w)
        self.caps.want(self.ledger.state)
        knows = not math.isnan(self.manager_seen_s)  # before the first look nobody knows who runs: caps stay, or end
        sent = self.caps.send(now_s, self.term, self.meters) if knows else 0
        if leads and looked:  # by what was seen before, a job that runs already would be told to start once more
            self.reconciler.still_lead = self.term
            self.reconciler.reconcile(now_s, self.meters.let_go_s(now_s))
            self.ledger.flush()
        measured_w, heard = self.meters.system_w(now_s, self.caps.row)
        modelled_w = self.caps.modelled_w
        if self.caps.act:  # what a machine draws without our caps says nothing of the model under them
            self.guard.compare(now_s, measured_w, modelled_w, limit_w)
        if full:
            self._account(now_s, measured_w, modelled_w, target_w)
        tick = Tick(now_s, full, target_w, limit_w, measured_w, heard, modelled_w, actions, sent, pass_s)
        if self.on_tick is not None:
            self.on_tick(tick)
        return tick

    def run(self, stop: Callable[[], bool]) -> None:
        """Turn until somebody says stop; turns that are late are left out, not made up for."""
        next_s = self.clock.now_s()
        while not stop():
            self.turn(self.clock.now_s())
            next_s += self.periods.cap_s
            now_s = self.clock.now_s()
            if next_s <= now_s:
                self.late += 1 + int((now_s - next_s) / self.periods.cap_s)
                next_s = now_s + self.periods.cap_s - (now_s - next_s) % self.periods.cap_s
            self.clock.wait_until(next_s)

    # ------------------------------------------------------------------ its parts

    def _say(self, text: str) -> None:
        if self.on_say is not None:
            self.on_say(text)

    def _listen(self, now_s: float) -> None:
        """Take in what agents and gateways say."""
        for message in self.inbox.take_all(self.bus.poll(0.0)):
            if message.kind == "status":
                self.meters.take(message.sender, message.body, min(message.at_s, now_s), message.boot)
            elif message.kind == "gone":
                self.meters.lose(message.sender)
            elif message.kind == "signal" and self.on_signal is not None:
                self.on_signal(message, now_s)

    def _look(self, now_s: float, state_s: float) -> bool:
        """Let the state follow the machine up to its time ``state_s``; tell whether the resource manager answered."""
        try:
            snapshot = self.manager.snapshot()
        except ManagerError as problem:
            self._say(f"the resource manager does not answer: {problem}")
            self._unanswered = True
            return False
        if self._unanswered:
            self._unanswered = False
            self.reconciler.wait_anew(now_s)
        self.manager_seen_s = now_s
        self.mirror.look(snapshot, self.meters.lost(now_s), state_s)
        for line in [*snapshot.notes, *self.mirror.said]:
            self._say(line)
        self.mirror.said.clear()
        return True

    def _tell_waits(self, limit_w: float) -> None:
        """Find the jobs for which the limit has no room, and say each once, as long as that is so."""
        found = no_room(self.ledger, limit_w)
        new = [job for job in found if job not in self.mirror.waits]
        for job in new[:MOST_SAID]:
            self._say(f"job {job} waits: it {found[job]}")
        if len(new) > MOST_SAID:
            self._say(
                f"{len(new) - MOST_SAID} more jobs wait: the limit of {limit_w:.0f} W has no room for any of them"
            )
        self.mirror.waits = found

    def _manager_is_gone(self, now_s: float) -> bool:
        return not now_s - self.manager_seen_s <= self.periods.manager_s

    def _envelope(self, now_s: float, *, full: bool) -> tuple[float, float]:
        """Tell the state target and limit; return the target within its ramps, and the limit that is to be kept."""
        self.guard.outside_w = self._outside_w(now_s)
        asked = None if self.signals is None else self.signals.now(now_s)
        limit_w = self.own_limit_w if asked is None or asked.limit_w >= self.most_w else asked.limit_w
        limit_w = min(limit_w, self.guard.rules.hard_w)
        self.ledger.tell(LIMIT, self.guard.limit_w(limit_w))
        if full and self.makes_bids:
            self._bid(math.nan if asked is None or asked.y is None else asked.y.value)
        bid = self.bid_at(now_s)
        if bid is None or asked is None or asked.y is None:
            self.ledger.tell(TARGET, math.nan, 0.0, math.nan)
            return math.nan, limit_w
        asked_w = bid.mean_w + bid.reserve_w * asked.y.value
        target_w = self.guard.target_w(now_s, asked_w)
        self.ledger.tell(TARGET, bid.mean_w, bid.reserve_w, target_w)
        return target_w, limit_w

    def _outside_w(self, now_s: float) -> float:
        """Return what nodes draw that are out of service and have no job: the model counts them as off."""
        out = [self.mirror.nodes.number[name] for name in self.mirror.down]
        if not out:
            return 0.0
        self.caps.want(self.ledger.state)  # who holds them now: a job may just have ended there
        watts, _ = self.meters.node_w(now_s, self.caps.row)
        return float(sum(watts[at] for at in out if self.caps.row[at] < 0))

    @property
    def makes_bids(self) -> bool:
        """Whether a bid policy makes the bids, and not a file."""
        return self.ledger.bound.options.bidding is not None

    def _bid(self, y: float) -> None:
        """Tell the bid policy what the signal is and how well it was followed, and let it speak when it is time."""
        if not math.isnan(y):
            self.ledger.tell(SIGNAL, y, self._beyond_s)
            self._beyond_s = 0.0
        state = self.ledger.state
        if self._made is None:  # as it was when the run was cut off
            self._made = BidStep(-math.inf, float(state.mean_w[0]), float(state.reserve_w[0]))
        made = self.ledger.bid()
        for line in self.ledger.failed:
            self._say(f"the bid policy failed, and there is no bid for its period: {line}")
        self.ledger.failed.clear()
        if made is not None:
            mean_w, reserve_w, next_mean_w, next_reserve_w, *_ = made
            self._made = BidStep(-math.inf, mean_w, reserve_w)
            bid = "none" if math.isnan(next_mean_w) else f"mean {next_mean_w:.0f} W, reserve {next_reserve_w:.0f} W"
            self._say(f"the bid of the next period is made: {bid}")

    def bid_at(self, now_s: float) -> BidStep | None:
        """Return the bid in force."""
        found = self._made
        for step in self.bids:
            if step.from_s <= now_s:
                found = step
        return None if found is None or math.isnan(found.mean_w) else found

    def _account(self, now_s: float, measured_w: float, modelled_w: float, target_w: float) -> None:
        """Hold power against the target; the seconds beyond the margin go by the model where power was not measured."""
        bid, since_s = self.bid_at(now_s), now_s - self._accounted_s
        self._accounted_s = now_s
        if bid is None or not bid.reserve_w > 0.0 or math.isnan(target_w):  # a bid without a signal has no target
            return
        if not math.isnan(measured_w):
            self.errors.append(abs(measured_w - target_w) / bid.reserve_w)
        if not math.isnan(modelled_w):
            self.modelled_errors.append(abs(modelled_w - target_w) / bid.reserve_w)
        drawn_w = modelled_w if math.isnan(measured_w) else measured_w
        if abs(drawn_w - target_w) > MARGIN * bid.reserve_w:  # of a longer time nobody knows
            self._beyond_s += min(since_s, 2.0 * self.periods.full_s) if since_s > 0.0 else 0.0

    def mean_error(self) -> float:
        """Return the mean tracking error of the last periods, as a part of the reserve (NaN: nothing is followed)."""
        return _mean(self.errors)

    def modelled_mean_error(self) -> float:
        """Return the same by the model, under the caps that are wanted."""
        return _mean(self.modelled_errors)

    def close(self) -> list[str]:
        """Let stopped jobs go on and let go of everything; return the jobs that could not be continued."""
        left = self.reconciler.release_all()
        self.manager.close()
        self.bus.close()
        return left


def _mean(errors: Sequence[float]) -> float:
    return sum(errors) / len(errors) if errors else math.nan
