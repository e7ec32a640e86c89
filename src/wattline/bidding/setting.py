"""What a bid is made for: machine, kinds of job, policies, signal, prices, and what *one hour* means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError
from wattline.generate.laws import require_jobs
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.market.tariff import Tariff
from wattline.model.cluster import Cluster, NodeClass
from wattline.model.jobs import JobTable
from wattline.model.kinds import Kind, column
from wattline.model.regulation import Signal
from wattline.units import HOUR_S

SPELL_S = 600.0
"""How long rates stay high or low where arrivals come in bursts."""

SignalLaw = Callable[[float, int], Signal]
"""Makes a signal from time 0 on, of a given length in seconds, from a seed."""


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
class Recipe:
    """A runtime policy by its parts, with parameters by slot, and what it is called in tables."""

    name: str
    select: str
    cap: str = "match-target"
    params: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


AQA = Recipe("AQA", "gps")
TRACKING_ONLY = Recipe("Tracking-only", "tracking-only")
ENERGYQARE = Recipe("EnergyQARE", "energyqare")
SLACKLINE = Recipe("Slackline", "slackline")


@dataclass(frozen=True)
class GaussianLaw:
    """The law of the generated signal: mean-reverting, Gaussian, energy-neutral by the hour unless told otherwise."""

    std: float = 0.40
    time_constant_s: float = 200.0
    step_s: float = 2.0
    energy_neutral: bool = True

    def __call__(self, duration_s: float, seed: int) -> Signal:
        """Draw a signal."""
        return generate_signal(GaussianSignal(duration_s, **vars(self), seed=seed))


@dataclass(frozen=True, eq=False)
class RecordedLaw:
    """The law that plays a recorded signal from a place that the seed picks, over and over.

    Whatever the seeds, all hours come from one record, and they overlap: hours of other days are not among them.
    """

    signal: Signal

    def __call__(self, duration_s: float, seed: int) -> Signal:
        """Cut a stretch out of the record."""
        step_s, values = self.signal.step_s, self.signal.values
        first = int(np.random.default_rng([seed, 4]).integers(values.size))
        return Signal(0.0, step_s, np.take(values, first + np.arange(math.ceil(duration_s / step_s)), mode="wrap"))


def recorded(signal: Signal) -> SignalLaw:
    """Return the law that plays a recorded signal."""
    return RecordedLaw(signal)


@dataclass(frozen=True)
class Setting:
    """Everything about an hour but the bid: nodes, their idle and greatest power, kinds, policy, signal, prices."""

    kinds: tuple[Kind, ...]
    nodes: int
    idle_w: float
    max_w: float
    recipe: Recipe = SLACKLINE
    signal: SignalLaw = field(default_factory=GaussianLaw)
    protocol: Protocol = field(default_factory=Protocol)
    tariff: Tariff = field(default_factory=Tariff)
    stop_cost_s: float = 0.0
    burst: float = 0.0
    """Arrivals in bursts: every kind's rate swings by this part up and down, in spells of ten minutes (0: Poisson)."""

    def __post_init__(self) -> None:
        if not any(not kind.standby for kind in self.kinds):
            raise InputError("a bid needs at least one kind of job that is not standby")
        for kind in self.kinds:
            if kind.nodes > self.nodes:
                raise InputError(f"kind {kind.name!r} needs {kind.nodes} nodes, the machine has {self.nodes}")
            if not kind.standby and not kind.arrival_per_s > 0:
                raise InputError(f"kind {kind.name!r} never arrives: give it an arrival rate above 0, or leave it out")

    @property
    def on_record(self) -> bool:
        """Whether all hours are cut out of one recorded signal, those of a search as those of a certificate."""
        return isinstance(self.signal, RecordedLaw)

    @property
    def cluster(self) -> Cluster:
        """The machine."""
        lowest_w = min(self.max_w, *(k.floor_w for k in self.kinds))
        return Cluster((NodeClass("node", self.nodes, self.idle_w, self.max_w, min_cap_w=lowest_w),))

    @property
    def idle_total_w(self) -> float:
        """Power of the empty machine."""
        return self.nodes * self.idle_w

    @property
    def max_total_w(self) -> float:
        """Greatest power of the machine."""
        return self.nodes * self.max_w

    def load_w(self, *, capped: bool = False) -> float:
        """Return the mean power the jobs ask for above idle, without caps or at the lowest caps."""
        watts = 0.0
        for kind in self.kinds:
            power_w, time_s = (kind.floor_w, kind.work_s * kind.stretch) if capped else (kind.draw_w, kind.work_s)
            watts += kind.arrival_per_s * kind.nodes * time_s * (power_w - self.idle_w)
        return watts


def draw_jobs(setting: Setting, horizon_s: float, seed: int) -> JobTable:
    """Draw the jobs of a stretch of time: arrivals of every kind by a Poisson process (or bursts), standby jobs at
    once.

    Standby jobs are endless: one chain of them a node, each link entering the queue when the one before it ends.
    """
    require_jobs(sum(_expected(kind, setting.nodes, horizon_s) for kind in setting.kinds) + horizon_s / SPELL_S)
    random = np.random.default_rng([seed, 3])
    submit: list[Floats] = []
    kind_of: list[Ints] = []
    after: list[Ints] = []
    rows = 0
    for k, kind in enumerate(setting.kinds):
        if kind.standby:
            links = math.ceil(horizon_s / kind.work_s) + 1
            chains = setting.nodes // kind.nodes
            previous = np.arange(rows, rows + links * chains).reshape(links, chains) - chains
            previous[0] = -1
            times, before = np.zeros(links * chains), previous.ravel()
        else:
            times = _arrivals(random, kind.arrival_per_s, horizon_s, setting.burst)
            before = np.full(times.size, -1)
        submit.append(times)
        kind_of.append(np.full(times.size, k, dtype=np.int64))
        after.append(before)
        rows += times.size
    which = np.concatenate(kind_of).astype(np.int64)
    work_s, draw_w, floor_w, stretch = (
        column(setting.kinds, name)[which] for name in ("work_s", "draw_w", "floor_w", "stretch")
    )
    return JobTable.build(
        submit_s=np.concatenate(submit),
        work_s=work_s,
        nodes=column(setting.kinds, "nodes")[which],
        kind=which,
        after=np.concatenate(after),
        request_s=work_s,
        draw_w=draw_w,
        floor_w=floor_w,
        stretch=stretch,
        kinds=tuple(kind.name for kind in setting.kinds),
    )


def _expected(kind: Kind, nodes: int, horizon_s: float) -> float:
    """Return how many jobs of a kind there will be, on average."""
    return (horizon_s / kind.work_s + 2) * (nodes // kind.nodes) if kind.standby else kind.arrival_per_s * horizon_s


def _arrivals(random: np.random.Generator, rate_per_s: float, horizon_s: float, burst: float) -> Floats:
    spells = math.ceil(horizon_s / SPELL_S)
    swing = 1.0 + burst * np.where(random.random(spells) < 0.5, 1.0, -1.0) if burst else np.ones(spells)
    counts = random.poisson(rate_per_s * SPELL_S * swing)
    first = np.repeat(np.arange(spells) * SPELL_S, counts)
    times = np.sort(first + SPELL_S * random.random(int(counts.sum())))
    inside: Floats = times[times < horizon_s]
    return inside
