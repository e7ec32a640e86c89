"""Quantile bids: reach by hand, the cheapest bid of a grid by brute force, and a distribution made of the past
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import pytest

from engine.regulated import FIRM, SMALL, WIDE, machine, options, signal, table_of, waiting
from engine.worlds import policies
from wattline.arrays import Floats
from wattline.control.catalog import find
from wattline.model import codes
from wattline.model.jobs import JobTable
from wattline.model.regulation import Bid, Bidding, Signal
from wattline.model.state.record import State
from wattline.sim.simulate import Simulation
from wattline.wiring.options import Options

KINDS = (SMALL, WIDE, FIRM)
BINS, KEPT, STAND_IN = 64, 0.97, 100.0
CENTRES = (2 * np.arange(BINS) + 1) / BINS - 1
SHARE = find("bid", "quantile").params["share"].default or 0.0
EASE = find("bid", "quantile").params["ease"].default or 0.0


CUT_Z = NormalDist().inv_cdf(0.5 + 0.5 * (1 - 0.07) * (2 * NormalDist().cdf(1 / 0.4) - 1))
"""What a normal law of standard deviation 0.4, cut at ±1, exceeds on either side for 7 % of the time, in standard
deviations.
"""


def normal(std: float = 0.4) -> Floats:
    """Return the weights that stand in before the signal was seen."""
    weights: Floats = np.exp(-0.5 * (CENTRES / std) ** 2)
    return STAND_IN * weights / weights.sum()


def left_s(s: State, j: int) -> float:
    """Return the time that a job still needs at full speed."""
    if s.status[j] != codes.RUNNING:
        return float(s.remaining[j])
    c = s.rate_class[j]
    return max(0.0, float(s.v_end[j] - (s.c_v0[c] + s.c_rate[c] * (s.now[0] - s.c_t0[c]))))


def degradation(s: State, j: int) -> float:
    """Return the QoS degradation of a job if it ran at full speed from now on."""
    return float((s.now[0] - s.submit_s[j] + left_s(s, j) - s.work[j]) / s.work[j])


def averages(s: State) -> dict[int, float]:
    """Return the mean of it over the jobs present, by kind."""
    present = [*waiting(s), *(int(j) for j in s.running[: s.n_running[0]])]
    by_kind: dict[int, list[float]] = {}
    for j in present:
        by_kind.setdefault(int(s.kind[j]), []).append(degradation(s, j))
    return {k: float(np.mean(values)) for k, values in by_kind.items()}


def reach(s: State, ahead_s: float) -> tuple[float, float]:
    """Return low and high, added up node by node, now or some time ahead."""
    average = averages(s)
    here, free = [], int(s.free[0])
    for j in (int(j) for j in s.running[: s.n_running[0]]):
        if ahead_s and s.estimate_s[j] - (s.work[j] - left_s(s, j)) <= ahead_s:
            free += int(s.nodes[j])
        else:
            here.append(j)
    for j in waiting(s):
        if s.nodes[j] <= free:
            free -= int(s.nodes[j])
            here.append(j)
    low = high = free * float(s.idle_w[0])
    for j in here:
        late = max(average[int(s.kind[j])], degradation(s, j)) > s.k_limit[s.kind[j]]
        high += float(s.nodes[j] * s.draw_w[j])
        low += float(s.nodes[j] * (s.draw_w[j] if late else max(s.min_cap_w[0], s.floor_w[j])))
    return low, high


def need(s: State) -> float:
    """Return how far the worst kind is on its way from ``ease`` to its limit."""
    worst = max((average / s.k_limit[k] for k, average in averages(s).items()), default=0.0)
    return float(np.clip((worst - EASE) / (1 - EASE), 0, 1))


def cheapest(s: State, weights: Floats, *, strict: bool = True, margin: float = 0.3) -> Bid | None:
    """Return the cheapest bid of the whole grid that misses no more than the tolerated share, at 0.1 $/kWh for
    everything.
    """
    ranges = [reach(s, 0.0), reach(s, float(s.bid_lead_s[0] + s.bid_every_s[0]))]
    (low, high), ahead = ranges[0], need(s)
    if high <= low:
        return None
    mean = low + (0.5 * ahead + (1 - 0.5 * ahead) * np.arange(21) / 20)[:, None, None] * (high - low)
    reserve = (4.0 * np.arange(1, 81) / 80 * 0.5 * (high - low))[None, :, None]
    target = mean + CENTRES * reserve
    gaps = [np.maximum(np.maximum(a - target, target - b), 0.0) for a, b in ranges]
    missed = sum(((gap > margin * reserve) * weights).sum(axis=2) for gap in gaps) / 2 / weights.sum()
    error = sum((gap * weights).sum(axis=2) for gap in gaps) / 2 / weights.sum()
    cost = 0.1 * mean[:, :, 0] - 0.1 * reserve[:, :, 0] + 0.1 * error
    possible = missed <= SHARE
    if strict:
        idle, most = float(s.pool_count[0] * s.idle_w[0]), float(s.pool_count[0] * s.max_w[0])
        possible &= ((mean - reserve >= idle) & (mean + reserve <= most))[:, :, 0]
    if not possible.any():
        return None
    d, r = np.unravel_index(int(np.argmin(np.where(possible, cost, np.inf))), cost.shape)
    return Bid(float(mean[d, 0, 0]), float(reserve[0, r, 0]))


@dataclass(frozen=True)
class Made:
    """A bid as the policy made it, and what plain Python says of the state it was made in."""

    now_s: float
    bid: Bid | None
    cheapest: Bid | None
    reach: tuple[float, float]
    need: float
    bins: Floats
    weights: Floats


class Watched(Simulation):
    """A run that keeps all this of every bid; ``params`` are the bid policy's."""

    def __init__(self, jobs: JobTable, how: Options, params: Mapping[str, float] | None = None) -> None:
        chosen = policies({"bid": params or {}}, select="qoscap", cap="match-target", bid="quantile", learn="exact")
        super().__init__(jobs, machine(), chosen, how)
        self.strict, self.margin = (params or {}).get("strict", 1.0) == 1.0, (params or {}).get("margin", 0.3)
        self.weights, self.seen = normal(), 0
        self.made: list[Made] = []

    def make_bid(self) -> None:
        """Watch a bid being made."""
        s = self.state
        past = int(np.sum(s.signal_from_s[0] + s.signal_step_s[0] * np.arange(s.signal.size) <= s.now[0]))
        self.weights = self.weights * (KEPT if self.made and past > self.seen else 1.0)
        for y in s.signal[self.seen : past]:
            self.weights[min(BINS - 1, int((y + 1) / 2 * BINS))] += 1
        self.seen = max(1, past)
        best = cheapest(s, self.weights, strict=self.strict, margin=self.margin)
        before = float(s.now[0]), best, reach(s, 0.0), need(s)
        super().make_bid()
        bid = None if np.isnan(s.want_mean_w[0]) else Bid(float(s.want_mean_w[0]), float(s.want_reserve_w[0]))
        bins = self.memory[codes.BID][:BINS].copy()
        self.made.append(Made(before[0], bid, *before[1:], bins, self.weights.copy()))


