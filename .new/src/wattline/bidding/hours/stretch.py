"""Some hours on end that can be simulated under one bid after another: their jobs and their signal never change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.bidding.hours.outcome import DRAWN, PLACES, Hour
from wattline.bidding.hours.params import Params
from wattline.bidding.hours.setting import Setting
from wattline.errors import InputError
from wattline.generate.kinds import draw_jobs
from wattline.market.bill import bill_tried
from wattline.market.tracking import Tracking, tracking
from wattline.model import codes
from wattline.model.kinds import column
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.model.state.record import State
from wattline.sim.ensemble import World
from wattline.units import HOUR_S
from wattline.wiring.options import Options
from wattline.wiring.tables import running_energy_j

TAIL_STEP_S = 900.0
"""After the bid hours the run goes on in steps that begin with this one and double."""


MOST_ROWS = 131_072
"""Rows that a log holds before it is emptied: those of an hour fit, those of days come in parts."""


class Stretch:
    """Hours on end, from ``begin_s`` to ``end_s``, with time to warm up before and to finish jobs after.

    ``signal`` lasts from time 0 to the end of all. ``record`` is the number of the recorded day that it is of, and
    ``missing`` tells which of its hours touch missing signal. Hours are charged as those of a run from ``first_hour``
    on, the seed of a drawn hour. A ``watched`` one logs placements and decisions too, for
    its journal.
    """

    def __init__(
        self,
        setting: Setting,
        signal: Signal,
        count: int,
        seed: int,
        *,
        record: int = DRAWN,
        missing: Sequence[bool] = (),
        first_hour: int | None = None,
        watched: bool = False,
    ) -> None:
        self.setting, self.signal, self.seed, self.record = setting, signal, seed, record
        self.missing = list(missing) or [False] * count
        self.busy = Lock()
        """Held while it is simulated, where several searches share it."""
        self.first_hour = seed if first_hour is None else first_hour
        kinds, protocol = setting.kinds, setting.protocol
        self.begin_s = protocol.warm(kinds)
        self.end_s = self.begin_s + count * HOUR_S
        self.last_s = self.end_s + protocol.tail(kinds)
        self.edges_s = self.begin_s + HOUR_S * np.arange(count + 1)
        jobs = draw_jobs(kinds, setting.nodes, self.last_s, seed, burst=setting.burst)
        options = Options(
            kinds=kinds,
            signal=signal,
            bids=[(0.0, Bid(setting.max_total_w, 0.0))],
            tick_s=protocol.control_s,
            start_s=0.0,
            bidding=Bidding(self.begin_s) if setting.policies.bid.wake & codes.BIDDING else None,
            stop_cost_s=setting.stop_cost_s,
            placements=watched,
            decisions=watched,
            log_rows=min(int(4 * self.last_s / protocol.control_s) + 2 * len(jobs), MOST_ROWS),
            **setting.late.options(),
        )
        self.world = World(jobs, setting.cluster, setting.policies, options, seed=seed)
        s = self.world.state
        self.measured = np.flatnonzero(
            (s.submit_s >= self.begin_s) & (s.submit_s < self.end_s) & (s.k_standby[s.kind] == 0)
        )
        self.kind = s.kind[self.measured]
        self._hour = ((s.submit_s[self.measured] - self.begin_s) // HOUR_S).astype(np.int64).clip(0, count - 1)
        self._limits = column(kinds, "limit")

    @property
    def is_day(self) -> bool:
        """Whether it is a recorded day."""
        return self.record != DRAWN

    def run(self, bid: Bid, weights: Floats | None = None, params: Params | None = None) -> list[Hour]:
        """Simulate under a bid; return what every hour came to.

        With parameters of a bid policy, that policy makes the bid of every hour, and ``bid`` holds until the first.
        """
        world, count = self.world, self.edges_s.size - 1
        bidding = "bid" in (params or {})
        world.start_over(bid=bid, weights=weights, params=params, bidding=bidding)
        time_s, power_w = self._through_the_hours()
        busy_j, standby_j = (joules / count for joules in _energies(world.state))
        step_s, now_s = TAIL_STEP_S, self.end_s
        while now_s < self.last_s and np.isnan(world.state.end_s[self.measured]).any():
            now_s, step_s = min(now_s + step_s, self.last_s), 2 * step_s
            world.run_until(now_s)
        jobs, violations, curve = self._count()
        bids = self._made() if bidding else [bid] * count
        found = []
        for k, (begin_s, end_s, here) in enumerate(self._rows_of_hours(time_s)):
            followed = tracking(time_s[here], power_w[here], self.signal, bids[k], begin_s, end_s)
            book = self.setting.prices.of_hour(self.first_hour + k, begin_s)
            bill = bill_tried(followed, bids[k], book, time_s[here], power_w[here], self.signal, begin_s)
            counts = jobs[k], violations[k], standby_j, busy_j
            more = self.record, self.missing[k], bids[k].reserve_w, curve[:, k]
            found.append(Hour(self.seed, followed, bill, *counts, *more))
        return found

    def follow(self, bid: Bid, weights: Floats | None = None) -> list[Tracking]:
        """Simulate under a bid up to the end of the last hour; return how its target was followed, and no more."""
        self.world.start_over(bid=bid, weights=weights, bidding=False)
        time_s, power_w = self._through_the_hours()
        return [
            tracking(time_s[here], power_w[here], self.signal, bid, begin_s, end_s)
            for begin_s, end_s, here in self._rows_of_hours(time_s)
        ]

    def _through_the_hours(self) -> tuple[Floats, Floats]:
        """Simulate up to the end of the last hour; return the steps of power."""
        self.world.run_until(self.end_s)
        rows = self.world.timeline()
        return rows[:, codes.TL_TIME].copy(), rows[:, codes.TL_POWER].copy()  # the log may be emptied later

    def _rows_of_hours(self, time_s: Floats) -> Iterator[tuple[float, float, slice]]:
        """Yield every hour: when it begins and ends, and the steps of power that hold in it."""
        for begin_s, end_s in zip(self.edges_s[:-1].tolist(), self.edges_s[1:].tolist(), strict=True):
            first, last = (int(np.searchsorted(time_s, t, side="right")) for t in (begin_s, end_s))
            yield begin_s, end_s, slice(max(0, first - 1), last)

    def _made(self) -> list[Bid]:
        """Return the bid that the bid policy made for every hour of the last run."""
        time_s, mean_w, reserve_w = self.world.simulation.bids()
        rows = np.searchsorted(time_s, self.edges_s[:-1], side="right") - 1
        if np.isnan(mean_w[rows]).any():
            raise InputError("the bid policy made no bid for an hour, or one that the machine cannot keep")
        return [Bid(float(mean_w[i]), float(reserve_w[i])) for i in rows]

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
        q, rows = self._counted()
        return q[rows], self.kind[rows]

    def _counted(self) -> tuple[Floats, Ints]:
        q = self.degradation()
        return q, np.flatnonzero(np.isfinite(q)) if self.setting.protocol.paper else np.arange(q.size)

    def _count(self) -> tuple[Ints, Ints, Ints]:
        """Return the jobs that count, those that reached their limit (hours × kinds), and those that reached each of
        some parts of it (places × hours × kinds).
        """
        q, rows = self._counted()
        shape = (self.edges_s.size - 1, len(self.setting.kinds))
        place = np.ravel_multi_index((self._hour, self.kind), shape)
        size = shape[0] * shape[1]
        limits = self._limits[self.kind[rows]]
        late = rows[q[rows] >= limits]
        jobs, violations = (np.bincount(place[these], minlength=size).reshape(shape) for these in (rows, late))
        with np.errstate(invalid="ignore"):  # degradation without end, or no limit: reached, or never
            reached = np.searchsorted(PLACES, q[rows] / limits, side="right")
        met = np.bincount(place[rows] * (PLACES.size + 1) + reached, minlength=size * (PLACES.size + 1))
        by_place = met.reshape(*shape, PLACES.size + 1)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
        return jobs, violations, np.moveaxis(by_place[:, :, 1:], 2, 0)


def _energies(s: State) -> tuple[float, float]:
    """Return the energy that jobs have drawn so far, and the part of standby jobs."""
    joules = s.energy_j + running_energy_j(s)
    return float(joules.sum()), float(joules[s.k_standby[s.kind] == 1].sum())
