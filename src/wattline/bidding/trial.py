"""Simulate hours of a setting under a bid: prepared once, run again for every bid that a search asks about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.bidding.outcome import Hour, Outcome
from wattline.bidding.setting import Setting, draw_jobs
from wattline.control.catalog import find
from wattline.market.bill import bill_flat
from wattline.market.tracking import tracking
from wattline.model import codes
from wattline.model.kinds import column
from wattline.model.mechanism import Mechanism
from wattline.model.regulation import Bid
from wattline.model.state.record import State
from wattline.sim.ensemble import World, in_threads
from wattline.sim.options import Options
from wattline.sim.result import running_energy_j
from wattline.sim.simulate import Policies
from wattline.units import HOUR_S

TAIL_STEP_S = 900.0
"""After the bid hour the run goes on in steps that begin with this one and double."""

Params = Mapping[str, Sequence[float]]


def policies_of(setting: Setting) -> Policies:
    """Return the mechanisms of a setting's recipe."""
    recipe = setting.recipe
    parts: dict[str, Mechanism] = {
        "order": find("order", "fcfs"),
        "select": find("select", recipe.select),
        "place": find("place", "lowest"),
        "cap": find("cap", recipe.cap),
        "learn": find("learn", "exact"),
    }
    return Policies(**parts, params=recipe.params)


class TrialHour:
    """One hour that can be simulated again and again: its jobs and its signal never change.

    A ``watched`` one logs placements and decisions too, for its journal.
    """

    def __init__(self, setting: Setting, seed: int, *, watched: bool = False) -> None:
        self.setting, self.seed = setting, seed
        kinds, protocol = setting.kinds, setting.protocol
        self.begin_s = protocol.warm(kinds)
        self.end_s = self.begin_s + HOUR_S
        self.last_s = self.end_s + protocol.tail(kinds)
        self.signal = setting.signal(self.last_s, seed)
        jobs = draw_jobs(setting, self.last_s, seed)
        options = Options(
            kinds=kinds,
            signal=self.signal,
            bids=[(0.0, Bid(setting.max_total_w, 0.0))],
            tick_s=protocol.control_s,
            start_s=0.0,
            stop_cost_s=setting.stop_cost_s,
            placements=watched,
            decisions=watched,
            log_rows=int(4 * self.last_s / protocol.control_s) + 2 * len(jobs),
        )
        self.world = World(jobs, setting.cluster, policies_of(setting), options, seed=seed)
        s = self.world.state
        self.measured = np.flatnonzero(
            (s.submit_s >= self.begin_s) & (s.submit_s < self.end_s) & (s.k_standby[s.kind] == 0)
        )
        self.kind = s.kind[self.measured]
        self._limits = column(kinds, "limit")

    def run(self, bid: Bid, weights: Floats | None = None, params: Params | None = None) -> Hour:
        """Simulate the hour under a bid."""
        world = self.world
        world.start_over(bid=bid, weights=weights, params=params)
        world.run_until(self.end_s)
        rows = world.timeline()
        followed = tracking(rows[:, codes.TL_TIME], rows[:, codes.TL_POWER], self.signal, bid, self.begin_s, self.end_s)
        busy_j, standby_j = _energies(world.state)
        step_s, now_s = TAIL_STEP_S, self.end_s
        while now_s < self.last_s and np.isnan(world.state.end_s[self.measured]).any():
            now_s, step_s = min(now_s + step_s, self.last_s), 2 * step_s
            world.run_until(now_s)
        jobs, violations = self._count()
        bill = bill_flat(followed, bid, self.setting.tariff)
        return Hour(self.seed, followed, bill, jobs, violations, standby_j, busy_j)

    def degradation(self) -> Floats:
        """Return the QoS degradation of the measured jobs in the last run (inf: never finished)."""
        s, rows = self.world.state, self.measured
        q = (s.end_s[rows] - s.submit_s[rows] - s.work[rows]) / s.work[rows]
        found: Floats = np.where(np.isnan(q), np.inf, q)
        return found

    def counted(self) -> tuple[Floats, Ints]:
        """Return QoS degradation and kind of the jobs that count in the last run: the paper's are those that
        finished.
        """
        q, kind = self.degradation(), self.kind
        if self.setting.protocol.paper:
            finished = np.isfinite(q)
            q, kind = q[finished], kind[finished]
        return q, kind

    def _count(self) -> tuple[Ints, Ints]:
        q, kind = self.counted()
        count = len(self.setting.kinds)
        return np.bincount(kind, minlength=count), np.bincount(kind[q >= self._limits[kind]], minlength=count)


def _energies(s: State) -> tuple[float, float]:
    """Return the energy that jobs have drawn so far, and the part of standby jobs."""
    joules = s.energy_j + running_energy_j(s)
    return float(joules.sum()), float(joules[s.k_standby[s.kind] == 1].sum())


class Trial:
    """Hours of a setting, kept ready for many bids."""

    def __init__(self, setting: Setting, seeds: Iterable[int]) -> None:
        self.setting = setting
        self.hours = in_threads(lambda seed: TrialHour(setting, seed), seeds)

    def run(
        self, bid: Bid, weights: Floats | None = None, params: Params | None = None, *, first: int | None = None
    ) -> Outcome:
        """Simulate all hours (or the ``first`` few) under a bid."""
        hours = self.hours[:first]
        return Outcome(self.setting.kinds, in_threads(lambda hour: hour.run(bid, weights, params), hours))


def fresh(
    setting: Setting, seeds: Iterable[int], bid: Bid, weights: Floats | None = None, params: Params | None = None
) -> Outcome:
    """Simulate hours under one bid and keep nothing but what they came to."""
    return Outcome(setting.kinds, in_threads(lambda seed: TrialHour(setting, seed).run(bid, weights, params), seeds))