def watch(jobs: JobTable, how: Options, params: Mapping[str, float] | None = None) -> list[Made]:
    """Run, and return the bids."""
    run = Watched(jobs, how, params)
    run.run()
    return run.made


def noisy(seed: int, mean: float = 0.0, std: float = 0.4, values: int = 300) -> Signal:
    """Return a signal without memory, a value every 4 s."""
    return signal(*np.clip(np.random.default_rng(seed).normal(mean, std, values), -1, 1))


def busy(seed: int) -> JobTable:
    """Return forty jobs of all kinds and of 20 to 200 s that come within ten minutes."""
    random = np.random.default_rng(seed)
    rows = sorted((float(random.uniform(0, 600)), KINDS[int(random.integers(3))].name) for _ in range(40))
    return table_of(KINDS, *rows, work_s=random.uniform(20.0, 200.0, 40))


def test_reach_by_hand_on_three_jobs() -> None:
    """Running jobs and those that fit count with both ends of their range; who ends before the period does, no longer
    then.
    """
    # at 50 s: small runs until 60 s, wide until 400 s; a second wide one waits for the target and fits beside them
    jobs = table_of(KINDS, (0.0, "small"), (0.0, "wide"), (49.0, "wide"), work_s=[60.0, 400.0, 400.0])
    start = (0.0, Bid(8 * 100 + 200 + 480, 0.0))
    calm = signal(0.0, 0.0, step_s=500.0)
    first, second = watch(jobs, options(KINDS, calm, start, bidding=Bidding(50.0, 100.0, until_s=250.0)))[:2]
    now = (100 + 150 + 6 * 180, 100 + 300 + 6 * 260)
    later = (2 * 100 + 6 * 180, 2 * 100 + 6 * 260)
    assert (first.now_s, first.reach, first.need) == (50.0, now, 0.0)
    assert (second.now_s, second.reach) == (150.0, later)
    # one value of 0 seen, in the middle of a normal law that counts a hundred: the bid is symmetric but for the price
    # of energy
    assert first.bid is not None
    assert first.cheapest is not None
    assert (first.bid.mean_w, first.bid.reserve_w) == pytest.approx((first.cheapest.mean_w, first.cheapest.reserve_w))
    assert now[0] <= first.bid.mean_w <= now[1]
    assert first.bid.mean_w - first.bid.reserve_w < now[0]  # the target leaves the range: that is the point


