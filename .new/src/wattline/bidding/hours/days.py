"""Days under changing bids: a workload simulated with a power policy and a bid policy (or one bid), and what it came
to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.control.catalog import find
from wattline.errors import InputError
from wattline.market.bill import Bids, Book, bill_flat, bill_hours, flat_book
from wattline.market.tracking import SHARE, Tracking, tracking
from wattline.model import codes
from wattline.model.cluster import Cluster
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.sim.ensemble import World
from wattline.units import HOUR_S, in_full
from wattline.wiring.options import Options
from wattline.wiring.policies import Policies

GIVEN, NONE = "given", "none"
"""Bids of a pair that no policy makes: one that is handed over, or none, which is to take part in no market."""


@dataclass(frozen=True)
class Days:
    """A workload and the stretch of it that counts: hours from ``begin_s`` to ``end_s``, jobs that arrive in them.

    What comes before warms the machine up; what comes after lets the counted jobs finish, up to ``last_s``.
    """

    name: str
    kinds: tuple[Kind, ...]
    jobs: JobTable
    cluster: Cluster
    signal: Signal
    begin_s: float
    end_s: float
    last_s: float
    book: Book = field(default_factory=flat_book)
    """Rules and prices."""
    control_s: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.begin_s < self.end_s <= self.last_s:
            raise InputError(
                f"{self.name}: counted time must lie within the run, got {in_full(self.begin_s)} … "
                f"{in_full(self.end_s)} s"
            )
        if not self.signal.covers(0.0, self.last_s):
            raise InputError(
                f"{self.name}: the signal ends at {in_full(self.signal.end_s)} s, before the run at "
                f"{in_full(self.last_s)} s"
            )


@dataclass(frozen=True)
class Pair:
    """A power policy and a bid policy, with their parameters by slot."""

    name: str
    select: str
    bid: str = GIVEN
    cap: str = "match-target"
    params: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class DayHour:
    """One counted hour: its bid (None: out of the market), how the target was followed, its mean power and its bill."""

    begin_s: float
    bid: Bid | None
    tracking: Tracking
    cost: float


@dataclass(frozen=True)
class DayOutcome:
    """What the counted hours and jobs came to."""

    pair: str
    kinds: tuple[Kind, ...]
    hours: Sequence[DayHour]
    count: Ints
    """counted jobs of every kind"""
    degradation: Floats
    """their mean QoS degradation (NaN: no job); a job that has not finished counts with what it has so far"""
    missed: Floats
    """share of them that reached the limit"""
    unfinished: int

    @property
    def cost(self) -> float:
        """Bill of the counted hours."""
        return float(sum(hour.cost for hour in self.hours))

    @property
    def energy_kwh(self) -> float:
        """Energy drawn in them."""
        return float(sum(hour.tracking.energy_j for hour in self.hours)) / 3.6e6

    @property
    def exceed(self) -> float:
        """Share of the time in the market in which the tracking error exceeded its margin."""
        shares = [h.tracking.exceed_share for h in self.hours if h.bid is not None and h.tracking.applies]
        return float(np.mean(shares)) if shares else 0.0

    @property
    def error(self) -> float:
        """Mean tracking error of the time in the market."""
        errors = [h.tracking.mean_error for h in self.hours if h.bid is not None and h.tracking.applies]
        return float(np.mean(errors)) if errors else 0.0

    @property
    def worst(self) -> float:
        """Largest average QoS degradation over the kinds."""
        return float(np.nanmax(self.degradation)) if np.isfinite(self.degradation).any() else 0.0

    @property
    def worst_kind(self) -> str:
        """Its name."""
        return self.kinds[int(np.nanargmax(self.degradation))].name if np.isfinite(self.degradation).any() else ""

    def excess(self, share: float = SHARE) -> float:
        """Return the sum of relative violations of the tracking and the QoS constraints (0: all met)."""
        over = max(0.0, self.exceed / share - 1.0)
        for kind, average, missed in zip(self.kinds, self.degradation, self.missed, strict=True):
            if kind.standby or not np.isfinite(kind.limit) or np.isnan(average):
                continue
            over += max(0.0, average / kind.limit - 1.0) if kind.average else max(0.0, missed / kind.share - 1.0)
        return over

    @property
    def meets(self) -> bool:
        """Whether all constraints are met."""
        return bool(self.excess() == 0.0)


class DayTrial:
    """A stretch of days that can be simulated again and again with one pair of policies."""

    def __init__(self, days: Days, pair: Pair, *, seed: int = 0) -> None:
        self.days, self.pair = days, pair
        policies = Policies(
            order=find("order", "fcfs"),
            select=find("select", pair.select),
            place=find("place", "lowest"),
            cap=find("cap", pair.cap),
            learn=find("learn", "exact"),
            bid=find("bid", GIVEN if pair.bid == NONE else pair.bid),
            params=pair.params,
        )
        max_w = sum(c.count * c.max_w for c in days.cluster.classes)
        options = Options(
            kinds=days.kinds,
            signal=days.signal,
            tick_s=days.control_s,
            start_s=0.0,
            placements=False,
            decisions=False,
            bids=[(0.0, Bid(max_w, 0.0))] if pair.bid == GIVEN else [],
            bidding=None if pair.bid in (GIVEN, NONE) else Bidding(0.0),
        )
        self.world = World(days.jobs, days.cluster, policies, options, seed=seed)
        s = self.world.state
        self.counted = np.flatnonzero(
            (s.submit_s >= days.begin_s) & (s.submit_s < days.end_s) & (s.k_standby[s.kind] == 0)
        )

    def run(self, bid: Bid | None = None) -> DayOutcome:
        """Simulate; a bid holds throughout where the pair's bids are given."""
        world, days = self.world, self.days
        world.start_over(bid=bid)
        world.run_until(days.end_s)
        hours = self._hours()
        now_s = days.end_s
        while now_s < days.last_s and np.isnan(world.state.end_s[self.counted]).any():
            now_s = min(now_s + 6 * HOUR_S, days.last_s)
            world.run_until(now_s)
        return self._outcome(hours)

    def _hours(self) -> list[DayHour]:
        rows, days = self.world.timeline(), self.days
        time_s, power_w = rows[:, codes.TL_TIME], rows[:, codes.TL_POWER]
        from_s, mean_w, reserve_w = self.world.simulation.bids()
        edges = np.append(np.arange(days.begin_s, days.end_s, HOUR_S), days.end_s)
        bills = None
        if not days.book.flat:
            bids = Bids(from_s, mean_w, reserve_w) if from_s.size else None
            bills = bill_hours(time_s, power_w, edges, days.book, signal=days.signal, bids=bids)
        found = []
        for i, (begin_s, end_s) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
            at = int(np.searchsorted(from_s, begin_s, side="right")) - 1
            first, last = (int(np.searchsorted(time_s, t, side="right")) for t in (begin_s, end_s))
            here = slice(max(0, first - 1), last)
            bid = None if at < 0 or np.isnan(mean_w[at]) else Bid(float(mean_w[at]), float(reserve_w[at]))
            followed = tracking(time_s[here], power_w[here], days.signal, bid or Bid(1.0, 0.0), begin_s, end_s)
            cost = bill_flat(followed, bid, days.book).cost if bills is None else bills[i].cost
            found.append(DayHour(begin_s, bid, followed, cost))
        return found

    def _outcome(self, hours: list[DayHour]) -> DayOutcome:
        s, rows, kinds = self.world.state, self.counted, self.days.kinds
        end_s = np.where(np.isnan(s.end_s[rows]), np.maximum(s.now[0], s.submit_s[rows] + s.work[rows]), s.end_s[rows])
        q = (end_s - s.submit_s[rows] - s.work[rows]) / np.maximum(s.work[rows], 1.0)
        kind, limit = s.kind[rows], s.k_limit[s.kind[rows]]
        count = np.bincount(kind, minlength=len(kinds))
        with np.errstate(invalid="ignore"):
            mean = np.bincount(kind, weights=q, minlength=len(kinds)) / count
            missed = np.bincount(kind, weights=(q >= limit).astype(float), minlength=len(kinds)) / count
        return DayOutcome(self.pair.name, kinds, hours, count, mean, missed, int(np.isnan(s.end_s[rows]).sum()))


