"""What a bid is made for: machine, kinds of job, policies, signal, prices, and what *one hour* means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wattline.bidding.hours.laws import GaussianLaw, SignalLaw
from wattline.control.catalog import find
from wattline.generate.kinds import check_kinds
from wattline.market.bill import Book, flat_book
from wattline.market.held import Held, cut
from wattline.market.span import average
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.kinds import Kind
from wattline.model.lateness import Lateness
from wattline.model.regulation import Record
from wattline.reading.notes import Note
from wattline.units import HOUR_S
from wattline.wiring.policies import Policies


@dataclass(frozen=True)
class Protocol:
    """What *one hour* means; it decides who wins.

    The default: warm up until stationary (at least an hour and twice the longest run time), measure the jobs that
    arrive in the bid hour, run on until they have finished or must have missed their limit. ``paper``: an empty
    machine, and only jobs that finish within the hour count.
    """

    paper: bool = False
    control_s: float = 1.0
    warm_s: float | None = None

    def warm(self, kinds: tuple[Kind, ...]) -> float:
        """Return the seconds before the bid hour, a whole number of hours (a signal may be neutral by the hour)."""
        if self.paper:
            return 0.0
        wanted = max(HOUR_S, 2.0 * max(k.work_s for k in kinds)) if self.warm_s is None else self.warm_s
        return HOUR_S * math.ceil(wanted / HOUR_S)

    def tail(self, kinds: tuple[Kind, ...]) -> float:
        """Return the seconds after the bid hour in which every job must finish or has missed its limit."""
        if self.paper:
            return 0.0
        finite = [(1.0 + k.limit) * k.work_s * k.stretch for k in kinds if math.isfinite(k.limit)]
        return HOUR_S * math.ceil(max(finite, default=HOUR_S) / HOUR_S)


@dataclass(frozen=True)
class Prices:
    """What hours are charged: the book of a run, and when the hours that it bills begin on the book's clock."""

    book: Book = field(default_factory=flat_book)
    hours_s: tuple[float, ...] = (0.0,)

    def average(self) -> dict[str, float]:
        """Return the price of every key of the product, on average over the billed hours."""
        edges = [(begin_s, begin_s + HOUR_S) for begin_s in self.hours_s]
        series = self.book.series()
        return {name: float(np.mean([_mean(held, *span) for span in edges])) for name, held in series.items()}

    def of_hour(self, number: int, begin_s: float) -> Book:
        """Return the book for a tried hour that begins at a time: it is charged as one of the billed hours, in turn."""
        return self.book.shifted(begin_s - self.hours_s[number % len(self.hours_s)])


@dataclass(frozen=True)
class Setting:
    """Everything about an hour but the bid: machine, kinds, policies, signal, prices."""

    kinds: tuple[Kind, ...]
    cluster: Cluster
    policies: Policies
    signal: SignalLaw = field(default_factory=GaussianLaw)
    protocol: Protocol = field(default_factory=Protocol)
    prices: Prices = field(default_factory=Prices)
    stop_cost_s: float = 0.0
    burst: float = 0.0
    """Arrivals in bursts: every kind's rate swings by this part up and down, in spells of ten minutes (0: Poisson)."""
    late: Lateness = field(default_factory=Lateness)
    """How late the machine is: a bid is made for the machine as it is."""
    name: str = ""
    """What its policies are called in tables."""
    records: tuple[Record, ...] = ()
    """Recorded days on which bids are searched and tested, instead of hours of the signal's law."""
    doubts: tuple[str, ...] = ()
    """Why nothing can be certified on this signal, whatever the rates are."""
    searched: frozenset[str] = frozenset()
    """Those of the records on which a given bid was searched, by what tells them apart."""
    notes: tuple[Note, ...] = ()
    """What was done to the records when they were read."""
    taken: str = ""
    """A line on what a drawn signal takes from recorded ones ("": nothing)."""

    def __post_init__(self) -> None:
        check_kinds(self.kinds, self.nodes)

    @classmethod
    def alike(
        cls, kinds: tuple[Kind, ...], nodes: int, idle_w: float, max_w: float, select: str = "slackline", **more: Any
    ) -> Setting:
        """Return the setting of a machine whose nodes are alike, with one of the policies that follow a target."""
        lowest_w = min(max_w, *(k.floor_w for k in kinds))
        cluster = Cluster((NodeClass("node", nodes, idle_w, max_w, min_cap_w=lowest_w),))
        policies = following(select, params=more.pop("params", None))
        return cls(kinds, cluster, policies, **{"name": select, **more})

    @property
    def nodes(self) -> int:
        """Nodes of the machine."""
        return self.cluster.nodes

    @cached_property
    def idle_total_w(self) -> float:
        """Power of the empty machine."""
        return sum(c.count * c.idle_w for c in self.cluster.classes)

    @cached_property
    def max_total_w(self) -> float:
        """Greatest power of the machine."""
        return sum(c.count * c.max_w for c in self.cluster.classes)

    @property
    def idle_w(self) -> float:
        """Idle power of a node, on average over the classes."""
        first = self.cluster.classes[0]
        return first.idle_w if len(self.cluster.classes) == 1 else self.idle_total_w / self.nodes

    def load_w(self, *, capped: bool = False) -> float:
        """Return the mean power the jobs ask for above idle, without caps or at the lowest caps."""
        watts = 0.0
        for kind in self.kinds:
            power_w, time_s = (kind.floor_w, kind.work_s * kind.stretch) if capped else (kind.draw_w, kind.work_s)
            watts += kind.arrival_per_s * kind.nodes * time_s * (power_w - self.idle_w)
        return watts


def _mean(held: Held, begin_s: float, end_s: float) -> float:
    edges, (values,) = cut(begin_s, end_s, [held])
    return average(values, np.diff(edges))


def following(
    select: str, cap: str = "match-target", params: Mapping[str, Mapping[str, float]] | None = None
) -> Policies:
    """Return policies that follow a power target: first come first served, lowest nodes, times known."""
    return Policies(
        order=find("order", "fcfs"),
        select=find("select", select),
        place=find("place", "lowest"),
        cap=find("cap", cap),
        learn=find("learn", "exact"),
        params=params or {},
    )