@pytest.mark.parametrize(("seed", "params"), [(4, {}), (5, {"margin": 0.15}), (2, {"strict": 0.0})])
def test_the_cheapest_bid_of_the_grid(seed: int, params: dict[str, float]) -> None:
    """In a busy run every bid is the cheapest of the whole grid by prices and the distribution of the signal, as numpy
    counts.
    """
    how = options(KINDS, noisy(seed, 0.2, 0.25), start_s=0.0, bidding=Bidding(0.0, 30.0, float(10 * (seed % 4))))
    made = watch(busy(seed), how, params)
    bids = [row for row in made if row.bid is not None]
    assert len(bids) > 8
    assert any(row.need > 0 for row in bids)
    assert all(row.cheapest is None for row in made if row.bid is None)
    for row in bids:
        assert row.bid is not None
        assert row.cheapest is not None
        found, best = ((bid.mean_w, bid.reserve_w) for bid in (row.bid, row.cheapest))
        assert found == pytest.approx(best, rel=1e-9), row.now_s


@pytest.mark.parametrize(("values", "factor"), [((0.0,), 1 / (0.4 * CUT_Z - 0.3)), ((1.0, -1.0), 1 / (1.0 - 0.3))])
def test_the_reserve_of_the_closed_form(values: tuple[float, ...], factor: float) -> None:
    """Around the middle a normal law allows R = h / (σ z - 0.3), a signal that is always at its ends R = h / 0.7, on
    the grid.
    """
    jobs = table_of(KINDS, *[(0.0, "small")] * 8, work_s=[9000.0] * 8)
    y = signal(*values * (1 if len(values) == 1 else 300), step_s=5000.0 if len(values) == 1 else 4.0)
    how = options(KINDS, y, bidding=Bidding(0.0, 500.0, until_s=2000.0))
    made = watch(jobs, how, {"energy": 0.0, "error": 0.0, "strict": 0.0, "share": 0.07})
    row = made[0 if len(values) == 1 else 2]
    low, high = row.reach
    assert row.bid is not None
    assert row.bid.mean_w == pytest.approx((low + high) / 2, abs=(high - low) / 20)
    assert row.bid.reserve_w / ((high - low) / 2) == pytest.approx(factor, rel=0.04)