def fixed_search(
    trial: DayTrial, *, points: int = 20, progress: Callable[[int, int], None] | None = None
) -> tuple[Bid, DayOutcome]:
    """Return the cheapest bid of a grid that meets all constraints on the days of a trial (FES), or the least
    violating.

    Mean powers divide the way from idle to where every node draws what the hungriest job does, reserves half of it.
    """
    grid = fixed_grid(trial.days, points)
    outcomes = []
    for i, bid in enumerate(grid):
        outcomes.append(trial.run(bid))
        if progress is not None:
            progress(i + 1, len(grid))
    best = min(range(len(grid)), key=lambda i: (outcomes[i].excess(), outcomes[i].cost))
    return grid[best], outcomes[best]


def fixed_grid(days: Days, points: int = 20) -> list[Bid]:
    """Return the grid of bids that FES looks at."""
    idle_w = sum(c.count * c.idle_w for c in days.cluster.classes)
    max_w = sum(c.count * c.max_w for c in days.cluster.classes)
    most_w = max((float(np.max(days.jobs.draw_w)) if len(days.jobs) else max_w), 1.0)
    most_w = min(max_w, most_w * days.cluster.nodes)
    means = idle_w + (most_w - idle_w) * np.arange(1, points + 1) / points
    reserves = 0.5 * (most_w - idle_w) * np.arange(1, points + 1) / points
    return [Bid(float(mean_w), float(reserve_w)) for mean_w in means for reserve_w in reserves]