def test_the_bins_hold_the_past() -> None:
    """At every bid the bins hold the values that the signal has had by then, older ones for less, and none to come."""
    made = watch(busy(3), options(KINDS, noisy(3, -0.3), start_s=0.0, bidding=Bidding(0.0, 60.0)))
    assert len(made) > 8
    for row in made:
        assert row.bins == pytest.approx(row.weights, rel=1e-12)
    assert made[0].bins == pytest.approx(normal() + (np.arange(BINS) == np.argmax(made[0].bins - normal())), rel=1e-12)
    counted = [row.bins.sum() for row in made]
    assert counted[1] == pytest.approx((100 + 1) * KEPT + 15)  # a value every 4 s


def test_need_raises_the_mean() -> None:
    """The closer a kind is to its limit, the higher the mean power: half its need into the range at least."""
    depths, needs = [], []
    rows = [(0.0, "wide"), (0.0, "wide"), (1.0, "small"), (1.0, "small")]
    closed = (0.0, Bid(8 * 100 + 480, 0.0))  # room for one of the wide ones, and for nobody else until the bid is made
    for limit in (30.0, 2.4, 1.7):
        kinds = (replace(SMALL, limit=limit), replace(WIDE, limit=30.0))
        jobs = table_of(kinds, *rows, work_s=[900.0, 900.0, 20.0, 20.0])
        how = options(kinds, noisy(5), closed, bidding=Bidding(31.0, 20.0, until_s=51.0))
        made = watch(jobs, how, {"energy": 10.0, "share": 0.5})  # so dear that nothing but need keeps the mean power up
        low, high = made[0].reach
        assert made[0].bid is not None
        depths.append((made[0].bid.mean_w - low) / (high - low))
        needs.append(made[0].need)
    assert needs == pytest.approx([0.0, (1.5 / 2.4 - 0.5) / 0.5, (1.5 / 1.7 - 0.5) / 0.5])
    assert depths == pytest.approx([0.5 * need for need in needs])


def test_strict_keeps_the_target_within_the_machine() -> None:
    """With ``strict`` the whole target lies between idle and greatest power; without it, reserves are larger here."""
    # most of a full machine can be capped to little: the range begins a few watts above idle
    kinds = (replace(SMALL, draw_w=310.0, floor_w=141.0, limit=50.0), WIDE)
    jobs = table_of(kinds, *[(0.0, "small")] * 8, work_s=[900.0] * 8)
    found = {}
    for strict in (1.0, 0.0):
        how = options(kinds, noisy(8, 0.0, 0.25), bidding=Bidding(0.0, 60.0, until_s=600.0))
        found[strict] = [row.bid for row in watch(jobs, how, {"strict": strict})[2:9] if row.bid is not None]
    within = [bid.mean_w - bid.reserve_w >= 8 * 100.0 and bid.mean_w + bid.reserve_w <= 8 * 320.0 for bid in found[1.0]]
    assert len(within) == 7
    assert all(within)
    assert min(bid.mean_w - bid.reserve_w for bid in found[0.0]) < 8 * 100.0
    assert min(bid.reserve_w for bid in found[0.0]) > max(bid.reserve_w for bid in found[1.0])


def test_who_cannot_be_capped_has_nothing_to_sell() -> None:
    """Without a job whose power can be lowered there is no bid, and the run goes on."""
    jobs = table_of(KINDS, (0.0, "firm"), (0.0, "firm"), work_s=[100.0, 100.0])
    made = watch(jobs, options(KINDS, noisy(1), (0.0, Bid(2000.0, 0.0)), bidding=Bidding(10.0, 20.0)))
    assert [row.bid for row in made] == [None] * len(made)
    assert len(made) >= 4
